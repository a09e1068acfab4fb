"""`push` against a server that answers as Grafana's documentation says."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator

import pytest
from click.testing import CliRunner

from cli.main import root
from deploy.grafana import files
from deploy.grafana.push import push
from deploy.grafana.settings import GrafanaSettings
from runtime.errors import PermanentError, SettingError, TemporaryError
from runtime.settings import Secret
from tests.unit.grafana.server import TOKEN, Grafana, running

UIDS = ["trainwire-task", "trainwire-compare", "trainwire-fleet", "trainwire-pipeline"]


@pytest.fixture
def grafana() -> Grafana:
    return Grafana()


@pytest.fixture
def settings(grafana: Grafana) -> Iterator[GrafanaSettings]:
    with running(grafana) as url:
        yield GrafanaSettings(url=url, token=Secret(TOKEN), gateway="https://training.example/gw/", timeout=10.0)


def done(settings: GrafanaSettings, *, prune: bool = False) -> dict[str, str]:
    return {change.thing: change.done for change in push(settings, prune=prune)}


def test_the_first_push_creates_all_and_the_second_changes_nothing(grafana: Grafana, settings: GrafanaSettings) -> None:
    assert done(settings) == {"folder trainwire": "created"} | {f"dashboard {uid}": "created" for uid in UIDS}
    assert {entry["meta"]["folderUid"] for entry in grafana.dashboards.values()} == {"trainwire"}
    grafana.requests.clear()
    assert set(done(settings).values()) == {"unchanged"}
    assert grafana.writes == []


def test_what_arrives_is_what_is_committed_with_the_gateways_address(grafana: Grafana, settings: GrafanaSettings) -> None:
    done(settings)
    for uid in UIDS:
        arrived = json.dumps(grafana.dashboards[uid]["dashboard"])
        assert "http://127.0.0.1:8080" not in arrived
        model = json.loads((files.HERE / f"dashboards/{uid.removeprefix('trainwire-')}.json").read_text("utf-8"))
        assert len(grafana.dashboards[uid]["dashboard"]["panels"]) == len(model["panels"])
        constants = {
            v["name"]: v["query"] for v in grafana.dashboards[uid]["dashboard"]["templating"]["list"] if v["type"] == "constant"
        }
        assert constants == {"gateway": "https://training.example/gw"}


def test_only_what_differs_is_updated(grafana: Grafana, settings: GrafanaSettings) -> None:
    done(settings)
    grafana.dashboards["trainwire-fleet"]["dashboard"]["panels"].pop()
    grafana.dashboards["trainwire-task"]["meta"]["folderUid"] = "elsewhere"
    grafana.folders["trainwire"]["title"] = "renamed by people"
    grafana.requests.clear()
    changed = {thing for thing, what in done(settings).items() if what != "unchanged"}
    assert changed == {"dashboard trainwire-fleet", "dashboard trainwire-task"}
    assert len(grafana.writes) == 2
    assert grafana.folders["trainwire"]["title"] == "renamed by people"
    assert set(done(settings).values()) == {"unchanged"}


def test_what_is_not_ours_is_never_touched(grafana: Grafana, settings: GrafanaSettings) -> None:
    grafana.folders["trainwire"] = {"id": 7, "uid": "trainwire", "title": "trainwire", "version": 1}
    grafana.add("other", "Somebody's", ["trainwire"], "trainwire")  # our tag and folder, not our uid
    grafana.add("trainwire-mine", "Somebody's too", [], "trainwire")  # our uid and folder, not our tag
    grafana.add("trainwire-copy", "A copy elsewhere", ["trainwire"], "elsewhere")
    grafana.add("trainwire-old", "Of an older version", ["trainwire"], "trainwire")
    before = copy.deepcopy(grafana.dashboards)
    assert "dashboard trainwire-old" not in done(settings)
    assert done(settings, prune=True)["dashboard trainwire-old"] == "deleted"
    assert set(grafana.dashboards) == {"other", "trainwire-mine", "trainwire-copy", *UIDS}
    for uid in ("other", "trainwire-mine", "trainwire-copy"):
        assert grafana.dashboards[uid] == before[uid]


def test_a_uid_that_is_taken_is_an_error_and_stays(grafana: Grafana, settings: GrafanaSettings) -> None:
    grafana.add("trainwire-compare", "Somebody's", ["mine"])
    before = copy.deepcopy(grafana.dashboards["trainwire-compare"])
    with pytest.raises(PermanentError, match="trainwire-compare in this Grafana is not ours"):
        done(settings)
    assert grafana.dashboards["trainwire-compare"] == before


def test_a_dashboard_from_disk_is_left_to_its_file(grafana: Grafana, settings: GrafanaSettings) -> None:
    grafana.add("trainwire-task", "Task", ["trainwire"], "trainwire", provisioned=True)
    with pytest.raises(PermanentError, match="provisioned from disk"):
        done(settings)


def test_somebody_saving_at_the_same_moment_is_not_overwritten(grafana: Grafana, settings: GrafanaSettings) -> None:
    done(settings)
    grafana.dashboards["trainwire-task"]["dashboard"]["title"] = "changed"
    grafana.saved_between = "trainwire-task"
    with pytest.raises(TemporaryError, match="run the command again"):
        done(settings)
    assert grafana.dashboards["trainwire-task"]["dashboard"]["title"] == "changed"


def test_a_missing_data_source_is_told(grafana: Grafana, settings: GrafanaSettings) -> None:
    grafana.datasources.clear()
    assert done(settings)["data source trainwire-clickhouse"] == "missing"


@pytest.mark.parametrize(
    ("status", "error"), [(500, TemporaryError), (503, TemporaryError), (403, PermanentError), (400, PermanentError)]
)
def test_errors_come_in_two_words(status: int, error: type[Exception], grafana: Grafana, settings: GrafanaSettings) -> None:
    grafana.failing = status
    with pytest.raises(error):
        done(settings)


def test_a_wrong_or_absent_token_and_no_server_say_what_to_do(settings: GrafanaSettings) -> None:
    with pytest.raises(PermanentError, match="needs the role Editor"):
        done(GrafanaSettings(url=settings.url, token=Secret("wrong")))
    with pytest.raises(SettingError, match="TRAINWIRE_GRAFANA_TOKEN is not set"):
        done(GrafanaSettings(url=settings.url))
    with pytest.raises(TemporaryError, match="is it up"):
        done(GrafanaSettings(url="http://127.0.0.1:9", token=Secret("x"), timeout=2.0))


def test_the_command_tells_what_it_changed(grafana: Grafana, settings: GrafanaSettings) -> None:
    environ = {"TRAINWIRE_GRAFANA_URL": settings.url, "TRAINWIRE_GRAFANA_TOKEN": TOKEN}
    first = CliRunner().invoke(root, ["dashboards", "push"], env=environ, catch_exceptions=False)
    assert first.exit_code == 0
    assert first.output.splitlines()[0] == "created    folder trainwire"
    again = CliRunner().invoke(root, ["dashboards", "push"], env=environ, catch_exceptions=False)
    assert [line.split()[0] for line in again.output.splitlines()] == ["unchanged"] * 5


def test_the_http_library_of_everything_else_is_still_its_own() -> None:
    """grafana-client brings urllib3-future, whose wheel puts itself in urllib3's place: it is installed without that."""
    import importlib.metadata

    import urllib3

    assert vars(urllib3)["__version__"] == importlib.metadata.version("urllib3")


def test_b29_a_grafana_that_lost_its_volume_and_a_second_one_get_the_same_uids() -> None:
    seen = []
    for _ in range(2):
        grafana = Grafana()
        with running(grafana) as url:
            done(GrafanaSettings(url=url, token=Secret(TOKEN)))
        assert '"uid": "trainwire-clickhouse"' in json.dumps(grafana.dashboards)
        seen.append((sorted(grafana.dashboards), sorted(grafana.folders)))
    assert seen[0] == seen[1]
