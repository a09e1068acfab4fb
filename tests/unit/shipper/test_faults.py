"""Faults that users of such programs reported, one test each."""

from __future__ import annotations

import errno
import json
import os
import pathlib
import resource
import tracemalloc

import pytest

from producers.shipper import checkpoint
from schemas.framing import LINE_LIMIT, frame
from tests.unit.shipper.harness import Rig, inode, numbered, stored, write


@pytest.fixture
def rig(tmp_path: pathlib.Path) -> Rig:
    return Rig(tmp_path)


def test_b01_last_line_without_a_break(tmp_path: pathlib.Path) -> None:
    """Variants 1 and 2: the end is known, so the tail is a line. Variant 3: the writer lives, so it waits."""
    log = tmp_path / "a.log"
    rig = Rig(tmp_path)
    write(log, numbered(1, 9) + "step=10 loss=0.10")
    rig.run(120)
    assert rig.texts() == [numbered(1, 9)]
    write(log, "5\n")
    rig.run()
    assert rig.texts() == [numbered(1, 9) + "step=10 loss=0.105\n"]
    write(log, "final=0.5")
    rig.run()
    rig.shipper.leave("shutdown", rig.now)
    rig.run(1)
    assert rig.shipper.finished()
    assert rig.texts() == [numbered(1, 9) + "step=10 loss=0.105\nfinal=0.5"]
    assert [(end.reason, end.offset) for end in rig.sink.ends()] == [("shutdown", log.stat().st_size)]


def test_b01_a_farewell_carries_the_half_line_outside_the_points(rig: Rig, tmp_path: pathlib.Path) -> None:
    write(tmp_path / "a.log", "one\nhalf")
    rig.run()
    rig.shipper.leave("farewell", rig.now)
    rig.run(1)
    assert rig.texts() == ["one\n"]
    (end,) = rig.sink.ends()
    assert (end.reason, end.offset, end.tail, end.known) == ("farewell", 4, b"half", False)


def test_b03_the_position_never_runs_ahead_of_the_broker(rig: Rig, tmp_path: pathlib.Path) -> None:
    log = tmp_path / "a.log"
    write(log, numbered(1, 10))
    rig.run()
    acknowledged = log.stat().st_size
    rig.sink.away = True
    write(log, numbered(11, 10_000))
    rig.run(30)
    (saved,) = checkpoint.decode(rig.checkpoints()[0].read_bytes()).entries
    assert saved.position.offset == acknowledged
    rig.restart()
    rig.sink.away = False
    rig.run(3)
    assert rig.texts() == [numbered(1, 10_000)]


@pytest.mark.parametrize("stopped", [True, False])
@pytest.mark.parametrize("name", ["a.log", "b.log"])
def test_b06_an_inode_used_again(rig: Rig, tmp_path: pathlib.Path, stopped: bool, name: str) -> None:
    log = tmp_path / "a.log"
    write(log, numbered(1, 500, "old"))
    before = inode(log)
    rig.run(3)
    rig.shipper.care.handles.close_all()  # as if there were many files: an open handle would keep the inode from being reused
    if stopped:
        rig.kill()
    log.unlink()
    for _ in range(50):  # others on this file system may take the number first
        write(tmp_path / name, numbered(1, 800, "new"))
        if inode(tmp_path / name) == before:
            break
        (tmp_path / name).unlink()
    else:
        pytest.skip("this file system did not give the inode again")
    if stopped:
        rig.start()
    rig.run(10)
    assert rig.texts() == sorted([numbered(1, 500, "old"), numbered(1, 800, "new")])
    assert sum(len(delta.value) for delta in rig.sink.deltas()) == len(numbered(1, 500, "old") + numbered(1, 800, "new"))


@pytest.mark.parametrize("size", [LINE_LIMIT - 1, LINE_LIMIT, LINE_LIMIT + 1, 20 * 1024 * 1024])
def test_b18_a_huge_line(rig: Rig, tmp_path: pathlib.Path, size: int) -> None:
    log = tmp_path / "a.log"
    write(log, numbered(1, 60) + "x" * size + "\n" + numbered(61, 100))
    tracemalloc.start()
    rig.run(5)
    rig.restart()
    rig.run(5)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert stored(rig.sink.deltas())
    lines = [line for delta in rig.sink.deltas() for line in _lines(delta)]
    assert [text for text, continued in lines if text.startswith("line")] == numbered(1, 100).split("\n")[:-1]
    pieces = [(len(text), continued) for text, continued in lines if text.startswith("x")]
    assert sum(length for length, _ in pieces) == size
    assert all(length <= LINE_LIMIT for length, _ in pieces)
    assert [continued for _, continued in pieces] == [False] + [True] * (len(pieces) - 1)
    assert rig.metrics.value("shipper_long_lines_total") == 0 or size > LINE_LIMIT
    assert sum(len(delta.value) for delta in rig.sink.deltas()) == log.stat().st_size, "nothing was sent twice"
    assert peak < 64 * 1024 * 1024  # the in-flight bound, what the sink keeps of 20 MiB, and little else


