"""Why a line gave what it gave: for `trainwirectl parse --explain`, never for the worker."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from schemas.framing import Lines
from stream_jobs.extract import bars, names, plans, prefixes, records, tables
from stream_jobs.extract.cleaning import clean
from stream_jobs.extract.engine import DEFAULT, extract
from stream_jobs.extract.forms import Plan
from stream_jobs.extract.options import Options
from stream_jobs.extract.reading import Pair, Reading, Span
from stream_jobs.extract.rows import Events, Points
from stream_jobs.extract.state import State


@dataclass(frozen=True, slots=True)
class Explanation:
    index: int
    text: str
    rule: str  # which form read the line
    notes: tuple[str, ...]  # what was found in it and what became of that
    points: Points
    events: Events
    state: State  # behind the line


def explain(lines: Lines, options: Options = DEFAULT, state: State | None = None) -> Iterator[Explanation]:
    """Each line with its rows and reasons, read one after the other as `extract` reads them together."""
    state = state or State()
    for index, text in enumerate(lines.texts):
        one = Lines([lines.offsets[index]], [lines.ends[index]], [text])
        if lines.records is not None:
            one.records = [lines.records[index]]
        if index in lines.continuations:
            one.continuations = {0}
        rule, notes = _reason(state, text, one)
        state, points, events = extract(state, one, options)
        if set(points.sources) == {"pattern"}:
            rule, notes = "the task's pattern", ()
        yield Explanation(index, text, rule, notes, points, events, state)


def _reason(state: State, text: str, one: Lines) -> tuple[str, tuple[str, ...]]:
    if one.records is not None:
        return "event file record", ()
    if one.continuations:
        return "the rest of an over-long line: not read", ()
    if text.startswith(records.PREFIX):
        return "record", ()
    text = clean(text)
    if not text or text.isspace():
        return "empty", ()
    prefix = prefixes.peel(text)
    body = text[prefix.end :]
    context = state.copy().context(prefix.stream)
    notes = [f"prefix: {', '.join(prefix.names)}"] if prefix.names else []
    if context.trace:
        return "traceback", tuple(notes)
    if context.depth:
        return "inside a dump over several lines: not read", tuple(notes)
    if tables.is_rule(body):
        return "rule of a table", tuple(notes)
    plan, form = plans.plan_for(body, context.table)
    if plan.row and context.table is not None:
        return f"row of the {context.table.kind} table with columns {', '.join(context.table.columns[:8])}", tuple(notes)
    if plan.opens is not None:
        return f"header of a {plan.opens.kind} table: {', '.join(plan.opens.columns[:8])}", tuple(notes)
    if tables.box(body, context.section) is not None and body.lstrip()[:1] in tables.PIPES:
        return "line of a box", tuple(notes)
    reading = plan.reading
    if reading is None:
        return "text", tuple(notes)
    shaped = form.text(plan.literal)
    for what, counters in (("step", reading.steps), ("epoch", reading.epochs)):
        notes += [f"{what} counter: {counter.name or 'in brackets'}" for counter in counters]
    notes += [_pair_note(pair, shaped, plan) for pair in reading.pairs]
    if plan.happening:
        notes.append(f"tells: {plan.happening}")
    if bars.progress_of(body):
        notes.append("a progress bar")
    return reading.source if reading.pairs else "text without metrics", tuple(notes)


def _pair_note(pair: Pair, shaped: str, plan: Plan) -> str:
    name = pair.called(shaped)
    value = shaped[slice(*pair.value)] if isinstance(pair.value, Span) else str(pair.value)
    taken = any(name in kept for kept in plan.always.names)
    if taken:
        why = "a metric's name" if pair.sure else "the line names its step or epoch"
    elif any(name in kept for kept in plan.started.names):
        why = "taken once the training has begun: nobody knows the name"
    else:
        why = (
            "a setting's name: not taken" if names.is_hyper(name) else "not taken: neither name nor line says that it is a metric"
        )
    return f"{name} ({pair.rule}, shape {value}): {why}"


__all__ = ["Explanation", "Reading", "explain"]
