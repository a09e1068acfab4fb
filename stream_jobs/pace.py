"""How much longer to gather when the store has many parts: merges must catch up before inserts are refused."""

from __future__ import annotations

import logging
import time

from runtime.errors import PermanentError
from stream_jobs.sink import Sink

log = logging.getLogger("worker")

PARTS_MANY = 300  # active parts of a table; ClickHouse delays inserts from 1,000 a partition on, and refuses from 3,000
LOOK_EVERY = 15.0  # s
MOST = 2.0  # s of extra gathering: freshness is a promise too


class Pace:
    """Asks the store for its parts now and then; without the right to, it says so once and never waits."""

    def __init__(self, sink: Sink, window: float) -> None:
        self._sink, self._window = sink, window
        self._looked = float("-inf")
        self._parts = 0
        self._allowed = True

    def look(self) -> None:
        now = time.monotonic()
        if not self._allowed or now - self._looked < LOOK_EVERY:
            return
        self._looked = now
        try:
            rows = self._sink.query(
                "SELECT max(n) FROM (SELECT count() AS n FROM system.parts WHERE active AND database = currentDatabase()"
                " GROUP BY table)",
                {},
            )
        except PermanentError as error:
            self._allowed = False
            log.warning("parts cannot be watched, the batch window stays as it is: %s", error)
            return
        self._parts = int(rows[0][0] or 0)

    @property
    def extra(self) -> float:
        """Seconds to gather longer."""
        return min(self._window * self._parts / PARTS_MANY, MOST) if self._parts > PARTS_MANY else 0.0