def _lines(delta: object) -> list[tuple[str, bool]]:
    lines = frame(delta.value, delta.start, delta.container, continuation=delta.continuation)  # type: ignore[attr-defined]
    return [(text, at in lines.continuations) for at, text in enumerate(lines.texts)]


@pytest.mark.parametrize("at", [4095, 4096, 4097, 65535, 65536, 65537, 131071, 131072])
def test_b19_signs_at_block_borders_and_bytes_that_are_no_text(rig: Rig, tmp_path: pathlib.Path, at: int) -> None:
    log = tmp_path / "a.log"
    content = b"\xef\xbb\xbfloss=1\n" + b"y" * (at - 11) + "€uro\n".encode() + b"\xe2\x96A\nx\xff\xfey\r\nNUL \x00 end\r\ngood\n"
    for first in range(0, len(content), 1000):
        write(log, content[first : first + 1000])
        rig.run(0.1)
    rig.run()
    assert list(stored(rig.sink.deltas()).values()) == [content]
    lines = [text for delta in rig.sink.deltas() for text, _ in _lines(delta)]
    assert lines[0] == "loss=1"
    assert lines[1].endswith("y€uro")
    assert lines[-1] == "good"


def test_b20_deleted_while_the_broker_is_away(rig: Rig, tmp_path: pathlib.Path) -> None:
    log = tmp_path / "a.log"
    rig.sink.away = True
    write(log, numbered(1, 5000))
    rig.run()
    log.unlink()
    rig.run(60)
    rig.sink.away = False
    rig.run(5)
    assert rig.texts() == [numbered(1, 5000)]
    assert [end.reason for end in rig.sink.ends()] == ["deleted"]
    assert len(rig.shipper.care.handles) == 0
    assert not rig.shipper.care.all


def test_b20_giving_up_a_deleted_file_is_counted(tmp_path: pathlib.Path) -> None:
    rig = Rig(tmp_path, SHIPPER_DELETED_SECONDS="600", SHIPPER_IN_FLIGHT_BYTES="2000000")
    log = tmp_path / "a.log"
    rig.sink.away = True
    write(log, b"z" * 99 + b"\n")
    rig.run()
    write(log, (b"z" * 99 + b"\n") * 50_000)
    rig.run(0.3)
    log.unlink()
    rig.run(700, step=5)
    assert rig.metrics.value("shipper_lost_bytes_total", reason="deleted") > 1_000_000
    assert len(rig.shipper.care.handles) == 0


def test_b44_more_files_than_handles(tmp_path: pathlib.Path, caplog: pytest.LogCaptureFixture) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    used = sum(1 for _ in pathlib.Path("/proc/self/fd").iterdir())
    resource.setrlimit(resource.RLIMIT_NOFILE, (used + 64, hard))
    try:
        rig = Rig(tmp_path, SHIPPER_MAX_OPEN_FILES="100000")
        for n in range(200):
            write(tmp_path / f"{n}.log", numbered(1, 5, f"file {n}"))
        rig.run(3)
        for n in range(200):
            write(tmp_path / f"{n}.log", numbered(6, 9, f"file {n}"))
        rig.run(3)
        assert len(rig.shipper.care.handles) < used + 64
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    assert rig.texts() == sorted(numbered(1, 9, f"file {n}") for n in range(200))
    assert "ulimit -n" in caplog.text


@pytest.mark.parametrize("replace", [False, True])
def test_b46_a_file_that_is_written_whole_at_each_save(rig: Rig, tmp_path: pathlib.Path, replace: bool) -> None:
    csv = tmp_path / "metrics.log"
    header, rows = "epoch,loss\n", ""
    for epoch in range(50):
        if epoch == 20:  # a column more: another file, from its start
            header, rows = "epoch,loss,acc\n", "".join(f"{n},0.{n},\n" for n in range(20))
        rows += f"{epoch},0.{epoch}\n" if epoch < 20 else f"{epoch},0.{epoch},0.9\n"
        if replace:
            (tmp_path / "tmp").write_text(header + rows)
            (tmp_path / "tmp").replace(csv)
        else:
            with csv.open("w") as file:
                file.write(header)
                file.flush()
                rig.run(0.1)
                file.write(rows)
        rig.run(0.4)
    rig.run(3)
    first = "epoch,loss\n" + "".join(f"{n},0.{n}\n" for n in range(20))
    assert rig.texts() == sorted([first, header + rows])
    assert sum(len(delta.value) for delta in rig.sink.deltas()) == len(first + header + rows)


