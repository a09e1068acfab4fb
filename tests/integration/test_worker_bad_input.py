"""Messages and rows that are wrong: each is put aside and counted, and everything around it is stored. Names: faults.md."""

from __future__ import annotations

import dataclasses
import json
import threading
import time
import zlib
from typing import Any

import pytest

from runtime.errors import PermanentError, TemporaryError
from runtime.metrics import Metrics
from runtime.settings import Secret
from schemas.events import Delta, Event, FileEnd, FileRef, FileState, Heartbeat
from stream_jobs.message import Message
from stream_jobs.settings import QuarantineSettings
from stream_jobs.sink import Sink
from tests.integration.worker_support import Csv, Desk, desk, rows, still

__all__ = ["desk", "still"]
pytestmark = pytest.mark.services


def records(*bodies: dict[str, Any], task: str = "task", file_id: str = "file", **changes: Any) -> Delta:
    value = b"".join(json.dumps(body, separators=(",", ":")).encode() + b"\n" for body in bodies)
    fields: dict[str, Any] = {"source": "shipper-1"} | changes
    return Delta(FileRef(task, file_id, "/logs/x.jsonl"), 0, len(value), "A", 0, zlib.crc32(value), now(), value, **fields)


def log(step: object, value: object, t: int | None = None) -> dict[str, Any]:
    return {"tw": "log", "t": now() if t is None else t, "s": step, "m": {"x": value}}


def now() -> int:
    return int(time.time() * 1000)


def poison(desk: Desk) -> list[tuple[str, Message]]:
    """(Reason expected, message): every kind of message that is no event of ours."""
    good = Csv(rows(3), file_id="poison").deltas(9)[0]
    whole = desk.message(good)
    headers = dict(whole.headers)

    def with_headers(**changes: bytes | None) -> Message:
        changed = {
            name: value for name, value in (headers | {f"ce_{k}": v for k, v in changes.items()}).items() if value is not None
        }
        return desk.message(good, headers=tuple(changed.items()))

    return [
        ("no-type", desk.message(good, headers=(), value=b"not json")),
        ("no-type", desk.message(good, headers=(), value=b"", key=None)),
        ("no-type", desk.message(good, headers=(), value=None)),
        ("no-type", desk.message(good, headers=(), value=b"[" * 1_000_000)),
        ("no-type", desk.message(good, headers=(), value=b"[1, 2]")),
        ("no-value", desk.message(good, value=None)),
        ("unknown-version", with_headers(type=b"dev.trainwire.delta.v9")),
        ("unknown-type", with_headers(type=b"com.example.other")),
        ("wrong-key", desk.message(good, key=b"another")),
        ("bad-task", with_headers(task=b"x' OR 1=1 --")),
        ("malformed", with_headers(start=b"-5")),
        ("malformed", with_headers(end=b"9" * 30)),
        ("malformed", with_headers(rank=b"first")),
        ("malformed", with_headers(time=b"yesterday")),
        ("malformed", with_headers(fileid=None)),
        ("malformed", with_headers(reading=b"\xff\xfe")),
        ("wrong-length", with_headers(end=b"1")),
        ("unknown-container", with_headers(container=b"tar")),
    ]


def test_b11_messages_that_do_not_decode_are_kept_and_all_others_are_stored(desk: Desk) -> None:
    file = Csv(rows(90))
    bad = poison(desk)
    good = desk.messages(file.deltas(4))
    mixed = [message for pair in zip((message for _, message in bad), good, strict=False) for message in pair] + good[len(bad) :]
    desk.worker(quarantine=QuarantineSettings(ratio=0.9)).take(*mixed)
    assert desk.shows(file)
    letters = desk.query("SELECT offset, reason, hex(value), message FROM dead_letters ORDER BY offset")
    assert [(offset, reason) for offset, reason, _, _ in letters] == [(message.offset, reason) for reason, message in bad]
    assert all(text for *_, text in letters)
    assert [bytes.fromhex(value) for _, _, value, _ in letters] == [message.value or b"" for _, message in bad]


