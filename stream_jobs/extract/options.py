"""What is said to extraction once for a whole file: immutable, so that the same lines always give the same rows."""

from __future__ import annotations

from dataclasses import dataclass

from schemas.framing import Container


@dataclass(frozen=True, slots=True)
class Options:
    """`Options()` fits every task that brings nothing of its own."""

    container: Container = "plain"
    zone_minutes: int = 0  # offset from UTC of time stamps that name no zone; 0: such stamps are read as UTC
    points_per_line: int = 1000  # a longer list is cut there, with an event that says how many there were
    name_characters: int = 256  # a longer metric name is cut there
