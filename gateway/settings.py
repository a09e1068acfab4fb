"""Settings of the gateway."""

from __future__ import annotations

import dataclasses
import re

from gateway.viewers.settings import ViewerSettings
from runtime.settings import ReaderSettings, setting


@dataclasses.dataclass(frozen=True)
class WebSettings:
    """Where the gateway listens, and under which addresses people reach it."""

    host: str = setting("GATEWAY_HOST", "127.0.0.1", why="address to listen on; this machine only, unless told otherwise")
    port: int = setting("GATEWAY_PORT", 8080, why="port to listen on; 0 takes a free one and logs it")
    base_path: str = setting(
        "GATEWAY_BASE_PATH",
        "",
        why="path prefix under which a proxy shows the gateway, such as /trainwire; it may cut it off or not",
    )
    names: tuple[str, ...] = setting(
        "GATEWAY_NAMES",
        (),
        why="host names that requests may carry besides the address listened on, comma separated; others are refused, so that "
        "no foreign page reaches the gateway through a name of its own",
    )

    def __post_init__(self) -> None:
        if not re.fullmatch(r"(/[A-Za-z0-9._~-]+)*", self.base_path):
            raise ValueError(
                f"TRAINWIRE_GATEWAY_BASE_PATH={self.base_path!r}: use a path such as /trainwire, without a slash at its end"
            )
        if not 0 <= self.port <= 65535:
            raise ValueError(f"TRAINWIRE_GATEWAY_PORT={self.port}: use a port from 1 to 65535, or 0 for a free one")


@dataclasses.dataclass(frozen=True)
class QuerySettings:
    """What one question to the store may cost."""

    threads: int = setting("GATEWAY_QUERY_THREADS", 8, why="queries at the same time, each on a connection of its own")
    seconds: float = setting(
        "GATEWAY_QUERY_SECONDS", 20.0, unit="s", why="longest query; a curve of 10⁶ points takes 1 to 2 on two idle cores"
    )
    rows: int = setting("GATEWAY_QUERY_ROWS", 500_000, unit="rows", why="most rows of one answer: 250 series of 2,000 points")

    def __post_init__(self) -> None:
        if self.threads < 1 or self.seconds <= 0 or self.rows < 1000:
            raise ValueError("TRAINWIRE_GATEWAY_QUERY_THREADS, _SECONDS must be positive and _ROWS at least 1000")


@dataclasses.dataclass(frozen=True)
class LiveSettings:
    """How live streams look for what is new."""

    interval: float = setting(
        "GATEWAY_LIVE_INTERVAL", 0.2, unit="s", why="between two looks at a task; 5 small queries a second a stream"
    )
    idle_interval: float = setting("GATEWAY_LIVE_IDLE_INTERVAL", 1.0, unit="s", why="the same, when nothing came for a minute")
    streams: int = setting(
        "GATEWAY_LIVE_STREAMS", 200, least=1, why="most streams open at once; 200 × 5 queries is what two cores answer"
    )

    def __post_init__(self) -> None:
        if not 0.02 <= self.interval <= self.idle_interval:
            raise ValueError(
                "TRAINWIRE_GATEWAY_LIVE_INTERVAL must be at least 0.02 and at most TRAINWIRE_GATEWAY_LIVE_IDLE_INTERVAL"
            )


@dataclasses.dataclass(frozen=True)
class Settings:
    """All settings of the gateway."""

    store: ReaderSettings
    web: WebSettings
    query: QuerySettings
    live: LiveSettings
    viewers: ViewerSettings
