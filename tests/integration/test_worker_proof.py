"""What a worker writes down beside the rows: what it dropped, and that it lives."""

from __future__ import annotations

import pytest

from tests.integration.worker_support import Csv, Desk, desk, rows, still

__all__ = ["desk", "still"]
pytestmark = pytest.mark.services
REPEATS = "SELECT kind, sum(bytes), count() FROM repeats FINAL WHERE task_id = 'task' GROUP BY kind ORDER BY kind"


def test_what_is_dropped_as_a_repeat_is_written_down_once_a_message(desk: Desk) -> None:
    file = Csv(rows(30))
    messages = desk.messages(file.deltas(10))
    desk.worker().take(*messages)
    assert desk.query(REPEATS) == []
    desk.worker().take(*messages[1:])
    desk.worker().take(*messages[1:])
    assert desk.query(REPEATS) == [("redelivered", len(file.content) - file.starts[10], 3)]


def test_of_a_delta_that_is_new_in_part_only_the_rest_is_a_repeat(desk: Desk) -> None:
    file = Csv(rows(30))
    worker = desk.worker()
    worker.take(*desk.messages([file.delta(0, 10)]))
    worker.take(*desk.messages([file.delta(5, 20, "B")]))
    assert desk.query(REPEATS) == [("reread", file.starts[10] - file.starts[5], 1)]
    assert desk.lines() == file.lines[:20]


def test_a_worker_says_that_it_lives_and_how_far_it_is(desk: Desk) -> None:
    desk.worker().ingest.beat("topic", 120, 100, 10_000)
    found = desk.query("SELECT task_id, file_id, path, size, offset, interval_ms FROM heartbeats")
    assert found == [("trainwire", "worker/test:1", "topic", 120, 100, 10_000)]
    assert desk.query("SELECT count() FROM tasks") == [(0,)], "the pipeline itself is no task"
    assert desk.query("SELECT count() FROM completeness") == [(0,)]


@pytest.mark.parametrize("order", [(0, 1, 2), (2, 0, 1), (1, 2, 0), (2, 1, 0)])
def test_a_file_s_lines_are_counted_once_in_whatever_order_they_came(desk: Desk, order: tuple[int, ...]) -> None:
    file = Csv(rows(30))
    messages = desk.messages(file.deltas(11))
    for place in order:
        desk.worker().take(messages[place])
    assert desk.shows(file)
    assert desk.query("SELECT lines, bytes FROM files") == [(31, len(file.content))]
    assert desk.query("SELECT lines, bytes FROM tasks") == [(31, len(file.content))]
