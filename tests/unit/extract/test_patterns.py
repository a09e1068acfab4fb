"""A task's own patterns: what they find, and which are refused."""

from __future__ import annotations

import pytest

from stream_jobs.extract import Options
from stream_jobs.extract.patterns import Pattern, PatternError
from tests.unit.extract.helpers import triples

GOOD = [
    (r"zorp (?P<value>[0-9.]+) at (?P<step>\d+)", "zorp 0.5 at 7", [(1, "value", 0.5, 7, None)]),
    (r"(?P<name>\w+)~(?P<value>[-+0-9.e]+)", "a~0.5 b~1e-3", [(1, "a", 0.5, None, None), (1, "b", 1e-3, None, None)]),
    (r"L\s*(?P<loss>\d+\.\d+) A\s*(?P<acc>\d+)", "L 0.5 A 3", [(1, "loss", 0.5, None, None), (1, "acc", 3.0, None, None)]),
    (r"E(?P<epoch>\d+) zorp (?P<zorp>\S+)$", "E3 zorp nan", [(1, "zorp", "NaN", None, 3)]),
    ("json name=metric value=data.v step=i", '{"metric": "zorp", "data": {"v": 0.5}, "i": 4}', [(1, "zorp", 0.5, 4, None)]),
]


@pytest.mark.parametrize(("pattern", "text", "points"), GOOD)
def test_found(pattern: str, text: str, points: list[tuple[object, ...]]) -> None:
    assert triples(text, Options(patterns=(Pattern.of(pattern),))) == points


def test_lines_that_no_pattern_finds_are_read_as_ever() -> None:
    options = Options(patterns=(Pattern.of(r"zorp (?P<zorp>\d+)"),))
    assert triples("zorp 3\nstep 1 loss=0.5", options) == [(1, "zorp", 3.0, None, None), (2, "loss", 0.5, 1, None)]


@pytest.mark.parametrize(
    ("pattern", "why"),
    [
        ("(", "no regular expression"),
        (r"loss \d+", "needs a group"),
        (r"(?P<step>\d+)", "needs a group"),
        (r"(a+)+(?P<value>x)", "repeated group"),
        (r"(?:a|ab)*(?P<value>x)", "repeated group"),
        (r".*loss (?P<value>\d+)", "may also follow"),
        (r"\s+\s+(?P<value>\d)", "may also follow"),
        (r"[a-z]+.(?P<value>\d)", "may also follow"),
        (r"(?P<value>\d+)(?P=value)", "back-references"),
        (r"(?=a)(?P<value>\d)", "looking ahead"),
        ("json step=i", "names its value"),
        ("(?P<value>x)" + "a" * 1000, "at most 1000"),
    ],
)
def test_refused(pattern: str, why: str) -> None:
    with pytest.raises(PatternError, match=why):
        Pattern.of(pattern)


def test_output_is_bounded() -> None:
    options = Options(patterns=(Pattern.of(r"(?P<name>[a-z])(?P<value>\d)"),))
    assert len(triples("a1" * 5000, options)) == 100
