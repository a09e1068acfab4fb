"""Viewers as pods on a real node: they come up, say why where they do not, cost what they live, and leave nothing."""

from __future__ import annotations

import datetime
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import httpx
import pytest
from selenium.webdriver.support.ui import WebDriverWait

from tests.kubernetes.conftest import Cluster
from tests.services.chromium import chromium
from tests.services.viewing import Gateway, Tasks

pytestmark = [pytest.mark.services, pytest.mark.kubernetes, pytest.mark.timeout(600)]
Start = Callable[..., Gateway]


def watch_life(cluster: Cluster, namespace: str) -> Callable[[], float]:
    """Seconds from a pod's start on its node, as the cluster says, until it was seen to be gone."""
    found: dict[str, float] = {}
    done = threading.Event()

    def watch() -> None:
        while not done.is_set():
            pods = cluster.items("pods", namespace)
            if pods and (at := pods[0]["status"].get("startTime")):
                found["start"] = datetime.datetime.fromisoformat(at).timestamp()
            elif not pods and "start" in found:
                found["end"] = time.time()
                return
            time.sleep(0.1)

    thread = threading.Thread(target=watch, daemon=True)
    thread.start()

    def seconds() -> float:
        thread.join(60)
        done.set()
        return found["end"] - found["start"]

    return seconds


def test_a_click_ends_in_a_tensorboard_from_a_real_pod_and_the_pod_is_gone_after_the_release(
    cluster: Cluster, namespace: str, start: Start, tasks: Tasks
) -> None:
    tasks.add("run-1", {"train/loss": [(step, 1 / (1 + step)) for step in range(100)]})
    gateway = start(viewer_policy="offline")
    lived = watch_life(cluster, namespace)
    with chromium() as browser:
        browser.get(f"{gateway.url}/view/run-1/tensorboard/")
        load = WebDriverWait(browser, 60).until(lambda b: (e := b.find_element("id", "load")).is_displayed() and e)
        began = time.monotonic()
        load.click()
        WebDriverWait(browser, 120, 0.1).until(lambda b: b.execute_script("return document.body.dataset.state") == "ready")
        ready = time.monotonic() - began
        browser.switch_to.frame("frame")
        WebDriverWait(browser, 120, 0.2).until(
            lambda b: b.execute_script("return !!document.querySelector('scalar-card, [title=\"train/loss\"]')")
        )
        shown = time.monotonic() - began
        browser.switch_to.default_content()
        viewer = gateway.viewers()[0]
        print(f"ready after {ready:.1f} s, curves after {shown:.1f} s; {viewer['steps']}")
        # followed while it is open: the feeder in the pod reads the store
        tasks.add("run-1", {"train/loss": [(100, 0.5)]})
        url = f"{gateway.url}{viewer['address']}app/data/plugin/scalars/scalars?run=attempt-1/rank-0&tag=train%2Floss"
        end = time.monotonic() + 40
        while len(httpx.get(url, timeout=30).json()) != 101:
            assert time.monotonic() < end
            time.sleep(0.5)
    # the browser is closed, and with it the last page
    cluster.until_left(namespace, [])
    seconds = lived()
    end = time.monotonic() + 10
    while not (released := [event for event in gateway.events() if event["kind"] == "viewer_released"]):
        assert time.monotonic() < end
        time.sleep(0.1)
    fields = released[0]["fields"]
    print(f"recorded {fields['seconds']:.1f} s, the pod lived {seconds:.1f} s")
    assert fields["seconds"] == pytest.approx(seconds, abs=1.0)
    assert fields["cpu_seconds"] == pytest.approx(fields["seconds"] * 0.5, abs=0.01)
    assert fields["reason"] == "offline"


def test_b31_parallel_requests_to_two_replicas_make_one_pod(cluster: Cluster, namespace: str, start: Start, tasks: Tasks) -> None:
    tasks.add("run-1", {"loss": [(0, 1.0)]})
    replicas = [start(), start()]
    with ThreadPoolExecutor(20) as pool:
        answers = list(pool.map(lambda n: replicas[n % 2].ask("run-1", "stub"), range(20)))
    assert {answer.status_code for answer in answers} == {202}
    (id,) = {answer.json()["viewer"]["id"] for answer in answers}
    for replica in replicas:
        replica.until("ready", id, 120)
        assert httpx.get(f"{replica.url}/view/run-1/stub/app/ready", timeout=30).text == "ready"
    assert cluster.left(namespace) == [f"pods {id}", f"services {id}", f"configmaps {id}"]
    lives = {event["fields"]["life"] for replica in replicas for event in replica.events() if event["kind"] == "viewer_created"}
    assert len(lives) == 1
    assert httpx.delete(f"{replicas[1].url}/api/v1/viewers/{id}", timeout=60).status_code == 204
    cluster.until_left(namespace, [])
    time.sleep(11)  # the other replica compares, and makes none anew
    assert cluster.left(namespace) == []


