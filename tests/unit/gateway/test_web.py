"""Whom the gateway answers, and under which path."""

from __future__ import annotations

import asyncio
from pathlib import Path

import httpx
import pytest

from gateway.app import build
from gateway.settings import Settings
from runtime.settings import load


def get(
    static: Path,
    path: str,
    *,
    host: str = "localhost",
    method: str = "GET",
    headers: dict[str, str] | None = None,
    **environ: str,
) -> httpx.Response:
    """One request to a gateway with these settings, whose built page lies in `static`."""
    settings = load(Settings, {f"TRAINWIRE_GATEWAY_{name}": value for name, value in environ.items()})

    async def ask() -> httpx.Response:
        transport = httpx.ASGITransport(build(settings, static=static))
        async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as web:
            return await web.request(method, path, headers={"host": host, **(headers or {})})

    return asyncio.run(ask())


@pytest.fixture
def static(tmp_path: Path) -> Path:
    (tmp_path / "assets").mkdir()
    (tmp_path / "assets" / "index-1a2b.js").write_text("1")
    (tmp_path / "index.html").write_text("<html><head></head></html>")
    return tmp_path


@pytest.mark.parametrize(
    ("host", "status"),
    [
        ("localhost:8080", 200),
        ("127.0.0.1", 200),
        ("[::1]:8080", 200),
        ("Wire.Example:443", 200),
        ("evil.example", 421),
        ("", 421),
        ("localhost.evil", 421),
        ("localhost@evil", 421),
        ("[", 421),
    ],
)
def test_only_known_names_are_answered(static: Path, host: str, status: int) -> None:
    assert get(static, "/tasks", host=host, NAMES="wire.example").status_code == status


def test_a_page_that_is_not_built_says_how(tmp_path: Path) -> None:
    answer = get(tmp_path, "/tasks")
    assert answer.status_code == 503
    assert "gateway/page/build.sh" in answer.text


def test_built_parts_are_kept_by_browsers_and_the_document_is_not(static: Path) -> None:
    assert "immutable" in get(static, "/assets/index-1a2b.js").headers["cache-control"]
    assert get(static, "/tasks/some-task").headers["cache-control"] == "no-cache"
    assert get(static, "/assets/%2e%2e/index.html").status_code == 404


def test_the_prefix_is_part_of_the_document(static: Path) -> None:
    for path in ("/wire/tasks", "/tasks"):
        assert '<head><base href="/wire/">' in get(static, path, BASE_PATH="/wire").text
    assert get(static, "/wirex/tasks", BASE_PATH="/wire").status_code == 404


NAVIGATES, ASKS, EMBEDS = ({"Sec-Fetch-Mode": mode} for mode in ("navigate", "cors", "no-cors"))
SAME, NONE, SITE, CROSS = ({"Sec-Fetch-Site": site} for site in ("same-origin", "none", "same-site", "cross-site"))


@pytest.mark.parametrize(
    ("method", "headers", "refused"),
    [
        ("GET", {}, False),  # a program
        ("GET", SAME | ASKS, False),
        ("GET", NONE | NAVIGATES, False),  # typed into the browser
        ("GET", CROSS | NAVIGATES, False),  # a link on another page
        ("GET", CROSS | ASKS, True),
        ("GET", CROSS | EMBEDS, True),
        ("GET", SITE | ASKS, True),  # another port, another subdomain
        ("GET", CROSS | ASKS | {"Origin": "null"}, True),  # a tool's page
        ("POST", {}, False),
        ("POST", SAME | ASKS | {"Origin": "http://localhost"}, False),
        ("POST", {"Origin": "null"}, True),
        ("POST", {"Origin": "http://evil.example"}, True),
        ("POST", CROSS | NAVIGATES, True),  # a form on another page
    ],
)
def test_whatever_a_foreign_page_asks_for_is_refused(static: Path, method: str, headers: dict[str, str], refused: bool) -> None:
    assert (get(static, "/tasks", method=method, headers=headers).status_code == 403) is refused