def test_b13_a_row_that_the_store_refuses_is_isolated_and_kept(desk: Desk) -> None:
    bodies = [log(step, float(step)) for step in range(1000)]
    bodies[500]["m"]["x"] = -500.0
    for table, condition in (("points", "value >= 0"), ("log_lines", "position(text, '-500.0') = 0")):
        desk.client.command(f"ALTER TABLE {table} ADD CONSTRAINT only CHECK {condition}")
    try:
        worker = desk.worker()
        worker.take(desk.message(records(*bodies)))
    finally:
        for table in ("points", "log_lines"):
            desk.client.command(f"ALTER TABLE {table} DROP CONSTRAINT only")
    assert [step for *_, step, _ in desk.points()] == [step for step in range(1000) if step != 500]
    assert len(desk.lines()) == 999
    letters = desk.query("SELECT topic, reason, task_id, value FROM dead_letters ORDER BY topic")
    assert [(topic, reason, task) for topic, reason, task, _ in letters] == [
        ("log_lines", "rejected-row", "task"),
        ("points", "rejected-row", "task"),
    ]
    assert json.loads(letters[1][3])["step"] == 500
    assert worker.metrics.value("worker_rejected_rows_total", table="points") == 1


def test_a_store_that_refuses_most_rows_stops_the_worker_and_hides_nothing(desk: Desk) -> None:
    file = Csv(rows(300))
    desk.client.command("ALTER TABLE points ADD CONSTRAINT only CHECK value < 0")
    try:
        with pytest.raises(PermanentError, match="more than 100 rows"):
            desk.worker().take(*desk.messages(file.deltas(50)))
    finally:
        desk.client.command("ALTER TABLE points DROP CONSTRAINT only")
    assert desk.lines() == []
    desk.worker().take(*desk.messages(file.deltas(50)))
    assert desk.shows(file)


def test_b52_what_fits_no_column_is_absent_and_never_wrapped(desk: Desk) -> None:
    steps = [2147483648, 4294967296, 2**63 - 1, 2**63, 2**64, -1, -(2**63)]
    values = [1e39, -1e39, 1e308]
    bodies = [log(step, 1.0) for step in steps] + [log(7, value) for value in values] + [log(step, 0.5) for step in range(100)]
    desk.worker().take(desk.message(records(*bodies)))
    shown = [(step, value) for *_, step, value in desk.points()]
    fitting = [step if -(2**63) <= step < 2**63 else None for step in steps]
    assert shown == [(step, 1.0) for step in fitting] + [(7, value) for value in values] + [(step, 0.5) for step in range(100)]


