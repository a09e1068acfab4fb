"""The page of one task in a real browser."""

from __future__ import annotations

import functools
import math
import os
import shutil
import socket
from pathlib import Path

import pytest
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.keys import Keys

from tests.browser.conftest import Page
from tests.browser.scene import training
from tests.gateway import running_gateway
from tests.integration.gateway_support import Seeded
from tests.services.fixtures import Store

pytestmark = [pytest.mark.browser, pytest.mark.services]
SCREENSHOT = Path(__file__).parents[2] / "docs" / "page.png"


@pytest.fixture(scope="module")
def run(seeded: Seeded) -> str:
    training(seeded, "resnet-7f3a")
    return "resnet-7f3a"


def newest(seeded: Seeded, task: str, metric: str) -> list[float]:
    """What the store's own view says, rank by rank."""
    sql = f"SELECT value FROM {seeded.database}.latest_values WHERE task_id = '{task}' AND name = '{metric}' ORDER BY rank"
    return [row[0] for row in seeded.client.query(sql).result_rows]


def test_the_legend_tells_what_the_store_tells(seeded: Seeded, page: Page, run: str) -> None:
    page.open(f"/tasks/{run}")
    page.wait(lambda: page.values("train/loss"))
    for metric in ("train/loss", "train/accuracy"):
        assert page.wait(functools.partial(page.values, metric)) == newest(seeded, run, metric)
    assert page.texts(".head h1") == ["ResNet-18 on digits"]
    assert "attempt 2, 2 of 2 ranks" in page.texts(".head .sub")[0]
    assert page.texts(".head .progress b") == ["69 %"]


def test_what_is_not_finite_is_marked_and_leads_to_its_line(page: Page, run: str) -> None:
    page.open(f"/tasks/{run}#metric=train/loss")
    chart = '[data-metric="train/loss"]'
    said = ["NaN at step 311", "NaN at step 312"]
    assert page.wait(lambda: [mark.get_attribute("title") for mark in page.all(f"{chart} .mark.nan")]) == said
    places = """  // both at one moment: the page grows above them meanwhile
        return [".u-over", ".mark.nan"].map((part) => document.querySelector(`${arguments[0]} ${part}`).getBoundingClientRect())
    """
    box, inside = page.script(places, chart)
    assert box["left"] <= inside["left"] + 8 <= box["right"]
    assert inside["bottom"] == pytest.approx(box["bottom"], abs=3)  # at the lower edge
    assert page.texts(f"{chart} .lost") == ["NaN × 2"]
    assert page.texts('[data-metric="train/grad_norm"] .lost') == ["+Inf × 2"]

    def clicked() -> bool:
        page.all(f"{chart} .mark.nan")[-1].click()  # of two so close the upper one
        return True

    page.wait(clicked)
    target = page.wait(lambda: page.texts(".log .target code"))
    assert target == ["[ 310/1000] loss=" + target[0].split("loss=")[1]]  # the line of text at that record
    assert "line=resnet-7f3a-1-0@" in page.driver.current_url


def test_a_new_point_and_a_new_line_appear_without_reload(seeded: Seeded, page: Page) -> None:
    file = seeded.file("live")
    file.event("status", {"status": "running"})
    file.event("progress", {"done": "3", "total": "10"})
    for step in range(3):
        file.log({"loss": 3.0 - step}, step=step)
        file.text(f"step {step}")
    file.store()
    page.open("/tasks/live")
    page.wait(lambda: page.values("loss") == [1.0] and page.texts(".log code") == ["step 0", "step 1", "step 2"])
    page.script("window.same = true")
    file.log({"loss": 0.123456789, "fresh/metric": 7.0}, step=3)
    file.text("\x1b[1;31mstep 3\x1b[0m <b>not bold</b>")
    file.event("progress", {"done": "4", "total": "10"})
    file.store()
    page.wait(lambda: page.values("loss") == [0.123456789])
    page.wait(lambda: page.texts(".log code")[-1:] == ["step 3 <b>not bold</b>"])
    page.wait(lambda: page.values("fresh/metric") == [7.0])
    page.wait(lambda: page.texts(".head .progress b") == ["40 %"])
    file.log({"loss": math.nan}, step=4)
    file.event("status", {"status": "succeeded"})
    file.store()
    page.wait(lambda: page.all('[data-metric="loss"] .mark.nan'))
    page.wait(lambda: page.texts(".head .status") == ["succeeded"])
    assert page.script("return window.same") is True


