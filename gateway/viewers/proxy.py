"""Shows a tool through the gateway: HTTP/1.1 and WebSockets, streamed both ways, nothing of the gateway's own handed on.

Built on aiohttp and websockets. fastapi-proxy-lib does not hold here: it builds the query string anew, hands the gateway's
cookies to the tool and knows nothing of prefixes, so that all but its loop had to be written anyway. The target's host and port
come from the launcher, never from the request; the path goes as the bytes that came.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Iterable
from urllib.parse import unquote_to_bytes, urlsplit, urlunsplit

import aiohttp
import websockets.asyncio.client
from fastapi import Request
from starlette.datastructures import Headers
from starlette.responses import Response, StreamingResponse
from starlette.types import Receive, Scope, Send
from starlette.websockets import WebSocket, WebSocketDisconnect
from websockets.exceptions import ConnectionClosed, WebSocketException
from yarl import URL

from gateway.api.problems import problem
from gateway.viewers.people import without_ours
from gateway.viewers.viewer import Viewer
from gateway.viewers.viewers import Viewers, host_in_url
from gateway.viewers.words import Person

# Between neighbours only (RFC 9110, 7.6.1); what a `Connection` header names goes too.
HOP = {
    "connection", "keep-alive", "proxy-authenticate", "proxy-authorization", "proxy-connection", "te", "trailer",
    "transfer-encoding", "upgrade",
}  # fmt: skip
# The gateway's business with people, and what proxies before it said.
OURS = {"host", "cookie", "authorization", "content-length", "expect", "forwarded", "x-real-ip", "x-trainwire-method"}
IDENTITY = ("x-forwarded-", "x-auth-request-", "x-remote-", "remote-")  # as OIDC proxies name them
# A tool may not speak for the whole origin.
NOT_FOR_PEOPLE = {
    "service-worker-allowed", "clear-site-data", "strict-transport-security", "alt-svc", "x-frame-options",
    "access-control-allow-origin", "access-control-allow-credentials", "cross-origin-opener-policy",
    "cross-origin-embedder-policy", "nel", "report-to", "reporting-endpoints", "server", "date",
}  # fmt: skip
BODYLESS = {"GET", "HEAD", "OPTIONS", "TRACE"}
LARGEST_PAGE = 4 * 2**20  # bytes of HTML that is mended; TensorBoard's has 200 kB
LARGEST_HEADER = 64 * 1024  # bytes of one line of a tool's answer
LARGEST_FRAME = 16 * 2**20  # bytes of one WebSocket message; 16 of them may wait


class Proxy:
    """Stateless but for the viewers' presence: who asks is counted as long as the answer flows."""

    def __init__(self, viewers: Viewers, client: aiohttp.ClientSession, identity_headers: Iterable[str]) -> None:
        self._viewers, self._client = viewers, client
        self._identity = {name.lower() for name in identity_headers}

    async def http(self, request: Request, viewer: Viewer, rest: bytes, person: Person) -> Response:
        """`rest`: raw path below `app/`, without a query."""
        if not safe(rest):
            return problem(400, "this path climbs out of the tool's own, or hides what it is")
        condition, prefix = viewer.condition, self._viewers.prefix(viewer)
        number = viewer.presence.begin(person.user, self._viewers.clock(), chatter=viewer.tool.is_chatter(_shown(rest)))
        try:
            answer = await self._ask(request, viewer, rest, prefix)
            response = await self._answer(answer, viewer, lambda: viewer.presence.end(number, self._viewers.clock()))
        except (aiohttp.ClientError, TimeoutError, OSError, ValueError) as error:
            viewer.presence.end(number, self._viewers.clock())
            return problem(502, f"{viewer.tool.title} does not answer ({type(error).__name__}): load it again in a moment")
        except BaseException:
            viewer.presence.end(number, self._viewers.clock())
            raise
        told = [(name.decode("latin-1"), value.decode("latin-1")) for name, value in answer.raw_headers]
        if not isinstance(response, _Stream):
            told = [(name, value) for name, value in told if name.lower() != "content-length"]
            told.append(("content-length", str(len(response.body))))
        own = {request.headers.get("host", ""), f"{condition.host}:{condition.port}"}
        response.raw_headers = [
            (name.lower().encode("latin-1"), value.encode("latin-1")) for name, value in incoming(told, prefix, own)
        ]
        return response

    async def socket(self, socket: WebSocket, viewer: Viewer, rest: bytes, person: Person) -> None:
        """Both ways until one side ends; the other is told the same code."""
        condition, prefix = viewer.condition, self._viewers.prefix(viewer)
        path = _target(viewer, rest, prefix, socket.scope["query_string"]).decode("ascii")
        headers = [(n, v) for n, v in self._handed_on(socket.headers) if not n.startswith("sec-websocket-")]
        number = viewer.presence.begin(person.user, self._viewers.clock(), chatter=viewer.tool.is_chatter(_shown(rest)))
        try:
            async with websockets.asyncio.client.connect(
                f"ws://{condition.host}:{condition.port}{path}",
                additional_headers=headers,
                subprotocols=socket.scope["subprotocols"] or None,
                max_size=LARGEST_FRAME,
                open_timeout=10,
                ping_interval=None,  # each side pings as it likes: the frames of one are none of the other's
                compression=None,  # between neighbours on one machine or in one cluster
                user_agent_header=None,
                proxy=None,
            ) as tool:
                await socket.accept(tool.subprotocol)
                async with asyncio.TaskGroup() as both:
                    up = both.create_task(_up(socket, tool))
                    await _down(socket, tool)
                    up.cancel()
        except (OSError, WebSocketException, TimeoutError):
            with contextlib.suppress(RuntimeError):  # closed already
                await socket.close(1011, "the tool does not answer")
        finally:
            viewer.presence.end(number, self._viewers.clock())

    async def _answer(self, answer: aiohttp.ClientResponse, viewer: Viewer, ended: Callable[[], None]) -> Response:
        """The answer on its way; a page that is to be mended is read whole first."""
        small = int(answer.headers.get("content-length", LARGEST_PAGE + 1)) <= LARGEST_PAGE
        plain = answer.headers.get("content-encoding", "identity") == "identity"
        if not (viewer.tool.mend and small and plain and answer.headers.get("content-type", "").startswith("text/html")):
            return _Stream(answer, ended)
        async with answer:
            page = await answer.read()
        for wrong, right in viewer.tool.mend:
            page = page.replace(wrong.encode(), right.encode())
        ended()
        return Response(page, answer.status)

    async def _ask(self, request: Request, viewer: Viewer, rest: bytes, prefix: str) -> aiohttp.ClientResponse:
        condition = viewer.condition
        target = _target(viewer, rest, prefix, request.scope["query_string"]).decode("latin-1")
        headers = self._handed_on(request.headers)
        headers += [
            ("host", request.headers.get("host", "")),
            ("x-forwarded-host", request.headers.get("host", "")),
            ("x-forwarded-proto", request.url.scheme),
            ("x-forwarded-prefix", prefix),
        ]
        if viewer.tool.mend and "text/html" in request.headers.get("accept", ""):
            headers = [(name, value) for name, value in headers if name != "accept-encoding"]  # it is read here
        body = None
        if request.method not in BODYLESS or "content-length" in request.headers or "transfer-encoding" in request.headers:
            body = request.stream()
            # One length or none, so that tool and gateway never disagree about where a request ends.
            if "transfer-encoding" not in request.headers:
                headers.append(("content-length", request.headers.get("content-length", "0")))
        url = URL(f"http://{host_in_url(condition.host)}:{condition.port}{target}", encoded=True)  # the bytes that came
        return await self._client.request(request.method, url, headers=headers, data=body, allow_redirects=False)

    def _handed_on(self, headers: Headers) -> list[tuple[str, str]]:
        dropped = HOP | OURS | self._identity | _named(headers.getlist("connection"))
        kept = [(n, v) for n, v in headers.items() if n not in dropped and not n.startswith(IDENTITY)]
        if cookies := without_ours(headers):
            kept.append(("cookie", cookies))
        return kept


