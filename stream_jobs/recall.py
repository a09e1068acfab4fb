"""The store's marks of a file, asked once for a whole chain of deltas instead of once for each.

After a kill behind the inserts and before the commit a batch comes again: thousands of small deltas, each of which is
compared with the marks that are stored. At a question each that took minutes on a busy machine.
"""

from __future__ import annotations

import bisect
from collections.abc import Iterable

from schemas.events import Delta
from stream_jobs.ledger import Evidence, Marks, StoredLine


class Recall:
    """Evidence about one file at a time, for deltas that are placed in their order."""

    def __init__(self, archive: Evidence) -> None:
        self._archive = archive
        self._chains: dict[int, int] = {}
        self.forget()

    def expect(self, deltas: Iterable[Delta]) -> None:
        """These deltas of one file are placed next."""
        self.forget()
        self._chains = {}
        for delta in sorted(deltas, key=lambda delta: delta.start, reverse=True):
            self._chains[delta.start] = self._chains.get(delta.end, delta.end)

    def forget(self) -> None:
        """Something was inserted: what the store said before it is old."""
        self._file = ("", "")
        self._low = self._high = 0
        self._spans: tuple[tuple[int, int], ...] = ()
        self._crcs: list[tuple[int, int]] = []

    def marks(self, task: str, file_id: str, start: int, end: int) -> Marks:
        if self._file != (task, file_id) or not self._low <= start <= end <= self._high:
            high = max(end, self._chains.get(start, end))
            known = self._archive.marks(task, file_id, start, high)
            self._file, self._low, self._high = (task, file_id), start, high
            self._spans, self._crcs = known.spans, sorted(known.crcs.items())
        first = bisect.bisect_left(self._crcs, (start, -1))
        last = bisect.bisect_left(self._crcs, (end + 1, -1))
        return Marks(dict(self._crcs[first:last]), self._spans)

    def lines(self, task: str, file_id: str, start: int, end: int) -> list[StoredLine]:
        return self._archive.lines(task, file_id, start, end)