def test_b49_sends_that_fail_are_repeated_in_order(rig: Rig, tmp_path: pathlib.Path) -> None:
    log = tmp_path / "a.log"
    for turn in range(50):
        rig.sink.failing = "KafkaTimeoutError" if turn % 3 == 1 else ""
        write(log, numbered(turn * 100, turn * 100 + 99))
        rig.run(0.3)
    rig.sink.failing = ""
    rig.run(10)
    assert rig.texts() == [numbered(0, 4999)]
    deltas = rig.sink.deltas()
    assert [delta.start for delta in deltas] == sorted(delta.start for delta in deltas)
    assert rig.metrics.value("shipper_send_failures_total", reason="KafkaTimeoutError") > 0


def test_b66_state_shrinks_after_many_short_files(tmp_path: pathlib.Path) -> None:
    rig = Rig(tmp_path, SHIPPER_FORGET_SECONDS="60")
    keep = tmp_path / "keep.log"
    write(keep, numbered(1, 3))
    count = 600
    for n in range(count):
        write(tmp_path / "many" / f"{n}.log", f"only line of {n}\n")
    rig.run(4)
    (state,) = rig.checkpoints()
    full = state.stat().st_size
    for n in range(count):
        (tmp_path / "many" / f"{n}.log").unlink()
    rig.run(10)
    assert len(rig.shipper.care.all) == 1
    rig.run(70, step=0.5)
    write(keep, "4\n")
    rig.run(3)
    assert state.stat().st_size < full / 100
    rig.restart()
    rig.run(3)
    assert len(rig.sink.deltas()) == count + 2, "the idle file was not sent again"


def test_no_space_for_the_checkpoint(rig: Rig, tmp_path: pathlib.Path, caplog: pytest.LogCaptureFixture) -> None:
    full = True

    def write_if_room(path: pathlib.Path, data: bytes) -> None:
        if full:
            raise OSError(errno.ENOSPC, "No space left on device")
        checkpoint.write_file(path, data)

    rig.kill()
    rig.write = write_if_room
    rig.start()
    write(tmp_path / "a.log", numbered(1, 100))
    rig.run(5)
    assert rig.texts() == [numbered(1, 100)]
    assert rig.metrics.value("shipper_checkpoint_failures_total") > 1
    assert caplog.text.count("No space left") == 1
    assert not rig.checkpoints()
    full = False
    rig.run(2)
    assert rig.checkpoints()
    rig.restart()
    rig.run(3)
    assert len(rig.sink.deltas()) == 1


def test_a_damaged_checkpoint_is_set_aside_and_ids_stay(
    rig: Rig, tmp_path: pathlib.Path, caplog: pytest.LogCaptureFixture
) -> None:
    write(tmp_path / "a.log", numbered(1, 100))
    rig.run(3)
    (state,) = rig.checkpoints()
    for damage in (b"", b"\x00" * 100, state.read_bytes()[:-20], state.read_bytes().replace(b'"offset":', b'"offset":1')):
        rig.kill()
        state.write_bytes(damage)
        rig.start()
        rig.run(3)
    assert len({delta.file.file_id for delta in rig.sink.deltas()}) == 1
    assert len({delta.reading for delta in rig.sink.deltas()}) == 5
    assert rig.texts() == [numbered(1, 100)]
    assert caplog.text.count("set aside") == 4
    assert len(list(state.parent.glob("*.damaged-*"))) == 4


def test_a_newer_version_of_the_checkpoint_is_not_touched_blindly(rig: Rig, tmp_path: pathlib.Path) -> None:
    write(tmp_path / "a.log", "x\n")
    rig.run(3)
    (state,) = rig.checkpoints()
    rig.kill()
    body = json.loads(state.read_bytes()) | {"version": 2}
    state.write_text(json.dumps(body))
    rig.start()
    rig.run(3)
    (aside,) = state.parent.glob("*.damaged-*")
    assert json.loads(aside.read_text())["version"] == 2


