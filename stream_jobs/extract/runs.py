"""Runs of lines of one form: rows of all of them at once."""

from __future__ import annotations

from stream_jobs.extract import bulk, times
from stream_jobs.extract.columns import Gatherer
from stream_jobs.extract.forms import Line
from stream_jobs.extract.options import Options
from stream_jobs.extract.state import State


class Runs:
    """`window` is how many lines the next run looks at: it grows while all of them have the form."""

    def __init__(self, state: State, options: Options, gatherer: Gatherer) -> None:
        self.state = state
        self.options = options
        self.gatherer = gatherer
        self.window = bulk.FIRST

    def read(self, line: Line, texts: list[str], start: int, bound: int) -> tuple[int, int]:
        """After several lines of one form: read those that follow at once.

        Gives back the index of the first not read, and of how many lines the streak is now.
        """
        context = self.state.context(line.stream)
        if line.form is None or (context.table is not None and not line.plan.row):
            return start, 0
        window = texts[start : min(start + self.window, bound)]
        full = len(window)
        window = window[: bulk.fitting(line.form, window)]
        self.window = min(4 * self.window, bulk.WINDOW) if len(window) == full else bulk.FIRST
        if len(window) < bulk.LEAST:
            return start, 0
        flat = bulk.read(line.form, window)
        if flat is None:
            line.form = None  # numbers such as 007, which JSON does not know: line by line, then
            return start, 0
        plan, form, count = line.plan, line.form, len(window)
        take = plan.started if context.started else plan.always
        steps: list[int | None] = [context.step] * count
        epochs: list[float | None] = [context.epoch] * count
        if plan.step >= 0:
            steps = _steps(form, flat, plan.step)
        if plan.epoch >= 0:
            epochs = list(map(float, flat[form.columns[plan.epoch] :: len(form.kinds)]))
            if plan.step < 0:
                steps = [None] * count
        context.step, context.epoch = steps[-1], epochs[-1]
        context.started = context.started or plan.evidence
        context.misses = 0
        if take.names:
            self.gatherer.flush()
            told: list[int | None] = [None] * count
            if form.stamp is not None:
                cut, zone = slice(*form.stamp), self.options.zone_minutes
                told = [times.parse(text[cut], zone) for text in window]
            values = bulk.kept(form, flat, [form.columns[slot] for slot in take.slots])
            self.gatherer.points.extend(range(start, start + count), take.names, values, steps, epochs, told, plan.source)
        return start + count, bulk.LEAST


def _steps(form: bulk.Form, flat: list[float], slot: int) -> list[int | None]:
    """The steps of the lines; None where one is no whole number."""
    place = form.columns[slot]
    column = flat[place :: len(form.kinds)]
    if form.kinds[place] is int:
        return column  # type: ignore[return-value]  # of integers, as its kind says
    return [int(value) if abs(value) < 2**62 and value == int(value) else None for value in column]
