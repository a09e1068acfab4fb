"""A log file at hand, cut into deltas and lines as the shipper and the worker would."""

from __future__ import annotations

import mmap
import re
from collections.abc import Iterator
from pathlib import Path

from schemas.framing import RECORD_HEADER, Container, Lines, frame, next_delta

WINDOW = 2 << 20  # bytes: more than the longest line or record, so that a delta's end is always in sight
_CRI = re.compile(rb"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\S* (?:stdout|stderr) [PF] ")


def container_of(file: Path, data: bytes | mmap.mmap) -> Container:
    """The file's form, by its name and its first bytes."""
    if "tfevents" in file.name:
        return "tfevents"
    return "cri" if _CRI.match(data) else "plain"


def deltas(data: bytes | mmap.mmap, container: Container) -> Iterator[Lines]:
    """Lines by deltas, a last line without its end included. Raises `ValueError` for a damaged container."""
    at, continuation = 0, ""
    while at < len(data):
        cut = next_delta(data[at : at + WINDOW], container, continuation=continuation, final=at + WINDOW >= len(data))
        if cut is None:
            return
        end = at + RECORD_HEADER if cut.elided else min(at + cut.length, len(data))
        yield frame(data[at:end], at, container, continuation=continuation)
        at, continuation = at + cut.length, cut.continuation
