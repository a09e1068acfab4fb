"""Files through everything that happens to them (issue: equal headers, inode reuse, rotation, truncation, replacement)."""

from __future__ import annotations

import os
import pathlib
import shutil
import time

import pytest

from tests.unit.shipper.harness import Rig, numbered, stored, write


@pytest.fixture
def rig(tmp_path: pathlib.Path) -> Rig:
    return Rig(tmp_path)


def test_new_lines_arrive_once_and_half_lines_wait(rig: Rig, tmp_path: pathlib.Path) -> None:
    log = tmp_path / "a.log"
    write(log, "one\ntw")
    rig.run()
    assert rig.texts() == ["one\n"]
    write(log, "o\nthree\n")
    rig.run()
    assert rig.texts() == ["one\ntwo\nthree\n"]
    assert sum(len(d.value) for d in rig.sink.deltas()) == len("one\ntwo\nthree\n")


def test_every_delta_carries_the_tasks_own_patterns(tmp_path: pathlib.Path) -> None:
    """Each of them, since a worker may meet any of them first."""
    rig = Rig(tmp_path, TASK_PATTERNS="a, b=(?P<a>1)\n\n  b=(?P<b>1)\n")
    for part in ("one\n", "two\n"):
        write(tmp_path / "a.log", part)
        rig.run()
    assert [delta.patterns for delta in rig.sink.deltas()] == [("a, b=(?P<a>1)", "b=(?P<b>1)")] * 2


@pytest.mark.parametrize("there", [True, False])
def test_a_folder_stands_for_every_file_below_it(tmp_path: pathlib.Path, there: bool) -> None:
    logs = tmp_path / "logs"
    if there:
        logs.mkdir()
    rig = Rig(tmp_path, LOGS=str(logs) if there else f"{logs}/")
    rig.run()
    write(logs / "rank-0.log", "one\n")
    write(logs / "2026" / "any name", "two\n")
    write(logs / "train.log.gz", "packed\n")
    rig.run()
    assert rig.texts() == ["one\n", "two\n"]
    assert [path.parent for path in rig.checkpoints()] == [logs / ".trainwire"]


def test_a_path_that_turns_out_to_be_a_folder_is_told(tmp_path: pathlib.Path, caplog: pytest.LogCaptureFixture) -> None:
    rig = Rig(tmp_path, LOGS=str(tmp_path / "logs"))
    rig.run()
    write(tmp_path / "logs" / "a.log", "one\n")
    rig.run()
    assert "write its path with a / at the end" in caplog.text
    assert rig.texts() == []


def test_rename_and_a_new_file_at_the_path(rig: Rig, tmp_path: pathlib.Path) -> None:
    log = tmp_path / "x.log"
    write(log, numbered(1, 100))
    rig.run()
    write(log, numbered(101, 120))
    log.rename(tmp_path / "x.log.1")
    write(log, numbered(201, 220))
    write(tmp_path / "x.log.1", numbered(121, 130))
    rig.run(3)
    assert rig.texts() == [numbered(1, 130), numbered(201, 220)]


def test_b07_renames_while_the_broker_is_away(rig: Rig, tmp_path: pathlib.Path) -> None:
    log = tmp_path / "x.log"
    write(log, numbered(1, 3))
    rig.run()
    rig.sink.away = True
    for turn in range(5):
        write(log, numbered(turn * 5000, turn * 5000 + 4999, "row"))
        rig.run(0.4)
        for old in range(turn, 0, -1):
            (tmp_path / f"x.log.{old}").rename(tmp_path / f"x.log.{old + 1}")
        log.rename(tmp_path / "x.log.1")
    write(log, "last\n")
    rig.run(5)
    rig.sink.away = False
    rig.run(5)
    want = [numbered(1, 3) + numbered(0, 4999, "row")] + [numbered(t * 5000, t * 5000 + 4999, "row") for t in range(1, 5)]
    assert rig.texts() == sorted([*want, "last\n"])


def test_copytruncate_takes_the_rest_from_the_copy(rig: Rig, tmp_path: pathlib.Path) -> None:
    log = tmp_path / "x.log"
    write(log, numbered(1, 100))
    rig.run()
    write(log, numbered(101, 200))
    shutil.copy(log, tmp_path / "x.log.1")
    with log.open("r+") as file:
        file.truncate(0)
    rig.run(0.3)
    write(log, numbered(301, 310))
    rig.run(3)
    assert rig.texts() == [numbered(1, 200), numbered(301, 310)]


@pytest.mark.parametrize("glob", ["*.log", "*.log*"])
def test_b07_renames_while_no_shipper_lives(tmp_path: pathlib.Path, glob: str) -> None:
    rig = Rig(tmp_path, LOGS=str(tmp_path / glob))
    log = tmp_path / "a.log"
    write(log, numbered(1, 5, "before"))
    rig.run(3)
    rig.kill()
    said = []
    for life in range(4):
        said.append(f"life {life}\n" + numbered(1, 3 + life))
        for number in range(life, 0, -1):
            (tmp_path / f"a.log.{number}").rename(tmp_path / f"a.log.{number + 1}")
        log.rename(tmp_path / "a.log.1")
        write(log, said[-1])
    rig.start()
    rig.run(3)
    assert rig.texts() == sorted([numbered(1, 5, "before"), *said])


def test_b17_truncation_then_restarts(rig: Rig, tmp_path: pathlib.Path) -> None:
    log = tmp_path / "x.log"
    write(log, numbered(1, 100))
    rig.run()
    log.write_text("")
    write(log, numbered(1, 5, "new"))
    rig.run(3)
    for _ in range(3):
        rig.restart()
        rig.run(3)
    assert rig.texts() == sorted([numbered(1, 100), numbered(1, 5, "new")])
    assert len(rig.sink.deltas()) == 2


def test_kill_continues_the_same_reading(rig: Rig, tmp_path: pathlib.Path) -> None:
    log = tmp_path / "x.log"
    write(log, numbered(1, 100))
    rig.run()
    rig.restart()
    write(log, numbered(101, 110))
    rig.run()
    deltas = rig.sink.deltas()
    assert [d.value.decode() for d in deltas] == [numbered(1, 100), numbered(101, 110)]
    assert len({d.reading for d in deltas}) == 1
    assert stored(deltas)


@pytest.mark.parametrize("tick", [0, 10_000_000], ids=["within a tick", "apart"])
@pytest.mark.parametrize("unseen", [1, 2, 4])
def test_files_of_a_chain_that_nobody_saw_are_told_in_the_order_in_which_they_began(
    rig: Rig, tmp_path: pathlib.Path, unseen: int, tick: int
) -> None:
    """Their first messages number a task's attempts. The pattern matches none of the rotated names."""
    log = tmp_path / "a.log"
    began = time.time_ns() - 10**9

    def rotate(number: int) -> None:
        for at in range(number, 0, -1):
            log.with_name(f"a.log.{at - 1}" if at > 1 else "a.log").rename(log.with_name(f"a.log.{at}"))
        write(log, f"{number}\n")
        os.utime(log, ns=(began, began + number * tick))

    for number in range(3 + unseen):
        rotate(number)
        if number < 3:  # the shipper follows what it saw, at places that are others' by the time it looks again
            rig.run(3)
    rig.run(5)
    assert [delta.value for delta in rig.sink.deltas()] == [b"%d\n" % number for number in range(3 + unseen)]
