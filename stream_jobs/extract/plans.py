"""Plans: what lines of one shape give, worked out once from the shape, and how to read it from a line."""

from __future__ import annotations

import re

from stream_jobs.extract import bars, dumps, forms, happenings, lexicon, names, numbers, tables
from stream_jobs.extract.forms import Plan, Take
from stream_jobs.extract.reader import read
from stream_jobs.extract.reading import Counter, Pair, Reading, Span
from stream_jobs.extract.shapes import Shape, locate, shape, touched

_LONGEST = 16384  # characters of a line whose shape is kept; a longer one is read anew each time
_SHAPES = 4096  # shapes kept by a process; then it begins anew
_ROUNDS = 3
POINTS_PER_LINE = 1000
NAME_CHARACTERS = 256


_plans: dict[tuple[tables.Table | None, str, tuple[str, ...]], Plan] = {}
_literals: dict[tuple[tables.Table | None, str], frozenset[int]] = {}


def plan_for(body: str, table: tables.Table | None) -> tuple[Plan, Shape]:
    """The plan of this text, inside this open table, and its shape."""
    form = shape(body)
    if len(body) > _LONGEST:
        return _make(form, frozenset(range(1, len(form.parts), 2)), table), form
    canonical = form.text()
    literal_key = (table, canonical)
    known = _literals.get(literal_key)
    if known is None:
        if len(_literals) >= _SHAPES:
            forget()
        known = _literals[literal_key] = _literal(form, table)
    key = (table, canonical, tuple([form.parts[i] for i in sorted(known)]))
    plan = _plans.get(key)
    if plan is None:
        if len(_plans) >= _SHAPES:
            _plans.clear()
        plan = _plans[key] = _make(form, known, table)
    return plan, form


def forget() -> None:
    """Forget all forms, as a process that has just begun."""
    _plans.clear()
    _literals.clear()


def is_kept(body: str) -> bool:
    return len(body) <= _LONGEST


def strings(plan: Plan, form: Shape) -> list[str]:
    """What a text of this shape says at the plan's spans."""
    shaped, real = form.starts(plan.literal)
    text = "".join(form.parts)
    return [text[locate(shaped, real, span.start) : locate(shaped, real, span.end)] for span in plan.spans]


def _table_row(table: tables.Table | None, text: str) -> tables.Row | None:
    """The row that this text is, of the table that is open, its bar blanked out."""
    if table is None:
        return None
    bare = bars.strip(text, Reading())
    if bare is not text and table.kind == tables.ALIGNED:
        bare = bare.replace("|", " ")
    return tables.row(table, bare)


def _literal(form: Shape, table: tables.Table | None) -> frozenset[int]:
    """The parts that belong to names, so that their digits matter. Found in rounds: a name may show once another is known."""
    literal: frozenset[int] = frozenset()
    for _ in range(_ROUNDS):
        text = form.text(literal)
        row = _table_row(table, text)
        if row is not None:
            spans = row.labels
        elif _header(text, table) is not None:
            return frozenset(range(1, len(form.parts), 2))
        else:
            reading = read(text)
            spans = [pair.name for pair in reading.pairs if isinstance(pair.name, Span)] + reading.loose
        shaped, _ = form.starts(literal)
        found = frozenset(i for span in spans for i in touched(shaped, *span) if i % 2)
        if found <= literal:
            break
        literal |= found
    return literal


def _header(text: str, above: tables.Table | None) -> tables.Table | None:
    return tables.header(bars.strip(text, Reading()), above)


