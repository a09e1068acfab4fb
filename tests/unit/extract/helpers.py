"""Short ways to run extraction on texts, and to cut them."""

from __future__ import annotations

import math
from dataclasses import replace

from schemas.framing import Lines, frame
from stream_jobs.extract import Events, Options, Points, State, extract

Point = tuple[int, str, object, int | None, float | None]


def lines_of(text: str | bytes, container: str = "plain") -> Lines:
    data = text.encode("utf-8", "surrogatepass") if isinstance(text, str) else text
    return frame(data, 0, container)  # type: ignore[arg-type]  # tests name it by a string


def run(text: str | bytes, options: Options | None = None, state: State | None = None) -> tuple[Points, Events]:
    _, points, events = extract(state or State(), lines_of(text), options or Options())
    return points, events


def comparable(value: float | None) -> object:
    """NaN equals itself."""
    return "NaN" if isinstance(value, float) and math.isnan(value) else value


def triples(text: str, state: State | None = None) -> list[Point]:
    """(1-based line, name, value, step, epoch) of every point."""
    points, _ = run(text, state=state)
    rows = zip(points.line, points.name, points.value, points.step, points.epoch, strict=True)
    return [(line + 1, name, comparable(value), step, epoch) for line, name, value, step, epoch in rows]


def values(text: str) -> dict[str, object]:
    """Name to value of a text whose names are all different."""
    return {name: value for _, name, value, _, _ in triples(text)}


def part(lines: Lines, start: int, stop: int) -> Lines:
    """Some of the lines, as another call would get them."""
    return replace(
        lines,
        offsets=lines.offsets[start:stop],
        ends=lines.ends[start:stop],
        texts=lines.texts[start:stop],
        continuations={index - start for index in lines.continuations if start <= index < stop},
        streams=None,
        times=None,
        records=lines.records[start:stop] if lines.records is not None else None,
    )


def keyed(lines: Lines, points: Points, events: Events) -> tuple[list[tuple[object, ...]], list[tuple[object, ...]]]:
    """All rows with the byte offset in place of the line's index, so that they compare over any cut."""
    columns = zip(
        points.line, points.index, points.name, points.value, points.step, points.epoch, points.time, points.source, strict=True
    )
    told: list[tuple[object, ...]] = [
        (lines.offsets[line], index, name, comparable(value), step, comparable(epoch), time, source)
        for line, index, name, value, step, epoch, time, source in columns
    ]
    happened: list[tuple[object, ...]] = [
        (
            lines.offsets[events.line[i]], events.index[i], events.kind[i], events.time[i], events.message[i],
            tuple(sorted(events.fields[i].items())), events.step[i], comparable(events.epoch[i]),
        )
        for i in range(len(events))
    ]  # fmt: skip
    return told, happened
