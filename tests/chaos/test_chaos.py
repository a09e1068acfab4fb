"""A short run of `make chaos`, and that its plan is the seed's."""

from __future__ import annotations

import itertools
from pathlib import Path

import pytest

from tests.chaos.__main__ import text_of
from tests.chaos.faults import FAULTS
from tests.chaos.plan import KINDS, Fault, Round, plan
from tests.chaos.run import run

SEED = 11
# A sample with one fault of each target, so that it takes about a minute; `make chaos` has all of them.
SAMPLE = (
    "kill shipper",
    "kill worker",
    "kill store",
    "kill broker",
    "lose store answers",
    "rename chain",
    "copytruncate",
    "full disk",
)


def test_the_same_seed_gives_the_same_faults_and_another_one_others() -> None:
    once, again, other = (list(itertools.islice(plan(seed), 200)) for seed in (SEED, SEED, SEED + 1))
    assert once == again
    assert once != other


def test_every_kind_strikes_and_more_than_half_of_the_faults_begin_a_round() -> None:
    rounds = list(itertools.islice(plan(SEED), 2 * len(KINDS)))
    assert {round_.first.kind for round_ in rounds} == {kind.name for kind in KINDS.values() if not kind.outage}
    seconds = [round_.second for round_ in rounds if round_.second is not None]
    assert len(seconds) < len(rounds)
    assert all(second.target != round_.first.target for round_ in rounds if (second := round_.second) is not None)
    assert not any(KINDS[second.kind].first_only for second in seconds)


@pytest.mark.parametrize("seed", range(20))
def test_outages_of_more_than_a_minute_come_in_long_runs_and_once_each(seed: int) -> None:
    def outages(minutes: float) -> list[Fault]:
        rounds = itertools.islice(plan(seed, minutes=minutes), 100)
        return [fault for round_ in rounds for fault in (round_.first, round_.second) if fault is not None and fault.seconds > 60]

    assert outages(0.0) == outages(5.9) == []
    assert sorted(fault.kind for fault in outages(6.0)) == ["broker away", "store away"]


def test_every_kind_is_a_fault_that_somebody_can_inject() -> None:
    assert set(FAULTS) == set(KINDS)


@pytest.mark.chaos
@pytest.mark.timeout(600)
def test_nothing_is_lost_or_doubled_in_a_short_run(tmp_path: Path) -> None:
    rounds = itertools.islice(plan(SEED, SAMPLE), 5)
    report = run(tmp_path, SEED, rounds, rate=200.0, tasks=1, say=print)
    print(text_of(report, SEED))
    assert report.good, text_of(report, SEED)
    assert report.healthy.total() == 5, "the stack did not catch up in time"
    assert report.verdict.lines_stored == report.verdict.lines_written > 500


@pytest.mark.chaos
@pytest.mark.timeout(600)
def test_b49_answers_of_the_broker_that_are_lost_double_nothing(tmp_path: Path) -> None:
    rounds = [Round(Fault("lose broker answers", 0.0, seconds, 1), None) for seconds in (2.0, 4.0)]
    report = run(tmp_path, SEED, rounds, rate=500.0, tasks=1, say=print)
    assert report.good, text_of(report, SEED)
    assert report.verdict.lines_stored == report.verdict.lines_written > 1000
