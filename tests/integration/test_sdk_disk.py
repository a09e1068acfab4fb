"""The SDK on a real file system that is full: nothing raises, nothing waits, no record is torn, what is missing is counted."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import trainwire

SIZE = 64 << 10


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 64 KiB."""
    place = tmp_path / "disk"
    place.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", f"size={SIZE}", "trainwire-test", str(place)], capture_output=True, text=True, check=False
    )
    if mounted.returncode:
        pytest.skip(f"needs the right to mount: {mounted.stderr.strip()}")
    yield place
    subprocess.run(["umount", "--lazy", str(place)], check=True)


def fill(place: Path) -> Path:
    """Takes all the space that is left."""
    path = place / "checkpoint.pt"
    fd = os.open(path, os.O_WRONLY | os.O_CREAT)
    try:
        while True:
            os.write(fd, b"\0" * 4096)
    except OSError:
        return path
    finally:
        os.close(fd)


def records(place: Path) -> list[dict[str, Any]]:
    files = sorted(place.glob("*.jsonl"), key=lambda path: int(path.name.split(".")[-2]))
    text = "".join(path.read_text() for path in files)
    assert text.endswith("\n")
    return [json.loads(line) for line in text.splitlines()]


def steps(place: Path) -> list[int]:
    return [record["s"] for record in records(place) if record["tw"] == "log"]


@pytest.mark.parametrize("before", [0, 100, 1000])
def test_space_comes_back(small_disk: Path, before: int, capfd: pytest.CaptureFixture[str]) -> None:
    run = trainwire.init("t", dir=str(small_disk), flush_seconds=0.01)
    for step in range(before):
        run.log({"loss": step / 7}, step=step)
    run.flush()
    filler = fill(small_disk)
    for step in range(before, before + 2000):
        run.log({"loss": step / 7}, step=step)
        if step % 500 == 0:
            assert not run.flush() or step == before  # the last page of the file may still take the first ones
    assert run.path is not None
    torn = run.path.read_bytes()
    filler.unlink()
    subprocess.run(["mount", "-o", f"remount,size={16 * SIZE}", str(small_disk)], check=True)
    run.finish()
    assert steps(small_disk) == list(range(before + 2000))
    assert run.path is None  # ended
    assert next(iter(small_disk.glob("*.jsonl"))).read_bytes().startswith(torn)  # nothing was taken back
    assert capfd.readouterr().err.count("No space left") == 1
    assert records(small_disk)[-1]["tw"] == "end"


def test_a_bounded_memory_drops_the_oldest_and_says_how_many(small_disk: Path) -> None:
    run = trainwire.init("t", dir=str(small_disk), buffer_bytes=20_000)
    run.log({"loss": 0.5}, step=0)
    run.flush()
    filler = fill(small_disk)
    for step in range(1, 3000):
        run.log({"loss": step / 7}, step=step)
        if step % 50 == 0:
            run.flush()
    assert not run.flush()
    dropped = run.dropped
    assert dropped > 0
    filler.unlink()
    assert run.flush()
    run.log({"loss": 1.0}, step=3000)
    run.finish()
    told = [record["fields"]["records"] for record in records(small_disk) if record.get("kind") == "dropped"]
    written = steps(small_disk)
    assert sum(told) == dropped == 3001 - len(written)
    gaps = [index for index in range(1, len(written)) if written[index] != written[index - 1] + 1]
    assert len(gaps) == 1
    assert written[-1] == 3000
    assert written == sorted(set(written))


def test_full_from_the_start_to_the_end(small_disk: Path, capfd: pytest.CaptureFixture[str]) -> None:
    filler = fill(small_disk)
    for index in range(200):  # inodes cost space too: until not even an empty file can be made
        try:
            (small_disk / f"x{index}").write_bytes(b"1")
        except OSError:
            break
    run = trainwire.init("t", dir=str(small_disk))
    run.log({"loss": 0.5}, step=1)
    run.finish()
    assert list(small_disk.glob("*.jsonl")) == []
    assert "No space left" in capfd.readouterr().err
    filler.unlink()  # the process lives on, and so does what it has to say
    assert run.flush()
    assert [record["tw"] for record in records(small_disk)] == ["header", "status", "log", "status", "end"]


def test_a_full_disk_at_a_change_of_files(small_disk: Path) -> None:
    limit = 5000
    run = trainwire.init("t", dir=str(small_disk), max_file_bytes=limit, flush_seconds=0.001)
    for round_ in range(6):
        filler = fill(small_disk)
        for step in range(round_ * 40, round_ * 40 + 40):
            run.log({"loss": step / 7}, step=step)
            run.flush()
        filler.unlink()
        run.flush()
    run.finish()
    assert steps(small_disk) == list(range(240))
    headers = [record for record in records(small_disk) if record["tw"] == "header"]
    ends = [record for record in records(small_disk) if record["tw"] == "end"]
    assert [end.get("next") for end in ends] == [*(header["uuid"] for header in headers[1:]), None]
    assert [header.get("before") for header in headers] == [None, *(header["uuid"] for header in headers[:-1])]


def test_dev_full(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> None:
    """A device that refuses every byte, however long the training is."""
    monkeypatch.setattr("trainwire.files.open_new", lambda path: os.open("/dev/full", os.O_WRONLY))
    run = trainwire.init("t", dir=str(tmp_path), buffer_bytes=10_000)
    for step in range(1000):
        run.log({"loss": 0.5}, step=step)
    run.end("succeeded", timeout=0.2)
    assert run.dropped > 0
    assert capfd.readouterr().err.count("No space left") == 1
