"""A task's own patterns: what they find, and where a file says them."""

from __future__ import annotations

import json

import pytest

from schemas.patterns import MOST
from stream_jobs.extract import State, extract
from tests.unit.extract.helpers import keyed, lines_of, part, triples

GOOD = [
    (r"zorp (?P<value>[0-9.]+) at (?P<step>\d+)", "zorp 0.5 at 7", [(1, "value", 0.5, 7, None)]),
    (r"(?P<name>\w+)~(?P<value>[-+0-9.e]+)", "a~0.5 b~1e-3", [(1, "a", 0.5, None, None), (1, "b", 1e-3, None, None)]),
    (r"L\s*(?P<loss>\d+\.\d+) A\s*(?P<acc>\d+)", "L 0.5 A 3", [(1, "loss", 0.5, None, None), (1, "acc", 3.0, None, None)]),
    (r"E(?P<epoch>\d+) zorp (?P<zorp>\S+)$", "E3 zorp nan", [(1, "zorp", "NaN", None, 3)]),
    ("json name=metric value=data.v step=i", '{"metric": "zorp", "data": {"v": 0.5}, "i": 4}', [(1, "zorp", 0.5, 4, None)]),
]


@pytest.mark.parametrize(("pattern", "text", "points"), GOOD)
def test_found(pattern: str, text: str, points: list[tuple[object, ...]]) -> None:
    assert triples(text, State(given=(pattern,))) == points


def test_lines_that_no_pattern_finds_are_read_as_ever() -> None:
    taught = State(given=(r"zorp (?P<zorp>\d+)",))
    assert triples("zorp 3\nstep 1 loss=0.5", taught) == [(1, "zorp", 3.0, None, None), (2, "loss", 0.5, 1, None)]


def test_output_is_bounded() -> None:
    taught = State(given=(r"(?P<name>[a-z])(?P<value>\d)",))
    assert len(triples("a1" * 5000, taught)) == 100


def header(*patterns: object) -> str:
    return json.dumps({"tw": "header", "t": 1, "v": 1, "uuid": "u", "task": "t", "patterns": patterns}, separators=(",", ":"))


def test_a_header_teaches_the_lines_behind_it() -> None:
    text = f"zorp~0.5\n{header(r'zorp~(?P<zorp>[0-9.]+)')}\nzorp~0.25\nstep 1 loss=0.5"
    assert triples(text) == [(3, "zorp", 0.25, None, None), (4, "loss", 0.5, 1, None)]


def test_what_the_shipper_gives_comes_first() -> None:
    text = f"{header(r'zorp~(?P<own>[0-9.]+)', r'~~(?P<other>[0-9.]+)')}\nzorp~0.25\n~~0.5"
    points = triples(text, State(given=(r"zorp~(?P<given>[0-9.]+)",)))
    assert [(name, value) for _, name, value, _, _ in points] == [("given", 0.25), ("other", 0.5)]


def test_what_was_taught_outlives_the_process() -> None:
    """Lines behind a cut are read as if there were none, from the state that the ledger keeps."""
    lines = lines_of(f"{header(r'zorp~(?P<zorp>[0-9.]+)')}\nzorp~0.25\nzorp~0.5")
    whole = keyed(lines, *extract(State(), lines)[1:])[0]
    state, got = State(given=(r"~(?P<name>x)(?P<value>1)",)), []
    for index in range(3):
        piece = part(lines, index, index + 1)
        state, points, events = extract(State.load(state.dump()), piece)
        got += keyed(piece, points, events)[0]
    assert got == whole
    assert len(got) == 2
    assert state.given == (r"~(?P<name>x)(?P<value>1)",)


def test_a_refused_pattern_is_told_and_the_others_are_used() -> None:
    lines = lines_of(f"{header('.*(?P<x>1)', *['z(?P<z>[0-9.]+)'] * MOST)}\nz0.5\nstep 1 loss=0.25")
    _, points, events = extract(State(), lines)
    assert (points.name, points.value) == (["z", "loss"], [0.5, 0.25])
    assert events.kind == ["header", "pattern_refused", "pattern_refused"]
    assert "may also follow" in events.message[1]
    assert events.fields[1] == {"pattern": ".*(?P<x>1)"}
    assert events.message[2] == f"a file has at most {MOST} patterns"


@pytest.mark.parametrize("said", ["zorp", {"a": 1}, [1], 7, [["x"]]])
def test_patterns_that_are_none_are_told(said: object) -> None:
    text = json.dumps({"tw": "header", "t": 1, "patterns": said}, separators=(",", ":"))
    state, points, events = extract(State(), lines_of(f"{text}\nstep 1 loss=0.25"))
    assert (points.value, events.kind, state.patterns) == ([0.25], ["header", "pattern_refused"], ())
