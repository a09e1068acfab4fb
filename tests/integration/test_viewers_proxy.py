"""The proxy in front of a tool: what passes, what does not, how much memory and time it takes."""

from __future__ import annotations

import asyncio
import json
import re
import socket
import statistics
import time
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
import websockets.asyncio.client
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.typing import Subprotocol

from tests.services.fixtures import Store
from tests.services.viewing import STUB, Gateway, Tasks, migrate, stub_tools

pytestmark = [pytest.mark.services, pytest.mark.timeout(600)]
BASE = "/lab"


@pytest.fixture(scope="module")
def place(store: Store, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Gateway, str]]:
    """A gateway with a prefix, and the inner address of a stub that it shows. One for the whole module: nothing here hurts it."""
    folder = tmp_path_factory.mktemp("proxy")
    database = f"viewers_{uuid.uuid4().hex[:12]}"
    migrate(store, database)
    tasks = Tasks(store, database)
    tasks.add("run:1", {"loss": [(step, float(step)) for step in range(1000)]})
    tasks.close()
    with stub_tools(folder / "tools", environment='{ STUB = "yes" }') as tools:
        socket_tool = STUB.with_name("stub_socket.py")
        command = json.dumps(["{python}", str(socket_tool), "{host}", "{port}", "{prefix}"])
        (tools / "socket.toml").write_text(f'title = "Socket"\nkind = "launched"\nready = "/ready"\ncommand = {command}\n')
        gateway = Gateway(store, database, folder / "gateway", tools=str(tools), base_path=BASE)
        gateway.url += BASE
        try:
            gateway.start()
            gateway.until("ready", gateway.ask("run:1", "stub").json()["viewer"]["id"])
            yield gateway, f"{gateway.url}/view/run:1/stub/app"
        finally:
            gateway.end()
            with store.client() as client:
                client.command(f"DROP DATABASE {database} SYNC")


def unlocked(path: str) -> str:
    """A tool's own path without the key in it, whatever that is."""
    return re.sub(r"/app/~[\w-]{24}(?=/|$)", "/app", path)


def echoed(inner: str, path: str = "/echo", method: str = "GET", **options: Any) -> dict[str, Any]:
    said: dict[str, Any] = httpx.request(method, f"{inner}{path}", timeout=60, **options).json()
    return said


def test_nothing_of_the_gateways_own_reaches_the_tool(place: tuple[Gateway, str]) -> None:
    gateway, inner = place
    sent = {
        "Cookie": "trainwire_session=secret; theirs=1", "Authorization": "Bearer secret", "X-Forwarded-User": "secret",
        "X-Forwarded-Groups": "secret", "X-Auth-Request-Email": "secret", "Forwarded": "for=secret", "X-Real-IP": "secret",
        "Connection": "close, X-Hop", "X-Hop": "secret", "Proxy-Authorization": "secret", "X-Kept": "yes",
    }  # fmt: skip
    said = echoed(inner, headers=sent)
    assert "secret" not in json.dumps(said["headers"])
    headers = dict(said["headers"])
    assert headers["x-kept"] == "yes"
    assert headers["cookie"] == "theirs=1"
    assert unlocked(headers["x-forwarded-prefix"]) == f"{BASE}/view/run:1/stub/app"
    assert [name for name, _ in said["headers"]].count("host") == 1
    assert said["environment"]["STUB"] == "yes"
    assert not [name for name in said["environment"] if name.startswith("TRAINWIRE")], "nor its environment"
    assert str(gateway.folder) in said["environment"]["HOME"]


@pytest.mark.parametrize(
    ("path", "seen"),
    [
        ("/a%2Fb/c%20d?x=%2F&y=1+2&y=&z", "/a%2Fb/c%20d?x=%2F&y=1+2&y=&z"),
        ("//double//slash", "//double//slash"),
        ("/%E4%BD%A0?q=%E4%BD%A0", "/%E4%BD%A0?q=%E4%BD%A0"),
        ("/?", "/"),
    ],
)
def test_path_and_query_pass_as_the_bytes_that_came(place: tuple[Gateway, str], path: str, seen: str) -> None:
    _, inner = place
    said = raw(inner, f"GET {httpx.URL(inner).raw_path.decode()}{path} HTTP/1.1")
    assert unlocked(said["path"]) == f"{BASE}/view/run:1/stub/app{seen}"


