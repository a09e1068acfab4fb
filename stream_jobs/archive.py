"""What the store says of files: their ledgers, marks, lines and states. Questions only; every question is a query or none."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Protocol

from runtime.portions import ENOUGH
from schemas.events import Delta
from schemas.framing import Container, Lines
from stream_jobs.extract import Options, State, extract
from stream_jobs.ledger import End, FileLedger, Marks, Run, StoredLine

IDS_A_QUERY = 1000  # an IN list of 20,000 fails with code 62
LINES_A_QUERY = (
    50_000  # for one extraction of stored lines; at 200 bytes a line, 10 MB. And no more than ENOUGH bytes of the file
)

Key = tuple[str, str]  # task, file id


class Store(Protocol):
    def query(self, sql: str, parameters: dict[str, Any]) -> Sequence[Sequence[Any]]: ...


class Archive:
    """Queries on the ledger's tables."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def load(self, keys: Sequence[Key]) -> dict[Key, FileLedger]:
        """Ledgers of those of `keys` that the store knows."""
        files: dict[Key, FileLedger] = {}
        for low in range(0, len(keys), IDS_A_QUERY):
            rows = self._store.query(
                "SELECT task_id, file_id, revision, start, max(r.end), max(r.cold), max(r.lines), max(r.parent),"
                " max(r.parent_end)"
                " FROM file_ranges AS r WHERE (task_id, file_id) IN {keys:Array(Tuple(String, String))}"
                " GROUP BY task_id, file_id, start, revision ORDER BY task_id, file_id, start, revision",
                {"keys": list(keys[low : low + IDS_A_QUERY])},
            )
            for task, file_id, revision, start, end, cold, lines, parent, parent_end in rows:
                file = files.setdefault((task, file_id), FileLedger(task, file_id))
                file.runs.append(Run(start, end, revision, bool(cold), lines))
                file.parent, file.parent_end = parent, max(parent_end, file.parent_end)
        self._load_ends(files)
        return files

    def _load_ends(self, files: dict[Key, FileLedger]) -> None:
        wanted = [(*key, run.end) for key, file in files.items() for run in file.runs]
        for low in range(0, len(wanted), IDS_A_QUERY):
            rows = self._store.query(
                "SELECT task_id, file_id, l.end,"
                " argMax((l.marks[-1].2, l.reading, l.state, l.cold), (l.revision, l.stored)) AS newest"
                " FROM ledger AS l WHERE (task_id, file_id, end) IN {ends:Array(Tuple(String, String, UInt64))}"
                " GROUP BY task_id, file_id, l.end",
                {"ends": wanted[low : low + IDS_A_QUERY]},
            )
            for task, file_id, end, (crc, reading, state, cold) in rows:
                file = files[task, file_id]
                file.ends[end] = End(crc, reading, State.load(_bytes(state)), bool(cold))
                if end == max(run.end for run in file.runs):
                    file.reading = reading

    def marks(self, task: str, file_id: str, start: int, end: int) -> Marks:
        """Marks at and between two offsets."""
        rows = self._store.query(
            "SELECT l.start, l.end, l.crc_start, l.marks FROM ledger AS l"
            " WHERE task_id = {task:String} AND file_id = {file:String}"
            " AND end >= {low:UInt64} AND start <= {high:UInt64}",
            {"task": task, "file": file_id, "low": start, "high": end},
        )
        crcs: dict[int, int] = {}
        for low, _, crc_start, marks in rows:
            crcs[low] = crc_start
            crcs.update(_pairs(marks))
        return Marks(crcs, tuple((low, high) for low, high, _, _ in rows))

    def lines(self, task: str, file_id: str, start: int, end: int) -> list[StoredLine]:
        """Stored lines that begin in [start, end)."""
        rows = self._store.query(
            "SELECT l.offset, l.end, l.text FROM log_lines AS l FINAL WHERE task_id = {task:String} AND file_id = {file:String}"
            " AND offset >= {low:UInt64} AND offset < {high:UInt64} ORDER BY offset",
            {"task": task, "file": file_id, "low": start, "high": end},
        )
        return [(offset, line_end, text) for offset, line_end, text in rows]

    def state_at(self, task: str, file_id: str, offset: int, container: Container) -> State | None:
        """The extractor's state behind the bytes before `offset`, from the nearest ledger row and the lines since.

        None where it cannot be known: nothing before it is kept, or what is kept was itself extracted cold.
        """
        if offset == 0:
            return State(given=self.given(task, file_id))
        rows = self._store.query(
            "SELECT l.end, l.state, l.cold FROM ledger AS l WHERE task_id = {task:String} AND file_id = {file:String}"
            " AND end <= {high:UInt64} ORDER BY l.end DESC, l.revision DESC LIMIT 1",
            {"task": task, "file": file_id, "high": offset},
        )
        at, state = (int(rows[0][0]), State.load(_bytes(rows[0][1]))) if rows else (0, State(given=self.given(task, file_id)))
        if rows and rows[0][2]:
            return None
        if at == offset:
            return state
        if list(self.readable(task, file_id, at, offset, container)) != [(at, offset)]:
            return None
        for lines in self.texts(task, file_id, at, offset):
            state, _, _ = extract(state, lines.lines, Options(container=container))
        return state

    def names(self, task: str, most: int) -> list[str]:
        """Metric names of a task, from the index alone, at most so many."""
        sql = "SELECT DISTINCT name FROM points WHERE task_id = {task:String} LIMIT {most:UInt32}"
        return [str(row[0]) for row in self._store.query(sql, {"task": task, "most": most})]

    def given(self, task: str, file_id: str) -> tuple[str, ...]:
        """The task's own patterns that came with the newest bytes of a file, as far as the ledger still knows them."""
        rows = self._store.query(
            "SELECT l.state FROM ledger AS l WHERE task_id = {task:String} AND file_id = {file:String}"
            " ORDER BY l.end DESC, l.revision DESC LIMIT 1",
            {"task": task, "file": file_id},
        )
        return State.load(_bytes(rows[0][0])).given if rows else ()

    def state_from(self, task: str, file_id: str, start: int, end: int, container: Container) -> tuple[int, State] | None:
        """(Offset, state) of the first place in [start, end) whose state is known."""
        state = self.state_at(task, file_id, start, container)
        if state is not None:
            return start, state
        rows = self._store.query(
            "SELECT l.end, l.state FROM ledger AS l WHERE task_id = {task:String} AND file_id = {file:String}"
            " AND end > {low:UInt64} AND end < {high:UInt64} AND NOT cold ORDER BY l.end, l.revision DESC LIMIT 1",
            {"task": task, "file": file_id, "low": start, "high": end},
        )
        return (int(rows[0][0]), State.load(_bytes(rows[0][1]))) if rows else None

    def readable(self, task: str, file_id: str, start: int, end: int, container: Container) -> Iterator[tuple[int, int]]:
        """Parts of [start, end) of which every line is still stored. Records of tfevents are not kept as lines."""
        if container == "tfevents":
            return
        if container == "cri":  # a joined line is named by its last part: lines do not meet, so they are counted
            if self.lines_missing(task, file_id, start, end) == 0:
                yield start, end
            return
        low = at = None
        for offset, line_end in self.extents(task, file_id, start, end):
            if at is not None and offset != at:
                assert low is not None  # noqa: S101  # set together with `at`
                yield low, at
                at = None
            if at is None:
                low = offset
            at = line_end
        if at is not None and low is not None:
            yield low, at

    def texts(self, task: str, file_id: str, start: int, end: int) -> Iterable[StoredLines]:
        """Stored lines of a span as extraction takes them, a portion at a time."""
        while start < end:
            high = min(start + ENOUGH, end)
            rows = self._store.query(
                "SELECT l.offset, l.end, l.text, l.kind, l.stream, toUnixTimestamp64Milli(l.time), l.time_known, l.rank,"
                " toUnixTimestamp64Milli(l.arrived) FROM log_lines AS l FINAL"
                " WHERE task_id = {task:String} AND file_id = {file:String} AND offset >= {low:UInt64} AND offset < {high:UInt64}"
                " ORDER BY l.offset LIMIT {most:UInt32}",
                {"task": task, "file": file_id, "low": start, "high": high, "most": LINES_A_QUERY},
            )
            if not rows:
                start = high
                continue
            columns = [list(column) for column in zip(*rows, strict=True)]
            offsets, ends, texts, kinds, streams, times, known, ranks, arrived = columns
            lines = Lines(offsets, ends, texts, {i for i, kind in enumerate(kinds) if kind == "continuation"})
            if any(streams):
                lines.streams = streams
                lines.times = [t if k else None for t, k in zip(times, known, strict=True)]
            yield StoredLines(lines, ranks[0], arrived)
            start = offsets[-1] + 1 if len(offsets) == LINES_A_QUERY else high

    def extents(self, task: str, file_id: str, start: int, end: int) -> Iterator[tuple[int, int]]:
        """(Offset, end) of stored lines that begin in [start, end), in order."""
        while start < end:
            rows = self._store.query(
                "SELECT l.offset, l.end FROM log_lines AS l FINAL WHERE task_id = {task:String} AND file_id = {file:String}"
                " AND offset >= {low:UInt64} AND offset < {high:UInt64} ORDER BY l.offset LIMIT {most:UInt32}",
                {"task": task, "file": file_id, "low": start, "high": end, "most": LINES_A_QUERY},
            )
            if not rows:
                return
            yield from ((int(offset), int(line_end)) for offset, line_end in rows)
            start = int(rows[-1][0]) + 1

    def lines_missing(self, task: str, file_id: str, start: int, end: int) -> int:
        """How many lines the ledger counted in [start, end) that are stored no more; -1 where the ledger has expired."""
        span = {"task": task, "file": file_id, "low": start, "high": end}
        counted = self._store.query(
            "SELECT l.start, l.end, max(l.lines) FROM ledger AS l WHERE task_id = {task:String} AND file_id = {file:String}"
            " AND end > {low:UInt64} AND start < {high:UInt64} GROUP BY l.start, l.end ORDER BY l.start, l.end DESC",
            span,
        )
        expected, at = 0, start
        for low, high, lines in counted:
            if low == at:
                expected, at = expected + int(lines), int(high)
        if at != end:
            return -1
        rows = self._store.query(
            "SELECT uniqExact(l.offset) FROM log_lines AS l WHERE task_id = {task:String} AND file_id = {file:String}"
            " AND offset >= {low:UInt64} AND offset < {high:UInt64}",
            span,
        )
        return max(expected - int(rows[0][0]), 0)

    def about(self, task: str, file_id: str) -> Sequence[Any]:
        """Path, start id, attempt, rank, world size, name, container, source, first and last arrival of a stored file."""
        rows = self._store.query(
            "SELECT min(r.path), max(r.start_id), max(r.attempt), max(r.rank), max(r.world_size), max(r.name), max(r.container),"
            " max(r.source), toUnixTimestamp64Milli(min(r.first_arrived)), toUnixTimestamp64Milli(max(r.last_arrived))"
            " FROM file_ranges AS r WHERE task_id = {task:String} AND file_id = {file:String}",
            {"task": task, "file": file_id},
        )
        return rows[0]

    def files_of(self, task: str) -> list[str]:
        """Ids of a task's files, forks included."""
        rows = self._store.query(
            "SELECT DISTINCT file_id FROM file_ranges WHERE task_id = {task:String} ORDER BY file_id", {"task": task}
        )
        return [str(row[0]) for row in rows]

    def refused(self, delta: Delta) -> bool:
        """Whether this file was put aside because its header names another task."""
        rows = self._store.query(
            "SELECT 1 FROM dead_letters AS d WHERE reason = 'wrong-task' AND task_id = {task:String}"
            " AND has(headers, ('ce_fileid', {file:String})) LIMIT 1",
            {"task": delta.file.task, "file": delta.file.file_id},
        )
        return bool(rows)


@dataclasses.dataclass(frozen=True, slots=True)
class StoredLines:
    """Lines read back, with what their rows say of all of them and of each."""

    lines: Lines
    rank: int
    arrived: list[int]  # milliseconds since the epoch


def _pairs(marks: Any) -> list[tuple[int, int]]:
    """Marks as the client gives them: named tuples come as mappings."""
    return [(m["offset"], m["crc"]) if isinstance(m, dict) else (m[0], m[1]) for m in marks]


def _bytes(state: str | bytes) -> bytes:
    return state.encode() if isinstance(state, str) else state
