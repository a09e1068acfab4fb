"""Time stamps of many forms, and what they mean in milliseconds since the epoch, UTC.

Rules: a stamp without a zone is in the task's zone (`Options.zone_minutes`, 0: UTC). A stamp without a year, an
impossible one (month 13, year 1 or 2525) and a clock without a date give None, and the arrival time is used. Of
``10/07/2025`` the first number is the month, unless it is above 12.
"""

from __future__ import annotations

import re
from calendar import monthrange, timegm
from functools import lru_cache

_CLOCK = r"[0-9]{2}:[0-9]{2}:[0-9]{2}(?:[.,][0-9]{1,9})?"
_ZONE = r"(?:\s?(?:Z|UTC|GMT)\b|\s?[+-][0-9]{2}:?[0-9]{2}\b)?"
_MONTH = r"(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)"
STAMP = (
    rf"(?:[0-9]{{4}}[-/.][0-9]{{2}}[-/.][0-9]{{2}}[T\s_]{_CLOCK}{_ZONE}"
    rf"|[0-9]{{2}}[/-][0-9]{{2}}[/-][0-9]{{4}}\s{_CLOCK}"
    rf"|[0-9]{{2}}[/-][0-9]{{2}}(?:[/-][0-9]{{2}})?\s{_CLOCK}"
    rf"|(?:(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)\s)?{_MONTH}\s{{1,2}}[0-9]{{1,2}}\s{_CLOCK}(?:\s[0-9]{{4}})?"
    rf"|[0-9]{{1,2}}[-/]{_MONTH}[-/][0-9]{{2,4}}\s{_CLOCK}"
    rf"|{_CLOCK}"
    r"|1[0-9]{9}(?:\.[0-9]{1,9})?(?![0-9./,-]|:[0-9])|1[0-9]{12}(?![0-9.])|1[0-9]{18}(?![0-9.]))"
)
_ISO = re.compile(
    rf"([0-9]{{4}})[-/.]([0-9]{{2}})[-/.]([0-9]{{2}})[T\s_]([0-9]{{2}}):([0-9]{{2}}):([0-9]{{2}})(?:[.,]([0-9]{{1,9}}))?({_ZONE})"
)
_AMERICAN = re.compile(r"([0-9]{2})[/-]([0-9]{2})[/-]([0-9]{4})\s([0-9]{2}):([0-9]{2}):([0-9]{2})(?:[.,]([0-9]{1,9}))?")
_NAMED = re.compile(
    rf"(?:\w{{3}}\s)?({_MONTH})\s{{1,2}}([0-9]{{1,2}})\s([0-9]{{2}}):([0-9]{{2}}):([0-9]{{2}})(?:[.,]([0-9]{{1,9}}))?\s([0-9]{{4}})"
)
_DAY_FIRST = re.compile(
    rf"([0-9]{{1,2}})[-/]({_MONTH})[-/]([0-9]{{4}})\s([0-9]{{2}}):([0-9]{{2}}):([0-9]{{2}})(?:[.,]([0-9]{{1,9}}))?"
)
_NUMBER = re.compile(r"[0-9]{9,19}(?:\.[0-9]+)?")
_MONTHS = {name: i + 1 for i, name in enumerate(_MONTH[3:-1].split("|"))}
_HEAD = re.compile(r"[0-9]{4}[-/.][0-9]{2}[-/.][0-9]{2}[T\s_][0-9]{2}:[0-9]{2}:")
EARLIEST, LATEST = 631152000000, 4102444800000  # 1990 to 2100: a log from outside was written by a wrong clock


def parse(text: str, zone_minutes: int = 0) -> int | None:
    """Milliseconds since the epoch, UTC; None for what names no possible moment."""
    second, part = text[17:19], text[19:]
    if text[16:17] == ":" and second.isdigit() and second < "60":  # most stamps: a minute that was read before
        if part == "" or part == "Z":
            minute = _minute(text[:17], 0 if part else zone_minutes)
            if minute is not None:
                return minute + int(second) * 1000
        elif len(part) == 4 and part[0] in ",." and part[1:].isdigit():
            minute = _minute(text[:17], zone_minutes)
            if minute is not None:
                return minute + int(second) * 1000 + int(part[1:])
    return _parse(text, zone_minutes)


@lru_cache(4096)
def _minute(head: str, zone_minutes: int) -> int | None:
    """The beginning of the minute of `2025-10-07 08:08:`; None where it is no such thing."""
    return _parse(head + "00", zone_minutes) if _HEAD.fullmatch(head) else None


def _parse(text: str, zone_minutes: int) -> int | None:
    text = text.strip()
    if _NUMBER.fullmatch(text):
        return _number(text)
    found = _ISO.match(text)
    if found is not None:
        year, month, day, hour, minute, second, part, zone = found.groups()
        return _moment(year, month, day, hour, minute, second, part, _zone(zone, zone_minutes))
    found = _AMERICAN.match(text)
    if found is not None:
        month, day, year, hour, minute, second, part = found.groups()
        if int(month) > 12:
            month, day = day, month
        return _moment(year, month, day, hour, minute, second, part, zone_minutes)
    found = _NAMED.match(text)
    if found is not None:
        name, day, hour, minute, second, part, year = found.groups()
        return _moment(year, str(_MONTHS[name]), day, hour, minute, second, part, zone_minutes)
    found = _DAY_FIRST.match(text)
    if found is not None:
        day, name, year, hour, minute, second, part = found.groups()
        return _moment(year, str(_MONTHS[name]), day, hour, minute, second, part, zone_minutes)
    return None


def _number(text: str) -> int | None:
    """Seconds, milliseconds, microseconds or nanoseconds, by their size."""
    whole, _, part = text.partition(".")
    digits = len(whole)
    if digits <= 10:
        value = int(whole) * 1000 + int((part + "000")[:3])
    else:
        value = int(whole) // {13: 1, 16: 1000, 19: 1000000}.get(digits, 10**19)
    return value if EARLIEST <= value < LATEST else None


@lru_cache(256)
def _zone(zone: str, default: int) -> int:
    """Minutes ahead of UTC."""
    zone = zone.strip()
    if not zone:
        return default
    if zone in ("Z", "UTC", "GMT"):
        return 0
    sign = -1 if zone[0] == "-" else 1
    digits = zone[1:].replace(":", "")
    return sign * (int(digits[:2]) * 60 + int(digits[2:]))


@lru_cache(4096)
def _day(year: int, month: int, day: int) -> int | None:
    if not (1 <= month <= 12 and year > 0 and 1 <= day <= monthrange(year, month)[1]):
        return None
    seconds = timegm((year, month, day, 0, 0, 0))
    return seconds * 1000


def _moment(
    year: str, month: str, day: str, hour: str, minute: str, second: str, part: str | None, zone_minutes: int
) -> int | None:
    start = _day(int(year), int(month), int(day))
    if start is None or int(hour) > 23 or int(minute) > 59 or int(second) > 60:
        return None
    value = start + ((int(hour) * 60 + int(minute) - zone_minutes) * 60 + int(second)) * 1000
    if part:
        value += int((part + "00")[:3])
    return value if EARLIEST <= value < LATEST else None
