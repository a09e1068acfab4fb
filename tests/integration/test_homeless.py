"""A user without a home, in a folder where nothing can be written, as containers run: all programs work all the same."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.seed import migrate
from tests.services.fixtures import Store

pytestmark = pytest.mark.services
BIN = Path(sys.executable).parent
HOMELESS = {"HOME": "/dev/null/home", "XDG_CACHE_HOME": "/dev/null/cache"}  # not even root can write there
NOWHERE = "/proc"  # nor here
SCRIPT = """
import trainwire
with trainwire.init("homeless") as run:
    run.log({"loss": 0.25}, step=3)
"""
Start = Callable[..., subprocess.Popen[str]]


@pytest.fixture
def environ(broker: str, store: Store, database: str, make_topic: Callable[..., str]) -> dict[str, str]:
    with store.client(database="default") as client:
        migrate(client, database)
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("TRAINWIRE_")}
    return (
        inherited
        | HOMELESS
        | store.environ()
        | {
            "TRAINWIRE_CLICKHOUSE_DATABASE": database,
            "TRAINWIRE_KAFKA_BOOTSTRAP": broker,
            "TRAINWIRE_KAFKA_TOPIC": make_topic(),
            "TRAINWIRE_WORKER_GROUP": database,
            "TRAINWIRE_WORKER_HEALTH": "127.0.0.1:0",
        }
    )


@pytest.fixture
def start(environ: dict[str, str], tmp_path: Path) -> Iterator[Start]:
    started: list[subprocess.Popen[str]] = []

    def begin(name: str, **settings: str) -> subprocess.Popen[str]:
        with (tmp_path / f"{name}.log").open("w") as log:
            started.append(subprocess.Popen([BIN / name], cwd=NOWHERE, env=environ | settings, stdout=log, stderr=log, text=True))
        return started[-1]

    yield begin
    for program in started:
        program.kill()
        program.wait()


def run(environ: dict[str, str], *command: str | Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, cwd=NOWHERE, env=environ, capture_output=True, text=True, timeout=120)


@pytest.mark.timeout(300)
def test_a_task_is_complete_though_nobody_has_a_home(environ: dict[str, str], start: Start, tmp_path: Path) -> None:
    logs = tmp_path / "logs"
    logs.mkdir()
    settings = {"TRAINWIRE_TASK_ID": "homeless", "TRAINWIRE_LOGS": f"{logs}/*"}
    programs = {
        "shipper": start("trainwire-shipper", **settings),
        "worker": start("trainwire-worker"),
        "gateway": start("trainwire-gateway", TRAINWIRE_GATEWAY_PORT="0", TRAINWIRE_GATEWAY_FOLDER=str(tmp_path / "gateway")),
    }
    wrapped = run(environ, BIN / "trainwire", "run", "--task", "homeless", "--dir", logs, "--", "echo", "step=1 loss=0.5")
    assert (wrapped.returncode, wrapped.stdout, wrapped.stderr) == (0, "step=1 loss=0.5\n", "")
    said = run(environ | {"TRAINWIRE_LOG_DIR": str(logs)}, sys.executable, "-c", SCRIPT)
    assert (said.returncode, said.stdout, said.stderr) == (0, "", "")

    deadline = time.monotonic() + 120
    while (verdict := run(environ, BIN / "trainwirectl", "verify", "homeless")).returncode and time.monotonic() < deadline:
        time.sleep(0.5)
    assert verdict.stdout.splitlines()[-1] == "homeless: complete", verdict
    assert verdict.stderr == ""
    shown = run(environ, BIN / "trainwirectl", "tail", "--metrics", "homeless").stdout
    assert "step 3  loss=0.25" in shown
    assert {name: program.poll() for name, program in programs.items()} == dict.fromkeys(programs)
    for program in programs.values():
        program.terminate()
        assert program.wait(60) in (0, -15)
    for name in programs:
        assert "Traceback" not in (tmp_path / f"trainwire-{name}.log").read_text()


def test_a_folder_that_cannot_be_used_is_named(environ: dict[str, str], start: Start, tmp_path: Path) -> None:
    gateway = start("trainwire-gateway", TRAINWIRE_GATEWAY_PORT="0")
    assert gateway.wait(60) == 2
    told = (tmp_path / "trainwire-gateway.log").read_text()
    assert "TRAINWIRE_GATEWAY_FOLDER" in told
    assert "Traceback" not in told

    stack = tmp_path / "stack"
    (stack / "state.json").mkdir(parents=True)  # as if it were another user's
    for words in ("up", "status", "logs broker"):
        folder = stack / "other" if words == "up" else stack
        refused = run(environ, BIN / "trainwirectl", *words.split(), "--data", folder)
        assert refused.returncode == 2, words
        assert ("TRAINWIRE_LOCAL_CACHE" if words == "up" else f"cannot use {stack}/state.json") in refused.stderr
        assert "Traceback" not in refused.stderr


def test_a_training_that_cannot_write_its_log_goes_on(environ: dict[str, str]) -> None:
    wrapped = run(environ, BIN / "trainwire", "run", "--task", "homeless", "--", "sh", "-c", "echo loss=1; exit 3")
    assert (wrapped.returncode, wrapped.stdout) == (3, "loss=1\n")
    said = run(environ, sys.executable, "-c", SCRIPT + "print('done')")
    assert (said.returncode, said.stdout) == (0, "done\n")
    assert "log file does not take records" in said.stderr
    assert "Traceback" not in said.stderr
