"""A task's live feed: each look gives what became visible since the one before, nothing twice and nothing left out.

Synchronous, over any `Query`, so that the page's stream and the command line follow a task by the same code.
"""

from __future__ import annotations

import dataclasses
from typing import Any

from gateway.coverage import Coverage, folded
from gateway.store import Query, rows
from runtime.portions import ENOUGH, portions

# Most rows of one message: about 200 kB of JSON, which a page takes in a frame or two. More comes in further messages.
LINES = 1000
POINTS = 5000
LINE_POINTS = 400_000  # points of one line: below the limit on an answer's rows
FILES = 64  # files read by one query


@dataclasses.dataclass(frozen=True)
class Message:
    """What is new, whole: a reader that has it goes on from `coverage`."""

    lines: list[dict[str, Any]]
    points: list[dict[str, Any]]
    events: list[dict[str, Any]]
    revised: list[str]  # files whose points were extracted anew: what was read of their curves is to be read again
    coverage: Coverage
    more: bool  # the store has more already


def coverage(query: Query, task_id: str) -> Coverage:
    """What of the task's files is visible now."""
    found = query("SELECT file_id, ranges FROM files WHERE task_id = {task:String}", task=task_id)
    return Coverage({file: _segments(ranges) for file, ranges in zip(found["file_id"], found["ranges"], strict=True)})


class Feed:
    """One reader of one task, from a place on."""

    def __init__(self, task_id: str, start: Coverage, *, lines: int = LINES, points: int = POINTS) -> None:
        self.task_id, self.coverage = task_id, start
        self._lines, self._points = lines, points
        self._exactness: dict[tuple[str, int, int], int] = {}  # (name, rank, attempt): of the most exact source so far
        self._known: set[str] = set()  # names asked for already

    def look(self, query: Query) -> Message | None:
        """What is new, at most a message's worth; None where nothing is."""
        now = coverage(query, self.task_id)
        revised = now.revised(self.coverage)
        base = self.coverage.with_revisions(revised, now) if revised else self.coverage
        spans: dict[str, tuple[int, int]] = {}
        fresh = now.fresh(base)
        for file, start, end in fresh:
            if len(spans) < FILES:
                spans.setdefault(file, (start, end))  # a file's further gaps come with the next message
        if not spans:
            if not revised:
                return None
            self.coverage = base
            return Message([], [], [], sorted(revised), base, more=False)
        message = self._read(query, spans, base, now, revised, more=len(fresh) > len(spans))
        self.coverage = message.coverage
        return message

    def _read(
        self, query: Query, spans: dict[str, tuple[int, int]], base: Coverage, now: Coverage, revised: set[str], more: bool
    ) -> Message:
        if sum(end - start for start, end in spans.values()) > ENOUGH:  # a thousand lines may have 256 MiB
            heads = rows(query(_HEADS, limit=self._lines + 1, **self._bound(spans)))
            fitting = next(portions(heads, lambda head: int(head["size"]), most=self._lines), [])
            if len(fitting) < len(heads):
                spans, more = _cut(spans, heads[len(fitting)]), True
        lines = rows(query(_LINES, limit=self._lines + 1, **self._bound(spans)))
        points = rows(query(_POINTS, limit=self._points + 1, **self._bound(spans)))
        if len(lines) > self._lines:
            spans, more = _cut(spans, lines[-1]), True
        points_left = [row for row in points[self._points :] if _inside(row, spans)]
        if points_left:
            cut, more = _cut(spans, points_left[0]), True
            if not cut:  # one line has more points than a message holds: a line goes whole
                file, offset = points_left[0]["file_id"], points_left[0]["offset"]
                cut = {file: (spans[file][0], offset + 1)}
                points = rows(query(_POINTS, limit=LINE_POINTS, **self._bound(cut)))
            spans = cut
        lines, points = ([row for row in found if _inside(row, spans)] for found in (lines, points))
        events = rows(query(_EVENTS, **self._bound(spans)))
        self._learn_exactness(query, {point["name"] for point in points})
        shown = []
        for point in points:
            key, exactness = (point["name"], point["rank"], point["attempt"]), point.pop("exactness")
            best = self._exactness.setdefault(key, exactness)
            if exactness > best:  # a more exact source begins: what was shown of this metric gives way to it
                self._exactness[key] = exactness
                revised.add(point["file_id"])
            if exactness >= best:
                shown.append(point)
        for file, (start, end) in spans.items():
            base = base.with_bytes(file, start, end, now)
        return Message(lines, shown, events, sorted(revised), base, more)

    def _bound(self, spans: dict[str, tuple[int, int]]) -> dict[str, Any]:
        return {
            "task": self.task_id,
            "files": list(spans),
            "starts": [start for start, _ in spans.values()],
            "ends": [end for _, end in spans.values()],
            "lowest": min(start for start, _ in spans.values()),  # as the index knows it
            "highest": max(end for _, end in spans.values()),
        }

    def _learn_exactness(self, query: Query, names: set[str]) -> None:
        if not names - self._known:
            return
        found = query(
            """
            SELECT name, rank, attempt, max(exactness) AS best FROM all_points
            WHERE task_id = {task:String} AND name IN {names:Array(String)} GROUP BY name, rank, attempt
            """,
            task=self.task_id,
            names=sorted(names - self._known),
        )
        self._known |= names
        for name, rank, attempt, best in zip(found["name"], found["rank"], found["attempt"], found["best"], strict=True):
            self._exactness[name, rank, attempt] = best


