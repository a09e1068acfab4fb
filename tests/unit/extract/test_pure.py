"""Extraction is a pure function of the bytes: any cut, any cache, any text."""

from __future__ import annotations

import re
from itertools import pairwise

from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from schemas.framing import Lines
from stream_jobs.extract import Events, Options, Points, State, extract, plans
from stream_jobs.extract.bars import progress_of
from stream_jobs.extract.state import STATE_LIMIT
from tests.unit.extract.helpers import keyed, lines_of, part
from tests.unit.extract.test_forms import COUNTED, FORMS
from tests.unit.extract.test_no_metrics import KINDS
from tests.unit.extract.test_own_forms import READ as OWN
from tests.unit.extract.test_sentences import READ as SENTENCES

RECORDS = [
    '{"tw":"header","t":1760000000000,"v":1,"uuid":"u","task":"t","start":"s","rank":0,"world":1,"host":"h","pid":1,"file":1}',
    '{"tw":"log","t":1760000000001,"s":1,"m":{"loss":0.5,"acc":0.25}}',
    '{"tw":"log","t":1760000000002,"s":2,"m":{"loss":0.25,"acc":0.5}}',
    '{"tw":"log","t":1760000000003,"s":3,"e":0.5,"m":{"loss":"NaN","acc":1}}',
    '{"tw":"progress","t":1760000000004,"done":3,"total":10}',
    '{"tw":"end","t":1760000000005,"status":"succeeded"}',
    '{"tw":"header","t":1760000000006,"v":1,"task":"t","patterns":["zorp~(?P<zorp>[0-9.]+)","(a+)+(?P<b>1)"]}',
    '{"tw":"log","t":1,"m":{"a":',
    '{"tw":"log","t":1,"m":{"a":1}},{"tw":"log","t":1,"m":{"b":[1',
    '{"tw":"log","t":1,"m":{"c":2}}]}}',
]
TRACE = [
    "Traceback (most recent call last):",
    '  File "a.py", line 3, in <module>',
    "    loss = f(0.5)",
    "ValueError: loss=0.5",
    "MemoryError",
]
OTHERS = [
    "",
    "   ",
    "step 1 loss=0.5",
    "step 2 loss=0.25",
    "step 3 loss=1e-05",
    "loss: nan",
    "WARNING: x",
    "model (",
    ")",
    "epoch 2:",
    "zorp~0.5 step 3",
]
FORMED = [line for _, text, _ in [*FORMS, *COUNTED, *SENTENCES, *OWN] for line in text.split("\n")]
KNOWN = FORMED + list(KINDS.values()) + RECORDS + TRACE + OTHERS
LINE = st.one_of(
    st.sampled_from(KNOWN), st.text(max_size=60), st.from_regex(r"[a-z_]{1,6}[:=] ?-?[0-9]{1,3}(\.[0-9]{1,3})?(e-[0-9])?")
)
TEXTS = st.lists(LINE, max_size=40).map("\n".join)
REPEATED = st.tuples(st.sampled_from(KNOWN), st.integers(1, 30), TEXTS).map(
    lambda t: "\n".join([t[0]] * t[1] + [t[2]] + [t[0]] * t[1])
)
SETTINGS = settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])


def pieces(lines: Lines, cuts: list[int]) -> list[Lines]:
    bounds = sorted({0, len(lines.texts), *(cut % (len(lines.texts) + 1) for cut in cuts)})
    return [part(lines, start, stop) for start, stop in pairwise(bounds)]


@SETTINGS
@given(st.one_of(TEXTS, REPEATED), st.lists(st.integers(0, 1000), max_size=8), st.booleans())
@example("\n".join(KNOWN), [1, 2, 3, 40, 41, 80, 81], True)
def test_any_cut_gives_the_same_rows(text: str, cuts: list[int], dumped: bool) -> None:
    lines = lines_of(text)
    plans.forget()
    state, points, events = extract(State(), lines)
    whole = keyed(lines, points, events)
    got: tuple[list[object], list[object]] = ([], [])
    now = State()
    for piece in pieces(lines, cuts):
        before = now.dump()
        after, points, events = extract(now, piece)
        assert now.dump() == before
        for rows, more in zip(got, keyed(piece, points, events), strict=True):
            rows += more
        now = State.load(after.dump()) if dumped else after
    assert got == whole
    assert now.dump() == state.dump()


