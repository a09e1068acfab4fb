"""What the project's programs, Grafana and people ask of ClickHouse's HTTP interface.

Runs against whatever the `store` fixture reaches: the local stack's front, a container, a server. What only the front
promises (no file, no network, for anybody) is marked; a server keeps such things by grants.
"""

from __future__ import annotations

import base64
import concurrent.futures
import contextlib
import gzip
import http.client
import json
import math
import os
import socket
import struct
import threading
import time
import urllib.parse
from collections.abc import Callable, Iterator
from typing import Any

import clickhouse_connect
import lz4.block
import lz4.frame
import pytest
from backports import zstd
from clickhouse_connect.driver.client import Client
from clickhouse_connect.driver.exceptions import DatabaseError

from deploy.local.cityhash import cityhash128
from tests.services.fixtures import Store

pytestmark = pytest.mark.services
only_front = pytest.mark.skipif(
    "TRAINWIRE_TEST_CLICKHOUSE" in os.environ, reason="a server keeps this by grants and settings of its own"
)


@pytest.fixture
def client(store: Store, database: str) -> Iterator[Client]:
    with store.client(database=database) as opened:
        yield opened


@pytest.fixture
def viewer(store: Store, database: str) -> Iterator[Client]:
    with store.client("viewer", database=database) as opened:
        yield opened


class Raw:
    """One plain HTTP connection, as any other language's client has it."""

    def __init__(self, store: Store, login: tuple[str, str] | None) -> None:
        url = urllib.parse.urlsplit(store.url)
        self.connection = http.client.HTTPConnection(str(url.hostname), url.port, timeout=60)
        self.headers = {} if login is None else {"Authorization": "Basic " + base64.b64encode(":".join(login).encode()).decode()}

    def __call__(self, body: bytes = b"", method: str = "POST", headers: dict[str, str] | None = None, **arguments: str) -> Any:
        self.connection.request(method, "/?" + urllib.parse.urlencode(arguments), body, self.headers | (headers or {}))
        answer = self.connection.getresponse()
        self.body = answer.read()
        self.status, self.answer = answer.status, answer
        return self.body


Connect = Callable[[tuple[str, str] | None], Raw]


@pytest.fixture
def connect(store: Store) -> Iterator[Connect]:
    """Plain connections for a login, closed after the test."""
    with contextlib.ExitStack() as stack:

        def open_one(login: tuple[str, str] | None) -> Raw:
            raw = Raw(store, login)
            stack.callback(raw.connection.close)
            return raw

        yield open_one


@pytest.fixture
def raw(store: Store, connect: Connect) -> Raw:
    return connect(store.writer)


def code(error: pytest.ExceptionInfo[DatabaseError]) -> int:
    return int(error.value.code or 0)


# Queries


def test_rows_come_back_as_they_went_in(client: Client) -> None:
    client.command(
        "CREATE TABLE t (id UInt64, at DateTime64(3, 'UTC'), name LowCardinality(String), step Nullable(Int64), value Float64) "
        "ENGINE = MergeTree ORDER BY id"
    )
    columns: list[list[Any]] = [
        [1, 2, 3],
        [1_800_000_000_000, 0, 1],
        ["loss", "acc/τοπ", "a'b\\c\n\t"],
        [1, None, 3],
        [math.nan, math.inf, 0.1],
    ]
    names = ["id", "at", "name", "step", "value"]
    types = ["UInt64", "DateTime64(3, 'UTC')", "LowCardinality(String)", "Nullable(Int64)", "Float64"]
    client.insert("t", columns, column_names=names, column_type_names=types, column_oriented=True, settings={"async_insert": 0})
    rows = client.query("SELECT id, toUnixTimestamp64Milli(at), name, step, value FROM t ORDER BY id").result_rows
    assert [row[:4] for row in rows] == [(1, 1_800_000_000_000, "loss", 1), (2, 0, "acc/τοπ", None), (3, 1, "a'b\\c\n\t", 3)]
    assert math.isnan(rows[0][4])
    assert rows[1][4] == math.inf
    assert rows[2][4] == 0.1


def test_an_empty_result_keeps_its_columns(client: Client) -> None:
    result = client.query("SELECT 1 AS a, 'x' AS b WHERE 0")
    assert result.result_rows == []
    assert client.query("SELECT 1 AS a, 'x' AS b LIMIT 0").column_names == ("a", "b")


@pytest.mark.parametrize(
    "text", ["plain", "a'b", 'a"b', "back\\slash", "line\nend", "tab\t", "{x:String}", "'; DROP TABLE t; --", "žluťoučký 🐎"]
)
def test_parameters_are_values_never_sql(client: Client, text: str) -> None:
    assert client.query("SELECT {x:String}", parameters={"x": text}).result_rows == [(text,)]