class _Stream(StreamingResponse):
    """A tool's answer on its way. Its end is told whenever and however it comes, also before the first byte."""

    def __init__(self, answer: aiohttp.ClientResponse, ended: Callable[[], None]) -> None:
        super().__init__(answer.content.iter_any(), answer.status)
        self._answer, self._ended = answer, ended

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await super().__call__(scope, receive, send)
        finally:
            self._ended()
            self._answer.close()  # of a connection that was read to its end nothing is lost


def client() -> aiohttp.ClientSession:
    """A client that says nothing of its own accord and keeps no cookies: they would be nobody's."""
    return aiohttp.ClientSession(
        connector=aiohttp.TCPConnector(limit=1000),
        timeout=aiohttp.ClientTimeout(total=None, sock_connect=5.0),  # a stream may be silent for ever
        cookie_jar=aiohttp.DummyCookieJar(),
        auto_decompress=False,
        skip_auto_headers=("User-Agent", "Accept", "Accept-Encoding", "Content-Type"),
        max_line_size=LARGEST_HEADER,
        max_field_size=LARGEST_HEADER,
    )


def incoming(headers: Iterable[tuple[str, str]], prefix: str, own: set[str]) -> list[tuple[str, str]]:
    """A tool's response headers as people get them. `own`: names (host:port) under which the tool may speak of itself."""
    headers = list(headers)
    dropped = HOP | NOT_FOR_PEOPLE | _named([value for name, value in headers if name.lower() == "connection"])
    out = []
    for name, value in headers:
        lower = name.lower()
        if lower in dropped:
            continue
        if lower in ("location", "content-location"):
            value = inside(value, prefix, own)
        elif lower == "set-cookie":
            value = cookie_inside(value, prefix)
            if not value:
                continue
        out.append((name, value))
    names = {name.lower() for name, _ in out}
    if "content-encoding" not in names:
        out.append(("content-encoding", "identity"))  # the gateway's own compression would hold up streams
    out.append(("content-security-policy", "frame-ancestors 'self'"))  # beside the tool's own, if any: both hold
    return out


