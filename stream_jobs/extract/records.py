"""Records of the SDK and of `trainwire run`: one JSON object a line that begins with ``{"tw":"``.

Metrics records that follow each other and differ in their numbers only are read at once, as columns. Everything else
takes the slow way, one record at a time.
"""

from __future__ import annotations

import math
import re
from functools import lru_cache
from typing import Any

import orjson

from stream_jobs.extract import bulk
from stream_jobs.extract.rows import Events, Points

PREFIX = '{"tw":"'
HEADER = PREFIX + 'header",'
NON_FINITE = {"NaN": math.nan, "Infinity": math.inf, "-Infinity": -math.inf}
EVENT_KINDS = {"header", "progress", "status", "params", "event", "end"}
_LIMIT = 2**63
LEAST = 4  # records of one form that are read at once
_NUMBER = r"-?[0-9]+(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?"
_BRACES = ',"m":{'
_NAME = re.compile(r'"([^"\\{}\n]*)":')
_PLAIN_RECORD = re.compile(
    rf'\{{"tw":"log","t":[0-9]+(,"s":-?[0-9]+)?(,"e":{_NUMBER})?,"m":\{{("[^"\\{{}}\n]*":{_NUMBER}(?:,"[^"\\{{}}\n]*":{_NUMBER})*)\}}\}}'
)


def read_block(texts: list[str], start: int, points: Points, name_characters: int, most: int) -> int:
    """Read the metrics records that differ from the first in their numbers only; gives back how many there were.

    They are read as `bulk` reads lines of one form: no object is made of any. 0, and nothing done, where they are too few,
    or the first is no such record. `start` is the first one's index among the lines.
    """
    first = _PLAIN_RECORD.fullmatch(texts[0])
    if first is None:
        return 0
    names = tuple(_NAME.findall(first[3]))
    form = _form(names, first[1] is not None, first[2] is not None)
    if form is None or len(names) > most or max(map(len, names)) > name_characters:
        return 0
    count = bulk.fitting(form, texts)
    flat = bulk.read(form, texts[:count]) if count >= LEAST else None
    if flat is None:
        return 0
    width = len(form.kinds)
    times: list[int | None] = flat[0::width]  # type: ignore[assignment]  # integers, as the form says
    steps: list[int | None] = [None] * count
    epochs: list[float | None] = [None] * count
    if first[1] is not None:
        steps = flat[1::width]  # type: ignore[assignment]  # integers, as the form says
    if first[2] is not None:
        epochs = list(map(float, flat[width - len(names) - 1 :: width]))
    values = bulk.kept(form, flat, range(width - len(names), width))
    points.extend(range(start, start + count), names, values, steps, epochs, times, "record")
    return count


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
        names: list[str] = []
        values: list[float] = []
        for name, raw in record["m"].items():
            value = NON_FINITE.get(raw) if isinstance(raw, str) else _number(raw)
            if value is None:
                points.unparsed += 1
                continue
            if len(names) == most:
                events.add(line, "too_many_points", time, "", {"points": str(len(record["m"]))}, step, epoch)
                break
            names.append(name[:name_characters])
            values.append(value)
        if names:
            points.add(line, tuple(names), values, step, epoch, time, "record")
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
