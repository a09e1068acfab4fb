"""The views that say whether everything is there, on rows written by hand with merges stopped."""

from __future__ import annotations

import time
from typing import Any

from tests.contract.test_views import T0, Rows, client, rows

__all__ = ["client", "rows"]


def test_files_that_arrived_in_one_millisecond_are_in_the_order_of_their_messages(rows: Rows) -> None:
    for offset, file in [(7, "a"), (5, "b"), (6, "c")]:
        rows.stored(0, 10, file_id=file, path="x.log", first_arrived=T0, first_offset=offset)
    assert dict(rows.query("SELECT file_id, attempt FROM files WHERE task_id = 't'")) == {"b": 1, "c": 2, "a": 3}


def test_starts_that_arrived_in_one_millisecond_are_in_the_order_of_their_messages(rows: Rows) -> None:
    for offset, start in [(7, "a"), (5, "b"), (6, "c")]:
        rows.stored(0, 10, file_id=f"file-{start}", start_id=start, first_arrived=T0, first_offset=offset)
    assert dict(rows.query("SELECT start_id, attempt FROM files WHERE task_id = 't'")) == {"b": 1, "c": 2, "a": 3}


SECOND = 1000  # milliseconds


def beat(rows: Rows, file_id: str = "f", *, ago: int = 0, **values: Any) -> None:
    """A heartbeat that arrived `ago` seconds ago; sizes are 100 bytes, all acknowledged, where nothing else is said."""
    at = time.time_ns() // 1_000_000 - ago * SECOND
    row = {"file_id": file_id, "sent": at, "arrived": at, "source": "s", "path": f"/{file_id}", "size": 100, "offset": 100}
    rows.add("heartbeats", **(row | {"interval_ms": 10_000} | values))


def task(rows: Rows) -> tuple[str, list[str]]:
    """(verdict, everything that lacks)."""
    ((verdict, lacks),) = rows.query("SELECT verdict, lacks FROM task_completeness WHERE task_id = 't'")
    return verdict, lacks


def test_a_file_of_which_nothing_is_stored_is_missing_whole(rows: Rows) -> None:
    beat(rows, rank=2)
    assert rows.query("SELECT path, rank, stored, missing, verdict FROM completeness WHERE task_id = 't'") == [
        ("/f", 2, 0, [(0, 100)], "100 bytes shipped and not stored yet")
    ]


def test_a_fork_lacks_nothing_of_what_its_parent_holds(rows: Rows) -> None:
    rows.stored(0, 80)
    rows.stored(50, 100, file_id="f~r", parent="f", parent_end=50)
    beat(rows, "f~r", ended="end-record")
    sql = "SELECT file_id, stored, missing, parent FROM completeness WHERE task_id = 't' ORDER BY file_id"
    assert rows.query(sql) == [("f", 80, [], ""), ("f~r", 50, [], "f")]
    rows.stored(120, 130, file_id="f~r", parent="f", parent_end=50)
    assert rows.query(sql)[1] == ("f~r", 60, [(100, 120)], "f")


def test_a_task_is_complete_when_every_rank_has_ended_and_all_is_stored(rows: Rows) -> None:
    for rank in (0, 1):
        rows.stored(0, 100, file_id=f"r{rank}", path=f"/r{rank}", rank=rank, world_size=2, start_id=f"s{rank}")
        beat(rows, f"r{rank}", rank=rank, world_size=2)
    assert task(rows)[1] == ["rank 0 has not ended: /r0 may grow", "rank 1 has not ended: /r1 may grow"]
    beat(rows, "r0", rank=0, ended="end-record")
    beat(rows, "r1", rank=1, ended="shutdown")
    assert task(rows) == ("complete", [])
    beat(rows, "r1", rank=1, ended="shutdown", size=140, offset=140)
    assert task(rows)[0] == "40 bytes of /r1 of rank 1 from byte 100 on were shipped and are not stored"


def test_ranks_that_nobody_heard_of_are_named(rows: Rows) -> None:
    for rank in (0, 2):
        rows.stored(0, 100, file_id=f"r{rank}", rank=rank, world_size=4, start_id="s")
        beat(rows, f"r{rank}", rank=rank, ended="end-record")
    assert task(rows)[1] == ["rank 1 was never heard of", "rank 3 was never heard of"]


def test_without_a_world_size_nobody_knows_whether_all_ranks_are_there(rows: Rows) -> None:
    rows.stored(0, 100)
    beat(rows, ended="end-record")
    assert task(rows)[1] == ["how many ranks there are is not known: say it with TRAINWIRE_WORLD_SIZE"]


def test_a_shipper_that_is_lost_is_named_with_its_byte(rows: Rows) -> None:
    rows.stored(0, 100, rank=3, world_size=4, path="/f")
    for rank in (0, 1, 2):
        rows.stored(0, 100, file_id=f"r{rank}", rank=rank, start_id=f"s{rank}")
        beat(rows, f"r{rank}", rank=rank, ended="end-record")
    beat(rows, rank=3, ago=300)
    assert task(rows)[0] == "shipper of rank 3 lost at byte 100 of /f"
    beat(rows, rank=3, ago=299, size=170, offset=100)
    assert task(rows)[0] == "shipper of rank 3 lost at byte 100 of 170 of /f"
    beat(rows, rank=3, size=170, offset=100)
    assert task(rows)[0] == "shipper of rank 3 is at byte 100 of 170 of /f"
    beat(rows, rank=3, ended="farewell", size=100, offset=100)
    rows.stored(100, 170, rank=3, path="/f")
    beat(rows, rank=3, ended="farewell", size=170, offset=170)
    assert task(rows)[0] == "shipper of rank 3 lost at byte 170 of /f"


