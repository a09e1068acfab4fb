"""The SDK writes exactly the golden records that every reader is tested with.

The examples in schemas/examples/records/v1 were written by hand; the calls here say what each of them means.
"""

from __future__ import annotations

import functools
import json
import math
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from trainwire import records
from trainwire.identity import Identity

EXAMPLES = Path(__file__).parents[3] / "schemas" / "examples" / "records" / "v1"
UUID = "365dda22-986b-43f6-a20f-a219a7d63c17"
NEXT = "8766b9e1-7b45-46d7-9bf0-04986cc15444"

PATTERNS = ("zorp~(?P<zorp>[0-9.]+)", r"größe (?P<name>\w+)=(?P<value>[0-9.]+)")

HEADERS: list[dict[str, Any]] = [
    {
        "identity": Identity("resnet-7", "29e9c8e2-0238-417c-8685-0116e6442c6d"),
        "uuid": UUID,
        "host": "node-3",
        "pid": 4711,
        "file": 1,
        "mode": "sdk",
    },
    {
        "identity": Identity("team.a:resnet_7", "pod-6b1f", 2, 3, 8, 'Résumé 学習 №7 "final"', "ada", "vision", "lightning"),
        "uuid": NEXT,
        "host": "node-3",
        "pid": 4712,
        "file": 2,
        "mode": "sdk",
        "before": UUID,
    },
    {
        "identity": Identity("boost-1", "2db3ae53-cc97-4741-9ecc-b0a6712b71fe", 1, patterns=PATTERNS),
        "uuid": "bd67c8ef-4173-431c-90d0-41b4aa7b6229",
        "host": "node-4",
        "pid": 1,
        "file": 1,
        "mode": "run",
        "command": ["python", "train.py", "--name", "two words\n雪"],
    },
]
LOGS: list[tuple[Any, Any, dict[str, Any]]] = [
    (0, None, {"loss": 0.31}),
    (5, 0.25, {"loss": 1e-7, "acc": {"top1": 0.5, "top5": 1}}),
    (6, 1, {"loss": math.nan, "grad": {"max": math.inf, "min": -math.inf}}),
    (2**53 + 1, None, {"tokens": 2**53 + 1, "seed": -(2**64) - 1}),
    (None, None, {"损失": {'été "q"\\': -2.5e300}, "done": True, "absent": None}),
]
PROGRESS = [(10, 100, "step"), (0.5, None, None)]
STATUSES: list[tuple[str, dict[str, Any]]] = [
    ("running", {}),
    ("evaluating", {"message": "on 雪\nand rain"}),
    ("failed", {"message": "ValueError: no data", "code": 1}),
    ("stopped", {"signal": 15}),
    ("succeeded", {"code": 0}),
]
PARAMS: list[dict[str, Any]] = [
    {
        "lr": 0.001,
        "optimizer": {"name": "adamw", "betas": (0.9, 0.999)},
        "amp": True,
        "resume": None,
        "seed": 2**53 + 1,
        "clip": math.inf,
        "说明": "基线",
    }
]
DROPPED = "3 records did not fit into memory before the disk took them; the oldest were dropped"
EVENTS: list[tuple[str, str | None, dict[str, Any]]] = [
    ("checkpoint", None, {}),
    ("checkpoint", "saved", {"path": "out/5.pt", "step": 5, "best": True, "loss": math.nan}),
    ("dropped", DROPPED, {"records": 3}),
]
ENDS: list[tuple[str, dict[str, Any]]] = [
    ("succeeded", {}),
    ("failed", {"code": 3}),
    ("stopped", {"signal": 15}),
    ("running", {"next": NEXT}),
]

Make = Callable[[int, records.Refused], "list[str]"]


def each(items: Sequence[Any], make: Callable[[Any, int, records.Refused], list[str]]) -> list[Make]:
    return [functools.partial(make, item) for item in items]


CALLS: dict[str, list[Make]] = {
    "header": each(HEADERS, lambda kw, t, _: [records.header(t, **kw)]),
    "log": each(LOGS, lambda call, t, refused: records.log(t, call[0], call[1], call[2], refused)),
    "progress": each(PROGRESS, lambda call, t, refused: records.progress(t, call[0], call[1], call[2], refused)),
    "status": each(STATUSES, lambda call, t, _: [records.status(t, call[0], **call[1])]),
    "params": each(PARAMS, lambda values, t, refused: records.params(t, values, refused)),
    "event": each(EVENTS, lambda call, t, refused: [records.event(t, call[0], call[1], call[2], refused)]),
    "end": each(ENDS, lambda call, t, _: [records.end(t, call[0], **call[1])]),
}


def test_every_kind_has_examples_and_every_example_has_its_call() -> None:
    counts = {path.stem: len(path.read_bytes().splitlines()) for path in EXAMPLES.glob("*.jsonl")}
    assert counts == {kind: len(calls) for kind, calls in CALLS.items()}


@pytest.mark.parametrize("kind", sorted(CALLS))
def test_the_sdk_writes_the_golden_bytes(kind: str) -> None:
    golden = (EXAMPLES / f"{kind}.jsonl").read_text("utf-8")
    times = [json.loads(line)["t"] for line in golden.splitlines()]
    refused: records.Refused = []
    written = [line for index, call in enumerate(CALLS[kind]) for line in call(times[index], refused)]
    assert "".join(written) == golden
    assert refused == []
    assert all(line.startswith(f'{{"tw":"{kind}"') for line in written)


@pytest.mark.parametrize("call", LOGS[:2])
def test_the_usual_call_has_a_shorter_way_to_the_same_bytes(call: tuple[Any, Any, dict[str, Any]]) -> None:
    step, epoch, metrics = call
    flat = {"loss": metrics["loss"]}
    (full,) = records.log(1796067092000, step, epoch, flat, [])
    assert records.simple_log(1796067092000, step, epoch, flat) == full
