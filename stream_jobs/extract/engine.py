"""Lines in, points and events out: the order in which the forms are tried."""

from __future__ import annotations

import orjson

from schemas.framing import Lines
from stream_jobs.extract import bulk, numbers, records, tfevents, times
from stream_jobs.extract.columns import Gatherer
from stream_jobs.extract.forms import Line
from stream_jobs.extract.options import Options
from stream_jobs.extract.rows import Events, Points
from stream_jobs.extract.runs import Runs
from stream_jobs.extract.singles import Singles
from stream_jobs.extract.state import State
from stream_jobs.extract.telling import Teller

EXTRACTOR_VERSION = 5  # part of a row's revision: raise it whenever the same line may give other rows
DEFAULT = Options()
_BLOCK = 512  # records read at once: a delta holds a thousand, and more gain nothing
_SINGLY = 15
_HINTS = 12  # forms of a file that are tried on a line before it is read anew


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
                start = work.records(texts, start, bound)
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
        self.singles = Singles(state, options, self.gatherer, self.teller)
        self.runs = Runs(state, options, self.gatherer)
        self.block = bulk.FIRST  # records that are looked at together: more while all of them have one form
        self.singly = self.failed = 0  # records read one by one before the next look, longer each time it is in vain
        self.last: Line | None = None
        self.before: Line | None = None  # the form of the line before it

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

    def records(self, texts: list[str], start: int, bound: int) -> int:
        """Lines that begin as records do, those of one form at once; gives back the index of the first not read."""
        limits = self.options.name_characters, self.options.points_per_line
        self.gatherer.flush()
        if not self.singly:
            block = texts[start : min(start + self.block, bound)]
            count = records.read_block(block, start, self.points, *limits)
            if count:
                self.block = min(4 * self.block, _BLOCK) if count == len(block) else bulk.FIRST
                self.failed = 0
                return start + count
            self.block, self.failed = bulk.FIRST, min(2 * self.failed + 1, _SINGLY)
            self.singly = self.failed
        else:
            self.singly -= 1
        before = len(self.points)
        if records.read_record(texts[start], start, self.points, self.events, *limits):
            self.teller.non_finite_points(self.points, before, start)
            if texts[start].startswith(records.HEADER) and (said := orjson.loads(texts[start]).get("patterns")) is not None:
                self.singles.learn(said, start)
        else:
            self.line(texts[start], start)
        return start + 1

    def lines(self, texts: list[str], start: int, bound: int) -> int:
        """Lines up to the next record; gives back the index of the first not read.

        A form that was seen before is read by its regular expression: first the form that followed the last two forms
        when they were last seen.
        """
        contexts, rows, raw = self.state.contexts, self.gatherer.rows, self.gatherer.raw
        zone, taught_ = self.options.zone_minutes, bool(self.singles.patterns)
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
                            epoch = context.epoch = numbers.real(groups[guess.epoch])
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
                    elif not self.singles.read(guess, text, index):
                        guess = None
                else:
                    guess = None
            index += 1
            if guess is not None:
                streak = streak + 1 if guess is last and guess.form is not None else 0
                before, last = last, guess
                while streak >= bulk.LEAST and index < bound:
                    index, streak = self.runs.read(guess, texts, index, bound)
                continue
            streak = 0
            if text.startswith(records.PREFIX):
                index -= 1
                break
            if not text or text.isspace() or (taught_ and self.singles.taught(text, index - 1)):
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
        if not text or text.isspace() or (self.singles.patterns and self.singles.taught(text, index)):
            return
        self._another(text, index)

    def _another(self, text: str, index: int) -> Line | None:
        """A line that was not as guessed: one of the file's forms, or a new one. Gives back the form."""
        hints = self.state.hints
        for place, hint in enumerate(hints):
            if self.singles.read(hint, text, index):
                if place > 3:
                    hints.insert(0, hints.pop(place))
                return hint  # type: ignore[no-any-return]  # hints are forms
        form = self.singles.anew(text, index)
        if form is not None and form not in hints:
            hints.insert(0, form)
            del hints[_HINTS:]
        return form