def test_parameters_of_every_kind_the_project_uses(client: Client) -> None:
    time_is = "{t:DateTime64(3)} = toDateTime64('2026-01-02 03:04:05.678', 3)"
    sql = "SELECT {i:Int64}, {f:Float64}, {a:Array(String)}, {n:Nullable(Int64)}, " + time_is
    values = {"i": -5, "f": 0.5, "a": ["x'y", "z"], "n": None, "t": "2026-01-02 03:04:05.678"}
    assert client.query(sql, parameters=values).result_rows == [(-5, 0.5, ["x'y", "z"], None, 1)]
    client.command("CREATE TABLE named (a UInt8) ENGINE = Memory")
    assert client.query("SELECT count() FROM {t:Identifier}", parameters={"t": "named"}).result_rows == [(0,)]


def test_settings_reach_the_engine_and_stay_with_their_query(client: Client) -> None:
    sql = "SELECT getSetting('max_threads')"
    assert client.query(sql, settings={"max_threads": 1}).result_rows == [(1,)]
    assert client.query(sql, settings={"max_threads": 3}).result_rows == [(3,)]
    assert client.query("SELECT getSetting('max_block_size')").result_rows != [(77,)]
    assert client.query("SELECT getSetting('max_block_size')", settings={"max_block_size": 77}).result_rows == [(77,)]
    assert client.query("SELECT getSetting('max_block_size')").result_rows != [(77,)]


def test_query_in_url_in_body_and_in_both(raw: Raw) -> None:
    assert raw(b"SELECT 1") == b"1\n"
    assert raw(query="SELECT 2") == b"2\n"
    assert raw(b"+ 3", query="SELECT 1") == b"4\n"
    assert raw(method="GET", query="SELECT 5") == b"5\n"
    assert raw(b"SELECT 6 AS x", default_format="JSONEachRow") == b'{"x":6}\n'
    assert raw(b"SELECT 7 FORMAT CSV SETTINGS max_threads = 1") == b"7\n"
    assert raw.answer.headers["X-ClickHouse-Format"] == "CSV"
    assert raw.answer.headers["Content-Type"].startswith("text/csv")


def test_database_in_url_and_header(raw: Raw, database: str) -> None:
    assert raw(b"SELECT currentDatabase()") == b"default\n"
    assert raw(b"SELECT currentDatabase()", database=database) == f"{database}\n".encode()
    assert raw(b"SELECT currentDatabase()", headers={"X-ClickHouse-Database": database}) == f"{database}\n".encode()
    raw(b"SELECT 1", database="nosuch")
    assert raw.answer.headers["X-ClickHouse-Exception-Code"] == "81"


def test_a_large_result_streams(raw: Raw) -> None:
    """Piece by piece, and all of it is right."""
    raw.connection.request("POST", "/", b"SELECT number FROM numbers(3000000) FORMAT TSV", raw.headers)
    answer = raw.connection.getresponse()
    total = lines = 0
    while piece := answer.read(1 << 20):
        lines += piece.count(b"\n")
        total += len(piece)
    assert lines == 3_000_000
    assert total == sum(9 * 10**k * (k + 2) for k in range(1, 6)) + 10 * 2 + 2_000_000 * 8


def test_a_failure_in_the_middle_of_a_stream_is_told(store: Store) -> None:
    with store.client(compress=False) as client, pytest.raises(DatabaseError, match="FUNCTION_THROW_IF_VALUE_IS_NON_ZERO"):
        client.query("SELECT throwIf(number = 2000000), number FROM numbers(4000000)", settings={"max_threads": 1})


# Inserts


@pytest.mark.parametrize("compression", [None, "lz4", "zstd", "gzip"])
def test_inserts_and_answers_in_every_compression(store: Store, database: str, compression: str | None) -> None:
    rows = [[i, f"line {i} " + "x" * (i % 50)] for i in range(20_000)]
    with store.client(database=database, compress=compression or False) as client:
        client.command("CREATE TABLE t (i UInt32, s String) ENGINE = MergeTree ORDER BY i")
        client.insert("t", rows, column_names=["i", "s"])
        assert [list(row) for row in client.query("SELECT i, s FROM t ORDER BY i").result_rows] == rows


