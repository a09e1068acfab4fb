"""Points gathered line by line and turned into columns at once, by functions that run in C."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import orjson

from stream_jobs.extract import numbers
from stream_jobs.extract.rows import Points


class Gatherer:
    """One entry a line that has points; values stay the line's own text until `flush`."""

    def __init__(self, points: Points) -> None:
        self.points = points
        self.rows: list[tuple[int, tuple[str, ...], int | None, float | None, int | None, str]] = []
        self.raw: list[str] = []
        self._constants: list[tuple[int, float]] = []

    def add_constants(self, raw: Sequence[str], constants: Sequence[float]) -> None:
        """The values of a line some of which are constants: where a text is empty, the constant at its place."""
        at = len(self.raw)
        self._constants += [(at + i, constants[i]) for i, text in enumerate(raw) if not text]
        self.raw += [text or "0" for text in raw]

    def flush(self) -> None:
        """Move everything gathered to the points."""
        if not self.rows:
            return
        points = self.points
        columns = map(list, zip(*self.rows, strict=True))
        kept: tuple[list[Any], ...] = (points.lines, points.names, points.steps, points.epochs, points.times, points.sources)
        for column, more in zip(kept, columns, strict=True):
            column += more
        values = _values(self.raw)
        for at, constant in self._constants:
            values[at] = constant
        points.value += values
        self.rows.clear()
        self.raw.clear()
        self._constants.clear()


def _values(raw: list[str]) -> list[float]:
    """All values at once: as one JSON array where every text is a JSON number, else one by one."""
    try:
        values = orjson.loads(f"[{','.join(raw)}]")
        if len(values) == len(raw):
            return list(map(float, values))
    except (ValueError, TypeError):
        pass  # `+4`, `.5`, `007` are numbers here, not there
    return [value if (value := numbers.read(text)) is not None else float("nan") for text in raw]