def test_axis_attempts_smoothing_and_scale_live_in_the_address(page: Page, run: str) -> None:
    page.open(f"/tasks/{run}")
    chart = '[data-metric="train/loss"]'
    page.wait(lambda: page.texts(f"{chart} .who") == ["rank 0", "rank 1"])
    for label in ("Each attempt", "Time"):
        next(button for button in page.all(".curves button") if button.text == label).click()
    page.wait(lambda: page.texts(f"{chart} .who") == [f"rank {r} · attempt {a}" for r in (0, 1) for a in (1, 2)])
    page.all(".curves input[type=range]")[0].send_keys(Keys.ARROW_RIGHT)
    page.all(".curves .check input")[0].click()
    page.wait(lambda: "scale=log" in page.driver.current_url)
    assert "#axis=time&attempts=each&smooth=0.01&scale=log" in page.driver.current_url
    page.driver.refresh()
    page.wait(lambda: len(page.texts(f"{chart} .who")) == 4)
    assert [button.text for button in page.all(".curves [aria-pressed=true]")] == ["Time", "Each attempt"]


def test_zoom_reads_the_range_anew_and_the_keyboard_moves(page: Page, run: str) -> None:
    page.open(f"/tasks/{run}#metric=train/accuracy")
    chart = '[data-metric="train/accuracy"]'
    page.wait(lambda: page.values("train/accuracy"))
    over = page.all(f"{chart} .u-over")[0]
    ActionChains(page.driver).move_to_element_with_offset(over, -50, 0).click_and_hold().move_by_offset(
        100, 0
    ).release().perform()
    page.wait(lambda: "from=" in page.driver.current_url)
    page.wait(lambda: int(page.texts(f"{chart} .where")[0].replace(",", "").split()[1]) < 600)
    page.all(f"{chart} .plot")[0].send_keys(Keys.HOME)
    first = page.wait(lambda: int(page.texts(f"{chart} .where")[0].replace(",", "").split()[1]))
    page.all(f"{chart} .plot")[0].send_keys(Keys.ARROW_RIGHT)
    page.wait(lambda: int(page.texts(f"{chart} .where")[0].replace(",", "").split()[1]) == first + 1)
    next(button for button in page.all(".curves button") if button.text.startswith("Whole range")).click()
    page.wait(lambda: "from=" not in page.driver.current_url)


def test_metrics_are_found_by_a_part_of_their_name(page: Page, run: str) -> None:
    page.open(f"/tasks/{run}")
    page.wait(lambda: len(page.texts(".group summary")) == 4)
    page.all('.curves input[type="search"]')[0].send_keys("ACC val")
    page.wait(lambda: [chart.get_attribute("data-metric") for chart in page.all(".chart")] == ["val/accuracy"])


def test_a_log_of_ten_thousand_lines(seeded: Seeded, page: Page) -> None:
    file = seeded.file("lengthy")
    offsets = [file.text(f"line {i}" + (" needle" if i == 4321 else "")) for i in range(10_000)]
    file.store()
    page.open("/tasks/lengthy")
    page.wait(lambda: page.texts(".log code")[-1:] == ["line 9999"])
    assert len(page.all(".log li")) < 200  # only what is seen exists
    rows = page.all(".rows")[0]
    page.script("arguments[0].scrollTop = 0", rows)  # pauses, and asks for what came before
    page.wait(lambda: int(page.texts(".log code")[0].split()[1]) < 9500)
    assert [button.text for button in page.all(".log button")] == ["Follow"]
    file.text("line 10000")
    file.store()
    page.wait(lambda: page.texts(".log .more") == ["1 new line ↓"])
    page.all(".log .more")[0].click()
    page.wait(lambda: page.texts(".log code")[-1:] == ["line 10000"])

    page.all('.log input[type="search"]')[0].send_keys("NEEDLE")
    page.wait(lambda: page.texts(".log code") == ["line 4321 needle"])
    assert page.texts(".log mark") == ["needle"]
    page.all(".log li")[0].click()  # its surroundings
    page.wait(lambda: {"line 4320", "line 4321 needle", "line 4322"} <= set(page.texts(".log code")))
    assert page.texts(".log .target code") == ["line 4321 needle"]

    page.open(f"/tasks/lengthy#line={file.file_id}@{offsets[77]}")
    page.wait(lambda: page.texts(".log .target code") == ["line 77"])
    inside = """
        const rows = document.querySelector(".rows").getBoundingClientRect();
        const line = document.querySelector(".target").getBoundingClientRect();
        return rows.top <= line.top && line.bottom <= rows.bottom;
    """
    assert page.script(inside)

    def further_down() -> bool:
        page.script("const rows = document.querySelector('.rows'); rows.scrollTop = rows.scrollHeight")
        return int(page.texts(".log code")[-1].split()[1]) > 1000

    page.wait(further_down)


