"""`trainwire log`: records from scripts that are not Python."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest


def call(folder: Path, *arguments: str, **environ: str) -> subprocess.CompletedProcess[str]:
    clean = {key: value for key, value in os.environ.items() if not key.startswith(("TRAINWIRE_", "SLURM_"))}
    return subprocess.run(
        [sys.executable, "-m", "trainwire", "log", "--dir", "logs", *arguments],
        cwd=folder,
        env={**clean, **environ},
        capture_output=True,
        text=True,
        check=False,
    )


def records(folder: Path) -> list[dict[str, Any]]:
    (path,) = (folder / "logs").iterdir()
    text = path.read_text("utf-8")
    assert text.endswith("\n")
    return [json.loads(line) for line in text.splitlines()]


def test_every_kind(tmp_path: Path) -> None:
    task = ["--task", "t"]
    for arguments in (
        ["--name", "雪", "--param", "lr=1e-3", "--param", "opt=adam=w", "--param", "amp=true", "--param", "x=nan"],
        ["--step", "5", "--epoch", "1", "loss=0.3", "acc=9007199254740993", "a=b=nan", "up=inf"],
        ["--progress", "5/100", "--unit", "epoch"],
        ["--progress", "0.5"],
        ["--event", "checkpoint", "--message", "saved"],
        ["--status", "failed", "--message", "no data"],
        ["loss=1", "--status", "succeeded"],
    ):
        done = call(tmp_path, *task, *arguments)
        assert (done.returncode, done.stdout, done.stderr) == (0, "", ""), arguments
    header, *others = records(tmp_path)
    assert (header["tw"], header["task"], header["name"], header["mode"]) == ("header", "t", "雪", "sdk")
    for record in others:
        del record["t"]
    assert others == [
        {"tw": "params", "params": {"lr": 0.001, "opt=adam": "w", "amp": True, "x": "nan"}},
        {"tw": "log", "s": 5, "e": 1, "m": {"loss": 0.3, "acc": 9007199254740993, "a=b": "NaN", "up": "Infinity"}},
        {"tw": "progress", "done": 5, "total": 100, "unit": "epoch"},
        {"tw": "progress", "done": 0.5},
        {"tw": "event", "kind": "checkpoint", "message": "saved"},
        {"tw": "status", "status": "failed", "message": "no data"},
        {"tw": "log", "m": {"loss": 1}},
        {"tw": "status", "status": "succeeded"},
    ]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ([], "nothing to record"),
        (["loss=abc"], "loss: 'abc' is not a number"),
        (["loss"], "'loss' is not NAME=VALUE"),
        (["=3"], "is not NAME=VALUE"),
        (["--step", "x", "loss=1"], "--step: 'x'"),
        (["--step", "1.5", "loss=1"], "not a whole number"),
        (["--progress", "a/b"], "--progress: 'a'"),
        (["--task", "a b", "loss=1"], "1 to 128 of"),
    ],
)
def test_wrong_calls_write_nothing(tmp_path: Path, arguments: list[str], words: str) -> None:
    done = call(tmp_path, "--task", "t", *arguments)
    assert done.returncode == 2
    assert words in done.stderr
    assert list(tmp_path.iterdir()) == []


def test_starts_have_files_of_their_own(tmp_path: Path) -> None:
    for start in ("aaaaaaaa-1", "bbbbbbbb-2", "aaaaaaaa-1"):
        assert call(tmp_path, "loss=1", TRAINWIRE_TASK_ID="t", TRAINWIRE_START_ID=start).returncode == 0
    found = {path.name: len(path.read_text().splitlines()) for path in (tmp_path / "logs").iterdir()}
    assert found == {"t.a0.r0.aaaaaaaa.cli.jsonl": 3, "t.a0.r0.bbbbbbbb.cli.jsonl": 2}


def test_concurrent_callers(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "trainwire", "log", "--task", "t", "--dir", "logs"]
    callers = [subprocess.Popen([*command, f"m{number}={number}"], cwd=tmp_path) for number in range(16)]
    assert [caller.wait(timeout=60) for caller in callers] == [0] * 16
    header, *others = records(tmp_path)
    assert header["tw"] == "header"
    joined: dict[str, int] = {}
    for record in others:
        joined.update(record["m"])
    assert len(others) == 16
    assert joined == {f"m{number}": number for number in range(16)}


def test_the_first_callers_at_one_moment_write_one_header(tmp_path: Path) -> None:
    script = """
import os, time
from pathlib import Path
from trainwire import append
from trainwire.identity import Identity
def slow():  # the others come while the header is being made
    time.sleep(0.02)
    return 1
children = []
for caller in range(8):
    child = os.fork()
    if child == 0:
        for number in range(10):
            append.append(Path("logs", str(number)), Identity("t", "s"), ["%d\\n" % caller], slow)
        os._exit(0)
    children.append(child)
assert [os.waitpid(child, 0)[1] for child in children] == [0] * 8
"""
    subprocess.run([sys.executable, "-c", script], cwd=tmp_path, check=True)
    for number in range(10):
        header, *others = (tmp_path / "logs" / str(number)).read_text().splitlines()
        assert header.startswith('{"tw":"header"')
        assert sorted(others) == list("01234567")


def test_a_line_that_was_cut_is_ended_and_not_joined(tmp_path: Path) -> None:
    assert call(tmp_path, "--task", "t", "loss=1").returncode == 0
    (path,) = (tmp_path / "logs").iterdir()
    with path.open("a") as file:
        file.write('{"tw":"log","t":1,"m":{"lo')
    assert call(tmp_path, "--task", "t", "loss=2").returncode == 0
    lines = path.read_text().splitlines()
    assert lines[2] == '{"tw":"log","t":1,"m":{"lo'
    assert json.loads(lines[3])["m"] == {"loss": 2}


def test_a_place_that_takes_nothing(tmp_path: Path) -> None:
    (tmp_path / "logs").write_text("a file")
    done = call(tmp_path, "--task", "t", "loss=1")
    assert done.returncode == 1
    assert "not recorded" in done.stderr
    assert str(tmp_path / "logs") in done.stderr


@pytest.mark.parametrize("verb", [[], ["run"], ["log"]])
def test_help(verb: list[str]) -> None:
    done = subprocess.run([sys.executable, "-m", "trainwire", *verb, "--help"], capture_output=True, text=True, check=False)
    assert done.returncode == 0
    assert done.stdout.startswith("usage: trainwire")
    assert not verb or "TRAINWIRE_TASK_ID" in done.stdout
