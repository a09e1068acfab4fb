from __future__ import annotations

from runtime.portions import portions


def test_a_portion_ends_where_one_more_would_be_too_much() -> None:
    sizes = [3, 3, 3, 20, 1, 1, 1, 1]
    assert list(portions(sizes, int, most=3, enough=7)) == [[3, 3], [3], [20], [1, 1, 1], [1]]
    assert list(portions([], int, most=3)) == []
