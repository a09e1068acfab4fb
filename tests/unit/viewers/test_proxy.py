"""What the proxy changes in addresses, cookies and headers."""

from __future__ import annotations

import pytest

from gateway.viewers.api import raw_rest
from gateway.viewers.proxy import cookie_inside, incoming, inside, safe

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
    shown = incoming(told, PREFIX, OWN)
    assert shown == [
        ("Content-Type", "text/html"),
        ("Content-Security-Policy", "default-src 'self'"),
        ("content-encoding", "identity"),
        ("content-security-policy", "frame-ancestors 'self'"),
    ]


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
    assert raw_rest(path) == rest
