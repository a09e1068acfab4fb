"""Rows as a worker stores them, for tests of what reads them: a file grows in memory and `store()` inserts what is new.

The truth is what a test appended here; nothing of the worker's or the gateway's code is used.
"""

from __future__ import annotations

import dataclasses
import json
import math
import time
from typing import Any

from clickhouse_connect.driver.client import Client

from schemas.columns import TABLES
from schemas.migrations import Layout, Store

REVISION = 1 << 32  # extractor version 1, replay 0


def now_ms() -> int:
    return time.time_ns() // 1_000_000


def migrate(client: Client, database: str) -> None:
    """Bring the schema of a database up to date."""
    for _ in Store(Layout(database), client.command, lambda sql: client.query(sql).result_rows).up():
        pass


def insert(client: Client, table: str, rows: list[dict[str, Any]], database: str) -> None:
    """Insert rows given as dicts; columns that no row names take the type's default."""
    if not rows:
        return
    columns = {name: kind for name, kind in TABLES[table].items() if name in rows[0]}
    client.insert(
        table,
        [[row[name] for row in rows] for name in columns],
        column_names=list(columns),
        column_type_names=list(columns.values()),
        column_oriented=True,
        database=database,
        settings={"async_insert": 0},
    )


def finite(value: float) -> float | str:
    """A number as records carry it."""
    if math.isnan(value):
        return "NaN"
    return value if math.isfinite(value) else ("Infinity" if value > 0 else "-Infinity")


@dataclasses.dataclass
class LogFile:
    """One log file of a task. `text()` and `log()` append a line; nothing is visible before `store()`."""

    client: Client
    task_id: str
    file_id: str
    path: str
    start_id: str = "start-1"
    attempt: int | None = None
    rank: int = 0
    world_size: int = 1
    name: str = ""
    revision: int = REVISION
    database: str = "trainwire"
    arrived: int | None = None  # ms: the broker's time stamp of what is appended; None: now
    size: int = 0
    lines: int = 0
    _start: int = 0
    _rows: dict[str, list[dict[str, Any]]] = dataclasses.field(
        default_factory=lambda: {"log_lines": [], "points": [], "task_events": []}
    )

    def text(self, text: str, at: int | None = None, kind: str = "text", stream: str = "") -> int:
        """Append a line, returning its offset. `at` is its own time (ms); without one the line tells no time."""
        offset, self.size = self.size, self.size + len(text.encode()) + 1
        self.lines += 1
        self._rows["log_lines"].append(
            {
                "task_id": self.task_id, "file_id": self.file_id, "offset": offset, "end": self.size, "text": text, "kind": kind,
                "stream": stream, "time": at or self.arrived or now_ms(), "time_known": at is not None, "rank": self.rank,
                "arrived": self.arrived or now_ms(),
            }
        )  # fmt: skip
        return offset

    def log(
        self, values: dict[str, float], step: int | None = None, at: int | None = None, epoch: float | None = None,
        *, text: str | None = None, source: str = "record",
    ) -> int:  # fmt: skip
        """Append a line that says metric values: a record, or `text` that a worker read the values from."""
        moment = at or now_ms()
        record = {"tw": "log", "t": moment, "s": step, "m": {name: finite(value) for name, value in values.items()}}
        offset = self.text(json.dumps(record) if text is None else text, at, "record" if text is None else "text")
        for place, (name, value) in enumerate(values.items()):
            self._rows["points"].append(
                {
                    "task_id": self.task_id, "name": name, "file_id": self.file_id, "offset": offset, "place": place,
                    "revision": self.revision, "value": value, "step": step, "epoch": epoch, "time": moment,
                    "time_known": at is not None, "rank": self.rank, "source": source, "arrived": self.arrived or now_ms(),
                }
            )  # fmt: skip
        return offset

    def event(self, kind: str, fields: dict[str, str], message: str = "", at: int | None = None, step: int | None = None) -> int:
        """Append a record line that says an event."""
        moment = at or now_ms()
        offset = self.text(json.dumps({"tw": kind, "t": moment, **fields}), at, "record")
        self._rows["task_events"].append(
            {
                "task_id": self.task_id, "kind": kind, "file_id": self.file_id, "offset": offset, "place": 0,
                "revision": self.revision, "origin": "line", "time": moment, "time_known": True, "rank": self.rank, "step": step,
                "epoch": None, "message": message, "fields": fields, "arrived": now_ms(),
            }
        )  # fmt: skip
        return offset

    def store(self, *, covered: bool = True) -> None:
        """Insert what was appended; with `covered=False` as a worker killed before it confirmed the bytes."""
        for table, rows in self._rows.items():
            self._insert(table, rows)
            rows.clear()
        if not covered:
            return
        self.cover(0, self.size)
        moment = now_ms()
        row = {"start": self._start, "end": self.size, "revision": self.revision, "lines": self.lines}
        times = {"written": moment - 180, "shipped": moment - 120, "arrived": moment - 100, "stored": moment}
        self._insert("ledger", [self._mine() | row | times])
        self._start = self.size

    def cover(self, start: int, end: int, revision: int | None = None) -> None:
        """Say that a byte range is stored."""
        moment = self.arrived or now_ms()
        row = {
            "revision": revision or self.revision,
            "start": start,
            "end": end,
            "start_id": self.start_id,
            "attempt": self.attempt,
        }
        times = {"first_arrived": moment, "last_arrived": moment, "last_stored": moment}
        self._insert("file_ranges", [self._mine() | self._about() | row | times | {"lines": self.lines, "container": "plain"}])

    def heartbeat(
        self, *, ended: str = "", size: int | None = None, done: float | None = None, total: float | None = None, error: str = ""
    ) -> None:
        """What a shipper says of the file now."""
        moment = now_ms()
        row = {"sent": moment, "arrived": moment, "source": "shipper-1", "host": "node-a", "interval_ms": 10_000, "ended": ended}
        state = {"size": size or self.size, "offset": self.size, "progress_done": done, "progress_total": total, "error": error}
        self._insert("heartbeats", [self._mine() | self._about() | row | state])

    def said(self, kind: str, message: str, offset: int = 0) -> None:
        """An event that the pipeline says about the file."""
        row = {"kind": kind, "offset": offset, "place": 0, "revision": 0, "origin": "pipeline", "message": message}
        self._insert(
            "task_events", [self._mine() | row | {"time": now_ms(), "arrived": now_ms(), "rank": self.rank, "fields": {}}]
        )

    def _mine(self) -> dict[str, Any]:
        return {"task_id": self.task_id, "file_id": self.file_id}

    def _about(self) -> dict[str, Any]:
        return {"path": self.path, "rank": self.rank, "world_size": self.world_size, "name": self.name}

    def _insert(self, table: str, rows: list[dict[str, Any]]) -> None:
        insert(self.client, table, rows, self.database)
