"""A run in this process, against a journal of the arguments that it was given."""

from __future__ import annotations

import json
import math
import os
import sys
import threading
import time
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import trainwire

from tests.unit.sdk.disk import file_limit


@pytest.fixture(autouse=True)
def no_surroundings(monkeypatch: pytest.MonkeyPatch) -> None:
    for key in list(os.environ):
        if key.startswith(("TRAINWIRE_", "SLURM_", "TORCHELASTIC_")) or key in ("RANK", "WORLD_SIZE"):
            monkeypatch.delenv(key)


@pytest.fixture
def run(tmp_path: Path) -> Iterator[trainwire.Run]:
    run = trainwire.init("t-1", dir=str(tmp_path), attempt=2, rank=1, world_size=4)
    yield run
    run.finish()


def read(folder: Path) -> list[dict[str, Any]]:
    """All records of a folder, files in their order."""
    files = sorted(folder.glob("*.jsonl"), key=lambda path: int(path.name.split(".")[-2]))
    return [json.loads(line) for path in files for line in path.read_text("utf-8").splitlines()]


def wait_for(condition: Any, seconds: float = 60.0) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.01)


def test_a_whole_run(tmp_path: Path) -> None:
    began = int(time.time() * 1000)
    with trainwire.init(
        "t-1", name="Müller 雪", framework="keras", dir=str(tmp_path), attempt=2, rank=1, world_size=4, params={"lr": 0.1}
    ) as run:
        run.log({"loss": 0.5}, step=1, epoch=0)
        run.log({"loss": math.nan, "acc": {"top1": 1}}, step=2)
        run.progress(2, 10, "step")
        run.event("checkpoint", "saved", path="x")
    ended = int(time.time() * 1000)
    (path,) = tmp_path.iterdir()
    start = run.identity.start
    assert path.name == f"t-1.a2.r1.{start[:8]}.1.jsonl"
    written = read(tmp_path)
    assert all(began <= record.pop("t") <= ended for record in written)
    header = written.pop(0)
    uuid.UUID(header.pop("uuid"))
    assert header.pop("host")
    assert header == {
        "tw": "header",
        "v": 1,
        "task": "t-1",
        "name": "Müller 雪",
        "start": start,
        "attempt": 2,
        "rank": 1,
        "world": 4,
        "pid": os.getpid(),
        "file": 1,
        "sdk": trainwire.__version__,
        "mode": "sdk",
        "framework": "keras",
    }
    assert written == [
        {"tw": "status", "status": "running"},
        {"tw": "params", "params": {"lr": 0.1}},
        {"tw": "log", "s": 1, "e": 0, "m": {"loss": 0.5}},
        {"tw": "log", "s": 2, "m": {"loss": "NaN", "acc/top1": 1}},
        {"tw": "progress", "done": 2, "total": 10, "unit": "step"},
        {"tw": "event", "kind": "checkpoint", "message": "saved", "fields": {"path": "x"}},
        {"tw": "status", "status": "succeeded"},
        {"tw": "end", "status": "succeeded"},
    ]


def test_records_are_in_the_file_without_being_asked_for(run: trainwire.Run, tmp_path: Path) -> None:
    run.log({"loss": 0.5}, step=1)
    wait_for(lambda: read(tmp_path)[-1].get("m") == {"loss": 0.5})


@pytest.mark.parametrize(
    ("error", "word", "message", "code"),
    [
        (ValueError("no data"), "failed", "ValueError: no data", None),
        (ValueError(), "failed", "ValueError", None),
        (KeyboardInterrupt(), "stopped", "KeyboardInterrupt", None),
        (SystemExit(0), "succeeded", None, None),
        (SystemExit(), "succeeded", None, None),
        (SystemExit(3), "failed", None, 3),
        (SystemExit("bad"), "failed", "bad", 1),
    ],
)
def test_how_a_with_block_ends(tmp_path: Path, error: BaseException, word: str, message: str | None, code: int | None) -> None:
    with pytest.raises(type(error)) as caught, trainwire.init("t", dir=str(tmp_path)):
        raise error
    assert caught.value is error
    status, end = read(tmp_path)[-2:]
    assert (status["status"], status.get("message"), status.get("code")) == (word, message, code)
    assert (end["tw"], end["status"], end.get("code")) == ("end", word, code)


