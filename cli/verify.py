"""`trainwirectl verify`: is everything that a task wrote stored?"""

from __future__ import annotations

import dataclasses
import json
import sys
from pathlib import Path
from typing import Any

import click
from rich.console import Console
from rich.table import Table
from rich.text import Text

from cli import words
from cli.content import Content, Stored, compare
from cli.reader import open_reader
from gateway.store import Query, rows
from runtime.errors import EXIT_FAILED, PermanentError

FILES = """
    SELECT c.file_id AS file_id, c.path AS path, c.rank AS rank, c.attempt AS attempt, c.written AS written, c.shipped AS shipped,
        c.stored AS stored, c.missing AS missing, c.parent AS parent, c.parent_end AS parent_end, c.verdict AS verdict,
        r.redelivered AS redelivered, r.reread AS reread, r.unverified AS unverified
    FROM completeness AS c
    LEFT JOIN
    (
        SELECT task_id, file_id, sumIf(bytes, kind = 'redelivered') AS redelivered, sumIf(bytes, kind = 'reread') AS reread,
            sumIf(bytes, kind = 'unverified') AS unverified
        FROM dropped_repeats WHERE task_id = {task:String} GROUP BY task_id, file_id
    ) AS r ON c.task_id = r.task_id AND c.file_id = r.file_id
    WHERE c.task_id = {task:String} ORDER BY attempt, rank, path, file_id"""
TASK = "SELECT verdict, lacks FROM task_completeness WHERE task_id = {task:String}"
COLUMNS = ("file", "rank", "attempt", "written", "shipped", "stored", "repeats", "missing", "verdict")


@click.command("verify", help="Is everything that TASK wrote stored? FILEs at hand are compared line by line. Exit code 1: no.")
@click.argument("task")
@click.argument("files", nargs=-1, type=click.Path(exists=True, dir_okay=False, path_type=Path), metavar="[FILE]...")
@click.option("--json", "as_json", is_flag=True, help="One JSON object.")
def command(task: str, files: tuple[Path, ...], as_json: bool) -> None:
    query = open_reader()
    found = rows(query(FILES, task=task))
    told = rows(query(TASK, task=task))
    verdict, lacks = (told[0]["verdict"], told[0]["lacks"]) if told else ("nothing is stored of this task", [])
    contents = {path: _compare(query, task, path, found) for path in files or _at_hand(found)}
    if as_json:
        compared = {str(path): dataclasses.asdict(content) | {"same": content.same} for path, content in contents.items()}
        answer = {"task": task, "verdict": verdict, "lacks": lacks, "files": found, "contents": compared}
        click.echo(json.dumps(answer, ensure_ascii=False))
    else:
        _show(task, verdict, lacks, found, contents)
    if verdict != "complete" or not all(content.same and content.file_id for content in contents.values()):
        sys.exit(EXIT_FAILED)


def _at_hand(found: list[dict[str, Any]]) -> list[Path]:
    """Of the task's files those that stand on this machine under the path that the store knows."""
    paths = dict.fromkeys(Path(file["path"]) for file in found if file["path"].startswith("/"))
    return [path for path in paths if path.is_file()]


def _compare(query: Query, task: str, path: Path, found: list[dict[str, Any]]) -> Content:
    known = [Stored(file["file_id"], file["parent"], file["parent_end"]) for file in found]
    try:
        return compare(query, task, path, known)
    except (OSError, ValueError) as error:
        raise PermanentError(f"{path} cannot be compared: {error}") from error


def _show(task: str, verdict: str, lacks: list[str], found: list[dict[str, Any]], contents: dict[Path, Content]) -> None:
    console = Console()
    if console.is_terminal:
        table = Table(box=None, header_style="dim", pad_edge=False, padding=(0, 2, 0, 0))
        for name in COLUMNS:
            table.add_column(name, justify="right" if name in COLUMNS[1:7] else "left")
        for file in found:
            table.add_row(*(Text(cell) for cell in _cells(file)))
        console.print(table)
    else:
        for file in found:
            click.echo("\t".join(_cells(file)))
    for path, content in contents.items():
        click.echo(f"{words.harmless(str(path))}: {content.words}")
    click.echo(f"{words.harmless(task)}: {words.harmless(verdict)}")
    for lack in lacks[1:]:
        click.echo(f"  and {words.harmless(lack)}")


def _cells(file: dict[str, Any]) -> list[str]:
    repeats = [f"{file[kind]} {kind}" for kind in ("redelivered", "reread", "unverified") if file[kind]]
    return [
        words.harmless(file["path"]),
        str(file["rank"]),
        "" if file["attempt"] is None else str(file["attempt"]),
        *(str(file[name]) for name in ("written", "shipped", "stored")),
        ", ".join(repeats),
        ", ".join(f"{start}-{end}" for start, end in file["missing"]),
        words.harmless(file["verdict"]),
    ]
