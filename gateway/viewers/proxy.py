"""Shows a tool through the gateway: HTTP/1.1 and WebSockets, streamed both ways, nothing of the gateway's own handed on.

A tool is not trusted with the gateway either: it may be anybody's image, and what it shows was written by a training. Whatever
it answers carries a policy (headers.py) that puts it into a sandbox without an origin, in any tab and any frame: its scripts
reach neither the page around it nor the API, its requests carry no cookie. In a sandbox a page has no storage; a script before
its own gives it one that lasts as long as the page.

Built on aiohttp and websockets. fastapi-proxy-lib does not hold here: it builds the query string anew, hands the gateway's
cookies to the tool and knows nothing of prefixes, so that all but its loop had to be written anyway. The target's host and port
come from the launcher, never from the request; the path goes as the bytes that came.
"""

from __future__ import annotations

import asyncio
import contextlib
import re
from collections.abc import AsyncIterator, Callable, Iterable
from urllib.parse import unquote_to_bytes

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
from gateway.viewers.headers import HOP, IDENTITY, OURS, incoming, named
from gateway.viewers.loading import host_in_url
from gateway.viewers.people import without_ours
from gateway.viewers.viewer import Viewer
from gateway.viewers.viewers import Viewers

STORAGE = b"~/storage.js"  # below the tool's own address
BODYLESS = {"GET", "HEAD", "OPTIONS", "TRACE"}
NOT_WHOLE = {204, 206, 304}  # answers without the page that they speak of
LARGEST_PAGE = 4 * 2**20  # bytes of HTML that is mended; TensorBoard's has 200 kB
LARGEST_HEADER = 64 * 1024  # bytes of one line of a tool's answer
LARGEST_FRAME = 16 * 2**20  # bytes of one WebSocket message; 16 of them may wait


class Proxy:
    """Stateless but for the viewers' presence: who asks is counted as long as the answer flows."""

    def __init__(self, viewers: Viewers, client: aiohttp.ClientSession, identity_headers: Iterable[str]) -> None:
        self._viewers, self._client = viewers, client
        self._identity = {name.lower() for name in identity_headers}

    async def http(self, request: Request, viewer: Viewer, rest: bytes, user: str | None) -> Response:
        """`rest`: raw path below the tool's own address, without a query. `user`: None where a key in the address was enough."""
        if not safe(rest):
            return problem(400, "this path climbs out of the tool's own, or hides what it is")
        condition, prefix = viewer.condition, self._viewers.prefix(viewer)
        number = viewer.presence.begin(user, self._viewers.clock(), chatter=viewer.tool.is_chatter(_shown(rest)))
        page = request.method != "HEAD" and "text/html" in request.headers.get("accept", "")
        try:
            answer = await self._ask(request, viewer, rest, prefix, plain=page)
            response = await self._answer(answer, viewer, page, lambda: viewer.presence.end(number, self._viewers.clock()))
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
            (name.lower().encode("latin-1"), value.encode("latin-1"))
            for name, value in incoming(told, prefix, own, keyed=user is None)
        ]
        return response

    async def socket(self, socket: WebSocket, viewer: Viewer, rest: bytes, user: str | None) -> None:
        """Both ways until one side ends; the other is told the same code."""
        condition, prefix = viewer.condition, self._viewers.prefix(viewer)
        path = _target(viewer, rest, prefix, socket.scope["query_string"]).decode("ascii")
        headers = [(n, v) for n, v in self._handed_on(socket.headers) if not n.startswith("sec-websocket-")]
        number = viewer.presence.begin(user, self._viewers.clock(), chatter=viewer.tool.is_chatter(_shown(rest)))
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

    async def _answer(self, answer: aiohttp.ClientResponse, viewer: Viewer, page: bool, ended: Callable[[], None]) -> Response:
        """The answer on its way; a page is read whole first, and mended."""
        kind = answer.headers.get("content-type", "")
        encoded = answer.headers.get("content-encoding", "identity") != "identity"
        saved = "content-disposition" in answer.headers
        if not (page and kind.startswith("text/html")) or encoded or saved or answer.status in NOT_WHOLE:
            return _Stream(answer, answer.content.iter_any(), ended)
        read = b""
        try:
            async for part in answer.content.iter_any():
                read += part
                if len(read) > LARGEST_PAGE:
                    return _Stream(answer, _behind(read, answer.content.iter_any()), ended)
        except BaseException:
            answer.close()
            raise
        answer.close()
        ended()
        for wrong, right in viewer.tool.mend:
            read = read.replace(wrong.encode(), right.encode())
        return Response(with_storage(read, self._viewers.prefix(viewer)), answer.status)

    async def _ask(self, request: Request, viewer: Viewer, rest: bytes, prefix: str, plain: bool) -> aiohttp.ClientResponse:
        condition = viewer.condition
        target = _target(viewer, rest, prefix, request.scope["query_string"]).decode("latin-1")
        headers = self._handed_on(request.headers)
        headers += [
            ("host", request.headers.get("host", "")),
            ("x-forwarded-host", request.headers.get("host", "")),
            ("x-forwarded-proto", request.url.scheme),
            ("x-forwarded-prefix", prefix),
        ]
        if plain:
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
        dropped = HOP | OURS | self._identity | named(headers.getlist("connection"))
        kept = [(n, v) for n, v in headers.items() if n not in dropped and not n.startswith(IDENTITY)]
        if cookies := without_ours(headers):
            kept.append(("cookie", cookies))
        return kept


class _Stream(StreamingResponse):
    """A tool's answer on its way. Its end is told whenever and however it comes, also before the first byte."""

    def __init__(self, answer: aiohttp.ClientResponse, parts: AsyncIterator[bytes], ended: Callable[[], None]) -> None:
        super().__init__(parts, answer.status)
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


def with_storage(page: bytes, prefix: str) -> bytes:
    """A tool's HTML with our script before all of its own: behind `<head>`, else behind the document type."""
    script = f'<script src="{prefix}/{STORAGE.decode()}"></script>'.encode()
    place = re.search(rb"<head(\s[^>]*)?>", page[:65536], re.I) or re.match(rb"\s*<!doctype[^>]*>", page, re.I)
    end = place.end() if place else 0
    return page[:end] + script + page[end:]


async def _behind(read: bytes, rest: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    yield read
    async for part in rest:
        yield part


def safe(rest: bytes) -> bool:
    """No segment that climbs, however it is written, and nothing that some servers read as a slash or an end."""
    plain = unquote_to_bytes(rest)
    return not any(sign in plain for sign in (b"\0", b"\\", b"\r", b"\n")) and not any(
        segment in (b".", b"..") for segment in plain.replace(b"%2f", b"/").replace(b"%2F", b"/").split(b"/")
    )


def _target(viewer: Viewer, rest: bytes, prefix: str, query: bytes) -> bytes:
    path = (prefix.encode() if viewer.tool.prefix == "keep" else b"") + b"/" + rest
    return path + (b"?" + query if query else b"")


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
