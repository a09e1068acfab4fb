"""From a chart's point to a tool, with task, attempt and step, and back to the log around it; "open in …" in the list."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from selenium.webdriver.chrome.webdriver import WebDriver
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys

from tests.browser.viewing import in_tool, load_here, shows, wait
from tests.services.viewing import Gateway, Tasks

pytestmark = [pytest.mark.services, pytest.mark.browser, pytest.mark.timeout(600)]
CHART = '[data-metric="train/loss"]'


def other_tab(browser: WebDriver, click: Callable[[], object]) -> None:
    """Go to the tab that a click opens."""
    known = set(browser.window_handles)
    click()
    wait(browser, lambda b: set(b.window_handles) - known)
    browser.switch_to.window((set(browser.window_handles) - known).pop())


@pytest.mark.usefixtures("built")
def test_a_point_leads_to_its_curve_in_a_tool_and_back_to_the_log_around_it(
    start: Callable[..., Gateway], tasks: Tasks, browser: WebDriver
) -> None:
    for attempt, begin in ((1, 0), (2, 6)):
        for step in range(begin, begin + 8):  # a line a point: at 10 times its place
            tasks.add("run.1", {"train/loss": [(step, 1 / (1 + step))]}, attempt=attempt)
    tasks.add("run.1", {"other": [(0, 1.0)]}, rank=1)
    gateway = start()
    browser.get(f"{gateway.url}/tasks/run.1")
    wait(browser, lambda b: b.find_elements(By.CSS_SELECTOR, f"{CHART} .plot canvas"))
    plot = browser.find_element(By.CSS_SELECTOR, f"{CHART} .plot")
    plot.send_keys(Keys.END, Keys.ARROW_LEFT, Keys.ENTER)  # the last but one: step 12 of attempt 2
    words = wait(browser, lambda b: [e.text for e in b.find_elements(By.CSS_SELECTOR, f"{CHART} .chosen")])[0]
    assert "step 12 · attempt 2 · rank 0" in words
    link = wait(  # the page asks for the tools when a point is chosen
        browser, lambda b: [one for one in b.find_elements(By.CSS_SELECTOR, ".chosen a") if one.text == "Open in TensorBoard"]
    )[0]
    other_tab(browser, link.click)
    load_here(browser)
    wait(browser, lambda b: shows(b, "train/loss"))
    assert browser.find_element(By.ID, "point").text == "train/loss · step 12 · attempt 2 · rank 0"
    search = in_tool(browser, "return location.search + location.hash")
    assert "tagFilter=%5Etrain%2Floss%24" in search or "tagFilter=^train%2Floss$" in search, search
    assert "attempt-2/rank-0" in search.replace("%2F", "/")
    assert not shows(browser, "other"), "only this curve"
    back = browser.find_element(By.ID, "lines")
    assert back.text == "log around it"
    back.click()
    target = wait(browser, lambda b: b.find_elements(By.CSS_SELECTOR, ".log .target"))[0]
    assert target.get_attribute("data-offset") == "60"
    wait(browser, lambda b: b.find_elements(By.CSS_SELECTOR, f"{CHART} .chosen"))


@pytest.mark.usefixtures("built")
def test_the_list_of_tasks_opens_each_in_each_tool(start: Callable[..., Gateway], tasks: Tasks, browser: WebDriver) -> None:
    for name in ("run-1", "run-2"):
        tasks.add(name, {"loss": [(0, 1.0)]})
    gateway = start()
    browser.get(f"{gateway.url}/tasks")
    wait(browser, lambda b: len(b.find_elements(By.CSS_SELECTOR, ".list .brief .tool")) >= 6)
    links = {
        row.find_element(By.TAG_NAME, "a").text: {link.text: link for link in row.find_elements(By.CSS_SELECTOR, ".brief .tool")}
        for row in browser.find_elements(By.CSS_SELECTOR, ".list tbody tr")
    }
    assert set(links) == {"run-1", "run-2"}
    assert set(links["run-2"]) == {"TensorBoard", "Datasette", "Stub"}
    other_tab(browser, links["run-2"]["Stub"].click)
    load_here(browser)
    assert [(one["task_id"], one["tool"]) for one in gateway.viewers()] == [("run-2", "stub")]