def _make(form: Shape, literal: frozenset[int], table: tables.Table | None) -> Plan:
    text = form.text(literal)
    plan = Plan(literal=literal, table=table)
    row = _table_row(table, text)
    if row is not None and table is not None:
        plan.row, plan.evidence, plan.source = True, True, table.kind
        values: list[tuple[str, Span | float]] = [
            (name, _word_or_span(text, span)) for name, span in zip(row.names, row.values, strict=True)
        ]
        _lay(plan, _inside(form, literal), row.step, row.epoch, values, values)
    else:
        plan.opens = _header(text, table)
        if plan.opens is None:
            _plan_text(plan, text, _inside(form, literal))
    plan.commas = any("," in text[slice(*span)] for span in plan.spans)
    plan.simple = (
        plan.opens is None
        and plan.happening is None
        and not (plan.dump or plan.list or plan.commas or plan.unparsed or plan.always.special or plan.started.special)
        and not (plan.always.cut or plan.started.cut)
        and plan.done < 0
        and plan.time < 0
    )
    plan.regex = forms.regex(form, literal, plan.spans)
    return plan


def _word_or_span(text: str, span: Span) -> Span | float:
    value = numbers.word_value(text[slice(*span)])
    return span if value is None else value


def _inside(form: Shape, literal: frozenset[int]) -> set[int]:
    """Places inside a number of the canonical text: nothing that is read begins or ends there."""
    shaped, _ = form.starts(literal)
    odd = [i for i in range(1, len(form.parts), 2) if i not in literal]
    return {at for i in odd for at in range(shaped[i] + 1, shaped[i + 1])}


def _plan_text(plan: Plan, text: str, inside: set[int]) -> None:
    """The plan of a line that is no table's."""
    reading = read(text)
    plan.reading = reading
    if dumps.unfinished(text) and not (reading.steps or reading.epochs or any(pair.sure for pair in reading.pairs)):
        plan.dump = True  # settings, a member a line
        return
    # A counter with a total, in a line that counts epochs, is the epoch's own: `Step: 2836. Epoch: 39/40. Iteration: 5/7.`
    free = [counter for counter in reading.steps if counter.total is None] if reading.epochs else []
    step, epoch = _best(free or reading.steps), _best(reading.epochs)
    in_object = bool(reading.pairs) and reading.pairs[0].rule == "dict"
    if reading.side:
        step = None
    elif step is None and reading.inner is not None:
        step = reading.inner
    elif step is None and reading.progress is not None and reading.progress.name == "tqdm" and reading.pairs and not in_object:
        step = reading.progress
    plan.happening = happenings.of(text, header=bool(reading.epochs) and not reading.pairs)
    if not reading.pairs and plan.happening == "early_stop":  # `Epoch 00008: early stopping`, below `Epoch 9/10`
        step = epoch = None
        reading.epochs = []
    sized = step in reading.steps and step.total is None and names.plain(step.name) in lexicon.WITHIN_EPOCH
    if sized and not epoch and reading.rates:
        step = None  # `lr=0.0003 batch=256`: a size
    plan.evidence = step is not None or epoch is not None
    plan.headed = bool(reading.epochs) and not in_object
    plan.source, plan.unparsed = reading.source, reading.unparsed
    split = _split_of(text, reading, epoch)
    always: list[tuple[str, Span | float]] = []
    started: list[tuple[str, Span | float]] = []
    sure = any(pair.sure for pair in reading.pairs)
    counted = bool(reading.epochs) or any(counter.rank < len(lexicon.STEPS) for counter in reading.steps)  # in words
    setting = not plan.evidence and reading.rates
    for pair in reading.pairs:
        if setting and (in_object or pair.sure):  # only a learning rate: a setting, unless training goes on in free text
            if not in_object:
                started.append((pair.called(text), pair.value))
            continue
        name = pair.called(text)
        named = f"{split} {name}" if split and split.lower() not in name.lower() else name
        if pair.rule == "name value in a chain" and not (plan.evidence and sure and pair.is_fraction(text)):
            continue
        listed = pair.rule == "name value in a list"
        if listed and not pair.sure and not pair.is_measured(text):
            continue
        if pair.sure or (plan.evidence and (sure or not listed or (counted and pair.is_plain(text)))) or (sure and in_object):
            always.append((named, pair.value))
            started.append((named, pair.value))
        elif not plan.evidence and _likely(pair, name, text):
            started.append((named, pair.value))
    _lay(plan, inside, step.at if step else None, epoch.at if epoch else None, always, started, reading)
    if not reading.pairs:
        plan.dump, plan.list = dumps.opens(text), dumps.list_edge(text)


