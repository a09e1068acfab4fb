"""Events of a file: what its lines tell, each thing once."""

from __future__ import annotations

import math
import zlib

from stream_jobs.extract import happenings
from stream_jobs.extract.cleaning import clean
from stream_jobs.extract.forms import Plan
from stream_jobs.extract.numbers import integer
from stream_jobs.extract.rows import Events, Points
from stream_jobs.extract.state import NON_FINITE_NAMES, Context, State

_WARNINGS = 256  # different warnings told of one file
_MESSAGE = 1000  # characters of an event's message


class Teller:
    """Adds events, and remembers in the file's state what was told."""

    def __init__(self, state: State, events: Events) -> None:
        self.state = state
        self.events = events

    def non_finite_points(self, points: Points, before: int, index: int) -> None:
        """Tell the first NaN or infinity of each metric of the line `index`, whose values stand from `before` on."""
        values = points.value[before:]
        if not all(map(math.isfinite, values)):
            for name, value in zip(points.names[-1], values, strict=True):
                if not math.isfinite(value):
                    self.non_finite(name, value, index, points.steps[-1], points.times[-1])

    def happening(
        self, context: Context, plan: Plan, text: str, index: int, time: int | None, step: int | None, epoch: float | None
    ) -> None:
        kind = plan.happening or "warning"
        text = clean(text).strip()
        if kind == "traceback":
            context.trace = (text[:_MESSAGE],)
            return
        if kind == "warning":
            mark = zlib.crc32(plan.regex.encode())
            if mark in self.state.warned or len(self.state.warned) >= _WARNINGS:
                return
            self.state.warned[mark] = None
        if kind == "finished":
            context.step = context.epoch = None
            context.section = ""
        self.events.add(index, kind, time, text[:_MESSAGE], {}, step, epoch)

    def progress(self, context: Context, plan: Plan, strings: tuple[str, ...] | list[str], index: int, time: int | None) -> None:
        """Tell how far the task is, each time its whole percents move. Bars within an epoch say nothing of the task."""
        if plan.within and context.within:
            return
        done = integer(strings[plan.done])
        total = integer(strings[plan.total]) if plan.total >= 0 else None
        if done is None:
            return
        percent = done * 100 // total if total else -1
        if percent == context.percent and total == context.total:
            return
        context.percent, context.total = percent, total
        fields = {"done": str(done), "unit": plan.unit} | ({"total": str(total)} if total else {})
        self.events.add(index, "progress", time, "", fields, None, None)

    def non_finite(self, name: str, value: float, index: int, step: int | None, time: int | None) -> None:
        """Tell a metric's first NaN or infinity."""
        known = self.state.non_finite
        if name in known or len(known) >= NON_FINITE_NAMES:
            return
        known[name] = None
        word = "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
        self.events.add(index, "non_finite", time, f"{name} is {word}", {"name": name, "value": word}, step, None)

    def trace(self, context: Context, body: str, index: int, time: int | None) -> bool:
        """A line after a traceback began; False where it is none of it."""
        if happenings.continues_trace(body):
            if len(context.trace) < happenings.TRACE_LINES:
                context.trace += (body[:_MESSAGE],)
            return True
        ends = happenings.ends_trace(body)
        whole = "\n".join((*context.trace, body) if ends else context.trace)[: happenings.TRACE_CHARACTERS]
        context.trace = ()
        message = body.strip()[:_MESSAGE] if ends else "Traceback without an exception's name"
        self.events.add(index, "exception", time, message, {"traceback": whole}, context.step, context.epoch)
        kind = happenings.of(body, header=False) if ends else None
        if kind in ("out_of_memory", "nccl_timeout"):
            self.events.add(index, kind, time, message, {}, context.step, context.epoch)
        return ends
