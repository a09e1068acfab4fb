"""The files of one start, one after another: each names the one before in its header and the next in its end record."""

from __future__ import annotations

import contextlib
import time
import uuid as uuids
from pathlib import Path
from typing import Callable, Deque, List, Optional

from trainwire import records
from trainwire.files import LogFile, create

_END_ROOM = 256  # bytes kept free in a file for its end record


class Chain:
    """Appends records to the newest file and begins the next when one is full or gone. One thread at a time.

    Nothing raises for a disk's sake: what was not taken stays with the caller, `trouble` hears why, the next call tries again.
    """

    def __init__(
        self,
        folder: Path,
        stem: str,
        header: Callable[[str, int, Optional[str]], str],
        max_file_bytes: int,
        complain: Callable[[str, str], None],
        trouble: Callable[[Optional[OSError]], None],
    ) -> None:
        self._folder = folder
        self._stem = stem
        self._header = header
        self._max_file_bytes = max_file_bytes
        self._complain = complain
        self._trouble = trouble
        self._file: Optional[LogFile] = None
        self._number = 1
        self._before: Optional[str] = None
        self._next: Optional[str] = None  # uuid of the next file, once an end record has named it
        self._sealed = False
        self.lost = 0  # records that were torn when their file was deleted; the caller counts and resets it

    @property
    def path(self) -> Optional[Path]:
        """The newest file; None before the first and after the last."""
        return self._file.path if self._file is not None else None

    @property
    def unfinished(self) -> bool:
        """Whether something was begun that the disk did not take whole: a record, or the change to the next file."""
        return self._file is not None and (self._file.torn or self._next is not None)

    @property
    def sealed(self) -> bool:
        """Whether the last end record was begun: nothing follows it."""
        return self._sealed

    def ready(self) -> bool:
        """Whether there is a file that takes records: made, not deleted, nothing begun in it, not at its end."""
        if self._file is not None and self._file.gone():
            self._complain("log file gone", f"{self._file.path} was deleted or closed by somebody else; a new one is begun")
            self.lost += self._file.torn
            self._leave()
            self._next = None
        if self._file is not None and not self._file.settle():
            self._trouble(self._file.error)
            return False
        if self._file is not None and self._next is not None:
            self._leave()
        return self._file is not None or self._open()

    def take(self, lines: Deque[bytes]) -> None:
        """Moves lines from the left of `lines` into files, as many as the disk takes. To be called when `ready`."""
        while lines and self._file is not None:
            file = self._file
            room = self._max_file_bytes - _END_ROOM - file.size
            batch: List[bytes] = []
            for line in lines:
                room -= len(line)
                if room < 0 and (batch or file.records):
                    break
                batch.append(line)
            if not batch:
                if not self._rotate(file):
                    return
                continue
            begun = file.append(batch)
            file.records += begun
            for _ in range(begun):
                lines.popleft()
            if begun < len(batch) or file.torn:
                self._trouble(file.error)
                return

    def seal(self, line: bytes) -> None:
        """Appends the end record of the last file, whatever room there is, and closes it. To be called when `ready`."""
        if self._file is None or self.unfinished:
            return
        if self._file.append([line]):
            self._sealed = True
            self.settle_last()
        else:
            self._trouble(self._file.error)

    def settle_last(self) -> None:
        """Finishes and closes the last file after its end record was begun."""
        if self._file is not None and self._file.settle():
            self._file.close()
            self._file = None

    def forget(self) -> None:
        """In a forked child: gives the parent's file back, without a word in it."""
        if self._file is not None:
            self._file.close()

    def _open(self) -> bool:
        uuid = self._next or str(uuids.uuid4())  # the file before has named it in its end record
        try:
            path, fd, self._number = create(self._folder, self._stem, ".jsonl", self._number)
        except OSError as error:
            self._trouble(error)
            return False
        file = LogFile(path, fd, uuid, self._number)
        begun = file.append([self._header(uuid, self._number, self._before).encode("utf-8", "replace")])
        if not begun or file.torn:
            self._trouble(file.error)
        if not begun:  # an empty file may not stay behind: the next try takes the same number
            with contextlib.suppress(OSError):
                path.unlink()
            file.close()
            return False
        self._file = file
        self._next = None
        return not file.torn

    def _rotate(self, file: LogFile) -> bool:
        """Ends the file, names the next one in its end record, and opens that."""
        following = str(uuids.uuid4())
        if not file.append([records.end(int(time.time() * 1000), "running", next=following).encode()]):
            self._trouble(file.error)
            return False
        self._next = following
        return self.ready()

    def _leave(self) -> None:
        if self._file is not None:
            self._before = self._file.uuid
            self._number = self._file.number + 1
            self._file.close()
        self._file = None
