"""Lines in, points and events out: the order in which the forms are tried."""

from __future__ import annotations

import math

from schemas.framing import Lines
from stream_jobs.extract import (
    bulk,
    forms,
    names,
    numbers,
    plans,
    prefixes,
    records,
    tables,
    taught,
    tfevents,
    times,
    wrapped,
)
from stream_jobs.extract.cleaning import clean
from stream_jobs.extract.columns import Gatherer
from stream_jobs.extract.forms import Line, Plan
from stream_jobs.extract.options import Options
from stream_jobs.extract.rows import Events, Points
from stream_jobs.extract.state import Context, State
from stream_jobs.extract.telling import Teller

EXTRACTOR_VERSION = 1  # part of a row's revision: raise it whenever the same line may give other rows
DEFAULT = Options()
_BOX_STEPS = {"total_timesteps", "timesteps_total", "num_timesteps", "global_step", "step"}
_BLOCK = 400  # records read at once: more do not fit a processor's cache
_REMEMBER = 2  # a form seen so often is worth a regular expression
_HINTS = 12  # forms of a file that are tried on a line before it is read anew
_DUMP_LINES = 1000


def extract(state: State, lines: Lines, options: Options = DEFAULT) -> tuple[State, Points, Events]:
    """The points and events of `lines`, which follow those that led to `state`.

    Pure: the same bytes give the same rows, however they were cut into calls; `state` is not changed.
    """
    work = Extraction(state.copy(), options)
    if lines.records is not None:
        work.event_file(lines.records)
        return work.state, work.points, work.events
    texts = lines.texts
    start = 0
    for bound in [*sorted(lines.continuations), len(texts)]:
        while start < bound:
            if texts[start].startswith(records.PREFIX):
                stop = min(start + _BLOCK, bound)
                start = stop if work.records(texts[start:stop], start) else work.one_record(texts[start], start)
            else:
                start = work.lines(texts, start, bound)
        start = bound + 1
    work.gatherer.flush()
    return work.state, work.points, work.events


