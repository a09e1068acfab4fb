"""What the proxy changes in addresses, cookies and headers."""

from __future__ import annotations

import pytest

from gateway.viewers.headers import SANDBOX, cookie_inside, incoming, inside
from gateway.viewers.paths import keyed, rest_of, split
from gateway.viewers.proxy import safe, with_storage

PREFIX = "/lab/view/run-1/tool/app"
OWN = {"lab.example", "127.0.0.1:4242"}


@pytest.mark.parametrize(
    ("told", "shown"),
    [
        ("http://127.0.0.1:4242/lab/view/run-1/tool/app/x?y=1#z", f"{PREFIX}/x?y=1#z"),  # as the tool knows itself
        ("http://lab.example/lab/view/run-1/tool/app/x", f"{PREFIX}/x"),  # as people know it, but http: theirs may be https
        ("https://lab.example/login", f"{PREFIX}/login"),  # a tool that forgot its prefix stays inside
        ("/", f"{PREFIX}/"),
        ("/lab/view/run-1/tool/app", PREFIX),
        ("/lab/view/run-1/tool/appendix", f"{PREFIX}/lab/view/run-1/tool/appendix"),
        ("next/page?x=%20", "next/page?x=%20"),
        ("?only=query", "?only=query"),
        ("https://elsewhere.example/doc", "https://elsewhere.example/doc"),
        ("//elsewhere.example/doc", "//elsewhere.example/doc"),
    ],
)
def test_addresses_that_a_tool_gives_of_itself_stay_inside(told: str, shown: str) -> None:
    assert inside(told, PREFIX, OWN) == shown


def test_cookies_go_back_to_their_tool_only() -> None:
    assert (
        cookie_inside("a=1; Path=/; Domain=lab.example; HttpOnly; SameSite=Lax", PREFIX)
        == f"a=1; Path={PREFIX}/; HttpOnly; SameSite=Lax"
    )
    assert cookie_inside("trainwire_session=forged; Path=/", PREFIX) == ""
    assert cookie_inside("__Host-x=1; Path=/; Secure", PREFIX) == ""
    assert cookie_inside("nonsense", PREFIX) == ""


def test_a_tool_does_not_speak_for_the_whole_origin() -> None:
    told = [
        ("Content-Type", "text/html"), ("Service-Worker-Allowed", "/"), ("Clear-Site-Data", '"*"'), ("X-Frame-Options", "DENY"),
        ("Strict-Transport-Security", "max-age=1"), ("Connection", "X-Secret, close"), ("X-Secret", "1"),
        ("Transfer-Encoding", "chunked"),
        ("Access-Control-Allow-Origin", "*"),
        ("Content-Security-Policy", "default-src 'self'"),
    ]  # fmt: skip
    assert incoming(told, PREFIX, OWN, keyed=False) == [
        ("Content-Type", "text/html"),
        ("Content-Security-Policy", "default-src 'self'"),
        ("content-encoding", "identity"),
        ("content-security-policy", f"{SANDBOX}; frame-ancestors 'self'"),
    ]
    by_key = incoming(told, PREFIX, OWN, keyed=True)
    assert ("content-security-policy", SANDBOX) in by_key
    assert ("Access-Control-Allow-Origin", "*") in by_key
    assert not [name for name, _ in by_key if name.lower() == "access-control-allow-credentials"]


def test_the_sandbox_gives_no_origin() -> None:
    assert SANDBOX.startswith("sandbox ")
    assert "allow-same-origin" not in SANDBOX
    assert "allow-top-navigation" not in SANDBOX


@pytest.mark.parametrize(
    ("raw_path", "key", "rest"),
    [
        (b"/lab/view/t/stub/app/~k3y/a%2Fb", "k3y", b"a%2Fb"),
        (b"/view/t/stub/app/~k3y", "k3y", b""),
        (b"/view/t/stub/app/a/~k3y/b", None, b"a/~k3y/b"),
        (b"/view/t/stub/app/%7Ek3y/b", None, b"%7Ek3y/b"),  # neither the guard nor the tool reads another form as a key
        (b"/api/v1/tasks", None, b""),
        (b"/view/t/stub/presence", None, b""),
    ],
)
def test_the_key_is_read_from_the_bytes_that_came(raw_path: bytes, key: str | None, rest: bytes) -> None:
    assert split(rest_of(raw_path)) == (key, rest)
    assert keyed(raw_path) is (key is not None)


@pytest.mark.parametrize(
    ("page", "mended"),
    [
        (b"<!DOCTYPE html><html><head lang=en><script>", b"<!DOCTYPE html><html><head lang=en>SCRIPT<script>"),
        (b"<!doctype html>\n<title>x</title>", b"<!doctype html>SCRIPT\n<title>x</title>"),
        (b"<h1>x</h1>", b"SCRIPT<h1>x</h1>"),
        (b"<!doctype html><header>", b"<!doctype html>SCRIPT<header>"),
    ],
)
def test_storage_comes_before_a_page_s_own_scripts_and_after_its_type(page: bytes, mended: bytes) -> None:
    script = f'<script src="{PREFIX}/~/storage.js"></script>'.encode()
    assert with_storage(page, PREFIX) == mended.replace(b"SCRIPT", script)


@pytest.mark.parametrize(
    "rest",
    [b"../x", b"a/../../x", b"%2e%2e/x", b"a/%2E%2e/x", b"..%2fx", b"a%2f..%2f..", b"%252e%252e%252f%252e./..",
     b"a\\..\\b", b"a%5cb", b"a%00b", b"a%0d%0aX: y", b".", b"a/."],
)  # fmt: skip
def test_paths_that_climb_or_hide_are_refused(rest: bytes) -> None:
    assert not safe(rest)


@pytest.mark.parametrize("rest", [b"", b"index.js", b"data/plugin/scalars/scalars", b"a%20b/c", b"...", b"a..b", b"%E4%BD%A0"])
def test_usual_paths_are_not(rest: bytes) -> None:
    assert safe(rest)


@pytest.mark.parametrize(
    ("path", "rest"),
    [
        (b"/view/run-1/tool/app/", b""),
        (b"/lab/view/run-1/tool/app/a%2Fb/c?x=1", b"a%2Fb/c"),
        (b"/view/run%3A1/tool/app//double//slash", b"/double//slash"),
        (b"/view/view/tool/app/view/x", b"view/x"),
    ],
)
def test_the_rest_of_a_path_is_the_bytes_that_came(path: bytes, rest: bytes) -> None:
    assert rest_of(path) == rest
