"""Rows of every special case that panels meet, written by hand into raw tables; what the views make of them is said here.

Times hang on a range that ends now: tasks are alive, stalled or silent by the store's clock.
"""

from __future__ import annotations

import dataclasses
import math
import re
import time
import uuid
from collections.abc import Sequence
from typing import Any

from clickhouse_connect.driver.client import Client

from schemas.columns import TABLES
from tests.contract.grafana_names import NAMES
from tests.contract.grafana_rules import Range

V1, V2 = 1 << 32, 2 << 32  # revisions
LONG = 1_000_000  # points of one metric
BULK = 10_000  # tasks that are only there
HOUR = 3_600_000


@dataclasses.dataclass(frozen=True)
class Data:
    span: Range  # most rows lie inside
    edges: Range  # the task `edges` has rows at both ends, and 1 ms before and behind each


class Seed:
    """Writes rows, in as few inserts as there are kinds of them; merges are stopped by the caller."""

    def __init__(self, client: Client, now: int) -> None:
        self._client, self._now = client, now
        self._waiting: dict[tuple[str, tuple[str, ...]], list[dict[str, Any]]] = {}

    def all(self) -> Data:
        now = self._now
        span = Range(now - 3 * HOUR, now + HOUR)
        self.edges(now - 2 * HOUR, now - HOUR)
        self.attempts()
        self.ranks()
        self.non_finite()
        self.breaking()
        self.words()
        self.replayed_and_orphaned()
        self.sources()
        self.names()
        self.states()
        self.gaps()
        self.pipeline()
        self.long()
        self.flush()
        self.bulk()
        return Data(span, Range(now - 2 * HOUR, now - HOUR))

    def insert(self, table: str, rows: Sequence[dict[str, Any]]) -> None:
        for row in rows:
            self._waiting.setdefault((table, tuple(sorted(row))), []).append(row)

    def flush(self) -> None:
        """Write what waits: a part a table and set of columns."""
        for (table, columns), rows in self._waiting.items():
            self._client.insert(
                table,
                [[row[name] for name in columns] for row in rows],
                column_names=list(columns),
                column_type_names=[TABLES[table][name] for name in columns],
                settings={"insert_deduplication_token": uuid.uuid4().hex},
            )
        self._waiting.clear()

    def file(self, task: str, file: str, **values: Any) -> None:
        row = {"task_id": task, "file_id": file, "start": 0, "end": 10**9, "revision": V1, "path": f"/logs/{file}.log"}
        # alive for longer than the tests take: the store's clock goes on
        times = {"first_arrived": self._now - 2 * HOUR, "last_arrived": self._now + HOUR, "last_stored": self._now + HOUR}
        self.insert("file_ranges", [row | times | values])

    def beat(self, task: str, file: str, **values: Any) -> None:
        row = {"task_id": task, "file_id": file, "sent": self._now + HOUR, "arrived": self._now + HOUR, "source": "shipper-1"}
        self.insert("heartbeats", [row | {"size": 10**9, "offset": 10**9, "interval_ms": 10_000} | values])

    def point(self, task: str, file: str, number: int, value: float, **values: Any) -> dict[str, Any]:
        row = {
            "task_id": task,
            "file_id": file,
            "name": "loss",
            "offset": 100 * number,
            "revision": V1,
            "value": value,
            "step": number,
        }
        return row | {"time": self._now - HOUR + 1_000 * number, "source": "record", "arrived": self._now - HOUR} | values

    def event(self, task: str, file: str, number: int, kind: str, **values: Any) -> dict[str, Any]:
        row = {
            "task_id": task,
            "file_id": file,
            "kind": kind,
            "offset": 7 * number,
            "revision": V1,
            "time": self._now - HOUR + number,
        }
        return row | {"message": "", "fields": {}, "arrived": self._now - HOUR} | values

    def edges(self, start: int, end: int) -> None:
        """Rows 1 ms before, at and behind both ends of a range."""
        self.file("edges", "e", first_arrived=start - HOUR)
        times = [start - 1, start, start + 1, end - 1, end, end + 1]
        self.insert("points", [self.point("edges", "e", n, float(n), time=at) for n, at in enumerate(times)])
        lines = [{"text": f"line {n}", "offset": 10 * n, "end": 10 * n + 7, "time": at} for n, at in enumerate(times)]
        self.insert("log_lines", [{"task_id": "edges", "file_id": "e", "arrived": end} | line for line in lines])
        self.insert("task_events", [self.event("edges", "e", n, "checkpoint", time=at) for n, at in enumerate(times)])
        done = [self.event("edges", "e", 20 + n, "progress", time=at, fields={"done": str(n)}) for n, at in enumerate(times)]
        self.insert("task_events", done)
        status = [self.event("edges", "e", 40 + n, "status", time=at, fields={"status": "running"}) for n, at in enumerate(times)]
        self.insert("task_events", status)
        self.insert("ledger", [self.batch("edges", "e", n, at) for n, at in enumerate(times)])
        dead = {
            "topic": "t",
            "partition": 1,
            "reason": "edge",
            "message": "not decodable",
            "key": "k",
            "value": "?",
            "stored": end,
        }
        self.insert("dead_letters", [dead | {"task_id": "", "offset": n, "arrived": at} for n, at in enumerate(times)])
        life = {"tool": "tensorboard", "owner": "d'arc", "seconds": "5", "cpu_seconds": "2.5", "memory_mib_seconds": "1024"}
        released = [
            self.event("trainwire-gateway", "g", n, "viewer_released", time=at, fields=life | {"life": str(n)})
            for n, at in enumerate(times)
        ]
        self.file("trainwire-gateway", "g")
        self.insert("task_events", released)

    def batch(self, task: str, file: str, number: int, at: int) -> dict[str, Any]:
        row = {"task_id": task, "file_id": file, "start": number * 100, "end": number * 100 + 100, "revision": V1, "worker": "w1"}
        hops = {"written": at - 150, "shipped": at - 50, "arrived": at, "stored": at + 80}
        return row | {"lines": 10, "points": 30, "events": 1, "source": "shipper-1"} | hops

    def attempts(self) -> None:
        """Killed at step 99, started again from step 60."""
        self.file("attempts", "a1", start_id="s1", attempt=1)
        self.file("attempts", "a2", start_id="s2", attempt=2, first_arrived=self._now - HOUR)
        self.insert("points", [self.point("attempts", "a1", n, 1.0) for n in range(100)])
        self.insert("points", [self.point("attempts", "a2", n, 2.0, time=self._now - HOUR // 2 + n) for n in range(60, 120)])
        for file, attempt in (("a1", 1), ("a2", 2)):
            parameters = {"lr": f"0.{attempt}", "it's": "a \"quoted\" 'value'", "big": "9007199254740993"}
            self.insert("task_events", [self.event("attempts", file, attempt, "params", fields=parameters)])
        self.beat("attempts", "a2")

    def ranks(self) -> None:
        """Four ranks; rank 3 comes last."""
        for rank in range(4):
            self.file("ranks", f"r{rank}", rank=rank, world_size=4, start_id=f"r{rank}")
            self.beat("ranks", f"r{rank}", rank=rank, world_size=4)
            rows = [
                self.point("ranks", f"r{rank}", n, n + rank / 10, rank=rank, time=self._now - HOUR + 1_000 * n + 100 * rank)
                for n in range(50)
            ]
            for _ in range(3):  # delivered three times
                self.insert("points", rows)
                self.flush()

    def non_finite(self) -> None:
        """NaN and infinities, and a metric without steps whose lines share one time."""
        self.file("broken", "n")
        self.beat("broken", "n")
        odd = {10: math.nan, 11: math.inf, 12: -math.inf, 30: math.nan}
        times = {n: self._now + 600_000 + 1_000 * n for n in range(40)}  # recent, however long the tests take
        rows = [self.point("broken", "n", n, odd.get(n, 1 / (n + 1)), time=at, arrived=at) for n, at in times.items()]
        self.insert("points", rows)
        at = self._now + 500_000
        self.insert("points", [self.point("broken", "n", 1_000 + n, float(n), name="val", step=None, time=at) for n in range(5)])

    def breaking(self) -> None:
        """A loss that was 1 an hour ago and is 9 now; lower rows of a file without a range were never confirmed.

        Its name stands beside `broken` in every order: these two arrive later than all others, in a new month perhaps, and
        in a part of their own no other task may lie between them.
        """
        self.file("breaking", "u", end=10_000)
        self.beat("breaking", "u")
        then, late = self._now - HOUR, self._now + 600_000
        self.insert("points", [self.point("breaking", "u", n, 1.0, time=then + n, arrived=then) for n in range(5)])
        self.insert("points", [self.point("breaking", "u", n, 9.0, time=late + n, arrived=late) for n in range(5, 10)])
        self.insert("points", [self.point("breaking", "orphan", 200, 0.5, time=late, arrived=late)])

    def words(self) -> None:
        """What a task says of itself comes in many inserts; its first bytes were extracted again; rank 1 began twice."""
        self.file("said", "s1", start_id="1", attempt=1, end=3_000)
        self.file("said", "s1", start_id="1", attempt=1, end=1_000, revision=V2)
        self.file("said", "s2", start_id="2", attempt=2, rank=1, world_size=2, end=3_000, first_arrived=self._now - HOUR // 2)
        self.beat("said", "s2", progress_done=7.0)
        who = {"name": "said", "owner": "ada", "project": "vision", "framework": "pytorch"}
        said = [
            ("s1", 0, "header", V1, who | {"owner": "misread"}),
            ("s1", 10, "progress", V1, {"done": "0", "total": "100"}),
            ("s1", 40, "progress", V1, {"done": "90", "total": "100"}),
            ("s1", 0, "header", V2, who),
            ("s1", 40, "progress", V2, {"done": "9", "total": "100"}),
            ("s1", 200, "progress", V1, {"done": "95", "total": "100"}),
            ("s1", 210, "status", V1, {"status": "failed"}),
            ("s2", 0, "header", V1, who | {"name": ""}),
            ("s2", 10, "progress", V1, {"done": "1"}),
            ("s2", 20, "progress", V1, {"done": "5"}),
            ("s2", 5, "status", V1, {"status": "evaluating"}),
            ("orphan", 5, "status", V1, {"status": "failed"}),
        ]
        for file, number, kind, revision, fields in said:
            rank = int(file == "s2")
            self.insert("task_events", [self.event("said", file, number, kind, revision=revision, fields=fields, rank=rank)])
            self.flush()

    def replayed_and_orphaned(self) -> None:
        """The first half was extracted again, by a newer revision; rows without a range were never confirmed."""
        self.file("replayed", "p", end=5_000)
        self.file("replayed", "p", end=2_500, revision=V2)
        self.insert("points", [self.point("replayed", "p", n, 1.0) for n in range(50)])
        self.insert("points", [self.point("replayed", "p", n, 2.0, revision=V2) for n in range(40)])
        self.insert("points", [self.point("replayed", "orphan", n, 99.0) for n in range(50)])

    def sources(self) -> None:
        """The same metric from TensorBoard's files and from text."""
        self.file("sources", "tf", path="/logs/events.out.tfevents.1")
        self.file("sources", "out")
        self.insert("points", [self.point("sources", "tf", n, 0.125, source="tfevents") for n in range(20)])
        self.insert("points", [self.point("sources", "out", n, 0.13, source="pairs") for n in range(20)])

    def names(self) -> None:
        """Metrics, owner, project and name in every script and with every sign that means something."""
        self.file("names", "m", name="d'arc \\ 100% 学習")
        self.beat("names", "m")
        points = [self.point("names", "m", n * 10 + k, float(k), name=name) for k, name in enumerate(NAMES) for n in range(3)]
        self.insert("points", points)
        for number, name in enumerate(NAMES):
            task = f"owned-{number}"
            self.file(task, "o")
            fields = {"owner": name, "project": name, "framework": "pytorch"}
            self.insert("task_events", [self.event(task, "o", 1, "header", fields=fields)])

    def states(self) -> None:
        """One task of each health."""
        for task, last, beat, status in [
            ("going", -HOUR, -HOUR, "running"),
            ("stalled", 20 * 60_000, -HOUR, "running"),
            ("silent", 30 * 60_000, 30 * 60_000, "running"),
            ("failed", 60_000, 60_000, "failed"),
            ("done", 60_000, 60_000, "succeeded"),
        ]:
            self.file(task, "s", last_arrived=self._now - last)
            self.beat(task, "s", sent=self._now - beat)
            progress = [
                self.event(
                    task, "s", n, "progress", time=self._now - HOUR + 60_000 * n, fields={"done": str(10 * n), "total": "1000"}
                )
                for n in range(10)
            ]
            end = [
                self.event(
                    task, "s", 99, "status", fields={"status": status}, message="CUDA out of memory" if status == "failed" else ""
                )
            ]
            self.insert("task_events", progress + end)

    def gaps(self) -> None:
        """Bytes missing inside a file, and a file that nobody may read."""
        self.file("gaps", "g1", end=1_000)
        self.file("gaps", "g1", start=2_000, end=3_000)
        self.beat("gaps", "g1", size=3_500, offset=3_000)
        self.file("gaps", "g2", end=10)
        self.beat("gaps", "g2", size=10, offset=10, error="permission denied: 'g2'")

    def pipeline(self) -> None:
        """Batches of the last hour, every 10 s."""
        self.insert("ledger", [self.batch("going", "s", n, self._now - HOUR + 10_000 * n) for n in range(360)])
        self.insert("ledger", [self.batch("old", "o", n, self._now - 40 * HOUR + n) for n in range(20_000)])

    def long(self) -> None:
        """10^6 points of one metric, with one low, one high, and non-finite ones next to each other."""
        self.file("long", "l", end=10**12, last_arrived=self._now - HOUR)
        at = self._now - 3 * HOUR + 1_000
        self._client.command(
            "INSERT INTO points (task_id, name, file_id, offset, revision, value, step, time, source, arrived) "
            f"SELECT 'long', 'loss', 'l', number * 100, {V1}, multiIf(number = 123456, -1000, number = 654321, 1000, "
            "number = 500000, nan, number = 500001, inf, number = 500002, -inf, sin(number / 5000)), number, "
            f"{_at(f'{at} + number * 10')}, 'record', {_at(str(self._now - HOUR))} FROM numbers({LONG})"
        )

    def bulk(self) -> None:
        """Other tasks, older than the range, that no panel of one task may read."""
        at = self._now - 100 * HOUR
        then, each = _at(str(at)), _at(f"{at} + number")
        self._client.command(
            "INSERT INTO file_ranges (task_id, file_id, revision, start, end, first_arrived, last_arrived, last_stored) "
            f"SELECT {_bulk('number')}, 'b', {V1}, 0, 10000, {each}, {each}, {then} FROM numbers({BULK})"
        )
        values = {
            "points": f"time, 'loss' AS name, 1 AS value, number % 20 AS step, 'record' AS source, {V1} AS revision",
            "log_lines": "time, 'a line' AS text, 1 AS end",
            "task_events": "time, ['progress', 'status'][number % 2 + 1] AS kind, "
            f"map('done', '1', 'status', 'running') AS fields, {V1} AS revision",
            "heartbeats": "time AS sent, 'shipper-2' AS source",
        }
        for table, columns in values.items():
            names = ", ".join(part.split()[-1] for part in re.split(r", (?![^\[(]*[\])])", columns))
            self._client.command(
                f"INSERT INTO {table} (task_id, file_id, offset, arrived, {names}) "
                f"WITH {each} AS time SELECT {_bulk('intDiv(number, 20)')}, 'b', number % 20 * 100, {then}, {columns} "
                f"FROM numbers({BULK * 20})"
            )


def _at(milliseconds: str) -> str:
    return f"fromUnixTimestamp64Milli(toInt64({milliseconds}))"


def _bulk(number: str) -> str:
    return f"concat('bulk-', leftPad(toString({number}), 5, '0'))"


def now_ms() -> int:
    return time.time_ns() // 1_000_000
