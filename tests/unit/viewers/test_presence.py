"""Presence with a clock of the test's own."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.viewers.presence import LONG, PAGE_SILENCE, Note, Policy, Presence

THRESHOLD = Policy("threshold", offline=300, idle=1800, warn=120, cap=43200)
OFFLINE = Policy("offline", offline=300, idle=1800, warn=120, cap=43200)
KEPT = Policy("kept", offline=300, idle=1800, warn=120, cap=43200)
QUICK = Policy("threshold", offline=120, idle=120, warn=30, cap=43200)


class Time:
    """Sweeps once a second, as the gateway does, and notes what was decided."""

    def __init__(self, policy: Policy) -> None:
        self.now = 1000.0
        self.presence = Presence(policy, self.now)
        self.released: float | None = None
        self.reason = ""
        self.warned: list[float] = []
        self.began = self.now

    def go(self, seconds: float, each: float = 0, what: object = None) -> Time:
        end = self.now + seconds
        next_at = self.now
        while self.now < end and self.released is None:
            if each and self.now >= next_at:
                next_at += each
                what()  # type: ignore[operator]
            decision = self.presence.decide(self.now)
            if decision.action == "warn":
                self.warned.append(self.now - self.began)
            if decision.action == "release":
                self.released, self.reason = self.now - self.began, decision.reason
            self.now += 1
        return self


def test_offline_goes_within_five_seconds_of_the_last_pages_closing() -> None:
    time = Time(OFFLINE)
    time.presence.connect("page-one", "ada", time.now)
    time.presence.connect("page-two", "bob", time.now)
    time.go(3600)
    assert time.released is None
    time.presence.close("page-one", time.now)
    time.go(100)
    assert time.released is None, "two people, one left"
    closed = time.now - time.began
    time.presence.close("page-two", time.now)
    time.go(60)
    assert time.released is not None
    assert time.released - closed <= 4


def test_a_reload_of_the_page_is_no_leaving() -> None:
    time = Time(OFFLINE)
    time.presence.connect("before-reload", "ada", time.now)
    time.go(10)
    time.presence.close("before-reload", time.now)
    time.go(2)
    time.presence.connect("after-reload", "ada", time.now)
    time.go(600)
    assert time.released is None


def test_a_word_that_comes_after_a_page_closed_opens_it_no_more() -> None:
    time = Time(OFFLINE)
    time.presence.connect("one", "ada", time.now)
    time.presence.close("one", time.now)
    assert not time.presence.page("one", "ada", False, time.now)
    time.presence.disconnect("one", time.now)
    assert time.go(60).released == pytest.approx(3, abs=1)


def test_a_page_whose_connection_broke_without_a_word_is_gone_soon() -> None:
    time = Time(OFFLINE)
    time.presence.connect("one", "ada", time.now)
    time.go(10)
    time.presence.disconnect("one", time.now)
    time.go(60)
    assert time.released is not None
    assert time.released <= 20


def test_a_page_in_the_background_ends_its_stream_itself_and_is_open_all_the_same() -> None:
    """It says once a minute that it is there; one that says nothing any more is gone."""
    time = Time(OFFLINE)
    time.presence.connect("one", "ada", time.now)
    time.presence.page("one", "ada", False, time.now)
    time.presence.disconnect("one", time.now)
    for _ in range(10):
        assert time.go(60).released is None
        time.presence.page("one", "ada", False, time.now)
    time.go(200)
    assert time.released is not None


def test_a_page_in_the_background_for_the_limit_loses_its_viewer_after_a_warning() -> None:
    time = Time(THRESHOLD)
    time.presence.connect("one", "ada", time.now)
    time.presence.page("one", "ada", False, time.now)
    # the tool reloads by itself all the time
    time.go(3000, 30, lambda: time.presence.end(time.presence.begin("ada", time.now), time.now + 0.2))
    assert time.released == pytest.approx(1800, abs=3)
    assert time.warned == [pytest.approx(1800 - 120, abs=3)]
    assert "idle" in time.reason


def test_a_page_being_looked_at_is_never_ended_by_idleness() -> None:
    time = Time(THRESHOLD)
    time.presence.connect("one", "ada", time.now)
    time.go(40000)
    assert time.released is None
    assert time.warned == []


def test_stay_takes_the_warning_back() -> None:
    time = Time(THRESHOLD)
    time.presence.connect("one", "ada", time.now)
    time.presence.page("one", "ada", False, time.now)
    time.go(1700)
    assert time.presence.warned
    time.presence.stay(time.now)
    time.go(1600)
    assert time.released is None
    time.go(400)
    assert time.released == pytest.approx(1700 + 1800, abs=3)


def test_kept_knows_only_the_cap_and_extend_moves_it() -> None:
    time = Time(KEPT)
    time.go(43000)
    assert time.released is None
    assert time.warned == []
    time.go(150)
    assert len(time.warned) == 1
    time.presence.extend(time.now)
    time.go(43000)
    assert time.released is None
    time.go(300)
    assert time.released == pytest.approx(43150 + 43200, abs=3)
    assert time.reason.startswith("cap")


def test_b30a_a_request_each_90_seconds_keeps_it_with_a_limit_of_120() -> None:
    time = Time(QUICK)
    time.go(3600, 90, lambda: time.presence.end(time.presence.begin("script", time.now), time.now))
    assert time.released is None
    time.go(200)
    assert time.released == pytest.approx(3600 + 90, abs=62)


def test_b30b_a_slow_download_of_5_minutes_is_not_cut_and_counts_until_its_end() -> None:
    time = Time(QUICK)
    time.presence.connect("one", "ada", time.now)
    time.presence.page("one", "ada", False, time.now)
    number = time.presence.begin("ada", time.now)
    time.go(300)
    assert time.released is None
    time.presence.end(number, time.now)
    time.go(110)
    assert time.released is None
    time.go(30)
    assert time.released is not None


def test_b30c_an_open_stream_without_a_new_request_keeps_it() -> None:
    time = Time(QUICK)
    time.presence.begin("script", time.now)
    time.go(7200)
    assert time.released is None


def test_a_stream_that_a_tool_keeps_open_by_itself_is_nobody() -> None:
    time = Time(QUICK)
    time.presence.connect("one", "ada", time.now)
    time.presence.page("one", "ada", False, time.now)
    time.presence.begin("ada", time.now, chatter=True)
    time.go(200)
    assert time.released == pytest.approx(120, abs=3)


def test_a_tools_own_requests_are_nobodys_while_all_pages_are_in_the_background() -> None:
    """They do not say whose page they come from."""
    time = Time(QUICK)
    time.presence.connect("one", "ada", time.now)
    time.presence.page("one", "ada", False, time.now)
    time.go(200, 2, lambda: time.presence.end(time.presence.begin(None, time.now), time.now))
    assert time.released == pytest.approx(120, abs=3)
    seen = Time(QUICK)
    seen.presence.page("one", "ada", True, seen.now)
    seen.go(100, 2, lambda: seen.presence.end(seen.presence.begin(None, seen.now), seen.now))
    assert seen.presence.idle_for(seen.now) < 3


def test_b30d_two_users_one_leaves() -> None:
    time = Time(QUICK)
    time.presence.connect("one", "ada", time.now)
    time.presence.connect("two", "bob", time.now)
    time.go(60)
    time.presence.close("one", time.now)
    time.go(3600)
    assert time.released is None
    assert time.presence.users() == {"bob": 1}


@pytest.mark.parametrize("gap", [3600.0, 86400.0])
def test_b30e_a_gateway_that_was_stopped_for_an_hour_ends_nothing(gap: float) -> None:
    time = Time(QUICK)
    time.presence.page("one", "ada", True, time.now)  # a page without a stream: known by its words only
    time.go(10)
    time.now += gap  # nobody could be heard meanwhile
    time.go(20)
    assert time.released is None
    time.presence.page("one", "ada", True, time.now)
    time.go(100)
    assert time.released is None


def test_without_any_page_it_goes_after_the_offline_limit() -> None:
    assert Time(THRESHOLD).go(1000).released == pytest.approx(300, abs=3)
    assert Time(OFFLINE).go(1000).released == pytest.approx(300, abs=3), "asked for, and nobody ever came"


def test_a_page_that_falls_silent_is_closed() -> None:
    time = Time(QUICK)
    time.presence.page("one", "ada", True, time.now)
    time.go(PAGE_SILENCE + 200)
    assert time.released == pytest.approx(PAGE_SILENCE + 120, abs=5)


def test_another_replicas_people_count_and_its_clock_is_not_asked() -> None:
    time = Time(QUICK)
    counter = 0

    def hear() -> None:
        nonlocal counter
        counter += 1
        time.presence.hear("other", Note(counter, 1, 0.0), time.now)

    time.go(3600, 10, hear)
    assert time.released is None
    assert time.presence.in_use(time.now)
    # its counter stands still: gone, or cut off
    frozen = Note(counter, 1, 0.0)
    time.go(600, 10, lambda: time.presence.hear("other", frozen, time.now))
    assert time.released == pytest.approx(3600 + 120, abs=20)


def test_seconds_in_the_foreground_are_counted() -> None:
    presence = Presence(THRESHOLD, 0)
    presence.page("one", "ada", True, 0)
    presence.page("one", "ada", False, 40)
    presence.page("one", "ada", True, 100)
    assert presence.looked(110) == {"ada": 50}
    assert presence.close("one", 115) == 55
    assert presence.close("one", 116) is None


@given(
    st.lists(
        st.tuples(st.sampled_from(["visible", "hidden", "close", "begin", "end", "stay"]), st.integers(0, 2), st.floats(0, 15)),
        max_size=60,
    )
)
def test_whoever_looks_is_never_released_and_whoever_left_always(steps: list[tuple[str, int, float]]) -> None:
    """Any order of words: nothing is released while a page is visible; left alone, everything is, within the limits."""
    now, presence, streams = 0.0, Presence(QUICK, 0.0), [[], [], []]  # type: ignore[var-annotated]
    closed: list[str] = []
    for what, who, pause in steps:
        name = f"page-{who}-{len(closed)}"
        if what == "visible":
            presence.page(name, f"user-{who}", True, now)
        elif what == "hidden":
            presence.page(name, f"user-{who}", False, now)
        elif what == "close":
            closed.append(name)  # a page that is opened again has another name
            presence.close(name, now)
        elif what == "begin":
            streams[who].append(presence.begin(f"user-{who}", now))
        elif what == "end" and streams[who]:
            presence.end(streams[who].pop(), now)
        elif what == "stay":
            presence.stay(now)
        now += pause
        if presence.decide(now).action == "release":
            assert not any(page.visible for page in presence._pages.values())
            return
    for numbers in streams:
        for number in numbers:
            presence.end(number, now)
    for _ in range(int(PAGE_SILENCE + QUICK.offline + LONG) + 30):
        now += 1
        if presence.decide(now).action == "release":
            return
    raise AssertionError("left alone, and still there")
