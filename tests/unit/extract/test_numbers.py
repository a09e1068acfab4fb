"""Numbers are right or absent. B08 and B02 of the catalogue of faults, as tables."""

from __future__ import annotations

import math

import pytest

from tests.unit.extract.helpers import run, values

FORMATS = {
    "key=value": "step=3 loss={} acc=0.5",
    "key: value": "step: 3, loss: {}, acc: 0.5",
    "bars": "| step 3 | loss {} | acc 0.5 |",
    "json": '{{"step": 3, "loss": {}, "acc": 0.5}}',
    "json, quoted": '{{"step": "3", "loss": "{}", "acc": "0.5"}}',
    "dict": "{{'step': 3, 'loss': {}, 'acc': 0.5}}",
    "csv": "step,loss,acc\n3,{},0.5",
    "aligned": "step   loss   acc\n3      {}   0.5",
    "pipes": "| step | loss | acc |\n|---|---|---|\n| 3 | {} | 0.5 |",
    "bar": "Steps:  8%|▏      | 8/100 [00:20<37:50,  2.29s/it, loss={}, acc=0.5]",
}

# B08: each is stored exactly, or not at all; none is stored as a shorter number.
EXACT = {
    "4.1e-05": 4.1e-05,
    "-6.02E-05": -6.02e-05,
    "7.5e+30": 7.5e30,
    ".97": 0.97,
    "6.": 6.0,
    "+4": 4.0,
    "742": 742.0,
    "742.19": 742.19,
    "3e2": 300.0,
    "0.1000000000000000055511151231257827": 0.1,
    "12345678901234567890123": 12345678901234567890123.0,
    "007": 7.0,
    "-0": -0.0,
    "1e400": math.inf,
}
ABSENT = ["1_000", "0x10", "1.2.3", "3.9G", "10:20", "1-2", "0b1", "4k", "5e", "1,2", "12abc", "1e5.5"]

# B02: every spelling of what is no finite number, next to a good value.
NAN = ["NaN", "nan", "-nan", "NAN"]
INFINITIES = {"Infinity": math.inf, "-Infinity": -math.inf, "inf": math.inf, "-inf": -math.inf, "Inf": math.inf, "+inf": math.inf}
NOTHING = ["null", "None", "n/a"]


@pytest.mark.parametrize("form", FORMATS.values(), ids=FORMATS.keys())
@pytest.mark.parametrize(("text", "value"), EXACT.items())
def test_b08_exact(form: str, text: str, value: float) -> None:
    assert values(form.format(text)) == {"loss": value, "acc": 0.5}


@pytest.mark.parametrize("form", FORMATS.values(), ids=FORMATS.keys())
@pytest.mark.parametrize("text", ABSENT)
def test_b08_absent(form: str, text: str) -> None:
    found = values(form.format(text))
    if text == "1,2" and form == FORMATS["csv"]:
        return  # two cells
    assert "loss" not in found
    if form not in (FORMATS["csv"], FORMATS["aligned"]):  # a table's row with a cell that is no number is no row
        assert found == {"acc": 0.5}


@pytest.mark.parametrize("text", ["1_000", "0x10"])
def test_b08_absent_values_are_counted(text: str) -> None:
    points, _ = run(f"step 3: loss={text}")
    assert points.unparsed == 1


@pytest.mark.parametrize("form", FORMATS.values(), ids=FORMATS.keys())
@pytest.mark.parametrize("text", NAN)
def test_b02_nan(form: str, text: str) -> None:
    found = values(form.format(text) + "\n" + FORMATS["key=value"].format("0.25").replace("loss", "next").replace("acc", "more"))
    assert found == {"loss": "NaN", "acc": 0.5, "next": 0.25, "more": 0.5}


@pytest.mark.parametrize("form", FORMATS.values(), ids=FORMATS.keys())
@pytest.mark.parametrize(("text", "value"), INFINITIES.items())
def test_b02_infinities(form: str, text: str, value: float) -> None:
    assert values(form.format(text)) == {"loss": value, "acc": 0.5}


@pytest.mark.parametrize("form", [FORMATS["json"], FORMATS["dict"], FORMATS["key=value"], FORMATS["aligned"]])
@pytest.mark.parametrize("text", NOTHING)
def test_b02_nothing(form: str, text: str) -> None:
    assert values(form.format(text)) == {"acc": 0.5}


def test_the_first_non_finite_value_of_a_metric_is_an_event() -> None:
    _, events = run("step 1 loss=nan\nstep 2 loss=nan\nstep 3 acc=inf loss=0.5")
    assert list(zip(events.line, events.kind, events.step, strict=True)) == [(0, "non_finite", 1), (2, "non_finite", 3)]
    assert events.fields == [{"name": "loss", "value": "NaN"}, {"name": "acc", "value": "Infinity"}]


def test_thousands_are_one_number_only_in_groups_of_three() -> None:
    assert values("step 3 tps: 5,734") == {"tps": 5734.0}
    assert values("step 3 tps: 1,234,567.5") == {"tps": 1234567.5}
    assert values("step 3 tps: 1234,567") == {}
    assert values("step 3 losses: 5,73") == {}


def test_a_bar_takes_nothing_from_a_number() -> None:
    assert values("classes   top1_acc   top5_acc: 11100%|##| 1/1 [00:00<00:00, 2.86it/s]").get("top5_acc") == 11100.0
    assert values("step 1 loss: 12.5%|##| 1/2 [00:00<00:00, 2.86it/s]") == {}
