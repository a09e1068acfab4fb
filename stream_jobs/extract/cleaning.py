"""Texts as a reader sees them."""

from __future__ import annotations

import re

# ECMA-48: a control sequence; an operating system command, which BEL or a string terminator ends; an escape sequence.
_ANSI = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|[ -/]*[0-Z\\-~])|[\x00-\x08\x0b-\x1f\x7f]")


def clean(text: str) -> str:
    """Without terminal control sequences and characters."""
    return text if text.isprintable() else _ANSI.sub("", text)
