"""Lanes: no file's points are hidden by another's, and files that follow each other stay together."""

from __future__ import annotations

import json

from hypothesis import given
from hypothesis import strategies as st

from gateway.viewers.feeds.lanes import Lanes


def shown(placed: list[tuple[int, int, str]]) -> set[tuple[int, str]]:
    """What TensorBoard's server keeps of points (lane, step, file) in this order: a step that goes back ends what was."""
    kept: dict[int, list[tuple[int, str]]] = {}
    for lane, step, file in placed:
        before = [one for one in kept.get(lane, []) if one[0] < step]
        kept[lane] = [*before, (step, file)]
    return {point for points in kept.values() for point in points}


def test_two_writers_by_turns_and_a_third_lose_nothing() -> None:
    lanes = Lanes()
    written = [
        (step + add, file) for step in range(50) for file, add in (("a", 0), ("b", 100), ("c", 100)) if file != "c" or step > 20
    ]
    assert shown([(lanes.place(file, step), step, file) for step, file in written]) == set(written)


def test_a_log_that_is_rotated_stays_one_curve() -> None:
    lanes = Lanes()
    assert {
        lanes.place(file, step) for file, first in (("a", 0), ("b", 100), ("c", 200)) for step in range(first, first + 100)
    } == {0}


@given(st.lists(st.sampled_from("abcd"), max_size=60), st.lists(st.integers(0, 50), min_size=4, max_size=4))
def test_files_that_rise_by_themselves_are_shown_whole(order: list[str], starts: list[int]) -> None:
    lanes, next_step = Lanes(), dict(zip("abcd", starts, strict=True))
    written, placed = set(), []
    for number, file in enumerate(order):
        step = next_step[file]
        next_step[file] += 1 + number % 3
        written.add((step, file))
        placed.append((lanes.place(file, step), step, file))
        lanes = Lanes.of_data(json.loads(json.dumps(lanes.as_data())))  # a gateway that was restarted goes on
    assert shown(placed) == written
