"""What people read, on rows written by hand with merges stopped: raw rows may be anything, a view shows the truth."""

from __future__ import annotations

import math
import uuid
from collections.abc import Iterator
from typing import Any

import pytest
from clickhouse_connect.driver.client import Client

from schemas.columns import TABLES
from schemas.migrations import Layout
from schemas.migrations import Store as Migrations
from tests.services.fixtures import Store as Service

V1, V2 = 1 << 32, 2 << 32  # revisions: extractor version × 2^32 + replay number
T0 = 1_796_000_000_000  # milliseconds


class Rows:
    """Insert rows with every other column at its default."""

    def __init__(self, client: Client) -> None:
        self.client = client

    def _token(self) -> dict[str, str]:
        """Every insert stands: without a token of its own, an equal block would not be stored again."""
        return {"insert_deduplication_token": uuid.uuid4().hex}

    def add(self, table: str, **values: Any) -> None:
        row = {"task_id": "t", "arrived": T0} | values if table != "file_ranges" else {"task_id": "t"} | values
        types = [TABLES[table][name] for name in row]
        self.client.insert(table, [list(row.values())], column_names=list(row), column_type_names=types, settings=self._token())

    def point(self, offset: int, value: float, revision: int = V1, **values: Any) -> None:
        row = {"name": "loss", "file_id": "f", "offset": offset, "value": value, "revision": revision, "time": T0 + offset}
        self.add("points", **(row | values))

    def line(self, offset: int, text: str, **values: Any) -> None:
        row = {"file_id": "f", "offset": offset, "end": offset + len(text) + 1, "text": text, "time": T0}
        self.add("log_lines", **(row | values))

    def event(self, offset: int, kind: str, revision: int = V1, **values: Any) -> None:
        self.add(
            "task_events",
            **({"file_id": "f", "offset": offset, "kind": kind, "revision": revision, "time": T0 + offset} | values),
        )

    def stored(self, start: int, end: int, revision: int = V1, **values: Any) -> None:
        self.add(
            "file_ranges", **({"file_id": "f", "start": start, "end": end, "revision": revision, "first_arrived": T0} | values)
        )

    def query(self, sql: str) -> list[tuple[Any, ...]]:
        return list(map(tuple, self.client.query(sql).result_rows))


@pytest.fixture(scope="module")
def client(store: Service) -> Iterator[Client]:
    database = f"views_{uuid.uuid4().hex[:12]}"
    with store.client() as admin:
        list(Migrations(Layout(database), admin.command, lambda sql: admin.query(sql).result_rows).up())
        with store.client(database=database) as client:
            yield client
        admin.command(f"DROP DATABASE {database} SYNC")


@pytest.fixture
def rows(client: Client) -> Rows:
    for table in TABLES:
        client.command(f"TRUNCATE TABLE {table}")
        client.command(f"SYSTEM STOP MERGES {table}")
    return Rows(client)


LOSS = "SELECT offset, value FROM all_points WHERE task_id = 't' ORDER BY offset, place"


def test_rows_of_a_kill_before_the_range_are_not_seen(rows: Rows) -> None:
    rows.point(0, 0.5)
    rows.line(0, "loss=0.5")
    rows.event(0, "warning")
    for view in ("all_points", "lines", "events", "curves", "latest_values"):
        assert rows.query(f"SELECT * FROM {view} WHERE task_id = 't'") == []
    rows.stored(0, 9)
    assert rows.query(LOSS) == [(0, 0.5)]
    assert rows.query("SELECT text FROM lines WHERE task_id = 't'") == [("loss=0.5",)]
    assert rows.query("SELECT kind FROM events WHERE task_id = 't'") == [("warning",)]


def test_a_redelivery_is_seen_once(rows: Rows) -> None:
    for _ in range(3):
        rows.point(0, 0.5)
        rows.line(0, "loss=0.5")
        rows.stored(0, 9)
    assert rows.query("SELECT count() FROM points") == [(3,)]
    assert rows.query(LOSS) == [(0, 0.5)]
    assert rows.query("SELECT count() FROM lines WHERE task_id = 't'") == [(1,)]


