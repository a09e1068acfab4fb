"""Each rule of exactly-once works alone: raw rows may be anything, merges are stopped, and every view shows the truth."""

from __future__ import annotations

import dataclasses
import random
import time

import pytest

import stream_jobs.again
import stream_jobs.archive
import stream_jobs.ingest
import stream_jobs.ledger
from schemas.events import FileRef
from stream_jobs.again import Again
from stream_jobs.extract import EXTRACTOR_VERSION, extract
from stream_jobs.files import Files
from tests.integration.worker_support import Csv, Desk, Killed, desk, rows, still

__all__ = ["desk", "still"]
pytestmark = pytest.mark.services


def test_a_file_is_shown_as_it_is(desk: Desk) -> None:
    file = Csv(rows(100))
    desk.worker().take(*desk.messages(file.deltas(7)))
    assert desk.shows(file)
    assert desk.query("SELECT start, end, cold FROM file_ranges") == [(0, len(file.content), 0)]
    assert desk.query("SELECT written, stored, verdict FROM completeness") == [
        (len(file.content), len(file.content), "stored so far")
    ]


def test_what_is_delivered_again_is_dropped_by_the_same_worker_and_by_the_next(desk: Desk) -> None:
    file = Csv(rows(60))
    messages = desk.messages(file.deltas(5))
    first, second = desk.worker(), desk.worker()
    first.take(*messages)
    stored = desk.raw("points"), desk.raw("log_lines")
    first.take(*messages[3:])
    second.take(*messages[:8])
    assert desk.shows(file)
    assert (desk.raw("points"), desk.raw("log_lines")) == stored
    assert first.metrics.value("worker_repeats_total", kind="redelivered") == len(messages) - 3
    assert second.metrics.value("worker_repeats_total", kind="redelivered") == 8


def test_a_batch_that_comes_again_costs_a_few_questions_and_not_one_a_message(desk: Desk) -> None:
    files = [Csv(rows(150), file_id=name) for name in ("a", "b")]
    messages = desk.messages([delta for pair in zip(*(file.deltas(1) for file in files), strict=True) for delta in pair])
    desk.worker().take(*messages)
    again, rest = desk.worker(), desk.worker(size=100)
    again.take(*messages)
    assert again.sink.questions < 10
    assert again.metrics.value("worker_repeats_total", kind="redelivered") == len(messages)
    more = [Csv(rows(200), file_id=name) for name in ("a", "b")]
    rest.take(*messages[200:], *desk.messages([delta for file in more for delta in file.deltas(4, "B", first=80)]))
    assert rest.metrics.value("worker_repeats_total", kind="unverified") == 0
    assert desk.shows(*more)


@pytest.mark.parametrize("seed", range(4))
def test_in_any_order_a_header_reaches_all_rows_below_it(desk: Desk, seed: int) -> None:
    file = Csv(rows(60))
    messages = desk.messages(file.deltas(4))
    random.Random(seed).shuffle(messages)
    worker = desk.worker()
    for number, message in enumerate(messages):
        worker.take(message)
        if number % 5 == seed:
            worker = desk.worker()  # a restart: what is cold is known by the next one, too
    assert desk.shows(file)
    assert desk.query("SELECT max(cold) FROM file_ranges") == [(1,)], "the shuffle left no gap"


def test_what_is_cold_is_shown_as_far_as_it_is_understood_and_healed_by_the_next_worker(desk: Desk) -> None:
    file = Csv(rows(9))
    head, middle, tail = desk.messages(file.deltas(4))
    desk.worker().take(head, tail)
    assert desk.lines() == [line for line in file.lines if not 4 <= file.starts.index(line[1]) < 8]
    assert len(desk.points()) == 3
    with pytest.raises(Killed):  # the gap closes, and the worker dies before it heals
        desk.worker(dies=("after", "file_ranges")).take(middle)
    desk.worker().take(middle)
    assert desk.shows(file)


