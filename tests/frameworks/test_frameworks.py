"""Extraction on the logs of real frameworks: what their own callbacks and histories say is found, and nothing else.

Over the whole set: recall at least 99.5 %, right steps and epochs at least 99 % of what was found, no wrong value, and extras
at most 2 % of what was expected, without the names that a file's line in INDEX.tsv calls optional.
"""

from __future__ import annotations

import csv
import json
import math
import re
from collections import defaultdict
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path

from schemas.framing import Container, frame
from stream_jobs.extract import Options, State, extract

HERE = Path(__file__).parent
NUMBERS = {"NaN": math.nan, "Infinity": math.inf, "-Infinity": -math.inf}


@dataclass(slots=True)
class Point:
    line: int | None
    step: int | None
    epoch: float | None
    name: str
    value: float

    @property
    def counts(self) -> bool:
        return self.step is not None or self.epoch is not None

    def places(self, found: Point) -> bool:
        """The other stands at the step and epoch that this one says, where it says them."""
        return self.step in (None, found.step) and (self.epoch is None or _same(self.epoch, found.epoch))


@dataclass(slots=True)
class Score:
    expected: int = 0
    found: int = 0
    counted: int = 0  # of those found: with a step or an epoch
    placed: int = 0  # of those counted: at the right one
    wrong: int = 0
    extra: int = 0
    notes: list[str] = field(default_factory=list)

    def add(self, other: Score) -> None:
        for name in ("expected", "found", "counted", "placed", "wrong", "extra"):
            setattr(self, name, getattr(self, name) + getattr(other, name))

    def __str__(self) -> str:
        return f"found {self.found}/{self.expected}, placed {self.placed}/{self.counted}, wrong {self.wrong}, extra {self.extra}"


def _same(a: float | None, b: float | None) -> bool:
    return a is not None and b is not None and (a == b or (math.isnan(a) and math.isnan(b)) or math.isclose(a, b, rel_tol=1e-9))


def _key(name: str) -> str:
    """A name without case, blanks and punctuation."""
    return re.sub(r"[\W_]+", "", name.lower())


def score(expected: list[Point], got: list[Point], optional: list[str]) -> Score:
    """Pair each expected point with one that was read: of its name, in its line where that is known, with its value.

    Those of which most is known choose first.
    """
    open_: dict[str, list[Point]] = defaultdict(list)
    for point in got:
        open_[_key(point.name)].append(point)
    result = Score(expected=len(expected))
    missed = []
    for want in sorted(expected, key=lambda want: (want.line is None, want.step is None, want.epoch is None)):
        near = [p for p in open_[_key(want.name)] if want.line in (None, p.line) and _same(want.value, p.value)]
        hit = next((p for p in near if want.places(p)), near[0] if near else None)
        if hit is None:
            missed.append(want)
            continue
        open_[_key(want.name)].remove(hit)
        result.found += 1
        result.counted += want.counts
        result.placed += want.counts and want.places(hit)
        if not want.places(hit):
            result.notes.append(f"misplaced: {hit}, not at step {want.step}, epoch {want.epoch}")
    for want in missed:
        at = [p for p in open_[_key(want.name)] if (want.line == p.line if want.line else want.counts and want.places(p))]
        if at:
            open_[_key(want.name)].remove(at[0])
            result.wrong += 1
        result.notes.append(f"wrong: {at[0]}, not {want}" if at else f"missed: {want}")
    for name, points in open_.items():
        left = [p for p in points if not any(fnmatchcase(name, pattern) for pattern in optional)]
        result.extra += len(left)
        result.notes += [f"extra: {p}" for p in left]
    return result


def read(log: Path) -> list[Point]:
    kind: Container = "tfevents" if log.suffix == ".tfevents" else "plain"
    _, points, _ = extract(State(), frame(log.read_bytes(), 0, kind), Options(container=kind))
    rows = zip(points.line, points.step, points.epoch, points.name, points.value, strict=True)
    return [Point(None if kind == "tfevents" else line + 1, step, epoch, name, value) for line, step, epoch, name, value in rows]


def truth(log: Path) -> list[Point]:
    rows = [json.loads(line) for line in log.with_suffix(".points.jsonl").read_text(encoding="utf-8").splitlines()]
    return [
        Point(line, step, epoch, name, NUMBERS[value] if isinstance(value, str) else value)
        for line, step, epoch, name, value in rows
    ]


def index() -> list[dict[str, str]]:
    with (HERE / "INDEX.tsv").open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE))


def scores() -> dict[str, Score]:
    found = {}
    for row in index():
        log = HERE / "logs" / row["file"]
        optional = [re.sub(r"[^\w*]|_", "", name.lower()) for name in row["optional"].split(",") if name]
        found[row["file"]] = score(truth(log), read(log), optional)
    return found


def test_logs_of_frameworks_are_understood() -> None:
    total, report = Score(), []
    for name, result in scores().items():
        total.add(result)
        report += [f"{name}: {result}", *(f"    {note}" for note in result.notes[:20])] if result.notes else []
    told = "\n".join([f"all: {total}", *report])
    assert total.found >= 0.995 * total.expected, told
    assert total.placed >= 0.99 * total.counted, told
    assert total.wrong == 0, told
    assert total.extra <= 0.02 * total.expected, told


def test_index_names_every_log() -> None:
    assert sorted(row["file"] for row in index()) == sorted(
        path.name for path in (HERE / "logs").iterdir() if path.suffix in (".log", ".tfevents")
    )
    assert all(int(row["points"]) == len(truth(HERE / "logs" / row["file"])) for row in index())


def test_scores_tell_misses_apart() -> None:
    """A point read right, one at another step, one with another value, one missed, one that nobody expected."""
    expected = [Point(1, 5, None, "Loss", 0.5), Point(None, 6, None, "loss", 0.25), Point(3, 7, None, "acc", 0.75)]
    expected += [Point(None, None, None, "f1", 0.125)]
    got = [Point(1, 5, None, "loss", 0.5), Point(2, 5, None, "loss", 0.25), Point(3, 7, None, "acc", 0.5)]
    got += [Point(4, None, None, "zorp", 1.0), Point(4, None, None, "seconds", 1.0)]
    result = score(expected, got, ["sec*"])
    assert str(result) == "found 2/4, placed 1/2, wrong 1, extra 1"
