"""Values → numbers: exact, or refused."""

from __future__ import annotations

import math
import struct
from decimal import Decimal
from fractions import Fraction
from typing import Any

import pytest
from trainwire.scalars import NotANumber, number_text, to_number

numpy = pytest.importorskip("numpy")


class TensorLike:
    """What a Torch scalar offers, and what it does when it holds many values."""

    def __init__(self, *values: float) -> None:
        self.values = values

    def item(self) -> float:
        if len(self.values) != 1:
            raise RuntimeError("a Tensor with 2 elements cannot be converted to Scalar")
        return self.values[0]


class FloatOnly:
    """What a framework's scalar without `.item()` offers."""

    def __float__(self) -> float:
        return 0.25


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.1, "0.1"),
        (-0.0, "-0.0"),
        (5e-324, "5e-324"),
        (True, "1"),
        (False, "0"),
        (2**53 + 1, "9007199254740993"),
        (10**300, "1" + "0" * 300),
        (math.nan, '"NaN"'),
        (math.inf, '"Infinity"'),
        (-math.inf, '"-Infinity"'),
        (Decimal("0.1"), "0.1"),
        (Decimal("9007199254740993"), "9007199254740993"),
        (Decimal("NaN"), '"NaN"'),
        (Decimal("sNaN"), '"NaN"'),
        (Decimal("-Infinity"), '"-Infinity"'),
        (Fraction(1, 4), "0.25"),
        (Fraction(2**60), str(2**60)),
        (TensorLike(0.5), "0.5"),
        (TensorLike(math.nan), '"NaN"'),
        (FloatOnly(), "0.25"),
        (numpy.float64(0.1), "0.1"),
        (numpy.int64(2**62 + 1), str(2**62 + 1)),
        (numpy.uint64(2**64 - 1), str(2**64 - 1)),
        (numpy.bool_(True), "1"),
        (numpy.array(0.5), "0.5"),
        (numpy.array([0.5]), "0.5"),
        (numpy.float32("nan"), '"NaN"'),
    ],
)
def test_numbers(value: Any, text: str) -> None:
    assert number_text(value) == text


def test_a_float32_is_written_as_the_value_that_it_holds() -> None:
    held = struct.unpack("f", struct.pack("f", 0.1))[0]  # the C library's widening, not NumPy's
    assert float(number_text(numpy.float32(0.1))) == held


@pytest.mark.parametrize(
    "value",
    [
        "0.3",
        b"1",
        None,
        [1.0],
        {},
        object(),
        1j,
        TensorLike(1.0, 2.0),
        numpy.array([1.0, 2.0]),
        numpy.complex64(1j),
        numpy.datetime64("2026-01-01"),
        2**1024,
        10**5000,
        Decimal("1e999"),
        Decimal("1e999999999"),
        Fraction(10**400, 3),
    ],
    ids=lambda value: type(value).__name__,
)
def test_refused(value: Any) -> None:
    with pytest.raises(NotANumber):
        to_number(value)