def test_an_insert_of_many_megabytes(client: Client) -> None:
    client.command("CREATE TABLE t (i UInt32, s String) ENGINE = MergeTree ORDER BY i")
    count = 300_000
    strings = [f"{i:0100d}" for i in range(count)]
    client.insert(
        "t", [list(range(count)), strings], column_names=["i", "s"], column_type_names=["UInt32", "String"], column_oriented=True
    )
    assert client.query("SELECT count(), sum(i), sum(length(s)) FROM t").result_rows == [
        (count, count * (count - 1) // 2, count * 100)
    ]


def test_insert_forms(raw: Raw, database: str) -> None:
    raw(b"CREATE TABLE t (a UInt8, s String) ENGINE = MergeTree ORDER BY a", database=database)
    raw(b"INSERT INTO t VALUES (1, 'one;two'), (2, 'format TSV')", database=database)
    raw(b"3\tthree\n", query="INSERT INTO t FORMAT TSV", database=database)
    raw(b'INSERT INTO t (s, a) FORMAT JSONEachRow\n{"a": 4, "s": "SELECT"}', database=database)
    raw(b"(5, 'five')", query="INSERT INTO t (a, s) SETTINGS async_insert = 0 VALUES", database=database)
    raw(b"INSERT INTO t SELECT a + 10, s FROM t WHERE a = 1", database=database)
    raw(b"INSERT INTO {table:Identifier} VALUES (6, 'six')", database=database, param_table="t")
    assert raw.status == 200, raw.body
    rows = raw(b"SELECT a, s FROM t ORDER BY a", database=database)
    assert rows == b"1\tone;two\n2\tformat TSV\n3\tthree\n4\tSELECT\n5\tfive\n6\tsix\n11\tone;two\n"
    raw(b"7\tseven\n8", query="INSERT INTO t FORMAT TSV", database=database)
    assert raw.status == 400
    assert raw(b"SELECT count() FROM t", database=database) == b"7\n"


def test_chunked_bodies(raw: Raw, database: str) -> None:
    raw(b"CREATE TABLE t (a UInt32) ENGINE = MergeTree ORDER BY a", database=database)
    path = "/?" + urllib.parse.urlencode({"query": "INSERT INTO t FORMAT TSV", "database": database})
    raw.connection.request("POST", path, (f"{i}\n".encode() for i in range(1000)), raw.headers, encode_chunked=True)
    assert raw.connection.getresponse().read() == b""
    assert raw(b"SELECT count(), sum(a) FROM t", database=database) == b"1000\t499500\n"


def test_a_repeated_token_inserts_once(client: Client) -> None:
    """`insert_deduplication_token` on a table with a window: what makes an in-place retry cheap."""
    client.command("CREATE TABLE t (a UInt8) ENGINE = MergeTree ORDER BY a SETTINGS non_replicated_deduplication_window = 100")
    for token in ("one", "one", "two"):
        client.insert("t", [[1], [2]], column_names=["a"], settings={"insert_deduplication_token": token, "async_insert": 0})
    assert client.query("SELECT count() FROM t").result_rows == [(4,)]


def test_a_refused_insert_is_told(raw: Raw, database: str) -> None:
    """Not only what the format cannot read: what the table refuses, too."""
    raw(b"CREATE TABLE t (a UInt8, CONSTRAINT small CHECK a < 5) ENGINE = MergeTree ORDER BY a", database=database)
    for sql in (b"INSERT INTO t VALUES (1), (7)", b"INSERT INTO t FORMAT TSV\n1\n7\n"):
        raw(sql, database=database)
        assert raw.answer.headers["X-ClickHouse-Exception-Code"] == "469"
    assert raw(b"SELECT count() FROM t", database=database) == b"0\n"


def test_written_rows_are_told(raw: Raw, database: str) -> None:
    raw(b"CREATE TABLE t (a UInt8) ENGINE = MergeTree ORDER BY a", database=database)
    raw(b"INSERT INTO t VALUES (1), (2), (3)", database=database)
    assert json.loads(raw.answer.headers["X-ClickHouse-Summary"])["written_rows"] == "3"


# Failures


@pytest.mark.parametrize(
    ("sql", "number", "status"),
    [
        ("SELECT * FROM nosuch", 60, 404),
        ("SELECT nosuch", 47, 404),
        ("SELEC 1", 62, 400),
        ("SELECT 1; SELECT 2", 62, 400),
        ("", 62, 400),
        ("SELECT toUInt8('x')", 6, 400),
        ("SELECT 1 SETTINGS nosuch = 1", 115, 404),
        ("SELECT sleep(2) SETTINGS max_execution_time = 0.3", 159, 408),
        ("SELECT throwIf(1)", 395, 500),
    ],
)
def test_failures_carry_clickhouses_code(raw: Raw, sql: str, number: int, status: int) -> None:
    raw(sql.encode())
    assert raw.answer.headers["X-ClickHouse-Exception-Code"] == str(number)
    assert raw.status == status
    assert raw.body.startswith(f"Code: {number}. DB::Exception: ".encode())
    assert raw(b"SELECT 1") == b"1\n", "the connection goes on"


def test_clients_see_code_and_name(client: Client) -> None:
    with pytest.raises(DatabaseError) as error:
        client.query("SELECT * FROM nosuch")
    assert code(error) == 60
    assert error.value.name == "UNKNOWN_TABLE"


def test_an_unknown_setting_in_the_url(raw: Raw) -> None:
    raw(b"SELECT 1", nosuch="1")
    assert raw.answer.headers["X-ClickHouse-Exception-Code"] == "115"


# Users


@pytest.mark.parametrize("login", [None, ("writer", "wrong"), ("nobody", ""), ("", "")])
def test_nobody_comes_in_without_a_password(connect: Connect, store: Store, login: tuple[str, str] | None) -> None:
    raw = connect(login)
    raw(b"SELECT 1")
    assert raw.status in (401, 403)
    assert raw.answer.headers["X-ClickHouse-Exception-Code"] == "516"


def test_users_by_header_and_url(connect: Connect, store: Store) -> None:
    user, password = store.viewer
    raw = connect(None)
    assert raw(b"SELECT 1", headers={"X-ClickHouse-User": user, "X-ClickHouse-Key": password}) == b"1\n"
    assert raw(b"SELECT 1", user=user, password=password) == b"1\n"


def test_the_viewer_reads_and_limits_but_changes_nothing(
    store: Store, connect: Connect, client: Client, viewer: Client, database: str
) -> None:
    client.command("CREATE TABLE t (a UInt8) ENGINE = MergeTree ORDER BY a")
    client.command("INSERT INTO t VALUES (1)")
    assert viewer.query("SELECT a FROM t", settings={"max_execution_time": 5}).result_rows == [(1,)]
    assert viewer.query("WITH 1 AS x SELECT x").result_rows == [(1,)]
    assert viewer.command("SHOW TABLES") == "t"
    for sql in (
        "INSERT INTO t VALUES (2)",
        "CREATE TABLE u (a UInt8) ENGINE = Memory",
        "CREATE VIEW v AS SELECT 1",
        "DROP TABLE t",
        "TRUNCATE TABLE t",
        "ALTER TABLE t DELETE WHERE 1",
        "OPTIMIZE TABLE t",
        "SYSTEM STOP MERGES",
        "KILL QUERY WHERE 1",
        f"DROP DATABASE {database}",
        "CREATE DATABASE other",
        "CREATE FUNCTION f AS x -> x",
        "SET readonly = 0",
        "/* SELECT */ INSERT INTO t VALUES (3)",
        "WITH 5 AS x INSERT INTO t SELECT x",
        "EXPLAIN AST SELECT 1; INSERT INTO t VALUES (4)",
    ):
        with pytest.raises(DatabaseError) as error:
            viewer.command(sql)
        assert code(error) in (62, 164, 497), sql
    raw = connect(store.viewer)
    raw(b"INSERT INTO t VALUES (5)", readonly="0", database=database)
    assert raw.answer.headers["X-ClickHouse-Exception-Code"] in ("164", "497")
    raw(b"SELECT 1", readonly="0")
    assert raw.answer.headers["X-ClickHouse-Exception-Code"] == "164"
    assert client.query("SELECT a FROM t").result_rows == [(1,)]


def test_get_changes_nothing(raw: Raw, database: str) -> None:
    raw(b"CREATE TABLE t (a UInt8) ENGINE = Memory", database=database)
    raw(method="GET", query="INSERT INTO t VALUES (1)", database=database)
    assert raw.status in (403, 500)
    assert raw(b"SELECT count() FROM t", database=database) == b"0\n"


LEAVING = [
    "SELECT * FROM file('/etc/passwd', 'LineAsString')",
    "SELECT * FROM FILE('/etc/passwd', 'LineAsString')",
    "SELECT * FROM `file`('/etc/passwd', 'LineAsString')",
    "SELECT * FROM \"file\"('/etc/passwd', 'LineAsString')",
    "SELECT * FROM `\\x66ile`('/etc/passwd', 'LineAsString')",
    "SELECT * FROM file /* a */ -- b\n ('/etc/passwd', 'LineAsString')",
    "SELECT * FROM file/* /* nested */ still */('/etc/passwd', 'LineAsString')",
    "SELECT * FROM file\u00a0('/etc/passwd', 'LineAsString')",
    "SELECT * FROM file\u3000('/etc/passwd', 'LineAsString')",
    "SELECT '$a$', * FROM file('/etc/passwd', 'LineAsString') WHERE '$a$' != ''",
    "SELECT $a$'$a$, * FROM file('/etc/passwd', 'LineAsString') -- '",
    "SELECT ‘'’, * FROM file('/etc/passwd', 'LineAsString') -- '",
    "SELECT 'it\\'s', * FROM file('/etc/passwd', 'LineAsString') -- '",
    "SELECT 'it''s', * FROM file('/etc/passwd', 'LineAsString') -- '",
    "SELECT 1 -- '\n, * FROM file('/etc/passwd', 'LineAsString') -- '",
    "SELECT 1 // '\n, * FROM file('/etc/passwd', 'LineAsString') // '",
    "SELECT 1 # '\n, * FROM file('/etc/passwd', 'LineAsString') # '",
    "SELECT * FROM (SELECT * FROM (SELECT * FROM file('/etc/passwd', 'LineAsString')))",
    "SELECT * FROM view(SELECT * FROM file('/etc/passwd', 'LineAsString'))",
    "WITH x AS (SELECT * FROM file('/etc/passwd', 'LineAsString')) SELECT * FROM x",
    "SELECT 1 UNION ALL SELECT length(line) FROM file('/etc/passwd', 'LineAsString')",
    "SELECT (SELECT count() FROM file('/etc/passwd', 'LineAsString'))",
    "SELECT 1 IN (SELECT 1 FROM file('/etc/passwd', 'LineAsString'))",
    "SELECT file('/etc/passwd')",
    "SELECT * FROM `/etc/passwd`",
    "SELECT * FROM '/etc/passwd'",
    "SELECT * FROM default.`/etc/passwd`",
    "DESCRIBE TABLE file('/etc/passwd')",
    "DESCRIBE `/etc/passwd`",
    "EXPLAIN SELECT * FROM file('/etc/passwd', 'LineAsString')",
    "SELECT * FROM url('http://127.0.0.1:1/')",
    "SELECT * FROM urlCluster('default', 'http://127.0.0.1:1/')",
    "SELECT * FROM s3('http://127.0.0.1:1/b/k')",
    "SELECT * FROM remote('127.0.0.1:1', system.one)",
    "SELECT * FROM remoteSecure('127.0.0.1:1', system.one)",
    "SELECT * FROM cluster('default', system.one)",
    "SELECT * FROM mysql('127.0.0.1:1', 'd', 't', 'u', 'p')",
    "SELECT * FROM postgresql('127.0.0.1:1', 'd', 't', 'u', 'p')",
    "SELECT * FROM sqlite('/tmp/x', 't')",
    "SELECT * FROM executable('x', 'TSV', 'a String')",
    "SELECT * FROM python('x')",
    "SELECT * FROM eval('SELECT * FROM file(\\'/etc/passwd\\')') SETTINGS allow_experimental_eval_table_function = 1",
    "SELECT 1 INTO OUTFILE '/tmp/trainwire-must-not-exist'",
    "SELECT 1 INTO /* */ OUTFILE '/tmp/trainwire-must-not-exist'",
    "SELECT 1 FORMAT Template SETTINGS format_template_row = '/etc/passwd'",
    "SELECT 1 FORMAT Template SETTINGS `format_template_row` = '/etc/passwd'",
]


@only_front
@pytest.mark.parametrize("sql", LEAVING)
@pytest.mark.parametrize("user", ["viewer", "writer"])
def test_no_query_leaves_the_database(connect: Connect, store: Store, sql: str, user: str) -> None:
    raw = connect(getattr(store, user))
    raw(sql.encode())
    assert raw.status != 200
    assert raw.answer.headers["X-ClickHouse-Exception-Code"] in ("497", "60", "62")
    assert b"root:" not in raw.body
    assert not os.path.exists("/tmp/trainwire-must-not-exist")  # noqa: PTH110  # one look, no path work


@only_front
@pytest.mark.parametrize(
    "sql",
    [
        "CREATE TABLE k (a String) ENGINE = Kafka SETTINGS kafka_broker_list = 'x'",
        "CREATE TABLE k (a String) ENGINE=`Kafka`('x', 'y', 'z', 'TSV')",
        "CREATE TABLE k (a String) /* ENGINE = Memory */ ENGINE /* */ = /* */ kafka('x', 'y', 'z', 'TSV')",
        "CREATE TABLE k (a String) ENGINE File(TSV)",
        "CREATE TEMPORARY TABLE k (a String) ENGINE = File(TSV)",
        "CREATE TABLE k (a String) ENGINE = URL('http://127.0.0.1:1/', TSV)",
        "CREATE TABLE k (a String) ENGINE = S3('http://127.0.0.1:1/b/k')",
        "CREATE TABLE k (a String) ENGINE = ReplicatedMergeTree('/x', 'r') ORDER BY a",
        "CREATE TABLE k (a String) ENGINE = Distributed('default', 'd', 't')",
        "CREATE TABLE k ENGINE = Memory AS SELECT * FROM file('/etc/passwd', 'LineAsString')",
        "CREATE TABLE k AS file('/etc/passwd', 'LineAsString')",
        "CREATE TABLE k (a UInt8) ENGINE = MergeTree ORDER BY a SETTINGS disk = disk(type = local, path = '/tmp/x/')",
        "CREATE MATERIALIZED VIEW k ENGINE = File(TSV) AS SELECT 1 AS a",
        "CREATE VIEW k AS SELECT * FROM url('http://127.0.0.1:1/')",
        "CREATE DATABASE k ENGINE = Filesystem('/etc')",
        "CREATE DATABASE k ENGINE = MySQL('127.0.0.1:1', 'd', 'u', 'p')",
        "CREATE DICTIONARY k (a UInt64) PRIMARY KEY a SOURCE(FILE(path '/etc/passwd' format 'TSV')) LAYOUT(FLAT()) LIFETIME(0)",
        "CREATE DICTIONARY k (a UInt64) PRIMARY KEY a SOURCE(HTTP(url 'http://x/' format 'TSV')) LAYOUT(FLAT()) LIFETIME(0)",
        "CREATE DICTIONARY k (a UInt64) PRIMARY KEY a SOURCE(EXECUTABLE(command 'id' format 'TSV')) LAYOUT(FLAT()) LIFETIME(0)",
        "CREATE DICTIONARY k (a UInt64) PRIMARY KEY a SOURCE(CLICKHOUSE(HOST '127.0.0.2' TABLE 't')) LAYOUT(FLAT()) LIFETIME(0)",
        "INSERT INTO FUNCTION file('/tmp/trainwire-must-not-exist', 'TSV', 'a UInt8') VALUES (1)",
        "INSERT INTO TABLE FUNCTION file('/tmp/trainwire-must-not-exist', 'TSV', 'a UInt8') SELECT 1",
        "INSERT INTO t FROM INFILE '/etc/passwd' FORMAT LineAsString",
        "ATTACH TABLE k FROM '/etc' (a UInt8) ENGINE = Memory",
        "BACKUP DATABASE default TO File('/tmp/x')",
        "RESTORE DATABASE default FROM File('/tmp/x')",
        "SYSTEM SHUTDOWN",
    ],
)
def test_the_writer_cannot_leave_either(connect: Connect, store: Store, database: str, sql: str) -> None:
    raw = connect(store.writer)
    raw(sql.encode(), database=database)
    assert raw.answer.headers["X-ClickHouse-Exception-Code"] == "497"
    assert raw(b"SHOW TABLES", database=database) == b""


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT 'file(', \"file\", url FROM (SELECT 1 AS file, 2 AS url)",
        "SELECT count() FROM numbers(3) WHERE toString(number) LIKE '%url(%'",
        "SELECT 'INTO OUTFILE', 'ENGINE = Kafka' -- file('/etc/passwd')",
        "SELECT * FROM values('a UInt8', 1, 2)",
        "SELECT * FROM generate_series(1, 3)",
        "SELECT format('{} {}', 'a', 'b'), domain('http://x.y/z')",
        "SELECT name FROM system.tables WHERE engine = 'MergeTree' LIMIT 1",
        "SELECT * FROM merge(currentDatabase(), '.*') LIMIT 1",
    ],
)
def test_harmless_words_pass(viewer: Client, client: Client, sql: str) -> None:
    client.command("CREATE TABLE t (a UInt8) ENGINE = MergeTree ORDER BY a")
    viewer.query(sql)


