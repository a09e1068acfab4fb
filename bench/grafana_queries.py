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
CHUNK = 10_000_000  # points an insert


class Load:
    """Tasks of equal size: `points` over `tasks`, each with one file, lines, events, heartbeats and a ledger."""

    def __init__(self, client: Client, points: int, tasks: int, now: int) -> None:
        self._client, self._points, self._tasks, self._now = client, points, tasks, now

    def write(self, prefix: str) -> None:
        each = max(self._points // self._tasks, len(METRICS))
        begin = self._now - 3_600_000
        rows = each * self._tasks
        task = f"concat('{prefix}', leftPad(toString(intDiv(number, {each})), 6, '0'))"
        at = f"fromUnixTimestamp64Milli(toInt64({begin} + number % {each} * 1000))"
        metric = f"[{', '.join(repr(name) for name in METRICS)}][number % {len(METRICS)} + 1]"
        for start in range(0, rows, CHUNK):
            self._client.command(
                "INSERT INTO points (task_id, name, file_id, offset, place, revision, value, step, time, source, arrived) "
                f"SELECT {task}, {metric}, 'f', intDiv(number % {each}, {len(METRICS)}) * 200, number % {len(METRICS)}, {V1}, "
                f"sin(number / 1000), intDiv(number % {each}, {len(METRICS)}), {at}, 'record', {at} "
                f"FROM numbers({start}, {min(CHUNK, rows - start)})"
            )
        # of each task: 50 lines, 20 events, 20 heartbeats, 50 batches
        many = {
            "log_lines": (50, "text, end", "'epoch 1, all is well', number % 50 * 20 + 20"),
            "task_events": (20, "kind, revision, fields", f"'progress', {V1}, map('done', toString(number % 20), 'total', '40')"),
        }
        for table, (count, columns, values) in many.items():
            stamp = f"fromUnixTimestamp64Milli(toInt64({begin} + number % {count} * 60000))"
            self._client.command(
                f"INSERT INTO {table} (task_id, file_id, offset, time, arrived, {columns}) "
                f"SELECT {self._name(prefix, count)}, 'f', number % {count} * 20, {stamp}, {stamp}, {values} "
                f"FROM numbers({self._tasks * count})"
            )
        beat = f"fromUnixTimestamp64Milli(toInt64({self._now} - number % 20 * 10000))"
        self._client.command(
            "INSERT INTO heartbeats (task_id, file_id, sent, source, size, offset, interval_ms, arrived) "
            f"SELECT {self._name(prefix, 20)}, 'f', {beat}, 'shipper', 1000000, 1000000, 10000, {beat} "
            f"FROM numbers({self._tasks * 20})"
        )
        stored = f"fromUnixTimestamp64Milli(toInt64({begin} + number % 50 * 60000))"
        self._client.command(
            "INSERT INTO ledger (task_id, file_id, start, end, revision, lines, points, worker, "
            "written, shipped, arrived, stored) "
            f"SELECT {self._name(prefix, 50)}, 'f', number % 50 * 100, number % 50 * 100 + 100, {V1}, 10, 40, 'w', "
            f"{stored}, {stored}, {stored}, {stored} + 0.1 FROM numbers({self._tasks * 50})"
        )
        seen = f"fromUnixTimestamp64Milli(toInt64({begin} + number))"
        self._client.command(
            "INSERT INTO file_ranges (task_id, file_id, revision, start, end, path, first_arrived, last_arrived, last_stored) "
            f"SELECT {self._name(prefix, 1)}, 'f', {V1}, 0, 1000000000, '/logs/f.log', {seen}, now64(3), now64(3) "
            f"FROM numbers({self._tasks})"
        )

    @staticmethod
    def _name(prefix: str, count: int) -> str:
        return f"concat('{prefix}', leftPad(toString(intDiv(number, {count})), 6, '0'))"


def variables(prefix: str) -> dict[str, str | list[str]]:
    task = f"{prefix}000007"
    return {
        "search": "",
        "task_id": task,
        "task_ids": [f"{prefix}{number:06}" for number in range(5, 10)],
        "metric": ["loss"],
        "rank": ["0"],
        "each": "0",
        "line": "",
        "smoothing": "9.49",
        "better": "lower",
        "owner": ["%20"],
        "project": ["%20"],
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
    parser.add_argument("--times", type=int, default=5, help="runs of each query")
    parser.add_argument("--store", action="store_true", help="the store of TRAINWIRE_CLICKHOUSE_URL instead of a local stack")
    options = parser.parse_args()
    now = time.time_ns() // 1_000_000
    span = Range(now - 3 * 3_600_000, now + 60_000)
    with store(options.store) as (writer, reader):
        load_ = Load(writer, options.points, options.tasks, now)
        load_.write("task-")
        one = p95(reader, "SELECT 1", 50)
        print(
            f"{options.points:,} points of {options.tasks:,} tasks, at most {parts(writer)} parts a table;"
            f" SELECT 1: {one * 1000:.1f} ms (p95)"
        )
        print(f"{'p95 ms':>9} {'× SELECT 1':>11} {'rows read':>12}  query")
        before = {}
        for case in cases():
            sql = text_of(case, span, "task-")
            before[case.where] = rows_read(reader, sql)
            took = p95(reader, sql, options.times)
            print(f"{took * 1000:9.1f} {took / one:11.1f} {before[case.where]:12,}  {case.where}", flush=True)
        load_.write("other-")
        print(f"with as many other tasks again (at most {parts(writer)} parts a table):")
        worse = 0
        for case in cases():
            if case.where.startswith("task:") and case.where != "task: $task_id":
                after = rows_read(reader, text_of(case, span, "task-"))
                allowed = before[case.where] + GRANULE * parts(writer)
                verdict = "same" if after <= allowed else "MORE"
                worse += after > allowed
                print(f"{before[case.where]:12,} → {after:12,} rows  {verdict}  {case.where}", flush=True)
    return 1 if worse else 0


if __name__ == "__main__":
    sys.exit(main())
