"""A worker's road in this process, on the real store with merges stopped, and log files whose truth the test knows itself."""

from __future__ import annotations

import threading
import time
import uuid
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import pytest

from runtime.errors import PermanentError
from runtime.metrics import Metrics
from runtime.settings import Secret, StoreSettings
from schemas.events import Delta, Event, FileRef, encode
from schemas.migrations import Layout
from schemas.migrations import Store as Migrations
from stream_jobs.files import Files
from stream_jobs.ingest import Ingest
from stream_jobs.message import Message
from stream_jobs.settings import QuarantineSettings
from stream_jobs.sink import Sink
from tests.services.fixtures import Store

TABLES = ("points", "log_lines", "task_events", "ledger", "file_ranges", "heartbeats", "dead_letters", "repeats")


@dataclass
class Csv:
    """A log file with a header: its rows mean nothing to whom the header is unknown. Truth is made here, from the rows."""

    rows: list[tuple[int, float]]
    task: str = "task"
    file_id: str = "file"
    header: str = "step,loss"
    content: bytes = field(init=False)
    starts: list[int] = field(init=False)

    def __post_init__(self) -> None:
        lines = [self.header, *(f"{step},{value!r}" for step, value in self.rows)]
        self.content, self.starts = b"", []
        for line in lines:
            self.starts.append(len(self.content))
            self.content += line.encode() + b"\n"
        self.starts.append(len(self.content))

    @property
    def lines(self) -> list[tuple[str, int, str]]:
        texts = self.content.decode().split("\n")[:-1]
        return [(self.file_id, start, text) for start, text in zip(self.starts, texts, strict=False)]

    @property
    def points(self) -> list[tuple[str, int, str, int | None, float]]:
        name = self.header.split(",")[1]
        return [
            (self.file_id, start, name, step, value) for start, (step, value) in zip(self.starts[1:], self.rows, strict=False)
        ]

    def delta(self, first: int, last: int, reading: str = "A", **changes: Any) -> Delta:
        """Lines `first` to `last` (the header is line 0), `last` not included."""
        start, end = self.starts[first], self.starts[min(last, len(self.starts) - 1)]
        crc_start, crc_end = zlib.crc32(self.content[:start]), zlib.crc32(self.content[:end])
        ref = FileRef(self.task, self.file_id, f"/logs/{self.file_id}.csv")
        changes = {"source": "shipper-1", "time": int(time.time() * 1000), **changes}
        return Delta(ref, start, end, reading, crc_start, crc_end, value=self.content[start:end], **changes)

    def deltas(self, lines: int, reading: str = "A", first: int = 0, last: int | None = None) -> list[Delta]:
        """All of it, so many lines a delta."""
        last = len(self.starts) - 1 if last is None else last
        return [self.delta(at, min(at + lines, last), reading) for at in range(first, last, lines)]


class Killed(BaseException):
    """The process ends here, as by kill -9."""


class DyingSink(Sink):
    """Ends the process before or after its first insert of rows into a table; the order of inserts is the product's.

    It counts questions to the store."""

    dies: tuple[str, str] | None = None  # ("before" | "after", table)
    questions = 0

    def query(self, sql: str, parameters: dict[str, Any]) -> Sequence[Sequence[Any]]:
        self.questions += 1
        return super().query(sql, parameters)

    def insert(self, table: str, columns: list[list[Any]], token: str) -> list[int]:
        if columns[0] and self.dies == ("before", table):
            raise Killed
        refused = super().insert(table, columns, token)
        if columns[0] and self.dies == ("after", table):
            raise Killed
        return refused


@dataclass
class Process:
    """One life of a worker: what it knows of files ends with it."""

    ingest: Ingest
    sink: DyingSink
    metrics: Metrics
    files: Files

    def take(self, *messages: Message) -> None:
        self.ingest.process(messages, self.files)


