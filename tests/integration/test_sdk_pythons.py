"""The SDK under every Python from 3.9 on that this machine has, with warnings as errors."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest

SDK = Path(__file__).parents[2] / "producers" / "sdk"
VERSIONS = [(3, minor) for minor in range(9, 15)]

SCENARIO = """
import argparse, math, os, subprocess, sys, threading
from decimal import Decimal
from fractions import Fraction
import trainwire, trainwire.append, trainwire.cli, trainwire.wrapper

with trainwire.init("t", dir="logs", max_file_bytes=2000, params=argparse.Namespace(lr=0.1)) as run:
    for step in range(50):
        run.log({"loss": 1 / (step + 1), "deep": {"nan": math.nan, "d": Decimal("0.5"), "f": Fraction(1, 4)}}, step=step)
    child = os.fork()
    if child == 0:
        run.log({"child": 1})
        run.flush()
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
    thread = threading.Thread(target=run.log, args=({"thread": 1},))
    thread.start(); thread.join()
    run.progress(50, 50); run.event("done", "x", n=1)
assert run.problems == {}, run.problems
trainwire_command = [sys.executable, "-W", "error", "-m", "trainwire"]
assert subprocess.run([*trainwire_command, "log", "--task", "t", "--dir", "logs", "x=1"]).returncode == 0
assert subprocess.run([*trainwire_command, "run", "--task", "t", "--dir", "logs", "--", "sh", "-c", "exit 3"]).returncode == 3
"""


def interpreter(version: tuple[int, int]) -> str | None:
    """A Python of that version: on the PATH, or one of pyenv's."""
    name = f"python{version[0]}.{version[1]}"
    root = Path(os.environ.get("PYENV_ROOT", str(Path.home() / ".pyenv")))
    places = [shutil.which(name), *map(str, sorted(root.glob(f"versions/{version[0]}.{version[1]}.*/bin/{name}")))]
    for place in places:
        if place and subprocess.run([place, "-c", ""], capture_output=True, check=False).returncode == 0:
            return place
    return None


@pytest.mark.parametrize("version", VERSIONS, ids=lambda version: f"{version[0]}.{version[1]}")
def test_scenario(version: tuple[int, int], tmp_path: Path) -> None:
    python = interpreter(version)
    if python is None:
        pytest.skip("no such Python here")
    environ = {key: value for key, value in os.environ.items() if not key.startswith(("TRAINWIRE_", "PYTHON"))}
    environ.update(PYTHONPATH=str(SDK), PYTHONDONTWRITEBYTECODE="1")
    done = subprocess.run(
        [python, "-W", "error", "-c", SCENARIO], cwd=tmp_path, env=environ, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
    lines = [json.loads(line) for path in (tmp_path / "logs").glob("*.jsonl") for line in path.read_text().splitlines()]
    logs = [line["m"] for line in lines if line["tw"] == "log"]
    expected = [{"loss": 1 / (step + 1), "deep/nan": "NaN", "deep/d": 0.5, "deep/f": 0.25} for step in range(50)]
    assert sorted((m for m in logs if "loss" in m), key=lambda m: -m["loss"]) == expected
    assert sorted(map(str, (m for m in logs if "loss" not in m))) == ["{'child': 1}", "{'thread': 1}", "{'x': 1}"]
