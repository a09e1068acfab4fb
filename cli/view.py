"""`trainwirectl view TASK`: show a task in a tool."""

from __future__ import annotations

import os
import sys
import time
import webbrowser

import click

from cli.gateway import Gateway, GatewaySettings
from runtime.errors import EXIT_FAILED
from runtime.settings import load


@click.command()
@click.argument("task")
@click.option("--tool", help="Which tool; default: chosen by what the task has.")
@click.option(
    "--policy", type=click.Choice(["offline", "threshold", "kept"]), help="When it goes; default: the gateway's setting."
)
@click.option("--wait/--no-wait", default=True, show_default=True, help="Wait until it is ready.")
@click.option("--open", "browser", is_flag=True, help="Open it in this machine's browser.")
def command(task: str, tool: str | None, policy: str | None, wait: bool, browser: bool) -> None:
    """Load a viewer for TASK, or join the one there is, and print its address. Exit code 1 when it does not come up."""
    gateway = Gateway(load(GatewaySettings, os.environ))
    asked = gateway.ask("POST", "/api/v1/viewers", json={"task_id": task, "tool": tool, "policy": policy})
    click.echo(f"{asked['tool']}: {asked['why']}", err=True)
    viewer, step = asked["viewer"], ""
    while wait and viewer is not None and viewer["state"] == "loading":
        if viewer["step"] != step:
            step = viewer["step"]
            click.echo(f"{viewer['age']:6.1f} s  {step}", err=True)
        time.sleep(0.2)
        viewer = gateway.ask("GET", f"/api/v1/viewers/{viewer['id']}")
    if viewer is not None and viewer["state"] == "failed":
        click.echo(f"it did not come up: {viewer['step']}", err=True)
        for line in viewer["lines"]:
            click.echo(f"  {line}", err=True)
        sys.exit(EXIT_FAILED)
    if viewer is not None and viewer["ready_after"] is not None:
        click.echo(f"ready after {viewer['ready_after']:.1f} s", err=True)
    address = gateway.absolute(asked["address"])
    click.echo(address)
    if browser:
        webbrowser.open(address)
