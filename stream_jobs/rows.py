"""Rows of the tables, in the columns of `schemas.columns`, from what extraction gives: pure, counts what it had to change.

A row's time is what its line told, else when the broker had it. Times that cannot be are never stored: before 2000 no
clock was set, and more than a day behind its arrival no line was written.
"""

from __future__ import annotations

from typing import Any

from schemas.framing import Lines
from stream_jobs.extract import Events, Points
from stream_jobs.extract.records import PREFIX

YEAR_2000 = 946_684_800_000  # ms since the epoch
DAY = 86_400_000  # ms
INT64 = 2**63

Columns = list[list[Any]]  # one list a column, in the order of schemas.columns, all of the same length


def possible(time: int, arrived: int) -> bool:
    """Whether a line that arrived then can have been written at `time` (both ms since the epoch)."""
    return YEAR_2000 <= time <= arrived + DAY


def line_times(lines: Lines, points: Points, events: Events, arrived: int) -> tuple[dict[int, int], int]:
    """Times that lines told, by the line's index, and how many told an impossible one."""
    told: dict[int, int | None] = dict(zip(events.line, events.time, strict=True))
    told |= dict(zip(points.lines, points.times, strict=True))
    told |= {index: time for index, time in enumerate(lines.times or ()) if time is not None}
    known = {index: time for index, time in told.items() if time is not None and possible(time, arrived)}
    return known, sum(time is not None for time in told.values()) - len(known)


def of_lines(task: str, file_id: str, rank: int, lines: Lines, known: dict[int, int], arrived: int) -> Columns:
    n = len(lines.offsets)
    kinds = ["record" if text.startswith(PREFIX) else "text" for text in lines.texts]
    for index in lines.continuations:
        kinds[index] = "continuation"
    return [
        [task] * n,
        [file_id] * n,
        lines.offsets,
        lines.ends,
        lines.texts,
        kinds,
        lines.streams or [""] * n,
        [known.get(index, arrived) for index in range(n)],
        [index in known for index in range(n)],
        [rank] * n,
        [arrived] * n,
    ]


def of_points(
    task: str, file_id: str, rank: int, revision: int, lines: Lines, points: Points, known: dict[int, int], arrived: list[int]
) -> tuple[Columns, int]:
    """Columns of points, and on how many lines the step fits no column. `arrived`: one for each line that has points."""
    n, each = len(points), points.each
    offsets, times, own, steps, unfit = _placed(points.lines, points.times, points.steps, lines, known, arrived)
    columns: Columns = [
        [task] * n,
        points.name,
        [file_id] * n,
        each(offsets),
        points.index,
        [revision] * n,
        points.value,
        each(steps),
        points.epoch,
        each(times),
        each(own),
        [rank] * n,
        points.source,
        each(arrived),
    ]
    return columns, unfit


def of_events(
    task: str, file_id: str, rank: int, revision: int, lines: Lines, events: Events, known: dict[int, int], arrived: list[int]
) -> tuple[Columns, int]:
    """Columns of events that lines told, and how many of their steps fit no column. `arrived`: one for each event."""
    n = len(events)
    offsets, times, own, steps, unfit = _placed(events.line, events.time, events.step, lines, known, arrived)
    columns: Columns = [
        [task] * n,
        events.kind,
        [file_id] * n,
        offsets,
        events.index,
        [revision] * n,
        ["line"] * n,
        times,
        own,
        [rank] * n,
        steps,
        events.epoch,
        events.message,
        events.fields,
        arrived,
    ]
    return columns, unfit


def _placed(
    at: list[int], told: list[int | None], steps: list[int | None], lines: Lines, known: dict[int, int], arrived: list[int]
) -> tuple[list[int], list[int], list[bool], list[int | None], int]:
    """What points and events share: offsets, times, whether a time is the line's own, steps, and how many fit no column."""
    offsets = lines.offsets
    return [offsets[index] for index in at], *_times(at, told, known, arrived), *_steps(steps)


def uint32(number: int | None) -> int | None:
    """What fits the column; ranks and attempts beyond it are nobody's."""
    return None if number is None else min(max(number, 0), 2**32 - 1)


def _times(line: list[int], told: list[int | None], known: dict[int, int], arrived: list[int]) -> tuple[list[int], list[bool]]:
    """A row's own time, else its line's, else its arrival; and whether it is one of the first two."""
    given = [time for time in told if time is not None]
    if len(given) == len(told) and told and min(given) >= YEAR_2000 and max(given) <= min(arrived) + DAY:
        return given, [True] * len(given)
    times: list[int] = []
    own: list[bool] = []
    for index, time, came in zip(line, told, arrived, strict=True):
        if time is None or not possible(time, came):
            time = known.get(index)
        times.append(came if time is None else time)
        own.append(time is not None)
    return times, own


def _steps(steps: list[int | None]) -> tuple[list[int | None], int]:
    """Steps as they are, but for those beyond Int64: they would come back as other numbers, so they are absent."""
    real = [step for step in steps if step is not None]
    if not real or (min(real) >= -INT64 and max(real) < INT64):
        return steps, 0
    fitting = [step if step is not None and -INT64 <= step < INT64 else None for step in steps]
    return fitting, fitting.count(None) - steps.count(None)
