"""Viewers as a person meets them: in a real browser, TensorBoard in its page, presence by what the browser itself says."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable
from pathlib import Path
from urllib.parse import urlsplit

import httpx
import pytest
from selenium.webdriver.chrome.webdriver import WebDriver
from selenium.webdriver.common.by import By

from tests.browser.viewing import SHORT, load, shows, state, wait
from tests.services.viewing import Gateway, Tasks

pytestmark = [pytest.mark.services, pytest.mark.browser, pytest.mark.timeout(600)]
BASE = "/lab/trainwire"


def requests(browser: WebDriver) -> list[tuple[str, int]]:
    """Every request that the browser made so far, and its status."""
    found = []
    for entry in browser.get_log("performance"):  # type: ignore[no-untyped-call]
        message = json.loads(entry["message"])["message"]
        if message["method"] == "Network.responseReceived":
            response = message["params"]["response"]
            found.append((response["url"], int(response["status"])))
    return [(url, status) for url, status in found if url.startswith("http")]


def test_b65_tensorboard_shows_curves_under_any_prefix_and_no_request_leaves_it(
    start: Callable[..., Gateway], tasks: Tasks, browser: WebDriver
) -> None:
    tasks.add("run-1", {"train/loss": [(step, 1 / (1 + step)) for step in range(100)]})
    gateway = start(base_path=BASE)
    page = f"{gateway.url}{BASE}/view/run-1/tensorboard"
    began = time.monotonic()
    load(browser, page)  # without the slash
    wait(browser, lambda b: shows(b, "train/loss"))
    seconds = time.monotonic() - began
    viewer = httpx.get(f"{gateway.url}{BASE}/api/v1/viewers", timeout=60).json()["viewers"][0]
    print(f"from click to curves: {seconds:.1f} s; steps {viewer['steps']}")
    assert urlsplit(browser.current_url).path == f"{BASE}/view/run-1/tensorboard/"
    for url in (f"{page}/", f"{page}/?line=f1%20a:10", f"{page}/#timeseries", f"{page}?line=1"):
        browser.get(url)
        wait(browser, lambda b: state(b) == "ready")
        wait(browser, lambda b: shows(b, "train/loss"))
    # straight to the inner path: the page around it
    browser.get(f"{page}/app/#timeseries")
    wait(browser, lambda b: state(b) == "ready")
    assert urlsplit(browser.current_url).path == f"{BASE}/view/run-1/tensorboard/"
    wait(browser, lambda b: shows(b, "train/loss"))
    seen = requests(browser)
    assert [(url, status) for url, status in seen if status >= 400 and "favicon" not in url] == []
    assert [url for url, _ in seen if not url.startswith(gateway.url + BASE) and "favicon" not in url] == []
    assert any("/data/plugin/" in url for url, _ in seen)
    inner = [url for url, _ in seen if "/data/" in url or "index.js" in url]
    assert inner
    assert all(f"{BASE}/view/run-1/tensorboard/app/" in url for url in inner)


def test_closing_the_last_page_releases_an_offline_viewer_and_a_reload_does_not(
    start: Callable[..., Gateway], tasks: Tasks, browser: WebDriver
) -> None:
    tasks.add("run-1", {"loss": [(0, 1.0)]})
    gateway = start(viewer_policy="offline")
    load(browser, f"{gateway.url}/view/run-1/stub/")
    first = browser.current_window_handle
    browser.switch_to.new_window("tab")
    browser.get(f"{gateway.url}/view/run-1/stub/")
    wait(browser, lambda b: state(b) == "ready")
    wait(browser, lambda _: gateway.viewers()[0]["pages"] == 2)
    browser.refresh()  # a reload is no leaving
    wait(browser, lambda b: state(b) == "ready")
    browser.close()
    browser.switch_to.window(first)
    time.sleep(6)
    assert len(gateway.tools()) == 1, "two people, one left"
    browser.switch_to.new_window("tab")  # the browser itself stays
    blank = browser.current_window_handle
    browser.switch_to.window(first)
    browser.close()
    closed = time.monotonic()
    browser.switch_to.window(blank)
    wait(browser, lambda _: gateway.tools() == [])  # the 5 s themselves: tests/unit/viewers/test_presence.py, with its own clock
    print(f"gone {time.monotonic() - closed:.1f} s after the last page closed")
    wait(browser, lambda _: {"viewer_opened", "viewer_left", "viewer_released"} <= {event["kind"] for event in gateway.events()})


def test_a_page_in_the_background_loses_its_viewer_after_a_warning_and_stay_keeps_it(
    start: Callable[..., Gateway], tasks: Tasks, browser: WebDriver
) -> None:
    tasks.add("run-1", {"loss": [(0, 1.0)]})
    gateway = start(**SHORT)
    load(browser, f"{gateway.url}/view/run-1/stub/")
    page = browser.current_window_handle
    time.sleep(18)  # longer than the limit, but looked at
    assert gateway.viewers()[0]["state"] == "ready"
    browser.switch_to.new_window("tab")
    other = browser.current_window_handle
    wait(browser, lambda _: gateway.viewers()[0]["warned"])
    browser.switch_to.window(page)
    banner = wait(
        browser, lambda b: b.find_element(By.ID, "warning") if b.find_element(By.ID, "warning").is_displayed() else None
    )
    assert "goes in" in banner.text
    assert "nobody looked" in banner.text
    browser.find_element(By.ID, "stay").click()
    wait(browser, lambda b: not b.find_element(By.ID, "warning").is_displayed())
    browser.switch_to.window(other)
    wait(browser, lambda _: gateway.viewers() == [])
    assert gateway.tools() == []
    browser.switch_to.window(page)
    wait(browser, lambda b: "gone" in b.find_element(By.ID, "headline").text)
    kinds = [event["kind"] for event in gateway.events()]
    assert kinds.count("viewer_warned") == 2
    assert "viewer_extended" in kinds
    released = next(event for event in gateway.events() if event["kind"] == "viewer_released")
    assert released["fields"]["reason"] == "idle"


def test_a_viewer_that_does_not_come_up_says_why_and_can_be_tried_again(
    start: Callable[..., Gateway], tasks: Tasks, browser: WebDriver, tmp_path: Path
) -> None:
    tasks.add("run-1", {"loss": [(0, 1.0)]})
    broken = tmp_path / "tools"
    gateway = start()
    gateway.stop()
    (broken / "broken.toml").write_text(
        'title = "Broken"\nkind = "launched"\n'
        'command = ["{python}", "-c", "print(\'cannot read its\', \'config\'); raise SystemExit(7)"]\n'
    )
    gateway.start()
    browser.get(f"{gateway.url}/view/run-1/broken/")
    wait(browser, lambda b: b.find_element(By.ID, "load").is_displayed())
    browser.find_element(By.ID, "load").click()
    wait(browser, lambda b: state(b) == "failed")
    text = browser.find_element(By.ID, "waiting").text
    assert "exit code 7" in text
    assert "cannot read its config" in text
    assert "Try again" in text
    assert gateway.tools() == []


def test_the_list_of_viewers_shows_and_stops_them(start: Callable[..., Gateway], tasks: Tasks, browser: WebDriver) -> None:
    tasks.add("run-1", {"loss": [(0, 1.0)]})
    gateway = start()
    id = gateway.ask("run-1", "stub").json()["viewer"]["id"]
    gateway.until("ready", id)
    browser.get(f"{gateway.url}/viewers")
    cells = "return [...document.querySelectorAll('#rows tr td')].map((cell) => cell.textContent)"  # at one moment
    shown = wait(browser, lambda b: found if (found := b.execute_script(cells))[7:8] not in ([], [""]) else None)
    assert shown[:4] == ["run-1", "Stub", "ready", "anybody"]
    age, looking, cost, left = shown[4:8]
    assert re.fullmatch(r"\d+ (s|min)", age)
    assert re.fullmatch(r"unseen \d+ (s|min)", looking)
    assert cost.isdigit()
    assert re.fullmatch(r"\d+ (s|min)", left), "nobody looks: the offline limit"
    browser.execute_script("document.querySelector('#rows button').click()")  # the list is drawn anew each 2 s
    wait(browser, lambda b: b.find_element(By.ID, "none").is_displayed())
    assert gateway.tools() == []
