"""`trainwirectl sql`: one query as the user that can only read."""

from __future__ import annotations

import csv
import sys
from typing import Any, TextIO

import click
from clickhouse_connect.driver.exceptions import ClickHouseError
from rich.console import Console
from rich.table import Table
from rich.text import Text

from cli import words
from cli.reader import open_client, reader_settings
from gateway.api.values import encode
from gateway.store import explained, reason
from runtime.errors import PermanentError

SHOWN = 1000  # rows of a table; a terminal's reader asks for less, a program takes json or csv


@click.command(
    "sql", help='Run one query as the read-only user, such as "SELECT * FROM tasks". `-` reads it from standard input.'
)
@click.argument("query")
@click.option(
    "--format",
    "form",
    type=click.Choice(["table", "json", "csv"]),
    default="table",
    show_default=True,
    help="json: one object a row.",
)
def command(query: str, form: str) -> None:
    settings = reader_settings()
    client = open_client(settings)
    try:
        result = client.query(sys.stdin.read() if query == "-" else query, tz_mode="aware")
        names, found = result.column_names, result.result_rows
    except ClickHouseError as error:
        if getattr(error, "code", None) is None:
            raise explained(error, settings) from error
        raise PermanentError(reason(error)) from error  # whoever writes SQL wants ClickHouse's own words
    if form == "json":
        for row in found:
            click.echo(encode({name: _simple(value) for name, value in zip(names, row, strict=True)}))
    elif form == "csv":
        _csv(sys.stdout, names, found)
    else:
        _table(names, found)


def _simple(value: Any) -> Any:
    """Times, ids and other kinds of the store as text; numbers, lists and maps as they are."""
    if isinstance(value, dict):
        return {key: _simple(one) for key, one in value.items()}
    if isinstance(value, (list, tuple)):
        return [_simple(one) for one in value]
    if hasattr(value, "isoformat"):
        return value.isoformat()
    return value if value is None or isinstance(value, (str, int, float, bool)) else str(value)


def _csv(out: TextIO, names: Any, found: Any) -> None:
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(names)
    writer.writerows([_simple(value) for value in row] for row in found)


def _table(names: Any, found: Any) -> None:
    table = Table(box=None, header_style="bold", pad_edge=False, padding=(0, 2, 0, 0))
    numbers = [all(isinstance(row[place], (int, float)) for row in found) for place in range(len(names))]
    for name, right in zip(names, numbers, strict=True):
        table.add_column(name, justify="right" if right else "left", overflow="fold")
    for row in found[:SHOWN]:
        table.add_row(*(Text(words.harmless(str(_simple(value)))) for value in row))
    console = Console(soft_wrap=False)
    if not console.is_terminal:
        console = Console(width=10_000)
    console.print(table)
    if len(found) > SHOWN:
        click.echo(f"{len(found) - SHOWN} rows more: --format json or csv gives all", err=True)
