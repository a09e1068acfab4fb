"""`trainwirectl tasks`: the list of tasks."""

from __future__ import annotations

import json
import time
from typing import Any

import click
from rich.console import Console
from rich.table import Table
from rich.text import Text

from cli import words
from cli.reader import open_reader
from gateway.queries.tasks import task_list

COLOURS = {"running": "blue", "succeeded": "green", "failed": "red"}


@click.command("tasks", help="List tasks, newest first.")
@click.option("--status", default="", help="Only tasks of this status: running, succeeded, failed, …")
@click.option("--search", default="", help="Only tasks whose id, name, owner, project or framework holds this.")
@click.option("--limit", default=50, show_default=True, type=click.IntRange(1, 10_000), help="At most so many.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object a line.")
def command(status: str, search: str, limit: int, as_json: bool) -> None:
    found = task_list(open_reader(), search=search, status=status, limit=limit)
    if as_json:
        for task in found:
            click.echo(json.dumps(task, ensure_ascii=False))
        return
    console = Console()
    if console.is_terminal:
        console.print(_table(found) if found else "no task" + (" like this" if status or search else " yet"))
        return
    for task in found:  # for other programs: tab separated, no colour, nothing cut
        click.echo("\t".join(_cells(task)))


def _cells(task: dict[str, Any]) -> list[str]:
    now = time.time_ns() // 1_000_000
    eta = f"done in {words.duration(task['eta_ms'] - now)}" if task["eta_ms"] and task["eta_ms"] > now else ""
    return [
        task["task_id"],
        words.harmless(task["name"]),
        words.harmless(task["status"]),
        words.progress(task["progress_done"], task["progress_total"]),
        eta,
        f"{words.duration(now - task['started_ms'])} ago",
        f"{words.duration(now - task['last_seen_ms'])} ago",
        str(task["lines"]),
    ]


def _table(found: list[dict[str, Any]]) -> Table:
    table = Table(box=None, header_style="dim", pad_edge=False, padding=(0, 2, 0, 0))
    for name in ("task", "name", "status", "progress", "", "started", "last line"):
        table.add_column(name, no_wrap=name == "task")
    table.add_column("lines", justify="right")
    for task in found:
        cells = _cells(task)
        table.add_row(*(Text(cell, style=COLOURS.get(cell, "") if place == 2 else "") for place, cell in enumerate(cells)))
    return table
