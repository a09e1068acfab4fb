"""Records of the SDK and of `trainwire run`: one JSON object a line that begins with ``{"tw":"``.

A metrics record is read in columns: the records of a block are joined to one JSON array, read by one call, and turned
into columns by functions that run in C. What is not a plain metrics record takes the slow way, one record at a time.
"""

from __future__ import annotations

import math
import re
from functools import lru_cache
from itertools import chain
from operator import itemgetter
from typing import Any

import orjson

from stream_jobs.extract import bulk
from stream_jobs.extract.rows import Events, Points, spread

PREFIX = '{"tw":"'
_NEXT = '\n,{"tw":"log",'
LOG = PREFIX + 'log",'
NON_FINITE = {"NaN": math.nan, "Infinity": math.inf, "-Infinity": -math.inf}
EVENT_KINDS = {"header", "progress", "status", "params", "event", "end"}
_PLAIN_NUMBERS = {float, int}
_INTEGERS = {int, type(None)}
_NUMBERS = {float, int, type(None)}
_METRICS, _TIME, _STEP = itemgetter("m"), itemgetter("t"), itemgetter("s")
_LIMIT = 2**63
_WORTH = 8  # records of one form that make it worth a regular expression
_NUMBER = r"-?[0-9]+(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?"
_BRACES = ',"m":{'
_NAME = re.compile(r'"([^"\\{}\n]*)":')
_PLAIN_RECORD = re.compile(
    rf'\{{"tw":"log","t":[0-9]+(,"s":-?[0-9]+)?(,"e":{_NUMBER})?,"m":\{{("[^"\\{{}}\n]*":{_NUMBER}(?:,"[^"\\{{}}\n]*":{_NUMBER})*)\}}\}}'
)
_CHUNK = 40  # records of one array: Python keeps 80 dicts for reuse, and more of them cost a tenth


def read_block(texts: list[str], lines: list[int], points: Points, name_characters: int, most: int) -> bool:
    """Read records that are all plain metrics with the same names, in columns. False, and nothing done, if they are not.

    A joined array is read as the same records as its lines one by one: every line opens an object; there are exactly two
    opening braces a line, used up by the n objects and their n "m" objects, and no "m" holds anything but numbers; so
    each line's first brace opens one of the n.
    """
    if len(texts) >= _WORTH and _read_form(texts, lines, points, name_characters, most):
        return True
    times: list[int] = []
    steps: list[int | None] = []
    epochs: list[float | None] | None = None
    values: list[float] = []
    names: list[str] = []
    for start in range(0, len(texts), _CHUNK):
        chunk = texts[start : start + _CHUNK]
        n = len(chunk)
        joined = "\n,".join(chunk)
        if joined.count("{") != 2 * n or joined.count(_NEXT) != n - 1 or not joined.startswith(LOG):
            return False
        try:
            records = orjson.loads(f"[{joined}]")
            metrics = list(map(_METRICS, records))
            times += map(_TIME, records)
            values += chain.from_iterable(map(dict.values, metrics))
            names = names or list(metrics[0])
            if len(records) != n or list(chain.from_iterable(metrics)) != names * n:
                return False
            first = records[0]
            steps += map(_STEP, records) if "s" in first else [record.get("s") for record in records]
            if epochs is not None or "e" in first or set(map(len, records)) != {len(first)}:
                epochs = [None] * start if epochs is None else epochs
                epochs += [record.get("e") for record in records]
        except (ValueError, KeyError, TypeError):
            return False
    width = len(names)
    types = set(map(type, values))
    if not 0 < width <= most or not types <= _PLAIN_NUMBERS or max(map(len, names)) > name_characters:
        return False
    if set(map(type, times)) != {int} or not set(map(type, steps)) <= _INTEGERS or not all(map(_is_step, steps)):
        return False
    if epochs is not None and not set(map(type, epochs)) <= _NUMBERS:
        return False
    if types != {float}:
        values = list(map(float, values))
    points.line += spread(lines, width)
    points.index += list(range(width)) * len(lines)
    points.name += names * len(lines)
    points.value += values
    points.step += spread(steps, width)
    points.epoch += spread([e if e is None else float(e) for e in epochs], width) if epochs else [None] * (width * len(lines))
    points.time += spread(times, width)  # type: ignore[arg-type]  # a list of some is a list of some or none
    points.source += ["record"] * (width * len(lines))
    return True


def _is_step(step: int | None) -> bool:
    return step is None or -_LIMIT < step < _LIMIT


