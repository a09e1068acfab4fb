"""A log of the longest lines there are: no answer of the store is larger than a page, whoever asks, and every line is in one."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from clickhouse_connect.driver.client import Client

from cli import dead_letters
from cli.content import Stored, compare
from gateway.coverage import Coverage
from gateway.feed import Feed
from gateway.queries.lines import LineRequest, Position, lines, newest_lines
from gateway.store import Columns, columns
from stream_jobs.archive import Archive
from tests.seed import migrate
from tests.services.fixtures import Store

pytestmark = pytest.mark.services
COUNT, LONG = 200, 256 << 10  # bytes of a line, its line feed included: the limit of the contract
SIZE = COUNT * LONG
ANSWER = 8 << 20  # bytes of text
PLACES = [number * LONG for number in range(COUNT)]


@pytest.fixture(scope="module")
def client(store: Store) -> Iterator[Client]:
    database = f"test_long_{os.getpid()}"
    with store.client() as admin:
        migrate(admin, database)
        with store.client(database=database) as client:
            for task, condition in (("task", "1"), ("gap", "number < 40 OR number >= 120")):
                client.command(
                    "INSERT INTO log_lines (task_id, file_id, offset, end, text, kind, time, arrived)"
                    f" SELECT '{task}', 'file', number * {LONG}, (number + 1) * {LONG},"
                    f" concat(leftPad(toString(number), 7, '0'), repeat('x', {LONG - 8})), 'text', now64(3), now64(3)"
                    f" FROM numbers({COUNT}) WHERE {condition} SETTINGS max_block_size = 16"
                )
                client.command(
                    "INSERT INTO file_ranges (task_id, file_id, start, end, revision, lines, path, first_arrived, last_arrived,"
                    f" last_stored) SELECT '{task}', 'file', 0, {SIZE}, {1 << 32}, {COUNT}, '/log', now64(3), now64(3), now64(3)"
                )
            yield client
        admin.command(f"DROP DATABASE {database} SYNC")


class Asker:
    """A query function, and a store for a worker's questions, that knows its largest answer in bytes of text."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self.largest = 0

    def __call__(self, sql: str, /, **parameters: Any) -> Columns:
        found = columns(self._client, sql, parameters)
        self._saw(found.get("text", []))
        return found

    def query(self, sql: str, parameters: dict[str, Any]) -> list[Any]:
        rows = list(self._client.query(sql, parameters=parameters).result_rows)
        self._saw([row[2] for row in rows])
        return rows

    def _saw(self, texts: Any) -> None:
        self.largest = max(self.largest, sum(map(len, texts)))


@pytest.fixture
def query(client: Client) -> Iterator[Asker]:
    asker = Asker(client)
    yield asker
    assert 0 < asker.largest <= ANSWER


@pytest.fixture
def log(tmp_path: Path) -> Path:
    path = tmp_path / "train.log"
    path.write_bytes(b"".join(b"%07d%s\n" % (number, b"x" * (LONG - 8)) for number in range(COUNT)))
    return path


def test_verify_compares_all_of_it(query: Asker, log: Path) -> None:
    content = compare(query, "task", log, [Stored("file")])
    assert content.same
    assert content.equal == SIZE


def test_a_gap_in_the_middle_is_jumped_over(query: Asker, log: Path) -> None:
    """As where older lines have expired: nothing is shown for longer than an answer covers."""
    content = compare(query, "gap", log, [Stored("file")])
    assert content.missing == [(40 * LONG, 120 * LONG)]
    assert content.equal == SIZE - 80 * LONG


@pytest.mark.parametrize("file", [None, "file"])
def test_pages_meet_in_both_directions(query: Asker, file: str | None) -> None:
    seen: list[int] = []
    after: Position | None = None
    while page := lines(query, "task", LineRequest(limit=5000, after=after, file=file)):
        seen += [line["offset"] for line in page.lines]
        if not page.more:
            break
        after = (page.lines[-1]["arrived_ms"], "file", seen[-1])
    assert seen == PLACES
    seen, before = [], None
    while page := lines(query, "task", LineRequest(limit=5000, before=before, newest=True, file=file)):
        seen = [line["offset"] for line in page.lines] + seen
        if not page.more:
            break
        before = (page.lines[0]["arrived_ms"], "file", seen[0])
    assert seen == PLACES


def test_the_newest_lines_come_in_order(query: Asker) -> None:
    assert [line["offset"] for line in newest_lines(query, "task", 150)] == PLACES[50:]


def test_a_feed_gives_each_once(query: Asker) -> None:
    feed, seen = Feed("task", Coverage()), list[int]()
    while message := feed.look(query):
        seen += [line["offset"] for line in message.lines]
        assert message.more is (len(seen) < COUNT)
    assert seen == PLACES


def test_a_replay_reads_each_once(query: Asker) -> None:
    texts = Archive(query).texts("task", "file", 0, SIZE)
    assert [offset for stored in texts for offset in stored.lines.offsets] == PLACES


# VmHWM is the most memory that this image of the process held; what `wait4` tells counts the memory of whoever forked it.
HELD = """
import atexit, re
from cli.main import main
atexit.register(lambda: print(re.search(r"VmHWM:\\s+(\\d+)", open("/proc/self/status").read())[1], file=open("held", "w")))
main()
"""


def test_the_programs_stay_small(client: Client, store: Store, log: Path, query: Asker, tmp_path: Path) -> None:
    environ = {**os.environ, **store.environ("viewer"), "TRAINWIRE_CLICKHOUSE_DATABASE": str(client.database)}

    def held(*arguments: str) -> int:
        command = [sys.executable, "-c", HELD, *arguments]
        subprocess.run(command, env=environ, cwd=tmp_path, stdout=subprocess.DEVNULL, timeout=120)
        return int((tmp_path / "held").read_text()) << 10

    idle = held("tasks")
    assert held("tail", "-n", "5000", "task") < idle + 4 * ANSWER  # as it came, unpacked, as text, and as it is printed
    assert held("verify", "task", str(log)) < idle + 4 * ANSWER + SIZE  # the file's own pages count, too
    assert query("SELECT text FROM lines WHERE offset = 0")["text"]


def test_dead_letters_are_fetched_a_portion_at_a_time(
    client: Client, store: Store, monkeypatch: pytest.MonkeyPatch, query: Asker
) -> None:
    for name, value in (store.environ() | {"TRAINWIRE_CLICKHOUSE_DATABASE": str(client.database)}).items():
        monkeypatch.setenv(name, value)
    client.command(
        "INSERT INTO dead_letters (topic, partition, offset, reason, value, arrived)"
        " SELECT 'topic', 0, number, 'undecodable', repeat('x', 1000000), now64(3) FROM numbers(30) SETTINGS max_block_size = 4"
    )
    heads = dead_letters._rows(dead_letters._HEAD, "1", {}, 100)
    assert "value_hex" not in heads[0]
    found = list(dead_letters._whole(heads))
    assert [row["offset"] for rows in found for row in rows] == list(range(30))
    assert all(len(rows) * 2_000_000 <= ANSWER for rows in found)
    assert query("SELECT text FROM lines WHERE offset = 0")["text"]
