from __future__ import annotations

import zlib
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from runtime.errors import SettingError
from runtime.metrics import Metrics
from runtime.settings import load
from schemas.columns import TABLES
from schemas.events import Delta, FileEnd, FileRef
from schemas.framing import frame
from stream_jobs import rows
from stream_jobs.batch import Batch
from stream_jobs.extract import Events, Options, Points, State, extract
from stream_jobs.ledger import FileLedger
from stream_jobs.message import Message
from stream_jobs.settings import BatchSettings, WorkerSettings

ARRIVED = 1_796_000_000_000


class Record:
    """A sink that keeps what it is given."""

    def __init__(self) -> None:
        self.calls: list[tuple[str, int, str]] = []

    def insert(self, table: str, columns: list[list[Any]], token: str) -> list[int]:
        assert {len(column) for column in columns} == {len(columns[0])}, f"columns of {table} differ in length"
        assert len(columns) == len(TABLES[table])
        if columns[0]:
            self.calls.append((table, len(columns[0]), token))
        return []


def batch_of(content: bytes, *, file_id: str = "file", state: State | None = None, offset: int = 1) -> Batch:
    file = FileLedger("task", file_id)
    ref = FileRef("task", file_id, "/a.log", rank=2**40)
    delta = Delta(ref, 0, len(content), "A", 0, zlib.crc32(content), ARRIVED, content)
    run, before = file.open(0)
    before = state or before
    lines = frame(content, 0)
    after, points, events = extract(before, lines, Options())
    batch = Batch("worker", Metrics("worker"))
    message = Message("topic", 0, offset, ARRIVED, b"task", content, ())
    batch.add(file, delta, run, (before, after), lines, points, events, message)
    file.extend(run, delta.end, len(lines.offsets), delta.crc_end, "A", after)
    return batch


def inserted(batch: Batch) -> list[tuple[str, int, str]]:
    sink = Record()
    with ThreadPoolExecutor(1) as pool:
        batch.insert(sink, pool)
    return sink.calls


def test_rows_come_first_then_the_ledger_and_what_makes_them_visible_last() -> None:
    batch = batch_of(b"loss=1\nloss=2\n")
    end = FileEnd(FileRef("task", "file", "/a.log"), "A", 14, 14, "end-record", ARRIVED)
    batch.add_file_end(end, "file", ARRIVED)
    order = [table for table, *_ in inserted(batch)]
    assert order[-2:] == ["ledger", "file_ranges"]
    assert set(order[:-2]) == {"points", "log_lines", "heartbeats", "task_events"}


def test_a_token_is_the_same_for_the_same_rows_only() -> None:
    content = b"loss=1\nloss=2\n"
    token = inserted(batch_of(content))[0][2]
    assert inserted(batch_of(content))[0][2] == token
    assert inserted(batch_of(b"loss=1\nloss=3\n"))[0][2] != token
    assert inserted(batch_of(content, file_id="other"))[0][2] != token
    told, _, _ = extract(State(), frame(b"step,x\n1,2\n", 0), Options())
    assert told.dump() != State().dump()
    assert inserted(batch_of(content, state=told))[0][2] != token
    tokens = {token for *_, token in inserted(batch_of(content))}
    assert len(tokens) == len(inserted(batch_of(content))), "two tables share a token"


def test_times_are_what_the_line_says_else_what_its_record_says_else_the_arrival() -> None:
    lines = frame(b"a\nb\nc\n", 0)
    points, events = Points(), Events()
    points.add(0, ("x", "y"), [1.0, 1.0], None, None, ARRIVED - 5, "record")
    points.add(1, ("x",), [1.0], None, None, None, "record")
    points.add(2, ("x",), [1.0], None, None, 1000, "record")
    known, impossible = rows.line_times(lines, points, events, ARRIVED)
    assert impossible == 1
    columns, _ = rows.of_points("task", "file", 0, 1, lines, points, known | {1: ARRIVED - 7}, [ARRIVED] * 3)
    assert columns[9] == [ARRIVED - 5, ARRIVED - 5, ARRIVED - 7, ARRIVED]
    assert columns[10] == [True, True, True, False]


@pytest.mark.parametrize("t", [rows.YEAR_2000, ARRIVED + rows.DAY])
def test_the_edges_of_possible_times_are_possible(t: int) -> None:
    assert rows.possible(t, ARRIVED)
    assert not rows.possible(rows.YEAR_2000 - 1, ARRIVED)
    assert not rows.possible(ARRIVED + rows.DAY + 1, ARRIVED)


def test_steps_beyond_64_bits_are_absent() -> None:
    lines = frame(b"a\n", 0)
    points = Points()
    for step in (2**63 - 1, 2**63, -(2**63), -(2**63) - 1, None):
        points.add(0, ("x",), [1.0], step, None, None, "pairs")
    columns, unfit = rows.of_points("task", "file", 0, 1, lines, points, {}, [ARRIVED] * 5)
    assert columns[7] == [2**63 - 1, None, -(2**63), None, None]
    assert unfit == 2


def test_the_batch_window_grows_with_the_workers() -> None:
    assert BatchSettings().seconds == 0.1
    assert BatchSettings(workers=12).seconds == pytest.approx(0.6)


@pytest.mark.parametrize("text", ["9000", "host:", "host:99999", "host:http"])
def test_a_health_address_is_host_and_port(text: str) -> None:
    with pytest.raises(SettingError, match="host:port"):
        load(WorkerSettings, {"TRAINWIRE_WORKER_HEALTH": text})
    assert load(WorkerSettings, {"TRAINWIRE_WORKER_HEALTH": "[::1]:80"}).health == ("::1", 80)
