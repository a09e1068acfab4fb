"""How long from a written line to a queryable row, on one clock: writes lines to a log of its own and looks for them."""

from __future__ import annotations

import threading
import time
from pathlib import Path

from deploy.demo.check import Query

LINES_PER_SECOND = 60
LOOK_EVERY = 0.02  # seconds between two looks; what it finds is late by at most this and one query


class Prober:
    """Write lines of task `task` to `log` until stopped; `latencies` are seconds, one a line that was seen."""

    def __init__(self, query: Query, task: str, log: Path) -> None:
        self._query, self._task, self._log = query, task, log
        self._stop = threading.Event()
        self._written: list[tuple[int, float]] = []  # (offset behind the line, when it was written)
        self.latencies: list[float] = []
        self._threads = [threading.Thread(target=run, daemon=True) for run in (self._write, self._look)]

    def start(self) -> None:
        for thread in self._threads:
            thread.start()

    def stop(self, patience: float = 20.0) -> int:
        """Stop writing, wait for what was written; returns the number of lines never seen."""
        self._stop.set()
        for thread in self._threads:
            thread.join(patience)
        return len(self._written) - len(self.latencies)

    def _write(self) -> None:
        start = time.monotonic()
        with self._log.open("ab", buffering=0) as log:

            def write(line: str) -> None:
                log.write(line.encode() + b"\n")
                self._written.append((log.tell(), time.monotonic()))

            while not self._stop.is_set():
                write(f"probe {len(self._written)} value={time.time():.3f}")
                due = start + len(self._written) / LINES_PER_SECOND
                self._stop.wait(max(0.0, due - time.monotonic()))
            write(f'{{"tw":"end","t":{time.time_ns() // 1_000_000},"status":"succeeded"}}')  # or it would run for ever

    def _look(self) -> None:
        sql = "SELECT max(end) AS end FROM lines WHERE task_id = {task:String}"
        deadline = None
        while True:
            end = int(self._query.rows(sql, task=self._task)[0]["end"])
            now = time.monotonic()
            while len(self.latencies) < len(self._written) and self._written[len(self.latencies)][0] <= end:
                self.latencies.append(now - self._written[len(self.latencies)][1])
            if self._stop.is_set():
                deadline = deadline or now + 15
                if len(self.latencies) == len(self._written) or now > deadline:
                    return
            time.sleep(LOOK_EVERY)


def percentile(values: list[float], share: float) -> float:
    """The smallest value that at least `share` of all do not exceed; nan for no values."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))] if ordered else float("nan")
