"""`trainwirectl logs`: the local stack's own logs."""

from __future__ import annotations

import time
from collections import deque
from pathlib import Path
from typing import BinaryIO

import click

from cli.up import data_option, open_stack
from deploy.local.stack import Stack
from runtime.errors import PermanentError


@click.command()
@data_option
@click.argument("service", type=click.Choice(["broker", "clickhouse"]), required=False)
@click.option("-n", "--lines", type=click.IntRange(0), default=50, show_default=True, help="Lines of each file to begin with.")
@click.option("-f", "--follow", is_flag=True, help="Go on as the logs grow, until Ctrl-C.")
def command(data: Path | None, service: str | None, lines: int, follow: bool) -> None:
    """Show the end of the services' own logs, of one or of both."""
    stack = open_stack(data)
    files = _files(stack, service)
    if not files:
        raise PermanentError(f"no logs in {stack.data / 'logs'}: start the local stack with `trainwirectl up`")
    opened = [(file, file.open("rb")) for file in files]
    for file, handle in opened:
        if len(opened) > 1:
            click.echo(f"==> {file.name} <==")
        for line in deque(handle, lines):
            click.echo(line.rstrip(b"\n"))
    while follow:
        if not any(_news(file, handle) for file, handle in opened):
            time.sleep(0.2)


def _files(stack: Stack, name: str | None) -> list[Path]:
    """A service's log, and its output where it said something there (what the JVM and Python print when they fail)."""
    wanted = [service for service in stack.services if name in (None, service.name)]
    return [file for service in wanted for file in (service.log, service.output) if file.exists() and file.stat().st_size]


def _news(file: Path, handle: BinaryIO) -> bool:
    line = handle.readline()
    if line:
        click.echo(f"{file.stem}: ".encode() + line.rstrip(b"\n"))
    return bool(line)
