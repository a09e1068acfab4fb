"""More tabs than a browser has connections to one host (six, HTTP/1.1): each page has what it shows, and misses nothing."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Iterator

import httpx
import pytest
from selenium.webdriver.chrome.webdriver import WebDriver

from tests.browser.conftest import Page
from tests.browser.viewing import in_tool, load, state, wait
from tests.integration.gateway_support import Seeded
from tests.services.viewing import Gateway, Tasks

pytestmark = [pytest.mark.browser, pytest.mark.services]
TABS = 8


@pytest.fixture
def one_tab(page: Page) -> Iterator[Page]:
    """The session's browser has one tab again after the test."""
    yield page
    first, *others = page.driver.window_handles
    for other in others:
        page.driver.switch_to.window(other)
        page.driver.close()
    page.driver.switch_to.window(first)


def test_each_of_many_tabs_shows_its_task_and_what_came_while_nobody_saw_it(seeded: Seeded, one_tab: Page) -> None:
    page, file = one_tab, seeded.file("tabs")
    file.log({"loss": 2.0}, step=1)
    file.text("before")
    file.store()
    tabs = []
    for number in range(TABS):
        if number:
            page.driver.switch_to.new_window("tab")
        tabs.append(page.driver.current_window_handle)
        page.open("/tasks/tabs")
        page.wait(lambda: page.values("loss") == [2.0] and page.texts(".log code") == ["before"])
    file.log({"loss": 1.0}, step=2)
    file.text("after")
    file.store()
    for tab in tabs:
        page.driver.switch_to.window(tab)
        page.wait(lambda: page.values("loss") == [1.0] and page.texts(".log code") == ["before", "after"])


def streams(page: Page) -> float:
    found = re.search(r"^trainwire_gateway_streams (\S+)", httpx.get(f"{page.address}/metrics").text, re.MULTILINE)
    return float(found[1]) if found else 0.0


def test_a_page_that_was_left_holds_no_connection(seeded: Seeded, page: Page) -> None:
    """A browser keeps the last pages as they are, their open streams too, so that "back" is quick."""
    file = seeded.file("left")
    file.log({"loss": 2.0}, step=1)
    file.store()
    for _ in range(TABS):
        page.open("/tasks/left")
        page.wait(functools.partial(page.values, "loss"))
        assert streams(page) <= 2  # this page's, and one that just ends
    page.driver.back()
    page.driver.back()
    page.wait(lambda: page.values("loss") == [2.0])
    file.log({"loss": 1.0}, step=2)
    file.store()
    page.wait(lambda: page.values("loss") == [1.0])


@pytest.mark.timeout(600)
def test_each_of_many_tabs_shows_its_tool(start: Callable[..., Gateway], tasks: Tasks, browser: WebDriver) -> None:
    tasks.add("run-1", {"loss": [(0, 1.0)]})
    gateway = start()
    address = f"{gateway.url}/view/run-1/stub/?at=page"
    load(browser, address)
    tabs = [browser.current_window_handle]
    for _ in range(1, TABS):
        browser.switch_to.new_window("tab")
        tabs.append(browser.current_window_handle)
        browser.get(address)
        wait(browser, lambda b: state(b) == "ready" and in_tool(b, "return document.body.innerText"))
    wait(browser, lambda _: gateway.viewers()[0]["pages"] == TABS)
    httpx.delete(f"{gateway.url}/api/v1/viewers/{gateway.viewers()[0]['id']}", timeout=60).raise_for_status()
    for tab in tabs:  # what happened while nobody saw it is told when somebody does
        browser.switch_to.window(tab)
        wait(browser, lambda b: "This viewer is gone" in b.find_element("id", "headline").text)
