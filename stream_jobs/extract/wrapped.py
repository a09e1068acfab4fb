"""Text lines inside JSON: Docker's json-file driver, and loggers that write JSON around a message."""

from __future__ import annotations

from typing import Any

import orjson

_MESSAGES = ("log", "message", "msg", "text")
_STAMPS = ("time", "timestamp", "@timestamp", "asctime", "ts")
_NUMBERS_OF_A_LOGGER = {
    "lineno",
    "line",
    "pid",
    "process",
    "thread",
    "created",
    "msecs",
    "relativeCreated",
    "levelno",
    "ts",
    "time",
    "timestamp",
}


def unwrap(text: str) -> str | None:
    """The message of a JSON record that says nothing else, its time stamp before it; None where the line is no such record.

    Raises `ValueError` where it looks like one and is no JSON.
    """
    if not any(f'"{key}"' in text for key in _MESSAGES):
        return None
    record: Any = orjson.loads(text)
    key = next((key for key in _MESSAGES if isinstance(record, dict) and isinstance(record.get(key), str)), None)
    if key is None or any(_is_metric(name, value) for name, value in record.items()):
        return None
    message = str(record[key]).rstrip("\n").split("\n")[-1]
    if message.startswith("{"):
        return message if message != text else None
    stamp = next((record[name] for name in _STAMPS if isinstance(record.get(name), str)), "")
    return f"{stamp[:40]} {message}" if stamp else message


def _is_metric(name: str, value: object) -> bool:
    """A member that is more than what loggers add."""
    if isinstance(value, dict):
        return True
    return isinstance(value, (int, float)) and not isinstance(value, bool) and name not in _NUMBERS_OF_A_LOGGER
