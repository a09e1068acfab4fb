"""Viewers on real parts: the gateway as a program, the store, TensorBoard, and a stub where a real tool adds only time."""

from __future__ import annotations

import contextlib
import json
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.services.fixtures import Store
from tests.services.viewing import Gateway, Tasks, migrate, stub_tools

pytestmark = pytest.mark.services


@pytest.fixture
def tasks(store: Store, database: str) -> Iterator[Tasks]:
    migrate(store, database)
    found = Tasks(store, database)
    yield found
    found.close()


@pytest.fixture
def gateway(store: Store, database: str, tasks: Tasks, tmp_path: Path) -> Iterator[Gateway]:
    with stub_tools(tmp_path / "tools") as tools:
        found = Gateway(
            store, database, tmp_path / "gateway", tools=str(tools), viewers="40", viewers_by_user="40", viewer_requests="200"
        )
        yield found.start()
        found.end()


def scalars(gateway: Gateway, viewer: dict[str, Any], run: str, tag: str) -> dict[int, float]:
    """A curve as TensorBoard itself tells it: value by step."""
    answer = httpx.get(
        f"{gateway.url}{viewer['address']}app/data/plugin/scalars/scalars", params={"run": run, "tag": tag}, timeout=30
    )
    return {int(step): value for _, step, value in answer.json()} if answer.status_code == 200 else {}


def until(what: Any, expected: Any, seconds: float = 30) -> None:
    end = time.monotonic() + seconds
    while (found := what()) != expected:
        assert time.monotonic() < end, (found, expected)
        time.sleep(0.2)


def test_a_task_without_event_files_is_shown_by_tensorboard_and_followed(gateway: Gateway, tasks: Tasks) -> None:
    tasks.add("run-1", {"loss": [(step, 1 / (1 + step)) for step in range(100)], "acc/top1": [(None, 0.5), (None, 0.75)]})
    tasks.add("run-1", {"loss": [(step, 0.25) for step in range(50)]}, rank=1)
    asked = gateway.ask("run-1")
    assert asked.status_code == 202, asked.text
    answer = asked.json()
    assert answer["address"] == "/view/run-1/tensorboard/"
    assert answer["tool"] == "tensorboard"
    assert "default" in answer["why"]
    viewer = gateway.until("ready", answer["viewer"]["id"])
    loss = {step: 1 / (1 + step) for step in range(100)}
    until(lambda: scalars(gateway, viewer, "attempt-1/rank-0", "loss"), pytest.approx(loss, rel=1e-6))
    assert scalars(gateway, viewer, "attempt-1/rank-1", "loss") == {step: 0.25 for step in range(50)}
    assert scalars(gateway, viewer, "attempt-1/rank-0", "acc/top1") == {0: 0.5, 1: 0.75}
    # what is new comes while it is open, in old runs and in new ones
    tasks.add("run-1", {"loss": [(step, 2.0) for step in range(100, 120)]})
    tasks.add("run-1", {"loss": [(0, 9.0)]}, attempt=2)
    until(lambda: len(scalars(gateway, viewer, "attempt-1/rank-0", "loss")), 120)
    until(lambda: scalars(gateway, viewer, "attempt-2/rank-0", "loss"), {0: 9.0})
    print([(step["step"], step["after"]) for step in viewer["steps"]], viewer["ready_after"])
    stopped = httpx.delete(f"{gateway.url}/api/v1/viewers/{viewer['id']}", timeout=30)
    assert stopped.status_code == 204
    assert gateway.tools() == []
    assert not any((gateway.folder / "state" / "viewers").glob("v-*"))
    kinds = [event["kind"] for event in gateway.events()]
    assert kinds == ["viewer_requested", "viewer_selected", "viewer_created", "viewer_ready", "viewer_released"]


def test_b31_parallel_first_requests_make_one_viewer_for_each_task(gateway: Gateway, tasks: Tasks) -> None:
    for number in range(20):
        tasks.add(f"task-{number}", {"loss": [(0, 1.0)]})
    wishes = ["task-0"] * 20 + [f"task-{number}" for number in range(1, 20)] * 2
    with ThreadPoolExecutor(20) as pool:
        answers = list(pool.map(lambda task: gateway.ask(task, "stub"), wishes))
    assert {answer.status_code for answer in answers} == {202}
    ids = {answer.json()["viewer"]["id"] for answer in answers}
    assert len(ids) == 20
    for id in ids:
        gateway.until("ready", id)
    assert len(gateway.tools()) == 20
    for answer in answers:
        assert httpx.get(f"{gateway.url}{answer.json()['address']}app/ready", timeout=30).text == "ready"
    assert sum(event["kind"] == "viewer_created" for event in gateway.events()) == 20


@pytest.mark.timeout(600)
def test_b31_killed_at_every_step_nothing_is_left_and_nothing_doubled_after_one_reconcile(tmp_path: Path) -> None:
    with stub_tools(tmp_path / "tools") as tools:
        command = [sys.executable, "-m", "tests.services.killed_viewers", str(tmp_path), str(tools)]
        run = subprocess.run(command, capture_output=True, check=False)
    assert run.returncode == 0, run.stderr.decode()[-3000:]
    whole, *steps = [json.loads(line) for line in run.stdout.splitlines()]
    assert whole["answers"] == "ready"
    assert len(steps) == whole["steps"] >= 20
    for step, said in enumerate(steps, 1):
        after = said["after"]
        assert [state for _, state, _ in after["viewers"]] in ([], ["ready"]), (step, after)
        assert after.get("answers", "ready") == "ready"
        assert said["last"]["viewers"] == said["last"]["folders"] == [], (step, said)
        lives, ends = recorded_lives(tmp_path / f"step-{step}")
        assert len(lives) <= 1, (step, lives)
        for life, kinds in lives.items():
            if "viewer_created" in kinds:
                assert len(ends[life]) == 1, (step, "one life has one end, however often it was recorded", ends)
    assert processes_of(tmp_path) == []
    died = sum(said["died"] for said in steps)
    assert died >= len(steps) - 2
    print(f"killed at {died} of {len(steps)} steps")


def recorded_lives(folder: Path) -> tuple[dict[str, set[str]], dict[str, set[tuple[int, int]]]]:
    """By life: the kinds of its events, and the ends that were recorded."""
    lives: dict[str, set[str]] = {}
    ends: dict[str, set[tuple[int, int]]] = {}
    for file in (folder / "events").rglob("*.jsonl"):
        for line in file.read_text().splitlines():
            event = json.loads(line)
            if event["tw"] == "event" and (life := event["fields"].get("life")):
                lives.setdefault(life, set()).add(event["kind"])
                if event["kind"] == "viewer_released":
                    ends.setdefault(life, set()).add((event["fields"]["started_ms"], event["fields"]["ended_ms"]))
    return lives, ends


def processes_of(folder: Path) -> list[int]:
    found = []
    for one in Path("/proc").iterdir():
        if one.name.isdigit():
            with contextlib.suppress(OSError):
                if f"HOME={folder}/".encode() in (one / "environ").read_bytes():
                    found.append(int(one.name))
    return found