class Desk:
    """A migrated database without merges, and workers on it."""

    def __init__(self, store: Store, database: str) -> None:
        self.settings = StoreSettings(url=store.url, database=database, user=store.writer[0], password=Secret(store.writer[1]))
        self.client = store.client(database=database)
        self.offset = 0
        self._open: list[Ingest] = []
        self.stop = threading.Event()
        for table in TABLES:
            self.client.command(f"TRUNCATE TABLE {table}")

    def worker(
        self,
        *,
        size: int = 1 << 24,
        quarantine: QuarantineSettings | None = None,
        dies: tuple[str, str] | None = None,
        names: int = 2000,
    ) -> Process:
        metrics = Metrics("worker")
        sink = DyingSink(self.settings, metrics, stop=self.stop)
        sink.dies = dies
        ingest = Ingest(sink, metrics, worker="test:1", size=size, quarantine=quarantine or QuarantineSettings(), names=names)
        self._open.append(ingest)
        return Process(ingest, sink, metrics, ingest.assignment())

    def message(self, event: Event, arrived: int | None = None, **changes: Any) -> Message:
        key, value, headers = encode(event)
        fields: dict[str, Any] = {"key": key, "value": value, "headers": tuple(headers)} | changes
        self.offset += 1
        return Message("topic", 0, self.offset, int(time.time() * 1000) if arrived is None else arrived, **fields)

    def messages(self, events: Sequence[Event]) -> list[Message]:
        return [self.message(event) for event in events]

    def query(self, sql: str) -> list[tuple[Any, ...]]:
        return [tuple(row) for row in self.client.query(sql).result_rows]

    def keep(self, table: str, condition: str) -> None:
        """Let all other rows expire. (A DELETE would wait for the merges that are stopped.)"""
        self.client.command(f"CREATE TABLE kept ENGINE = Memory AS SELECT * FROM {table} WHERE {condition}")
        self.client.command(f"TRUNCATE TABLE {table}")
        self.client.command(f"INSERT INTO {table} SELECT * FROM kept")
        self.client.command("DROP TABLE kept SYNC")

    # --- what people see

    def points(self, task: str = "task") -> list[tuple[Any, ...]]:
        return self.query(
            f"SELECT file_id, offset, name, step, value FROM all_points WHERE task_id = '{task}' ORDER BY file_id, offset, place"
        )

    def lines(self, task: str = "task") -> list[tuple[Any, ...]]:
        return self.query(f"SELECT file_id, offset, text FROM lines WHERE task_id = '{task}' ORDER BY file_id, offset")

    def raw(self, table: str) -> int:
        return int(self.query(f"SELECT count() FROM {table}")[0][0])

    def shows(self, *files: Csv) -> bool:
        """Whether the views show these files and nothing else; fails with the difference where not."""
        task = files[0].task
        assert self.lines(task) == sorted(line for file in files for line in file.lines)
        assert self.points(task) == sorted(point for file in files for point in file.points)
        curve = self.query(
            f"SELECT file_id, offset, name, step, value FROM curves WHERE task_id = '{task}' ORDER BY file_id, offset"
        )
        assert curve == self.points(task)
        return True

    def close(self) -> None:
        self.stop.set()
        for ingest in self._open:
            ingest.close()
        self.client.close()


@pytest.fixture(scope="session")
def still(store: Store) -> Iterator[str]:
    """A migrated database whose tables never merge; shared, because 40 views take a second to make."""
    name = f"test_still_{uuid.uuid4().hex[:8]}"
    with store.client(database="default") as client:
        list(Migrations(Layout(name), client.command, lambda sql: client.query(sql).result_rows).up())
        for table in TABLES:
            client.command(f"SYSTEM STOP MERGES {name}.{table}")
        yield name
        client.command(f"DROP DATABASE {name} SYNC")


@pytest.fixture
def desk(store: Store, still: str) -> Iterator[Desk]:
    made = Desk(store, still)
    yield made
    made.close()


def rows(count: int, first: int = 1) -> list[tuple[int, float]]:
    return [(step, 1 / step) for step in range(first, first + count)]


__all__ = ["Csv", "Desk", "Killed", "PermanentError", "Process", "desk", "rows", "still"]
