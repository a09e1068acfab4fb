"""A task's own patterns on the worker's road: from its shipper or its file's header, over a restart, a gap and a replay."""

from __future__ import annotations

import json
import signal
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from schemas.events import Delta
from stream_jobs.again import Again
from tests.integration.test_worker_process import Line, wait
from tests.integration.worker_support import Csv, Desk, desk, rows, still
from tests.services.fixtures import Store

__all__ = ["desk", "still"]
pytestmark = pytest.mark.services
PATTERN = r"zorp~(?P<zorp>[0-9.e-]+) @(?P<step>\d+)"
HEADER = json.dumps({"tw": "header", "t": 1, "v": 1, "uuid": "u", "task": "task", "patterns": [PATTERN]}, separators=(",", ":"))


@dataclass
class Odd(Csv):
    """A log that only its task's own pattern can read: `zorp~0.5 @2`."""

    header: str = "begins"

    def __post_init__(self) -> None:
        self.content, self.starts = b"", [0]
        for line in [self.header, *(f"zorp~{value!r} @{step}" for step, value in self.rows)]:
            self.content += line.encode() + b"\n"
            self.starts.append(len(self.content))

    @property
    def points(self) -> list[tuple[str, int, str, int | None, float]]:
        places = zip(self.starts[1:], self.rows, strict=False)
        return [(self.file_id, start, "zorp", step, value) for start, (step, value) in places]


def deltas(file: Odd, how: str) -> list[Delta]:
    """Parts of a file; `how`: who says the pattern."""
    patterns = (PATTERN,) if how == "shipper" else ()
    return [file.delta(first, first + 4, patterns=patterns) for first in range(0, len(file.rows) + 1, 4)]


@pytest.mark.parametrize("how", ["shipper", "header"])
def test_patterns_outlive_a_restart_a_gap_and_a_replay(desk: Desk, how: str) -> None:
    file = Odd(rows(15), header=HEADER if how == "header" else "begins")
    head, second, third, last = desk.messages(deltas(file, how))
    desk.worker().take(head)
    desk.worker().take(third)  # before the bytes in front of it: what the header says is not known yet
    desk.worker().take(second)
    desk.worker().take(last)
    assert desk.shows(file)
    worker = desk.worker()
    again: Again = worker.ingest._again
    whole = len(file.content)
    assert again.replay(worker.ingest.archive.load([("task", "file")])["task", "file"]) == (whole, whole)
    assert desk.shows(file)


def test_a_replay_takes_the_pattern_that_the_task_brings_now(desk: Desk) -> None:
    file = Odd(rows(7))
    head, _ = deltas(file, "header")
    desk.worker().take(desk.message(head))
    worker = desk.worker()
    worker.take(desk.message(deltas(file, "shipper")[1]))
    assert desk.points() == file.points[3:]
    again: Again = worker.ingest._again
    again.replay(worker.ingest.archive.load([("task", "file")])["task", "file"])
    assert desk.shows(file)


@pytest.mark.parametrize("how", ["shipper", "header"])
def test_a_refused_pattern_is_an_event_and_the_file_goes_on(desk: Desk, how: str) -> None:
    bad = ".*(?P<zorp>[0-9]+)"
    header = json.dumps(json.loads(HEADER) | {"patterns": [bad]}, separators=(",", ":"))
    file = Csv(rows(8), header="step,loss")
    file.content = (header + "\n").encode() * (how == "header") + file.content
    whole = Csv(rows(8))
    whole.content, whole.starts = file.content, [0, len(file.content)]
    changes: dict[str, Any] = {"patterns": (bad,)} if how == "shipper" else {}
    worker = desk.worker()
    worker.take(desk.message(whole.delta(0, 1, **changes)))
    told = desk.query("SELECT message FROM task_events WHERE kind = 'pattern_refused'")
    assert len(told) == 1
    assert "may also follow" in told[0][0]
    assert [(step, value) for *_, step, value in desk.points()] == file.rows
    assert desk.raw("dead_letters") == 0


@pytest.fixture
def line(desk: Desk, store: Store, broker: str, topic: str, tmp_path: Path) -> Iterator[Line]:
    made = Line(desk, store, broker, topic, tmp_path)
    yield made
    made.close()


def test_a_killed_workers_heir_knows_what_the_header_taught(line: Line) -> None:
    file = Odd(rows(11), header=HEADER)
    first, *others = deltas(file, "header")
    worker = line.worker()
    line.send([first])
    wait(lambda: len(line.desk.points()) == 3, 60, "the first points never came", worker.log)
    worker.end(signal.SIGKILL)
    line.send(others)
    line.worker()
    line.shows(file)
