"""The front's rights: by hand, and against the engine's own parser on thousands of hostile spellings."""

from __future__ import annotations

import json
import random
import subprocess
import sys

import pytest

from deploy.local.errors import EngineError
from deploy.local.guard import Guard
from deploy.local.statement import parse

GUARD = Guard(
    ("file", "url", "s3", "remote", "numbers", "values", "eval", "dictionary"),
    ("MergeTree", "ReplacingMergeTree", "Memory", "Kafka", "File", "URL"),
)

# The engine as judge, in a process of its own: for each query whether it parses, and which functions its AST holds.
JUDGE = r"""
import json, re, sys
from chdb.state.sqlitelike import Connection
engine = Connection(":memory:")
for line in sys.stdin:
    try:
        tree = engine._conn.query(b"EXPLAIN AST " + json.loads(line).encode(), "TSVRaw", params={}).bytes()
        print(json.dumps(sorted(set(re.findall(r"^ *Function (\w+)", tree.decode("utf-8", "replace"), re.M)))))
    except RuntimeError:
        print("null")
"""


def refused(sql: str, *, reader: bool = True) -> int:
    try:
        GUARD.check(parse(sql.encode()).found, reader=reader)
    except EngineError as error:
        return error.code
    return 0


def hostile(rng: random.Random) -> str:
    """A query in which `file(…)` may stand in a string, a comment, a name or in the open: only a parser can tell."""
    inner = [
        "a",
        "'",
        '"',
        "`",
        "\\",
        "''",
        "\\'",
        "/*",
        "*/",
        "--",
        "//",
        "# ",
        "#",
        "$a$",
        "$",
        "\n",
        "file('x')",
        "‘",
        "”",
        "\u00a0",
    ]

    def mess() -> str:
        return "".join(rng.choice(inner) for _ in range(rng.randrange(5)))

    def space() -> str:
        kinds = [" ", "\n", "\t", f"/*{mess()}*/", f"--{mess()}\n", f"//{mess()}\n", f"# {mess()}\n", "\u3000", "\ufeff", "\x0b"]
        return "".join(rng.choice(kinds) for _ in range(rng.randrange(1, 3)))

    def item() -> str:
        kinds = [
            f"'{mess()}'", f"'{mess()}'", f"1 AS `{mess()}`", f'2 AS "{mess()}"', f"$a${mess()}$a$", f"x'{mess()}'", "1", "1.5e3",
            f"file{space()}('x')", f"`file`{space()}('x')", f'"file"{space()}(\'x\')', "`fi\\x6ce`('x')", f"‘{mess()}’",
            f"1 AS “{mess()}”", f"{{p:String}}{space()}", f"[1, {mess()}]",
        ]  # fmt: skip
        return rng.choice(kinds)

    items = f"{space()},{space()}".join(item() for _ in range(rng.randrange(1, 4)))
    source = rng.choice(
        ["", "", f"FROM{space()}numbers(1)", f"FROM{space()}file{space()}('x', 'TSV', 'a String')", f"FROM `{mess()}`"]
    )
    return f"SELECT{space()}{items}{space()}{source}{rng.choice(['', space()])}"


