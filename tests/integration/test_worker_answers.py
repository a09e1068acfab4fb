"""What people are answered while raw rows are doubled, unmerged, out of order, or written by a worker that was killed."""

from __future__ import annotations

import dataclasses
import itertools
import threading
import time
import zlib
from collections.abc import Callable, Iterator
from typing import Any
from urllib.parse import urlsplit

import pytest

from gateway.queries.curves import CurveRequest, curves
from gateway.queries.lines import LineRequest, lines
from gateway.store import columns
from schemas.events import Delta, FileRef
from tests.chaos.proxy import Proxy
from tests.integration.worker_support import Csv, Desk, desk, rows, still

__all__ = ["desk", "still"]
pytestmark = pytest.mark.services


@pytest.fixture
def link(desk: Desk) -> Iterator[Proxy]:
    """A proxy in front of the store; workers that the desk makes from now on go through it."""
    port = urlsplit(desk.settings.url).port
    assert port is not None
    proxy = Proxy(port)
    desk.settings = dataclasses.replace(desk.settings, url=f"http://127.0.0.1:{proxy.port}")
    yield proxy
    proxy.close()


def until(condition: Callable[[], bool], seconds: float = 60) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "it never came true"
        time.sleep(0.02)


def test_b14_an_heir_takes_over_after_the_insert_and_before_its_answer(desk: Desk, link: Proxy) -> None:
    file = Csv(rows(60))
    messages = desk.messages(file.deltas(20))
    link.lose_answers()
    deaf = threading.Thread(target=desk.worker().take, args=messages, daemon=True)
    deaf.start()
    until(lambda: link.lost > 3)
    link.heal()
    desk.worker().take(*messages)  # it reads the same messages, while the deaf one goes on, too
    deaf.join(60)
    assert not deaf.is_alive()
    assert desk.shows(file)


class Forgetful:
    """A store that answers every question about files as if it knew none."""

    def query(self, sql: str, parameters: dict[str, Any]) -> list[Any]:
        return []


QUESTIONS = (
    "SELECT count(), sum(value), max(step) FROM all_points WHERE task_id = 'task'",
    "WITH p AS (SELECT * FROM curves WHERE task_id = 'task') SELECT count(), sum(value) FROM p WHERE step > 50",
    "SELECT name, points, value FROM latest_values WHERE task_id = 'task'",
    "SELECT count() FROM (SELECT DISTINCT step, value FROM (SELECT * FROM curves_stitched WHERE task_id = 'task'))",
    "SELECT count() FROM lines WHERE task_id = 'task'",
    "SELECT lines, bytes FROM tasks WHERE task_id = 'task'",
)


def asker(desk: Desk) -> Any:
    def query(sql: str, /, **parameters: Any) -> dict[str, list[Any]]:
        return columns(desk.client, sql, parameters)

    return query


def test_b27_every_question_has_the_newest_answer_before_and_after_merging(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    file = Csv(rows(100))
    for version in (1, 2, 3):  # three workers, each with a newer extraction, and none knows that the others wrote
        monkeypatch.setattr("stream_jobs.ledger.EXTRACTOR_VERSION", version)
        worker = desk.worker()
        monkeypatch.setattr(worker.files._archive, "_store", Forgetful())
        worker.take(*desk.messages(file.deltas(25)))
    assert desk.raw("points") == 300

    def ask() -> list[Any]:
        drawn = curves(asker(desk), "task", CurveRequest(("loss",)))
        return [*map(desk.query, QUESTIONS), drawn, desk.points(), desk.lines()]

    before = ask()
    assert before[0] == [(100, pytest.approx(sum(value for _, value in file.rows)), 100)]
    assert desk.shows(file)
    for table in ("points", "log_lines", "file_ranges"):
        desk.client.command(f"SYSTEM START MERGES {table}")
        desk.client.command(f"OPTIMIZE TABLE {table} FINAL")
        desk.client.command(f"SYSTEM STOP MERGES {table}")
    assert desk.raw("points") == 300, "revisions are kept apart by the key"
    assert ask() == before


TRACEBACK = [
    "Traceback (most recent call last):",
    *(f'  File "train.py", line {n}, in step' for n in range(38)),
    "ValueError: no",
]


def test_b74_a_traceback_stays_together_over_pages_and_in_the_table(desk: Desk) -> None:
    texts = [*(f"fast line {n}" for n in range(500)), *TRACEBACK, *(f"fast line {n}" for n in range(500, 1000))]
    data = "".join(f"{text}\n" for text in texts).encode()
    borders = [0, data.find(b"\n", 4096) + 1, data.find(b"\n", 9000) + 1, len(data)]
    now = int(time.time() * 1000)
    first, second, third = (desk.message(piece(data, a, b), arrived=now) for a, b in itertools.pairwise(borders))
    desk.worker().take(third, first, second)
    assert [text for _, _, text in desk.lines()] == texts
    shown: list[str] = []
    after = None
    while page := lines(asker(desk), "task", LineRequest(limit=137, after=after)).lines:
        shown += [line["text"] for line in page]
        after = (page[-1]["arrived_ms"], page[-1]["file_id"], page[-1]["offset"])
    assert shown == texts


def piece(data: bytes, start: int, end: int) -> Delta:
    """Bytes of a log file as a delta, read in one millisecond with all others."""
    crcs = (zlib.crc32(data[:start]), zlib.crc32(data[:end]))
    return Delta(FileRef("task", "log", "/logs/log"), start, end, "A", *crcs, 1_796_000_000_000, data[start:end], source="s")
