"""Points gathered line by line and turned into columns at once, by functions that run in C."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain, repeat

import orjson

from stream_jobs.extract import numbers
from stream_jobs.extract.rows import Points


class Gatherer:
    """One entry a line that has points; values stay the line's own text until `flush`."""

    def __init__(self, points: Points) -> None:
        self.points = points
        self._lines: list[int] = []
        self._counts: list[int] = []
        self._names: list[Sequence[str]] = []
        self._raw: list[str] = []
        self._steps: list[int | None] = []
        self._epochs: list[float | None] = []
        self._times: list[int | None] = []
        self._sources: list[str] = []
        self._constants: list[tuple[int, float]] = []

    def add(
        self,
        line: int,
        names: Sequence[str],
        raw: Sequence[str],
        step: int | None,
        epoch: float | None,
        time: int | None,
        source: str,
        constants: Sequence[float] | None = None,
    ) -> None:
        """The points of one line. Where a text in `raw` is empty, the constant at its place is the value."""
        if constants is not None:
            at = len(self._raw)
            self._constants += [(at + i, constants[i]) for i, text in enumerate(raw) if not text]
            raw = [text or "0" for text in raw]
        self._lines.append(line)
        self._counts.append(len(names))
        self._names.append(names)
        self._raw += raw
        self._steps.append(step)
        self._epochs.append(epoch)
        self._times.append(time)
        self._sources.append(source)

    def flush(self) -> None:
        """Move everything gathered to the points."""
        if not self._lines:
            return
        points, counts = self.points, self._counts
        values = _values(self._raw)
        for at, constant in self._constants:
            values[at] = constant
        points.line += chain.from_iterable(map(repeat, self._lines, counts))
        points.index += chain.from_iterable(map(range, counts))
        points.name += chain.from_iterable(self._names)
        points.value += values
        points.step += chain.from_iterable(map(repeat, self._steps, counts))
        points.epoch += chain.from_iterable(map(repeat, self._epochs, counts))
        points.time += chain.from_iterable(map(repeat, self._times, counts))
        points.source += chain.from_iterable(map(repeat, self._sources, counts))
        self.__init__(points)  # type: ignore[misc]  # empty again


def _values(raw: list[str]) -> list[float]:
    """All values at once: as one JSON array where every text is a JSON number, else one by one."""
    try:
        values = orjson.loads(f"[{','.join(raw)}]")
        if len(values) == len(raw):
            return list(map(float, values))
    except (ValueError, TypeError):
        pass  # `+4`, `.5`, `007` are numbers here, not there
    return [value if (value := numbers.read(text)) is not None else float("nan") for text in raw]
