"""State folders: one beside each pattern's logs, or the one that a setting names."""

from __future__ import annotations

import fcntl
import logging
import os
import pathlib
from collections.abc import Callable

from producers.shipper.checkpoint import FOLDER, Saved, Store
from producers.shipper.locks import Locks

log = logging.getLogger("trainwire-shipper.folders")


class StateFolder:
    """Checkpoint and locks of the files below one base. Opened when its first file is seen, as the base may appear late."""

    def __init__(self, path: pathlib.Path, name: str, write: Callable[[pathlib.Path, bytes], None] | None = None) -> None:
        self.path = path
        self.store = Store(path, name, write)
        self._name = name
        self._above: dict[str, Locks] = {}  # lock files of other shippers in folders above a log
        self._own: Locks | None = None
        self._mutex: int | None = None
        self.owned = False
        self._told = False

    def open(self) -> Saved | None:
        """Take the checkpoint and load it; None while another process with the same patterns and task has it."""
        try:
            self.path.mkdir(parents=True, exist_ok=True)
            mutex = os.open(self.path / f"{self._name}.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
        except OSError as error:
            log.error(
                "no checkpoint: %s cannot be used (%s); everything is read again after a restart."
                " Make it writable, or name another folder in TRAINWIRE_SHIPPER_STATE_DIR",
                self.path,
                error,
            )
            self.owned = True  # reading goes on; saving fails, is counted, and is tried again
            return self.store.load()
        try:
            fcntl.flock(mutex, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(mutex)
            if not self._told:
                log.warning("another shipper with the same patterns and task owns %s: waiting until it ends", self.path)
                self._told = True
            return None
        except OSError as error:
            log.warning("%s: locks do not work here (%s): another shipper would not be noticed", self.path, error)
        self._mutex = mutex
        self._own = Locks(self.path)
        self.owned = True
        return self.store.load()

    def take(self, real: str, inode: tuple[int, int]) -> Callable[[], None] | None:
        """Own a log file, here and in the state folders above it: what lets go of it, or None if another process owns it."""
        taken: list[Locks] = []

        def release() -> None:
            for locks in taken:
                locks.release(inode[1])

        for locks in self._locks(real):
            if not locks.take(inode[1]):
                release()
                return None
            taken.append(locks)
        return release

    def close(self) -> None:
        """Let go of every lock; the checkpoint stays."""
        for locks in (*self._above.values(), *([self._own] if self._own else [])):
            locks.close()
        self._above.clear()
        self._own = None
        if self._mutex is not None:
            os.close(self._mutex)
            self._mutex = None
        self.owned = False

    def _locks(self, real: str) -> list[Locks]:
        out = [self._own] if self._own else []
        folder = os.path.dirname(real)
        while True:
            path = os.path.join(folder, FOLDER)
            if path != str(self.path):
                if path not in self._above and os.path.exists(os.path.join(path, "locks")):
                    self._above[path] = Locks(pathlib.Path(path))
                if path in self._above:
                    out.append(self._above[path])
            parent = os.path.dirname(folder)
            if parent == folder:
                return out
            folder = parent
