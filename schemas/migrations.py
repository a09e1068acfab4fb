"""Numbered, immutable SQL migrations of the store: what there is, what was done, what is to do. Runs any client given.

A file `NNNN_name.sql` in `schemas/clickhouse` is one migration; a statement ends with ``;`` at a line's end; ``--`` begins
a comment. Statements can be repeated (``IF NOT EXISTS``, ``OR REPLACE``), so a migration that was interrupted is simply
run again. Placeholders in braces are filled from `Layout`: the same files serve one server and a cluster.
"""

from __future__ import annotations

import dataclasses
import hashlib
import re
from collections.abc import Callable, Iterator, Sequence
from importlib import resources
from typing import Any, Literal

from schemas.inventory import Made, inventory

State = Literal["pending", "in progress", "completed", "changed"]


@dataclasses.dataclass(frozen=True)
class Layout:
    """How the schema is laid out on one installation."""

    database: str
    cluster: str = ""  # name of the cluster; empty for one server
    data_days: int = 90  # points, lines and events
    ledger_days: int = 30  # a file idle for longer goes on with an empty extractor state
    heartbeat_days: int = 7
    dead_letter_days: int = 30


@dataclasses.dataclass(frozen=True)
class Migration:
    number: int
    name: str
    text: str

    @property
    def checksum(self) -> str:
        return hashlib.sha256(self.text.encode()).hexdigest()[:16]

    def statements(self, layout: Layout) -> list[str]:
        """The statements to run, in order, placeholders filled."""
        return list(_statements(self.text, layout))


@dataclasses.dataclass(frozen=True)
class Step:
    """A migration and how far the store is with it."""

    migration: Migration
    state: State


def all_migrations(server: bool = False) -> list[Migration]:
    """Every migration that this version ships, in order; with `server` also roles, quotas and row policies.

    Those need a ClickHouse server: the engine in a process has no users.
    """
    folders = [resources.files("schemas").joinpath("clickhouse")]
    if server:
        folders.append(folders[0].joinpath("server"))
    found = []
    for path in (path for folder in folders for path in sorted(folder.iterdir(), key=lambda p: p.name)):
        match = re.fullmatch(r"(\d{4})_(\w+)\.sql", path.name)
        if match:
            found.append(Migration(int(match[1]), match[2], path.read_text("utf-8")))
    return found


def plan(done: Sequence[tuple[int, str, str]], migrations: Sequence[Migration]) -> list[Step]:
    """State of each migration, from rows (number, checksum, state) of the store's own record, oldest first."""
    latest = {number: (checksum, state) for number, checksum, state in done}
    steps = []
    for migration in migrations:
        checksum, state = latest.get(migration.number, ("", ""))
        if state == "completed":
            steps.append(Step(migration, "completed" if checksum == migration.checksum else "changed"))
        else:
            steps.append(Step(migration, "in progress" if state else "pending"))
    return steps


class Store:
    """Migrations against one database, through functions that run a statement and a query."""

    def __init__(
        self,
        layout: Layout,
        command: Callable[[str], Any],
        query: Callable[[str], Sequence[Sequence[Any]]],
        server: bool = False,
    ) -> None:
        self.layout, self._server = layout, server
        self._command = command
        self._query = query

    def steps(self) -> list[Step]:
        """Where the store is; touches nothing."""
        return self._steps(self._server)

    def _steps(self, server: bool) -> list[Step]:
        database = _quoted(self.layout.database)
        if not self._query(f"SELECT 1 FROM system.tables WHERE database = {database} AND name = 'schema_migrations'"):
            return plan([], all_migrations(server))
        rows = self._query(
            f"SELECT number, checksum, state FROM {self.layout.database}.schema_migrations ORDER BY at, state DESC"
        )
        return plan([(int(n), str(c), str(s)) for n, c, s in rows], all_migrations(server))

    def up(self) -> Iterator[Migration]:
        """Run what is not completed, yielding each migration before it runs. Raises `ValueError` for a changed one."""
        for statement in _statements(_RECORD, self.layout):
            self._command(statement)
        steps = self.steps()
        for step in steps:
            if step.state == "changed":
                name = f"{step.migration.number:04}_{step.migration.name}"
                raise ValueError(f"migration {name} was changed after it had run; put it back and write a new one")
        for step in steps:
            if step.state == "completed":
                continue
            yield step.migration
            self._note(step.migration, "in progress")
            for statement in step.migration.statements(self.layout):
                self._command(statement)
            self._note(step.migration, "completed")

    def missing(self) -> list[Made]:
        """What migrations have made and is not there any more, in the order in which it can be made again.

        On a cluster: as the replica that is asked knows it.
        """
        done = [step.migration for step in self._steps(server=True) if step.state in ("completed", "changed")]
        made = inventory((one for migration in done for one in migration.statements(self.layout)), self.layout.database)
        there = self._query(f"SELECT name FROM system.tables WHERE database = {_quoted(self.layout.database)}")
        names = {name for (name,) in there}
        return [one for one in made if one.name not in names]

    def make(self, made: Made) -> None:
        """Make again what is missing. A table is empty then."""
        for statement in made.statements:
            self._command(statement)

    def _note(self, migration: Migration, state: State) -> None:
        self._command(
            f"INSERT INTO {self.layout.database}.schema_migrations (number, name, checksum, state) "
            f"VALUES ({migration.number}, {_quoted(migration.name)}, '{migration.checksum}', '{state}')"
        )


_RECORD = """
CREATE DATABASE IF NOT EXISTS {database} {on_cluster};
CREATE TABLE IF NOT EXISTS {database}.schema_migrations {on_cluster}
(
    number   UInt32,
    name     String,
    checksum String,
    state    Enum8('in progress' = 1, 'completed' = 2),
    at       DateTime64(6, 'UTC') DEFAULT now64(6)
)
ENGINE = MergeTree ORDER BY (number, at);
"""


def _statements(text: str, layout: Layout) -> Iterator[str]:
    if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]{0,63}", layout.database):
        raise ValueError(f"database name {layout.database!r} is not allowed: letters, digits and _")
    text = re.sub(r"(?m)^\s*--.*\n", "", text)
    if layout.cluster:
        text = re.sub(r"ENGINE = (\w*MergeTree)", r"ENGINE = Replicated\1", text)
        text = text.replace("non_replicated_deduplication_window", "replicated_deduplication_window")
    values = {field.name: str(getattr(layout, field.name)) for field in dataclasses.fields(layout)}
    values["on_cluster"] = f"ON CLUSTER {_quoted(layout.cluster)}" if layout.cluster else ""
    for statement in re.split(r";[ \t]*(?:\n|$)", text):
        if statement.strip():
            yield re.sub(r"\{(\w+)\}", lambda match: values[match[1]], statement).strip()


def _quoted(text: str) -> str:
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"
