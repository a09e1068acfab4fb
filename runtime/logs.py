"""A program's own log: one line a record on standard error, for people on a terminal and as JSON elsewhere."""

from __future__ import annotations

import datetime
import json
import logging
import os
import sys

from runtime.retry import LogLimiter


class JsonFormatter(logging.Formatter):
    """One JSON object a line: time (UTC, ISO 8601), level, logger, message, and the traceback where there is one."""

    def format(self, record: logging.LogRecord) -> str:
        out = {
            "time": datetime.datetime.fromtimestamp(record.created, datetime.UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
        }
        if record.exc_info:
            out["traceback"] = self.formatException(record.exc_info)
        return json.dumps(out, ensure_ascii=False)


class Repeats(logging.Filter):
    """For a handler: of a library that says the same at each try, one record a place of its code in `every` seconds.

    `name`: of the library's top logger; others' records pass. aiokafka said 80 lines a second while the broker was away.
    """

    def __init__(self, name: str, every: float = 30.0) -> None:
        super().__init__(name)
        self._every = every
        self._places: dict[tuple[str, int], LogLimiter] = {}

    def filter(self, record: logging.LogRecord) -> bool:
        if not super().filter(record):
            return True
        return self._places.setdefault((record.pathname, record.lineno), LogLimiter(self._every)).due(record.created)


def setup(program: str, level: str | None = None) -> logging.Logger:
    """Send the process's log to standard error and return the program's logger; `TRAINWIRE_LOG_LEVEL` sets the level."""
    handler = logging.StreamHandler(sys.stderr)
    if sys.stderr.isatty():
        handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)-7s %(name)s: %(message)s", "%H:%M:%S"))
    else:
        handler.setFormatter(JsonFormatter())
    logging.basicConfig(level=(level or os.environ.get("TRAINWIRE_LOG_LEVEL") or "INFO").upper(), handlers=[handler], force=True)
    return logging.getLogger(program)
