"""File handles on log files: a bounded number, the least recently used closed first.

An open handle is what lets the shipper finish a file that was renamed or deleted while it was behind; so handles of
deleted files ("pinned") are never closed for room, and files with unread bytes only after all others.
"""

from __future__ import annotations

import errno
import os
import resource
from collections.abc import Callable, Hashable

from runtime.errors import TemporaryError

RESERVE = 24  # what the process will open beside them: sockets, selectors, the checkpoint, folders while they are scanned


def fitting(wanted: int) -> int:
    """`wanted`, lowered to what the process may open beside everything else."""
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft == resource.RLIM_INFINITY:
        return wanted
    with os.scandir("/proc/self/fd") as entries:
        used = sum(1 for _ in entries)
    return max(4, min(wanted, soft - used - RESERVE))


class Handles:
    """`fd` by key. `busy(key)`: 2 must stay, 1 rather not, 0 may be closed."""

    def __init__(self, limit: int, busy: Callable[[Hashable], int]) -> None:
        self.limit = limit
        self._busy = busy
        self._open: dict[Hashable, int] = {}  # in order of use

    def __len__(self) -> int:
        return len(self._open)

    def held(self, key: Hashable) -> int | None:
        """The handle, if it is open; its use is not counted."""
        return self._open.get(key)

    def get(self, key: Hashable, path: str, inode: tuple[int, int]) -> int | None:
        """A handle on the file `inode`, opened at `path` where none is open; None when another file stands there.

        Raises `OSError` as `open` does, `TemporaryError` when every handle is needed for a deleted file.
        """
        fd = self._open.pop(key, None)
        if fd is None:
            if len(self._open) >= self.limit:
                self._close_one()
            fd = self._attempt(path)
            status = os.fstat(fd)
            if (status.st_dev, status.st_ino) != inode:
                os.close(fd)
                return None
        self._open[key] = fd
        return fd

    def close(self, key: Hashable) -> None:
        fd = self._open.pop(key, None)
        if fd is not None:
            os.close(fd)

    def close_all(self) -> None:
        for key in list(self._open):
            self.close(key)

    def _attempt(self, path: str) -> int:
        # O_NONBLOCK: should the path have become a FIFO meanwhile, opening it must not wait for a writer.
        flags = os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK
        try:
            return os.open(path, flags)
        except OSError as error:
            if error.errno not in (errno.EMFILE, errno.ENFILE) or not self._open:
                raise
            self.limit = max(4, len(self._open) - 4)  # somebody else took handles: make do with fewer from now on
            self._close_one()
            return os.open(path, flags)

    def _close_one(self) -> None:
        for level in (0, 1):
            for key in self._open:
                if self._busy(key) <= level:
                    self.close(key)
                    return
        raise TemporaryError(
            f"all {self.limit} handles hold deleted files; raise TRAINWIRE_SHIPPER_MAX_OPEN_FILES or the limit of open files"
        )
