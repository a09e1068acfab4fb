"""Over the read API, nobody reads a task that they may not read, nor learns that it exists."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from tests.gateway import running_gateway
from tests.integration.gateway_support import Seeded, seeded
from tests.services.fixtures import Store

pytestmark = pytest.mark.services
__all__ = ["seeded"]

PARTS = ("", "/metrics", "/curves?names=loss", "/lines", "/events", "/completeness", "/latency", "/live?after=start")


@pytest.fixture(scope="module")
def api(seeded: Seeded, store: Store, tmp_path_factory: pytest.TempPathFactory) -> Iterator[httpx.Client]:
    """A gateway where ada may see what is hers and all of project open; ops may all."""
    folder: Path = tmp_path_factory.mktemp("access")
    tokens = [("ada", "[]"), ("bob", "[]"), ("olga", '["ops"]')]
    (folder / "tokens.toml").write_text(
        "".join(
            f'[[token]]\nuser = "{user}"\ngroups = {groups}\nsha256 = "{hashlib.sha256(user.encode()).hexdigest()}"\n'
            for user, groups in tokens
        )
    )
    (folder / "rights.toml").write_text(
        'admins = ["ops"]\n[[rule]]\ntasks = "*"\nproject = "open"\nview = ["*"]\n[[rule]]\ntasks = "*"\nview = ["owner"]\n'
    )
    for task, owner, project in (("hers", "ada", "x"), ("shown", "bob", "open"), ("hidden", "bob", "x")):
        file = seeded.file(task)
        file.event("header", {"owner": owner, "project": project})
        file.log({"loss": 1.0}, step=1)
        file.store()
    environ = {
        **store.environ("viewer"),
        "TRAINWIRE_CLICKHOUSE_DATABASE": seeded.database,
        "TRAINWIRE_GATEWAY_SIGN_IN": "tokens",
        "TRAINWIRE_GATEWAY_TOKENS": str(folder / "tokens.toml"),
        "TRAINWIRE_GATEWAY_RIGHTS": str(folder / "rights.toml"),
    }
    with running_gateway(environ, folder / "log") as address, httpx.Client(base_url=address, timeout=60) as client:
        yield client


def bearer(user: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {user}"}


def status(api: httpx.Client, path: str, **headers: str) -> int:
    with api.stream("GET", path, headers=headers) as answer:  # the live stream has no end
        return answer.status_code


def test_without_a_name_nothing_is_told(api: httpx.Client) -> None:
    for path in ("", "/statuses", *(f"/tasks/{task}{part}" for task in ("hers", "nobody") for part in PARTS)):
        assert status(api, f"/api/v1{path or '/tasks'}") == 401
    assert status(api, "/api/v1/tasks", Authorization="Bearer wrong") == 401


@pytest.mark.parametrize("part", PARTS)
def test_a_hidden_task_is_as_one_that_is_not_there(api: httpx.Client, part: str) -> None:
    assert status(api, f"/api/v1/tasks/hers{part}", **bearer("ada")) == 200
    assert status(api, f"/api/v1/tasks/shown{part}", **bearer("ada")) == 200
    hidden, absent = (api.get(f"/api/v1/tasks/{task}{part}", headers=bearer("ada")) for task in ("hidden", "nobody"))
    assert (hidden.status_code, absent.status_code) == (404, 404)
    assert hidden.json()["detail"].replace("hidden", "") == absent.json()["detail"].replace("nobody", "")
    assert status(api, f"/api/v1/tasks/hidden{part}", **bearer("olga")) == 200


def test_lists_hold_what_may_be_seen(api: httpx.Client) -> None:
    def listed(user: str) -> set[str]:
        return {task["task_id"] for task in api.get("/api/v1/tasks", headers=bearer(user)).json()["tasks"]}

    assert listed("ada") == {"hers", "shown"}
    assert listed("bob") == {"shown", "hidden"}
    assert listed("olga") == {"hers", "shown", "hidden"}
    assert api.get("/api/v1/statuses", headers=bearer("ada")).json() == {}
    assert api.get("/api/v1/statuses", headers=bearer("olga")).json() == {"running": 3}