# Sessions


def test_a_session_keeps_temporary_tables_and_settings(store: Store) -> None:
    with store.client(session_id="s1") as client, store.client(session_id="s2") as other:
        client.command("CREATE TEMPORARY TABLE mine (a UInt8)")
        client.command("INSERT INTO mine VALUES (7)")
        client.command("SET max_block_size = 123")
        assert client.query("SELECT a FROM mine").result_rows == [(7,)]
        assert client.query("SELECT getSetting('max_block_size')").result_rows == [(123,)]
        with pytest.raises(DatabaseError) as error:
            other.query("SELECT a FROM mine")
        assert code(error) == 60


def test_without_a_session_nothing_stays(client: Client) -> None:
    client.command("SET max_block_size = 123")
    client.command("CREATE TEMPORARY TABLE gone (a UInt8)")
    assert client.query("SELECT getSetting('max_block_size')").result_rows != [(123,)]
    with pytest.raises(DatabaseError):
        client.query("SELECT * FROM gone")


def test_a_session_serves_one_query_at_a_time(connect: Connect, store: Store) -> None:
    first, second = connect(store.writer), connect(store.writer)
    second(b"SELECT 1", session_id="locked")

    def hold() -> None:
        while first(b"SELECT sleep(2)", session_id="locked") != b"0\n":  # the other one was in
            time.sleep(0.01)

    thread = threading.Thread(target=hold)
    thread.start()
    deadline = time.monotonic() + 60
    while second(b"SELECT 1", session_id="locked") == b"1\n" and time.monotonic() < deadline:
        time.sleep(0.02)
    assert second.answer.headers["X-ClickHouse-Exception-Code"] == "373"
    thread.join()


