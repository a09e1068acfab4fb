"""The ClickHouse engine in this process: connections, sessions, and one query from text to bytes."""

from __future__ import annotations

import contextlib
import dataclasses
import os
import time
from collections.abc import Generator, Iterator, Mapping
from pathlib import Path
from typing import Any

from chdb.state.sqlitelike import Connection

from deploy.local.connections import Connections, Lease
from deploy.local.errors import BAD_ARGUMENTS, READONLY, EngineError
from deploy.local.guard import Guard
from deploy.local.lexer import names
from deploy.local.statement import Statement, parse

# Formats without head or tail: there, chunk after chunk is the same as the whole, so large results stream in bounded memory.
STREAMED = names(
    "native rowbinary tabseparated tsv csv jsoneachrow jsonlines ndjson jsoncompacteachrow tabseparatedraw tsvraw rawblob "
    "lineasstring jsonstringseachrow null"
)
SESSION_TIMEOUT, SESSION_TIMEOUT_MOST = 60, 3600  # seconds, as a server's default_session_timeout and max_session_timeout
# A name for the moment in which `default` is replaced; no user can be connected yet.
_HATCH = "_start"


@dataclasses.dataclass(frozen=True)
class Query:
    """One request, decoded: what to run and for whom."""

    sql: bytes
    settings: Mapping[str, str]
    params: Mapping[str, str]  # in ClickHouse's escaped form, as `param_*` of the URL carries them
    database: str
    reader: bool  # may only say what reads
    readonly: bool  # and the engine is told so
    default_format: str
    session: str = ""
    session_timeout: int = SESSION_TIMEOUT
    session_check: bool = False


@dataclasses.dataclass
class Summary:
    """Figures for X-ClickHouse-Summary; complete once the answer has been consumed."""

    read_rows: int = 0
    read_bytes: int = 0
    written_rows: int = 0
    written_bytes: int = 0
    result_rows: int = 0
    elapsed: float = 0.0


@dataclasses.dataclass
class Answer:
    format: str
    chunks: Generator[bytes, None, None]
    summary: Summary


class Engine:
    """The engine over one data folder; one per process. Thread-safe: no two queries share a connection at a time."""

    def __init__(self, folder: Path) -> None:
        self._path = str(folder)
        self._base = Connection(self._path)  # held open: the engine ends with its last connection
        self._secure_default()
        self.version, self.timezone, self.display_name = self._row("SELECT version(), timezone(), displayName()")
        engines = self._column("SELECT name FROM system.table_engines UNION ALL SELECT name FROM system.database_engines")
        self._guard = Guard(self._column("SELECT name FROM system.table_functions"), engines)
        self._connections = Connections(lambda: Connection(self._path))

    @contextlib.contextmanager
    def run(self, query: Query) -> Iterator[Answer]:
        """The answer of one query, valid inside the `with`. This and reading its chunks raise `EngineError`."""
        statement = parse(query.sql)
        self._guard.check(statement.found, reader=query.reader)
        for name in query.settings:
            self._guard.check_setting(name)
        settings = self._settings(query)
        with self._lease(query, settings) as lease:
            with _engine_errors():
                self._prepare(lease, query, settings)
                answer = self._execute(lease.connection, query, statement)
            with contextlib.closing(answer.chunks):  # before the connection goes: an unread rest is cancelled
                yield answer
                lease.clean = not statement.keeps and next(answer.chunks, None) is None

    def close(self) -> None:
        self._connections.close()
        self._base.close()

    def expire(self, now: float) -> None:
        """Close the sessions whose time is over."""
        self._connections.expire(now)

    def _secure_default(self) -> None:
        """Make `default` an ordinary database.

        The engine in a process lays it over the file system: there, SELECT … FROM `/etc/passwd` reads that file. Its own
        tables are kept in an Atomic database of the same name, which DETACH and ATTACH bring to the front, data and all.
        """
        run = self._base.query
        run(f"CREATE DATABASE IF NOT EXISTS {_HATCH}")
        run(f"USE {_HATCH}")
        (uuid,) = self._row("SELECT uuid FROM system.databases WHERE name = 'default'")
        known = (Path(self._path) / "metadata" / "default.sql").exists()
        run("DETACH DATABASE default")
        # Without its id, ATTACH fails in a process that did not create it.
        run(f"ATTACH DATABASE default UUID '{uuid}' ENGINE = Atomic" if known else "CREATE DATABASE default ENGINE = Atomic")
        run("USE default")
        run(f"DROP DATABASE {_HATCH}")
        (engine,) = self._row("SELECT engine FROM system.databases WHERE name = 'default'")
        if engine != "Atomic":
            raise EngineError(BAD_ARGUMENTS, "BAD_ARGUMENTS", f"`default` is {engine} and would read this machine's files")

    def _column(self, sql: str) -> list[str]:
        return str(self._base.query(sql, "TSV").bytes().decode()).split()

    def _row(self, sql: str) -> list[str]:
        return str(self._base.query(sql, "TSV").bytes().decode().rstrip("\n")).split("\t")

    def _lease(self, query: Query, settings: dict[str, str]) -> contextlib.AbstractContextManager[Lease]:
        if query.session:
            seconds = min(query.session_timeout, SESSION_TIMEOUT_MOST)
            return self._connections.session(query.session, seconds, must_exist=query.session_check)
        return self._connections.lease((query.database, tuple(sorted(settings.items()))))

    @staticmethod
    def _settings(query: Query) -> dict[str, str]:
        """The request's settings; a reader's end with `readonly`, at the level that still lets limits be set.

        (Grafana's data source sends max_execution_time with each query.)
        """
        if query.readonly and query.settings.get("readonly", "2") not in ("1", "2"):
            raise EngineError(READONLY, "READONLY", "Cannot modify 'readonly' setting in readonly mode")
        return {**query.settings, "readonly": "2"} if query.readonly else dict(query.settings)

    def _prepare(self, lease: Lease, query: Query, settings: dict[str, str]) -> None:
        """Bring a connection into the state that the request asks for."""
        run = lease.connection.query
        if query.database and (query.session or lease.fresh):
            run(f"USE {_name(query.database)}")
        changes = dict(settings) if query.session or lease.fresh else {}
        if query.session and query.readonly and not lease.fresh:
            del changes["readonly"]  # it stands since the first query, and cannot be set again under itself
        changes |= {f"param_{name}": value for name, value in query.params.items()}
        if changes:
            run("SET " + ", ".join(f"{_setting(name)} = {_literal(value)}" for name, value in changes.items()))

    def _execute(self, connection: Connection, query: Query, statement: Statement) -> Answer:
        raw: Any = connection._conn  # the wrapper takes no bytes, and hides the figures of a stream's chunks
        summary, begun = Summary(), time.monotonic()
        if statement.data is not None:
            form = statement.format or "Values"
            with _as_file(query.sql[statement.data :]) as path:
                done = raw.query(statement.from_file(path, form), "Null", params={})
            summary.written_rows, summary.written_bytes = done.rows_written(), done.bytes_written()
            summary.elapsed = time.monotonic() - begun
            return Answer(form, _whole(b""), summary)
        output = statement.format or query.default_format
        if statement.reads and output.lower() in STREAMED:
            return Answer(output, _stream(raw, statement.head, output, summary, begun), summary)
        result = raw.query(statement.head, output, params={})
        _add(summary, result, begun)
        return Answer(output, _whole(result.bytes()), summary)


