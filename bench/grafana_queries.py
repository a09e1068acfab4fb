"""What every panel's query costs: p95 as a multiple of `SELECT 1` through the same client, and the rows it reads.

    python -m bench.grafana_queries                     # a smoke run: 10^6 points
    python -m bench.grafana_queries --points 100000000  # the figure of the docs: 10^8 points of 10,000 tasks

Then the same with as many other tasks again: every query of the Task dashboard must read the same rows, give or take a
granule (8,192 rows) for each part of each table that it reads; exits 1 where one does not. Runs on the local stack's store,
in a database of its own that it removes, or on the store of TRAINWIRE_CLICKHOUSE_URL with --store.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from clickhouse_connect.driver.client import Client

from deploy.local.settings import LocalSettings
from deploy.local.stack import Stack
from runtime.settings import StoreSettings, load
from runtime.store import connect
from schemas.migrations import Layout, Store
from tests.contract.grafana_rules import Case, Range, cases, expand

GRANULE = 8_192
METRICS = ("loss", "acc/top1", "lr", "grad_norm")
V1 = 1 << 32
CHUNK = 5_000_000  # rows an insert: sorting them takes 1 GB
DAYS, HOURS = 60, 3  # in which the tasks ran; how long each did


class Load:
    """Tasks of equal size, each with one file: points, lines, events, heartbeats and a ledger over three hours.

    One in a hundred runs now, all over the alphabet; the others ended within the last 60 days, in the order of their ids.
    """

    def __init__(self, client: Client, points: int, tasks: int, now: int) -> None:
        self._client, self._tasks, self._now = client, tasks, now
        self._each = max(points // tasks, len(METRICS))

    def write(self, prefix: str) -> None:
        metric = f"[{', '.join(repr(name) for name in METRICS)}][nth % {len(METRICS)} + 1]"
        self._insert(
            prefix,
            "points",
            self._each,
            name=metric,
            offset="line * 200",
            place=f"nth % {len(METRICS)}",
            revision=str(V1),
            value="sin(nth / 1000)",
            step="line",
            time="at",
            source="'record'",
            arrived="at",
        )
        text = {"offset": "nth * 20", "time": "at", "arrived": "at"}
        self._insert(prefix, "log_lines", 50, **text, text="'epoch 1, all is well'", end="nth * 20 + 20")
        done = "map('done', toString(nth), 'total', '40')"
        self._insert(prefix, "task_events", 20, **text, kind="'progress'", revision=str(V1), fields=done)
        size = {"source": "'shipper'", "size": "1000000", "offset": "1000000", "interval_ms": "10000"}
        self._insert(prefix, "heartbeats", 20, **size, sent="at", arrived="at", ended="if(runs OR nth < 19, '', 'end-record')")
        hops = {"written": "at", "shipped": "at", "arrived": "at", "stored": "at + 0.1"}
        batch = {
            "start": "nth * 100",
            "end": "nth * 100 + 100",
            "revision": str(V1),
            "lines": "10",
            "points": "40",
            "worker": "'w'",
        }
        self._insert(prefix, "ledger", 50, **batch, **hops)
        seen = {"first_arrived": "began", "last_arrived": "ended", "last_stored": "ended"}
        self._insert(prefix, "file_ranges", 1, revision=str(V1), start="0", end="1000000000", path="'/logs/f.log'", **seen)

    def _insert(self, prefix: str, table: str, count: int, **columns: str) -> None:
        """`count` rows a task, made in the store itself; expressions know nth (of the task), line, at, began, ended and runs."""
        rows = count * self._tasks
        stamp = "fromUnixTimestamp64Milli(toInt64({}))"
        words = {
            "task": f"intDiv(number, {count})",
            "nth": f"number % {count}",
            "line": f"intDiv(nth, {len(METRICS)})",
            "runs": "task % 100 = 7",
            "apart": f"intDiv({DAYS * 86_400_000}, {self._tasks})",
            "end_ms": f"if(runs, {self._now}, {self._now} - 3600000 - ({self._tasks} - task) * apart)",
            "ended": stamp.format("end_ms"),
            "began": stamp.format(f"end_ms - {HOURS * 3_600_000}"),
            "at": stamp.format(f"end_ms - {HOURS * 3_600_000} + intDiv((nth + 1) * {HOURS * 3_600_000}, {count})"),
        }
        known = ", ".join(f"{expression} AS {word}" for word, expression in words.items())
        for first in range(0, rows, CHUNK):
            self._client.command(
                f"INSERT INTO {table} (task_id, file_id, {', '.join(columns)}) "
                f"WITH {known} SELECT concat('{prefix}', leftPad(toString(task), 6, '0')), 'f', {', '.join(columns.values())} "
                f"FROM numbers({first}, {min(CHUNK, rows - first)}) "
                # a part an insert and month: as few as merges would leave
                f"SETTINGS max_insert_block_size = {CHUNK}, min_insert_block_size_rows = {CHUNK}, min_insert_block_size_bytes = 0"
            )


def variables(prefix: str) -> dict[str, str | list[str]]:
    task = f"{prefix}000007"
    return {
        "search": "",
        "task_id": task,
        "task_ids": [f"{prefix}{number:06}" for number in range(5, 10)],  # one that runs among four that ended
        "metric": ["loss"],
        "rank": ["0"],
        "each": "0",
        "line": "",
        "smoothing": "9.49",
        "better": "lower",
        "owner": ["%20"],
        "project": ["%20"],
        "framework": ["%20"],
    }


def text_of(case: Case, span: Range, prefix: str) -> str:
    chosen = variables(prefix)
    if case.where.startswith("compare"):
        chosen["metric"] = "loss"
    return expand(case.sql, chosen, span)


def rows_read(client: Client, sql: str) -> int:
    """As the store counts them in its summary; of a query without result it tells none, so each gets one row around it."""
    return int(client.query(f"SELECT count(), sum(cityHash64(*)) FROM ({sql})").summary["read_rows"])


def p95(client: Client, sql: str, times: int) -> float:
    taken = []
    for _ in range(times):
        began = time.perf_counter()
        client.query(sql)
        taken.append(time.perf_counter() - began)
    return sorted(taken)[max(int(times * 0.95) - 1, 0)]


def parts(client: Client) -> int:
    """Of the table that has most."""
    sql = "SELECT count() FROM system.parts WHERE active AND database = currentDatabase() GROUP BY table ORDER BY 1 DESC LIMIT 1"
    [[count]] = client.query(sql).result_rows
    return int(count)


@contextmanager
def store(given: bool) -> Iterator[tuple[Client, Client]]:
    """A writer and a reader in an empty database that is removed behind them."""
    database = f"bench_{uuid.uuid4().hex[:10]}"
    with tempfile.TemporaryDirectory() as folder:
        stack = None if given else Stack(Path(folder), LocalSettings())
        try:
            if stack:
                stack.start(tied=True)
            environ = {**os.environ, **(stack.environ() if stack else {})}
            settings = load(StoreSettings, {name: text for name, text in environ.items() if "CLICKHOUSE" in name})
            admin = connect(settings, database="", timeout=3_600)
            list(Store(Layout(database), admin.command, lambda sql: admin.query(sql).result_rows).up())
            try:
                yield connect(settings, database=database, timeout=3_600), connect(settings, database=database, timeout=300)
            finally:
                admin.command(f"DROP DATABASE {database} SYNC")
        finally:
            if stack:
                stack.stop()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--points", type=int, default=1_000_000)
    parser.add_argument("--tasks", type=int, default=10_000)
    parser.add_argument("--times", type=int, default=20, help="runs of each query")
    parser.add_argument("--store", action="store_true", help="the store of TRAINWIRE_CLICKHOUSE_URL instead of a local stack")
    options = parser.parse_args()
    now = time.time_ns() // 1_000_000
    span = Range(now - 3 * 3_600_000, now + 60_000)
    with store(options.store) as (writer, reader):
        load_ = Load(writer, options.points, options.tasks, now)
        began = time.perf_counter()
        load_.write("task-")
        took = time.perf_counter() - began
        one = p95(reader, "SELECT 1", 50)
        print(
            f"{options.points:,} points of {options.tasks:,} tasks in {took:.0f} s, at most {parts(writer)} parts a table;"
            f" SELECT 1: {one * 1000:.1f} ms (p95)",
            flush=True,
        )
        print(f"{'p95 ms':>9} {'× SELECT 1':>11} {'rows read':>12}  query")
        before, asked = {}, cases()
        for case in asked:
            sql = text_of(case, span, "task-")
            before[case.where] = rows_read(reader, sql)
            took = p95(reader, sql, options.times)
            print(f"{took * 1000:9.1f} {took / one:11.1f} {before[case.where]:12,}  {case.where}", flush=True)
        load_.write("other-")
        print(f"with as many other tasks again (at most {parts(writer)} parts a table):")
        worse = 0
        for case in asked:
            if case.where.startswith("task:") and case.where != "task: $task_id":
                after = rows_read(reader, text_of(case, span, "task-"))
                allowed = before[case.where] + GRANULE * parts(writer)
                verdict = "same" if after <= allowed else "MORE"
                worse += after > allowed
                print(f"{before[case.where]:12,} → {after:12,} rows  {verdict}  {case.where}", flush=True)
    return 1 if worse else 0


if __name__ == "__main__":
    sys.exit(main())
