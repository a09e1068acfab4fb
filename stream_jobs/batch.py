"""Rows to insert, in columns, gathered until they are inserted together; and the order in which they are.

Rows first, then the ledger, then the byte ranges that make them visible: whatever is cut off in between leaves rows that
no view shows, and bytes that are simply read again.
"""

from __future__ import annotations

import hashlib
import time
from concurrent.futures import Executor
from dataclasses import dataclass, field
from typing import Any, Protocol

import orjson

from runtime.metrics import Metrics
from schemas.columns import TABLES
from schemas.events import Delta, FileEnd, Heartbeat
from schemas.framing import Lines, visible
from stream_jobs.extract import Events, Points, State, progress_of
from stream_jobs.ledger import FileLedger, Run
from stream_jobs.message import Message

YEAR_2000 = 946_684_800_000  # ms; a clock before that was never set
DAY = 86_400_000  # ms; a clock further ahead than that is wrong
INT64 = 2**63
RECORD = '{"tw":"'
LAST_OFFSET = 2**64 - 1  # no message's own: what is written without a message leaves the smallest as it is

Columns = list[list[Any]]


class Inserts(Protocol):
    def insert(self, table: str, columns: Columns, token: str) -> list[int]: ...


@dataclass(slots=True)
class Entry:
    """One ledger row to be: what a batch holds of one run of a file, from one reading."""

    file: FileLedger
    delta: Delta  # the newest of them: whose file it is, which container
    run: Run
    start: int
    end: int
    crc_start: int
    state_start: bytes
    state: State
    marks: list[tuple[int, int]]
    written: int
    arrived: int
    first_arrived: int
    first_offset: int = LAST_OFFSET
    lines: int = 0
    points: int = 0
    events: int = 0


