"""What is printed over several lines: where it begins, and where a list of objects does that is read."""

from __future__ import annotations

import re

HISTORY = re.compile(r"\s*\"(?:log_history|history)\"\s*:\s*\[\s*")
_LIST = re.compile(rf"\s*(?:\w+\s*=\s*)?\[\s*|{HISTORY.pattern}")
_LIST_END = re.compile(r"[\s}]*\],?\s*")


def opens(text: str) -> bool:
    """Whether the line opens a dump: a model, a configuration."""
    body = text.strip()
    return body.endswith(("(", "{")) or (body.startswith("(") and body.count("(") > body.count(")"))


def unfinished(text: str) -> bool:
    """Whether the line begins a dict that is printed over several lines: `{'batch_size': 32,`."""
    body = text.strip()
    return body.startswith("{'") and body.endswith(",") and body.count("{") > body.count("}")


def list_edge(text: str) -> int:
    """1 where the line opens a list of objects, -1 where it ends one, 0 elsewhere."""
    return -1 if _LIST_END.fullmatch(text) else int(_LIST.fullmatch(text) is not None)
