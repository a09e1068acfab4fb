"""Records of the SDK and of `trainwire run`: one JSON object a line that begins with ``{"tw":"``.

A metrics record is read in columns: the records of a block are joined to one JSON array, read by one call, and turned
into columns by functions that run in C. What is not a plain metrics record takes the slow way, one record at a time.
"""

from __future__ import annotations

import math
from itertools import chain, repeat
from operator import itemgetter
from typing import Any

import orjson

from stream_jobs.extract.rows import Events, Points

PREFIX = '{"tw":"'
NON_FINITE = {"NaN": math.nan, "Infinity": math.inf, "-Infinity": -math.inf}
EVENT_KINDS = {"header", "progress", "status", "params", "event", "end"}
_PLAIN_NUMBERS = {float, int}


def read_block(texts: list[str], lines: list[int], points: Points) -> bool:
    """Read records that are all plain metrics with the same names, in columns. False, and nothing done, if they are not.

    A joined array is read as the same records as its lines one by one: there are exactly two braces a line, used up by
    the n objects and their n "m" objects, and no "m" holds a string; so each line's first brace opens one of the n.
    """
    n = len(texts)
    joined = ",".join(texts)
    if joined.count("{") != 2 * n or joined.count("}") != 2 * n:
        return False
    try:
        records = orjson.loads(f"[{joined}]")
        metrics = list(map(itemgetter("m"), records))
        times = list(map(itemgetter("t"), records))
        kinds = set(map(itemgetter("tw"), records))
    except (ValueError, KeyError, TypeError):
        return False
    if len(records) != n or kinds != {"log"} or set(map(type, metrics)) != {dict} or set(map(type, times)) != {int}:
        return False
    names = list(metrics[0])
    width = len(names)
    if not width or list(chain.from_iterable(metrics)) != names * n:
        return False
    values = list(chain.from_iterable(map(dict.values, metrics)))
    types = set(map(type, values))
    if not types <= _PLAIN_NUMBERS:
        return False
    steps = [record.get("s") for record in records]
    epochs = [record.get("e") for record in records]
    if not set(map(type, steps)) <= {int, type(None)} or not set(map(type, epochs)) <= {int, float, type(None)}:
        return False
    points.line += chain.from_iterable(map(repeat, lines, repeat(width)))
    points.index += list(range(width)) * n
    points.name += names * n
    points.value += values if types == {float} else map(float, values)
    points.step += chain.from_iterable(map(repeat, steps, repeat(width)))
    points.epoch += chain.from_iterable(map(repeat, epochs, repeat(width)))
    points.time += chain.from_iterable(map(repeat, times, repeat(width)))
    points.source += ["record"] * (width * n)
    return True


def read_record(text: str, line: int, points: Points, events: Events, name_characters: int) -> bool:
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
    return value if isinstance(value, int) and not isinstance(value, bool) and abs(value) < 2**63 else None


def _number(value: Any) -> float | None:
    return float(value) if isinstance(value, (int, float)) and not isinstance(value, bool) else None
