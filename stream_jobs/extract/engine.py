"""Lines in, points and events out: the order in which the forms are tried."""

from __future__ import annotations

import math
import re

from schemas.framing import Lines
from stream_jobs.extract import bars, names, numbers, objects, pairs, prefixes, records, tables, times
from stream_jobs.extract.options import Options
from stream_jobs.extract.reading import Counter, Reading, Span
from stream_jobs.extract.rows import Events, Points
from stream_jobs.extract.state import Context, State

EXTRACTOR_VERSION = 1  # part of a row's revision: raise it whenever the same line may give other rows
DEFAULT = Options()
_BOX_STEPS = {"total_timesteps", "timesteps_total", "num_timesteps", "global_step", "step"}
_ANSI = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|[@-Z\\-_])|[\x00-\x08\x0b-\x1f\x7f]")


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
        if at in lines.continuations:
            at += 1
        elif texts[at].startswith(records.PREFIX):
            end = at + 1
            while end < count and texts[end].startswith(records.PREFIX) and end not in lines.continuations:
                end += 1
            block, indexes = texts[at:end], list(range(at, end))
            if not records.read_block(block, indexes, points):
                for index, text in zip(indexes, block, strict=True):
                    if not records.read_record(text, index, points, events, options.name_characters):
                        _text(state, text, index, points, events, options)
            at = end
        else:
            _text(state, texts[at], at, points, events, options)
            at += 1
    return state, points, events


def clean(text: str) -> str:
    r"""Without terminal control sequences; where one stood between two words, a blank stands."""
    return _ANSI.sub("", text) if not text.isprintable() else text


def _text(state: State, text: str, index: int, points: Points, events: Events, options: Options) -> None:
    text = clean(text)
    if not text or text.isspace():
        return
    prefix = prefixes.peel(text)
    context = state.context(prefix.stream)
    body = text[prefix.end :]
    time = times.parse(text[slice(*prefix.stamp)], options.zone_minutes) if prefix.stamp else None
    if context.depth and _dump(context, body):
        return
    if _table(context, body, index, time, points):
        return
    opened = tables.header(bars.strip(body, Reading()))
    if opened is not None:
        context.table, context.misses = (opened.kind, opened.columns), 0
        return
    reading = read(body)
    apply(context, body, reading, index, time, points, options)
    if not reading.pairs:
        _open_dump(context, body)


def _open_dump(context: Context, body: str) -> None:
    end = body.rstrip()[-1:]
    if end and end in "({":
        context.depth, context.dump_lines = 1, 0
    elif body.lstrip().startswith("(") and body.count("(") > body.count(")"):
        context.depth, context.dump_lines = 1, 0


def _dump(context: Context, body: str) -> bool:
    """Inside a dump over several lines, such as a printed model or configuration: nothing in it is a metric."""
    context.dump_lines += 1
    context.depth += min(body.count("(") + body.count("{"), 1000) - min(body.count(")") + body.count("}"), 1000)
    if context.depth <= 0 or context.dump_lines > 1000:
        context.depth = 0
    return True


def _table(context: Context, body: str, index: int, time: int | None, points: Points) -> bool:
    """Read the line as part of a table that is open; False where it is none."""
    if tables.is_rule(body):
        context.section, context.box_step = "", None
        return True
    box = tables.box(body, context.section)
    if box is not None and not (context.table is not None and context.table[0] == tables.PIPE and len(context.table[1]) > 2):
        context.section, name, value = box
        if name is None:
            return True
        if name.rsplit("/", 1)[-1] in _BOX_STEPS:
            context.box_step = _integer(value)
            context.step = context.box_step
            context.started = True
        elif names.is_epoch(name):
            context.epoch = float(value)
            context.started = True
        elif not names.is_never(name):
            points.add(index, 0, name[:256], numbers.read(value) or 0.0, context.box_step, context.epoch, time, "box")
        return True
    if context.table is None:
        return False
    table = tables.Table(*context.table)
    stripped = bars.strip(body, Reading()) if "%" in body or "[" in body else body
    found = tables.row(table, stripped.replace("|", " ") if stripped is not body and table.kind == tables.ALIGNED else stripped)
    if found is None:
        context.misses += 1
        if context.misses > tables.MISSES and table.kind != tables.CSV:
            context.table = None
        return False
    context.misses = 0
    step = _integer(found.step) if found.step is not None else None
    epoch = float(found.epoch) if found.epoch is not None else None
    if epoch is not None:
        context.epoch, context.step = epoch, step
    elif step is not None:
        context.step = step
    context.started = True
    if step is None and epoch is None:
        step = context.step
    epoch = context.epoch if epoch is None else epoch
    for i, (name, value) in enumerate(zip(found.names, found.values, strict=True)):
        number = numbers.read(value)
        points.add(index, i, name[:256], math.nan if number is None else number, step, epoch, time, table.kind)
    return True


