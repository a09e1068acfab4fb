"""tasks, tail and sql, as people run them."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from clickhouse_connect.driver.exceptions import ClickHouseError

from cli import tail
from cli.reader import open_reader
from gateway.store import Columns, explained
from runtime.settings import ReaderSettings, load
from runtime.store import connect
from tests.integration.gateway_support import Seeded, seeded
from tests.seed import LogFile
from tests.services.fixtures import Store

pytestmark = pytest.mark.services
TRAINWIRECTL = str(Path(sys.executable).with_name("trainwirectl"))
__all__ = ["seeded"]


@pytest.fixture
def environ(store: Store, seeded: Seeded) -> dict[str, str]:
    return {**os.environ, **store.environ("viewer"), "TRAINWIRE_CLICKHOUSE_DATABASE": seeded.database}


def run(environ: dict[str, str], *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [TRAINWIRECTL, *arguments]
    return subprocess.run(command, env=environ, capture_output=True, text=True, timeout=120)


def test_tasks_for_programs(seeded: Seeded, environ: dict[str, str]) -> None:
    file = seeded.file("cli-list", name="a\x1b[31mname")
    file.event("status", {"status": "running"})
    file.store()
    plain = run(environ, "tasks", "--search", "cli-list")
    assert plain.stdout.split("\t")[:3] == ["cli-list", "aname", "running"]
    found = [json.loads(line) for line in run(environ, "tasks", "--json", "--search", "cli-list").stdout.splitlines()]
    assert [task["task_id"] for task in found] == ["cli-list"]


def test_tail_follows_two_tasks_and_ends_with_them(seeded: Seeded, environ: dict[str, str]) -> None:
    files = [seeded.file(task) for task in ("cli-a", "cli-b")]
    for file in files:
        file.event("status", {"status": "running"})
        file.text(f"begun {file.task_id}")
        file.store()
    command = [TRAINWIRECTL, "tail", "cli-a", "cli-b", "--follow"]
    with subprocess.Popen(command, env=environ, stdout=subprocess.PIPE, text=True) as following:
        assert following.stdout is not None
        head = [following.stdout.readline() for _ in range(4)]
        for file in files:
            file.log({"loss": 0.5, "lr": float("nan")}, step=7)
            file.text("\x1b[1mlast words\x1b[0m")
            file.event("status", {"status": "succeeded"})
            file.store()
        rest = "".join(head) + following.stdout.read()  # a quick task's later words may be among the first four lines
    assert following.returncode == 0
    assert "cli-b begun cli-b\n" in head
    for task in ("cli-a", "cli-b"):
        assert f"{task} step 7  loss=0.5  lr=nan\n" in rest
        assert f"{task} last words\n" in rest
        assert f"{task} succeeded\n" in rest
    assert "\x1b" not in rest


class Interrupted:
    """A query function; once armed, a task writes its last words just before the next query that holds `sql`."""

    def __init__(self, file: LogFile) -> None:
        self._query, self._file, self._sql = open_reader(), file, ""

    def arm(self, sql: str) -> None:
        self._sql = sql

    def __call__(self, sql: str, /, **parameters: Any) -> Columns:
        if self._sql and self._sql in sql:
            self._sql = ""
            self._file.text("last words")
            self._file.event("status", {"status": "succeeded"})
            self._file.store()
        return self._query(sql, **parameters)


@pytest.mark.parametrize("moment", ["before its first lines", "between its last look and its question for the state"])
def test_tail_shows_last_words_once_whenever_they_come(
    seeded: Seeded, environ: dict[str, str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], moment: str
) -> None:
    monkeypatch.setattr(os, "environ", environ)
    file = seeded.file(f"cli-{moment.split()[0]}")
    file.text("begun")
    file.store()
    query, view = Interrupted(file), tail.View(several=False, lines=True, metrics=True)
    if moment == "before its first lines":
        query.arm("FROM lines")
    feed = tail.begin(query, file.task_id, view, 20, wait=True)
    if moment != "before its first lines":
        query.arm("FROM tasks")
    tail.follow_all(query, [feed], view)
    assert [line for line in capsys.readouterr().out.splitlines() if line in ("begun", "last words")] == ["begun", "last words"]


def test_tail_ends_cleanly_on_ctrl_c(seeded: Seeded, environ: dict[str, str]) -> None:
    file = seeded.file("cli-c")
    file.text("only line")
    file.store()
    command = [TRAINWIRECTL, "tail", "cli-c", "-f"]
    with subprocess.Popen(command, env=environ, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as following:
        assert following.stdout is not None
        assert following.stderr is not None
        while "only line" not in following.stdout.readline():
            time.sleep(0.01)
        following.send_signal(signal.SIGINT)
        assert following.wait(60) == 0
        assert "Traceback" not in following.stderr.read()


def test_tail_of_nobody(environ: dict[str, str]) -> None:
    ended = run(environ, "tail", "cli-nobody")
    assert ended.returncode == 2
    assert "no task 'cli-nobody'" in ended.stderr


def test_sql_in_each_format(environ: dict[str, str]) -> None:
    query = "SELECT 9007199254740993 AS big, nan AS n, 'a,b' AS text, toDateTime64('2026-01-02 03:04:05.678', 3, 'UTC') AS t"
    row = json.loads(run(environ, "sql", query, "--format", "json").stdout)
    assert row == {"big": "9007199254740993", "n": "NaN", "text": "a,b", "t": "2026-01-02T03:04:05.678000+00:00"}
    assert run(environ, "sql", query, "--format", "csv").stdout.splitlines()[0] == "big,n,text,t"
    assert run(environ, "sql", query).stdout.split()[:4] == ["big", "n", "text", "t"]


@pytest.mark.parametrize("user", ["viewer", "writer"])  # `trainwirectl status --env` tells the writer's name
@pytest.mark.parametrize("query", ["DROP TABLE points", "INSERT INTO points (task_id) VALUES ('x')", "SELECT nothing", "SELEC"])
def test_sql_that_is_refused_says_why(store: Store, environ: dict[str, str], query: str, user: str) -> None:
    ended = run(environ | store.environ(user), "sql", query)
    assert ended.returncode == 2
    assert ended.stderr.startswith("trainwirectl: ")
    assert "Traceback" not in ended.stderr


def test_without_a_store(environ: dict[str, str]) -> None:
    for verb in (["tasks"], ["tail", "x"], ["sql", "SELECT 1"]):
        ended = run(environ | {"TRAINWIRE_CLICKHOUSE_URL": "http://127.0.0.1:1"}, *verb)
        assert ended.returncode == 75
        assert "trainwirectl up" in ended.stderr


def test_a_store_that_answers_late_is_not_called_absent(environ: dict[str, str]) -> None:
    settings = load(ReaderSettings, environ)
    with pytest.raises(ClickHouseError) as caught:
        connect(settings, timeout=1, query_retries=0).query("SELECT sleep(3)")
    assert "gave no answer in time" in str(explained(caught.value, settings))
