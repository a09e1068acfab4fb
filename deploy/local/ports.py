"""Ports of 127.0.0.1."""

from __future__ import annotations

import socket

from runtime.errors import PermanentError


def free_port() -> int:
    """A port that nobody listens on at this moment."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def choose(who: str, fixed: int, before: int) -> int:
    """The fixed port, else the one that `who` had before if it is still free, else a free one.

    Raises `PermanentError` when the fixed one is taken.
    """
    if fixed and not is_free(fixed):
        raise PermanentError(f"port {fixed} of 127.0.0.1 is in use: free it, or give the {who} another one (0: a free one)")
    if fixed or (before and is_free(before)):
        return fixed or before
    return free_port()


def is_free(port: int) -> bool:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # as the services do: closed connections do not count
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
        return True