def test_two_shippers_one_file(tmp_path: pathlib.Path, caplog: pytest.LogCaptureFixture) -> None:
    write(tmp_path / "a" / "x.log", numbered(1, 10))
    first = Rig(tmp_path)
    first.run(2)
    twin = Rig(tmp_path)
    below = Rig(tmp_path, LOGS=str(tmp_path / "a" / "*.log"))
    write(tmp_path / "a" / "x.log", numbered(11, 20))
    for rig in (first, twin, below):
        rig.run(2)
    assert first.texts() == [numbered(1, 20)]
    assert not twin.sink.deltas()
    assert not below.sink.deltas()
    assert "same patterns and task" in caplog.text
    assert "another shipper owns it" in caplog.text
    first.kill()
    write(tmp_path / "a" / "x.log", numbered(21, 30))
    twin.run(3)
    assert "".join(delta.value.decode() for delta in twin.sink.deltas()) == numbered(21, 30), "goes on from the checkpoint"
    twin.kill()
    below.kill()


def test_files_without_rights(
    rig: Rig, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Rights are taken away by a fault in `open`, as tests may run as root, whom rights do not bind."""
    real_open = os.open
    locked = True

    def refusing(path: str, *rest: int, **options: int) -> int:
        if locked and str(path).endswith("secret.log"):
            raise PermissionError(errno.EACCES, "Permission denied")
        return real_open(path, *rest, **options)

    monkeypatch.setattr(os, "open", refusing)
    write(tmp_path / "secret.log", "s\n")
    write(tmp_path / "a.log", "a\n")
    rig.run(15)
    assert rig.texts() == ["a\n"]
    assert caplog.text.count("cannot be read") == 1
    assert rig.metrics.value("shipper_file_errors_total", reason="PermissionError") == 1
    locked = False
    rig.run(10)
    assert rig.texts() == ["a\n", "s\n"]


def test_a_link_in_a_circle_keeps_no_other_file_back(rig: Rig, tmp_path: pathlib.Path, caplog: pytest.LogCaptureFixture) -> None:
    (tmp_path / "circle.log").symlink_to("circle.log")
    write(tmp_path / "a.log", numbered(1, 3))
    rig.run(3)
    assert rig.texts() == [numbered(1, 3)]
    assert caplog.text.count("circle.log: it cannot be read") == 1


def test_links_that_move_folders_that_come_late_and_compressed_copies(rig: Rig, tmp_path: pathlib.Path) -> None:
    write(tmp_path / "run1" / "out.log", numbered(1, 5))
    (tmp_path / "latest.log").symlink_to(tmp_path / "run1" / "out.log")
    rig.run(2)
    write(tmp_path / "deep" / "er" / "run2.log", numbered(6, 9))
    (tmp_path / "latest.log").unlink()
    (tmp_path / "latest.log").symlink_to(tmp_path / "deep" / "er" / "run2.log")
    (tmp_path / "x.log.gz").write_bytes(b"\x1f\x8b")
    rig.run(3)
    assert rig.texts() == [numbered(1, 5), numbered(6, 9)]
    assert {delta.file.path for delta in rig.sink.deltas()} == {
        str(tmp_path / "run1" / "out.log"),
        str(tmp_path / "deep" / "er" / "run2.log"),
    }


def test_only_a_link_matches_and_is_moved(tmp_path: pathlib.Path) -> None:
    rig = Rig(tmp_path, LOGS=str(tmp_path / "latest.log"))
    for n in (1, 2):
        write(tmp_path / f"run{n}.txt", numbered(1, 3, f"run {n} line"))
        (tmp_path / "tmp").symlink_to(tmp_path / f"run{n}.txt")
        (tmp_path / "tmp").replace(tmp_path / "latest.log")
        rig.run(3)
    write(tmp_path / "run1.txt", "more of run 1\n")
    rig.run(3)
    assert rig.texts() == [numbered(1, 3, "run 1 line") + "more of run 1\n", numbered(1, 3, "run 2 line")]
    assert {delta.file.path for delta in rig.sink.deltas()} == {str(tmp_path / "latest.log")}


def test_a_log_folder_copied_with_its_checkpoint_and_continued(tmp_path: pathlib.Path) -> None:
    import shutil

    old, new = tmp_path / "old", tmp_path / "new"
    write(old / "x.log", numbered(1, 100))
    rig = Rig(old)
    rig.run(3)
    rig.kill()
    shutil.copytree(old, new)
    write(new / "x.log", numbered(200, 210))
    write(old / "x.log", numbered(101, 110))
    rig.start()
    rig.run(3)
    other = Rig(new, sink=rig.sink)
    other.run(3)
    by_reading = {delta.reading: delta.file for delta in rig.sink.deltas()}
    assert len(by_reading) == 2, "the copy is another reading, so that the worker can tell the two apart"
