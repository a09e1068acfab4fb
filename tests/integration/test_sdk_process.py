"""The SDK in processes that fork, are killed, and end in every way.

The truth is a journal that the training scripts write themselves: each argument of `log`, unbuffered, before the call.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

JOURNAL = """
import os, signal, sys, time
import trainwire
_fd = os.open("journal", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
def say(run, step):
    os.write(_fd, b"%d\\n" % step)
    run.log({"loss": 1 / (step + 1)}, step=step)
"""


def start(folder: Path, script: str, **popen: Any) -> subprocess.Popen[str]:
    """A Python process that runs the script in `folder`, with warnings as errors and no settings of ours."""
    environ = {key: value for key, value in os.environ.items() if not key.startswith("TRAINWIRE_")}
    environ["TRAINWIRE_LOG_DIR"] = "logs"
    return subprocess.Popen(
        [sys.executable, "-W", "error", "-c", JOURNAL + script],
        cwd=folder,
        env=environ,
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        **popen,
    )


def run(folder: Path, script: str) -> subprocess.CompletedProcess[str]:
    process = start(folder, script)
    out, err = process.communicate(timeout=60)
    return subprocess.CompletedProcess(process.args, process.returncode, out, err)


def files(folder: Path) -> list[list[dict[str, Any]]]:
    """Records of each file, files by number. Every line but the last must be whole and JSON."""
    found = sorted((folder / "logs").glob("*.jsonl"), key=lambda path: int(path.name.split(".")[-2]))
    result = []
    for path in found:
        lines = path.read_bytes().split(b"\n")
        lines.pop()  # what has no end: empty, or the record that a kill cut
        result.append([json.loads(line) for line in lines])
    return result


def steps(records: list[dict[str, Any]]) -> list[int]:
    assert all(record["m"] == {"loss": 1 / (record["s"] + 1)} for record in records if record["tw"] == "log")
    return [record["s"] for record in records if record["tw"] == "log"]


def journal(folder: Path) -> list[int]:
    return [int(line) for line in (folder / "journal").read_text().splitlines()]


def wait_for_journal(folder: Path, count: int) -> None:
    end = time.monotonic() + 60
    while not (folder / "journal").exists() or (folder / "journal").read_bytes().count(b"\n") < count:
        assert time.monotonic() < end, "the script did not come so far"
        time.sleep(0.005)


FOR_EVER = "run = trainwire.init('t')\nfor step in range(10**9): say(run, step)"


@pytest.mark.parametrize("count", [1, 50, 3000, 20_000])
def test_sigterm_loses_nothing(tmp_path: Path, count: int) -> None:
    process = start(tmp_path, FOR_EVER)
    wait_for_journal(tmp_path, count)
    process.terminate()
    _, err = process.communicate(timeout=60)
    assert process.returncode == -signal.SIGTERM, err
    (records,) = files(tmp_path)
    said = journal(tmp_path)
    assert steps(records) in (said, said[:-1])  # the signal may have come between the journal and the call
    status, end = records[-2:]
    assert (status["status"], status["signal"]) == ("stopped", 15)
    assert (end["tw"], end["status"], end["signal"]) == ("end", "stopped", 15)


def test_sigkill_leaves_whole_lines_and_takes_only_the_newest_moment(tmp_path: Path) -> None:
    process = start(tmp_path, FOR_EVER)
    wait_for_journal(tmp_path, 20_000)
    process.kill()
    process.communicate(timeout=60)
    (records,) = files(tmp_path)
    written = steps(records)
    assert written == list(range(len(written)))
    assert len(written) > 0
    assert records[-1]["tw"] != "end"


def test_a_handler_that_was_there_before_decides_how_it_ends(tmp_path: Path) -> None:
    process = start(
        tmp_path,
        """
def save(number, frame):
    run.event("checkpoint", "saved at SIGTERM")
    run.finish("stopped", "preempted")
    sys.exit(5)
signal.signal(signal.SIGTERM, save)
run = trainwire.init('t')
for step in range(10**9): say(run, step)
""",
    )
    wait_for_journal(tmp_path, 500)
    process.terminate()
    _, err = process.communicate(timeout=60)
    assert process.returncode == 5, err
    (records,) = files(tmp_path)
    said = journal(tmp_path)
    assert steps(records) in (said, said[:-1])
    assert [record.get("message") for record in records[-3:]] == ["saved at SIGTERM", "preempted", None]
    assert records[-1]["tw"] == "end"


def test_a_handler_that_leaves_at_once_finds_the_records_safe(tmp_path: Path) -> None:
    done = run(
        tmp_path,
        """
signal.signal(signal.SIGTERM, lambda number, frame: os._exit(6))
run = trainwire.init('t', flush_seconds=60)
for step in range(100): say(run, step)
os.kill(os.getpid(), signal.SIGTERM)
""",
    )
    assert done.returncode == 6, done.stderr
    assert steps(files(tmp_path)[0]) == journal(tmp_path) == list(range(100))


def test_sigterm_that_the_task_ignores_stays_ignored(tmp_path: Path) -> None:
    done = run(
        tmp_path,
        """
signal.signal(signal.SIGTERM, signal.SIG_IGN)
with trainwire.init('t') as run:
    os.kill(os.getpid(), signal.SIGTERM)
    say(run, 0)
""",
    )
    assert done.returncode == 0, done.stderr
    assert files(tmp_path)[0][-1]["status"] == "succeeded"


def test_finish_gives_sigterm_back(tmp_path: Path) -> None:
    done = run(
        tmp_path,
        """
run = trainwire.init('t')
assert callable(signal.getsignal(signal.SIGTERM))
run.finish()
assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL
""",
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    ("last_line", "code", "word", "message"),
    [
        ("", 0, "ended", None),
        ("sys.exit(3)", 3, "ended", None),  # the exit code is not known inside; `trainwire run` knows it
        ("raise ValueError('no data')", 1, "failed", "ValueError: no data"),
        ("raise KeyboardInterrupt", -signal.SIGINT, "stopped", "KeyboardInterrupt"),
        ("run.finish()", 0, "succeeded", None),
        ("del run", 0, "ended", None),
    ],
)
def test_a_script_that_just_ends(tmp_path: Path, last_line: str, code: int, word: str, message: str | None) -> None:
    done = run(tmp_path, f"run = trainwire.init('t', flush_seconds=60)\nsay(run, 0)\nsay(run, 1)\n{last_line}")
    assert done.returncode == code, done.stderr
    (records,) = files(tmp_path)
    assert steps(records) == [0, 1]
    assert (records[-2]["status"], records[-2].get("message")) == (word, message)
    assert (records[-1]["tw"], records[-1]["status"]) == ("end", word)


def test_fork_doubles_nothing_and_gives_each_process_its_file(tmp_path: Path) -> None:
    done = run(
        tmp_path,
        """
run = trainwire.init('t', flush_seconds=60)
for step in range(100): say(run, step)     # held in memory while we fork
silent = os.fork()
if silent == 0: os._exit(0)
speaking = os.fork()
if speaking == 0:
    for step in range(100, 150): say(run, step)
    run.flush()
    os._exit(0)
exiting = os.fork()
if exiting == 0:
    for step in range(150, 200): say(run, step)
    sys.exit(0)
for pid in silent, speaking, exiting: assert os.waitpid(pid, 0)[1] == 0
for step in range(200, 250): say(run, step)
run.finish()
""",
    )
    assert done.returncode == 0, done.stderr
    found = files(tmp_path)
    assert sorted(step for records in found for step in steps(records)) == list(range(250))
    by_pid = {records[0]["pid"]: records for records in found}
    assert len(found) == len(by_pid) == 3
    assert len({records[0]["uuid"] for records in found}) == 3
    assert len({records[0]["start"] for records in found}) == 1
    assert all(records[0]["tw"] == "header" and "before" not in records[0] for records in found)
    assert sorted(steps(records)[0] for records in found) == [0, 100, 150]
    ends = {steps(records)[0]: records[-1] for records in found}
    assert ends[0]["status"] == "succeeded"
    assert ends[100]["tw"] == "log"  # left by os._exit
    assert (ends[150]["tw"], ends[150]["status"]) == ("end", "running")  # a child's end is not the task's


def test_children_of_multiprocessing(tmp_path: Path) -> None:
    done = run(
        tmp_path,
        """
import multiprocessing
def work(step):
    say(run, step)
if __name__ == "__main__":
    run = trainwire.init('t', flush_seconds=60)
    say(run, 0)
    context = multiprocessing.get_context("fork")
    children = [context.Process(target=work, args=(step,)) for step in range(1, 5)]
    for child in children: child.start()
    for child in children: child.join()
    assert [child.exitcode for child in children] == [0] * 4
    run.finish()
""",
    )
    assert done.returncode == 0, done.stderr
    found = files(tmp_path)
    assert sorted(step for records in found for step in steps(records)) == list(range(5))
    assert [records[-1]["tw"] for records in found] == ["end"] * 5


def test_a_child_that_does_not_speak_dies_of_sigterm_as_if_we_were_not_there(tmp_path: Path) -> None:
    done = run(
        tmp_path,
        """
run = trainwire.init('t')
child = os.fork()
if child == 0:
    assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL
    time.sleep(60)
os.kill(child, signal.SIGTERM)
assert os.waitpid(child, 0)[1] == signal.SIGTERM
run.finish()
""",
    )
    assert done.returncode == 0, done.stderr
    assert len(files(tmp_path)) == 1


def test_threads_log_while_the_process_forks(tmp_path: Path) -> None:
    done = run(
        tmp_path,
        """
import threading, warnings
warnings.simplefilter("ignore", DeprecationWarning)  # Python 3.12 warns of this script's own threads
run = trainwire.init('t', flush_seconds=0.001)
def work(first):
    for step in range(first, first + 3000): say(run, step)
threads = [threading.Thread(target=work, args=(first,)) for first in (0, 3000)]
for thread in threads: thread.start()
for number in range(20):
    child = os.fork()
    if child == 0:
        say(run, 6000 + number)
        run.flush()
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
for thread in threads: thread.join()
run.finish()
""",
    )
    assert done.returncode == 0, done.stderr
    assert sorted(step for records in files(tmp_path) for step in steps(records)) == list(range(6020))


def test_init_twice_in_one_process(tmp_path: Path) -> None:
    done = run(
        tmp_path,
        """
first = trainwire.init('t', start_id='s')
second = trainwire.init('t', start_id='s')
say(first, 0); say(second, 1); trainwire.log({"loss": 1 / 3}, step=2)
""",
    )
    assert done.returncode == 0, done.stderr
    assert [steps(records) for records in files(tmp_path)] == [[0], [1, 2]]


def test_log_before_init_is_told_once(tmp_path: Path) -> None:
    done = run(tmp_path, "for _ in range(3): trainwire.log({'a': 1})\ntrainwire.finish()")
    assert done.returncode == 0
    assert done.stderr == "trainwire: nothing is recorded before trainwire.init(task_id) was called\n"
