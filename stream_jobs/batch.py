"""Rows gathered until they are inserted together, and the order in which they are.

Rows first, then the ledger, then the byte ranges that make them visible: whatever is cut off in between leaves rows that
no view shows, and bytes that are simply read again.
"""

from __future__ import annotations

import hashlib
import json
import time
from concurrent.futures import Executor
from dataclasses import dataclass, field
from typing import Any, Protocol

import orjson

from runtime.metrics import Metrics
from schemas.columns import TABLES
from schemas.events import Delta, FileEnd, FileRef, Heartbeat
from schemas.framing import Lines, visible
from stream_jobs import rows
from stream_jobs.entry import Entry
from stream_jobs.extract import Events, Points, State, progress_of
from stream_jobs.ledger import FileLedger, Run
from stream_jobs.message import Message
from stream_jobs.rows import Columns, uint32

FIRST = ("log_lines", "task_events", "heartbeats", "repeats")  # inserted side by side with points


class Inserts(Protocol):
    def insert(self, table: str, columns: Columns, token: str) -> list[int]: ...


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

    @property
    def empty(self) -> bool:
        return not self.entries and not self.said

    # --- gathering

    def add(
        self,
        file: FileLedger,
        delta: Delta,
        run: Run,
        states: tuple[State, State],
        lines: Lines,
        points: Points,
        events: Events,
        message: Message,
    ) -> None:
        """Rows of one delta and its place in the ledger; `states` before and behind it. Call before the run is extended."""
        arrived = message.arrived
        rank = uint32(delta.file.rank) or 0
        known, impossible = rows.line_times(lines, points, events, arrived)
        self.metrics.inc("worker_clamped_times_total", impossible)
        _extend(self.tables["log_lines"], rows.of_lines(file.task, file.file_id, rank, lines, known, arrived))
        self._add_extracted(file, rank, run, lines, points, events, known, [arrived] * len(points.lines), [arrived] * len(events))
        entry = self._entry(file, delta, run, states[0], arrived)
        entry.delta, entry.end, entry.state = delta, delta.end, states[1]
        entry.marks.append((delta.end, delta.crc_end))
        entry.written = max(entry.written, max(known.values(), default=delta.time))
        entry.arrived, entry.first_arrived = max(entry.arrived, arrived), min(entry.first_arrived, arrived)
        entry.first_offset = min(entry.first_offset, message.offset)
        entry.lines += len(lines.offsets)
        entry.points += len(points)
        entry.events += len(events)
        self.size += len(delta.value)

    def add_again(
        self, file: FileLedger, rank: int, run: Run, lines: Lines, points: Points, events: Events, arrived: list[int]
    ) -> None:
        """Points and events of stored lines that were extracted again; arrival is copied from the lines."""
        known = {index: t for index, t in enumerate(lines.times or ()) if t is not None}
        came = [[arrived[index] for index in at] for at in (points.lines, events.line)]
        self._add_extracted(file, rank, run, lines, points, events, known, came[0], came[1])

    def add_repeat(self, file: FileLedger, delta: Delta, dropped: int, kind: str, message: Message) -> None:
        """A delta of which so many bytes are stored already."""
        at = (message.partition, message.offset, message.arrived)
        row = [file.task, file.file_id, delta.start, delta.end, dropped, kind, delta.reading, *at]
        _append(self.tables["repeats"], row)
        self.said.append(f"{file.file_id}\0{kind}\0{message.partition}\0{message.offset}")

    def add_file_end(self, end: FileEnd, file_id: str, arrived: int) -> None:
        tail = visible(end.tail.decode("utf-8", "replace"))
        state = {"size": end.size, "offset": end.offset, "reading": end.reading, "ended": end.reason, "open_line": tail}
        self._add_heartbeat(end, end.file, file_id, state, arrived)
        fields = {"reason": end.reason, "offset": str(end.offset), "size": str(end.size)}
        self.add_event(end.file.task, "file_end", file_id, end.offset, end.time, arrived, rank=end.file.rank, fields=fields)

    def add_heartbeat(self, beat: Heartbeat, file_ids: list[str], arrived: int) -> None:
        """`file_ids`: under which each of its files is stored."""
        for found, file_id in zip(beat.files, file_ids, strict=True):
            state = {
                "size": found.size,
                "offset": found.offset,
                "reading": found.reading,
                "open_line": found.open_line,
                "error": found.error,
                "host": beat.host,
                "interval_ms": beat.interval,
            }
            self._add_heartbeat(beat, found.file, file_id, state, arrived)

    def add_event(
        self,
        task: str,
        kind: str,
        file_id: str,
        offset: int,
        at: int,
        arrived: int,
        *,
        rank: int = 0,
        message: str = "",
        fields: dict[str, str] | None = None,
    ) -> None:
        """Something that the pipeline itself says of a task; the same key again is the same event."""
        possible = rows.possible(at, arrived)
        shown = at if possible else arrived
        where = [task, kind, file_id, offset, 0, 0, "pipeline"]
        _append(
            self.tables["task_events"],
            [*where, shown, possible, uint32(rank) or 0, None, None, message, fields or {}, arrived],
        )
        self.metrics.inc("worker_clamped_times_total", not possible)
        self.said.append(f"{task}\0{kind}\0{file_id}\0{offset}\0{arrived}")

    def add_dead_letter(self, message: Message, reason: str, text: str, now: int) -> None:
        headers = [(name, (value or b"").decode("utf-8", "replace")) for name, value in message.headers]
        where = (message.topic, message.partition, message.offset)
        self._add_dead(where, reason, text, message.task, message.key or b"", headers, message.value or b"", message.arrived, now)

    # --- inserting

    def insert(self, sink: Inserts, pool: Executor) -> None:
        """Insert everything, in the order that makes it safe to be cut off anywhere. A batch is inserted once."""
        token = self._token()
        waiting = {
            table: pool.submit(sink.insert, table, self.tables[table], f"{table}:{token}")
            for table in FIRST
            if self.tables[table][0]
        }
        refused = {"points": sink.insert("points", self.tables["points"], f"points:{token}")}
        refused |= {table: future.result() for table, future in waiting.items()}
        now = time.time_ns() // 1_000_000
        for table, indexes in refused.items():
            for index in indexes:
                self._put_aside(table, index, now)
        sink.insert("dead_letters", self.tables["dead_letters"], f"dead_letters:{token}")
        for entry in self.entries.values() if not self.ranges_only else ():
            _append(self.tables["ledger"], entry.ledger_row(self.worker, now))
        sink.insert("ledger", self.tables["ledger"], f"ledger:{token}")
        for entry in self.entries.values():
            _append(self.tables["file_ranges"], entry.range_row(now))
        sink.insert("file_ranges", self.tables["file_ranges"], f"file_ranges:{token}")
        for entry in self.entries.values():
            entry.file.pending = False
            self.metrics.observe("worker_hop_seconds", max(now - entry.arrived, 0) / 1000)
        self.metrics.inc("worker_lines_total", len(self.tables["log_lines"][0]))
        self.metrics.inc("worker_points_total", len(self.tables["points"][0]))
        self.metrics.inc("worker_bytes_total", self.size)

    # --- rows

    def _entry(self, file: FileLedger, delta: Delta, run: Run, before: State, arrived: int) -> Entry:
        """The ledger row that a delta joins, or a new one."""
        key = (file.task, file.file_id, run.revision, run.start, delta.reading)
        entry = self.entries.get(key)
        if entry is not None and entry.end == delta.start:
            return entry
        if entry is not None:  # the run was left and come back to by another reading: the row is closed, under its start
            self.entries[(*key[:4], f"{delta.reading}@{entry.start}")] = self.entries.pop(key)
        crc, state = delta.crc_start, before.dump()
        entry = Entry(file, delta, run, delta.start, delta.end, crc, state, before, [], 0, arrived, arrived)
        self.entries[key] = entry
        return entry

    def _add_extracted(
        self,
        file: FileLedger,
        rank: int,
        run: Run,
        lines: Lines,
        points: Points,
        events: Events,
        known: dict[int, int],
        points_arrived: list[int],
        events_arrived: list[int],
    ) -> None:
        whose = (file.task, file.file_id, rank, run.revision, lines)
        columns, unfit = rows.of_points(*whose, points, known, points_arrived)
        _extend(self.tables["points"], columns)
        columns, more = rows.of_events(*whose, events, known, events_arrived)
        _extend(self.tables["task_events"], columns)
        self.metrics.inc("worker_unfit_values_total", unfit + more)

    def _add_heartbeat(
        self, event: FileEnd | Heartbeat, file: FileRef, file_id: str, state: dict[str, Any], arrived: int
    ) -> None:
        possible = rows.possible(event.time, arrived)
        self.metrics.inc("worker_clamped_times_total", not possible)
        progress = progress_of(state["open_line"]) if state.get("open_line") else None
        row = {
            "task_id": file.task,
            "file_id": file_id,
            "sent": event.time if possible else arrived,
            "source": event.source,
            "host": "",
            "interval_ms": 0,
            "path": file.path,
            "start_id": file.start_id,
            "attempt": uint32(file.attempt),
            "rank": uint32(file.rank) or 0,
            "world_size": uint32(file.world_size),
            "name": file.name,
            "ended": "",
            "progress_done": float(progress[0]) if progress else None,
            "progress_total": float(progress[1]) if progress else None,
            "error": "",
            "arrived": arrived,
            **state,
        }
        row["interval_ms"] = uint32(row["interval_ms"])
        row["size"], row["offset"] = (min(max(row[name], 0), 2**64 - 1) for name in ("size", "offset"))
        row["open_line"], row["error"] = row["open_line"][:1024], row["error"][:1024]
        _append(self.tables["heartbeats"], [row[name] for name in TABLES["heartbeats"]])
        self.said.append("\0".join(str(row[name]) for name in ("file_id", "sent", "size", "offset", "ended", "arrived")))

    def _add_dead(
        self,
        where: tuple[str, int, int],
        reason: str,
        text: str,
        task: str,
        key: bytes,
        headers: list[tuple[str, str]],
        value: bytes,
        arrived: int,
        now: int,
    ) -> None:
        _append(self.tables["dead_letters"], [*where, reason, text[:1000], task, key, headers, value, arrived, now])
        self.said.append(f"{where}\0{reason}")
        self.metrics.inc("worker_dead_letters_total", reason=reason)

    def _put_aside(self, table: str, index: int, now: int) -> None:
        """A row that the store refuses becomes a dead letter: its columns as JSON, the table in the place of a topic.

        The offset of such a letter is a hash of the row, since a row has no place in a partition.
        """
        row = {name: column[index] for name, column in zip(TABLES[table], self.tables[table], strict=True)}
        body = json.dumps(row, default=str).encode()  # in ASCII: a text that is no text may be what was refused
        place = int.from_bytes(hashlib.blake2b(body, digest_size=8).digest(), "big")
        text = f"the store refused this row of {table}"
        self._add_dead((table, 0, place), "rejected-row", text, row["task_id"], b"", [], body, row["arrived"], now)

    def _token(self) -> str:
        """A hash of everything that makes the rows: the same bytes from the same state, by the same extraction."""
        digest = hashlib.blake2b(digest_size=16)
        for entry in self.entries.values():
            crc = entry.marks[-1][1] if entry.marks else 0
            whose = (entry.file.task, entry.file.file_id, entry.start, entry.end, crc, entry.run.revision, entry.arrived)
            digest.update(orjson.dumps(whose))
            digest.update(entry.state_start)
        for said in self.said:
            digest.update(said.encode("utf-8", "surrogatepass"))
        return digest.hexdigest()


def _append(columns: Columns, row: list[Any]) -> None:
    for column, value in zip(columns, row, strict=True):
        column.append(value)


def _extend(columns: Columns, more: Columns) -> None:
    for column, values in zip(columns, more, strict=True):
        column.extend(values)
