"""How `trainwirectl dashboards push` reaches a Grafana."""

from __future__ import annotations

import dataclasses

from runtime.settings import Secret, setting, web_address


@dataclasses.dataclass(frozen=True)
class GrafanaSettings:
    url: str = setting(
        "GRAFANA_URL", "http://127.0.0.1:3000", parse=web_address, why="address of Grafana, its path included where it has one"
    )
    token: Secret = setting(
        "GRAFANA_TOKEN", Secret(""), why="token of a service account that may read and write folders and dashboards (Editor)"
    )
    gateway: str = setting(
        "GRAFANA_GATEWAY",
        "http://127.0.0.1:8080",
        parse=web_address,
        why="address of the gateway as people's browsers reach it: links lead there",
    )
    timeout: float = setting("GRAFANA_TIMEOUT", 30.0, least=1, unit="s", why="for one request; a dashboard is below 100 kB")