def read(body: str) -> Reading:
    """What the text of one line says, whatever stood before it."""
    reading = Reading()
    rest = body
    if "{" in body:
        for start, end in objects.read(body, reading):
            rest = f"{rest[:start]}|{' ' * (end - start - 1)}{rest[end:]}"
    in_objects = len(reading.pairs)
    rest = bars.strip(rest, reading)
    pairs.read(rest, reading)
    if in_objects:
        reading.source = "json" if body.find('"') >= 0 else "dict"
    elif reading.progress is not None:
        reading.source = "bar"
    return reading


_CAFFE = re.compile(r"\s*(Train|Test) net output\b")


def _split_of(body: str, reading: Reading, epoch: Counter | None) -> str:
    """`train epoch: 1, loss: …` and Caffe's `Test net output`: the split that such a line puts before its names."""
    if epoch is not None and reading.inner is None and epoch.total is None:
        words = epoch.name.split()
        if len(words) == 2 and words[0].islower() and words[0] in names.SPLITS:
            return words[0]
    caffe = _CAFFE.match(body)
    return caffe[1] if caffe is not None else ""


def _best(counters: list[Counter]) -> Counter | None:
    return min(counters, key=lambda c: c.rank) if counters else None


def _integer(text: str) -> int | None:
    value = numbers.read(text)
    return int(value) if value is not None and value.is_integer() and abs(value) < 2**62 else None


def apply(context: Context, body: str, reading: Reading, index: int, time: int | None, points: Points, options: Options) -> None:
    """Give the line's pairs their step and epoch, and let the lines below know them."""
    own_step, own_epoch = _best(reading.steps), _best(reading.epochs)
    if reading.side:
        own_step = None
    elif own_step is None and reading.inner is not None:
        own_step = reading.inner
    in_dict = bool(reading.pairs) and reading.pairs[0].rule == "dict"
    if own_step is None and reading.progress is not None and reading.progress.name == "tqdm" and reading.pairs and not in_dict:
        own_step = reading.progress
    step = _integer(body[slice(*own_step.at)]) if own_step is not None else None
    epoch = numbers.read(body[slice(*own_epoch.at)]) if own_epoch is not None else None
    evidence = own_step is not None or own_epoch is not None
    if epoch is not None:
        context.epoch, context.step = epoch, step
    elif step is not None:
        context.step = step
    elif own_epoch is None:
        step = context.step
    if epoch is None:
        epoch = context.epoch
    split = _split_of(body, reading, own_epoch)
    sure = any(pair.sure for pair in reading.pairs)
    dotted = context.started and not evidence
    place = 0
    for pair in reading.pairs:
        name = pair.name if isinstance(pair.name, str) else body[slice(*pair.name)]
        text = body[slice(*pair.value)] if isinstance(pair.value, Span) else ""
        if split and split.lower() not in name.lower():
            name = f"{split} {name}"
        if not pair.sure and not (evidence and (sure or pair.rule != "name value in a list")) and not (sure and in_dict):
            if not dotted or names.is_hyper(name) or pair.rule.startswith("name value") or not ("." in text or "e" in text):
                continue
        value = numbers.read(text) if isinstance(pair.value, Span) else pair.value
        if value is None:
            continue
        points.add(index, place, name[: options.name_characters], value, step, epoch, time, reading.source)
        place += 1
    points.unparsed += reading.unparsed
    if evidence:
        context.started = True
