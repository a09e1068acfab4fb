"""Coverage against a model: a file as a list of bytes, each with the highest revision that covers it."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.coverage import Coverage, folded

SIZE = 24
ranges = st.lists(
    st.tuples(st.integers(0, SIZE), st.integers(0, SIZE), st.integers(1, 3)).map(lambda r: (min(r[:2]), max(r[:2]), r[2])),
    max_size=6,
)


def model(given_ranges: list[tuple[int, int, int]]) -> list[int]:
    """Revision by byte, 0 where nothing covers it."""
    return [max((r for s, e, r in given_ranges if s <= byte < e), default=0) for byte in range(SIZE)]


@given(ranges)
def test_folding_keeps_every_byte_at_its_highest_revision(given_ranges: list[tuple[int, int, int]]) -> None:
    segments = folded(given_ranges)
    assert model(list(segments)) == model(given_ranges)
    assert all(a[1] < b[0] or a[2] != b[2] for a, b in itertools.pairwise(segments))
    assert list(segments) == sorted(segments)


@given(ranges, ranges)
def test_fresh_bytes_are_those_that_were_not_there(old: list[tuple[int, int, int]], new: list[tuple[int, int, int]]) -> None:
    before, now = Coverage({"f": folded(old)}), Coverage({"f": folded(new), "g": ((0, 5, 1),)})
    found = [byte for file, start, end in now.fresh(before) if file == "f" for byte in range(start, end)]
    assert found == [byte for byte in range(SIZE) if model(new)[byte] and not model(old)[byte]]
    assert ("g", 0, 5) in now.fresh(before)
    changed = any(a and b and a != b for a, b in zip(model(old), model(new), strict=True))
    assert now.revised(before) == ({"f"} if changed else set())


@given(ranges, ranges)
def test_taking_what_is_fresh_and_revised_leaves_nothing_to_take(
    old: list[tuple[int, int, int]], new: list[tuple[int, int, int]]
) -> None:
    place, now = Coverage({"f": folded(old)}), Coverage({"f": folded([*old, *new])})  # ranges only grow
    place = place.with_revisions(now.revised(place), now)
    while fresh := now.fresh(place):
        place = place.with_bytes(*fresh[0], now)
    assert now.revised(place) == set()
    assert model(list(place.files["f"])) == model(list(now.files["f"]))


@given(st.dictionaries(st.text(), ranges))
def test_a_cursor_brings_the_same_place_back(files: dict[str, list[tuple[int, int, int]]]) -> None:
    place = Coverage({file: folded(given_ranges) for file, given_ranges in files.items()})
    assert Coverage.from_cursor(place.cursor()) == place


def test_a_place_in_a_thousand_files_fits_into_a_header() -> None:
    files = {f"{i * 7919 % 10007:032x}-{i}": ((0, i * 104_729, (3 << 32) + 1),) for i in range(1000)}
    assert len(Coverage(files).cursor()) < 60_000


@pytest.mark.parametrize("text", ["", "x", "nonsense", "eJw", "eJyrVkpUslIyUKoFAA", "\x00", "é"])
def test_what_is_no_cursor_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="not a cursor"):
        Coverage.from_cursor(text)
