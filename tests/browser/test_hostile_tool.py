"""A tool's page that tries to act with the rights of the person who looks at it, in a real browser with a real session."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from pathlib import Path
from urllib.parse import quote

import httpx
import pytest
from selenium.webdriver.chrome.webdriver import WebDriver
from selenium.webdriver.common.by import By

from tests.browser.viewing import in_tool, load, shows, state, wait
from tests.services.viewing import Gateway, Tasks

pytestmark = [pytest.mark.services, pytest.mark.browser, pytest.mark.timeout(600)]


@pytest.fixture
def gateway(start: Callable[..., Gateway], tasks: Tasks, tmp_path: Path) -> Gateway:
    for task in ("hostile-1", "victim-1"):
        tasks.add(task, {"loss": [(step, float(step)) for step in range(10)]})
    digest = hashlib.sha256(b"adas-token").hexdigest()
    (tmp_path / "tokens.toml").write_text(f'[[token]]\nuser = "ada"\nsha256 = "{digest}"\n')
    return start(sign_in="tokens", tokens=str(tmp_path / "tokens.toml"))


def sign_in(browser: WebDriver, gateway: Gateway, then: str) -> None:
    browser.get(gateway.url + then)
    wait(browser, lambda b: b.find_element(By.ID, "token")).send_keys("adas-token")
    browser.find_element(By.TAG_NAME, "button").click()
    wait(browser, lambda b: b.current_url.endswith(then))


def test_a_hostile_page_of_a_tool_can_do_nothing_in_the_name_of_who_looks_at_it(gateway: Gateway, browser: WebDriver) -> None:
    ada = {"Authorization": "Bearer adas-token"}
    wish = {"task_id": "victim-1", "tool": "stub"}
    victim = httpx.post(f"{gateway.url}/api/v1/viewers", json=wish, headers=ada, timeout=60).json()["viewer"]["id"]
    at = quote(f"hostile?viewer={victim}&task=victim-1", safe="")
    sign_in(browser, gateway, f"/view/hostile-1/stub/?at={at}")
    load(browser, browser.current_url)
    here = browser.current_window_handle
    wait(browser, lambda b: in_tool(b, "return (window.said || {}).done"))
    browser.switch_to.window(here)
    said = in_tool(browser, "return window.said")
    assert said.pop("done") == "null", "a page without an origin"
    assert {what for what, how in said.items() if how != "refused"} == set(), said
    assert len(said) == 17
    viewers = httpx.get(f"{gateway.url}/api/v1/viewers", headers=ada, timeout=60).json()["viewers"]
    assert {(one["task_id"], one["state"]) for one in viewers} == {("victim-1", "ready"), ("hostile-1", "ready")}
    assert state(browser) == "ready", "the page around it is where it was"


def test_real_tools_work_without_an_origin_and_with_a_session(gateway: Gateway, browser: WebDriver) -> None:
    sign_in(browser, gateway, "/view/victim-1/tensorboard/")
    load(browser, browser.current_url)
    wait(browser, lambda b: shows(b, "loss"))
    drawn = "return [...document.querySelectorAll('line-chart canvas, line-chart svg path')].length"
    wait(browser, lambda b: in_tool(b, drawn))
    load(browser, f"{gateway.url}/view/victim-1/datasette/?at=task%2Fpoints")
    wait(browser, lambda b: shows(b, "10rows"))
    assert not [entry for entry in browser.get_log("browser") if entry["level"] == "SEVERE" and "/app/" in entry["message"]]  # type: ignore[no-untyped-call]
