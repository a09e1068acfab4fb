"""One store with Grafana's special cases, for all of its tests: it is written once, with merges stopped."""

from __future__ import annotations

import uuid
from collections.abc import Iterator

import pytest
from clickhouse_connect.driver.client import Client

from schemas.columns import TABLES
from schemas.migrations import Layout
from schemas.migrations import Store as Migrations
from tests.contract.grafana_data import Seed, now_ms
from tests.contract.grafana_session import Grafana
from tests.services.fixtures import Store


@pytest.fixture(scope="session")
def grafana_writer(store: Store) -> Iterator[Client]:
    database = f"grafana_{uuid.uuid4().hex[:12]}"
    with store.client() as admin:
        list(Migrations(Layout(database), admin.command, lambda sql: admin.query(sql).result_rows).up())
        with store.client(database=database) as writer:
            yield writer
        admin.command(f"DROP DATABASE {database} SYNC")


@pytest.fixture(scope="session")
def grafana(store: Store, grafana_writer: Client) -> Iterator[Grafana]:
    for table in TABLES:
        grafana_writer.command(f"SYSTEM STOP MERGES {table}")
    data = Seed(grafana_writer, now_ms()).all()
    with store.client("viewer", database=grafana_writer.database) as reader:
        yield Grafana(reader, data)
