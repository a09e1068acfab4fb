"""Who asks: by a token, by the identity headers of a proxy that is believed, or, where it is so set, anybody.

A browser gets a session as a signed cookie after it has shown a token once. Tokens are kept as SHA-256 only::

    [[token]]
    user = "ada"
    groups = ["vision"]
    sha256 = "…"        # printf %s "$TOKEN" | sha256sum
"""

from __future__ import annotations

import base64
import binascii
import dataclasses
import hashlib
import hmac
import ipaddress
import json
import os
import secrets
import tomllib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from starlette.datastructures import Headers

from gateway.viewers.settings import PeopleSettings
from gateway.viewers.words import Person
from runtime.errors import PermanentError

COOKIE = "trainwire_session"
LONGEST_NAME = 200
Network = ipaddress.IPv4Network | ipaddress.IPv6Network


@dataclasses.dataclass(frozen=True)
class Token:
    user: str
    groups: frozenset[str]
    sha256: str


class People:
    """Tells who a request comes from."""

    def __init__(self, settings: PeopleSettings, folder: Path) -> None:
        self._settings = settings
        self._tokens = read_tokens(Path(settings.tokens)) if "tokens" in settings.sign_in else []
        self._proxies = [_network(text) for text in settings.proxies]
        self._key = settings.cookie_key.value.encode() or _kept_key(folder)

    def who(self, headers: Headers, client: str, now: float) -> Person | None:
        """The person, or None where nobody is known. `client`: the address connected from; `now`: wall-clock seconds."""
        device = f"{client} {headers.get('user-agent', '')[:LONGEST_NAME]}".strip()
        method = {"cli": "cli", "page": "page"}.get(
            headers.get("x-trainwire-method", ""), "page" if "sec-fetch-mode" in headers else "api"
        )
        found = self._identity(headers, client, now)
        return Person(found[0], found[1], device, method) if found else None

    def session(self, person: Person, now: float) -> str:
        """A cookie's value that says who this is until it expires."""
        body = {"u": person.user, "g": sorted(person.groups), "x": int(now + self._settings.session_seconds)}
        packed = base64.urlsafe_b64encode(json.dumps(body, separators=(",", ":")).encode()).rstrip(b"=")
        return f"{packed.decode()}.{self._signature(packed)}"

    def of_token(self, token: str) -> tuple[str, frozenset[str]] | None:
        """User and groups of a token."""
        digest = hashlib.sha256(token.encode("utf-8", "surrogateescape")).hexdigest()
        found = None
        for one in self._tokens:  # all of them, always: the time tells nothing
            if hmac.compare_digest(one.sha256, digest):
                found = (one.user, one.groups)
        return found

    @property
    def open(self) -> bool:
        return "open" in self._settings.sign_in

    def _identity(self, headers: Headers, client: str, now: float) -> tuple[str, frozenset[str]] | None:
        if self.open:
            return "anybody", frozenset()
        if "proxy" in self._settings.sign_in and self._believed(client):
            names = headers.getlist(self._settings.user_header)
            if (
                len(names) == 1 and 0 < len(names[0]) <= LONGEST_NAME and names[0].isprintable()
            ):  # two are a smuggled one and one that is true
                groups = headers.get(self._settings.groups_header, "")[:4000]
                return names[0], frozenset(part.strip() for part in groups.split(",") if part.strip())
        if "tokens" in self._settings.sign_in:
            scheme, _, token = headers.get("authorization", "").partition(" ")
            if scheme.lower() == "bearer" and token:
                return self.of_token(token.strip())
            return self._of_cookie(headers, now)
        return None

    def _believed(self, client: str) -> bool:
        try:
            address = ipaddress.ip_address(client)
        except ValueError:
            return False
        return any(address in network for network in self._proxies)

    def _of_cookie(self, headers: Headers, now: float) -> tuple[str, frozenset[str]] | None:
        for part in "; ".join(headers.getlist("cookie")).split(";"):
            name, _, value = part.strip().partition("=")
            packed, _, signature = value.partition(".")
            if name == COOKIE and hmac.compare_digest(self._signature(packed.encode()), signature):
                try:
                    body = json.loads(base64.urlsafe_b64decode(packed + "=" * (-len(packed) % 4)))
                except (binascii.Error, ValueError):
                    return None
                return (str(body["u"]), frozenset(body["g"])) if body["x"] > now else None
        return None

    def _signature(self, packed: bytes) -> str:
        return hmac.new(self._key, packed, hashlib.sha256).hexdigest()


def read_tokens(file: Path) -> list[Token]:
    """Raises `PermanentError` naming file and entry."""
    try:
        entries: list[dict[str, Any]] = tomllib.loads(file.read_text(encoding="utf-8")).get("token", [])
    except (OSError, ValueError) as error:  # no file, no UTF-8 or no TOML
        raise PermanentError(f"TRAINWIRE_GATEWAY_TOKENS={file}: {error}") from None
    found = []
    for number, entry in enumerate(entries, 1):
        digest = str(entry.get("sha256", "")).lower()
        if not entry.get("user") or len(digest) != 64 or set(digest) - set("0123456789abcdef"):
            raise PermanentError(f"{file}: token {number} needs `user` and `sha256` (64 hexadecimal digits)")
        found.append(Token(str(entry["user"]), _names(entry.get("groups", [])), digest))
    return found


def _names(names: Iterable[Any]) -> frozenset[str]:
    return frozenset(str(name) for name in names)


def _network(text: str) -> Network:
    try:
        return ipaddress.ip_network(text, strict=False)
    except ValueError:
        raise PermanentError(f"TRAINWIRE_GATEWAY_PROXIES: {text!r} is no address or network") from None


def _kept_key(folder: Path) -> bytes:
    """The key made at the first start of a gateway in this folder."""
    file = folder / "cookie.key"
    folder.mkdir(parents=True, exist_ok=True)
    try:
        handle = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        return file.read_bytes()
    with os.fdopen(handle, "wb") as out:
        out.write(secrets.token_bytes(32))
    return file.read_bytes()


def without_ours(headers: Mapping[str, str]) -> str:
    """A Cookie header without the gateway's own cookies: a tool gets only its own."""
    kept = [part.strip() for part in headers.get("cookie", "").split(";") if not part.strip().startswith("trainwire_")]
    return "; ".join(part for part in kept if part)
