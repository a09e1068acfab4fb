"""Ids, heartbeats and ends: what a shipper says about a file besides its bytes."""

from __future__ import annotations

import pathlib

import pytest

from schemas.events import Delta, FileEnd
from tests.unit.shipper.harness import Rig, numbered, write

UUID = "0b6f8e0a-5d1c-4a53-9a0e-3f1f6f0c7a11"
HEADER = f'{{"tw":"header","t":1,"v":1,"uuid":"{UUID}","task":"other","start":"s-7","attempt":2,"rank":3,"world":8,"pid":1}}\n'
END = '{"tw":"end","t":2,"status":"succeeded","code":0}\n'


@pytest.fixture
def rig(tmp_path: pathlib.Path) -> Rig:
    return Rig(tmp_path, START_ID="pod-1", RANK="1", TASK_NAME="模型 A")


def test_a_header_says_everything_but_the_task(rig: Rig, tmp_path: pathlib.Path) -> None:
    write(tmp_path / "a.log", HEADER + "{}\n")
    rig.run()
    (delta,) = rig.sink.deltas()
    file = delta.file
    assert (file.task, file.file_id, file.name) == ("t1", UUID, "模型 A")
    assert (file.start_id, file.attempt, file.rank, file.world_size) == ("s-7", 2, 3, 8)


@pytest.mark.parametrize(
    "line",
    [
        '{"tw":"header","uuid":"../../x"}',
        '{"tw":"header","uuid":7}',
        '{"tw":"header","t":1}',
        '{"tw":"header"',
        '{"tw":"header","uuid":"' + "a" * 500 + '"}',
        '{"tw":"header"' + "[" * 100_000,
    ],
)
def test_a_header_that_cannot_be_used_is_a_line(rig: Rig, tmp_path: pathlib.Path, line: str) -> None:
    write(tmp_path / "a.log", line + "\n")
    rig.run()
    (delta,) = rig.sink.deltas()
    assert delta.file.file_id.startswith("h-")
    assert (delta.file.start_id, delta.file.rank) == ("pod-1", 1)


def test_ids_follow_from_task_start_rank_path_and_first_line(tmp_path: pathlib.Path) -> None:
    def ids(content: str, name: str = "a.log", **environ: str) -> set[str]:
        for old in tmp_path.glob("*.log"):
            old.unlink()
        rig = Rig(tmp_path, None, **{"SHIPPER_STATE_DIR": str(tmp_path / f"state{len(seen)}"), **environ})
        write(tmp_path / name, content)
        rig.run()
        rig.kill()
        found = {delta.file.file_id for delta in rig.sink.deltas()}
        seen.append(found)
        return found

    seen: list[set[str]] = []
    first = ids("one\ntwo\n")
    assert ids("one\nthree\n") == first, "fixed by the first line alone"
    for other in (
        ids("other\n"),
        ids("one\n", name="b.log"),
        ids("one\n", RANK="1"),
        ids("one\n", START_ID="x"),
        ids("one\n", TASK_ID="t2"),
    ):
        assert other != first


def test_task_rank_and_attempt_from_the_path(tmp_path: pathlib.Path, caplog: pytest.LogCaptureFixture) -> None:
    pattern = r"/runs/(?P<task>[^/]+)/(?P<attempt>\d+)/rank(?P<rank>\d+)\.log$"
    rig = Rig(tmp_path, TASK_ID="", TASK_FROM=pattern)
    write(tmp_path / "runs" / "bert-7" / "2" / "rank3.log", "a\n")
    write(tmp_path / "runs" / "bad'task" / "1" / "rank0.log", "b\n")
    write(tmp_path / "elsewhere.log", "c\n")
    rig.run()
    (delta,) = rig.sink.deltas()
    assert (delta.file.task, delta.file.attempt, delta.file.rank) == ("bert-7", 2, 3)
    assert rig.metrics.value("shipper_file_errors_total", reason="no-task") == 2
    assert caplog.text.count("no task id in its path") == 2


