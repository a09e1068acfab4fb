"""A task as one SQLite file: points, lines and events as tables, for tools that ask with SQL (Datasette). Kept up to date.

Everything comes by the same live feed as the page's. Rows and the feed's place are written in one transaction, so that a gateway
that was killed goes on exactly where the file stands.
"""

from __future__ import annotations

import contextlib
import json
import sqlite3
from pathlib import Path

from gateway.coverage import Coverage
from gateway.feed import Feed, Message
from gateway.store import Query

NAME = "task.db"
TABLES = """
CREATE TABLE points (name TEXT, step INTEGER, epoch REAL, value REAL, time_ms INTEGER, attempt INTEGER, rank INTEGER,
    file_id TEXT, offset INTEGER, place INTEGER, PRIMARY KEY (name, file_id, offset, place));
CREATE INDEX curves ON points (name, attempt, rank, step);
CREATE TABLE lines (text TEXT, time_ms INTEGER, attempt INTEGER, rank INTEGER, stream TEXT, kind TEXT,
    file_id TEXT, offset INTEGER, PRIMARY KEY (file_id, offset));
CREATE TABLE events (kind TEXT, message TEXT, fields TEXT, step INTEGER, time_ms INTEGER, attempt INTEGER, rank INTEGER,
    file_id TEXT, offset INTEGER, place INTEGER, PRIMARY KEY (file_id, offset, place));
CREATE TABLE feed (cursor TEXT);
"""
POINT = ("name", "step", "epoch", "value", "time_ms", "attempt", "rank", "file_id", "offset", "place")
LINE = ("text", "time_ms", "attempt", "rank", "stream", "kind", "file_id", "offset")


class SqliteFeed:
    """Writes `task.db` into `folder`. `state` only tells that the first filling is done."""

    def __init__(self, task_id: str, folder: Path, state: Path) -> None:
        self.task_id, self.folder, self.state = task_id, folder, state
        self._feed: Feed | None = None

    def fill(self, query: Query) -> int:
        """Write all there is, from nothing. Returns the number of points."""
        self.folder.mkdir(exist_ok=True)
        for file in self.folder.glob(f"{NAME}*"):
            file.unlink()
        with self._open() as database:
            database.executescript(TABLES)
        self._feed = Feed(self.task_id, Coverage())
        points = self._take(query)
        self.state.write_text("filled")
        return points

    def resume(self) -> bool:
        """Go on where the file stands. False where it cannot be told: fill again."""
        if not (self.state.exists() and (self.folder / NAME).exists()):
            return False
        try:
            with self._open() as database:
                (cursor,) = database.execute("SELECT cursor FROM feed").fetchone()
            self._feed = Feed(self.task_id, Coverage.from_cursor(cursor))
        except (sqlite3.DatabaseError, TypeError, ValueError):
            return False
        return True

    def look(self, query: Query, now: float) -> bool:  # noqa: ARG002  # a feed's signature
        """Add what is new. True where points were."""
        return (self.fill(query) if self._feed is None else self._take(query)) > 0

    def _take(self, query: Query) -> int:
        assert self._feed is not None  # noqa: S101  # made by fill or resume
        points = 0
        while (message := self._feed.look(query)) is not None:
            with self._open() as database, database:
                if message.revised:  # extracted anew: all of it again, in the place of what was
                    for table in ("points", "lines", "events", "feed"):
                        database.execute(f"DELETE FROM {table}")
                    self._feed = Feed(self.task_id, Coverage())
                    continue
                self._write(database, message)
            points += len(message.points)
            if not message.more:
                break
        return points

    def _write(self, database: sqlite3.Connection, message: Message) -> None:
        database.executemany(_insert("points", len(POINT)), [tuple(row[name] for name in POINT) for row in message.points])
        database.executemany(_insert("lines", len(LINE)), [tuple(row[name] for name in LINE) for row in message.lines])
        database.executemany(
            _insert("events", 10),
            [
                (row["kind"], row["message"], json.dumps(row["fields"]), row["step"], row["time_ms"], row["attempt"], row["rank"],
                 row["file_id"], row["offset"], row["place"])
                for row in message.events
            ],
        )  # fmt: skip
        database.execute("DELETE FROM feed")
        database.execute("INSERT INTO feed VALUES (?)", (message.coverage.cursor(),))

    def _open(self) -> contextlib.closing[sqlite3.Connection]:
        database = sqlite3.connect(self.folder / NAME, timeout=10)
        database.execute("PRAGMA journal_mode = WAL")  # the tool reads while it is written
        return contextlib.closing(database)


def _insert(table: str, columns: int) -> str:
    return f"INSERT OR REPLACE INTO {table} VALUES ({', '.join('?' * columns)})"
