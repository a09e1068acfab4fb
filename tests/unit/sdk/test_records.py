"""What goes into records, what is left out, and how long they get."""

from __future__ import annotations

import argparse
import json
import math
import random
from dataclasses import dataclass
from typing import Any

import pytest
from trainwire import records
from trainwire.identity import Identity

LONGEST_LINE = 256 * 1024  # where shippers cut


def test_what_is_no_number_is_left_out_and_named() -> None:
    refused: records.Refused = []
    (line,) = records.log(1, 2, None, {"loss": 0.5, "note": "hi", "deep": {"x": [1]}, "none": None}, refused)
    assert json.loads(line)["m"] == {"loss": 0.5}
    assert [name for name, _ in refused] == ["note", "deep/x"]


def test_nothing_to_say_is_no_record() -> None:
    assert records.log(1, 2, 3, {}, []) == []
    assert records.log(1, 2, 3, {"a": None, "b": {}}, []) == []


def test_odd_names() -> None:
    refused: records.Refused = []
    (line,) = records.log(1, None, None, {1: 2.0, "a": {"b": 1}, "a/b": 2, None: 3, "": 4, "x" * 2000: 5}, refused)
    assert json.loads(line)["m"] == {"1": 2.0, "a/b": 2, "None": 3, "": 4}
    assert [why for _, why in refused] == ["the same name twice in one call", "a metric's name has at most 1000 characters"]


@pytest.mark.parametrize(
    ("step", "written"),
    [(5, 5), (5.0, 5), (True, 1), (0, 0), (2**63 - 1, 2**63 - 1), (2**63, None), (1.5, None), ("5", None), (math.nan, None)],
)
def test_steps(step: Any, written: int | None) -> None:
    refused: records.Refused = []
    (line,) = records.log(1, step, None, {"a": 1}, refused)
    assert json.loads(line).get("s") == written
    assert bool(refused) == (written is None)


def test_a_dict_that_contains_itself_ends() -> None:
    loop: dict[str, Any] = {"a": 1}
    loop["again"] = loop
    refused: records.Refused = []
    (line,) = records.log(1, None, None, loop, refused)
    assert json.loads(line)["m"]["again/again/a"] == 1
    assert len(refused) == 1


def test_no_dict_is_a_type_error_for_the_caller_to_catch() -> None:
    for metrics in (None, 3, "x", [1]):
        with pytest.raises(TypeError, match="a dict"):
            records.log(1, None, None, metrics, [])


def test_large_records_are_divided_and_nothing_is_lost() -> None:
    metrics = {f"层{index}/权重": float(index) for index in range(20_000)}
    lines = records.log(1, 7, 0.5, metrics, [])
    assert len(lines) > 1
    assert max(len(line.encode()) for line in lines) < LONGEST_LINE
    assert all((json.loads(line)["s"], json.loads(line)["e"]) == (7, 0.5) for line in lines)
    joined: dict[str, float] = {}
    for line in lines:
        joined.update(json.loads(line)["m"])
    assert joined == metrics


@pytest.mark.parametrize("character", ["\x01", "雪", "😀", '"', "\ud800"])
def test_no_text_makes_a_line_that_a_shipper_would_cut(character: str) -> None:
    text = character * 1_000_000
    identity = Identity("t", "s", name=text, owner=text, project=text)
    lines = [
        records.header(1, identity, uuid="u", host="h", pid=1, file=1, mode="run", command=[text] * 100),
        records.status(1, text, message=text),
        *records.params(1, {text: text, **{f"p{index}": text for index in range(200)}}, []),
        records.event(1, text, text, {f"f{index}": text for index in range(200)}, []),
        *records.progress(1, 1, None, text, []),
        records.end(1, text),
    ]
    for line in lines:
        data = line.encode("utf-8", "replace")
        assert len(data) < LONGEST_LINE
        assert data.count(b"\n") == 1
        assert data.endswith(b"\n")
        json.loads(data)


def test_params_take_what_scripts_hold() -> None:
    @dataclass
    class Config:
        lr: float = 0.1
        tags: tuple[str, ...] = ("a",)

    for values in (argparse.Namespace(lr=0.1, tags=("a",)), Config(), {"lr": 0.1, "tags": ("a",)}):
        (line,) = records.params(1, values, [])
        assert json.loads(line)["params"] == {"lr": 0.1, "tags": "('a',)"}


def test_progress_without_a_number_is_no_record() -> None:
    refused: records.Refused = []
    assert records.progress(1, "ten", 100, None, refused) == []
    assert refused


def test_the_short_way_writes_what_the_full_way_writes() -> None:
    source = random.Random(20261130)
    values: list[Any] = [0.1, -0.0, 1e300, 5e-324, 3, -(2**53) + 1, 2**53, 2**70, True, None, math.nan, math.inf, "x"]
    taken = 0
    for _ in range(3000):
        metrics = {f"m{source.randrange(6)}": source.choice(values[: source.choice([6, 13])]) for _ in range(source.randrange(5))}
        step = source.choice([None, 0, 5, 5.0, 2**63, "x"])
        epoch = source.choice([None, 0, 0.5, math.nan, "x"])
        full = records.log(9, step, epoch, metrics, [])
        short = records.simple_log(9, step, epoch, metrics)
        if short is not None:
            taken += 1
            assert [short] == full
    assert taken > 300