@SETTINGS
@given(st.one_of(TEXTS, REPEATED))
def test_what_was_seen_before_changes_nothing(text: str) -> None:
    lines = lines_of(text)
    first = keyed(lines, *extract(State(), lines)[1:])
    again = keyed(lines, *extract(State(), lines)[1:])
    alone: tuple[list[object], list[object]] = ([], [])
    now = State()
    for index in range(len(lines.texts)):
        plans.forget()
        now.hints = []
        piece = part(lines, index, index + 1)
        now, points, events = extract(now, piece)
        for rows, more in zip(alone, keyed(piece, points, events), strict=True):
            rows += more
    assert first == again == alone


# The independent check: a value, as the text prints it, is found by cutting the line at everything that is no number.
_PRINTED = re.compile(r"[0-9][0-9,]*\.?[0-9]*(?:[eE][-+]?[0-9]+)?|\.[0-9]+(?:[eE][-+]?[0-9]+)?")
_WORDS = re.compile(r"(?i)nan|inf")


def printed(text: str) -> set[float]:
    found = set()
    for number in _PRINTED.findall(text):
        for form in {number.replace(",", ""), *number.split(",")}:
            if form.lstrip(".")[:1].isdigit():  # of `1,e5` only the 1
                found.add(float(form))
    return found


def check_said(lines: Lines, points: Points) -> None:
    for at, value in zip(points.line, points.value, strict=True):
        text = lines.texts[at]
        if value != value or abs(value) == float("inf"):
            assert _WORDS.search(text) or value in printed(text)
        else:
            assert abs(value) in printed(text), (value, text)


@SETTINGS
@given(st.one_of(TEXTS, REPEATED))
@example("\n".join(KNOWN))
def test_every_value_is_in_its_line(text: str) -> None:
    lines = lines_of(text)
    _, points, _ = extract(State(), lines)
    check_said(lines, points)


@SETTINGS
@given(
    st.one_of(
        st.text(),
        st.binary().map(lambda data: data.decode("utf-8", "replace")),
        st.text(alphabet="{}[]()'\":=,|0123456789.eE-+ ab\t\x1b\r%/<>"),
    )
)
def test_any_text_is_read(text: str) -> None:
    lines = lines_of(text)
    state, points, events = extract(State(), lines, Options(zone_minutes=60))
    assert isinstance(points, Points)
    assert isinstance(events, Events)
    assert (
        len({len(getattr(points, name)) for name in ("line", "index", "name", "value", "step", "epoch", "time", "source")}) == 1
    )
    assert len(state.dump()) <= STATE_LIMIT
    assert State.load(state.dump()).dump() == state.dump()
    progress_of(text)


def test_a_state_of_another_version_is_the_empty_one() -> None:
    empty = State().dump()
    for data in (b"", b"{}", b"[]", b"null", b'{"v":99,"contexts":{}}', b"\xff", empty.replace(b'"v":1', b'"v":0')):
        assert State.load(data).dump() == empty


def test_a_state_stays_small() -> None:
    names = "\n".join(f"[rank{i}]: epoch {i}: {'x' * 40}  {'y' * 200}{i}_loss  a_acc" for i in range(500))
    columns = ",".join(f"{'c' * 200}{i}_loss" for i in range(400))
    state, _, _ = extract(
        State(), lines_of(names + "\n" + columns + "\n" + "\n".join(f"[rank{i}]: {columns}" for i in range(70)))
    )
    assert len(state.dump()) <= STATE_LIMIT


def test_a_form_never_takes_a_line_whose_prefix_would_be_read_otherwise() -> None:
    """Lines that once did: the first ones are no stamps, or longer ones, and have the shape of the last."""
    for odd, line in (
        ("2025025025-03-02 05:24:37,363 - INFO - Epoch 1 - loss: 0.5", "2025-03-02 05:24:38,914 - INFO - Epoch 2 - loss: 0.25"),
        (f"[2023-04-18 01:46:59,{'171' * 9}] step=1, loss=0.5", "[2023-04-18 01:46:59,142] step=2, loss=0.25"),
        ("2700000000 step 1 loss=0.5", "1700000000 step 2 loss=0.25"),
        (
            f"I{'0220' * 40} 00:32:03.396   655 a.cpp:219]     Train net output #1: loss = 0.5",
            "I0224 00:32:03.396   655 a.cpp:219]     Train net output #1: loss = 0.25",
        ),
        ("I024 00:32:03.396   655 a.cpp:219] step 1 loss=0.5", "I0224 00:32:03.396   655 a.cpp:219] step 2 loss=0.25"),
    ):
        plans.forget()
        alone = keyed(lines_of(line), *extract(State(), lines_of(line))[1:])[0]
        both = lines_of("\n".join([odd] * 6 + [line] * 6))
        _, points, _ = extract(State(), both)
        told = [(name, time) for at, name, time in zip(points.line, points.name, points.time, strict=True) if at >= 6]
        assert told == [(alone[0][2], alone[0][6])] * 6, (odd, line)
