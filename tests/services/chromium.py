"""Chromium, driven by Selenium, in a profile of its own."""

from __future__ import annotations

import contextlib
import tempfile
from collections.abc import Iterator

from selenium import webdriver
from selenium.webdriver.chrome.options import Options
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.chrome.webdriver import WebDriver

QUIET = (
    "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync", "--window-size=1400,900",
    "--disable-features=IsolateSandboxedIframes",  # in a process of their own their requests would not be in the log
)  # fmt: skip


@contextlib.contextmanager
def chromium() -> Iterator[WebDriver]:
    """A browser that keeps its log: console entries and every request with its status."""
    with tempfile.TemporaryDirectory(prefix="chromium-") as profile:
        options = Options()
        options.binary_location = "/usr/bin/chromium"
        for argument in (*QUIET, f"--user-data-dir={profile}"):
            options.add_argument(argument)
        options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
        driver = webdriver.Chrome(options, Service("/usr/bin/chromedriver"))
        try:
            driver.set_page_load_timeout(60)
            yield driver
        finally:
            driver.quit()
