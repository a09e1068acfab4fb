"""Metric names on the worker's road: too many are told, with examples; long ones are cut; nothing is dropped."""

from __future__ import annotations

import pytest

from tests.integration.worker_support import Csv, Desk, desk, still

__all__ = ["desk", "still"]
pytestmark = pytest.mark.services


def log(lines: list[str]) -> Csv:
    file = Csv([])
    file.content, file.starts = b"", [0]
    for line in lines:
        file.content += line.encode() + b"\n"
        file.starts.append(len(file.content))
    return file


def test_too_many_names_are_told_with_examples_and_none_is_dropped(desk: Desk) -> None:
    """Also when two workers, one after the other, saw less than the limit each."""
    file = log([f"step {step}: loss_{step}_total_loss=0.5" for step in range(130)])
    events = "SELECT message, fields FROM events WHERE task_id = 'task' AND kind = 'too_many_names'"
    desk.worker(names=100).take(desk.message(file.delta(0, 90)))
    assert desk.query(events) == []
    for _ in range(2):  # the second worker counts them again, and tells the same event
        desk.worker(names=100).take(desk.message(file.delta(90, 130)))
    [(message, fields)] = desk.query(events)
    assert fields == {"limit": "100"}
    assert message.count("_total_loss") == 8
    assert len({name for _, _, name, _, _ in desk.points()}) == 130


@pytest.mark.parametrize(
    "line",
    [
        "{'NAME': 0.5, 'epoch': 1}",
        '{"NAME": 0.5, "step": 1}',
        "step 1 NAME=0.5",
        "step 1 loss: 0.25 NAME: 0.5",
        '{"tw":"log","t":1,"s":1,"m":{"NAME":0.5}}',
    ],
)
def test_a_name_is_cut_at_256_characters(desk: Desk, line: str) -> None:
    name = "x" * 300 + "_loss"
    file = log([line.replace("NAME", name)] * 12)
    desk.worker().take(desk.message(file.delta(0, 12)))
    rows = desk.query("SELECT name, value FROM curves WHERE task_id = 'task' AND startsWith(name, 'x')")
    assert rows == [(name[:256], 0.5)] * 12