def test_heartbeats_come_soon_on_change_and_every_ten_seconds(rig: Rig, tmp_path: pathlib.Path) -> None:
    rig.run(0.5)
    (first,) = rig.sink.beats()
    assert (first.task, first.source, first.interval, first.files) == ("t1", "s1", 10_000, ())
    write(tmp_path / "a.log", "one\n 37%|### | loss=0.412\r 38%|### | loss=0.411")
    rig.run(2.5)
    *_, second = rig.sink.beats()
    (state,) = second.files
    assert (state.size, state.offset, state.open_line) == (47, 4, " 38%|### | loss=0.411")
    assert state.file.file_id == rig.sink.deltas()[0].file.file_id
    before = len(rig.sink.beats())
    rig.run(60)
    assert 5 <= len(rig.sink.beats()) - before <= 7


def newest_word(rig: Rig) -> str:
    """Of all that was said of the file, what has the latest time: its end's reason, or nothing."""
    said = [(beat.time, "") for beat in rig.sink.beats() for state in beat.files if state.file.file_id == UUID]
    assert said
    return max(said + [(end.time, end.reason) for end in rig.sink.ends()])[1]


def test_a_file_s_end_is_its_last_word_as_views_take_it(rig: Rig, tmp_path: pathlib.Path) -> None:
    """The newest word by the shipper's own time counts: one behind the end would say for ever that the file may grow."""
    write(tmp_path / "a.log", HEADER + "{}\n")
    rig.run(5)
    write(tmp_path / "a.log", END)
    rig.run(60)
    assert newest_word(rig) == "end-record"


def test_a_clock_that_jumps_hides_no_end_and_turns_no_order(rig: Rig, tmp_path: pathlib.Path) -> None:
    write(tmp_path / "a.log", HEADER)
    for ahead in (0.0, 3600.0, -3600.0, 0.0, -3600.0):
        rig.ahead = ahead
        write(tmp_path / "a.log", f"at {ahead}\n")
        rig.run(25)
    write(tmp_path / "a.log", END)
    rig.run(5)
    times = [event.time for event in rig.sink.log]
    assert times == sorted(times)
    assert len(rig.sink.beats()) > 10, "it goes on saying that it lives"
    assert newest_word(rig) == "end-record"


def test_heartbeats_cost_no_memory_while_the_broker_is_away(rig: Rig, tmp_path: pathlib.Path) -> None:
    write(tmp_path / "a.log", "one\n")
    rig.run()
    rig.sink.away = True
    rig.run(300, step=1)
    assert len(rig.sink._waiting) <= 1


def test_the_end_record_ends_a_file_once_and_more_bytes_go_on(rig: Rig, tmp_path: pathlib.Path) -> None:
    log = tmp_path / "a.log"
    write(log, HEADER + "{}\n" + END)
    rig.run(5)
    (end,) = rig.sink.ends()
    assert (end.reason, end.offset, end.size, end.file.file_id) == ("end-record", log.stat().st_size, log.stat().st_size, UUID)
    assert rig.shipper.all_ended()
    write(log, "a grandchild still prints\n")
    rig.run(5)
    assert not rig.shipper.all_ended()
    write(log, END)
    rig.run(5)
    assert rig.sink.ends()[-1].offset == log.stat().st_size
    assert rig.shipper.all_ended()


def test_an_ended_file_is_known_as_ended_after_a_restart(rig: Rig, tmp_path: pathlib.Path) -> None:
    write(tmp_path / "a.log", HEADER + END)
    rig.run(5)
    rig.restart()
    rig.run(5)
    assert len(rig.sink.deltas()) == 1
    assert rig.shipper.all_ended()


def test_the_only_line_of_a_file_without_a_break_arrives_before_its_end(rig: Rig, tmp_path: pathlib.Path) -> None:
    write(tmp_path / "a.log", "all that it ever said")
    rig.run(5)
    assert not rig.sink.deltas()
    rig.shipper.leave("container-ended", rig.now)
    rig.run(2)
    assert rig.shipper.finished()
    assert rig.texts() == ["all that it ever said"]
    assert rig.sink.ends()[0].offset == len("all that it ever said")


