"""Bring the dashboards to a running Grafana over its HTTP API, and say what was changed.

Idempotent: what is there already is left alone. Ours is what carries our tag and a uid that begins with it; a folder or a
dashboard that has the uid and is not ours is an error, and nothing of it is touched.
"""

from __future__ import annotations

import contextlib
import dataclasses
import json
from collections.abc import Iterator
from typing import Any

import niquests.exceptions
from grafana_client.api import GrafanaApi
from grafana_client.client import GrafanaClientError, GrafanaException, GrafanaServerError, GrafanaTimeoutError
from grafana_foundation_sdk.models.dashboard import Dashboard

from deploy.grafana import files
from deploy.grafana.house import DEFAULT_GATEWAY, FOLDER_TITLE, FOLDER_UID, TAG
from deploy.grafana.query import DATASOURCE_UID
from deploy.grafana.settings import GrafanaSettings
from runtime.errors import PermanentError, SettingError, TemporaryError


@dataclasses.dataclass(frozen=True)
class Change:
    """What was done with one thing: `done` is created, updated, unchanged, deleted or missing."""

    thing: str
    done: str


def push(settings: GrafanaSettings, *, prune: bool = False) -> Iterator[Change]:
    """Create the folder, create or update each dashboard; with `prune` delete ours that this version no longer has.

    Raises `TemporaryError` (Grafana away, or a dashboard changed by somebody at the same moment) or `PermanentError` (the
    token may not, or a uid of ours is taken); what was yielded before stays done.
    """
    if not settings.token.value:
        raise SettingError("TRAINWIRE_GRAFANA_TOKEN is not set: make a service account with the role Editor, and a token for it")
    make: Any = GrafanaApi.from_url  # the client is not typed
    api = make(settings.url.rstrip("/") + "/", credential=settings.token.value, timeout=settings.timeout)
    with contextlib.closing(api.client.s), _explained(settings.url):
        if _found(lambda: api.client.GET(f"/datasources/uid/{DATASOURCE_UID}")) is None:
            yield Change(f"data source {DATASOURCE_UID}", "missing")
        yield _folder(api)
        wanted = {str(dashboard.uid): _model(dashboard, settings.gateway) for dashboard in files.dashboards().values()}
        for uid, model in wanted.items():
            yield _dashboard(api, uid, model)
        if prune:
            for found in api.search.search_dashboards(tag=TAG, type_="dash-db", folder_uids=FOLDER_UID):
                if _is_ours(found) and found["uid"] not in wanted:
                    api.dashboard.delete_dashboard(found["uid"])
                    yield Change(f"dashboard {found['uid']}", "deleted")


def _model(dashboard: Dashboard, gateway: str) -> dict[str, Any]:
    text = files.to_text(dashboard).replace(DEFAULT_GATEWAY, gateway.rstrip("/"))
    model: dict[str, Any] = json.loads(text)
    return model


def _folder(api: Any) -> Change:
    thing = f"folder {FOLDER_UID}"
    if _found(lambda: api.folder.get_folder(FOLDER_UID)) is not None:
        return Change(thing, "unchanged")  # people may call it what they like: its uid is what counts
    api.folder.create_folder(FOLDER_TITLE, uid=FOLDER_UID)
    return Change(thing, "created")


def _dashboard(api: Any, uid: str, model: dict[str, Any]) -> Change:
    thing = f"dashboard {uid}"
    there = _found(lambda: api.dashboard.get_dashboard(uid))
    body: dict[str, Any] = {
        "dashboard": model,
        "folderUid": FOLDER_UID,
        "overwrite": False,
        "message": "trainwirectl dashboards push",
    }
    if there is None:
        api.dashboard.update_dashboard(body | {"dashboard": model | {"id": None}})
        return Change(thing, "created")
    present, meta = there["dashboard"], there.get("meta", {})
    if not _is_ours(present | {"uid": uid}):
        raise PermanentError(f"the dashboard {uid} in this Grafana is not ours (it has no tag {TAG}): give it another uid")
    if meta.get("provisioned"):
        raise PermanentError(f"the dashboard {uid} is provisioned from disk there: change its file, or remove the provider")
    if meta.get("folderUid") == FOLDER_UID and _holds(present, model):
        return Change(thing, "unchanged")
    # their id and version: Grafana refuses the update when somebody has saved in between
    api.dashboard.update_dashboard(body | {"dashboard": model | {"id": present["id"], "version": present["version"]}})
    return Change(thing, "updated")


def _is_ours(found: dict[str, Any]) -> bool:
    return TAG in found.get("tags", []) and str(found.get("uid", "")).startswith(f"{TAG}-")


def _holds(present: Any, wanted: Any) -> bool:
    """Whether everything wanted is there as it should be; Grafana may have added members of its own."""
    if isinstance(wanted, dict):
        return isinstance(present, dict) and all(
            name in present and _holds(present[name], value) for name, value in wanted.items()
        )
    if isinstance(wanted, list):
        return isinstance(present, list) and len(present) == len(wanted) and all(map(_holds, present, wanted))
    return bool(present == wanted)


def _found(call: Any) -> Any:
    """The answer, or None for 404."""
    try:
        return call()
    except GrafanaClientError as error:
        if error.status_code == 404:
            return None
        raise


@contextlib.contextmanager
def _explained(url: str) -> Iterator[None]:
    """Grafana's errors in two words, each saying what to do."""
    try:
        yield
    except (GrafanaTimeoutError, GrafanaServerError, niquests.exceptions.RequestException) as error:
        raise TemporaryError(f"no answer from Grafana at {url} ({error}): is it up? Set TRAINWIRE_GRAFANA_URL") from error
    except GrafanaClientError as error:
        if error.status_code == 412:
            raise TemporaryError(f"somebody saved a dashboard at the same moment ({error}): run the command again") from error
        if error.status_code in (401, 403):
            raise PermanentError(f"Grafana refuses the token ({error}): TRAINWIRE_GRAFANA_TOKEN needs the role Editor") from error
        raise PermanentError(f"Grafana at {url} did not understand: {error}") from error
    except GrafanaException as error:
        raise PermanentError(f"Grafana at {url} did not understand: {error}") from error
