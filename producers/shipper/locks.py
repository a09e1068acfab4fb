"""One shipper owns a file. Locks that end with the process, whatever ends it.

Each state folder holds a file `locks`; owning the log file with inode n is an OFD lock (Linux open file description lock,
fcntl(2)) on one byte of it, at an offset made of n. So one handle serves any number of files, renaming a log keeps its lock,
and the training process, which may lock its own log, never meets ours. Folders of other shippers above a log are locked
as well, so that `/logs/**` and `/logs/a/*` meet.
"""

from __future__ import annotations

import collections
import errno
import fcntl
import logging
import os
import pathlib
import struct

log = logging.getLogger("trainwire-shipper.locks")
# struct flock of x86-64 and arm64 Linux: l_type, l_whence, (padding), l_start, l_len, l_pid
_FLOCK = "hhxxxxqqixxxx"


class Locks:
    """The lock file of one state folder."""

    def __init__(self, folder: pathlib.Path) -> None:
        self.path = folder / "locks"
        self._fd: int | None = None
        self._held: collections.Counter[int] = collections.Counter()
        try:
            self._fd = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
        except OSError as error:
            log.warning("%s cannot be opened (%s): another shipper on these files would not be noticed", self.path, error)

    def take(self, inode: int) -> bool:
        """Own the file, or return False: another process does. Locks are counted; each needs its `release`."""
        if self._held[inode] == 0 and not self._set(inode, fcntl.F_WRLCK):
            return False
        self._held[inode] += 1
        return True

    def release(self, inode: int) -> None:
        self._held[inode] -= 1
        if self._held[inode] <= 0:
            del self._held[inode]
            self._set(inode, fcntl.F_UNLCK)

    def close(self) -> None:
        if self._fd is not None:
            os.close(self._fd)
            self._fd = None

    def _set(self, inode: int, kind: int) -> bool:
        if self._fd is None:
            return True
        try:
            fcntl.fcntl(self._fd, fcntl.F_OFD_SETLK, struct.pack(_FLOCK, kind, os.SEEK_SET, inode & (2**62 - 1), 1, 0))
        except OSError as error:
            if error.errno in (errno.EAGAIN, errno.EACCES):
                return False
            log.warning("%s: locks do not work here (%s): another shipper on these files would not be noticed", self.path, error)
            self.close()
        return True
