"""Presence, once for real: limits of 15 s, a download of 25 s, two people, and a page that is closed before its tool is there.

The download outlives the limit and a sweep by far (25 > 15 + 0.5), with the page in the background all the while; five minutes
against a limit of two are the same arithmetic with a fake clock (tests/unit/viewers/test_presence.py).
"""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

import pytest
from selenium.webdriver.chrome.webdriver import WebDriver

from tests.browser.viewing import SHORT, load, state, wait
from tests.services.viewing import Gateway, Tasks

pytestmark = [pytest.mark.services, pytest.mark.browser, pytest.mark.timeout(600)]
RATE, SECONDS = 10_000, 25  # bytes a second, and for how long


def kinds(gateway: Gateway) -> list[str]:
    return [event["kind"].removeprefix("viewer_") for event in gateway.events()]


def test_b30_a_download_from_a_page_in_the_background_keeps_its_viewer_until_it_ends(
    start: Callable[..., Gateway], tasks: Tasks, browser: WebDriver, tmp_path: Path
) -> None:
    tasks.add("run-1", {"loss": [(0, 1.0)]})
    gateway = start(**SHORT)
    load(browser, f"{gateway.url}/view/run-1/stub/?at=page")
    browser.execute_cdp_cmd("Browser.setDownloadBehavior", {"behavior": "allow", "downloadPath": str(tmp_path)})
    browser.switch_to.frame("frame")
    began = time.monotonic()
    browser.execute_script(f"location.href = 'stream?save=1&bytes={RATE * SECONDS}&rate={RATE}'")
    browser.switch_to.default_content()
    browser.switch_to.new_window("tab")  # nobody looks
    while time.monotonic() - began < SECONDS - 5:
        assert [one["state"] for one in gateway.viewers()] == ["ready"], time.monotonic() - began
        time.sleep(0.5)
    wait(browser, lambda _: gateway.viewers() == [])
    lived = time.monotonic() - began
    assert lived > SECONDS
    assert [file.stat().st_size for file in tmp_path.glob("saved*")] == [RATE * SECONDS], "the whole of it"
    assert gateway.tools() == []
    released = next(event for event in gateway.events() if event["kind"] == "viewer_released")
    assert released["fields"]["reason"] == "idle"
    print(f"a download of {SECONDS} s with a limit of {SHORT['viewer_idle_seconds']} s: gone after {lived:.1f} s")


def test_b30_of_two_people_one_leaves(start: Callable[..., Gateway], tasks: Tasks, browser: WebDriver) -> None:
    tasks.add("run-1", {"loss": [(0, 1.0)]})
    gateway = start(**SHORT)
    load(browser, f"{gateway.url}/view/run-1/stub/")
    first = browser.current_window_handle
    browser.switch_to.new_window("window")  # beside the first, so that both are seen
    browser.get(f"{gateway.url}/view/run-1/stub/")
    wait(browser, lambda b: state(b) == "ready")
    wait(browser, lambda _: gateway.viewers()[0]["pages"] == 2)
    browser.close()
    browser.switch_to.window(first)
    wait(browser, lambda _: gateway.viewers()[0]["pages"] == 1)
    left = time.monotonic()
    while time.monotonic() - left < 20:  # longer than the limit
        assert [one["state"] for one in gateway.viewers()] == ["ready"]
        time.sleep(0.5)
    assert "released" not in kinds(gateway)


def test_b73_a_page_closed_before_its_tool_is_there_leaves_nothing(
    start: Callable[..., Gateway], tasks: Tasks, browser: WebDriver
) -> None:
    tasks.add("run-1", {"loss": [(0, 1.0)]})
    gateway = start(viewer_policy="offline")
    slow = gateway.folder.parent / "tools" / "slow.toml"
    slow.write_text((slow.with_name("stub.toml")).read_text() + 'environment = { STUB_START_SECONDS = "600" }\n')
    gateway.stop()
    gateway.start()
    browser.get(f"{gateway.url}/view/run-1/slow/")
    wait(browser, lambda b: b.find_element("id", "load").is_displayed())
    browser.find_element("id", "load").click()
    wait(browser, lambda b: state(b) == "loading" and gateway.tools())
    page = browser.current_window_handle
    browser.switch_to.new_window("tab")
    blank = browser.current_window_handle
    browser.switch_to.window(page)
    browser.close()
    browser.switch_to.window(blank)
    wait(browser, lambda _: gateway.viewers() == [] and gateway.tools() == [])
    wait(browser, lambda _: "released" in kinds(gateway))
