"""Which headers pass between people and tools, in both directions, and what is added for people's browsers."""

from __future__ import annotations

from collections.abc import Iterable
from urllib.parse import urlsplit, urlunsplit

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
    "cross-origin-embedder-policy", "cross-origin-resource-policy", "referrer-policy", "nel", "report-to", "reporting-endpoints",
    "server", "date",
}  # fmt: skip
SANDBOX = "sandbox allow-scripts allow-forms allow-downloads allow-modals allow-popups allow-popups-to-escape-sandbox"
# A page without an origin is foreign to every address, also to its own tool's. These may be read by whoever has their key.
OPEN_TO_ITS_PAGE = {
    "Access-Control-Allow-Origin": "*", "Access-Control-Allow-Methods": "*", "Access-Control-Allow-Headers": "*",
    "Access-Control-Expose-Headers": "*", "Access-Control-Max-Age": "7200", "Cross-Origin-Resource-Policy": "cross-origin",
}  # fmt: skip


def incoming(headers: Iterable[tuple[str, str]], prefix: str, own: set[str], *, keyed: bool) -> list[tuple[str, str]]:
    """A tool's response headers as people get them. `own`: names (host:port) under which the tool may speak of itself."""
    headers = list(headers)
    dropped = HOP | NOT_FOR_PEOPLE | named([value for name, value in headers if name.lower() == "connection"])
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
    # Beside the tool's own policy, if it has one: both hold. By its key it may also be framed by itself, which has no origin.
    out.append(("content-security-policy", SANDBOX if keyed else f"{SANDBOX}; frame-ancestors 'self'"))
    out += OPEN_TO_ITS_PAGE.items() if keyed else ()
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


def named(connection: Iterable[str]) -> set[str]:
    """Names of the headers that `Connection` names: for the neighbour only, as it is itself."""
    return {name.strip().lower() for value in connection for name in value.split(",")}