def test_leaving_waits_neither_for_what_is_gone_nor_forgets_what_comes(rig: Rig, tmp_path: pathlib.Path) -> None:
    write(tmp_path / "a.log", numbered(1, 9))
    rig.run(3)
    rig.kill()
    (tmp_path / "a.log").unlink()
    rig.start()
    rig.shipper.leave("shutdown", rig.now)
    write(tmp_path / "late.log", "half")
    rig.run(2)
    assert rig.shipper.finished()
    assert rig.texts() == sorted([numbered(1, 9), "half"])


def test_a_copy_is_not_sent_even_when_the_training_ends(tmp_path: pathlib.Path) -> None:
    rig = Rig(tmp_path, LOGS=str(tmp_path / "*"))
    write(tmp_path / "a.log", numbered(1, 9))
    rig.run(3)
    write(tmp_path / "a.log.bak", numbered(1, 9))
    rig.run(30)
    rig.shipper.leave("shutdown", rig.now)
    rig.run(3)
    assert rig.shipper.finished()
    assert rig.texts() == [numbered(1, 9)]


def test_a_copy_that_goes_on_by_itself_is_a_file_of_its_own(tmp_path: pathlib.Path) -> None:
    rig = Rig(tmp_path, LOGS=str(tmp_path / "*"))
    write(tmp_path / "a.log", numbered(1, 9))
    rig.run(3)
    write(tmp_path / "a.log.bak", numbered(1, 9))
    rig.run(5)
    write(tmp_path / "a.log.bak", "more\n")
    rig.run(5)
    assert rig.texts() == [numbered(1, 9), numbered(1, 9) + "more\n"]


def test_a_line_that_only_mentions_the_end_record_ends_nothing(rig: Rig, tmp_path: pathlib.Path) -> None:
    write(tmp_path / "a.log", "x " + END + END + "more\n")
    rig.run(5)
    assert not rig.sink.ends()


def test_an_end_comes_after_everything_before_it(rig: Rig, tmp_path: pathlib.Path) -> None:
    rig.sink.failing = "KafkaTimeoutError"
    write(tmp_path / "a.log", numbered(1, 1000) + END)
    rig.run(5)
    assert not rig.sink.ends()
    rig.sink.failing = ""
    rig.run(10)
    assert isinstance(rig.sink.log[-1], FileEnd) or any(isinstance(event, FileEnd) for event in rig.sink.log)
    last_delta = max(at for at, event in enumerate(rig.sink.log) if not isinstance(event, FileEnd) and event in rig.sink.deltas())
    assert rig.sink.log.index(rig.sink.ends()[0]) > last_delta


def test_truncated_replaced_and_deleted_files_end_with_that_reason(rig: Rig, tmp_path: pathlib.Path) -> None:
    for name in ("t", "r", "d"):
        write(tmp_path / f"{name}.log", f"{name} first\nhalf")
    rig.run(3)
    (tmp_path / "t.log").write_text("t again\n")
    (tmp_path / "tmp").write_text("r again\n")
    (tmp_path / "tmp").replace(tmp_path / "r.log")
    (tmp_path / "d.log").unlink()
    rig.run(5)
    assert {(end.file.path[-5:], end.reason) for end in rig.sink.ends()} == {
        ("t.log", "truncated"),
        ("r.log", "replaced"),
        ("d.log", "deleted"),
    }
    assert rig.texts() == sorted(["t first\n", "t again\n", "r first\nhalf", "r again\n", "d first\nhalf"])
    assert rig.metrics.value("shipper_lost_bytes_total", reason="truncated") == len("half")


def test_reading_stops_at_the_bound_and_shares_it(tmp_path: pathlib.Path) -> None:
    rig = Rig(tmp_path, SHIPPER_IN_FLIGHT_BYTES="2000000")
    rig.sink.away = True
    for name in "abcd":
        write(tmp_path / f"{name}.log", numbered(1, 200_000, name))
    rig.run(5)
    assert rig.shipper.pump.in_flight <= 2_000_000
    assert {event.file.path[-5] for event, _ in rig.sink._waiting if isinstance(event, Delta)} == set("abcd")
    rig.sink.away = False
    rig.run(10)
    assert rig.texts() == [numbered(1, 200_000, name) for name in "abcd"]
    assert rig.shipper.pump.in_flight == 0