def inside(location: str, prefix: str, own: set[str]) -> str:
    """An address that the tool gave of itself, as a path below the prefix: scheme and host stay the reader's."""
    parts = urlsplit(location)
    if parts.netloc and (parts.netloc not in own or parts.scheme not in ("http", "https", "")):
        return location
    if not parts.netloc and not location.startswith("/"):
        return location  # relative: right as it is
    path = parts.path or "/"
    if path != prefix and not path.startswith(prefix + "/"):
        path = prefix + "/" + path.lstrip("/")
    return urlunsplit(("", "", path, parts.query, parts.fragment))


def cookie_inside(cookie: str, prefix: str) -> str:
    """A cookie that is sent to this tool only; empty for one that would take a name of the gateway's own."""
    pair, *attributes = (part.strip() for part in cookie.split(";"))
    if pair.startswith(("trainwire_", "__Host-", "__Secure-")) or "=" not in pair:
        return ""
    kept = [part for part in attributes if part.partition("=")[0].lower() not in ("domain", "path")]
    return "; ".join([pair, f"Path={prefix}/", *kept])


def safe(rest: bytes) -> bool:
    """No segment that climbs, however it is written, and nothing that some servers read as a slash or an end."""
    plain = unquote_to_bytes(rest)
    return not any(sign in plain for sign in (b"\0", b"\\", b"\r", b"\n")) and not any(
        segment in (b".", b"..") for segment in plain.replace(b"%2f", b"/").replace(b"%2F", b"/").split(b"/")
    )


def _target(viewer: Viewer, rest: bytes, prefix: str, query: bytes) -> bytes:
    path = (prefix.encode() if viewer.tool.prefix == "keep" else b"") + b"/" + rest
    return path + (b"?" + query if query else b"")


def _named(connection: Iterable[str]) -> set[str]:
    return {name.strip().lower() for value in connection for name in value.split(",")}


def _shown(rest: bytes) -> str:
    return "/" + rest.decode("latin-1")


async def _up(socket: WebSocket, tool: websockets.asyncio.client.ClientConnection) -> None:
    while True:
        message = await socket.receive()
        if message["type"] == "websocket.disconnect":
            code = message.get("code") or 1000
            await tool.close(code if code in (1000, 1001) or 3000 <= code < 5000 else 1000)
            return
        with contextlib.suppress(ConnectionClosed):  # the way down tells
            await tool.send(message["text"] if message.get("text") is not None else message["bytes"])


async def _down(socket: WebSocket, tool: websockets.asyncio.client.ClientConnection) -> None:
    try:
        async for message in tool:
            if isinstance(message, str):
                await socket.send_text(message)
            else:
                await socket.send_bytes(message)
    except (ConnectionClosed, WebSocketDisconnect, RuntimeError):
        pass  # ended without a goodbye, or the reader left: told below as far as there is somebody
    code = tool.close_code or 1011
    with contextlib.suppress(RuntimeError, WebSocketDisconnect):
        await socket.close(code if code in (1000, 1001, 1011) or 3000 <= code < 5000 else 1011, (tool.close_reason or "")[:100])
