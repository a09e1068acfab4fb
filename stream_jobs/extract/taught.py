"""Reading a line by a task's own patterns."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any

import orjson

from schemas.patterns import FOUND, LINE, Pattern
from stream_jobs.extract import numbers


@dataclass(slots=True)
class Found:
    """What a pattern found in one line."""

    names: list[str] = field(default_factory=list)
    values: list[float] = field(default_factory=list)
    step: str | None = None
    epoch: str | None = None


def read(pattern: Pattern, text: str) -> Found | None:
    """What the pattern finds, or None where it finds no number."""
    found = Found()
    if pattern.regex is None:
        _read_json(pattern, text, found)
    else:
        for count, match in enumerate(pattern.regex.finditer(text[:LINE])):
            if count == FOUND:
                break
            _read_match(match, found)
    return found if found.names else None


def _read_match(match: re.Match[str], found: Found) -> None:
    groups = {name: text for name, text in match.groupdict().items() if text is not None}
    found.step, found.epoch = groups.pop("step", found.step), groups.pop("epoch", found.epoch)
    if "value" in groups:
        groups = {groups.get("name", "value").strip(): groups["value"]}
    for name, text in groups.items():
        value = numbers.read(text.strip())
        if value is not None and name:
            found.names.append(name)
            found.values.append(value)


def _read_json(pattern: Pattern, text: str, found: Found) -> None:
    start = text.find("{")
    try:
        members = orjson.loads(text[start:]) if start >= 0 else None
    except ValueError:
        return
    name, value = "", None
    for what, path in pattern.members:
        member = _member(members, path)
        if member is None:
            continue
        if what == "name":
            name = str(member)
        elif what == "value":
            name, value = name or path[-1], numbers.read(str(member))
        elif what == "step":
            found.step = str(member)
        else:
            found.epoch = str(member)
    if value is not None:
        found.names.append(name)
        found.values.append(value)


def _member(value: Any, path: tuple[str, ...]) -> Any:
    for key in path:
        if not isinstance(value, dict) or key not in value:
            return None
        value = value[key]
    return value
