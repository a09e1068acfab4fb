"""A file in the shipper's care: its tail, and when to do what with it. Times are seconds of the loop's clock."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

from producers.shipper.folders import StateFolder
from producers.shipper.tail import Tail


@dataclasses.dataclass(eq=False, slots=True)
class Followed:
    """Policy lives in `follow`; this only remembers."""

    tail: Tail
    folder: StateFolder
    release: Callable[[], None] | None  # lets go of the lock on the present inode
    place: str  # its present or last known path; links resolved
    due: float = 0.0  # when it is looked at next
    last_change: float = 0.0
    next_read: float = 0.0
    failures: int = 0  # sends in a row that failed
    retry_at: float | None = None  # when failed sends are repeated
    outstanding: int = 0  # sends without a result
    shrunk_since: float | None = None  # smaller than what was read; it may be in the middle of being rewritten
    away_since: float | None = None  # no path leads to it
    away_reason: str = ""
    held_since: float | None = None  # looks like a copy of another file: not read, since then …
    waits_since: float | None = None  # for a file that began before it
    held_by: Followed | None = None  # … which is this one, as far as it is followed
    damaged_since: float | None = None  # its next record is damaged, or still being written
    end_reason: str = ""  # why nothing will follow
    end_sent_at: int | None = None  # offset for which an end was sent …
    end_done_at: int | None = None  # … and acknowledged
    told_error: str = ""  # the last complaint, so that it is said once
    dropped: bool = False
