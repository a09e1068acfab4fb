"""The list of tasks in a real browser."""

from __future__ import annotations

import pytest

from tests.browser.conftest import Page
from tests.integration.gateway_support import Seeded
from tests.seed import now_ms

pytestmark = [pytest.mark.browser, pytest.mark.services]
TASKS = ".list td:first-child a"  # the links to tasks; those to tools stand behind them


def begin(seeded: Seeded, task: str, status: str = "running", at: int | None = None) -> None:
    file = seeded.file(task, arrived=at)
    file.event("header", {"owner": "theo", "project": "lists"}, at=at)
    file.event("status", {"status": status}, at=at)
    file.store()


def test_tasks_appear_and_change_by_themselves(seeded: Seeded, page: Page) -> None:
    began = now_ms()
    begin(seeded, "list-old", "failed", began - 5000)
    page.open("/tasks?search=list-")
    page.wait(lambda: page.texts(TASKS) == ["list-old"])
    begin(seeded, "list-new", "running", began)
    page.wait(lambda: page.texts(TASKS) == ["list-new", "list-old"])
    assert page.texts(".list .status") == ["running", "failed"]


def test_search_and_status_are_part_of_the_address(seeded: Seeded, page: Page) -> None:
    for i in range(3):
        begin(seeded, f"find-{i}", "failed" if i == 1 else "succeeded")
    page.open("/tasks")
    page.wait(lambda: page.all(TASKS))
    page.all("input")[0].send_keys("FIND-")
    page.wait(lambda: len(page.texts(TASKS)) == 3)
    next(button for button in page.all(".switch button") if button.text.startswith("failed")).click()
    page.wait(lambda: page.texts(TASKS) == ["find-1"])
    assert page.driver.current_url.endswith("/tasks?search=FIND-&status=failed")
    page.driver.refresh()
    page.wait(lambda: page.texts(TASKS) == ["find-1"])
    page.all(TASKS)[0].click()
    page.wait(lambda: page.texts(".head h1") == ["find-1"])
