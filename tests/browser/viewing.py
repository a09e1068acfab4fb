"""What browser tests of viewers share: a gateway with a stub tool, a browser of its own, and words for what a person does."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from selenium.common.exceptions import JavascriptException, TimeoutException
from selenium.webdriver.chrome.webdriver import WebDriver
from selenium.webdriver.common.by import By
from selenium.webdriver.support.ui import WebDriverWait

from tests.services.chromium import chromium
from tests.services.fixtures import Store
from tests.services.viewing import Gateway, Tasks, stub_tools

SHORT = {"viewer_idle_seconds": "15", "viewer_offline_seconds": "15", "viewer_warn_seconds": "8"}  # limits for a test


@pytest.fixture
def start(store: Store, database: str, tasks: Tasks, tmp_path: Path) -> Iterator[Callable[..., Gateway]]:
    made: list[Gateway] = []

    def begin(**settings: str) -> Gateway:
        with stub_tools(tmp_path / "tools") as tools:
            made.append(Gateway(store, database, tmp_path / "gateway", tools=str(tools), **settings))
        return made[-1].start()

    yield begin
    for gateway in made:
        gateway.end()


@pytest.fixture
def browser() -> Iterator[WebDriver]:
    with chromium() as driver:
        yield driver


def wait(browser: WebDriver, what: Callable[[WebDriver], Any], seconds: float = 120) -> Any:
    try:
        return WebDriverWait(browser, seconds, 0.1).until(what)
    except TimeoutException:
        text = browser.find_element(By.TAG_NAME, "body").text
        console = browser.get_log("browser")  # type: ignore[no-untyped-call]
        raise AssertionError(f"{browser.current_url} shows: {text[:2000]}\nconsole: {console}") from None


def state(browser: WebDriver) -> str:
    return str(browser.execute_script("return document.body.dataset.state || ''"))


def load(browser: WebDriver, url: str) -> None:
    """Open a viewer's page, click “Load”, wait until the tool is there."""
    browser.get(url)
    load_here(browser)


def load_here(browser: WebDriver) -> None:
    button = wait(browser, lambda b: b.find_element(By.ID, "load") if b.find_element(By.ID, "load").is_displayed() else None)
    button.click()
    wait(browser, lambda b: state(b) == "ready")


def in_tool(browser: WebDriver, script: str) -> Any:
    browser.switch_to.frame("frame")
    try:
        return browser.execute_script(script)
    except JavascriptException:  # its document is being replaced
        return ""
    finally:
        browser.switch_to.default_content()


# TensorBoard's page is made of shadow roots: its text is gathered through all of them.
DEEP_TEXT = """
const gather = (node) => (node.shadowRoot ? gather(node.shadowRoot) : "") +
  [...node.childNodes].map((n) => n.nodeType === 3 ? n.textContent + " " : n.nodeType === 1 ? gather(n) : "").join("");
return document.body ? gather(document.body) : "";
"""


def shows(browser: WebDriver, words: str) -> bool:
    return words in "".join(str(in_tool(browser, DEEP_TEXT)).split())