def test_sessions_end_and_can_be_asked_for(raw: Raw) -> None:
    raw(b"SELECT 1", session_id="new", session_check="1")
    assert raw.answer.headers["X-ClickHouse-Exception-Code"] == "372"
    raw(b"CREATE TEMPORARY TABLE t (a UInt8)", session_id="new", session_timeout="1")
    assert raw.status == 200
    deadline = time.monotonic() + 60
    while raw.status == 200 and time.monotonic() < deadline:
        time.sleep(2.5)  # each query prolongs it: wait for longer than its time
        raw(b"SELECT count() FROM t", session_id="new", session_timeout="1")
    assert raw.status == 404


def test_a_reader_shares_no_session_with_a_writer(connect: Connect, store: Store) -> None:
    writer, viewer = connect(store.writer), connect(store.viewer)
    writer(b"CREATE TEMPORARY TABLE secret (a UInt8)", session_id="same")
    viewer(b"SELECT * FROM secret", session_id="same")
    assert viewer.answer.headers["X-ClickHouse-Exception-Code"] == "60"
    for _ in range(2):
        assert viewer(b"SELECT getSetting('readonly')", session_id="same", max_execution_time="5") == b"2\n"


# Protocol


def test_ping_needs_no_password(connect: Connect, store: Store) -> None:
    raw = connect(None)
    for path in ("/ping", "/replicas_status"):
        raw.connection.request("GET", path)
        answer = raw.connection.getresponse()
        assert answer.status == 200
        assert answer.read().startswith(b"Ok.")
    raw.connection.request("GET", "/nosuch")
    answer = raw.connection.getresponse()
    answer.read()
    assert answer.status == 404


