from __future__ import annotations

import time
from types import SimpleNamespace
from typing import Any

import pytest
from mode.utils.locks import Event
from mode.utils.queues import FlowControlEvent

from stream_jobs.app import _message
from stream_jobs.buffer import ByteQueue
from stream_jobs.message import Message


def raw(**changes: Any) -> SimpleNamespace:
    fields: dict[str, Any] = {"topic": "t", "partition": 1, "offset": 2, "key": b"k", "value": b"v", "headers": [("a", b"b")]}
    return SimpleNamespace(**fields | {"timestamp": time.time(), "timestamp_type": 0} | changes)


def test_a_message_keeps_the_brokers_time_in_milliseconds() -> None:
    assert _message(raw(timestamp=1_796_000_000.123, timestamp_type=1)) == Message(
        "t", 1, 2, 1_796_000_000_123, b"k", b"v", (("a", b"b"),)
    )


NOW = time.time()
STAMPS = {"zero": 0.0, "none": None, "before": -1.0, "future": NOW + 3 * 86400, "past": NOW - 400 * 86400, "ms": NOW * 1000}


@pytest.mark.parametrize("stamp", STAMPS.values(), ids=STAMPS)
def test_a_producers_impossible_clock_becomes_now(stamp: float | None) -> None:
    assert abs(_message(raw(timestamp=stamp)).arrived / 1000 - time.time()) < 60


@pytest.mark.parametrize(
    ("headers", "key", "task"),
    [
        ([("ce_task", b"a")], b"b", "a"),
        ([], b"b", "b"),
        ([("ce_task", b"x' OR 1")], b"b", "b"),
        ([], b"\xff", ""),
        ([], None, ""),
    ],
)
def test_whose_a_message_is_as_far_as_it_can_be_told(headers: list[tuple[str, bytes]], key: bytes | None, task: str) -> None:
    assert _message(raw(headers=headers, key=key)).task == task


def test_a_buffer_is_full_of_messages_or_of_bytes() -> None:
    queue = ByteQueue(100, 1000, flow_control=FlowControlEvent(initially_suspended=False))
    for _ in range(10):
        queue.force_put_nowait(SimpleNamespace(message=SimpleNamespace(value=b"x")))
    assert queue.qsize() == 10
    queue.force_put_nowait(SimpleNamespace(message=SimpleNamespace(value=b"x" * 800)))
    assert queue.qsize() == 81
    assert queue.in_pressure_high_state(Event().set)
    for _ in range(11):
        queue.get_nowait()
    assert queue.qsize() == 0
    queue.force_put_nowait(SimpleNamespace(message=SimpleNamespace(value=b"x" * 800)))
    queue.clear()
    assert queue.qsize() == 0
