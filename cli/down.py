"""`trainwirectl down`: stop the local stack."""

from __future__ import annotations

from pathlib import Path

import click

from cli.up import data_option, open_stack


@click.command()
@data_option
@click.option("--delete", is_flag=True, help="Delete the data folder too: topics, tables, passwords, logs.")
def command(data: Path | None, delete: bool) -> None:
    """Stop the broker and ClickHouse: asked first, then made to. Data stays unless --delete is given."""
    stack = open_stack(data)
    running = [service.name for service in stack.services if service.running]
    if delete:
        stack.remove()
    else:
        stack.stop()
    click.echo(f"stopped {' and '.join(running)}" if running else "nothing of the local stack runs")
    if delete:
        click.echo(f"deleted {stack.data}")