def test_the_newest_run_is_the_modules(tmp_path: Path) -> None:
    run = trainwire.init("t", dir=str(tmp_path))
    assert trainwire.current() is run
    trainwire.log({"a": 1}, step=1)
    trainwire.progress(1, 2)
    trainwire.params({"p": 1})
    trainwire.event("e")
    trainwire.status("evaluating")
    assert trainwire.flush()
    trainwire.finish("stopped", "enough")
    kinds = [record["tw"] for record in read(tmp_path)]
    assert kinds == ["header", "status", "log", "progress", "params", "event", "status", "status", "end"]
    assert read(tmp_path)[-2]["message"] == "enough"


def test_bad_arguments_of_init_raise_before_the_training(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="1 to 128 of"):
        trainwire.init("no spaces", dir=str(tmp_path))
    with pytest.raises(ValueError, match="TRAINWIRE_TASK_ID"):
        trainwire.init(dir=str(tmp_path))
    with pytest.raises(ValueError, match="positive"):
        trainwire.init("t", dir=str(tmp_path), flush_seconds=0)
    assert list(tmp_path.iterdir()) == []


class Hostile:
    """Raises whatever one does with it."""

    def __getattr__(self, name: str) -> Any:
        raise RuntimeError("no")

    def __str__(self) -> str:
        raise RuntimeError("no")

    def __float__(self) -> float:
        raise RuntimeError("no")