def test_a_late_smaller_end_changes_nothing(rows: Rows) -> None:
    rows.point(0, 1.0)
    rows.point(10, 2.0)
    rows.stored(0, 20)
    rows.stored(0, 10)
    assert rows.query(LOSS) == [(0, 1.0), (10, 2.0)]


def test_a_newer_extractor_in_the_middle_of_a_file(rows: Rows) -> None:
    rows.point(0, 1.0, V1)
    rows.point(10, 2.0, V1)
    rows.stored(0, 20, V1)
    rows.point(20, 3.0, V2)
    rows.stored(20, 30, V2)
    assert rows.query(LOSS) == [(0, 1.0), (10, 2.0), (20, 3.0)]


def test_half_of_a_replay_is_never_seen(rows: Rows) -> None:
    rows.point(0, 1.0, V1)
    rows.point(10, 2.0, V1)
    rows.stored(0, 20, V1)
    rows.point(0, 1.5, V1 + 1)
    assert rows.query(LOSS) == [(0, 1.0), (10, 2.0)]
    rows.point(10, 2.5, V1 + 1)
    rows.stored(0, 20, V1 + 1)
    assert rows.query(LOSS) == [(0, 1.5), (10, 2.5)]


def test_a_point_that_the_newer_extraction_does_not_find_is_gone(rows: Rows) -> None:
    rows.point(0, 1.0, V1)
    rows.point(0, 7.0, V1, name="not a metric")
    rows.stored(0, 20, V1)
    rows.point(0, 1.0, V2)
    rows.stored(0, 20, V2)
    assert rows.query("SELECT name FROM all_points WHERE task_id = 't'") == [("loss",)]


def test_overlapping_ranges_never_double(rows: Rows) -> None:
    rows.point(0, 1.0)
    rows.point(10, 2.0)
    rows.stored(0, 20)
    rows.stored(10, 30)
    rows.stored(5, 15)
    assert rows.query(LOSS) == [(0, 1.0), (10, 2.0)]
    assert rows.query("SELECT stored, missing FROM completeness WHERE task_id = 't'") == [(30, [])]


def test_equal_offsets_of_two_files_and_two_tasks_stay_apart(rows: Rows) -> None:
    for task in ("t", "u"):
        for file in ("f", "g"):
            rows.point(0, 1.0, task_id=task, file_id=file)
            rows.stored(0, 10, task_id=task, file_id=file, path=file, start_id="s")
    assert rows.query("SELECT count() FROM all_points WHERE task_id = 't'") == [(2,)]


def test_non_finite_values_and_absent_steps_are_kept(rows: Rows) -> None:
    for i, value in enumerate([math.nan, math.inf, -math.inf, 5e-324, 1.7976931348623157e308]):
        rows.point(i, value, step=None if i == 0 else 2**53 + i)
    rows.stored(0, 10)
    values = rows.query("SELECT value, step FROM all_points WHERE task_id = 't' ORDER BY offset")
    assert math.isnan(values[0][0])
    assert values[0][1] is None
    assert values[1:] == [(math.inf, 2**53 + 1), (-math.inf, 2**53 + 2), (5e-324, 2**53 + 3), (1.7976931348623157e308, 2**53 + 4)]
    assert rows.query("SELECT points, non_finite, lowest FROM latest_values WHERE task_id = 't'") == [(5, 3, 5e-324)]


def test_the_attempt_is_the_environments_else_the_start_in_order(rows: Rows) -> None:
    for i, (file, start, attempt, rank) in enumerate(
        [("a", "pod-1", None, 0), ("b", "pod-1", None, 0), ("c", "pod-2", None, 0), ("d", "pod-3", 7, 0), ("e", "pod-9", None, 1)]
    ):
        rows.stored(0, 10, file_id=file, path=file, start_id=start, attempt=attempt, rank=rank, first_arrived=T0 + i)
    found = dict(rows.query("SELECT file_id, attempt FROM files WHERE task_id = 't'"))
    assert found == {"a": 1, "b": 1, "c": 2, "d": 7, "e": 1}


def test_without_start_ids_the_generations_of_a_path_are_the_attempts(rows: Rows) -> None:
    for i, (file, path) in enumerate([("a", "x.log"), ("b", "y.log"), ("c", "x.log")]):
        rows.stored(0, 10, file_id=file, path=path, first_arrived=T0 + i)
    assert dict(rows.query("SELECT file_id, attempt FROM files WHERE task_id = 't'")) == {"a": 1, "b": 1, "c": 2}