def test_b38_times_out_of_range_become_the_time_of_arrival_and_are_counted(desk: Desk) -> None:
    arrived = now()
    year, day = 365 * 86_400_000, 86_400_000
    told = [
        0,
        arrived // 1000,
        arrived * 1000,
        arrived + 275 * year,
        arrived - year,
        arrived + day // 2,
        arrived + 2 * day,
        -(2**62),
    ]
    worker = desk.worker()
    worker.take(desk.message(records(*[log(step, 1.0, t) for step, t in enumerate(told)]), arrived))
    kept = [arrived, arrived, arrived, arrived, arrived - year, arrived + day // 2, arrived, arrived]
    for view in ("all_points", "lines"):
        shown = desk.query(f"SELECT toUnixTimestamp64Milli(time), time_known FROM {view} ORDER BY offset")
        assert shown == [(t, t == own) for t, own in zip(kept, told, strict=True)]
    assert worker.metrics.value("worker_clamped_times_total") == 6
    assert desk.query("SELECT uniqExact(_partition_id) FROM points") == [(1,)], "a clock made partitions of its own"


def test_a_header_that_names_another_task_puts_the_whole_file_aside(desk: Desk) -> None:
    header = {"tw": "header", "t": now(), "v": 1, "uuid": "file", "task": "somebody-elses", "rank": 0}
    first = records(header, log(1, 1.0))
    value = json.dumps(log(2, 2.0), separators=(",", ":")).encode() + b"\n"
    second = dataclasses.replace(
        first,
        start=first.end,
        end=first.end + len(value),
        value=value,
        crc_start=first.crc_end,
        crc_end=zlib.crc32(value, first.crc_end),
    )
    other = Csv(rows(5), file_id="other")
    desk.worker().take(*desk.messages([first, *other.deltas(9)]))
    desk.worker().take(desk.message(second))  # a life that never saw the header
    assert desk.shows(other)
    assert desk.points("somebody-elses") == []
    assert desk.query("SELECT reason, count() FROM dead_letters GROUP BY reason") == [("wrong-task", 2)]
    own = {**header, "task": "task", "uuid": "mine"}
    desk.worker().take(desk.message(records(own, log(1, 1.0), file_id="mine")))
    assert ("mine", "x") in [(point[0], point[2]) for point in desk.points()]


def test_one_task_of_bad_messages_is_put_aside_and_others_go_on(desk: Desk) -> None:
    policy = QuarantineSettings(least=20, tasks=2)
    good, sick = Csv(rows(40)), Csv(rows(40), task="sick", file_id="sick")
    worker = desk.worker(quarantine=policy)
    worker.take(*[desk.message(sick.delta(0, 1), key=b"wrong") for _ in range(20)])
    worker.take(*desk.messages([*sick.deltas(9), *good.deltas(9)]))
    assert desk.shows(good)
    assert desk.lines("sick") == []
    assert desk.query("SELECT reason, count() FROM dead_letters GROUP BY reason ORDER BY reason") == [
        ("quarantined", 5),
        ("wrong-key", 20),
    ]
    assert desk.query("SELECT kind FROM events WHERE task_id = 'sick'") == [("quarantined",)]
    assert worker.metrics.value("worker_quarantined_tasks") == 1
    for_later = desk.query("SELECT count() FROM dead_letters WHERE task_id = 'sick' AND length(value) > 0")
    assert for_later == [(25,)]


def test_many_tasks_of_bad_messages_at_once_stop_the_worker(desk: Desk) -> None:
    policy = QuarantineSettings(least=3, tasks=20)
    tasks = [Csv(rows(2), task=f"sick-{number}") for number in range(20)]
    messages = [desk.message(task.delta(0, 1), headers=(("ce_type", b"other"),)) for task in tasks for _ in range(3)]
    with pytest.raises(PermanentError, match="20 tasks at once"):
        desk.worker(quarantine=policy).take(*messages)
    assert desk.raw("dead_letters") == 60


def test_heartbeats_and_ends_are_kept_outside_the_ledger(desk: Desk) -> None:
    file = Csv(rows(5))
    ref = FileRef("task", "file", "/logs/file.csv", rank=3, world_size=8)
    beat = Heartbeat(
        "task", "shipper-1", "node-1", now(), 10_000, (FileState(ref, "A", 99, 50, " 37%|███       | 37/100 [00:10<00:17]"),)
    )
    end = FileEnd(ref, "A", len(file.content), len(file.content) + 3, "farewell", now() + 5, b"abc", "shipper-1")
    desk.worker().take(*desk.messages([*file.deltas(9), beat, end, beat]))
    assert desk.shows(file)
    found = desk.query(
        "SELECT size, offset, open_line, progress_done, progress_total, ended, rank, world_size"
        " FROM heartbeats FINAL ORDER BY sent"
    )
    assert found[0][:2] == (99, 50)
    assert found[0][3:] == (37.0, 100.0, "", 3, 8)
    assert found[1] == (len(file.content) + 3, len(file.content), "abc", None, None, "farewell", 3, 8)
    assert desk.query("SELECT kind, fields['reason'], fields['size'] FROM events") == [
        ("file_end", "farewell", str(len(file.content) + 3))
    ]


def test_a_store_without_our_tables_stops_the_worker_with_what_to_do(desk: Desk) -> None:
    settings = dataclasses.replace(desk.settings, database="nowhere")
    with pytest.raises(PermanentError, match="trainwirectl migrate up"):
        Sink(settings, Metrics("worker"), stop=threading.Event()).query("SELECT 1 FROM file_ranges", {})


def test_a_wrong_password_stops_the_worker_with_what_to_do(desk: Desk) -> None:
    settings = dataclasses.replace(desk.settings, password=Secret("wrong"))
    with pytest.raises(PermanentError, match="TRAINWIRE_CLICKHOUSE_PASSWORD"):
        Sink(settings, Metrics("worker"), stop=threading.Event()).query("SELECT 1", {})


def test_a_store_that_is_away_is_waited_for_and_the_wait_can_be_ended(desk: Desk) -> None:
    settings = dataclasses.replace(desk.settings, url="http://127.0.0.1:9")  # the discard port: nobody listens
    stop, metrics = threading.Event(), Metrics("worker")
    sink = Sink(settings, metrics, stop=stop)
    errors: list[Exception] = []

    def ask() -> None:
        try:
            sink.query("SELECT 1", {})
        except TemporaryError as error:
            errors.append(error)

    thread = threading.Thread(target=ask)
    thread.start()
    deadline = time.monotonic() + 60
    while metrics.value("worker_store_failures_total", reason="connection") < 3 and time.monotonic() < deadline:
        time.sleep(0.05)
    assert sink.trouble
    stop.set()
    thread.join(20)
    assert len(errors) == 1


@pytest.mark.parametrize(
    "file_id", ["a~b", "'); DROP TABLE points --", "back\\slash", "tab\tline\nfeed", "nul\x00", "日本語 🚂", "{x:String}", "%s"]
)
def test_any_name_of_a_file_is_only_a_name(desk: Desk, file_id: str) -> None:
    file = Csv(rows(6), file_id=file_id)
    other = dataclasses.replace(Csv([(step, -1.0) for step in range(1, 7)]), file_id=file_id)
    beat = Heartbeat("task", "shipper-1", "node-1", now(), 10_000, (FileState(file.delta(0, 1).file, "A", 9, 9),))
    events: list[Event] = [*file.deltas(3), beat, *other.deltas(7, "B")]
    for event in events:
        desk.worker().take(desk.message(event))
    fork = [line[1:] for line in other.lines[1:]]
    assert desk.lines() == sorted([*file.lines, *((f"{file_id}~B", *line) for line in fork)])
    assert desk.query("SELECT file_id FROM heartbeats") == [(file_id,)]


def test_halves_of_characters_reach_no_column(desk: Desk) -> None:
    file = Csv(rows(6))
    beat = Heartbeat("task", "shipper-1", "node-1", now(), 10_000, (FileState(file.delta(0, 1).file, "A", 9, 9, "x"),))
    whole = desk.message(beat)
    broken = desk.message(beat, value=(whole.value or b"").replace(b'"open_line":"x"', b'"open_line":"\\ud800"'))
    assert broken.value != whole.value
    lines = b"{'loss': 0.5, 'ac\\ud800c': 0.25}\nloss=2\n{'ac\\ud800c': nan}\n"
    text = Delta(FileRef("task", "dict", "/d"), 0, len(lines), "A", 0, zlib.crc32(lines), now(), lines)
    desk.worker().take(broken, *desk.messages([*file.deltas(4), text]))
    assert [line for line in desk.lines() if line[0] == "file"] == file.lines
    assert desk.query(f"SELECT reason FROM dead_letters WHERE offset = {broken.offset}") == [("malformed",)]
    values = [(point[2], point[-1]) for point in desk.points() if point[0] == "dict"]
    assert values[:3] == [("loss", 0.5), ("ac?c", 0.25), ("loss", 2.0)]
    assert len(values) == 4
