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
from schemas.inventory import Made
from schemas.migrations import Layout, Store
from schemas.reference import document

# What an empty table instead of one that was dropped means to people, and who tells of it.
LOST = {
    "points": "all values are gone; `trainwirectl replay TASK` reads them again from the stored lines",
    "task_events": "what lines said of their tasks is gone; `trainwirectl replay TASK` reads it again from the stored lines",
    "log_lines": "the text of all lines is gone; the ledger counts their bytes as stored, and `trainwirectl verify TASK FILE` "
    "tells which are not shown",
    "file_ranges": "nothing that was stored is shown any more, and `trainwirectl verify TASK` calls it missing, until shippers "
    "whose state folder was deleted read their files again",
    "ledger": "the marks that tell a repeat from other bytes are gone: what comes again is counted as unverified",
    "heartbeats": "signs of life are gone until the next ones, 10 s later",
    "dead_letters": "messages that were put aside are gone",
    "repeats": "what came twice is not counted any more",
    "task_rights": "readers with the role trainwire_limited see no task until it is filled again",
}


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
    for made in store.missing():
        click.echo(f"-- {_missing(made)}")
        if made.kind != "table":  # tables are made only for who asks
            for statement in made.statements:
                click.echo(statement + ";\n")


@command.command(help="Run what is not completed yet, and make missing views again.")
@click.option("--create-empty", is_flag=True, help="Make missing tables again, too: what they held is lost.")
@click.pass_obj
def up(options: tuple[str, int, bool], create_empty: bool) -> None:
    store = open_store(*options)
    try:
        again = store.missing()
        lost = [made.name for made in again if made.kind == "table"]
        if lost and not create_empty:
            raise PermanentError(_lost(lost, store.layout.database))
        for made in again:
            store.make(made)
            click.echo(f"{made.name} is there again" + (f", empty: {LOST[made.name]}" if made.name in lost else ""))
        for migration in store.up():
            click.echo(f"{migration.number:04}_{migration.name}")
    except ValueError as error:
        raise PermanentError(str(error)) from error
    except ClickHouseError as error:
        raise PermanentError(f"the store refused the migration, which can be run again: {error}") from error
    click.echo("the schema is up to date")


def _missing(made: Made) -> str:
    what = "table" if made.kind in ("table", "kept") else "view"
    return f"{what} {made.name} is missing" + ("; `up` does not make it without --create-empty" if made.kind == "table" else "")


def _lost(tables: list[str], database: str) -> str:
    told = "".join(f"\n  {name}: {LOST[name]}" for name in tables)
    return (
        f"missing in {database}, though a migration made it: {', '.join(tables)}. Within 8 minutes of its DROP, "
        f"`UNDROP TABLE {database}.{tables[0]}` brings it back; else restore a backup (docs/operations.md), or make it again, "
        f"empty, with `trainwirectl migrate up --create-empty`. Empty means:{told}"
    )


@command.command(help="Print each migration's state, and what is missing; exits 1 where anything is to be done.")
@click.pass_context
def status(ctx: click.Context) -> None:
    store = open_store(*ctx.obj)
    steps, missing = store.steps(), store.missing()
    for step in steps:
        click.echo(f"{step.migration.number:04}_{step.migration.name:24} {step.migration.checksum}  {step.state}")
    for made in missing:
        click.echo(_missing(made))
    ctx.exit(EXIT_FAILED if missing or any(step.state != "completed" for step in steps) else 0)


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
