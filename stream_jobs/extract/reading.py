"""What one line says, before the context of its file is asked: pairs, counters, and where in the text they stand."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple


class Span(NamedTuple):
    start: int
    end: int


class Counter(NamedTuple):
    rank: int  # 0 is the best; the line's step is the best counter, the first of equals
    at: Span
    total: Span | None
    name: str


class Pair(NamedTuple):
    name: Span | str  # where the name stands, or a name that the text does not hold in one piece
    value: Span | float  # where the number stands, or the value of a word (NaN, infinities)
    sure: bool  # a metric wherever it stands; else only where the line or its context says that training goes on
    rule: str  # for `--explain`

    def called(self, text: str) -> str:
        return self.name if isinstance(self.name, str) else text[slice(*self.name)]

    def is_fraction(self, text: str) -> bool:
        """No whole number."""
        return not isinstance(self.value, Span) or not {".", "e", "E"}.isdisjoint(text[slice(*self.value)])

    def is_plain(self, text: str) -> bool:
        """No whole number, and without a unit: `1.5s` is a time."""
        return self.is_fraction(text) and not self._behind(text).isalpha()

    def is_measured(self, text: str) -> bool:
        """`wall 4634` between bars counts something, `clip 0%` is a share."""
        return self.is_fraction(text) or self._behind(text) == "%"

    def _behind(self, text: str) -> str:
        return text[self.value.end : self.value.end + 1] if isinstance(self.value, Span) else ""


@dataclass(slots=True)
class Reading:
    pairs: list[Pair] = field(default_factory=list)
    steps: list[Counter] = field(default_factory=list)
    epochs: list[Counter] = field(default_factory=list)
    progress: Counter | None = None  # of a bar
    total: Span | None = None  # how many steps there will be
    time: Span | None = None  # a time stamp inside an object
    inner: Counter | None = None  # a counter within the epoch that nothing names: `[20/791]`
    loose: list[Span] = field(default_factory=list)  # text whose digits matter, though no name is in one piece there
    rates: bool = False  # the only metrics whose names are known are learning rates
    side: bool = False  # a validation's own counter, no step of the training: `Epoch(val) [1][5/5]`
    source: str = "pairs"
    unparsed: int = 0
    lead: str = ""  # what stands before a bar
