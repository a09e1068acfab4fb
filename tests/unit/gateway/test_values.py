"""Values as JSON carries them."""

from __future__ import annotations

import json
import math

import pytest

from gateway.api.parameters import cursor, from_cursor
from gateway.api.problems import Problem
from gateway.api.values import encode


def test_nothing_is_lost_on_the_way() -> None:
    given = {"a": [math.nan, math.inf, -math.inf, 0.1], "b": 2**53, "c": 2**53 + 1, "d": -(2**60), "e": True, "f": (None, "é\n")}
    assert json.loads(encode(given)) == {
        "a": ["NaN", "Infinity", "-Infinity", 0.1],
        "b": 9007199254740992,
        "c": "9007199254740993",
        "d": "-1152921504606846976",
        "e": True,
        "f": [None, "é\n"],
    }
    assert "\n" not in encode(given)  # a server-sent event's data is one line


def test_cursors_come_back_and_others_are_refused() -> None:
    assert from_cursor(cursor((5, "f~'\\", 2**60)), int, str, int) == (5, "f~'\\", 2**60)
    for text in ("", "x", "W10", cursor((5, "f")), cursor((5, 6, 7)), cursor((True, "f", 7)), "%"):
        with pytest.raises(Problem, match="not a cursor"):
            from_cursor(text, int, str, int)