def test_query_id_comes_back(raw: Raw) -> None:
    raw(b"SELECT 1", query_id="my-query")
    assert raw.answer.headers["X-ClickHouse-Query-Id"] == "my-query"
    raw(b"SELECT 1", query_id="a\r\nX-Injected: 1")
    assert raw.answer.headers["X-Injected"] is None


def native_row(body: bytes, revision: int) -> dict[str, str | int]:
    """The only row of a Native block of texts and UInt32, read as clickhouse-go reads it at that revision of the protocol."""
    position = 0

    def take(size: int) -> bytes:
        nonlocal position
        position += size
        assert position <= len(body)
        return body[position - size : position]

    def text() -> str:
        return take(take(1)[0]).decode()

    if revision:
        assert take(8) == b"\x01\x00\x02\xff\xff\xff\xff\x00"  # not an overflow, no bucket
    columns, rows = take(2)
    assert rows == 1
    found: dict[str, str | int] = {}
    for _ in range(columns):
        name, kind = text(), text()
        if revision >= 54_454:
            assert take(1) == b"\0"  # serialized as usual
        found[name] = text() if kind == "String" else struct.unpack("<I", take(4))[0]
    assert position == len(body)
    return found


@pytest.mark.parametrize("revision", [0, 54_450, 54_460])
def test_clickhouse_go_opens_a_connection(revision: int, raw: Raw) -> None:
    """Grafana's data source opens each connection with this greeting, reads the answer at the revision that it has itself, and
    all that follow at the revision that the answer tells."""
    greeting = b"SELECT displayName(), version(), revision(), timezone()"
    protocol = {"client_protocol_version": str(revision)} if revision else {}
    row = native_row(raw(greeting, headers=None, default_format="Native", max_execution_time="60", **protocol), revision)
    assert raw.status == 200
    told = row["revision()"]
    assert list(row) == ["displayName()", "version()", "revision()", "timezone()"]
    assert str(row["version()"])[0].isdigit()
    assert row["timezone()"]
    if "TRAINWIRE_TEST_CLICKHOUSE" not in os.environ:
        assert told == 0
    assert raw(greeting, default_format="TSV").decode().rstrip("\n").split("\t") == [str(value) for value in row.values()]