def test_a_start_that_was_killed_need_not_end_but_must_be_stored(rows: Rows) -> None:
    rows.stored(0, 60, start_id="one", path="/f", first_arrived=T0)
    beat(rows, ago=4000, size=100, offset=60)
    rows.stored(0, 100, file_id="g", start_id="two", world_size=1, first_arrived=T0 + 1)
    beat(rows, "g", ended="end-record")
    assert task(rows)[0] == "shipper of rank 0 lost at byte 60 of 100 of /f"
    rows.stored(60, 100, start_id="one", first_arrived=T0)
    assert task(rows) == ("complete", [])


def test_of_several_files_without_a_start_id_each_must_end(rows: Rows) -> None:
    for number, (file, path) in enumerate([("a", "/a"), ("b", "/b"), ("b.g1", "/b")]):
        rows.stored(0, 100, file_id=file, path=path, world_size=1, first_arrived=T0 + number)
        beat(rows, file, path=path)
    beat(rows, "b.g1", path="/b", ended="end-record")
    assert task(rows) == ("rank 0 has not ended: /a may grow", ["rank 0 has not ended: /a may grow"])
    beat(rows, "a", path="/a", ended="end-record")
    assert task(rows) == ("complete", [])


def test_a_file_that_forked_ends_as_its_fork(rows: Rows) -> None:
    rows.stored(0, 80, start_id="s", world_size=1)
    rows.stored(50, 100, file_id="f~r", start_id="s", parent="f", parent_end=50)
    assert task(rows)[0] != "complete"
    beat(rows, "f~r", ended="end-record")
    assert task(rows) == ("complete", [])


def test_a_file_that_cannot_be_read_is_said(rows: Rows) -> None:
    rows.stored(0, 100, world_size=1, path="/f")
    beat(rows, error="PermissionError: no")
    assert task(rows)[0] == "the shipper of rank 0 cannot read /f: PermissionError: no"


# The pulse: which hop of a quiet task is quiet.

PULSE = "SELECT verdict, because FROM pulse WHERE task_id = 't'"


def quiet(rows: Rows, seconds: int, pause: int = 20, task_id: str = "t") -> None:
    """A running task whose batches came every `pause` seconds until `seconds` ago."""
    last = time.time_ns() // 1_000_000 - seconds * SECOND
    rows.stored(0, 100, path="/f", last_arrived=last, task_id=task_id)
    for number in range(10):
        at = last - number * pause * SECOND
        rows.add("ledger", task_id=task_id, file_id="f", end=100 - number, shipped=at, arrived=at)


def worker(rows: Rows, *, ago: int = 0, lag: int = 0) -> None:
    beat(rows, "worker/w:1", ago=ago, task_id="trainwire", size=1000 + lag, offset=1000)


def test_a_task_in_its_own_rhythm_runs(rows: Rows) -> None:
    quiet(rows, 100, pause=80)
    beat(rows)
    worker(rows)
    assert rows.query(PULSE) == [("running", "")]


def test_a_training_that_writes_nothing_is_stalled_where_everybody_else_works(rows: Rows) -> None:
    quiet(rows, 200, pause=80)
    beat(rows)
    worker(rows)
    ((verdict, because),) = rows.query(PULSE)
    assert verdict == "training stalled"
    assert because.startswith("no new line for 20")


def test_a_young_task_gets_ten_minutes(rows: Rows) -> None:
    quiet(rows, 400)
    rows.client.command("TRUNCATE TABLE ledger")
    beat(rows)
    worker(rows)
    assert rows.query(PULSE) == [("running", "")]


def test_a_shipper_that_says_nothing_is_stalled_where_the_way_behind_it_works(rows: Rows) -> None:
    quiet(rows, 300)
    beat(rows, ago=200)
    worker(rows)
    assert rows.query(PULSE)[0][0] == "shipper stalled"
    worker(rows, lag=7)  # some messages wait at any moment, and other shippers are heard
    beat(rows, "other", task_id="u")
    assert rows.query(PULSE)[0][0] == "shipper stalled"


def test_a_shipper_that_reports_and_does_not_ship_is_stalled(rows: Rows) -> None:
    quiet(rows, 300)
    beat(rows, size=150)
    worker(rows)
    assert rows.query(PULSE) == [("shipper stalled", "its shipper reports, and 50 bytes were not shipped")]


def test_where_nobody_is_heard_the_way_behind_the_shippers_is_behind(rows: Rows) -> None:
    quiet(rows, 300)
    beat(rows, ago=200)
    beat(rows, "other", task_id="u", ago=200)
    worker(rows, ago=190)
    verdict, because = rows.query(PULSE)[0]
    assert verdict == "pipeline behind"
    assert because.endswith("no worker reports either")
    worker(rows, lag=500)
    verdict, because = rows.query(PULSE)[0]
    assert (verdict, because.endswith("500 messages wait")) == ("pipeline behind", True)


def test_bytes_that_were_shipped_and_are_not_stored_are_the_pipelines(rows: Rows) -> None:
    quiet(rows, 300)
    beat(rows, size=150, offset=150)
    worker(rows)
    assert rows.query(PULSE) == [("pipeline behind", "50 bytes were shipped and are not stored")]


def test_a_task_that_ended_has_no_pulse(rows: Rows) -> None:
    quiet(rows, 3000)
    beat(rows, ended="end-record")
    assert rows.query(PULSE)[0][0] == "ended"