@dataclass(slots=True)
class Batch:
    """What is inserted together. `size` counts bytes of log files in it."""

    worker: str
    metrics: Metrics
    tables: dict[str, Columns] = field(default_factory=lambda: {name: [[] for _ in TABLES[name]] for name in TABLES})
    entries: dict[tuple[str, str, int, int, str], Entry] = field(default_factory=dict)
    said: list[str] = field(default_factory=list)  # identities of everything that is no delta, for its tokens
    size: int = 0
    ranges_only: bool = False  # no ledger rows: there are no checksums to write into them

    def add(
        self,
        file: FileLedger,
        delta: Delta,
        run: Run,
        before: State,
        after: State,
        lines: Lines,
        points: Points,
        events: Events,
        message: Message,
    ) -> None:
        """Rows of one stored delta. Call before the run is extended."""
        arrived = message.arrived
        known = self._add_lines(file, delta, lines, points, events, arrived)
        self._add_points(file, delta, run, lines, points, known, arrived)
        self._add_events(file, delta, run, lines, events, known, arrived)
        key = (file.task, file.file_id, run.revision, run.start, delta.reading)
        entry = self.entries.get(key)
        written = max((t for t in known.values()), default=delta.time)
        if entry is None or entry.end != delta.start:
            if entry is not None:  # the same run, left and come back to by another reading: its row is closed
                self.entries[(*key[:4], f"{delta.reading}@{entry.start}")] = self.entries.pop(key)
            entry = self.entries[key] = Entry(
                file, delta, run, delta.start, delta.end, delta.crc_start, before.dump(), after, [], written, arrived, arrived
            )
        entry.delta, entry.end, entry.state = delta, delta.end, after
        entry.marks.append((delta.end, delta.crc_end))
        entry.written, entry.arrived = max(entry.written, written), max(entry.arrived, arrived)
        entry.first_arrived = min(entry.first_arrived, arrived)
        entry.first_offset = min(entry.first_offset, message.offset)
        entry.lines += len(lines.offsets)
        entry.points += len(points)
        entry.events += len(events)
        self.size += len(delta.value)

    def add_again(
        self, file: FileLedger, rank: int, run: Run, lines: Lines, points: Points, events: Events, arrived: list[int]
    ) -> None:
        """Points and events of stored lines that were extracted again; arrival is copied from the lines."""
        known = {i: t for i, t in enumerate(lines.times or ()) if t is not None}
        self._points(file, rank, run, lines, points, known, [arrived[i] for i in points.line])
        self._events(file, rank, run, lines, events, known, [arrived[i] for i in events.line])

    def add_repeat(self, file: FileLedger, delta: Delta, dropped: int, kind: str, message: Message) -> None:
        """A delta of which so many bytes are stored already."""
        at = (message.partition, message.offset, message.arrived)
        row = [file.task, file.file_id, delta.start, delta.end, dropped, kind, delta.reading, *at]
        _append(self.tables["repeats"], row)
        self.said.append(f"{file.file_id}\0{kind}\0{message.partition}\0{message.offset}")

    def add_file_end(self, end: FileEnd, file_id: str, arrived: int) -> None:
        file = end.file
        text = visible(end.tail.decode("utf-8", "replace"))[:1024]
        self._heartbeat(end, file_id, end.size, end.offset, end.reading, end.reason, text, "", "", 0, arrived, file)
        self.add_event(
            file.task,
            "file_end",
            file_id,
            end.offset,
            end.time,
            arrived,
            file.rank,
            fields={"reason": end.reason, "offset": str(end.offset), "size": str(end.size)},
        )

    def add_heartbeat(self, beat: Heartbeat, file_ids: list[str], arrived: int) -> None:
        for state, file_id in zip(beat.files, file_ids, strict=True):
            self._heartbeat(
                beat,
                file_id,
                state.size,
                state.offset,
                state.reading,
                "",
                state.open_line,
                state.error,
                beat.host,
                beat.interval,
                arrived,
                state.file,
            )

    def add_event(
        self,
        task: str,
        kind: str,
        file_id: str,
        offset: int,
        at: int,
        arrived: int,
        rank: int = 0,
        *,
        message: str = "",
        fields: dict[str, str] | None = None,
    ) -> None:
        """Something that the pipeline itself says of a task; the same key again is the same event."""
        shown, ok = self._clamp(at, arrived)
        row = [task, kind, file_id, offset, 0, 0, "pipeline", shown, ok, rank, None, None, message, fields or {}, arrived]
        _append(self.tables["task_events"], row)
        self.said.append(f"{task}\0{kind}\0{file_id}\0{offset}\0{arrived}")

    def add_dead_letter(self, message: Message, reason: str, text: str, now: int) -> None:
        headers = [(name, (value or b"").decode("utf-8", "replace")) for name, value in message.headers]
        self._dead(
            message.topic,
            message.partition,
            message.offset,
            reason,
            text,
            message.task,
            message.key,
            headers,
            message.value,
            message.arrived,
            now,
        )

    def insert(self, sink: Inserts, pool: Executor) -> None:
        """Insert everything, in the order that makes it safe to be cut off anywhere. Empties the batch."""
        token = self._token()
        waiting = {
            table: pool.submit(sink.insert, table, self.tables[table], f"{table}:{token}")
            for table in ("log_lines", "task_events", "heartbeats", "repeats")
            if self.tables[table][0]
        }
        refused = {"points": sink.insert("points", self.tables["points"], f"points:{token}")}
        refused |= {table: future.result() for table, future in waiting.items()}
        now = time.time_ns() // 1_000_000
        for table, rows in refused.items():
            for row in rows:
                self._put_aside(table, row, now)
        sink.insert("dead_letters", self.tables["dead_letters"], f"dead_letters:{token}")
        entries = [entry for entry in self.entries.values() if entry.end > entry.start]
        for entry in entries if not self.ranges_only else ():
            _append(self.tables["ledger"], self._ledger_row(entry, now))
        sink.insert("ledger", self.tables["ledger"], f"ledger:{token}")
        for entry in entries:
            _append(self.tables["file_ranges"], _range_row(entry, now))
        sink.insert("file_ranges", self.tables["file_ranges"], f"file_ranges:{token}")
        self.metrics.inc("worker_lines_total", len(self.tables["log_lines"][0]))
        self.metrics.inc("worker_points_total", len(self.tables["points"][0]))
        self.metrics.inc("worker_bytes_total", self.size)
        for entry in entries:
            entry.file.pending = False
            self.metrics.observe("worker_hop_seconds", max(now - entry.arrived, 0) / 1000)

    @property
    def empty(self) -> bool:
        return not self.entries and not self.said and not any(columns[0] for columns in self.tables.values())

    # --- rows

    def _add_lines(
        self, file: FileLedger, delta: Delta, lines: Lines, points: Points, events: Events, arrived: int
    ) -> dict[int, int]:
        """Rows of log_lines. Returns the times that lines told (by index), within range."""
        n = len(lines.offsets)
        told: dict[int, int | None] = dict(zip(events.line, events.time, strict=True))
        told |= dict(zip(points.line, points.time, strict=True))
        told |= {i: t for i, t in enumerate(lines.times or ()) if t is not None}
        known: dict[int, int] = {}
        for index, t in told.items():
            if t is not None:
                if YEAR_2000 <= t <= arrived + DAY:
                    known[index] = t
                else:
                    self.metrics.inc("worker_clamped_times_total")
        kinds = ["record" if text.startswith(RECORD) else "text" for text in lines.texts]
        for index in lines.continuations:
            kinds[index] = "continuation"
        columns: Columns = [
            [file.task] * n,
            [file.file_id] * n,
            lines.offsets,
            lines.ends,
            lines.texts,
            kinds,
            lines.streams or [""] * n,
            [known.get(i, arrived) for i in range(n)],
            [i in known for i in range(n)],
            [delta.file.rank] * n,
            [arrived] * n,
        ]
        _extend(self.tables["log_lines"], columns)
        return known

    def _add_points(
        self, file: FileLedger, delta: Delta, run: Run, lines: Lines, points: Points, known: dict[int, int], arrived: int
    ) -> None:
        self._points(file, delta.file.rank, run, lines, points, known, [arrived] * len(points))

    def _add_events(
        self, file: FileLedger, delta: Delta, run: Run, lines: Lines, events: Events, known: dict[int, int], arrived: int
    ) -> None:
        self._events(file, delta.file.rank, run, lines, events, known, [arrived] * len(events))

    def _points(
        self,
        file: FileLedger,
        rank: int,
        run: Run,
        lines: Lines,
        points: Points,
        known: dict[int, int],
        arrived: list[int],
    ) -> None:
        n = len(points)
        if not n:
            return
        times, oks = self._times(points.line, points.time, known, arrived)
        columns: Columns = [
            [file.task] * n,
            points.name,
            [file.file_id] * n,
            [lines.offsets[i] for i in points.line],
            points.index,
            [run.revision] * n,
            points.value,
            self._steps(points.step),
            points.epoch,
            times,
            oks,
            [rank] * n,
            points.source,
            arrived,
        ]
        _extend(self.tables["points"], columns)

    def _events(
        self,
        file: FileLedger,
        rank: int,
        run: Run,
        lines: Lines,
        events: Events,
        known: dict[int, int],
        arrived: list[int],
    ) -> None:
        n = len(events)
        if not n:
            return
        times, oks = self._times(events.line, events.time, known, arrived)
        columns: Columns = [
            [file.task] * n,
            events.kind,
            [file.file_id] * n,
            [lines.offsets[i] for i in events.line],
            events.index,
            [run.revision] * n,
            ["line"] * n,
            times,
            oks,
            [rank] * n,
            self._steps(events.step),
            events.epoch,
            events.message,
            events.fields,
            arrived,
        ]
        _extend(self.tables["task_events"], columns)

    def _times(
        self, line: list[int], told: list[int | None], known: dict[int, int], arrived: list[int]
    ) -> tuple[list[int], list[bool]]:
        """A row's own time, else its line's, else its arrival."""
        times: list[int] = []
        oks: list[bool] = []
        for index, t, came in zip(line, told, arrived, strict=True):
            if t is None or not YEAR_2000 <= t <= came + DAY:
                t = known.get(index)
            times.append(came if t is None else t)
            oks.append(t is not None)
        return times, oks

    def _steps(self, steps: list[int | None]) -> list[int | None]:
        real = [step for step in steps if step is not None]
        if not real or (min(real) >= -INT64 and max(real) < INT64):
            return steps
        fitting = [step if step is not None and -INT64 <= step < INT64 else None for step in steps]
        self.metrics.inc("worker_unfit_values_total", fitting.count(None) - steps.count(None))
        return fitting

    def _clamp(self, at: int, arrived: int) -> tuple[int, bool]:
        if YEAR_2000 <= at <= arrived + DAY:
            return at, True
        self.metrics.inc("worker_clamped_times_total")
        return arrived, False

    def _heartbeat(
        self,
        event: FileEnd | Heartbeat,
        file_id: str,
        size: int,
        offset: int,
        reading: str,
        ended: str,
        open_line: str,
        error: str,
        host: str,
        interval: int,
        arrived: int,
        file: Any,
    ) -> None:
        sent, _ = self._clamp(event.time, arrived)
        progress = progress_of(open_line) if open_line else None
        done, total = (float(progress[0]), float(progress[1])) if progress else (None, None)
        row = [
            file.task,
            file_id,
            sent,
            event.source,
            host,
            min(max(interval, 0), 2**32 - 1),
            file.path,
            file.start_id,
            _uint32(file.attempt),
            _uint32(file.rank) or 0,
            _uint32(file.world_size),
            file.name,
            reading,
            min(max(size, 0), 2**64 - 1),
            min(max(offset, 0), 2**64 - 1),
            ended,
            open_line[:1024],
            done,
            total,
            error[:1024],
            arrived,
        ]
        _append(self.tables["heartbeats"], row)
        self.said.append(f"{file_id}\0{sent}\0{size}\0{offset}\0{ended}\0{arrived}")

    def _dead(
        self,
        topic: str,
        partition: int,
        offset: int,
        reason: str,
        text: str,
        task: str,
        key: bytes | None,
        headers: list[tuple[str, str]],
        value: bytes | None,
        arrived: int,
        now: int,
    ) -> None:
        row = [topic, partition, offset, reason, text[:1000], task, key or b"", headers, value or b"", arrived, now]
        _append(self.tables["dead_letters"], row)
        self.said.append(f"{topic}\0{partition}\0{offset}\0{reason}")
        self.metrics.inc("worker_dead_letters_total", reason=reason)

    def _put_aside(self, table: str, index: int, now: int) -> None:
        """A row that the store refuses becomes a dead letter: its columns as JSON, the table in the place of a topic.

        The offset of such a letter is a hash of the row, since a row has no place in a partition.
        """
        row = {name: column[index] for name, column in zip(TABLES[table], self.tables[table], strict=True)}
        body = orjson.dumps(row, default=str, option=orjson.OPT_NON_STR_KEYS)
        place = int.from_bytes(hashlib.blake2b(body, digest_size=8).digest(), "big")
        self._dead(
            table,
            0,
            place,
            "rejected-row",
            f"the store refused this row of {table}",
            str(row["task_id"]),
            None,
            [],
            body,
            int(row["arrived"]),
            now,
        )

    def _ledger_row(self, entry: Entry, now: int) -> list[Any]:
        delta = entry.delta
        return [
            entry.file.task,
            entry.file.file_id,
            entry.start,
            entry.end,
            entry.run.revision,
            delta.reading,
            entry.crc_start,
            entry.marks,
            entry.state.dump(),
            entry.run.cold,
            delta.container,
            entry.lines,
            entry.points,
            entry.events,
            delta.source,
            self.worker,
            entry.written,
            delta.time,
            entry.arrived,
            now,
        ]

    def _token(self) -> str:
        """A hash of everything that makes the rows: the same bytes from the same state, by the same extraction."""
        digest = hashlib.blake2b(digest_size=16)
        for entry in self.entries.values():
            crc = entry.marks[-1][1] if entry.marks else 0
            parts = (
                entry.file.task,
                entry.file.file_id,
                entry.start,
                entry.end,
                crc,
                entry.run.revision,
                entry.arrived,
            )
            digest.update(orjson.dumps(parts))
            digest.update(entry.state_start)
        for said in self.said:
            digest.update(said.encode("utf-8", "surrogatepass"))
        return digest.hexdigest()


def _range_row(entry: Entry, now: int) -> list[Any]:
    delta, file, run = entry.delta, entry.file, entry.run
    ref = delta.file
    return [
        file.task,
        file.file_id,
        run.revision,
        run.start,
        entry.end,
        int(run.cold),
        ref.path,
        ref.start_id,
        _uint32(ref.attempt),
        _uint32(ref.rank) or 0,
        _uint32(ref.world_size),
        ref.name,
        delta.container,
        delta.source,
        run.lines,
        file.parent,
        file.parent_end,
        entry.first_arrived,
        entry.arrived,
        now,
        entry.first_offset,
    ]


def _uint32(number: int | None) -> int | None:
    return None if number is None else min(max(number, 0), 2**32 - 1)


def _append(columns: Columns, row: list[Any]) -> None:
    for column, value in zip(columns, row, strict=True):
        column.append(value)


def _extend(columns: Columns, more: Columns) -> None:
    for column, values in zip(columns, more, strict=True):
        column.extend(values)
