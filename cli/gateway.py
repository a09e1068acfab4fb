"""How verbs speak with the gateway: its address and token from the environment, its refusals as ours."""

from __future__ import annotations

import dataclasses
from typing import Any

import httpx

from runtime.errors import PermanentError, TemporaryError
from runtime.settings import Secret, setting, web_address


@dataclasses.dataclass(frozen=True)
class GatewaySettings:
    """Where the gateway is."""

    url: str = setting(
        "CTL_GATEWAY", "http://127.0.0.1:8080", parse=web_address, why="address of the gateway, its path prefix included"
    )
    token: Secret = setting("CTL_TOKEN", Secret(""), why="token to sign in with, where the gateway asks for one")


class Gateway:
    """Calls the REST API. Raises `TemporaryError` when it is away, `PermanentError` with its own words when it refuses."""

    def __init__(self, settings: GatewaySettings) -> None:
        self.url = settings.url.rstrip("/")
        headers = {"X-Trainwire-Method": "cli"}
        if settings.token.value:
            headers["Authorization"] = f"Bearer {settings.token.value}"
        self._client = httpx.Client(base_url=self.url, headers=headers, timeout=60)

    def ask(self, method: str, path: str, **options: Any) -> Any:
        """The answer's JSON; None where it has no body."""
        try:
            answer = self._client.request(method, path, **options)
        except httpx.TransportError as error:
            raise TemporaryError(
                f"no gateway at {self.url} ({type(error).__name__}): start it (`trainwire-gateway`), or set TRAINWIRE_CTL_GATEWAY"
            ) from error
        if answer.status_code >= 400:
            try:
                detail = answer.json()["detail"]
            except (ValueError, KeyError):
                detail = f"the gateway answered {answer.status_code}"
            raise (TemporaryError if answer.status_code in (429, 502, 503) else PermanentError)(str(detail))
        return answer.json() if answer.content else None

    def absolute(self, address: str) -> str:
        """A path that the gateway gave, as an address to open."""
        return str(httpx.URL(self.url).join(address))
