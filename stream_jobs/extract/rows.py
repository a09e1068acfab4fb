"""What extraction gives back, in columns: one list a field, all of the same length, so that no object is made per point."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TypeVar


@dataclass(slots=True)
class Points:
    """One entry a point. `unparsed` counts values that stood where a metric's value stands but are no exact decimal number."""

    line: list[int] = field(default_factory=list)  # index into the lines given
    index: list[int] = field(default_factory=list)  # of the point within its line, from 0
    name: list[str] = field(default_factory=list)
    value: list[float] = field(default_factory=list)  # NaN and infinities as they are
    step: list[int | None] = field(default_factory=list)
    epoch: list[float | None] = field(default_factory=list)
    time: list[int | None] = field(default_factory=list)  # ms since the epoch, UTC; None where the line says none
    source: list[str] = field(default_factory=list)  # the form that was read: record, json, dict, pairs, table, …
    unparsed: int = 0

    def __len__(self) -> int:
        return len(self.line)

    def add(
        self, line: int, index: int, name: str, value: float, step: int | None, epoch: float | None, time: int | None, source: str
    ) -> None:
        self.line.append(line)
        self.index.append(index)
        self.name.append(name)
        self.value.append(value)
        self.step.append(step)
        self.epoch.append(epoch)
        self.time.append(time)
        self.source.append(source)

    def extend(
        self,
        start: int,
        count: int,
        names: Sequence[str],
        values: list[float],
        steps: list[int | None],
        epochs: list[float | None],
        times: list[int | None],
        source: str,
    ) -> None:
        """The points of `count` lines from `start` on that have the same names."""
        width = len(names)
        self.line += spread(list(range(start, start + count)), width)
        self.index += list(range(width)) * count
        self.name += list(names) * count
        self.value += values
        self.step += spread(steps, width)
        self.epoch += spread(epochs, width)
        self.time += spread(times, width)
        self.source += [source] * (width * count)


@dataclass(slots=True)
class Events:
    """One entry an event: something that happened to the task."""

    line: list[int] = field(default_factory=list)
    index: list[int] = field(default_factory=list)  # of the event within its line, from 0
    kind: list[str] = field(default_factory=list)
    time: list[int | None] = field(default_factory=list)  # ms since the epoch, UTC
    message: list[str] = field(default_factory=list)
    fields: list[dict[str, str]] = field(default_factory=list)
    step: list[int | None] = field(default_factory=list)
    epoch: list[float | None] = field(default_factory=list)

    def __len__(self) -> int:
        return len(self.line)

    def add(
        self,
        line: int,
        kind: str,
        time: int | None = None,
        message: str = "",
        fields: dict[str, str] | None = None,
        step: int | None = None,
        epoch: float | None = None,
    ) -> None:
        """Append an event; its index counts the events that its line already gave (they are added line by line)."""
        last = len(self.line) - 1
        self.index.append(self.index[last] + 1 if last >= 0 and self.line[last] == line else 0)
        self.line.append(line)
        self.kind.append(kind)
        self.time.append(time)
        self.message.append(message)
        self.fields.append({} if fields is None else fields)
        self.step.append(step)
        self.epoch.append(epoch)


_Value = TypeVar("_Value")


def spread(values: list[_Value], width: int) -> list[_Value]:
    """Each value `width` times in a row, by assignments that run in C."""
    if width == 1:
        return values
    out = values * width
    for place in range(width):
        out[place::width] = values
    return out
