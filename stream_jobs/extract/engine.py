"""Lines in, points and events out: the order in which the forms are tried."""

from __future__ import annotations

from schemas.framing import Lines
from stream_jobs.extract import pairs, records
from stream_jobs.extract.options import Options
from stream_jobs.extract.rows import Events, Points
from stream_jobs.extract.state import State

EXTRACTOR_VERSION = 1  # part of a row's revision: raise it whenever the same line may give other rows
DEFAULT = Options()


def extract(state: State, lines: Lines, options: Options = DEFAULT) -> tuple[State, Points, Events]:
    """The points and events of `lines`, which follow those that led to `state`.

    Pure: the same bytes give the same rows, however they were cut into calls; `state` is not changed.
    """
    state = state.copy()
    points, events = Points(), Events()
    texts = lines.texts
    count = len(texts)
    at = 0
    while at < count:
        if texts[at].startswith(records.PREFIX) and at not in lines.continuations:
            end = at + 1
            while end < count and texts[end].startswith(records.PREFIX) and end not in lines.continuations:
                end += 1
            block, numbers = texts[at:end], list(range(at, end))
            if not records.read_block(block, numbers, points):
                for number, text in zip(numbers, block, strict=True):
                    if not records.read_record(text, number, points, events, options.name_characters):
                        pairs.read_line(text, number, points)
            at = end
        else:
            if at not in lines.continuations:
                pairs.read_line(texts[at], at, points)
            at += 1
    return state, points, events
