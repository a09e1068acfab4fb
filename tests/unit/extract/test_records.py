"""SDK records: in blocks and one by one, always the same rows."""

from __future__ import annotations

import json

from hypothesis import given, settings
from hypothesis import strategies as st

from stream_jobs.extract import Events, Options, Points, State, extract
from stream_jobs.extract.records import read_record
from tests.unit.extract.helpers import comparable, keyed, lines_of, run

NAMES = st.sampled_from(["loss", "acc", "lr", 'a"{b', "тест", "e", "tw"])
VALUES = st.one_of(
    st.floats(allow_nan=False, allow_infinity=False),
    st.integers(-(2**70), 2**70),
    st.sampled_from(["NaN", "Infinity", "-Infinity", "x", True, None]),
)
LOG = st.fixed_dictionaries(
    {"tw": st.just("log"), "t": st.one_of(st.integers(0, 2**45), st.just("x"))},
    optional={
        "s": st.one_of(st.integers(-5, 2**70), st.just(1.5)),
        "e": st.one_of(st.floats(0, 9), st.integers(0, 9), st.just("y")),
        "m": st.dictionaries(NAMES, VALUES, max_size=4),
        "x": st.just({"y": [1]}),
    },
)


@settings(max_examples=200, deadline=None)
@given(st.lists(LOG, min_size=1, max_size=6), st.booleans())
def test_a_block_gives_what_its_records_give(made: list[dict[str, object]], same: bool) -> None:
    made = made[:1] * 50 if same else made
    texts = [json.dumps({"tw": record["tw"], **record}, ensure_ascii=False, separators=(",", ":")) for record in made]
    lines = lines_of("\n".join(texts))
    _, points, events = extract(State(), lines)
    expected, happened = Points(), Events()
    for index, text in enumerate(texts):
        read_record(text, index, expected, happened, 256, 1000)
    assert keyed(lines, points, Events())[0] == keyed(lines, expected, Events())[0]
    assert points.unparsed == expected.unparsed
    assert [kind for kind in events.kind if kind != "non_finite"] == happened.kind


def test_records_of_every_kind() -> None:
    points, events = run(
        '{"tw":"header","t":5,"v":1,"uuid":"u","task":"t","rank":0,"name":"ü"}\n'
        '{"tw":"log","t":6,"s":1,"e":0.5,"m":{"loss":0.5,"x":"NaN"}}\n'
        '{"tw":"progress","t":7,"done":3,"total":10,"unit":"step"}\n'
        '{"tw":"status","t":8,"status":"running","message":"hello"}\n'
        '{"tw":"params","t":9,"params":{"lr":0.1,"name":"adam"}}\n'
        '{"tw":"event","t":10,"kind":"checkpoint","message":"saved","fields":{"path":"a"}}\n'
        '{"tw":"end","t":11,"status":"succeeded","code":0}\n'
    )
    assert [points.name, points.step, points.epoch, points.time] == [["loss", "x"], [1, 1], [0.5, 0.5], [6, 6]]
    assert [comparable(value) for value in points.value] == [0.5, "NaN"]
    assert events.kind == ["header", "non_finite", "progress", "status", "params", "checkpoint", "end"]
    assert events.fields[0] == {"v": "1", "uuid": "u", "task": "t", "rank": "0", "name": "ü"}
    assert events.fields[2] == {"done": "3", "total": "10", "unit": "step"}
    assert (events.fields[3], events.message[3]) == ({"status": "running"}, "hello")
    assert events.fields[4] == {"lr": "0.1", "name": "adam"}
    assert (events.fields[5], events.message[5]) == ({"path": "a"}, "saved")
    assert events.fields[6] == {"status": "succeeded", "code": "0"}


def test_many_points_are_cut_and_counted() -> None:
    members = ",".join(f'"m{i}":{i}.5' for i in range(1500))
    points, events = run('{"tw":"log","t":6,"s":1,"m":{' + members + "}}", Options(points_per_line=1000))
    assert len(points) == 1000
    assert (events.kind, events.fields) == (["too_many_points"], [{"points": "1500"}])


def test_a_long_name_is_cut() -> None:
    points, _ = run('{"tw":"log","t":6,"m":{"' + "n" * 300 + '":1}}\nstep 3 ' + "n" * 250 + "_loss=0.5")
    assert [len(name) for name in points.name] == [256, 255]


def test_what_is_no_record_is_read_as_text() -> None:
    points, events = run('{"tw":"log","t":6,"s":1,"m":{"loss":0.5\n{"tw":"zzz","step":3,"loss":0.5}')
    assert points.value == [0.5]
    assert points.source == ["json"]
    assert events.kind == []


@settings(max_examples=60, deadline=None)
@given(
    st.lists(
        st.tuples(*[st.one_of(st.floats(allow_nan=False, allow_infinity=False), st.integers(-(2**65), 2**65))] * 3),
        min_size=9,
        max_size=30,
    ),
    st.sampled_from([("loss", "acc"), ("top5-e3", "x.1"), ("a", "a"), ('q"', "b"), ("e", "E-7")]),
    st.booleans(),
    st.booleans(),
)
def test_records_of_one_form_give_what_each_gives(
    rows: list[tuple[float, float, float]], names: tuple[str, str], step: bool, epoch: bool
) -> None:
    texts = [
        '{"tw":"log","t":'
        + str(abs(int(row[2])) % 2**44)
        + (f',"s":{int(row[2]) % 2**66 - 7}' if step else "")
        + (f',"e":{json.dumps(row[2])}' if epoch else "")
        + f',"m":{{{json.dumps(names[0])}:{json.dumps(row[0])},{json.dumps(names[1])}:{json.dumps(row[1])}}}}}'
        for row in rows
    ]
    lines = lines_of("\n".join(texts))
    _, points, _ = extract(State(), lines)
    expected, happened = Points(), Events()
    for index, text in enumerate(texts):
        read_record(text, index, expected, happened, 256, 1000)
    assert keyed(lines, points, Events())[0] == keyed(lines, expected, Events())[0]
