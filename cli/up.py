"""`trainwirectl up`: start the local stack."""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path
from types import FrameType

import click

from deploy.local.settings import LocalSettings
from deploy.local.stack import Stack
from runtime import signals
from runtime.settings import load

data_option = click.option(
    "--data",
    type=click.Path(file_okay=False, path_type=Path),
    help="Data folder; default: TRAINWIRE_LOCAL_DATA, else .local here.",
)


def open_stack(data: Path | None) -> Stack:
    """The stack of a data folder, with the settings of the environment."""
    settings = load(LocalSettings, os.environ)
    return Stack(data or Path(settings.data), settings)


class Progress:
    """What goes on, on standard error: one line that changes on a terminal, a line for each change elsewhere."""

    def __init__(self) -> None:
        self._last = ""
        self._terminal = sys.stderr.isatty()

    def __call__(self, text: str) -> None:
        # Elsewhere the figures behind the colon would make a line of each half second.
        shown = text if self._terminal else text.partition(":")[0]
        if shown != self._last:
            click.echo(f"\r\x1b[K{shown}" if self._terminal else shown, err=True, nl=not self._terminal)
            self._last = shown

    def end(self) -> None:
        if self._terminal and self._last:
            click.echo("\r\x1b[K", err=True, nl=False)


def _break_off(number: int, _: FrameType | None) -> None:
    sys.exit(128 + number)


@click.command()
@data_option
@click.option("--kafka-port", type=click.IntRange(0, 65535), help="Port of the broker; 0: a free one.")
@click.option("--clickhouse-port", type=click.IntRange(0, 65535), help="Port of ClickHouse's HTTP interface; 0: a free one.")
@click.option("--foreground", is_flag=True, help="Stay, and stop the services at the end of this command, however it ends.")
def command(data: Path | None, kafka_port: int | None, clickhouse_port: int | None, foreground: bool) -> None:
    """Start a broker and the ClickHouse engine on this machine, on 127.0.0.1.

    They run on until `trainwirectl down`, unless --foreground is given. The first start fetches Apache Kafka (45 MB).
    """
    if kafka_port is not None:
        os.environ["TRAINWIRE_LOCAL_KAFKA_PORT"] = str(kafka_port)
    if clickhouse_port is not None:
        os.environ["TRAINWIRE_LOCAL_CLICKHOUSE_PORT"] = str(clickhouse_port)
    stack = open_stack(data)
    if all(service.running and service.healthy for service in stack.services):
        click.echo(f"the local stack runs already: broker {stack.bootstrap}, ClickHouse {stack.clickhouse_url}")
        return
    progress = Progress()
    for number in (signal.SIGTERM, signal.SIGHUP):  # as Ctrl-C: a start that is broken off takes back what it started
        signal.signal(number, _break_off)
    try:
        stack.start(tied=foreground, progress=progress)
    finally:
        progress.end()
    click.echo(f"broker {stack.bootstrap}\nClickHouse {stack.clickhouse_url} (users writer and viewer)")
    if not foreground:
        click.echo('settings for programs: eval "$(trainwirectl status --env)"\nstop it: trainwirectl down')
        return
    stop = signals.stop_event()
    click.echo("stop it: Ctrl-C")
    try:
        while not stop.wait(0.5):
            ended = [service.name for service in stack.services if not service.running]
            if len(ended) == len(stack.services):
                click.echo("stopped from elsewhere", err=True)
                return
            if ended and not stack.stopping:
                raise click.ClickException(f"{ended[0]} ended by itself; see {stack.data / 'logs'}")
    finally:
        stack.stop()
