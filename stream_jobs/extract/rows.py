"""What extraction gives back, in columns: no object is made per point."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import chain, repeat
from typing import TypeVar

_Value = TypeVar("_Value")


@dataclass(slots=True)
class Points:
    """Points line by line: one entry a line that has any, and the values of all.

    What is said of a line holds for each of its points, so it is kept once: a line of six numbers costs six entries and
    six floats. The properties give columns with one entry a point. `unparsed` counts values that stood where a metric's
    value stands but are no exact decimal number.
    """

    lines: list[int] = field(default_factory=list)  # index into the lines given, ascending
    names: list[tuple[str, ...]] = field(default_factory=list)  # of the line's points, in their order
    steps: list[int | None] = field(default_factory=list)
    epochs: list[float | None] = field(default_factory=list)
    times: list[int | None] = field(default_factory=list)  # ms since the epoch, UTC; None where the line says none
    sources: list[str] = field(default_factory=list)  # the form that was read: record, json, dict, pairs, table, …
    value: list[float] = field(default_factory=list)  # one a point: NaN and infinities as they are
    unparsed: int = 0

    def __len__(self) -> int:
        return len(self.value)

    def add(
        self,
        line: int,
        names: tuple[str, ...],
        values: Sequence[float],
        step: int | None,
        epoch: float | None,
        time: int | None,
        source: str,
    ) -> None:
        """The points of one line."""
        self.lines.append(line)
        self.names.append(names)
        self.steps.append(step)
        self.epochs.append(epoch)
        self.times.append(time)
        self.sources.append(source)
        self.value += values

    def extend(
        self,
        lines: Sequence[int],
        names: tuple[str, ...],
        values: list[float],
        steps: list[int | None],
        epochs: list[float | None],
        times: list[int | None],
        source: str,
    ) -> None:
        """The points of several lines that have the same names."""
        count = len(lines)
        self.lines += lines
        self.names += [names] * count
        self.steps += steps
        self.epochs += epochs
        self.times += times
        self.sources += [source] * count
        self.value += values

    def each(self, column: list[_Value]) -> list[_Value]:
        """A column with one entry a line as one with an entry a point."""
        widths = list(map(len, self.names))
        if widths and widths.count(widths[0]) == len(widths):
            width = widths[0]
            out = column * width
            for place in range(width):  # assignments that run in C
                out[place::width] = column
            return out
        return list(chain.from_iterable(map(repeat, column, widths)))

    @property
    def line(self) -> list[int]:
        return self.each(self.lines)

    @property
    def index(self) -> list[int]:
        """Of the point within its line, from 0."""
        return list(chain.from_iterable(map(range, map(len, self.names))))

    @property
    def name(self) -> list[str]:
        return list(chain.from_iterable(self.names))

    @property
    def step(self) -> list[int | None]:
        return self.each(self.steps)

    @property
    def epoch(self) -> list[float | None]:
        return self.each(self.epochs)

    @property
    def time(self) -> list[int | None]:
        return self.each(self.times)

    @property
    def source(self) -> list[str]:
        return self.each(self.sources)


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