def test_no_spelling_that_the_engine_takes_hides_a_function() -> None:
    rng = random.Random(20261130)
    queries = [hostile(rng) for _ in range(4000)]
    judge = subprocess.run(
        [sys.executable, "-c", JUDGE],
        input="".join(json.dumps(q) + "\n" for q in queries),
        capture_output=True,
        text=True,
        check=True,
    )
    verdicts = [json.loads(line) for line in judge.stdout.splitlines()]
    assert len(verdicts) == len(queries)
    leaving = [q for q, names in zip(queries, verdicts, strict=True) if names and "file" in names]
    harmless = [q for q, names in zip(queries, verdicts, strict=True) if names is not None and "file" not in names]
    assert len(leaving) > 200, "the generator must reach what it is for"
    assert [q for q in leaving if not refused(q)] == []
    # The other way round only the quotings that the guard refuses on purpose may be refused in harmless queries.
    odd = ("$", "‘", "’", "“", "”", "\\")
    assert [q for q in harmless if refused(q) and not any(sign in q for sign in odd)] == []


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT 1",
        "select 1",
        "(SELECT 1)",
        "/* INSERT */ SELECT 1",
        "WITH 1 AS x SELECT x",
        "FROM numbers(3) SELECT *",
        "SHOW TABLES",
        "DESCRIBE TABLE t",
        "DESC t",
        "EXPLAIN SELECT 1",
        "EXISTS TABLE t",
        "SET max_threads = 1",
        "USE d",
        "SELECT file, url FROM t WHERE file IN ('a') AND url = 'x('",
        "SELECT 1;",
        "SELECT * FROM t AS file WHERE x = 'INTO OUTFILE'",
        "SELECT engine FROM system.tables WHERE engine = kafka",
    ],
)
def test_reading_is_allowed(sql: str) -> None:
    assert refused(sql) == 0


@pytest.mark.parametrize(
    "sql",
    [
        "INSERT INTO t VALUES (1)",
        "CREATE TABLE t (a UInt8) ENGINE = Memory",
        "CREATE TEMPORARY TABLE t (a UInt8)",
        "DROP TABLE t",
        "SYSTEM STOP MERGES",
        "KILL QUERY WHERE 1",
        "OPTIMIZE TABLE t",
        "`SELECT` 1",
        "1",
    ],
)
def test_a_reader_only_reads_and_a_writer_may(sql: str) -> None:
    assert refused(sql) == 497
    assert refused(sql, reader=False) == 0


@pytest.mark.parametrize(
    ("sql", "code"),
    [
        ("", 62),
        ("  -- nothing\n", 62),
        ("SELECT 1; SELECT 2", 62),
        ("SELECT $$x$$", 62),
        ("SELECT ‘x’", 62),
        ("SELECT AIGenerate('x')", 497),
        ("SELECT 1 SETTINGS format_schema = 'x'", 497),
        ("CREATE TABLE t (a UInt8) ENGINE = Kafka", 497),
        ("CREATE TABLE t (a UInt8) ENGINE Kafka", 497),
        ("CREATE DATABASE d ENGINE = Overlay('a')", 497),
        ("CREATE DICTIONARY d (a UInt64) PRIMARY KEY a SOURCE(HTTP(url 'x'))", 497),
        ("SYSTEM SHUTDOWN", 497),
        ("BACKUP TABLE t TO Disk('d', 'x')", 497),
    ],
)
def test_refused_for_everybody(sql: str, code: int) -> None:
    assert refused(sql, reader=False) == code


@pytest.mark.parametrize(
    "sql",
    [
        "CREATE TABLE t (engine String, source String) ENGINE = MergeTree ORDER BY engine TTL at + INTERVAL 30 DAY",
        "CREATE TABLE t (a UInt8) ENGINE=ReplacingMergeTree(v) PARTITION BY toYYYYMM(at) ORDER BY a",
        "CREATE MATERIALIZED VIEW v TO t AS SELECT 1 AS a",
        "CREATE DICTIONARY d (a UInt64) PRIMARY KEY a SOURCE(CLICKHOUSE(TABLE 't' DB 'd')) LAYOUT(FLAT()) LIFETIME(0)",
        "SYSTEM STOP MERGES t",
        "ALTER TABLE t MODIFY TTL at + INTERVAL 1 DAY",
        "INSERT INTO t FORMAT TSV\nfile('x'); SELECT url('y')",
        "INSERT INTO t VALUES ('file(''x'')')",
    ],
)
def test_what_the_writer_needs(sql: str) -> None:
    assert refused(sql, reader=False) == 0


def test_settings_that_read_files() -> None:
    GUARD.check_setting("max_threads")
    for name in ("format_schema", "FORMAT_TEMPLATE_ROW", "format_template_resultset"):
        with pytest.raises(EngineError):
            GUARD.check_setting(name)
