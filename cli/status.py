"""`trainwirectl status`: what of the local stack runs, and where."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path

import click

from cli.up import data_option, open_stack
from runtime.errors import EXIT_FAILED


@click.command()
@data_option
@click.option("--env", is_flag=True, help='Print the settings of programs as export lines: eval "$(trainwirectl status --env)".')
@click.option("--user", type=click.Choice(["writer", "viewer"]), default="writer", help="User of ClickHouse in --env.")
def command(data: Path | None, env: bool, user: str) -> None:
    """Say address, process, health and version of each service. Exit code 1 when one does not answer."""
    stack = open_stack(data)
    if env:
        for name, value in stack.environ(user).items():
            click.echo(f"export {name}={shlex.quote(value)}")
    wrong = False
    for service, address in ((stack.broker, stack.bootstrap), (stack.store, stack.clickhouse_url)):
        running, healthy = service.running, service.healthy
        wrong = wrong or not (running and healthy)
        state = "healthy" if running and healthy else "does not answer" if running else "stopped"
        process = f"pid {service.process.pid}" if running and service.process else "-"
        click.echo(f"{service.name:<11}{state:<17}{address:<28}{process:<14}{stack.version(service)}", err=env)
    if wrong:
        sys.exit(EXIT_FAILED)