class Extraction:
    """The work of one call: a state of its own, and the rows so far."""

    def __init__(self, state: State, options: Options) -> None:
        self.state = state
        self.options = options
        self.points = Points()
        self.events = Events()
        self.teller = Teller(state, self.events)
        self.gatherer = Gatherer(self.points)
        self.last: Line | None = None
        self.before: Line | None = None  # the form of the line before it
        self.window = bulk.FIRST  # lines that the next run looks at

    def event_file(self, records_: list[bytes]) -> None:
        """The records of a TensorBoard event file."""
        limits = self.options.name_characters, self.options.points_per_line
        for index, record in enumerate(records_):
            if self.state.damaged:
                return
            if tfevents.is_elided(record):
                self.state.elided += 1
                fields = {"records": str(self.state.elided)}
                self.events.add(index, "record_too_long", None, "a record over the limit was not read", fields)
                continue
            before = len(self.points)
            self.state.damaged = not tfevents.read_record(record, index, self.points, self.events, *limits)
            self.teller.non_finite_points(self.points, before, index)

    def records(self, block: list[str], start: int) -> bool:
        """Read lines as a block of plain metrics records; False, and nothing done, where not all of them are."""
        self.gatherer.flush()
        indexes = list(range(start, start + len(block)))
        return records.read_block(block, indexes, self.points, self.options.name_characters, self.options.points_per_line)

    def one_record(self, text: str, index: int) -> int:
        """Read one line that begins as a record does; gives back the index of the next line."""
        before = len(self.points)
        limits = self.options.name_characters, self.options.points_per_line
        if not records.read_record(text, index, self.points, self.events, *limits):
            self.line(text, index)
            self.gatherer.flush()
            return index + 1
        self.teller.non_finite_points(self.points, before, index)
        return index + 1

    def lines(self, texts: list[str], start: int, bound: int) -> int:
        """Lines up to the next record; gives back the index of the first not read.

        A form that was seen before is read by its regular expression: first the form that followed the last two forms
        when they were last seen.
        """
        contexts, rows, raw = self.state.contexts, self.gatherer.rows, self.gatherer.raw
        zone, taught_ = self.options.zone_minutes, bool(self.options.patterns)
        last, before = self.last, self.before
        streak, index = 0, start
        while index < bound:
            text = texts[index]
            guess = None
            if last is not None and not taught_:
                guess = last.follows.get(before) or last.follow
                found = guess.match(text) if guess is not None else None
                context = contexts.get(guess.stream) if found is not None and guess is not None else None
                if context is not None and found is not None and guess is not None:
                    if guess.quick and context.table is None and not context.depth and not context.trace:
                        groups = found.groups()
                        time = times.parse(groups[0], zone) if guess.stamped else None
                        step = numbers.integer(groups[guess.step]) if guess.step >= 0 else None
                        if guess.epoch >= 0:
                            epoch = context.epoch = _float(groups[guess.epoch])
                            context.step = step
                            context.within = context.within or guess.plan.headed
                        else:
                            epoch = context.epoch
                            if step is None:
                                step = context.step
                            else:
                                context.step = step
                        plan = guess.plan
                        if context.started:
                            kept, pick = plan.started.names, guess.started
                        else:
                            kept, pick = plan.always.names, guess.always
                            context.started = plan.evidence
                        if kept:
                            rows.append((index, kept, step, epoch, time, plan.source))
                            raw += pick(groups)
                    elif not self._read(guess, text, index):
                        guess = None
                else:
                    guess = None
            index += 1
            if guess is not None:
                streak = streak + 1 if guess is last and guess.form is not None else 0
                before, last = last, guess
                if streak >= bulk.LEAST:
                    index, streak = self.run(guess, texts, index, bound)
                continue
            streak = 0
            if text.startswith(records.PREFIX):
                index -= 1
                break
            if not text or text.isspace() or (taught_ and self._taught(text, index - 1)):
                continue
            form = self._another(text, index - 1)
            if form is not None:
                if last is not None:
                    last.follow = form
                    if len(last.follows) >= _HINTS:
                        last.follows.clear()
                    last.follows[before] = form
                before, last = last, form
        self.last, self.before = last, before
        return index

    def line(self, text: str, index: int) -> None:
        """One line, whatever it begins with."""
        if not text or text.isspace() or (self.options.patterns and self._taught(text, index)):
            return
        self._another(text, index)

    def _another(self, text: str, index: int) -> Line | None:
        """A line that was not as guessed: one of the file's forms, or a new one. Gives back the form."""
        hints = self.state.hints
        for place, hint in enumerate(hints):
            if self._read(hint, text, index):
                if place > 3:
                    hints.insert(0, hints.pop(place))
                return hint  # type: ignore[no-any-return]  # hints are forms
        form = self._slow(text, index)
        if form is not None and form not in hints:
            hints.insert(0, form)
            del hints[_HINTS:]
        return form

    def _taught(self, text: str, index: int) -> bool:
        """Read the text by the task's own patterns, the first that finds something."""
        text = clean(text)
        found = next((f for f in (taught.read(pattern, text) for pattern in self.options.patterns) if f is not None), None)
        if found is None:
            return False
        prefix = prefixes.peel(text)
        context = self.state.context(prefix.stream)
        time = times.parse(text[slice(*prefix.stamp)], self.options.zone_minutes) if prefix.stamp else None
        step = numbers.integer(found.step) if found.step is not None else None
        epoch = numbers.read(found.epoch) if found.epoch is not None else None
        if step is not None or epoch is not None:
            context.step, context.started = step, True
            context.epoch = epoch if epoch is not None else context.epoch
        self.gatherer.flush()
        for place, (name, value) in enumerate(zip(found.names, found.values, strict=True)):
            short = name[: self.options.name_characters]
            self.points.add(index, place, short, value, context.step, context.epoch, time, "pattern")
            if not math.isfinite(value):
                self.teller.non_finite(short, value, index, context.step, time)
        return True

    def _read(self, line: Line, text: str, index: int) -> bool:
        """Read the text as a line of this form; False where it is none, or stands where the form means something else."""
        found = line.match(text)
        if found is None:
            return False
        context = self.state.contexts.get(line.stream) or self.state.context(line.stream)
        table = line.plan.table
        if context.depth or context.trace or (context.table is not table and context.table != table):
            return False
        strings = found.groups()
        time = None
        if line.stamped:
            time = times.parse(strings[0], self.options.zone_minutes)
            strings = strings[1:]
        self._apply(context, line.plan, strings, text, index, time, line.level)
        return True

    def run(self, line: Line, texts: list[str], start: int, bound: int) -> tuple[int, int]:
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
        columns = bulk.read(line.form, window)
        if columns is None:
            line.form = None  # numbers such as 007, which JSON does not know: line by line, then
            return start, 0
        times_: list[int | None] = [None] * len(window)
        if line.form.stamp is not None:
            cut = slice(*line.form.stamp)
            times_ = [times.parse(text[cut], self.options.zone_minutes) for text in window]
        plan, count = line.plan, len(window)
        take = plan.started if context.started else plan.always
        width = len(take.names)
        steps: list[int | None] = [context.step] * count
        epochs: list[float | None] = [context.epoch] * count
        if plan.step >= 0:
            steps = _whole(columns[plan.step], line.form.kinds[line.form.columns[plan.step]])
        if plan.epoch >= 0:
            epochs = list(map(float, columns[plan.epoch]))
            if plan.step < 0:
                steps = [None] * count
        context.step, context.epoch = steps[-1], epochs[-1]
        context.started = context.started or plan.evidence
        context.misses = 0
        if width:
            self.gatherer.flush()
            kinds = [line.form.kinds[column] for column in line.form.columns]
            values: list[float] = [0.0] * (width * count)
            for place, slot in enumerate(take.slots):
                column = columns[slot]
                values[place::width] = column if kinds[slot] is float else list(map(float, column))
            self.points.extend(start, count, take.names, values, steps, epochs, times_, plan.source)
        return start + count, bulk.LEAST

    def _slow(self, text: str, index: int) -> Line | None:
        """Read a line anew; gives back its form where that is worth remembering."""
        text = clean(text)
        sound, inner = True, None
        if text[:1] == "{":
            try:
                inner = wrapped.unwrap(text)
            except ValueError:
                sound = False  # its shape is also that of records which are unwrapped: not worth remembering
        if inner is not None:
            self._slow(inner, index)
            return None
        if not text or text.isspace():
            return None
        prefix = prefixes.peel(text)
        context = self.state.context(prefix.stream)
        body = text[prefix.end :]
        time = times.parse(text[slice(*prefix.stamp)], self.options.zone_minutes) if prefix.stamp else None
        if context.trace and self.teller.trace(context, body, index, time):
            return None
        if context.depth:
            _dump(context, body)
            return None
        if not body or body.isspace() or self._box(context, body, index, time):
            return None
        plan, form = plans.plan_for(body, context.table)
        plan.uses += 1
        known = plan.uses >= _REMEMBER and plans.is_kept(body) and sound and not text.startswith(records.PREFIX)
        line = forms.line_for(plan, text, prefix) if known else None
        if line is None or not self._read(line, text, index):
            self._apply(context, plan, plans.strings(plan, form), text, index, time, prefix.level)
        return line

    def _apply(
        self,
        context: Context,
        plan: Plan,
        strings: tuple[str, ...] | list[str],
        text: str,
        index: int,
        time: int | None,
        level: str,
    ) -> None:
        """Give the line's pairs their step and epoch, and let the lines below know them."""
        if context.table is not None:
            context.misses = 0 if plan.row else context.misses + 1
            if context.misses > tables.MISSES and context.table.kind != tables.CSV:
                context.table = None
        step = numbers.integer(strings[plan.step]) if plan.step >= 0 else None
        epoch = _float(strings[plan.epoch]) if plan.epoch >= 0 else None
        if epoch is not None:
            context.epoch, context.step = epoch, step
            context.within = context.within or plan.headed
        elif step is not None:
            context.step = step
        else:
            step = context.step
        if epoch is None:
            epoch = context.epoch
        if plan.time >= 0:
            time = times.parse(strings[plan.time], self.options.zone_minutes) or time
        take = plan.started if context.started else plan.always
        if plan.evidence:
            context.started = True
        if take.names:
            self.gatherer.rows.append((index, take.names, step, epoch, time, plan.source))
            if plan.simple:
                self.gatherer.raw += take.pick(strings)
                if level != "WARNING" and level != "WARN":
                    return
            elif take.special:
                raw = [strings[slot].replace(",", "") if slot >= 0 else "" for slot in take.slots]
                self.gatherer.add_constants(raw, take.constants)
            else:
                self.gatherer.raw += [strings[slot].replace(",", "") for slot in take.slots]
            if take.special:
                for name, slot, value in zip(take.names, take.slots, take.constants, strict=True):
                    if slot < 0 and name not in self.state.non_finite:
                        self.teller.non_finite(name, value, index, step, time)
            if take.cut:
                self.events.add(index, "too_many_points", time, "", {"points": str(take.cut)}, step, epoch)
        self.points.unparsed += plan.unparsed
        if plan.done >= 0:
            self.teller.progress(context, plan, strings, index, time)
        if plan.opens is not None:
            context.table, context.misses = plan.opens, 0
        elif plan.dump:
            context.depth, context.dump_lines = 1, 0
        if plan.happening is not None or level in ("WARNING", "WARN"):
            self.teller.happening(context, plan, text, index, time, step, epoch)

    def _box(self, context: Context, body: str, index: int, time: int | None) -> bool:
        """Rules between rows, and boxes of names and values; False where the line is neither."""
        first = body.lstrip()[0]
        if first in tables.RULES and tables.is_rule(body):
            context.section, context.box_step = "", None
            return True
        if first not in tables.PIPES or (
            context.table is not None and context.table.kind == tables.PIPE and len(context.table.columns) > 2
        ):
            return False
        box = tables.box(body, context.section)
        if box is None:
            return False
        context.section, name, value = box
        if name is None:
            return True
        if name.rsplit("/", 1)[-1] in _BOX_STEPS:
            context.step = context.box_step = numbers.integer(value)
            context.started = True
        elif names.is_epoch(name):
            context.epoch = numbers.read(value)
            context.started = True
        elif not names.is_never(name):
            self.gatherer.rows.append((index, (name,), context.box_step, context.epoch, time, "box"))
            self.gatherer.raw.append(value.replace(",", ""))
        return True


def _dump(context: Context, body: str) -> None:
    """Inside a dump over several lines, such as a printed model or configuration: nothing in it is a metric."""
    context.dump_lines += 1
    context.depth += min(body.count("(") + body.count("{"), 1000) - min(body.count(")") + body.count("}"), 1000)
    if context.depth <= 0 or context.dump_lines > _DUMP_LINES:
        context.depth = 0


def _whole(column: list[int] | list[float], kind: type) -> list[int | None]:
    """A column of steps."""
    if kind is int and max(column) < 2**62:
        return column  # type: ignore[return-value]  # of integers, as its kind says
    return [int(value) if abs(value) < 2**62 and value == int(value) else None for value in column]


def _float(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return numbers.read(text)
