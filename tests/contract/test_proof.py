"""The views that say whether everything is there, on rows written by hand with merges stopped."""

from __future__ import annotations

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