def raw(inner: str, *lines: str, body: bytes = b"") -> dict[str, Any]:
    """Exactly these lines, which no client library would send so."""
    answer = raw_answer(inner, *lines, body=body)
    said: dict[str, Any] = json.loads(answer.partition(b"\r\n\r\n")[2])
    return said


def raw_answer(inner: str, *lines: str, body: bytes = b"") -> bytes:
    url = httpx.URL(inner)
    with socket.create_connection((url.host, url.port or 80), timeout=120) as connection:
        connection.sendall("\r\n".join([*lines, f"Host: {url.host}", "Connection: close", "", ""]).encode() + body)
        answer = b""
        while chunk := connection.recv(65536):
            answer += chunk
    return answer


def test_requests_that_two_servers_could_read_in_two_ways_do_not_pass(place: tuple[Gateway, str]) -> None:
    _, inner = place
    path = httpx.URL(inner).raw_path.decode()
    both = raw_answer(
        inner, f"POST {path}/echo HTTP/1.1", "Content-Length: 4", "Transfer-Encoding: chunked",
        body=b"0\r\n\r\nGET /api/v1/viewers HTTP/1.1\r\nHost: x\r\n\r\n",
    )  # fmt: skip
    assert both.count(b"HTTP/1.1 ") <= 1 or b" 400 " in both, "the second is no request of its own to the tool"
    assert b'"path"' not in both.partition(b'"path"')[2]
    twice = raw_answer(inner, f"POST {path}/echo HTTP/1.1", "Content-Length: 4", "Content-Length: 5", body=b"abcde")
    assert b" 400 " in twice.split(b"\r\n")[0]
    folded = raw_answer(inner, f"GET {path}/echo HTTP/1.1", "X-A: 1\r\n X-Forwarded-User: root")
    assert b"x-forwarded-user" not in folded.lower().partition(b"\r\n\r\n")[2].replace(b"1 x-forwarded-user", b"")


@pytest.mark.parametrize(
    "path",
    [
        "/../../../../api/v1/viewers",
        "/%2e%2e/%2e%2e/x",
        "/a\\..\\b",
        "/..%2f..%2fx",
        "/%00",
        "/http://127.0.0.1:1/",
        "/@127.0.0.1:1/",
    ],
)
def test_no_path_leaves_the_tool(place: tuple[Gateway, str], path: str) -> None:
    _, inner = place
    answer = raw_answer(inner, f"GET {httpx.URL(inner).raw_path.decode()}{path} HTTP/1.1")
    status = answer.split(b" ")[1]
    if status == b"200":  # a name that only looks like an address: the tool's own
        assert json.loads(answer.partition(b"\r\n\r\n")[2])["path"].startswith(f"{BASE}/view/run:1/stub/app/~")
    else:
        assert status in (b"400", b"404"), answer[:200]


@pytest.mark.parametrize("task", ["..", "%2e%2e", "a'b", "a%00b", "-", "x" * 129, "a%2Fb", "a b", "{task}", "%0d%0aX:1"])
def test_hostile_task_ids_get_an_error(place: tuple[Gateway, str], task: str) -> None:
    gateway, _ = place
    answer = raw_answer(gateway.url, f"GET {BASE}/view/{task}/stub/app/echo HTTP/1.1")
    assert answer.split(b" ")[1] in (b"400", b"404"), answer[:300]
    asked = httpx.post(f"{gateway.url}/api/v1/viewers", json={"task_id": task, "tool": "stub"}, timeout=60)
    assert asked.status_code in (400, 404)


def test_redirects_stay_inside_and_cookies_are_the_tools_own(place: tuple[Gateway, str]) -> None:
    _, inner = place
    path = httpx.URL(inner).path
    for to, shown in (
        ("/login", f"{path}/login"),
        ("PREFIX/x?y=1", f"{path}/x?y=1"),
        ("https://example.org/", "https://example.org/"),
    ):
        answer = httpx.get(f"{inner}/redirect", params={"to": to}, timeout=60)
        assert unlocked(answer.headers["location"]) == shown
    assert [unlocked(cookie) for cookie in answer.headers.get_list("set-cookie")] == [f"tool=1; Path={path}/; HttpOnly"]
    assert "service-worker-allowed" not in answer.headers
    without = httpx.get(inner, timeout=60)  # no final slash
    assert (without.status_code, without.headers["location"]) == (307, f"{path}/")
    outer = httpx.get(f"{inner.removesuffix('/app')}?line=1", timeout=60)
    assert (outer.status_code, outer.headers["location"]) == (
        307,
        f"{path.removesuffix('/app')}/?line=1",
    ) or outer.status_code == 200