def test_stitched_curves_drop_what_a_restart_went_back_over(rows: Rows) -> None:
    for step in range(6):
        rows.point(step, 1.0, step=step)
    for step in range(3, 9):
        rows.point(step, 2.0, step=step, file_id="g")
    rows.stored(0, 10, start_id="one")
    rows.stored(0, 10, file_id="g", start_id="two", first_arrived=T0 + 1)
    stitched = rows.query("SELECT step, value FROM curves_stitched WHERE task_id = 't' ORDER BY step")
    assert stitched == [(0, 1.0), (1, 1.0), (2, 1.0), *[(step, 2.0) for step in range(3, 9)]]
    assert rows.query("SELECT attempt, count() FROM curves WHERE task_id = 't' GROUP BY attempt ORDER BY attempt") == [
        (1, 6),
        (2, 6),
    ]
    assert rows.query("SELECT value, step FROM latest_values WHERE task_id = 't'") == [(2.0, 8)]


def test_of_two_sources_the_most_exact_is_shown(rows: Rows) -> None:
    rows.point(0, 0.123, step=1, source="pairs")
    rows.point(0, 0.5, step=1, source="pairs", name="only in text")
    rows.point(0, 0.1234, step=1, source="tfevents", file_id="g")
    rows.stored(0, 10, start_id="s")
    rows.stored(0, 10, file_id="g", start_id="s")
    found = rows.query("SELECT name, value FROM curves WHERE task_id = 't' ORDER BY name")
    assert found == [("loss", 0.1234), ("only in text", 0.5)]
    assert rows.query("SELECT count() FROM all_points WHERE task_id = 't'") == [(3,)]


def test_the_spread_of_ranks(rows: Rows) -> None:
    for rank, value in enumerate([1.0, 3.0, 2.0]):
        rows.point(0, value, step=1, rank=rank, file_id=f"r{rank}", time=T0 + 100 * rank)
        rows.stored(0, 10, file_id=f"r{rank}", rank=rank)
    columns = "ranks, lowest, highest, mean, lowest_rank, highest_rank, slowest_rank, spread_ms"
    sql = f"SELECT {columns} FROM rank_spread WHERE task_id = 't'"
    assert rows.query(sql) == [(3, 1.0, 3.0, 2.0, 0, 1, 2, 200)]


STATE = "SELECT status FROM tasks WHERE task_id = 't'"


def said(rows: Rows, offset: int, status: str, kind: str = "status", **values: Any) -> None:
    rows.event(offset, kind, fields={"status": status}, **values)


@pytest.mark.parametrize("kind", ["finished", "end"])
def test_a_late_running_cannot_beat_the_end(rows: Rows, kind: str) -> None:
    rows.stored(0, 100)
    assert rows.query(STATE) == [("running",)]
    said(rows, 10, "succeeded", kind)
    said(rows, 20, "running")
    assert rows.query(STATE) == [("succeeded",)]


def test_a_file_that_goes_on_in_another_one_does_not_end_its_task(rows: Rows) -> None:
    rows.stored(0, 100)
    said(rows, 10, "running")
    said(rows, 20, "running", "end")
    assert rows.query(STATE) == [("running",)]
    said(rows, 30, "ended", "end")
    assert rows.query(STATE) == [("ended",)]


def test_a_restart_runs_again_whatever_the_start_before_said(rows: Rows) -> None:
    rows.stored(0, 100, start_id="one")
    said(rows, 10, "failed", "finished")
    assert rows.query(STATE) == [("failed",)]
    rows.stored(0, 100, file_id="g", start_id="two", first_arrived=T0 + 1)
    said(rows, 0, "running", file_id="g", time=T0)
    assert rows.query(STATE) == [("running",)]


def test_a_task_succeeds_only_when_all_its_ranks_did(rows: Rows) -> None:
    for rank in (0, 1):
        rows.stored(0, 100, file_id=f"r{rank}", rank=rank, world_size=2, start_id=f"s{rank}")
    said(rows, 10, "succeeded", "finished", file_id="r0", rank=0)
    assert rows.query(STATE) == [("running",)]
    said(rows, 10, "succeeded", "finished", file_id="r1", rank=1)
    assert rows.query(STATE) == [("succeeded",)]
    said(rows, 11, "failed", "finished", file_id="r1", rank=1)
    assert rows.query(STATE) == [("failed",)]


