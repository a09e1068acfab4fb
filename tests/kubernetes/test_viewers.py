"""Viewers as pods on a real node: they come up, show every task its own, cost what they live, and leave nothing."""

from __future__ import annotations

import datetime
import threading
import time
from collections.abc import Callable

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
        end = time.monotonic() + 120
        while len(httpx.get(url, timeout=60).json()) != 101:
            assert time.monotonic() < end
            time.sleep(0.5)
    # the browser is closed, and with it the last page
    cluster.until_left(namespace, [])
    seconds = lived()
    end = time.monotonic() + 60
    while not (released := [event for event in gateway.events() if event["kind"] == "viewer_released"]):
        assert time.monotonic() < end
        time.sleep(0.1)
    fields = released[0]["fields"]
    print(f"recorded {fields['seconds']:.1f} s, the pod lived {seconds:.1f} s")
    assert fields["seconds"] == pytest.approx(seconds, abs=1.0)
    assert fields["cpu_seconds"] == pytest.approx(fields["seconds"] * 0.5, abs=0.01)
    assert fields["reason"] == "offline"


def test_b73_a_task_without_points_shows_an_empty_tensorboard(
    cluster: Cluster, namespace: str, start: Start, tasks: Tasks
) -> None:
    tasks.add("run-1", {})
    gateway = start()
    id = gateway.ask("run-1", "tensorboard").json()["viewer"]["id"]
    viewer = gateway.until("ready", id, 120)
    assert httpx.get(f"{gateway.url}{viewer['address']}app/data/runs", timeout=60).json() == []


def test_b64_names_that_look_alike_open_their_own_data(cluster: Cluster, namespace: str, start: Start, tasks: Tasks) -> None:
    names = ["Exp_A:lr-1e-4", "exp-a-lr-1e-4", "x" * 128, "a.b", "a-b"]
    for number, name in enumerate(names):
        tasks.add(name, {"loss": [(0, float(number))]})
    gateway = start()
    for name in names:
        gateway.until("ready", gateway.ask(name, "stub").json()["viewer"]["id"], 120)
        said = httpx.get(f"{gateway.url}/view/{name}/stub/app/echo", timeout=60).json()
        assert said["path"].startswith(f"/view/{name}/stub/app/~")
        assert not [variable for variable in said["environment"] if "CLICKHOUSE" in variable]
    assert len(cluster.items("pods", namespace)) == len(names)
