"""Viewers as pods that do not come up, or end: they say why, and leave nothing."""

from __future__ import annotations

import time
from collections.abc import Callable

import pytest

from tests.kubernetes.conftest import Cluster
from tests.services.viewing import Gateway, Tasks

pytestmark = [pytest.mark.services, pytest.mark.kubernetes, pytest.mark.timeout(600)]
Start = Callable[..., Gateway]


def tool(command: str, image: str = "trainwire/viewers:latest", **fields: float) -> str:
    """A tool's TOML."""
    more = "".join(f"{name} = {value}\n" for name, value in fields.items())
    head = f'title = "Broken"\nkind = "launched"\nport = 8000\nimage = "{image}"\n'
    return f'{head}command = ["python", "-c", """{command}"""]\n{more}'


BROKEN = {
    "typo": tool("", "trainwire/viewers:none-such", start_seconds=40.0),
    "ends": tool("print('no config'); raise SystemExit(7)"),
    "slow": tool("import time; time.sleep(480)", start_seconds=8.0),
    "huge": tool("x = bytearray(600 * 2**20); import time; time.sleep(60)", memory_mib=32, memory_limit_mib=64),
    "vast": tool("", cpu=500.0, start_seconds=8.0),
}


SAID = {
    "typo": "none-such",
    "ends": "exit code 7",
    "slow": "not ready within 8 s",
    "huge": "memory",
    "vast": "no node has room",
}


def test_b73_a_viewer_that_does_not_come_up_says_why_and_leaves_nothing(
    cluster: Cluster, namespace: str, start: Start, tasks: Tasks
) -> None:
    tasks.add("run-1", {"loss": [(0, 1.0)]})
    gateway = start(tools=BROKEN)
    ids = {name: gateway.ask("run-1", name).json()["viewer"]["id"] for name in BROKEN}
    for name, id in ids.items():
        failed = gateway.until("failed", id, 120)
        print(failed["step"])
        assert SAID[name] in failed["step"]
        if name == "ends":
            assert "no config" in failed["lines"]
    cluster.until_left(namespace, [])


def test_b73_a_full_quota_is_told_at_once(cluster: Cluster, namespace: str, start: Start, tasks: Tasks) -> None:
    tasks.add("run-1", {"loss": [(0, 1.0)]})
    about = {"name": "viewers", "namespace": namespace}
    cluster.run(
        "create",
        "-f",
        "-",
        given={"apiVersion": "v1", "kind": "ResourceQuota", "metadata": about, "spec": {"hard": {"pods": "0"}}},
    )
    time.sleep(2)
    gateway = start()
    id = gateway.ask("run-1", "stub").json()["viewer"]["id"]
    assert "quota" in gateway.until("failed", id, 120)["step"]
    cluster.until_left(namespace, [])


def test_a_pod_that_somebody_deletes_is_told_and_recorded(cluster: Cluster, namespace: str, start: Start, tasks: Tasks) -> None:
    tasks.add("run-1", {"loss": [(0, 1.0)]})
    gateway = start()
    id = gateway.ask("run-1", "stub").json()["viewer"]["id"]
    gateway.until("ready", id, 120)
    cluster.run("delete", "pod", id, "-n", namespace, "--grace-period=1")
    assert "deleted" in gateway.until("failed", id, 120)["step"]
    cluster.until_left(namespace, [])
    assert gateway.ask("run-1", "stub").status_code == 202  # a retry is a person's
    gateway.until("ready", id, 120)
