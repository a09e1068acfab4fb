"""Numbers and times as the command line says them."""

from __future__ import annotations

import datetime
import re

# Control sequences and other control characters of a task's own text: they must not act on the reader's terminal.
CONTROL = re.compile(r"\x1b(?:\[[0-9;:?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[@-Z\\-_])|[\x00-\x08\x0b-\x1f\x7f-\x9f]")


def harmless(text: str) -> str:
    """The text without what a terminal would obey."""
    return CONTROL.sub("", text)


def duration(ms: float) -> str:
    """A span in its two largest units at most."""
    seconds = ms / 1000
    if seconds < 60:
        return f"{max(seconds, 0):.0f} s"
    minutes = round(seconds / 60)
    if minutes < 60:
        return f"{minutes} min"
    return f"{minutes // 60} h {minutes % 60} min" if minutes < 48 * 60 else f"{minutes // 1440} days"


def clock(ms: int) -> str:
    """Local time of day."""
    return datetime.datetime.fromtimestamp(ms / 1000).astimezone().strftime("%H:%M:%S")


def number(value: float) -> str:
    """Six digits that matter."""
    return f"{value:.6g}"


def progress(done: float | None, total: float | None) -> str:
    if done is None:
        return ""
    return f"{done:.0f}/{total:.0f} ({100 * done / total:.0f} %)" if total else f"{done:.0f}"
