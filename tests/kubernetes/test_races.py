"""Viewers as pods in races: parallel requests, two replicas, and gateways killed at every step."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx
import pytest

from tests.kubernetes.conftest import Cluster
from tests.services.killed_viewers import recorded_lives
from tests.services.viewing import Gateway, Tasks, stub_tools

pytestmark = [pytest.mark.services, pytest.mark.kubernetes, pytest.mark.timeout(600)]
Start = Callable[..., Gateway]
NO_ROOM = {"image": '"trainwire/viewers:latest"', "port": "8000", "cpu": "500.0"}  # made, and never begun: quick to count


def test_b31_parallel_requests_to_two_replicas_make_one_pod(cluster: Cluster, namespace: str, start: Start, tasks: Tasks) -> None:
    tasks.add("run-1", {"loss": [(0, 1.0)]})
    replicas = [start(), start()]
    with ThreadPoolExecutor(20) as pool:
        answers = list(pool.map(lambda n: replicas[n % 2].ask("run-1", "stub"), range(20)))
    assert {answer.status_code for answer in answers} == {202}
    (id,) = {answer.json()["viewer"]["id"] for answer in answers}
    for replica in replicas:
        replica.until("ready", id, 120)
        assert httpx.get(f"{replica.url}/view/run-1/stub/app/ready", timeout=60).text == "ready"
    assert cluster.left(namespace) == [f"pods {id}", f"services {id}", f"configmaps {id}"]
    assert len(created(replicas)) == 1
    assert httpx.delete(f"{replicas[1].url}/api/v1/viewers/{id}", timeout=60).status_code == 204
    cluster.until_left(namespace, [])
    time.sleep(11)  # the other replica compares, and makes none anew
    assert cluster.left(namespace) == []


def test_b31_a_gateway_killed_at_any_moment_leaves_nothing_and_doubles_nothing(
    cluster: Cluster, namespace: str, start: Start, tasks: Tasks
) -> None:
    tasks.add("run-1", {"loss": [(0, 1.0)]})
    gateway = start()
    for pause in (0.02, 0.1, 0.5):  # between ConfigMap, service, pod, and its start
        id = gateway.ask("run-1", "stub").json()["viewer"]["id"]
        time.sleep(pause)
        gateway.kill()
        gateway.start(KUBECONFIG=str(cluster.config))
        if cluster.left(namespace):  # half made: completed
            gateway.until("ready", id, 120)
            assert cluster.left(namespace) == [f"pods {id}", f"services {id}", f"configmaps {id}"]
            stop = threading.Thread(target=_quiet_delete, args=(f"{gateway.url}/api/v1/viewers/{id}",))
            stop.start()
            time.sleep(pause)
            gateway.kill()  # in the middle of the release
            stop.join()
            gateway.start(KUBECONFIG=str(cluster.config))
            for one in gateway.viewers():  # killed before the release began: it is in use as before
                httpx.delete(f"{gateway.url}/api/v1/viewers/{one['id']}", timeout=60)
        cluster.until_left(namespace, [])
    lives, ends = recorded_lives(gateway.folder / "state")
    assert all(len(ends[life]) == 1 for life, kinds in lives.items() if "viewer_created" in kinds), (lives, ends)


def _quiet_delete(url: str) -> None:
    try:
        httpx.delete(url, timeout=60)
    except httpx.TransportError:
        return  # killed, as it is meant


def created(replicas: list[Gateway]) -> set[str]:
    """Lives that were recorded as made."""
    return {event["fields"]["life"] for one in replicas for event in one.events() if event["kind"] == "viewer_created"}


def test_b31_killed_at_every_step_nothing_is_left_and_nothing_doubled_after_one_reconcile(
    cluster: Cluster, namespace: str, tmp_path: Path
) -> None:
    with stub_tools(tmp_path / "tools", **NO_ROOM) as tools:
        command = [sys.executable, "-m", "tests.services.killed_viewers", str(tmp_path), str(tools), namespace]
        environment = {**os.environ, "KUBECONFIG": str(cluster.config)}
        run = subprocess.run(command, env=environment, capture_output=True, check=False)
    assert run.returncode == 0, run.stderr.decode()[-3000:]
    whole, *steps = [json.loads(line) for line in run.stdout.splitlines()]
    ((_, state, _),) = whole["viewers"]
    id = whole["left"][0].removeprefix("p ")
    everything = [f"p {id}", f"s {id}", f"c {id}"]
    assert (state, whole["left"]) == ("loading", everything)
    assert len(steps) == whole["steps"] >= 20
    for step, said in enumerate(steps, 1):
        after = said["after"]
        states = [state for _, state, _ in after["viewers"]]
        assert (states, after["left"]) in (([], []), (["loading"], everything)), (step, said)
        assert said["last"]["viewers"] == said["last"]["left"] == [], (step, said)
        lives, ends = recorded_lives(tmp_path / f"step-{step}")
        assert len(lives) <= 1, (step, lives)
        assert all(len(ends[life]) == 1 for life, kinds in lives.items() if "viewer_created" in kinds), (step, lives, ends)
    died = sum(said["died"] for said in steps)
    assert died >= len(steps) - 2
    print(f"killed at {died} of {len(steps)} steps")
    assert cluster.left(namespace) == []


def test_b31_parallel_requests_for_20_tasks_make_20_viewers(
    cluster: Cluster, namespace: str, start: Start, tasks: Tasks, tmp_path: Path
) -> None:
    names = [f"run-{number}" for number in range(20)]
    for name in names:
        tasks.add(name, {"loss": [(0, 1.0)]})
    with stub_tools(tmp_path / "no-room", **NO_ROOM) as folder:
        tool = (folder / "stub.toml").read_text()
    replicas = [start(tools={"stub": tool}), start(tools={"stub": tool})]
    with ThreadPoolExecutor(20) as pool:
        answers = list(pool.map(lambda n: replicas[n % 2].ask(names[n // 2], "stub"), range(40)))
    assert {answer.status_code for answer in answers} == {202}
    ids = sorted({answer.json()["viewer"]["id"] for answer in answers})
    assert len(ids) == 20
    cluster.until_left(namespace, [f"{kind} {id}" for kind in ("pods", "services", "configmaps") for id in ids])
    ends = time.monotonic() + 60
    while len(lives := created(replicas)) < 20:  # of two that made one at once, both tell of the same
        assert time.monotonic() < ends, lives
        time.sleep(0.2)
    assert len(lives) == 20, "each made once"
    with ThreadPoolExecutor(10) as pool:
        gone = list(pool.map(lambda id: httpx.delete(f"{replicas[0].url}/api/v1/viewers/{id}", timeout=60).status_code, ids))
    assert set(gone) == {204}
    cluster.until_left(namespace, [])
