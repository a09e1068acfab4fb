"""One log file: made by us, appended to in whole records by one process, and never opened a second time."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path
from typing import List, Optional, Tuple


class LogFile:
    """An open log file that has `begun` (bytes of a record the disk has not taken whole yet) to finish before anything else.

    A disk that fills up in the middle of a record so never joins it to another: the rest follows when there is space, and until
    then the line has no end and nobody reads it. All methods belong to one thread at a time; OSErrors are kept in `error`.
    """

    def __init__(self, path: Path, fd: int, uuid: str, number: int) -> None:
        self.path = path
        self.uuid = uuid
        self.number = number
        self.size = 0
        self.records = 0  # besides header and end: a file holds at least one, however small its limit
        self.error: Optional[OSError] = None
        self._fd = fd
        stat = os.fstat(fd)
        self._inode = (stat.st_dev, stat.st_ino)
        self._begun = b""

    @property
    def torn(self) -> bool:
        """Whether the last record is not whole in the file."""
        return bool(self._begun)

    def append(self, records: List[bytes]) -> int:
        """Writes records after one another. Returns how many were begun: the file owns those, the caller keeps the others."""
        if not self.settle():
            return 0
        data = records[0] if len(records) == 1 else b"".join(records)
        written = self._write(data)
        if written == len(data):
            return len(records)
        ends = 0
        for index, record in enumerate(records):
            if ends >= written:
                return index
            ends += len(record)
            if ends > written:
                self._begun = record[len(record) - (ends - written) :]
                return index + 1
        return len(records)

    def settle(self) -> bool:
        """Finishes a begun record; True when there is none any more."""
        if self._begun:
            self._begun = self._begun[self._write(self._begun) :]
        return not self._begun

    def gone(self) -> bool:
        """Whether writing here would lose the records: the file was deleted, or our descriptor is no longer its.

        Programs that become daemons close descriptors that they do not know, and the number may since belong to a file of theirs.
        """
        try:
            stat = os.fstat(self._fd)
        except OSError:
            return True
        return stat.st_nlink == 0 or (stat.st_dev, stat.st_ino) != self._inode

    def close(self) -> None:
        """Gives the descriptor back if it is still ours."""
        with contextlib.suppress(OSError):  # closed by somebody else, or a late write error that `append` would have met too
            stat = os.fstat(self._fd)
            if (stat.st_dev, stat.st_ino) == self._inode:
                os.close(self._fd)
        self._fd = -1

    def _write(self, data: bytes) -> int:
        written = 0
        try:
            while written < len(data):
                written += os.write(self._fd, data[written:] if written else data)
            self.error = None
        except OSError as error:
            self.error = error
        self.size += written
        return written


def create(folder: Path, stem: str, suffix: str, first: int) -> Tuple[Path, int, int]:
    """A new file `<stem>.<n><suffix>` with the first free n from `first`: (path, descriptor, n). Raises OSError.

    O_EXCL: whatever an earlier start, a forked child or a stranger left under a name stays as it is.
    """
    folder.mkdir(parents=True, exist_ok=True)
    number = first
    while True:
        path = folder / f"{stem}.{number}{suffix}"
        try:
            return path, open_new(path), number
        except FileExistsError:
            number += 1


def open_new(path: Path) -> int:
    """Descriptor of a file that did not exist, for appending. Raises OSError."""
    return os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND | getattr(os, "O_CLOEXEC", 0), 0o666)