def test_overlapping_deltas_of_one_reading_store_only_what_is_new(desk: Desk) -> None:
    file = Csv(rows(40))
    worker = desk.worker()
    worker.take(*desk.messages([file.delta(0, 10), file.delta(10, 17)]))
    worker.take(*desk.messages([file.delta(5, 30), file.delta(12, 41)]))
    assert desk.shows(file)
    assert desk.raw("log_lines") == 41


@pytest.mark.parametrize("restart", [False, True])
@pytest.mark.parametrize("lines", [1, 3, 50])
def test_a_lost_checkpoint_doubles_nothing_however_the_file_is_cut_again(desk: Desk, lines: int, restart: bool) -> None:
    file = Csv(rows(40))
    worker = desk.worker()
    worker.take(*desk.messages(file.deltas(7, "A", last=28)))
    if restart:
        worker = desk.worker()
    for message in desk.messages(file.deltas(lines, "B")):
        worker.take(message)
    assert desk.shows(file)
    assert desk.raw("log_lines") == 41
    assert worker.metrics.value("worker_forks_total") == 0
    assert worker.metrics.value("worker_repeats_total", kind="reread") > 0
    assert worker.metrics.value("worker_repeats_total", kind="unverified") == 0


@pytest.mark.parametrize("lines", [1, 4, 50])
def test_a_file_rewritten_after_a_lost_checkpoint_is_another_file_from_the_difference_on(desk: Desk, lines: int) -> None:
    old = Csv(rows(20))
    new = Csv([*rows(9), *((step, -value) for step, value in rows(21, 10))])  # equal up to line 9, other values from there
    fork = dataclasses.replace(new, file_id="file~B")
    desk.worker().take(*desk.messages(old.deltas(6, "A")))
    messages = desk.messages(new.deltas(lines, "B"))
    # From the end of the old file on, each in a life of its own: there is nothing to compare with any more, and that the
    # reading is another file is known from the store alone.
    lives = [message for message, sent in zip(messages, new.deltas(lines, "B"), strict=True) if sent.end > len(old.content)][:4]
    first = desk.worker()
    first.take(*messages[: messages.index(lives[0])])
    for message in lives:
        desk.worker().take(message)
    last = desk.worker()
    last.take(*messages[messages.index(lives[-1]) :])
    last.take(*messages)
    expected_lines = old.lines + [line for line in fork.lines if line[1] >= fork.starts[10]]
    expected_points = old.points + [point for point in fork.points if point[1] >= fork.starts[10]]
    assert desk.lines() == sorted(expected_lines)
    assert desk.points() == sorted(expected_points), "the header above the difference holds for the rows below it"
    assert desk.query("SELECT DISTINCT parent, parent_end FROM files WHERE file_id = 'file~B'") == [("file", fork.starts[10])]
    events = desk.query("SELECT kind, file_id, fields['parent'] FROM events WHERE kind = 'file_forked'")
    assert events == [("file_forked", "file~B", "file")]


def test_what_the_ledger_can_no_longer_prove_is_dropped_and_counted(desk: Desk) -> None:
    file = Csv(rows(20))
    desk.worker().take(*desk.messages(file.deltas(5, "A", last=15)))
    desk.client.command("TRUNCATE TABLE ledger")
    worker = desk.worker()
    worker.take(*desk.messages(file.deltas(10, "B")))
    assert desk.lines() == file.lines
    assert worker.metrics.value("worker_repeats_total", kind="unverified") == 2


STEPS = [(when, table) for table in ("points", "log_lines", "ledger", "file_ranges") for when in ("before", "after")]


@pytest.mark.parametrize("dies", STEPS, ids=["-".join(step) for step in STEPS])
def test_a_kill_between_inserts_and_ledger_shows_nothing_before_and_all_once_after(desk: Desk, dies: tuple[str, str]) -> None:
    file = Csv(rows(30))
    first, rest = desk.messages(file.deltas(11))[:1], desk.messages(file.deltas(11))[1:]
    desk.worker().take(*first)
    with pytest.raises(Killed):
        desk.worker(dies=dies).take(*rest)
    if dies != ("after", "file_ranges"):
        assert (len(desk.lines()), len(desk.points())) == (11, 10), "rows are seen before their byte range stands"
    desk.worker().take(*rest)
    assert desk.shows(file)
    desk.worker().take(*first, *rest)
    assert desk.shows(file)


