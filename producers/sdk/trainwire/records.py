"""The records: one JSON object a line, whose first bytes are always `{"tw":"` and the kind.

Times are integer milliseconds since the epoch, UTC. Every function returns whole lines with their "\\n" and takes the time, so
that it can be compared with the golden examples. What cannot be written is left out and named in `refused`, a list of
(what, why). A line stays far below the 256 KiB at which shippers cut: long texts are shortened, long records divided.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any, Dict, Iterator, List, Optional, Tuple, Union

from trainwire.identity import Identity
from trainwire.scalars import NotANumber, number_text, to_number
from trainwire.version import __version__

Refused = List[Tuple[str, str]]
Count = Union[int, float]

MAX_RECORD = 30_000  # characters of a record's body, at most 4 bytes each: with the longest message still below 256 KiB
MAX_TEXT = 16_000  # characters of a message; control characters are six bytes each in JSON: 96 KB
MAX_WORD = 4_000  # characters of one parameter, field or argument
MAX_NAME = 1_000  # characters of a metric's name
MAX_DEPTH = 16  # of nested dicts; deeper is a structure that contains itself
_MAX_NAMES = 10_000  # names kept encoded; a script that makes up new ones for ever must not grow us

_encode = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode
_names: Dict[str, str] = {}  # metric name → '"name":'


def header(
    t: int,
    identity: Identity,
    *,
    uuid: str,
    host: str,
    pid: int,
    file: int,
    mode: str,
    before: Optional[str] = None,
    command: Optional[List[str]] = None,
) -> str:
    """First record of a file. `file` counts a start's files from 1; `before` is the uuid of the file that this one continues."""
    record: Dict[str, Any] = {"tw": "header", "t": t, "v": 1, "uuid": uuid, "task": identity.task}
    _put_text(record, "name", identity.name)
    record.update(start=identity.start, attempt=identity.attempt, rank=identity.rank, world=identity.world)
    record.update(host=host, pid=pid, file=file)
    if before is not None:
        record["before"] = before
    record.update(sdk=__version__, mode=mode)
    if command is not None:
        record["command"] = _head([shorten(word, MAX_WORD) for word in command])
    _put_text(record, "owner", identity.owner)
    _put_text(record, "project", identity.project)
    _put_text(record, "framework", identity.framework)
    if identity.patterns:
        record["patterns"] = _head([shorten(pattern, MAX_WORD) for pattern in identity.patterns])
    return _line(record)


def simple_log(t: int, step: Any, epoch: Any, metrics: Mapping[str, Any]) -> Optional[str]:
    """The log record of a flat dict of finite floats and ints with known names: the usual call. None: use `log`.

    It writes the JSON itself, in half the time of an encoder.
    """
    parts = []
    for name, value in metrics.items():
        kind = value.__class__
        if (kind is float and value - value == 0.0) or (kind is int and -(1 << 53) < value < 1 << 53):
            try:
                parts.append(f"{_names[name]}{value!r}")
            except KeyError:
                return None
        else:
            return None
    if not parts or (step.__class__ is not int and step is not None):
        return None
    if epoch is None:
        head = f'{{"tw":"log","t":{t},"m":{{' if step is None else f'{{"tw":"log","t":{t},"s":{step},"m":{{'
    elif step is not None and (epoch.__class__ is int or (epoch.__class__ is float and epoch - epoch == 0.0)):
        head = f'{{"tw":"log","t":{t},"s":{step},"e":{epoch!r},"m":{{'
    else:
        return None
    line = head + ",".join(parts) + "}}\n"
    return line if len(line) <= MAX_RECORD and (step is None or -(1 << 63) <= step < 1 << 63) else None


def log(t: int, step: Any, epoch: Any, metrics: Any, refused: Refused) -> List[str]:
    """Log records of any mapping of numbers, nested ones flattened with "/"; None values are skipped."""
    values: Dict[str, str] = {}
    for name, value in _flat(metrics, "", 0, refused):
        if value is None:
            continue
        if len(name) > MAX_NAME:
            refused.append((shorten(name, 80), f"a metric's name has at most {MAX_NAME} characters"))
            continue
        try:
            text = number_text(value)
        except NotANumber as error:
            refused.append((name, str(error)))
            continue
        if name in values:
            refused.append((name, "the same name twice in one call"))
        values[name] = text
    head = f'{{"tw":"log","t":{t}'
    number = _step(step, refused)
    if number is not None:
        head += f',"s":{number}'
    part = _finite("epoch", epoch, refused)
    if part is not None:
        head += f',"e":{part!r}'
    return [f'{head},"m":{{{body}}}}}\n' for body in _bodies((_name(name), text) for name, text in values.items())]


def progress(t: int, done: Any, total: Any, unit: Optional[str], refused: Refused) -> List[str]:
    """How far the task is: `done` of `total` (which may be unknown) in `unit`s."""
    record: Dict[str, Any] = {"tw": "progress", "t": t}
    for key, value in (("done", done), ("total", total)):
        number = _finite(key, value, refused)
        if number is not None:
            record[key] = number
    _put_text(record, "unit", unit)
    return [_line(record)] if "done" in record else []


def status(t: int, word: str, *, message: Any = None, code: Optional[int] = None, signal: Optional[int] = None) -> str:
    """The task's state from now on: running, succeeded, failed, stopped, or a word of its own."""
    record: Dict[str, Any] = {"tw": "status", "t": t, "status": shorten(word, MAX_NAME)}
    _put_text(record, "message", message)
    _put_exit(record, code, signal)
    return _line(record)


