"""Connections to the engine in this process: fresh or reused ones for single queries, kept ones for sessions.

A connection carries its database, settings and temporary tables. Opening one and setting it up costs as much as a small
query, so one that served a plain query is kept for the next query that wants the very same state.
"""

from __future__ import annotations

import contextlib
import dataclasses
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Iterator

from chdb.state.sqlitelike import Connection

from deploy.local.errors import SESSION_IS_LOCKED, SESSION_NOT_FOUND, EngineError

IDLE_MOST = 32  # connections kept for reuse: more than the clients of one machine hold open at once

State = tuple[object, ...]  # what a connection was set up with; equal states are interchangeable


@dataclasses.dataclass
class Lease:
    """A connection for one query. `clean` is set by the user when nothing of the query is left behind in it."""

    connection: Connection
    fresh: bool
    clean: bool = False


@dataclasses.dataclass
class _Session:
    connection: Connection
    until: float = 0.0
    busy: bool = False


class Connections:
    """Thread-safe. `open` makes a new connection."""

    def __init__(self, open_one: Callable[[], Connection]) -> None:
        self._open = open_one
        self._lock = threading.Lock()
        self._idle: OrderedDict[int, tuple[State, Connection]] = OrderedDict()
        self._sessions: dict[str, _Session] = {}

    @contextlib.contextmanager
    def lease(self, state: State) -> Iterator[Lease]:
        """A connection that was set up with `state`, or a fresh one."""
        with self._lock:
            key = next((key for key in reversed(self._idle) if self._idle[key][0] == state), None)
            reused = self._idle.pop(key)[1] if key is not None else None
        lease = Lease(reused or self._open(), fresh=reused is None)
        try:
            yield lease
        finally:
            self._return(state, lease)

    @contextlib.contextmanager
    def session(self, name: str, seconds: float, *, must_exist: bool) -> Iterator[Lease]:
        """The session's connection. Raises `EngineError` when another query holds it, or when it must exist and does not."""
        with self._lock:
            session = self._sessions.get(name)
            if session is None and must_exist:
                raise EngineError(SESSION_NOT_FOUND, "SESSION_NOT_FOUND", f"Session {name} not found")
            fresh = session is None
            if session is None:
                session = self._sessions[name] = _Session(self._open())
            if session.busy:
                raise EngineError(SESSION_IS_LOCKED, "SESSION_IS_LOCKED", f"Session {name} is locked by a concurrent client")
            session.busy = True
        try:
            yield Lease(session.connection, fresh)
        finally:
            session.until = time.monotonic() + seconds
            session.busy = False

    def expire(self, now: float) -> None:
        """Close the sessions whose time is over."""
        with self._lock:
            over = [name for name, session in self._sessions.items() if not session.busy and session.until < now]
            for name in over:
                self._sessions.pop(name).connection.close()

    def close(self) -> None:
        with self._lock:
            for _, connection in self._idle.values():
                connection.close()
            for session in self._sessions.values():
                session.connection.close()
            self._idle.clear()
            self._sessions.clear()

    def _return(self, state: State, lease: Lease) -> None:
        if not lease.clean:
            lease.connection.close()
            return
        with self._lock:
            self._idle[id(lease.connection)] = (state, lease.connection)
            oldest = self._idle.popitem(last=False)[1][1] if len(self._idle) > IDLE_MOST else None
        if oldest is not None:
            oldest.close()