def test_text_of_a_task_is_only_text(seeded: Seeded, page: Page) -> None:
    hostile = "<img src=x onerror=\"document.title='taken'\">"
    file = seeded.file("hostile", name=hostile)
    file.event("params", {hostile: hostile})
    file.event("event", {"x": hostile}, hostile)
    file.log({hostile: 1.0}, step=1)
    file.text(hostile)
    file.store()
    page.open("/tasks/hostile")
    page.wait(
        lambda: (
            hostile in page.texts(".head h1") and hostile in page.texts(".log code") and page.values(hostile.replace('"', '\\"'))
        )
    )
    assert page.texts(".parameters dd") == [hostile]
    assert page.all("main img") == []
    assert page.driver.title == "hostile · trainwire"


@pytest.mark.parametrize("path", ["/tasks", "/tasks/resnet-7f3a"])
def test_a_phone_needs_no_sideways_scroll(page: Page, run: str, path: str) -> None:
    page.size(360, 740, dark=True)
    page.open(path)
    page.wait(lambda: page.all(".chart .legend") or page.all(".list td"))
    assert page.script("return document.documentElement.scrollWidth") == 360


def test_everything_that_acts_has_a_name(page: Page, run: str) -> None:
    page.open(f"/tasks/{run}")
    page.wait(lambda: page.all(".chart .legend") and page.all(".facts"))
    nameless = page.script(
        """return [...document.querySelectorAll('button, input, select, [tabindex="0"]')]
        .filter((e) => !(e.getAttribute('aria-label') || e.textContent.trim() || e.closest('label'))).map((e) => e.outerHTML)"""
    )
    assert nameless == []


def test_a_task_that_begins_later_appears_by_itself(seeded: Seeded, page: Page) -> None:
    page.open("/tasks/later")
    page.wait(lambda: page.texts("h1") == ["No such task"])
    file = seeded.file("later")
    file.log({"loss": 1.0}, step=1)
    file.store()
    page.wait(lambda: page.values("loss") == [1.0])
    page.complaints()  # the 404s of the first looks, as a browser writes them


def test_a_gateway_that_restarts_under_a_prefix(seeded: Seeded, store: Store, page: Page, tmp_path: Path) -> None:
    """The page comes back by itself, where it was: nothing that was stored in between is missing, and nothing is there twice."""
    file = seeded.file("restarted")
    file.text("before")
    file.log({"loss": 2.0}, step=1)
    file.store()
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    environ = {
        **store.environ("viewer"),
        "TRAINWIRE_CLICKHOUSE_DATABASE": seeded.database,
        "TRAINWIRE_GATEWAY_PORT": str(port),
        "TRAINWIRE_GATEWAY_BASE_PATH": "/ml/wire",
    }
    with running_gateway(environ, tmp_path / "first") as address:
        page.driver.get(f"{address}/tasks/restarted")
        page.wait(lambda: page.values("loss") == [2.0] and page.texts(".log code") == ["before"])
        page.script("window.same = true")
    file.text("in between")
    file.log({"loss": 1.0}, step=2)
    file.store()
    page.wait(lambda: "goes on by itself" in " ".join(page.texts(".notice")))
    with running_gateway(environ, tmp_path / "second"):
        page.wait(lambda: page.texts(".log code") == ["before", "in between"] and page.values("loss") == [1.0])
        page.wait(lambda: not page.texts(".notice"))
        assert page.script("return window.same") is True
        page.driver.get("about:blank")
    page.complaints()  # the connections that were refused, as a browser writes them
    assert page.asked() <= {f"http://127.0.0.1:{port}"}


def test_the_picture_in_the_readme(seeded: Seeded, page: Page, tmp_path: Path) -> None:
    """Made here, so that it shows what the page is: TRAINWIRE_TEST_PICTURE=1 puts a new one in its place."""
    training(seeded, "resnet-18-b256")
    page.size(1360, 860)
    page.open("/tasks/resnet-18-b256")
    page.wait(
        lambda: (
            all(page.values(metric) for metric in ("train/loss", "val/loss"))
            and page.texts(".log code")
            and page.all(".trust .good")
        )
    )
    picture = tmp_path / "page.png"
    page.driver.save_screenshot(str(picture))
    assert 20_000 < picture.stat().st_size < 300_000
    if os.environ.get("TRAINWIRE_TEST_PICTURE") == "1":
        shutil.copy(picture, SCREENSHOT)