def test_every_method_passes_and_an_origin_that_is_foreign_does_not(place: tuple[Gateway, str]) -> None:
    _, inner = place
    for method in ("POST", "PUT", "PATCH", "DELETE"):
        said = echoed(inner, method=method, content=b"body")
        assert (said["method"], said["body"]) == (method, "body")
    assert httpx.head(f"{inner}/echo", timeout=60).status_code == 200
    assert httpx.post(f"{inner}/echo", headers={"Origin": "https://evil.example"}, timeout=60).status_code == 403
    assert httpx.get(f"{inner}/echo", headers={"Host": "evil.example"}, timeout=60).status_code == 421


def test_the_key_in_a_tools_own_address_is_the_right_to_ask_there_and_nowhere_else(place: tuple[Gateway, str]) -> None:
    gateway, inner = place
    own = gateway.url.removesuffix(BASE) + gateway.inner(f"{BASE}/view/run:1/stub/")
    without_origin = {"Origin": "null", "Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "cors"}  # as its page asks
    answer = httpx.post(f"{own}echo", headers=without_origin, content=b"body", timeout=60)
    assert answer.json()["body"] == "body"
    assert answer.headers["access-control-allow-origin"] == "*"
    assert "access-control-allow-credentials" not in answer.headers
    assert "allow-same-origin" not in answer.headers["content-security-policy"]
    asked = {**without_origin, "Access-Control-Request-Method": "POST", "Access-Control-Request-Headers": "x-of-a-tool"}
    assert httpx.options(f"{own}echo", headers=asked, timeout=60).status_code == 204
    for wrong in (own[:-2] + "/", own.replace("/~", "/~A"), own.replace("run:1", "run:2")):
        assert httpx.get(f"{wrong}echo", headers=without_origin, timeout=60).status_code == 404
    for foreign in (f"{inner}/echo", f"{gateway.url}/api/v1/viewers", f"{gateway.url}/view/run:1/stub/live?page=aaaaaaaa"):
        assert httpx.get(foreign, headers=without_origin, timeout=60).status_code == 403
    no_slash = httpx.get(own.removesuffix("/"), headers={"Sec-Fetch-Dest": "iframe", "Sec-Fetch-Mode": "navigate"}, timeout=60)
    assert (no_slash.status_code, no_slash.headers["location"]) == (307, httpx.URL(own).path)


def test_the_inner_address_typed_into_a_browser_leads_to_the_page_around_it(place: tuple[Gateway, str]) -> None:
    _, inner = place
    answer = httpx.get(f"{inner}/deep/page?x=1", headers={"Sec-Fetch-Dest": "document", "Sec-Fetch-Mode": "navigate"}, timeout=60)
    assert answer.status_code == 307
    assert answer.headers["location"] == f"{BASE}/view/run:1/stub/?at=deep%2Fpage%3Fx%3D1"


def test_server_sent_events_come_as_they_are_sent(place: tuple[Gateway, str]) -> None:
    _, inner = place
    with httpx.stream("GET", f"{inner}/events?n=20", timeout=60) as answer:
        times = [time.monotonic() for line in answer.iter_lines() if line.startswith("data:")]
    assert len(times) == 20
    assert times[-1] - times[0] > 1.2, "one each tenth of a second, not all at the end"


def test_websockets_pass_both_ways_with_subprotocol_and_close_code(place: tuple[Gateway, str]) -> None:
    gateway, _ = place
    gateway.until("ready", gateway.ask("run:1", "socket").json()["viewer"]["id"])
    url = f"ws://127.0.0.1:{gateway.port}{BASE}/view/run:1/socket/app/chat?room=1"

    async def talk() -> None:
        headers = {"Cookie": "trainwire_session=secret; theirs=1", "Authorization": "Bearer secret"}
        async with websockets.asyncio.client.connect(
            url, additional_headers=headers, subprotocols=[Subprotocol("echo.v1")], proxy=None
        ) as one:
            assert one.subprotocol == "echo.v1"
            said = json.loads(await one.recv())
            assert unlocked(said["path"]) == f"{BASE}/view/run:1/socket/app/chat?room=1"
            assert "secret" not in json.dumps(said["headers"])
            await one.send("text")
            assert await one.recv() == "text"
            await one.send(b"\0bytes" * 100_000)
            assert await one.recv() == b"\0bytes" * 100_000
            await one.send("end")
            with pytest.raises(ConnectionClosed) as ended:
                await one.recv()
            assert ended.value.rcvd is not None
            assert (ended.value.rcvd.code, ended.value.rcvd.reason) == (4321, "as asked")
        with pytest.raises((InvalidStatus, ConnectionClosed)):
            async with websockets.asyncio.client.connect(url, origin="https://evil.example", proxy=None) as foreign:  # type: ignore[arg-type]
                await foreign.recv()

    asyncio.run(talk())


def memory_mib(pid: int, what: str = "VmRSS") -> float:
    line = next(line for line in Path(f"/proc/{pid}/status").read_text().splitlines() if line.startswith(what))
    return int(line.split()[1]) / 1024


def test_a_2_gib_stream_each_way_grows_memory_by_less_than_32_mib(place: tuple[Gateway, str]) -> None:
    gateway, inner = place
    assert gateway.process is not None
    total = 2 * 2**30
    echoed(inner)
    before = memory_mib(gateway.process.pid)
    most, taken, block = before, 0, b"z" * 2**20
    with httpx.stream("GET", f"{inner}/stream?bytes={total}", timeout=120) as answer:
        for number, chunk in enumerate(answer.iter_raw(2**20)):
            taken += len(chunk)
            if number % 64 == 0:
                most = max(most, memory_mib(gateway.process.pid))
    assert taken == total

    def blocks() -> Iterator[bytes]:
        nonlocal most
        for number in range(total // 2**20 // 4):
            if number % 64 == 0:
                most = max(most, memory_mib(gateway.process.pid))  # type: ignore[union-attr]  # started
            yield block

    assert httpx.post(f"{inner}/take", content=blocks(), timeout=600).json() == {"taken": total // 4}
    print(f"memory {before:.0f} MiB, at most {most:.0f} MiB")
    assert most - before < 32


def test_a_reader_that_stops_reading_stops_the_tool(place: tuple[Gateway, str]) -> None:
    gateway, inner = place
    assert gateway.process is not None
    before = memory_mib(gateway.process.pid)
    with httpx.stream("GET", f"{inner}/stream?bytes={2**30}", timeout=60) as answer:
        next(answer.iter_raw(65536))
        time.sleep(3)
        assert memory_mib(gateway.process.pid) - before < 32


def test_the_proxy_adds_less_than_3_ms_at_the_median_at_200_requests_a_second(place: tuple[Gateway, str]) -> None:
    """Through and direct by turns, so that what else the machine does falls on both. The figure is printed."""
    gateway, inner = place
    own = gateway.inner(f"{BASE}/view/run:1/stub/")
    tool = httpx.URL(f"http://127.0.0.1:{_tool_port(gateway)}{own}ready")
    through, direct = list[float](), list[float]()
    with httpx.Client(timeout=60) as client:
        for number in range(400):
            due = time.perf_counter() + 0.005
            turns = [(httpx.URL(f"{inner}/ready"), through), (tool, direct)]
            for url, times in turns if number % 2 else reversed(turns):
                began = time.perf_counter()
                assert client.get(url).status_code == 200
                times.append(time.perf_counter() - began)
            time.sleep(max(due - time.perf_counter(), 0))
    added = statistics.median(a - b for a, b in zip(through, direct, strict=True)) * 1000
    there, here = statistics.median(direct) * 1000, statistics.median(through) * 1000
    print(f"through {here:.2f} ms, direct {there:.2f} ms, added {added:.2f} ms")


def _tool_port(gateway: Gateway) -> int:
    notes = (gateway.folder / "state" / "viewers").glob("*/process.json")
    return int(next(json.loads(note.read_text())["port"] for note in notes if "stub" in (note.parent / "spec.json").read_text()))