def _likely(pair: Pair, name: str, text: str) -> bool:
    """A name that nobody knows, in a file whose training has begun: a metric if its value is no whole number."""
    if pair.rule.startswith("name value") or names.is_hyper(name):
        return False
    return pair.is_fraction(text)


def _best(counters: list[Counter]) -> Counter | None:
    return min(counters, key=lambda c: c.rank) if counters else None


_CAFFE = re.compile(r"\s*(Train|Test) net output\b")


def _split_of(body: str, reading: Reading, epoch: Counter | None) -> str:
    """`train epoch: 1, loss: …` and Caffe's `Test net output`: the split that such a line puts before its names."""
    if epoch is not None and reading.inner is None and epoch.total is None:
        words = epoch.name.split()
        if len(words) == 2 and words[0].islower() and words[0] in lexicon.SPLITS:
            return words[0]
    caffe = _CAFFE.match(body)
    return caffe[1] if caffe is not None else ""


def _lay(
    plan: Plan,
    inside: set[int],
    step: Span | None,
    epoch: Span | None,
    always: list[tuple[str, Span | float]],
    started: list[tuple[str, Span | float]],
    reading: Reading | None = None,
) -> None:
    """Give every span that is read a slot, in the order of the text; of spans that overlap the first wins."""
    done, total = _progress(plan, reading, step) if reading is not None else (None, None)
    wanted = [step, epoch, done, total]
    wanted.append(reading.time if reading is not None else None)
    wanted += [value for _, value in started if isinstance(value, Span)]
    spans: list[Span] = []
    for span in sorted({span for span in wanted if span is not None}):
        apart = span.end > span.start and (not spans or span.start >= spans[-1].end)
        if apart and span.start not in inside and span.end not in inside:
            spans.append(span)
    plan.spans = tuple(spans)
    slot = {span: i for i, span in enumerate(spans)}
    plan.step, plan.epoch, plan.done, plan.total, plan.time = (
        slot.get(span, -1) if span is not None else -1 for span in wanted[:5]
    )
    plan.always, plan.started = _take(always, slot), _take(started, slot)


_SIDE_BARS = re.compile(
    r"(?i)load|download|fetch|map|tokeniz|filter|generat|eval|valid|test|predict|shard|cach|process|writ|upload|check|sanity|import"
)


def _progress(plan: Plan, reading: Reading, step: Span | None) -> tuple[Span | None, Span | None]:
    """Where the line says how far the whole task is: done and total."""
    bar = reading.progress
    if bar is not None:
        if bar.total is None or _SIDE_BARS.search(reading.lead):
            return None, None
        plan.within = True
        return bar.at, bar.total
    counter = next((c for c in reading.steps if c.total is not None and names.plain(c.name) not in lexicon.WITHIN_EPOCH), None)
    if counter is not None and not reading.epochs:
        return counter.at, counter.total
    if step is not None and reading.total is not None:
        return step, reading.total
    epoch = next((c for c in reading.epochs if c.total is not None), None)
    if epoch is not None:
        plan.unit = "epoch"
        return epoch.at, epoch.total
    return None, None


def _take(pairs: list[tuple[str, Span | float]], slot: dict[Span, int]) -> Take:
    kept = [(name, value) for name, value in pairs if not isinstance(value, Span) or value in slot]
    cut = len(kept) if len(kept) > POINTS_PER_LINE else 0
    kept = kept[:POINTS_PER_LINE]
    slots = tuple(slot[value] if isinstance(value, Span) else -1 for _, value in kept)
    return Take(
        tuple(name[:NAME_CHARACTERS] for name, _ in kept),
        slots,
        tuple(0.0 if isinstance(value, Span) else value for _, value in kept),
        any(not isinstance(value, Span) for _, value in kept),
        forms.picker(slots),
        cut,
    )
