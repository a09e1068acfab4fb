"""The committed files: as the code builds them, as the SDK reads them, as Grafana loads them."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from cli.main import root
from deploy.grafana import alerts, files
from deploy.grafana.query import load

STEMS = sorted(files.DASHBOARDS)


def dashboard(stem: str) -> dict[str, Any]:
    model: dict[str, Any] = json.loads((files.HERE / f"dashboards/{stem}.json").read_text("utf-8"))
    return model


def panels(model: dict[str, Any]) -> list[dict[str, Any]]:
    return [one for panel in model["panels"] for one in [panel, *panel.get("panels", [])]]


def test_nothing_drifts() -> None:
    assert files.drift() == []
    result = CliRunner().invoke(root, ["dashboards", "check"])
    assert (result.exit_code, result.output) == (0, "every file is as the code builds it\n")


def test_drift_is_seen_and_built_away(tmp_path: Path) -> None:
    assert sorted(files.write(tmp_path)) == sorted(files.texts())
    assert files.drift(tmp_path) == []
    (tmp_path / "dashboards/task.json").write_text("{}")
    (tmp_path / "dashboards/forgotten.json").write_text("{}")
    (tmp_path / "provisioning/alerting/rules.json").unlink()
    wanted = ["dashboards/forgotten.json", "dashboards/task.json", "provisioning/alerting/rules.json"]
    assert sorted(files.drift(tmp_path)) == wanted
    assert sorted(files.write(tmp_path)) == wanted
    assert files.drift(tmp_path) == []


@pytest.mark.parametrize("stem", STEMS)
def test_it_loads_into_the_sdks_types_and_comes_back_the_same(stem: str) -> None:
    text = (files.HERE / f"dashboards/{stem}.json").read_text("utf-8")
    assert files.to_text(load(json.loads(text))) == text


@pytest.mark.parametrize("stem", STEMS)
def test_a_dashboard_is_ours_and_lays_its_panels_side_by_side(stem: str) -> None:
    model = dashboard(stem)
    assert model["uid"] == f"trainwire-{stem}"
    assert model["tags"] == ["trainwire"]
    assert "id" not in model
    ids = [panel["id"] for panel in panels(model)]
    assert ids == list(range(1, len(ids) + 1))
    taken: set[tuple[int, int]] = set()
    for panel in model["panels"]:
        at = panel["gridPos"]
        cells = {(x, y) for x in range(at["x"], at["x"] + at["w"]) for y in range(at["y"], at["y"] + at["h"])}
        assert at["x"] + at["w"] <= 24
        assert not cells & taken, f"{panel.get('title')} lies over another panel"
        taken |= cells


@pytest.mark.parametrize("stem", STEMS)
def test_every_variable_that_a_query_names_is_there(stem: str) -> None:
    model = dashboard(stem)
    names = {variable["name"] for variable in model["templating"]["list"]}
    used = set(re.findall(r"\$\{(\w+)", json.dumps(model))) - {"__field", "__data", "__value", "__url_time_range"}
    assert used <= names
    order = [variable["name"] for variable in model["templating"]["list"]]
    for variable in model["templating"]["list"]:
        if variable["type"] == "query":
            for named in re.findall(r"\$\{(\w+)", variable["query"]):
                assert order.index(named) < order.index(variable["name"])


def test_a_panel_with_steps_takes_a_table_and_one_with_time_a_series() -> None:
    kinds: dict[str, set[int]] = {}
    for stem in STEMS:
        for panel in panels(dashboard(stem)):
            for target in panel.get("targets", []):
                kinds.setdefault(panel["type"], set()).add(target["format"])
                assert target["queryType"] == {0: "timeseries", 1: "table", 2: "logs"}[target["format"]]
    assert kinds == {"trend": {1}, "timeseries": {0}, "table": {1}, "stat": {1}, "state-timeline": {1}, "logs": {2}}


def test_rules_have_what_grafana_asks_of_them() -> None:
    """The members that Grafana's own example of a provisioned rule group has."""
    [group] = alerts.rules_file()["groups"]
    assert {"orgId", "name", "folder", "interval", "rules"} <= group.keys()
    uids = [rule["uid"] for rule in group["rules"]]
    assert len(uids) == len(set(uids)) >= 8
    for rule in group["rules"]:
        assert re.fullmatch(r"trainwire-[a-z-]{1,30}", rule["uid"])
        assert {"title", "condition", "data", "for", "noDataState", "execErrState", "annotations", "labels"} <= rule.keys()
        assert rule["condition"] in {query["refId"] for query in rule["data"]}
    # Grafana replaces $NAME and ${NAME} in these files by environment variables
    assert "$" not in (files.HERE / "provisioning/alerting/rules.json").read_text("utf-8")


def test_provisioning_reads_its_secrets_and_addresses_from_the_environment() -> None:
    texts = {path.name: path.read_text("utf-8") for path in (files.HERE / "provisioning").rglob("*.yaml")}
    assert sorted(texts) == ["contact-points.yaml", "trainwire.yaml", "trainwire.yaml"] or len(texts) == 2
    for path in (files.HERE / "provisioning").rglob("*.yaml"):
        text = path.read_text("utf-8")
        assert "apiVersion: 1" in text
        for name in re.findall(r"\$\{(\w+)\}", text):
            assert name.startswith("TRAINWIRE_GRAFANA_")
            head = text[: text.index("apiVersion")]
            assert name in head, f"{path.name}: {name} is not explained"
        assert not re.search(r"password: [^$]", text)