def test_nothing_raises_into_the_training(run: trainwire.Run, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    bad: Any
    for bad in (None, 3, "x", [1], Hostile(), {Hostile(): 1}, {"a": Hostile()}, {"a": "text"}, {"a": {"b": object()}}):
        run.log(bad)
        run.log({"fine": 1}, step=bad, epoch=bad)
        run.params(bad)
        run.progress(bad, bad, bad)
        run.status(bad, bad)
        run.event(bad, bad, field=bad)
    assert run.problems
    told = capfd.readouterr().err.splitlines()
    assert len(told) == len(run.problems)  # each kind of problem once
    run.log({"after": 1}, step=1)
    run.flush()
    assert read(tmp_path)[-1]["m"] == {"after": 1}


def test_problems_are_told_once_and_counted(run: trainwire.Run, capfd: pytest.CaptureFixture[str]) -> None:
    for _ in range(5):
        run.log({"note": "text"})
    assert run.problems == {"value of 'note'": 5}
    assert capfd.readouterr().err.count("\n") == 1


def test_without_stderr_and_with_warnings_as_errors(run: trainwire.Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stderr", None)
    run.log({"note": "text"})
    assert run.problems == {"value of 'note'": 1}


def test_after_finish_nothing_is_written(run: trainwire.Run, tmp_path: Path) -> None:
    run.finish("stopped")
    before = read(tmp_path)
    run.log({"late": 1})
    run.status("late")
    run.finish("failed")
    assert run.problems == {"after finish": 2}
    assert read(tmp_path) == before
    assert before[-1]["tw"] == "end"


def test_threads(tmp_path: Path) -> None:
    threads, steps = 8, 2000
    with trainwire.init("t", dir=str(tmp_path), max_file_bytes=100_000) as run:

        def work(thread: int) -> None:
            for step in range(steps):
                run.log({f"m{thread}": step / 7}, step=step)

        workers = [threading.Thread(target=work, args=(thread,)) for thread in range(threads)]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
    logs = [record for record in read(tmp_path) if record["tw"] == "log"]
    for thread in range(threads):
        mine = [(record["s"], record["m"][f"m{thread}"]) for record in logs if f"m{thread}" in record["m"]]
        assert mine == [(step, step / 7) for step in range(steps)]
    assert len(logs) == threads * steps
    assert run.dropped == 0


def test_rotation(tmp_path: Path) -> None:
    limit = 4000
    with trainwire.init("t", dir=str(tmp_path), max_file_bytes=limit) as run:
        for step in range(300):
            run.log({"loss": 1 / (step + 1)}, step=step)
            if step % 50 == 0:
                run.flush()
    files = sorted(tmp_path.iterdir(), key=lambda path: int(path.name.split(".")[-2]))
    assert len(files) > 5
    before = None
    for number, path in enumerate(files, 1):
        assert path.stat().st_size <= limit
        lines = [json.loads(line) for line in path.read_text().splitlines()]
        header, end = lines[0], lines[-1]
        assert (header["tw"], header["file"], header.get("before")) == ("header", number, before)
        assert sum(line["tw"] in ("header", "end") for line in lines) == 2
        before = header["uuid"]
        if number < len(files):
            following = json.loads(files[number].read_text().splitlines()[0])
            assert (end["tw"], end["status"], end["next"]) == ("end", "running", following["uuid"])
        else:
            assert (end["tw"], end["status"], end.get("next")) == ("end", "succeeded", None)
    assert [record["s"] for record in read(tmp_path) if record["tw"] == "log"] == list(range(300))


def test_a_limit_below_one_record_still_makes_progress(tmp_path: Path) -> None:
    with trainwire.init("t", dir=str(tmp_path), max_file_bytes=1) as run:
        for step in range(5):
            run.log({"a": 1}, step=step)
    assert [record["s"] for record in read(tmp_path) if record["tw"] == "log"] == list(range(5))


def test_the_count_of_dropped_records_survives_a_disk_that_does_not_take_the_count(tmp_path: Path) -> None:
    run = trainwire.init("t", dir=str(tmp_path), buffer_bytes=2000)
    run.flush()
    assert run.path is not None
    with file_limit(run.path.stat().st_size):  # not one byte more: no record is torn, and each flush tries to tell
        for step in range(500):
            run.log({"loss": 0.5}, step=step)
            if step % 20 == 0:
                assert not run.flush()
    run.finish()
    written = [record["s"] for record in read(tmp_path) if record["tw"] == "log"]
    told = [record["fields"]["records"] for record in read(tmp_path) if record.get("kind") == "dropped"]
    assert written == list(range(500 - len(written), 500))
    assert told == [500 - len(written)] == [run.dropped]


def test_a_deleted_folder_is_made_again(run: trainwire.Run, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    run.log({"a": 1}, step=1)
    run.flush()
    first = json.loads(run.path.read_text().splitlines()[0]) if run.path else {}
    for path in tmp_path.iterdir():
        path.unlink()
    tmp_path.rmdir()
    run.log({"a": 2}, step=2)
    run.flush()
    header, record = read(tmp_path)
    assert (header["tw"], header["before"], record["m"]) == ("header", first["uuid"], {"a": 2})
    assert "deleted" in capfd.readouterr().err


def test_a_folder_that_cannot_be_made_holds_nothing_up_and_loses_nothing(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    place = tmp_path / "logs"
    place.write_text("a file where the folder should be")
    with trainwire.init("t", dir=str(place)) as run:
        run.log({"a": 1}, step=1)
        assert not run.flush()
        assert str(place) in capfd.readouterr().err
        place.unlink()
        assert run.flush()
    assert [record["tw"] for record in read(place)] == ["header", "status", "log", "status", "end"]


def test_a_disk_that_hangs_holds_nothing_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    run = trainwire.init("t", dir=str(tmp_path), buffer_bytes=50_000)
    free = threading.Event()
    write = os.write

    def hang(fd: int, data: bytes) -> int:
        if threading.current_thread().name == "trainwire":
            free.wait(60)
        return write(fd, data)

    monkeypatch.setattr("trainwire.files.os.write", hang)
    for step in range(5000):
        run.log({"loss": 0.5}, step=step)
    assert not run.flush(timeout=0.01)
    child = os.fork()  # neither does a fork wait for it
    if child == 0:
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
    run.end("succeeded", timeout=0.01)
    assert "tried again" in capfd.readouterr().err
    free.set()
    wait_for(lambda: read(tmp_path)[-1]["tw"] == "end")
    records = read(tmp_path)
    written = [record["s"] for record in records if record["tw"] == "log"]
    began = [record for record in records if record["tw"] == "status" and record["status"] == "running"]
    assert len(written) + len(began) == 5000 + 1 - run.dropped  # the oldest to be dropped is the word that it runs
    assert written[-1] == 4999
    assert [record["status"] for record in records if record["tw"] == "status"][-1] == "succeeded"
    assert sum(record["fields"]["records"] for record in records if record.get("kind") == "dropped") == run.dropped


def test_closing_every_descriptor_does_not_put_records_into_the_trainings_files(run: trainwire.Run, tmp_path: Path) -> None:
    run.log({"a": 1}, step=1)
    run.flush()
    number = run._writer._chain._file._fd  # type: ignore[union-attr]
    os.close(number)
    mine = os.open(tmp_path / "checkpoint.pt", os.O_WRONLY | os.O_CREAT)
    if mine != number:
        os.dup2(mine, number)
    run.log({"a": 2}, step=2)
    run.flush()
    assert (tmp_path / "checkpoint.pt").read_bytes() == b""
    assert [record["s"] for record in read(tmp_path) if record["tw"] == "log"] == [1, 2]
    os.close(mine)
    if mine != number:
        os.close(number)


def test_version_is_the_distributions() -> None:
    text = (Path(__file__).parents[3] / "producers" / "sdk" / "pyproject.toml").read_text()
    assert f'version = "{trainwire.__version__}"' in text