def test_b31_a_gateway_killed_at_any_moment_leaves_nothing_and_doubles_nothing(
    cluster: Cluster, namespace: str, start: Start, tasks: Tasks
) -> None:
    tasks.add("run-1", {"loss": [(0, 1.0)]})
    gateway = start()
    for pause in (0.0, 0.02, 0.05, 0.1, 0.3):  # between ConfigMap, service, pod, and its start
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
    lives: dict[str, set[tuple[int, int]]] = {}
    for event in gateway.events():
        if event["kind"] == "viewer_created":
            lives.setdefault(event["fields"]["life"], set())
        elif event["kind"] == "viewer_released" and event["fields"]["started_ms"]:
            lives.setdefault(event["fields"]["life"], set()).add((event["fields"]["started_ms"], event["fields"]["ended_ms"]))
    assert all(len(ends) == 1 for ends in lives.values()), lives


def _quiet_delete(url: str) -> None:
    try:
        httpx.delete(url, timeout=60)
    except httpx.TransportError:
        return  # killed, as it is meant


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


@pytest.mark.parametrize(
    ("broken", "said"),
    [
        ("typo", "none-such"),
        ("ends", "exit code 7"),
        ("slow", "not ready within 8 s"),
        ("huge", "memory"),
        ("vast", "no node has room"),
    ],
)
def test_b73_a_viewer_that_does_not_come_up_says_why_and_leaves_nothing(
    cluster: Cluster, namespace: str, start: Start, tasks: Tasks, broken: str, said: str
) -> None:
    tasks.add("run-1", {"loss": [(0, 1.0)]})
    gateway = start(tools=BROKEN)
    id = gateway.ask("run-1", broken).json()["viewer"]["id"]
    failed = gateway.until("failed", id, 90)
    print(failed["step"])
    assert said in failed["step"]
    if broken == "ends":
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
    assert "quota" in gateway.until("failed", id, 30)["step"]
    cluster.until_left(namespace, [])


def test_b73_a_task_without_points_shows_an_empty_tensorboard(
    cluster: Cluster, namespace: str, start: Start, tasks: Tasks
) -> None:
    tasks.add("run-1", {})
    gateway = start()
    id = gateway.ask("run-1", "tensorboard").json()["viewer"]["id"]
    viewer = gateway.until("ready", id, 120)
    assert httpx.get(f"{gateway.url}{viewer['address']}app/data/runs", timeout=30).json() == []


def test_a_pod_that_somebody_deletes_is_told_and_recorded(cluster: Cluster, namespace: str, start: Start, tasks: Tasks) -> None:
    tasks.add("run-1", {"loss": [(0, 1.0)]})
    gateway = start()
    id = gateway.ask("run-1", "stub").json()["viewer"]["id"]
    gateway.until("ready", id, 120)
    cluster.run("delete", "pod", id, "-n", namespace, "--grace-period=1")
    assert "deleted" in gateway.until("failed", id, 30)["step"]
    cluster.until_left(namespace, [])
    assert gateway.ask("run-1", "stub").status_code == 202  # a retry is a person's
    gateway.until("ready", id, 120)


def test_b64_names_that_look_alike_open_their_own_data(cluster: Cluster, namespace: str, start: Start, tasks: Tasks) -> None:
    names = ["Exp_A:lr-1e-4", "exp-a-lr-1e-4", "x" * 128, "a.b", "a-b"]
    for number, name in enumerate(names):
        tasks.add(name, {"loss": [(0, float(number))]})
    gateway = start()
    for name in names:
        gateway.until("ready", gateway.ask(name, "stub").json()["viewer"]["id"], 120)
        said = httpx.get(f"{gateway.url}/view/{name}/stub/app/echo", timeout=30).json()
        assert said["path"] == f"/view/{name}/stub/app/echo"
        assert not [variable for variable in said["environment"] if "CLICKHOUSE" in variable]
    assert len(cluster.items("pods", namespace)) == len(names)
