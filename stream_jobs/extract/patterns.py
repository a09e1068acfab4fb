"""A task's own patterns: regular expressions with named groups, checked when they enter."""

from __future__ import annotations

import re
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Pattern:
    """One checked pattern; `text` is what the task gave."""

    text: str
    regex: re.Pattern[str]
