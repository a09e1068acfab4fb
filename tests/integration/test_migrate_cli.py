"""What somebody dropped by hand: `migrate` says it, makes again what holds nothing, and asks before it makes an empty table."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from schemas.events import FileRef, FileState, Heartbeat
from schemas.migrations import Layout, Store
from stream_jobs.message import Message
from tests.integration.worker_support import Csv, Desk, rows
from tests.seed import migrate
from tests.services.fixtures import Store as Service

pytestmark = pytest.mark.services
KEPT = ("newest_heartbeats", "newest_words", "metric_quarters")
Run = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def own(store: Service, database: str) -> Iterator[Desk]:
    """A worker's database that the test may take apart."""
    with store.client(database="default") as client:
        migrate(client, database)
    made = Desk(store, database)
    yield made
    made.close()


@pytest.fixture
def run(store: Service, database: str) -> Run:
    environ = {**os.environ, **store.environ(), "TRAINWIRE_CLICKHOUSE_DATABASE": database}

    def call(*arguments: str) -> subprocess.CompletedProcess[str]:
        command = [str(Path(sys.executable).with_name("trainwirectl")), *arguments]
        return subprocess.run(command, env=environ, capture_output=True, text=True, timeout=120)

    return call


def messages(own: Desk, file: Csv) -> list[Message]:
    words = Csv([], task="other", file_id="words")
    words.content = b'{"tw":"status","t":1,"status":"running"}\n{"tw":"progress","t":2,"done":3,"total":9}\n'
    words.starts = [0, 41, len(words.content)]
    ref = FileRef("task", "file", "/logs/file.csv")
    beat = Heartbeat("task", "shipper-1", "node-1", 1, 10_000, (FileState(ref, "A", 99, 50, ""),))
    return own.messages([*file.deltas(5), *words.deltas(1), beat])


def standing(own: Desk) -> list[tuple[object, ...]]:
    return own.query(
        "SELECT name, engine, create_table_query FROM system.tables"
        f" WHERE database = '{own.settings.database}' AND name != 'kept' ORDER BY name"
    )


def kept(own: Desk) -> list[list[tuple[object, ...]]]:
    return [own.query(f"SELECT * FROM {table} FINAL ORDER BY ALL") for table in KEPT]


def test_every_view_that_was_dropped_is_made_again_with_what_it_keeps(own: Desk, run: Run) -> None:
    file = Csv(rows(20))
    own.worker().take(*messages(own, file))
    before, held = standing(own), kept(own)
    assert all(held), "the case is empty"
    names = [name for name, engine, _ in before if "View" in str(engine) or name in KEPT]
    for name in names:
        own.client.command(f"DROP TABLE {name} SYNC")

    said = run("migrate", "status")
    assert said.returncode == 1
    assert {line for line in said.stdout.splitlines() if "is missing" in line} == {
        f"{'table' if name in KEPT else 'view'} {name} is missing" for name in names
    }
    planned = run("migrate", "plan").stdout
    assert all(f"{own.settings.database}.{name}" in planned for name in names)
    assert run("migrate", "up").returncode == 0
    assert standing(own) == before
    assert kept(own) == held
    assert own.shows(file)
    assert (run("migrate", "status").returncode, run("migrate", "plan").stdout) == (0, "")


def test_a_feed_that_was_dropped_catches_up_and_goes_on(own: Desk, run: Run) -> None:
    file = Csv(rows(20))
    first, *rest = messages(own, file)
    own.worker().take(first)
    for table in KEPT:
        own.client.command(f"DROP TABLE to_{table} SYNC")
    own.worker().take(*rest[:-1])
    assert run("migrate", "up").returncode == 0
    own.worker().take(rest[-1])
    found = kept(own)
    for table in KEPT:
        own.client.command(f"TRUNCATE TABLE {table}")
        own.client.command(f"DROP TABLE to_{table} SYNC")
    assert run("migrate", "up").returncode == 0
    assert kept(own) == found
    assert all(found)


def test_a_feed_whose_making_was_cut_off_is_made_again(own: Desk, run: Run, database: str) -> None:
    own.worker().take(*messages(own, Csv(rows(20))))
    held = kept(own)
    for table in KEPT:
        own.client.command(f"DROP TABLE to_{table} SYNC")
    store = Store(Layout(database), own.client.command, own.query)
    for made in store.missing():
        drop, create, _, _ = made.statements
        own.client.command(drop)
        own.client.command(create)  # and killed here
    assert run("migrate", "up").returncode == 0
    assert kept(own) == held
    assert not [name for name, *_ in standing(own) if "under_way" in str(name)]


def test_a_table_that_was_dropped_is_named_and_made_empty_only_for_who_asks(own: Desk, run: Run) -> None:
    file = Csv(rows(20))
    own.worker().take(*messages(own, file))
    own.client.command("DROP TABLE points SYNC")
    own.client.command("DROP VIEW curves SYNC")

    assert "table points is missing; `up` does not make it without --create-empty\n" in run("migrate", "status").stdout
    refused = run("migrate", "up")
    assert refused.returncode == 2
    assert "points" in refused.stderr
    assert "docs/operations.md" in refused.stderr
    assert "--create-empty" in refused.stderr
    assert "Traceback" not in refused.stderr
    assert run("migrate", "status").returncode == 1

    made = run("migrate", "up", "--create-empty")
    assert made.returncode == 0
    assert "points is there again, empty: all values are gone" in made.stdout
    assert own.points() == []
    assert run("replay", "task").returncode == 0  # as it was told
    assert own.shows(file)


def test_what_a_dropped_ledger_took_along_is_called_missing(own: Desk, run: Run, tmp_path: Path) -> None:
    file = Csv(rows(20))
    path = tmp_path / "file.csv"
    path.write_bytes(file.content)
    own.worker().take(*own.messages(file.deltas(5)))
    own.client.command("DROP TABLE file_ranges SYNC")
    assert run("migrate", "up", "--create-empty").returncode == 0
    own.worker().take(*own.messages([file.delta(15, 99)]))
    found = run("verify", "task", str(path))
    assert found.returncode == 1
    assert f"0-{file.starts[15]}" in found.stdout
    own.worker().take(*own.messages(file.deltas(7, reading="B")))  # the shipper, without its state folder
    assert own.shows(file)


def test_lines_that_a_dropped_table_took_along_are_told_by_a_comparison(own: Desk, run: Run, tmp_path: Path) -> None:
    file = Csv(rows(20))
    path = tmp_path / "file.csv"
    path.write_bytes(file.content)
    own.worker().take(*own.messages(file.deltas(5, last=10)))
    own.client.command("DROP TABLE log_lines SYNC")
    assert run("migrate", "up", "--create-empty").returncode == 0
    own.worker().take(*own.messages(file.deltas(5, first=10)))
    found = run("verify", "task", str(path))
    assert found.returncode == 1
    assert f"{file.starts[10]} bytes of it are not shown, from 0 on" in found.stdout
