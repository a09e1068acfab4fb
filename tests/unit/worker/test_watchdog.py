from __future__ import annotations

from stream_jobs.quarantine import Quarantine
from stream_jobs.settings import QuarantineSettings
from stream_jobs.watchdog import Gaps, Stall, Steps, Twin


def test_a_stall_is_a_minute_with_messages_waiting_and_nothing_committed() -> None:
    stall = Stall(60)
    assert not stall.stalled(0, lag=5, committed=100, excused=False)
    assert not stall.stalled(59, lag=5, committed=100, excused=False)
    assert stall.stalled(60, lag=5, committed=100, excused=False)


def test_no_stall_while_something_moves_nothing_waits_or_a_store_is_away() -> None:
    for lag, committed, excused in ((5, 101, False), (0, 100, False), (5, 100, True)):
        stall = Stall(60)
        stall.stalled(0, 5, 100, False)
        assert not stall.stalled(59, lag, committed, excused)
        assert not stall.stalled(118, 5, committed, False)


def test_a_batch_goes_on_while_it_gets_on_and_many_batches_are_no_excuse() -> None:
    steps = Steps()
    assert [steps.go_on(step) for step in ((1, 5), (1, 9), (1, 9), (1, 10))] == [False, True, False, True]
    assert not any(steps.go_on((batch, 3)) for batch in range(2, 9))


def test_twins_are_known_by_many_rebalances_in_a_short_time() -> None:
    twin = Twin(most=3, seconds=10)
    assert [twin.fights(t) for t in (0, 1, 2, 3)] == [False, False, False, True]
    assert not twin.fights(20)


def test_a_gap_is_what_is_missing_before_a_message() -> None:
    gaps = Gaps()
    assert gaps.seen(0, 500, committed=100) == 400
    assert gaps.seen(0, 501, committed=100) == 0
    assert gaps.seen(0, 499, committed=100) == 0  # delivered again
    assert gaps.seen(0, 502, committed=100) == 0
    assert gaps.seen(0, 510, committed=100) == 7
    assert gaps.seen(1, 7, committed=None) == 0  # a group that never committed misses nothing
    gaps.forget()
    assert gaps.seen(0, 600, committed=600) == 0


POLICY = QuarantineSettings(ratio=0.5, least=20, window=60, seconds=600, tasks=20)


def test_a_task_of_mostly_bad_messages_is_held_for_a_while_and_others_are_not() -> None:
    quarantine = Quarantine(POLICY)
    for number in range(19):
        quarantine.count("bad", False, number)
    quarantine.count("good", True, 19)
    assert not quarantine.holds("bad", 19)
    quarantine.count("bad", False, 19)
    assert quarantine.holds("bad", 20)
    assert not quarantine.holds("good", 20)
    assert quarantine.news() == ["bad"]
    assert quarantine.news() == []
    assert quarantine.held(20) == 1
    assert not quarantine.holds("bad", 19 + 600)


def test_a_few_bad_messages_among_good_ones_hold_nobody() -> None:
    quarantine = Quarantine(POLICY)
    for number in range(200):
        quarantine.count("task", number % 3 > 0, number / 10)
    assert not quarantine.holds("task", 20)


def test_old_counts_are_forgotten() -> None:
    quarantine = Quarantine(POLICY)
    for _ in range(15):
        quarantine.count("task", False, 0)
    for _ in range(15):
        quarantine.count("task", False, 61)
    assert not quarantine.holds("task", 62)
