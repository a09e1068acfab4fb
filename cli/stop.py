"""`trainwirectl stop VIEWER`: release a viewer now."""

from __future__ import annotations

import os

import click

from cli.gateway import Gateway, GatewaySettings
from runtime.errors import PermanentError
from runtime.settings import load


@click.command()
@click.argument("what", metavar="VIEWER|TASK")
def command(what: str) -> None:
    """Stop a viewer by its id, or all viewers of a task that you may stop, and wait until they are gone."""
    gateway = Gateway(load(GatewaySettings, os.environ))
    viewers = gateway.ask("GET", "/api/v1/viewers")["viewers"]
    found = [viewer for viewer in viewers if what in (viewer["id"], viewer["task_id"])]
    if not found:
        raise PermanentError(f"no viewer {what!r}, and none of a task of that name; `trainwirectl viewers` lists them")
    for viewer in found:
        gateway.ask("DELETE", f"/api/v1/viewers/{viewer['id']}")
        click.echo(f"stopped {viewer['title']} of {viewer['task_id']}")