def test_answers_in_clickhouses_own_blocks(raw: Raw) -> None:
    body = raw(b"SELECT toString(number) FROM numbers(100000) FORMAT TSV", compress="1")
    text, position = b"", 0
    while position < len(body):
        method, packed, size = struct.unpack_from("<BII", body, position + 16)
        block = body[position + 16 : position + 16 + packed]
        assert method == 0x82
        assert cityhash128(block) == body[position : position + 16]
        text += lz4.block.decompress(block[9:], uncompressed_size=size)
        position += 16 + packed
    assert text == b"".join(b"%d\n" % i for i in range(100_000))


def test_a_failure_comes_in_the_blocks_that_were_asked_for(raw: Raw) -> None:
    """clickhouse-go with lz4 or zstd reads failures as it reads answers."""
    body = raw(b"SELECT nosuch", compress="1")
    assert raw.status == 404
    assert cityhash128(body[16:]) == body[:16]
    size = struct.unpack_from("<I", body, 21)[0]
    assert lz4.block.decompress(body[25:], uncompressed_size=size).startswith(b"Code: 47. DB::Exception")


def test_bodies_in_clickhouses_own_blocks(raw: Raw) -> None:
    content = b"SELECT 'in a block'"
    block = struct.pack("<BII", 0x82, 0, len(content)) + lz4.block.compress(content, store_size=False)
    block = block[:1] + struct.pack("<I", len(block)) + block[5:]
    assert raw(cityhash128(block) + block, decompress="1") == b"in a block\n"
    raw(b"\0" * 16 + block, decompress="1")
    assert raw.status != 200


