"""A log file at hand against what the store shows of it, line by line."""

from __future__ import annotations

import dataclasses
import mmap
from collections.abc import Iterator, Sequence
from pathlib import Path

from cli.framed import container_of, deltas
from gateway.store import Query
from runtime.portions import ENOUGH

PAGE = 20_000  # most stored lines a query; at 200 bytes each 4 MB
Line = tuple[int, int, str]  # offset, end, text


@dataclasses.dataclass(frozen=True)
class Stored:
    """A file as the store knows it. A fork's bytes before `parent_end` are its parent's."""

    file_id: str
    parent: str = ""
    parent_end: int = 0


@dataclasses.dataclass
class Content:
    """What a comparison found: `equal` bytes of lines are shown as they are in the file."""

    file_id: str = ""
    equal: int = 0
    missing: list[tuple[int, int]] = dataclasses.field(default_factory=list)  # bytes of lines that the store does not show
    differs_at: int | None = None  # byte offset of the first line that the store shows otherwise
    open_tail: int = 0  # bytes behind the last line end, which are no line yet

    @property
    def same(self) -> bool:
        return self.differs_at is None and not self.missing

    @property
    def words(self) -> str:
        if not self.file_id:
            return "nothing stored begins like this file"
        if self.differs_at is not None:
            return f"differs from byte {self.differs_at} on"
        if self.missing:
            return f"{sum(end - start for start, end in self.missing)} bytes of it are not shown, from {self.missing[0][0]} on"
        return f"equal, {self.equal} bytes" + (f"; {self.open_tail} bytes are no line yet" if self.open_tail else "")


def compare(query: Query, task: str, path: Path, known: Sequence[Stored]) -> Content:
    """The comparison with that one of the stored files whose lines agree for longest. Raises `OSError`, `ValueError`."""
    if not path.stat().st_size:
        return Content(file_id="(empty)")
    best = Content()
    with path.open("rb") as handle, mmap.mmap(handle.fileno(), 0, access=mmap.ACCESS_READ) as data:
        for stored in known:
            found = _compare(_stored_lines(query, task, stored), data, path)
            if found is None:
                continue
            found.file_id = stored.file_id
            if not best.file_id or (found.differs_at is None, found.equal) > (best.differs_at is None, best.equal):
                best = found
    return best


def _compare(stored: Iterator[Line], data: mmap.mmap, path: Path) -> Content | None:
    """None when the two do not even begin alike."""
    found = Content()
    at_hand = _lines(data, path)
    shown = next(stored, None)
    for offset, end, text in at_hand:
        whole = data[end - 1 : end] == b"\n" or container_of(path, data) == "tfevents"
        if shown is not None and shown[0] == offset:
            if shown != (offset, end, text):
                found.differs_at = offset
                break
            found.equal += end - offset
            shown = next(stored, None)
        elif shown is not None and shown[0] < end:  # the store shows a line where this file has none
            found.differs_at = offset
            break
        elif not whole:
            found.open_tail = end - offset
        elif found.missing and found.missing[-1][1] == offset:
            found.missing[-1] = (found.missing[-1][0], end)
        else:
            found.missing.append((offset, end))
    else:
        if shown is not None:  # and more than this file has
            found.differs_at = len(data)
    return found if found.equal else None


def _lines(data: mmap.mmap, path: Path) -> Iterator[Line]:
    for lines in deltas(data, container_of(path, data)):
        yield from zip(lines.offsets, lines.ends, lines.texts, strict=True)


def _stored_lines(query: Query, task: str, stored: Stored) -> Iterator[Line]:
    if stored.parent:
        yield from _pages(query, task, stored.parent, 0, stored.parent_end)
    yield from _pages(query, task, stored.file_id, stored.parent_end, 1 << 63)


def _pages(query: Query, task: str, file_id: str, start: int, end: int) -> Iterator[Line]:
    """Stored lines that begin in [start, end): of so many of the file's bytes at a time, since lines may be of 256 KiB."""
    where = " FROM lines WHERE task_id = {task:String} AND file_id = {file:String} AND offset >= {start:UInt64}"
    where += " AND offset < {stop:UInt64}"
    while start < end:
        stop = min(start + ENOUGH, end)
        sql = f"SELECT offset, end, text{where} ORDER BY offset LIMIT {{page:UInt32}}"
        found = query(sql, task=task, file=file_id, start=start, stop=stop, page=PAGE)
        yield from zip(found["offset"], found["end"], found["text"], strict=True)
        if len(found["offset"]) == PAGE:
            start = found["offset"][-1] + 1
        elif found["offset"]:
            start = stop
        else:
            ahead = query(f"SELECT min(offset) AS next, count() AS lines{where}", task=task, file=file_id, start=stop, stop=end)
            if not ahead["lines"][0]:
                return
            start = ahead["next"][0]
