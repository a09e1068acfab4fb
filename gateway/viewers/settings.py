"""Settings of viewers: how they are loaded, how long they live, and who may have them."""

from __future__ import annotations

import dataclasses

from runtime.settings import Secret, setting

SIGN_INS = ("open", "tokens", "proxy")


@dataclasses.dataclass(frozen=True)
class LaunchSettings:
    """Where viewers run."""

    launcher: str = setting("GATEWAY_LAUNCHER", "process", why="process (on this machine), kubernetes, or none (no viewers)")
    folder: str = setting(
        "GATEWAY_FOLDER", ".local/gateway", why="the gateway's own files: viewers' data, its log of what happened, its cookie key"
    )
    tools: str = setting(
        "GATEWAY_TOOLS", "", why="a folder of further tools, one TOML file each; one with a known name replaces it"
    )
    grafana: str = setting("GATEWAY_GRAFANA", "", why="Grafana's address, for the tool of that name; empty hides it")
    default_tool: str = setting("GATEWAY_DEFAULT_TOOL", "tensorboard", why="what opens when nobody asks for another")
    start_seconds: float = setting(
        "GATEWAY_VIEWER_START_SECONDS",
        120.0,
        unit="s",
        why="from request to a viewer that answers; then it has failed, with the reason",
    )
    namespace: str = setting("GATEWAY_KUBERNETES_NAMESPACE", "", why="namespace of viewer pods; empty: the gateway's own")
    store_secret: str = setting(
        "GATEWAY_KUBERNETES_STORE_SECRET",
        "trainwire-viewer-store",
        why="Secret with the store's TRAINWIRE_CLICKHOUSE_* for feeders",
    )
    feeder_image: str = setting(
        "GATEWAY_KUBERNETES_FEEDER_IMAGE", "trainwire/gateway:latest", why="image of the feeder in viewer pods"
    )

    def __post_init__(self) -> None:
        if self.launcher not in ("process", "kubernetes", "none"):
            raise ValueError(f"TRAINWIRE_GATEWAY_LAUNCHER={self.launcher!r}: use process, kubernetes or none")


@dataclasses.dataclass(frozen=True)
class LifeSettings:
    """How long a viewer lives. Presence is a person who looks, not a request that a page makes by itself."""

    policy: str = setting(
        "GATEWAY_VIEWER_POLICY", "threshold", why="offline (gone when its last page closes), threshold, or kept"
    )
    offline_seconds: float = setting(
        "GATEWAY_VIEWER_OFFLINE_SECONDS",
        300.0,
        unit="s",
        why="threshold: without any open page; a lunch break loses no viewer's place",
    )
    idle_seconds: float = setting(
        "GATEWAY_VIEWER_IDLE_SECONDS", 1800.0, unit="s", why="threshold: pages open, but all in the background"
    )
    warn_seconds: float = setting("GATEWAY_VIEWER_WARN_SECONDS", 120.0, unit="s", why="before a release: a banner with “stay”")
    cap_seconds: float = setting(
        "GATEWAY_VIEWER_CAP_SECONDS",
        43200.0,
        unit="s",
        why="the longest life under any policy, unless somebody extends it: a working day",
    )
    most: int = setting(
        "GATEWAY_VIEWERS", 20, why="viewers at the same time; the one unseen for longest goes when another is wanted"
    )
    most_by_user: int = setting("GATEWAY_VIEWERS_BY_USER", 5, least=1, why="the same, of one user")
    requests_a_minute: int = setting("GATEWAY_VIEWER_REQUESTS", 30, least=1, why="viewers that one user may ask for in a minute")

    def __post_init__(self) -> None:
        if self.policy not in ("offline", "threshold", "kept"):
            raise ValueError(f"TRAINWIRE_GATEWAY_VIEWER_POLICY={self.policy!r}: use offline, threshold or kept")
        if min(self.offline_seconds, self.idle_seconds, self.warn_seconds, self.cap_seconds) <= 0 or self.most < 1:
            raise ValueError("TRAINWIRE_GATEWAY_VIEWER_*_SECONDS and TRAINWIRE_GATEWAY_VIEWERS must be above zero")


@dataclasses.dataclass(frozen=True)
class PeopleSettings:
    """How people are known, and what they may see."""

    sign_in: tuple[str, ...] = setting(
        "GATEWAY_SIGN_IN",
        ("open",),
        why="open (anybody who reaches the gateway), tokens, proxy (headers of an OIDC proxy); several: comma",
    )
    tokens: str = setting("GATEWAY_TOKENS", "", why="TOML file of tokens: user, groups and the SHA-256 of each token")
    rights: str = setting("GATEWAY_RIGHTS", "", why="TOML file that says who may see which tasks; empty: everybody all")
    proxies: tuple[str, ...] = setting("GATEWAY_PROXIES", (), why="addresses or networks whose identity headers are believed")
    user_header: str = setting("GATEWAY_USER_HEADER", "X-Forwarded-User", why="header with the user's name, set by that proxy")
    groups_header: str = setting("GATEWAY_GROUPS_HEADER", "X-Forwarded-Groups", why="header with groups, comma separated")
    cookie_key: Secret = setting(
        "GATEWAY_COOKIE_KEY", Secret(""), why="signs session cookies; replicas share it; empty: one made in the gateway's folder"
    )
    session_seconds: float = setting(
        "GATEWAY_SESSION_SECONDS", 43200.0, least=1, unit="s", why="life of a session cookie: a working day"
    )

    def __post_init__(self) -> None:
        if not self.sign_in or not set(self.sign_in) <= set(SIGN_INS):
            raise ValueError(f"TRAINWIRE_GATEWAY_SIGN_IN={','.join(self.sign_in)!r}: use open, tokens, proxy, or several of them")
        if "open" in self.sign_in and len(self.sign_in) > 1:
            raise ValueError("TRAINWIRE_GATEWAY_SIGN_IN: open lets everybody in, so that no other way may stand beside it")
        if "proxy" in self.sign_in and not self.proxies:
            raise ValueError("TRAINWIRE_GATEWAY_SIGN_IN=proxy needs TRAINWIRE_GATEWAY_PROXIES: whose headers are believed")
        if "tokens" in self.sign_in and not self.tokens:
            raise ValueError("TRAINWIRE_GATEWAY_SIGN_IN=tokens needs TRAINWIRE_GATEWAY_TOKENS: the file of tokens")


@dataclasses.dataclass(frozen=True)
class ViewerSettings:
    """All settings of viewers."""

    launch: LaunchSettings
    life: LifeSettings
    people: PeopleSettings
