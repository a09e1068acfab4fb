"""A real Chromium on the built page, with what it complained about and whom it asked."""

from __future__ import annotations

import contextlib
import json
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from selenium import webdriver
from selenium.common.exceptions import StaleElementReferenceException
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.by import By
from selenium.webdriver.remote.webelement import WebElement

from tests.browser.viewing import browser, start
from tests.integration.gateway_support import Seeded, seeded
from tests.services.viewing import tasks

__all__ = ["browser", "seeded", "start", "tasks"]

PAGE = Path(__file__).parents[2] / "gateway" / "page"
PATIENCE = 60.0  # seconds for the page to show something; most of it is what a busy machine takes
FLAGS = (
    "--headless=new --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking "
    "--disable-component-update --disable-sync --hide-scrollbars"
)


class Page:
    """One tab on one gateway."""

    def __init__(self, driver: webdriver.Chrome, address: str) -> None:
        self.driver, self.address = driver, address

    def open(self, path: str) -> Page:
        self.driver.get("about:blank")  # so that a change of the hash alone is a new document too
        self.driver.get(self.address + path)
        return self

    def size(self, width: int, height: int, *, dark: bool = False) -> None:
        metrics = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
        self.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [scheme]})

    def all(self, selector: str) -> list[WebElement]:
        return self.driver.find_elements(By.CSS_SELECTOR, selector)

    def texts(self, selector: str) -> list[str]:
        """Texts of all that match, read at one moment."""
        return list(self.script("return [...document.querySelectorAll(arguments[0])].map((e) => e.textContent)", selector))

    def script(self, code: str, *arguments: Any) -> Any:
        return self.driver.execute_script(code, *arguments)

    def wait(self, until: Callable[[], Any]) -> Any:
        """What `until` gives as soon as it gives something. An element that the page drew anew meanwhile is looked for again."""
        deadline = time.monotonic() + PATIENCE
        while True:
            with contextlib.suppress(StaleElementReferenceException):
                if found := until():
                    return found
            if time.monotonic() > deadline:
                body = self.script("return document.body.innerText")
                raise AssertionError(f"not in {PATIENCE:.0f} s; the page says:\n{body[:3000]}")
            time.sleep(0.05)

    def values(self, metric: str) -> list[float]:
        """The numbers in a chart's legend, exact."""
        found = self.script(
            'return [...document.querySelectorAll(`[data-metric="${arguments[0]}"] .legend .value`)].map((e) => e.dataset.value)',
            metric,
        )
        return [float(value) for value in found if value is not None]

    def _log(self, kind: str) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = self.driver.get_log(kind)  # type: ignore[no-untyped-call]  # selenium left this one out
        return found

    def complaints(self) -> list[str]:
        """What stands in the console, but for connections that the machine itself cut."""
        return [entry["message"] for entry in self._log("browser") if "ERR_NETWORK_CHANGED" not in entry["message"]]

    def asked(self) -> set[str]:
        """Origins of all requests since the last call."""
        urls = set()
        for entry in self._log("performance"):
            message = json.loads(entry["message"])["message"]
            if message["method"] in ("Network.requestWillBeSent", "Network.webSocketCreated"):
                urls.add(message["params"].get("request", message["params"])["url"])
        return {"/".join(url.split("/")[:3]) for url in urls if not url.startswith(("data:", "about:", "blob:"))}


@pytest.fixture(scope="session")
def built() -> None:
    """The page's parts, built where they are older than their source."""
    subprocess.run([PAGE / "build.sh"], check=True, timeout=600)


@pytest.fixture(scope="session")
def driver(tmp_path_factory: pytest.TempPathFactory) -> Iterator[webdriver.Chrome]:
    browser, control = shutil.which("chromium"), shutil.which("chromedriver")
    if not browser or not control:
        pytest.fail("these tests drive Chromium: apt-get install -y chromium chromium-driver")
    options = webdriver.ChromeOptions()
    options.binary_location = browser
    for flag in (*FLAGS.split(), f"--user-data-dir={tmp_path_factory.mktemp('profile')}"):
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    driver = webdriver.Chrome(options=options, service=Service(control))
    yield driver
    driver.quit()


@pytest.fixture
def page(built: None, driver: webdriver.Chrome, seeded: Seeded) -> Iterator[Page]:
    """A tab of 1440 × 1000. A test that leaves a complaint in the console, or asks another host, fails."""
    page = Page(driver, str(seeded.api.base_url).rstrip("/"))
    page.size(1440, 1000)
    page.complaints()
    page.asked()
    yield page
    assert page.complaints() == []
    assert page.asked() <= {page.address}
    driver.get("about:blank")  # ends the streams