def params(t: int, values: Any, refused: Refused) -> List[str]:
    """What the task was started with: flat names, JSON scalars; everything else as its text."""
    flat: Dict[str, str] = {}
    for name, value in _flat(values, "", 0, refused):
        flat[shorten(name, MAX_NAME)] = _scalar_text(value)
    pairs = ((_name(name), text) for name, text in flat.items())
    return [f'{{"tw":"params","t":{t},"params":{{{body}}}}}\n' for body in _bodies(pairs)]


def event(t: int, kind: str, message: Any, fields: Mapping[str, Any], refused: Refused) -> str:
    """Something that happened to the task: a checkpoint written, a learning rate changed."""
    record: Dict[str, Any] = {"tw": "event", "t": t, "kind": shorten(kind, MAX_NAME)}
    _put_text(record, "message", message)
    flat = {shorten(name, MAX_NAME): _scalar_text(value) for name, value in _flat(fields, "", 0, refused)}
    bodies = _bodies((_name(name), text) for name, text in flat.items())
    if len(bodies) > 1:
        refused.append((f"fields of event {record['kind']}", f"an event has at most {MAX_RECORD} characters"))
    text = _line(record)
    return f'{text[:-2]},"fields":{{{bodies[0]}}}}}\n' if bodies else text


def end(t: int, word: str, *, code: Optional[int] = None, signal: Optional[int] = None, next: Optional[str] = None) -> str:
    """Last record of a file; `next` is the uuid of the file that goes on where the task does."""
    record: Dict[str, Any] = {"tw": "end", "t": t, "status": shorten(word, MAX_NAME)}
    _put_exit(record, code, signal)
    if next is not None:
        record["next"] = next
    return _line(record)


def shorten(value: Any, limit: int) -> str:
    """`str(value)`, cut to `limit` characters with an ellipsis as the last."""
    text = value if type(value) is str else str(value)
    return text if len(text) <= limit else text[: limit - 1] + "…"


def _line(record: Dict[str, Any]) -> str:
    return _encode(record) + "\n"


def _name(name: str) -> str:
    text = _names.get(name)
    if text is None:
        if len(_names) >= _MAX_NAMES:
            _names.clear()
        text = _names[name] = _encode(name) + ":"
    return text


def _bodies(pairs: Iterator[Tuple[str, str]]) -> List[str]:
    """The insides of JSON objects, each at most MAX_RECORD characters long, that hold all pairs in their order."""
    bodies: List[str] = []
    parts: List[str] = []
    size = 0
    for name, text in pairs:
        if parts and size + len(name) + len(text) > MAX_RECORD:
            bodies.append(",".join(parts))
            parts, size = [], 0
        parts.append(name + text)
        size += len(name) + len(text) + 1
    if parts:
        bodies.append(",".join(parts))
    return bodies


def _flat(values: Any, prefix: str, depth: int, refused: Refused) -> Iterator[Tuple[str, Any]]:
    """(name, value) of a mapping, or of an object's attributes at the top (argparse.Namespace, a dataclass)."""
    if depth == 0 and not isinstance(values, Mapping):
        values = getattr(values, "__dict__", None)
        if not isinstance(values, Mapping):
            raise TypeError("a dict of names and values is needed")
    for key, value in list(values.items()):
        name = prefix + (key if type(key) is str else str(key))
        if not isinstance(value, Mapping):
            yield name, value
        elif depth >= MAX_DEPTH:
            refused.append((shorten(name, 80), f"dicts nested deeper than {MAX_DEPTH}"))
        else:
            yield from _flat(value, name + "/", depth + 1, refused)


def _scalar_text(value: Any) -> str:
    """JSON text of a parameter or field."""
    if value is None or value is True or value is False:
        return _encode(value)
    if not isinstance(value, str):
        try:
            return number_text(value)
        except NotANumber:
            value = str(value)
    return _encode(shorten(value, MAX_WORD))


def _step(step: Any, refused: Refused) -> Optional[int]:
    if step is None:
        return None
    number = _finite("step", step, refused)
    if number is None:
        return None
    if number != int(number) or not -(1 << 63) <= number < 1 << 63:
        refused.append(("step", f"{number!r} is not a whole number of 64 bits"))
        return None
    return int(number)


def _finite(what: str, value: Any, refused: Refused) -> Optional[Count]:
    if value is None:
        return None
    try:
        number = to_number(value)
    except NotANumber as error:
        refused.append((what, str(error)))
        return None
    if not math.isfinite(number):
        refused.append((what, f"{number!r} is not finite"))
        return None
    return number


def _put_text(record: Dict[str, Any], key: str, value: Any) -> None:
    if value is not None:
        record[key] = shorten(value, MAX_TEXT if key == "message" else MAX_NAME)


def _put_exit(record: Dict[str, Any], code: Optional[int], signal: Optional[int]) -> None:
    if code is not None:
        record["code"] = int(code)
    if signal is not None:
        record["signal"] = int(signal)


def _head(command: List[str]) -> List[str]:
    """As many of the command's words as fit a record, the last replaced by an ellipsis where some are missing."""
    size = 0
    for index, word in enumerate(command):
        size += len(_encode(word))
        if size > MAX_RECORD:
            return [*command[:index], "…"]
    return command
