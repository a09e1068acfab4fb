"""Which generated file comes from what: `texts` builds them all, `drift` compares them with those on disk."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from grafana_foundation_sdk.builders import dashboard as build
from grafana_foundation_sdk.cog.encoder import JSONEncoder
from grafana_foundation_sdk.models.dashboard import Dashboard, RowPanel

from deploy.grafana import alerts, compare, fleet, pipeline, task

HERE = Path(__file__).parent

DASHBOARDS: dict[str, Callable[[], build.Dashboard]] = {
    "task": task.dashboard,
    "compare": compare.dashboard,
    "fleet": fleet.dashboard,
    "pipeline": pipeline.dashboard,
}


def dashboards() -> dict[str, Dashboard]:
    """Every dashboard by its file's stem, its panels numbered in order, so that a link to a panel stays."""
    built = {}
    for stem, make in DASHBOARDS.items():
        dashboard = make().build()
        number = 0
        for panel in dashboard.panels or []:
            for one in [panel, *(panel.panels if isinstance(panel, RowPanel) else [])]:
                number += 1
                one.id_val = number
        built[stem] = dashboard
    return built


def to_text(value: Any) -> str:
    """JSON as it is committed: sorted keys and one member a line, so that a change is read as a change."""
    return json.dumps(value, cls=JSONEncoder, sort_keys=True, indent=2, ensure_ascii=False) + "\n"


def texts() -> dict[str, str]:
    """Every generated file: path below `deploy/grafana` → text."""
    found = {f"dashboards/{stem}.json": to_text(dashboard) for stem, dashboard in dashboards().items()}
    found["provisioning/alerting/rules.json"] = to_text(alerts.rules_file())
    return found


def write(folder: Path = HERE) -> list[str]:
    """Write what differs; returns the paths that changed."""
    changed = drift(folder)
    for path in changed:
        text = texts().get(path)
        target = folder / path
        if text is None:
            target.unlink()
        else:
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(text, "utf-8")
    return changed


def drift(folder: Path = HERE) -> list[str]:
    """Generated files that are absent, differ, or should not be there."""
    wanted = texts()
    present = {str(path.relative_to(folder)) for path in (folder / "dashboards").glob("*.json")}
    changed = sorted(present - wanted.keys())
    for path, text in wanted.items():
        file = folder / path
        if not file.exists() or file.read_text("utf-8") != text:
            changed.append(path)
    return changed