@pytest.mark.parametrize(
    ("encoding", "undo"), [("gzip", gzip.decompress), ("lz4", lz4.frame.decompress), ("zstd", zstd.decompress)]
)
def test_encodings_are_negotiated(raw: Raw, encoding: str, undo: Any) -> None:
    asked = {"Accept-Encoding": f"nosuch, {encoding};q=0.5"}
    for count in (10, 500_000):  # whole, and as a stream
        sql = f"SELECT number FROM numbers({count}) FORMAT TSV".encode()
        body = raw(sql, headers=asked, enable_http_compression="1")
        assert raw.answer.headers["Content-Encoding"] == encoding
        assert undo(body) == b"".join(b"%d\n" % i for i in range(count))
    assert raw(b"SELECT 1", headers=asked) == b"1\n", "only where the query asks for it"


def test_small_answers_come_in_one_packet(store: Store) -> None:
    """Head and body in two writes cost 40 ms a query with delayed acknowledgements."""
    url = urllib.parse.urlsplit(store.url)
    token = base64.b64encode(":".join(store.writer).encode()).decode()
    head = f"POST / HTTP/1.1\r\nHost: x\r\nAuthorization: Basic {token}\r\nContent-Length: 8\r\n\r\n"
    with socket.create_connection((str(url.hostname), url.port), timeout=60) as connection:
        for _ in range(3):
            connection.sendall(head.encode() + b"SELECT 1")
            assert connection.recv(65536).endswith(b"\r\n\r\n1\n")


def test_parallel_clients_get_their_own_answers(store: Store, database: str) -> None:
    def work(number: int) -> list[Any]:
        with store.client(database=database) as client:
            client.command(f"CREATE TABLE p{number} (a UInt32) ENGINE = MergeTree ORDER BY a")
            seen = []
            for i in range(20):
                client.insert(f"p{number}", [[i]], column_names=["a"])
                seen.append(client.query(f"SELECT {number}, max(a), count() FROM p{number}").result_rows[0])
            return seen

    with concurrent.futures.ThreadPoolExecutor(6) as pool:
        for number, seen in enumerate(pool.map(work, range(6))):
            assert seen == [(number, i, i + 1) for i in range(20)]


def test_the_default_client_works(store: Store) -> None:
    """With the session that clickhouse-connect makes by itself, and form-encoded parameters."""
    url = urllib.parse.urlsplit(store.url)
    user, password = store.viewer
    options: dict[str, Any] = {"host": url.hostname, "port": url.port, "username": user, "password": password}
    with clickhouse_connect.get_client(**options) as client:
        assert client.query("SELECT 1").result_rows == [(1,)]
    with clickhouse_connect.get_client(form_encode_query_params=True, **options) as client:
        assert client.query("SELECT {x:String}", parameters={"x": "a'b\n"}).result_rows == [("a'b\n",)]
