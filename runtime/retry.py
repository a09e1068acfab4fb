"""Waiting between tries: exponential with full jitter, as data and a small state that takes no clock."""

from __future__ import annotations

import dataclasses
import random


@dataclasses.dataclass(frozen=True)
class Backoff:
    """Policy. `first` and `most` are seconds; the n-th wait is drawn from (0.5..1) × min(first × 2ⁿ, most)."""

    first: float = 0.2
    most: float = 10.0

    def wait(self, failures: int) -> float:
        """Seconds to wait after the `failures`-th failure in a row (1-based). Half is kept so that no wait is near zero."""
        ceiling: float = min(self.first * 2 ** min(failures - 1, 30), self.most)
        return ceiling * random.uniform(0.5, 1.0)


class LogLimiter:
    """Says whether a repeated complaint is due: the first at once, then one each `every` seconds."""

    def __init__(self, every: float = 30.0) -> None:
        self.every = every
        self._last: float | None = None

    def due(self, now: float) -> bool:
        if self._last is not None and now - self._last < self.every:
            return False
        self._last = now
        return True

    def reset(self) -> None:
        self._last = None
