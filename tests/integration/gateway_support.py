"""A database with seeded rows, and a gateway in front of it."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from tests.gateway import running_gateway
from tests.seed import LogFile, migrate
from tests.services.fixtures import Store


class Seeded:
    """A database of one module with a gateway in front."""

    def __init__(self, client: Any, database: str, api: httpx.Client) -> None:
        self.client, self.database, self.api = client, database, api

    def file(self, task: str, file: str = "", **further: Any) -> LogFile:
        further.setdefault("path", f"/logs/{task}.log")
        return LogFile(self.client, task, file or f"{task}-file", database=self.database, **further)

    def get(self, path: str, **parameters: Any) -> Any:
        answer = self.api.get(f"/api/v1/{path}", params=parameters)
        assert answer.status_code == 200, answer.text
        return answer.json()


@pytest.fixture(scope="module")
def seeded(store: Store, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Seeded]:
    database = f"test_{uuid.uuid4().hex[:12]}"
    with store.client() as client:
        migrate(client, database)
        environ = {**store.environ("viewer"), "TRAINWIRE_CLICKHOUSE_DATABASE": database}
        with (
            running_gateway(environ, tmp_path_factory.mktemp("gateway") / "log") as address,
            httpx.Client(base_url=address, timeout=60) as api,
        ):
            yield Seeded(client, database, api)
        client.command(f"DROP DATABASE {database} SYNC")
