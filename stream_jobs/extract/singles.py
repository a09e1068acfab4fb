"""Lines read one at a time: by a form that the file had before, or anew; and what they say of the lines below them."""

from __future__ import annotations

from schemas.patterns import sifted, usable
from stream_jobs.extract import dumps, forms, names, numbers, plans, prefixes, records, tables, taught, times, wrapped
from stream_jobs.extract.cleaning import clean
from stream_jobs.extract.columns import Gatherer
from stream_jobs.extract.forms import Line, Plan
from stream_jobs.extract.options import Options
from stream_jobs.extract.state import Context, State
from stream_jobs.extract.telling import Teller

_BOX_STEPS = {"total_timesteps", "timesteps_total", "num_timesteps", "global_step", "step"}
_REMEMBER = 2  # a form seen so often is worth a regular expression
_DUMP_LINES = 1000


class Singles:
    """Reads single lines into the rows of `gatherer` and `teller`; moves the place of the line's writer in `state`."""

    def __init__(self, state: State, options: Options, gatherer: Gatherer, teller: Teller) -> None:
        self.state = state
        self.options = options
        self.gatherer = gatherer
        self.teller = teller
        self.patterns = usable((*state.given, *state.patterns))

    def learn(self, said: object, index: int) -> None:
        """Take the patterns that the file's header says; those that are refused are told."""
        self.state.patterns, refused = sifted(said)
        self.patterns = usable((*self.state.given, *self.state.patterns))
        for text, why in refused:
            self.teller.events.add(index, "pattern_refused", None, why, {"pattern": text})

    def taught(self, text: str, index: int) -> bool:
        """Read the text by the task's own patterns, the first that finds something."""
        text = clean(text)
        found = next((f for f in (taught.read(pattern, text) for pattern in self.patterns) if f is not None), None)
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
        cut = tuple(name[: self.options.name_characters] for name in found.names)
        points = self.gatherer.points
        before = len(points)
        points.add(index, cut, found.values, context.step, context.epoch, time, "pattern")
        self.teller.non_finite_points(points, before, index)
        return True

    def read(self, line: Line, text: str, index: int) -> bool:
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

    def anew(self, text: str, index: int) -> Line | None:
        """Read a line anew; gives back its form where that is worth remembering."""
        text = clean(text)
        sound, inner = True, None
        if text[:1] == "{":
            try:
                inner = wrapped.unwrap(text)
            except ValueError:
                sound = False  # its shape is also that of records which are unwrapped: not worth remembering
        if inner is not None:
            self.anew(inner, index)
            return None
        if not text or text.isspace():
            return None
        prefix = prefixes.peel(text)
        context = self.state.context(prefix.stream)
        body = text[prefix.end :]
        time = times.parse(text[slice(*prefix.stamp)], self.options.zone_minutes) if prefix.stamp else None
        if context.trace and self.teller.trace(context, body, index, time):
            return None
        if context.depth and not dumps.HISTORY.fullmatch(body):
            _dump(context, body)
            return None
        if not body or body.isspace() or self._box(context, body, index, time):
            return None
        plan, form = plans.plan_for(body, context.table)
        plan.uses += 1
        known = plan.uses >= _REMEMBER and plans.is_kept(body) and sound and not text.startswith(records.PREFIX)
        line = forms.line_for(plan, text, prefix) if known else None
        if line is None or not self.read(line, text, index):
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
        epoch = numbers.real(strings[plan.epoch]) if plan.epoch >= 0 else None
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
                self.teller.events.add(index, "too_many_points", time, "", {"points": str(take.cut)}, step, epoch)
        self.gatherer.points.unparsed += plan.unparsed
        if plan.done >= 0:
            self.teller.progress(context, plan, strings, index, time)
        if plan.opens is not None:
            context.table, context.misses = plan.opens, 0
        elif plan.list:
            context.listed, context.depth = plan.list > 0, 0
        elif context.listed and text.strip() == "{":  # what the object before said of its step holds no longer
            context.step = context.epoch = None
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
