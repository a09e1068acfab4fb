"""Wrong settings: one sentence that says what to change, and exit code 2."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from producers.shipper.settings import Settings
from runtime.errors import SettingError
from runtime.settings import load

GOOD = {"TRAINWIRE_LOGS": "/logs/**/*.log,\n/more/*.jsonl", "TRAINWIRE_TASK_ID": "t-1"}


def test_globs_are_separated_by_commas_or_newlines() -> None:
    assert load(Settings, GOOD).files.logs == ("/logs/**/*.log", "/more/*.jsonl")


@pytest.mark.parametrize(
    ("name", "value", "says"),
    [
        ("LOGS", "", "TRAINWIRE_LOGS is missing"),
        ("LOGS", " , ", "at least one path or glob"),
        ("TASK_ID", "", "TRAINWIRE_TASK_FROM"),
        ("TASK_ID", "it's", "not a task id"),
        ("TASK_FROM", "runs/(.*)", "group"),
        ("TASK_FROM", "(?P<task>[", "regular expression"),
        ("TASK_FROM", "(?P<task>.)(?P<world>.)", "not world"),
        ("TASK_PATTERNS", "(?P<a>1)\n.*(?P<b>1)", "may also follow"),
        ("TASK_PATTERNS", "\n".join(["(?P<a>1)"] * 9), "at most 8"),
        ("RANK", "-1", "whole number"),
        ("ATTEMPT", "second", "whole number"),
        ("SHIPPER_CONTAINER", "docker", "auto, plain, cri or tfevents"),
        ("SHIPPER_POLL_SECONDS", "0", "from 0.005"),
        ("SHIPPER_GATHER_SECONDS", "60", "from 0 to 5"),
        ("SHIPPER_MAX_OPEN_FILES", "1", "at least 8"),
        ("SHIPPER_IN_FLIGHT_BYTES", "1000", "at least"),
        ("SHIPPER_HEARTBEAT_SECONDS", "0", "at least 0.1"),
        ("SHIPPER_HEALTH", "9000", "host:port"),
        ("SHIPPER_HELTH", ":9000", "did you mean TRAINWIRE_SHIPPER_HEALTH"),
    ],
)
def test_a_wrong_setting_says_what_to_change(name: str, value: str, says: str) -> None:
    with pytest.raises(SettingError, match=says):
        load(Settings, GOOD | {f"TRAINWIRE_{name}": value})


def run(code: str, *arguments: str, **environ: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", code, *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, env={"PATH": os.defpath, **environ}, check=False)


MAIN = "import sys; from producers.shipper.__main__ import main; main()"


def test_the_program_says_it_and_exits_with_2() -> None:
    done = run(MAIN)
    assert done.returncode == 2
    assert "TRAINWIRE_TASK_ID is missing" in done.stderr or "TRAINWIRE_LOGS is missing" in done.stderr
    assert "Traceback" not in done.stderr
    wrong = run(MAIN, "--until-exit=soon", **GOOD)
    assert wrong.returncode == 2
    assert "process id" in wrong.stderr


def test_help_tells_the_exit_codes() -> None:
    done = run(MAIN, "--help")
    assert done.returncode == 0
    assert "--end-marker" in done.stdout
    assert "75" in done.stdout


def test_the_shipper_needs_neither_the_worker_s_nor_the_store_s_libraries() -> None:
    code = (
        "import sys, producers.shipper.app\n"
        "print([name for name in ('faust', 'mode', 'aiokafka', 'aiohttp', 'clickhouse_connect', 'chdb') if name in sys.modules])"
    )
    assert run(code).stdout == "[]\n"
