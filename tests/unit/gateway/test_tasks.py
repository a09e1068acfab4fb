"""When a task will be done."""

from __future__ import annotations

from typing import Any

import pytest

from gateway.queries.tasks import eta

TASK: dict[str, Any] = {
    "status": "running", "started_ms": 1_000_000, "last_seen_ms": 1_060_000, "last_heartbeat_ms": 0,
    "progress_done": 25.0, "progress_total": 100.0,
}  # fmt: skip


def test_it_goes_on_as_it_went() -> None:
    assert eta(TASK, now_ms=1_060_000) == 1_240_000  # a quarter took 60 s


def test_a_silent_task_is_not_estimated_later_and_later() -> None:
    assert eta(TASK, now_ms=1_200_000) == 1_240_000


@pytest.mark.parametrize(
    "change",
    [
        {"status": "failed"},
        {"progress_done": None},
        {"progress_total": None},
        {"progress_done": 0.0},
        {"progress_done": 101.0},
        {"last_seen_ms": 1_000_000},
        {"progress_done": 1e-9},
    ],
)
def test_where_nobody_can_tell_nothing_is_told(change: dict[str, Any]) -> None:
    assert eta(TASK | change, now_ms=1_060_000) is None
