"""`trainwirectl migrate`: plan, up, status."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Sequence
from typing import Any

import click
from clickhouse_connect.driver.exceptions import ClickHouseError

from runtime.errors import EXIT_FAILED, PermanentError, TemporaryError
from runtime.settings import StoreSettings, load
from runtime.store import connect
from schemas.migrations import Layout, Store
from schemas.reference import document


def open_store(cluster: str, data_days: int, server: bool = False) -> Store:
    """The store that the environment names, or a `TemporaryError` that says how to start one."""
    settings = load(StoreSettings, os.environ)
    try:
        client = connect(settings, database="", timeout=120)
    except ClickHouseError as error:
        reason = str(error).splitlines()[0]
        raise TemporaryError(
            f"no ClickHouse at {settings.url} ({reason}); start one with `trainwirectl up`, or set it"
        ) from error

    def query(sql: str) -> Sequence[Sequence[Any]]:
        return client.query(sql).result_rows

    return Store(Layout(settings.database, cluster=cluster, data_days=data_days), client.command, query, server)


@click.group("migrate", help="Bring the store's schema up to date.")
@click.option("--cluster", default="", help="Create everything ON CLUSTER with replicated engines.")
@click.option("--data-days", default=90, show_default=True, help="How long points, lines and events are kept.")
@click.option("--server", is_flag=True, help="Also roles, quotas and row policies: a ClickHouse server, not the local stack.")
@click.pass_context
def command(ctx: click.Context, cluster: str, data_days: int, server: bool) -> None:
    ctx.obj = (cluster, data_days, server)


@command.command(help="Print the statements that `up` would run. Changes nothing.")
@click.pass_obj
def plan(options: tuple[str, int, bool]) -> None:
    store = open_store(*options)
    for step in store.steps():
        if step.state != "completed":
            click.echo(f"-- {step.migration.number:04}_{step.migration.name} ({step.state})")
            for statement in step.migration.statements(store.layout):
                click.echo(statement + ";\n")


@command.command(help="Run what is not completed yet.")
@click.pass_obj
def up(options: tuple[str, int, bool]) -> None:
    try:
        ran = 0
        for migration in open_store(*options).up():
            click.echo(f"{migration.number:04}_{migration.name}")
            ran += 1
    except ValueError as error:
        raise PermanentError(str(error)) from error
    except ClickHouseError as error:
        raise PermanentError(f"the store refused the migration, which can be run again: {error}") from error
    click.echo("the schema is up to date" if not ran else f"{ran} migrations done")


@command.command(help="Print each migration's state; exits 1 where one is not completed.")
@click.pass_context
def status(ctx: click.Context) -> None:
    steps = open_store(*ctx.obj).steps()
    for step in steps:
        click.echo(f"{step.migration.number:04}_{step.migration.name:24} {step.migration.checksum}  {step.state}")
    ctx.exit(EXIT_FAILED if any(step.state != "completed" for step in steps) else 0)


@command.command(help="Print the page about tables and views (docs/sql.md), as the engine in this process describes them.")
def reference() -> None:
    from chdb import session as engine

    make: Any = engine.Session  # not typed
    with tempfile.TemporaryDirectory() as folder:
        session = make(folder)

        def query(sql: str) -> list[list[Any]]:
            rows: list[list[Any]] = json.loads(session.query(sql, "JSONCompact").bytes() or b'{"data": []}')["data"]
            return rows

        layout = Layout("trainwire")
        list(Store(layout, session.query, query).up())
        click.echo(document(layout.database, query), nl=False)
        session.close()
