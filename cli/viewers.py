"""`trainwirectl viewers`: the running viewers."""

from __future__ import annotations

import json
import os
from typing import Any

import click

from cli.gateway import Gateway, GatewaySettings
from runtime.settings import load


@click.command()
@click.option("--json", "as_json", is_flag=True, help="One JSON object a line.")
def command(as_json: bool) -> None:
    """List the viewers of tasks that you may see: where, whose, since when, how long still."""
    viewers: list[dict[str, Any]] = Gateway(load(GatewaySettings, os.environ)).ask("GET", "/api/v1/viewers")["viewers"]
    if as_json:
        for viewer in viewers:
            click.echo(json.dumps(viewer, ensure_ascii=False))
        return
    if not viewers:
        click.echo("no viewers run; `trainwirectl view TASK` loads one", err=True)
        return
    rows = [("id", "task", "tool", "state", "owner", "age", "pages", "left")]
    for viewer in viewers:
        state = f"failed: {viewer['step']}"[:60] if viewer["state"] == "failed" else viewer["state"]
        left = span(viewer["left"]) if viewer["left"] is not None else ""
        shown = (viewer["id"], viewer["task_id"], viewer["tool"], state, viewer["owner"])
        rows.append((*shown, span(viewer["age"]), str(viewer["pages"]), left))
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        click.echo("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip())


def span(seconds: float) -> str:
    """Seconds as people say them."""
    return f"{seconds:.0f} s" if seconds < 90 else f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"