def _segments(ranges: list[Any]) -> tuple[tuple[int, int, int], ...]:
    return folded([(int(r[0]), int(r[1]), int(r[2])) for r in ranges])


def _cut(spans: dict[str, tuple[int, int]], first_left: dict[str, Any]) -> dict[str, tuple[int, int]]:
    """Spans up to the line of the first row that did not fit; rows come by (place of the file, offset)."""
    kept = {}
    for file, (start, end) in spans.items():
        if file == first_left["file_id"]:
            if first_left["offset"] > start:
                kept[file] = (start, first_left["offset"])
            break
        kept[file] = (start, end)
    return kept


def _inside(row: dict[str, Any], spans: dict[str, tuple[int, int]]) -> bool:
    start, end = spans.get(row["file_id"], (0, 0))
    return bool(start <= row["offset"] < end)


_WHERE = """
    WHERE task_id = {task:String} AND file_id IN {files:Array(String)}
      AND offset >= {starts:Array(UInt64)}[indexOf({files:Array(String)}, file_id)]
      AND offset < {ends:Array(UInt64)}[indexOf({files:Array(String)}, file_id)]
      AND offset >= {lowest:UInt64} AND offset < {highest:UInt64}
    ORDER BY indexOf({files:Array(String)}, file_id), offset
"""
_LINES = (
    """
    SELECT file_id, offset, end, text, kind, stream, toUnixTimestamp64Milli(time) AS time_ms, time_known, attempt, rank,
           toUnixTimestamp64Milli(arrived) AS arrived_ms
    FROM lines"""
    + _WHERE
    + " LIMIT {limit:UInt32}"
)
_HEADS = "SELECT file_id, offset, length(text) AS size FROM lines" + _WHERE + " LIMIT {limit:UInt32}"
_POINTS = (
    """
    SELECT name, rank, attempt, step, epoch, value, toUnixTimestamp64Milli(time) AS time_ms, file_id, offset, place, exactness
    FROM all_points"""
    + _WHERE
    + ", place LIMIT {limit:UInt32}"
)
_EVENTS = (
    """
    SELECT kind, toUnixTimestamp64Milli(time) AS time_ms, time_known, attempt, rank, step, epoch, message, fields, origin,
           file_id, offset, place
    FROM events"""
    + _WHERE.replace("ORDER BY", "AND origin = 'line' ORDER BY")
    + ", place"
)