def ghost(state, lines, options):  # type: ignore[no-untyped-def]  # what lines seem to say to whom their header is unknown
    state, points, events = extract(state, lines, options)
    points.add(0, ("ghost",), [1.0], None, None, None, "pairs")
    return state, points, events


def test_a_cold_extraction_that_was_cut_off_is_never_shown_as_the_warm_one(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    file = Csv(rows(12))
    head, inner, tail = desk.messages([file.delta(0, 1), file.delta(1, 6), file.delta(6, 13)])
    with monkeypatch.context() as patch:
        patch.setattr(stream_jobs.ingest, "extract", ghost)
        with pytest.raises(Killed):
            desk.worker(dies=("before", "ledger")).take(inner)
    assert desk.query("SELECT name FROM points") == [("ghost",)]
    desk.worker().take(head, inner, tail)
    assert desk.shows(file)


def newer(state, lines, options):  # type: ignore[no-untyped-def]  # an extractor of the next version
    state, points, events = extract(state, lines, options)
    points.names = [tuple(f"v2/{name}" for name in names) for names in points.names]
    return state, points, events


def test_a_newer_extractor_in_the_middle_goes_on_from_the_older_ones_state(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    file = Csv(rows(40))
    old, new = desk.messages(file.deltas(5))[:4], desk.messages(file.deltas(5))[3:]
    worker = desk.worker()
    worker.take(*old)
    monkeypatch.setattr(stream_jobs.ledger, "EXTRACTOR_VERSION", EXTRACTOR_VERSION + 1)
    for module in (stream_jobs.ingest, stream_jobs.again, stream_jobs.archive):
        monkeypatch.setattr(module, "extract", newer)
    desk.worker().take(*new)
    border = file.starts[20]
    expected = [(f, o, "v2/loss" if o >= border else n, s, v) for f, o, n, s, v in file.points]
    assert desk.points() == expected
    monkeypatch.undo()
    worker.take(*desk.messages(file.deltas(5))[2:])  # a zombie of the old version, with an old view of the file
    assert desk.points() == expected
    assert desk.lines() == file.lines


REPLAY_STEPS = [
    ("before", "points"),
    ("after", "points"),
    ("before", "ledger"),
    ("before", "file_ranges"),
    ("after", "file_ranges"),
]


@pytest.mark.parametrize("dies", REPLAY_STEPS, ids=["-".join(step) for step in REPLAY_STEPS])
def test_a_replay_cut_off_anywhere_shows_the_old_or_the_new_rows_never_both(
    desk: Desk, dies: tuple[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    file = Csv(rows(30))
    worker = desk.worker()
    worker.take(*desk.messages(file.deltas(10, last=21)))
    with monkeypatch.context() as patch:
        patch.setattr(stream_jobs.again, "extract", newer)
        with pytest.raises(Killed):
            replay(desk, dies)
        old = file.points[:20]
        new = [(f, o, "v2/loss", s, v) for f, o, _, s, v in old]
        assert desk.points() == (new if dies == ("after", "file_ranges") else old)
        assert replay(desk, None) == (file.starts[21], file.starts[21])
        assert desk.points() == new
    worker.take(*desk.messages(file.deltas(10)))  # the live worker goes on, with replay number 0
    assert desk.points() == new + file.points[20:]
    assert desk.lines() == file.lines


def replay(desk: Desk, dies: tuple[str, str] | None) -> tuple[int, int]:
    worker = desk.worker(dies=dies)
    again: Again = worker.ingest._again
    return again.replay(worker.ingest.archive.load([("task", "file")])["task", "file"])


def test_a_replay_keeps_the_old_revision_where_lines_are_gone(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    file = Csv(rows(30))
    worker = desk.worker()
    for message in desk.messages(file.deltas(10)):
        worker.take(message)
    desk.keep("log_lines", f"offset >= {file.starts[7]}")
    monkeypatch.setattr(stream_jobs.again, "extract", newer)
    extracted, stored = replay(desk, None)
    border = file.starts[10]  # from line 7 on there is text, but what the header said is known only where a batch ended
    assert (extracted, stored) == (len(file.content) - border, len(file.content))
    assert desk.points() == [(f, o, "v2/loss" if o >= border else n, s, v) for f, o, n, s, v in file.points]


@pytest.mark.parametrize("dies", REPLAY_STEPS, ids=["-".join(step) for step in REPLAY_STEPS])
def test_healing_cut_off_anywhere_is_done_again(desk: Desk, dies: tuple[str, str]) -> None:
    file = Csv(rows(30))
    head, middle, tail = desk.messages(file.deltas(11))
    worker = desk.worker()
    worker.take(tail)
    worker.take(head)
    worker.ingest._again._sink = desk.worker(dies=dies).sink  # healing ends there, the batch before it does not
    with pytest.raises(Killed):
        worker.take(middle)
    desk.worker().take(middle)
    assert desk.shows(file)
    desk.worker().take(head, middle, tail)
    assert desk.shows(file)


def test_a_zombie_that_ends_late_changes_nothing(desk: Desk) -> None:
    file = Csv(rows(30))
    zombie, heir = desk.worker(), desk.worker()
    messages = desk.messages(file.deltas(4))
    zombie.take(*messages[:2])
    heir.take(*messages)
    zombie.take(*messages[1:5])  # from its own memory, in which those bytes are not stored
    assert desk.shows(file)
    assert desk.query("SELECT max(end) FROM file_ranges") == [(len(file.content),)]


def test_the_same_token_is_never_given_to_other_rows(desk: Desk) -> None:
    """Bytes of the same place in the same file, with the same end: what differs must be stored all the same."""
    one, other = Csv(rows(5), file_id="one"), Csv(rows(5), file_id="other")
    arrived = int(time.time() * 1000)
    for file in (one, other):
        desk.worker().take(desk.message(file.delta(0, 6, time=arrived), arrived))
    assert desk.shows(one, other)


def test_small_batches_show_the_same_as_one(desk: Desk) -> None:
    files = [Csv(rows(40), file_id=f"file-{number}") for number in range(4)]
    desk.worker(size=64).take(*desk.messages([delta for file in files for delta in file.deltas(3)]))
    assert desk.shows(*files)


def test_rotations_that_arrive_together_are_attempts_in_their_order(desk: Desk) -> None:
    """Found by chaos: a chain of renames within one batch of the broker's was ordered by file id."""
    files = [Csv(rows(5, 1 + 5 * number), file_id=file_id) for number, file_id in enumerate("dbeac")]
    deltas = [dataclasses.replace(file.delta(0, 6), file=FileRef("task", file.file_id, "/logs/x.csv")) for file in files]
    now = int(time.time() * 1000)
    messages = [dataclasses.replace(message, arrived=now) for message in desk.messages(deltas)]
    desk.worker().take(*messages)
    desk.worker().take(*messages)
    found = desk.query("SELECT file_id FROM files WHERE task_id = 'task' ORDER BY attempt")
    assert [file_id for (file_id,) in found] == [file.file_id for file in files]
    assert desk.query("SELECT count() FROM curves_stitched WHERE task_id = 'task'") == [(25,)]


def test_files_that_had_to_be_forgotten_are_known_again_when_they_go_on(desk: Desk) -> None:
    files = [Csv(rows(12), file_id=f"file-{number}") for number in range(5)]
    other = Csv([(step, -value) for step, value in rows(12)], file_id="file-0")
    worker = desk.worker()
    worker.files = Files(worker.ingest.archive, most=3)
    for first in range(0, 13, 4):
        for file in files:
            worker.take(*desk.messages(file.deltas(4, first=first, last=min(first + 4, 13))))
        worker.take(*desk.messages(other.deltas(4, "B", first=first, last=min(first + 4, 13))))
    fork = dataclasses.replace(other, file_id="file-0~B")
    everything = [line for file in files for line in file.lines] + fork.lines[1:]
    assert desk.lines() == sorted(everything)
    assert desk.points() == sorted([point for file in files for point in file.points] + fork.points)
    assert desk.raw("log_lines") == len(everything)
