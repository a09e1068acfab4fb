"""Processes that never stay behind, and names that no stranger answers to."""

from __future__ import annotations

import dataclasses
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

from deploy.local import process
from deploy.local.process import Identity

SLEEP = [sys.executable, "-c", "import time; print('up', flush=True); time.sleep(60)"]


def wait_for(condition: Callable[[], bool]) -> bool:
    deadline = time.monotonic() + 60
    while not condition() and time.monotonic() < deadline:
        time.sleep(0.01)
    return condition()


def test_a_process_is_known_while_it_lives(tmp_path: Path) -> None:
    identity = process.spawn(SLEEP, output=tmp_path / "out", environ=os.environ, tied=False)
    assert identity.alive()
    assert Identity.of(identity.pid) == identity
    assert wait_for(lambda: (tmp_path / "out").read_text() == "up\n")
    identity.end(5)
    assert not identity.alive()
    assert not identity.signal(signal.SIGTERM)


def test_the_same_number_at_another_time_is_somebody_else(tmp_path: Path) -> None:
    identity = process.spawn(SLEEP, output=tmp_path / "out", environ=os.environ, tied=False)
    for stranger in (dataclasses.replace(identity, started=identity.started - 1), dataclasses.replace(identity, boot="other")):
        assert not stranger.alive()
        assert not stranger.signal(signal.SIGKILL)
        stranger.end(0)
    assert identity.alive()
    identity.end(5)


def test_one_that_does_not_listen_is_killed(tmp_path: Path) -> None:
    deaf = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); print('up', flush=True); time.sleep(60)"
    identity = process.spawn([sys.executable, "-c", deaf], output=tmp_path / "out", environ=os.environ, tied=False)
    assert wait_for(lambda: (tmp_path / "out").read_text() == "up\n")
    identity.end(0.2)
    assert not identity.alive()


def test_a_stopped_one_takes_its_end(tmp_path: Path) -> None:
    identity = process.spawn(SLEEP, output=tmp_path / "out", environ=os.environ, tied=False)
    identity.signal(signal.SIGSTOP)
    begun = time.monotonic()
    identity.end(30)
    assert time.monotonic() - begun < 20


def test_tied_to_its_starter_even_when_that_is_killed(tmp_path: Path) -> None:
    """The starter spawns from a thread that ends at once, and is then killed without a chance to clean up."""
    starter = f"""
import os, pathlib, sys, threading, time
from deploy.local import process
def run():
    found = process.spawn({SLEEP!r}, output=pathlib.Path({str(tmp_path / "out")!r}), environ=os.environ, tied=True)
    print(found.pid, flush=True)
thread = threading.Thread(target=run)
thread.start()
thread.join()
time.sleep(60)
"""
    parent = subprocess.Popen([sys.executable, "-c", starter], stdout=subprocess.PIPE, text=True, cwd=Path(__file__).parents[3])
    assert parent.stdout is not None
    pid = int(parent.stdout.readline())
    assert wait_for(lambda: (tmp_path / "out").exists() and (tmp_path / "out").read_text() == "up\n")
    identity = Identity.of(pid)
    assert identity is not None, "it outlives the thread that asked for it"
    parent.kill()
    parent.wait()
    parent.stdout.close()
    assert wait_for(lambda: not identity.alive())


def test_found_by_whole_arguments_only(tmp_path: Path) -> None:
    marks = [str(tmp_path / "a"), str(tmp_path / "b")]
    identity = process.spawn([*SLEEP, *marks], output=tmp_path / "out", environ=os.environ, tied=False)
    assert wait_for(lambda: process.find(*marks) == [identity])
    assert process.find(marks[0], marks[1][:-1]) == []
    identity.end(5)
    assert process.find(*marks) == []


def test_nobody_is_no_process() -> None:
    ended = subprocess.Popen(["true"])
    ended.wait()
    assert Identity.of(ended.pid) is None
    assert threading.current_thread().is_alive()
