"""Ports of 127.0.0.1."""

from __future__ import annotations

import random
import socket
from pathlib import Path

from runtime.errors import PermanentError

_LOWEST = 15_000  # above what people's own services commonly take
_TRIES = 100


def free_port() -> int:
    """A port that nobody listens on at this moment.

    Not one of the range that the kernel gives to outgoing connections: while a service is down for a restart, one of its
    own clients that keeps trying could be given the service's port, and would even connect to itself.
    """
    range_file = Path("/proc/sys/net/ipv4/ip_local_port_range")
    first_outgoing = int(range_file.read_text().split()[0]) if range_file.exists() else 32_768
    for _ in range(_TRIES if first_outgoing > _LOWEST else 0):
        port = random.randrange(_LOWEST, first_outgoing)
        if is_free(port):
            return port
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
