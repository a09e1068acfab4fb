r"""Numbers as training logs print them, and what may stand directly behind one.

A number is an optional sign, digits with at most one dot (``.5`` and ``5.`` too), thousands commas where every group
has three digits, and an exponent. What a longer token only begins with is no number: dates, clocks, versions, addresses,
``0x10``, ``1_000``, sizes (``3.9G``) and hashes are never cut down to one.
"""

from __future__ import annotations

import math
import re

NUMBER = r"[-+]?(?:[0-9]{1,3}(?:,[0-9]{3})+(?:\.[0-9]+)?|[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][-+]?[0-9]+)?"
_WORDS = {
    "nan": math.nan,
    "+nan": math.nan,
    "-nan": math.nan,
    "inf": math.inf,
    "+inf": math.inf,
    "-inf": -math.inf,
    "infinity": math.inf,
    "+infinity": math.inf,
    "-infinity": -math.inf,
}
_FULL = re.compile(NUMBER)
_THOUSANDS = {"K": 1e3, "M": 1e6, "B": 1e9}

# Units that may stand directly behind a number, or one blank behind it, without changing what the number says.
_TIME = {
    "s",
    "ms",
    "us",
    "µs",
    "μs",
    "ns",
    "sec",
    "secs",
    "second",
    "seconds",
    "min",
    "mins",
    "minutes",
    "h",
    "hr",
    "hrs",
    "hours",
}
_OTHER = {"%", "x", "hz", "w", "c", "db", "bpc", "bpb", "bpd", "bits", "nats", "pts", "tflops", "gflops", "tflop", "dB"}
_RATE = re.compile(r"^[A-Za-z#]*(?:/[A-Za-z]+)+$|^[A-Za-z]+/(?:s|sec|it)$|^(?:fps|tps|ips|qps|wps|it/s)$", re.I)


def word_value(word: str) -> float | None:
    """NaN and the infinities in any spelling that a language prints."""
    return _WORDS.get(word.lower())


def is_number(text: str) -> bool:
    return _FULL.fullmatch(text) is not None


def read(text: str) -> float | None:
    """The exact value of a whole string, or None where it is no number. `1e400` is Infinity, as Python reads it."""
    if _FULL.fullmatch(text):
        value = float(text.replace(",", ""))
        return value if value or "." in text or "e" in text or "E" in text else 0.0  # `-0` is the integer zero, as in JSON
    return word_value(text)


def is_time(unit: str) -> bool:
    return unit.lower() in _TIME


def is_rate(unit: str) -> bool:
    """So many of something a second, a device, …"""
    return bool(_RATE.match(unit)) and unit.split("/")[0].lower() not in _TIME


def is_pace(unit: str) -> bool:
    """So much time for one of something: `1ms/step`."""
    return "/" in unit and unit.split("/")[0].lower() in _TIME


def is_unit(unit: str) -> bool:
    return unit.lower() in _TIME or unit.lower() in _OTHER or is_rate(unit) or is_pace(unit)


def is_short(text: str) -> bool:
    """`49K`, `1.5M`: a counter as LeRobot and others cut it short."""
    return text[-1:] in _THOUSANDS and _FULL.fullmatch(text[:-1]) is not None


def integer(text: str) -> int | None:
    """A whole number of at most 62 bits, however it is printed; `49K` is 49000."""
    if text.isascii() and text.isdigit() and len(text) < 20:
        whole = int(text)
        return whole if whole < 2**62 else None
    value = read(text)
    if value is None and is_short(text):
        value = round((read(text[:-1]) or 0.0) * _THOUSANDS[text[-1]], 3)
    return int(value) if value is not None and value.is_integer() and abs(value) < 2**62 else None


def real(text: str) -> float | None:
    """The value of a text that a form found to be a number, as quickly as can be."""
    try:
        return float(text)
    except ValueError:
        return read(text)
