"""Migrations on the engine: what they leave, and that they can be interrupted."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from clickhouse_connect.driver.client import Client

from schemas.columns import TABLES
from schemas.migrations import Layout, Migration, Store, all_migrations, plan
from tests.services.fixtures import Store as Service


@pytest.fixture
def client(store: Service, database: str) -> Iterator[Client]:
    with store.client(database=database) as client:
        yield client


def migrations(client: Client, database: str) -> Store:
    return Store(Layout(database), client.command, lambda sql: client.query(sql).result_rows)


def test_the_code_knows_the_columns_that_the_migrations_leave(client: Client, database: str) -> None:
    list(migrations(client, database).up())
    for table, columns in TABLES.items():
        sql = f"SELECT name, type FROM system.columns WHERE database = '{database}' AND table = '{table}' ORDER BY position"
        found = client.query(sql).result_rows
        assert {name: kind for name, kind in found} == columns


def test_every_view_can_be_read(client: Client, database: str) -> None:
    list(migrations(client, database).up())
    views = client.query(f"SELECT name FROM system.tables WHERE database = '{database}' AND engine = 'View'").result_rows
    assert len(views) >= 12
    for (view,) in views:
        if "{" not in str(client.command(f"SHOW CREATE VIEW {view}")):  # a parameterized view has tests of its own
            client.query(f"SELECT * FROM {view} LIMIT 1")


def test_a_second_run_does_nothing(client: Client, database: str) -> None:
    store = migrations(client, database)
    assert {step.state for step in store.steps()} == {"pending"}
    assert [m.number for m in store.up()] == [m.number for m in all_migrations()]
    assert {step.state for step in store.steps()} == {"completed"}
    assert list(store.up()) == []


def test_an_interrupted_migration_is_run_again(client: Client, database: str) -> None:
    store = migrations(client, database)
    for migration in store.up():
        if migration.number == 2:
            break  # the process ends here: the second is noted as pending or in progress, not as completed
    assert {step.state for step in store.steps()} != {"completed"}
    list(store.up())
    assert {step.state for step in store.steps()} == {"completed"}


def test_a_changed_migration_is_refused(client: Client, database: str, monkeypatch: pytest.MonkeyPatch) -> None:
    store = migrations(client, database)
    list(store.up())
    changed = [Migration(m.number, m.name, m.text + "-- edited\n") for m in all_migrations()]
    monkeypatch.setattr("schemas.migrations.all_migrations", lambda *_: changed)
    with pytest.raises(ValueError, match="0001_tables was changed after it had run"):
        list(store.up())


def test_states_follow_the_newest_note() -> None:
    first, second = all_migrations()[:2]
    done = [(1, first.checksum, "in progress"), (1, first.checksum, "completed"), (2, second.checksum, "in progress")]
    assert [step.state for step in plan(done, [first, second])] == ["completed", "in progress"]


def test_one_setting_makes_it_a_cluster() -> None:
    for migration in all_migrations():
        for statement in migration.statements(Layout("tw", cluster="main")):
            if "MergeTree" in statement:
                assert "ON CLUSTER 'main'" in statement
                assert "ENGINE = Replicated" in statement
                assert " non_replicated" not in statement
    with pytest.raises(ValueError, match="not allowed"):
        all_migrations()[0].statements(Layout("tw; DROP DATABASE tw"))
