"""What holds for every request: the prefix, whom the gateway answers, headers that bind browsers, and the count."""

from __future__ import annotations

import time
from collections.abc import Callable
from urllib.parse import urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from gateway.api.problems import problem
from runtime.metrics import Metrics

# No inline script, no other host. A part that shows foreign pages (a viewer) sets its own policy, which is left alone.
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; font-src 'self'; "
    "base-uri 'self'; form-action 'self'; frame-ancestors 'self'"
)
HEADERS = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Permissions-Policy": "camera=(), microphone=(), geolocation=()",
}
PROBES = ("/healthz", "/readyz", "/metrics")  # asked by orchestrators under any name


class Prefix:
    """Serves under a path prefix, whether the proxy in front cuts it off or not."""

    def __init__(self, app: ASGIApp, prefix: str) -> None:
        self.app, self.prefix = app, prefix

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if self.prefix and scope["type"] in ("http", "websocket"):
            path = scope["path"]
            inside = path == self.prefix or path.startswith(self.prefix + "/")
            scope = {**scope, "root_path": self.prefix, "path": path if inside else self.prefix + path}
        await self.app(scope, receive, send)


class Guard:
    """Refuses requests under a foreign host name, and whatever a foreign page asks for; adds headers; counts.

    Foreign are pages of other origins, and tools' pages, which have none. `keyed` tells by the raw path which addresses hold
    their right in themselves: there, who asks does not matter.
    """

    def __init__(self, app: ASGIApp, names: frozenset[str], metrics: Metrics, keyed: Callable[[bytes], bool]) -> None:
        self.app, self.names, self.metrics, self.keyed = app, names, metrics, keyed

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        began = time.monotonic()
        status = 500

        async def send_with_headers(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                headers = MutableHeaders(scope=message)
                for name, value in HEADERS.items():
                    headers.setdefault(name, value)
            await send(message)

        try:
            if refusal := self._refusal(scope):
                await refusal(scope, receive, send_with_headers)
            else:
                await self.app(scope, receive, send_with_headers)
        finally:
            route = getattr(scope.get("route"), "path", "other")
            self.metrics.inc("gateway_requests_total", route=route, status=str(status))
            self.metrics.observe("gateway_request_seconds", time.monotonic() - began, route=route)

    def _refusal(self, scope: Scope) -> ASGIApp | None:
        headers = Headers(scope=scope)
        host = headers.get("host", "")
        if _name(host) not in self.names and not scope["path"].endswith(PROBES):
            return problem(421, f"this gateway is not known as {host[:100]!r}: add the name to TRAINWIRE_GATEWAY_NAMES")
        if self.keyed(scope["raw_path"]):
            return None
        origin, from_where = headers.get("origin"), headers.get("sec-fetch-site", "none")
        navigates = headers.get("sec-fetch-mode") == "navigate" and scope["method"] in ("GET", "HEAD")
        foreign_origin = (
            origin is not None and urlsplit(origin).netloc != host and scope["method"] not in ("GET", "HEAD", "OPTIONS")
        )
        if foreign_origin or (from_where not in ("same-origin", "none") and not navigates):
            return problem(403, "a page of another origin asked for this")
        return None


def names(host: str, further: tuple[str, ...]) -> frozenset[str]:
    """Host names that requests may carry: the address listened on, this machine's own, and those that the operator adds."""
    return frozenset({host.lower(), "localhost", "127.0.0.1", "::1", *(name.lower() for name in further)})


def _name(host: str) -> str:
    try:
        return (urlsplit(f"//{host}").hostname or "").lower()
    except ValueError:
        return ""