def _read_form(texts: list[str], lines: list[int], points: Points, name_characters: int, most: int) -> bool:
    """Read records that differ in their numbers only, as `bulk` reads lines of one form: no object is made of any."""
    first = _PLAIN_RECORD.fullmatch(texts[0])
    if first is None:
        return False
    names = tuple(_NAME.findall(first[3]))
    form = _form(names, first[1] is not None, first[2] is not None)
    if form is None or len(names) > most or max(map(len, names)) > name_characters or bulk.fitting(form, texts) != len(texts):
        return False
    flat = bulk.read(form, texts)
    if flat is None:
        return False
    width, n, all_ = len(names), len(texts), len(form.kinds)
    times = flat[0::all_]
    steps = spread(flat[1::all_], width) if first[1] is not None else [None] * (width * n)
    epochs = spread(list(map(float, flat[all_ - width - 1 :: all_])), width) if first[2] is not None else [None] * (width * n)
    points.line += spread(lines, width)
    points.index += list(range(width)) * n
    points.name += names * n
    points.value += bulk.kept(form, flat, range(all_ - width, all_))
    points.step += steps  # type: ignore[arg-type]  # integers, as the form says
    points.epoch += epochs
    points.time += spread(times, width)  # type: ignore[arg-type]  # integers, as the form says
    points.source += ["record"] * (width * n)
    return True


@lru_cache(256)
def _form(names: tuple[str, ...], has_step: bool, has_epoch: bool) -> bulk.Form | None:
    """The form of metrics records with these names; None where no such form can be read at once."""
    if len(set(names)) != len(names):
        return None  # of a name that stands twice the last value counts
    kinds: list[type] = [int]
    texts = [PREFIX + 'log","t":']
    if has_step:
        texts.append(',"s":')
        kinds.append(int)
    if has_epoch:
        texts.append(',"e":')
        kinds.append(object)
    for place, name in enumerate(names):
        texts.append(f'{"," if place else _BRACES}"{name}":')
        kinds.append(object)
    texts.append("}}")
    sources = {int: f"-?+{bulk.WHOLE}", object: "[0-9-][0-9.eE+-]*+"}  # what of these is no number is no JSON either
    parts = [re.escape(text) + (sources[kind] if kind else "") for text, kind in zip(texts, [*kinds, None], strict=True)]
    lines = re.compile(f"(?:{''.join(parts)}\n)*+")
    return bulk.tried(lines, None, texts, set(), tuple(kinds), tuple(range(len(kinds))))


def read_record(text: str, line: int, points: Points, events: Events, name_characters: int, most: int) -> bool:
    """Read one record of any kind; False if it is none, so that the line is read as text."""
    try:
        record = orjson.loads(text)
    except ValueError:
        return False
    kind = record.get("tw")
    time = _integer(record.get("t"))
    if kind == "log" and isinstance(record.get("m"), dict):
        step, epoch = _integer(record.get("s")), _number(record.get("e"))
        index = 0
        for name, raw in record["m"].items():
            value = NON_FINITE.get(raw) if isinstance(raw, str) else _number(raw)
            if value is None:
                points.unparsed += 1
                continue
            if index == most:
                events.add(line, "too_many_points", time, "", {"points": str(len(record["m"]))}, step, epoch)
                break
            points.add(line, index, name[:name_characters], value, step, epoch, time, "record")
            index += 1
        return True
    if kind not in EVENT_KINDS:
        return False
    _event(kind, record, line, time, events)
    return True


def _event(kind: str, record: dict[str, Any], line: int, time: int | None, events: Events) -> None:
    step, epoch = _integer(record.get("s")), _number(record.get("e"))
    message = _string(record.get("message", ""))
    if kind == "event":
        inner = record.get("fields")
        members = inner if isinstance(inner, dict) else {}
        kind = _string(record.get("kind", "event")) or "event"
    elif kind == "params":
        inner = record.get("params")
        members = inner if isinstance(inner, dict) else {}
    else:
        members = {k: v for k, v in record.items() if k not in ("tw", "t", "message")}
    events.add(line, kind, time, message, {str(k): _string(v) for k, v in members.items()}, step, epoch)


def _string(value: Any) -> str:
    return value if isinstance(value, str) else orjson.dumps(value).decode()


def _integer(value: Any) -> int | None:
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return value if isinstance(value, int) and not isinstance(value, bool) and -_LIMIT <= value < _LIMIT else None


def _number(value: Any) -> float | None:
    return float(value) if isinstance(value, (int, float)) and not isinstance(value, bool) else None
