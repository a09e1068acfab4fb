"""A value that a training script holds → the text of a JSON number, exactly, or `NotANumber`.

NumPy, Torch, JAX and the like are recognised by what their scalars can do (`.item()`), never by importing them.
"""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction
from typing import Any, Union

# The store keeps 64-bit floats: a whole number beyond their range (below 2**1024) could only become infinite there.
MAX_INT_BITS = 1024


class NotANumber(ValueError):
    """The value is no number, or none that a 64-bit float can come near."""


def to_number(value: Any) -> Union[int, float]:
    """A plain `int` or `float` of the same value; floats may be NaN or ±Inf. Raises `NotANumber`."""
    number = _plain(value)
    if number is None:
        item = getattr(value, "item", None)
        try:
            number = _plain(item()) if callable(item) else None
            if number is None and not isinstance(value, (str, bytes, bytearray)) and hasattr(value, "__float__"):
                number = float(value)
        except Exception as error:  # an array of many values, a tensor without data: whatever a library raises means "no"
            raise NotANumber(f"{type(value).__name__}: {error}") from error
    if number is None:
        raise NotANumber(f"{type(value).__name__} is not a number")
    if isinstance(number, int) and number.bit_length() > MAX_INT_BITS:
        raise NotANumber("a whole number beyond the range of a 64-bit float")
    return number


def number_text(value: Any) -> str:
    """JSON text of `to_number(value)`. JSON has no word for non-finite numbers: they are the strings that every reader knows."""
    number = to_number(value)
    if isinstance(number, int):
        return int.__repr__(number)
    if math.isfinite(number):
        return float.__repr__(number)  # the shortest text that reads back as the same float
    if math.isnan(number):
        return '"NaN"'
    return '"Infinity"' if number > 0 else '"-Infinity"'


def _plain(value: Any) -> Union[int, float, None]:
    """Python's own numbers and their subclasses (`numpy.float64` is one) as exact `int` or `float`, else None."""
    if isinstance(value, int):
        return int(value)  # True is 1
    if isinstance(value, float):
        return float(value)
    if isinstance(value, Decimal):
        if value.is_nan():
            return math.nan
        if value.is_infinite():
            return math.inf if value > 0 else -math.inf
        if value.adjusted() > 400:  # far beyond a float, and too many digits to write out
            raise NotANumber("a decimal beyond the range of a 64-bit float")
        return int(value) if value == value.to_integral_value() else float(value)
    if isinstance(value, Fraction):
        if value.denominator == 1:
            return value.numerator
        try:
            return float(value)
        except OverflowError as error:
            raise NotANumber("a fraction beyond the range of a 64-bit float") from error
    return None