@contextlib.contextmanager
def _as_file(data: bytes) -> Iterator[str]:
    """The path of a file in memory that holds an INSERT's data.

    chDB's own way to stream into an INSERT (`send_insert`) tells errors of the input format only: a violated constraint,
    too many parts or no memory were answered as success, and nothing was stored. And a query's text may hold 32 KiB of data.
    """
    descriptor = os.memfd_create("insert")
    try:
        view = memoryview(data)
        while view:
            view = view[os.write(descriptor, view) :]
        yield f"/proc/self/fd/{descriptor}"
    finally:
        os.close(descriptor)


def _whole(data: bytes) -> Generator[bytes, None, None]:
    if data:
        yield data


def _stream(raw: Any, sql: bytes, output: str, summary: Summary, begun: float) -> Generator[bytes, None, None]:
    """The result piece by piece; the engine computes no further than is read."""
    with _engine_errors():
        result = raw.send_query(sql, output, params={})
    try:
        while True:
            with _engine_errors():
                chunk = raw.streaming_fetch_result(result)
            if chunk is None or not chunk.rows_read():
                return
            _add(summary, chunk, begun)
            yield chunk.bytes()
    except GeneratorExit:
        raw.streaming_cancel_query(result)
        raise


@contextlib.contextmanager
def _engine_errors() -> Iterator[None]:
    """What chDB raises is a RuntimeError (ChdbError is one) with the engine's words in it."""
    try:
        yield
    except RuntimeError as error:
        raise EngineError.parse(str(error)) from error


def _add(summary: Summary, result: Any, begun: float) -> None:
    summary.result_rows += result.rows_read()
    summary.read_rows = max(summary.read_rows, result.storage_rows_read())
    summary.read_bytes = max(summary.read_bytes, result.storage_bytes_read())
    summary.elapsed = time.monotonic() - begun


def _name(name: str) -> str:
    return "`" + name.replace("\\", "\\\\").replace("`", "\\`") + "`"


def _literal(value: str) -> str:
    return "'" + value.replace("\\", "\\\\").replace("'", "\\'") + "'"


def _setting(name: str) -> str:
    if not name.replace("_", "").isalnum() or not name.isascii():
        raise EngineError(BAD_ARGUMENTS, "BAD_ARGUMENTS", f"{name!r} is no setting's name")
    return name