def beat(rows: Rows, sent: int, **values: Any) -> None:
    rows.add("heartbeats", **({"file_id": "f", "sent": T0 + sent, "source": "s", "size": 100, "offset": 100} | values))


def test_progress_is_the_further_of_lines_and_the_open_line(rows: Rows) -> None:
    progress = "SELECT progress_done, progress_total FROM tasks WHERE task_id = 't'"
    rows.stored(0, 100)
    assert rows.query(progress) == [(None, None)]
    rows.event(0, "progress", fields={"done": "30", "total": "100"})
    rows.event(10, "progress", fields={"done": "40", "total": "100"})
    assert rows.query(progress) == [(40, 100)]
    beat(rows, 0, progress_done=45.0, progress_total=100.0)
    assert rows.query(progress) == [(45, 100)]


def test_header_gives_the_name(rows: Rows) -> None:
    rows.stored(0, 100, name="from the shipper")
    assert rows.query("SELECT name FROM tasks WHERE task_id = 't'") == [("from the shipper",)]
    rows.event(0, "header", fields={"name": "Größe 50", "owner": "team"})
    assert rows.query("SELECT name, owner, started = fromUnixTimestamp64Milli(1796000000000) FROM tasks") == [
        ("Größe 50", "team", 1)
    ]


def test_completeness_names_what_is_missing(rows: Rows) -> None:
    sql = "SELECT stored, missing, verdict FROM completeness WHERE task_id = 't'"
    rows.stored(0, 40)
    rows.stored(60, 80)
    assert rows.query(sql) == [(60, [(40, 60)], "20 bytes shipped and not stored yet")]
    beat(rows, 0, offset=90)
    assert rows.query(sql) == [(60, [(40, 60), (80, 100)], "shipper at byte 90 of 100")]
    rows.stored(40, 60)
    rows.stored(80, 100)
    beat(rows, 1)
    assert rows.query(sql) == [(100, [], "stored so far")]
    beat(rows, 2, ended="end-record")
    assert rows.query(sql) == [(100, [], "complete")]


def test_a_pipeline_event_is_shown_without_a_range(rows: Rows) -> None:
    rows.event(100, "file_end", 0, origin="pipeline", fields={"reason": "farewell"})
    rows.event(100, "file_end", 0, origin="pipeline", fields={"reason": "farewell"})
    assert rows.query("SELECT kind, fields['reason'] FROM events WHERE task_id = 't'") == [("file_end", "farewell")]


def test_negative_hops_are_shown_as_clock_skew(rows: Rows) -> None:
    rows.add("ledger", file_id="f", written=T0 + 50, shipped=T0, stored=T0 + 30, arrived=T0 + 10)
    sql = "SELECT written_to_shipped_ms, shipped_to_arrived_ms, arrived_to_stored_ms, clock_skew FROM hop_latency"
    assert rows.query(sql) == [(-50, 10, 20, 1)]


@pytest.mark.parametrize(
    "view", ["all_points", "lines", "events", "curves", "curves_stitched", "latest_values", "rank_spread", "tasks"]
)
def test_answers_are_the_same_before_and_after_merges(rows: Rows, view: str) -> None:
    for revision in (V1, V1 + 1, V2):
        for offset in range(0, 50, 10):
            for _ in range(2):
                rows.point(offset, offset / 7 + revision, revision, step=offset)
                rows.event(offset, "status", revision, fields={"status": "running"})
                rows.line(offset, "x" * 9)
        rows.stored(0, 30 if revision == V2 else 50, revision)
    before = sorted(map(repr, rows.query(f"SELECT * FROM {view} WHERE task_id = 't'")))
    assert before
    for table in TABLES:
        rows.client.command(f"SYSTEM START MERGES {table}")
        rows.client.command(f"OPTIMIZE TABLE {table} FINAL")
    assert sorted(map(repr, rows.query(f"SELECT * FROM {view} WHERE task_id = 't'"))) == before
