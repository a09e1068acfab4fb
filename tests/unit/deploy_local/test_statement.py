"""Where a statement's data begins, and which format is asked for."""

from __future__ import annotations

import pytest

from deploy.local.statement import parse


@pytest.mark.parametrize(
    ("sql", "head", "form", "data"),
    [
        (b"INSERT INTO t VALUES (1)", b"INSERT INTO t ", "Values", b" (1)"),
        (b"insert into t (a, b) values (1, 'x')", b"insert into t (a, b) ", "Values", b" (1, 'x')"),
        (b"INSERT INTO t FORMAT TSV\n1\n", b"INSERT INTO t ", "TSV", b"1\n"),
        (b"INSERT INTO t FORMAT TSV\r\n1\n", b"INSERT INTO t ", "TSV", b"1\n"),
        (b"INSERT INTO t FORMAT TSV\n\n1\n", b"INSERT INTO t ", "TSV", b"\n1\n"),
        (b"INSERT INTO t FORMAT TSV;1\n", b"INSERT INTO t ", "TSV", b"1\n"),
        (b"INSERT INTO t FORMAT Native\n\x02\x00FORMAT CSV", b"INSERT INTO t ", "Native", b"\x02\x00FORMAT CSV"),
        (
            b"INSERT INTO t SETTINGS async_insert=0 FORMAT RowBinary\n\x00",
            b"INSERT INTO t SETTINGS async_insert=0 ",
            "RowBinary",
            b"\x00",
        ),
        (b"INSERT INTO `values` FORMAT CSV 1", b"INSERT INTO `values` ", "CSV", b"1"),
        (b"INSERT INTO values VALUES (1)", b"INSERT INTO values ", "Values", b" (1)"),
        (b"INSERT INTO t (format, values) FORMAT CSV\n1,2", b"INSERT INTO t (format, values) ", "CSV", b"1,2"),
        (b"INSERT INTO t /* FORMAT X */ -- VALUES\n FORMAT CSV\n1", b"INSERT INTO t /* FORMAT X */ -- VALUES\n ", "CSV", b"1"),
    ],
)
def test_an_inserts_data(sql: bytes, head: bytes, form: str, data: bytes) -> None:
    found = parse(sql)
    assert (found.head, found.format) == (head, form)
    assert found.data is not None
    assert sql[found.data :] == data
    assert not found.reads


@pytest.mark.parametrize(
    "sql",
    [
        b"INSERT INTO t SELECT 1",
        b"INSERT INTO t (a) SELECT a FROM u",
        b"INSERT INTO t WITH 1 AS x SELECT x",
        b"INSERT INTO t SELECT 1 FORMAT TSV",
    ],
)
def test_an_insert_of_a_query_brings_no_data(sql: bytes) -> None:
    assert parse(sql).data is None
    assert not parse(sql).reads


@pytest.mark.parametrize(
    ("sql", "form"),
    [
        (b"SELECT 1", ""),
        (b"SELECT 1 FORMAT JSON", "JSON"),
        (b"SELECT 1 format JSON;", "JSON"),
        (b"SELECT 1\n FORMAT Native\n", "Native"),
        (b"SELECT 1 FORMAT CSV SETTINGS max_threads = 1", "CSV"),
        (b"SELECT format FROM t", ""),
        (b"SELECT format('{}', x) FROM t", ""),
        (b"SELECT 1 AS format FORMAT TSV", "TSV"),
        (b"SELECT 'FORMAT JSON'", ""),
        (b"SELECT 1 -- FORMAT JSON", ""),
        (b"SELECT (SELECT 1 FORMAT Null) FORMAT TSV", "TSV"),
    ],
)
def test_the_answers_format(sql: bytes, form: str) -> None:
    assert parse(sql).format == form
    assert parse(sql).reads


@pytest.mark.parametrize(
    ("sql", "reads", "keeps"),
    [
        (b"SELECT 1", True, False),
        (b"(SELECT 1)", True, False),
        (b"WITH 1 AS x SELECT x", True, False),
        (b"WITH 1 AS x INSERT INTO t SELECT x", False, False),
        (b"SHOW TABLES", False, False),
        (b"SET a = 1", False, True),
        (b"USE d", False, True),
        (b"CREATE TEMPORARY TABLE t (a UInt8)", False, True),
        (b"CREATE TABLE t (a UInt8)", False, False),
        (b"", False, False),
    ],
)
def test_kinds(sql: bytes, reads: bool, keeps: bool) -> None:
    assert (parse(sql).reads, parse(sql).keeps) == (reads, keeps)


@pytest.mark.parametrize(
    ("sql", "expected"),
    [
        (b"INSERT INTO t FORMAT Native\n\x00", b"INSERT INTO t \nFROM INFILE '/f' \nFORMAT Native"),
        (b"INSERT INTO t (settings) VALUES (1)", b"INSERT INTO t (settings) \nFROM INFILE '/f' \nFORMAT Values"),
        (b"INSERT INTO t SETTINGS a=1 FORMAT CSV\n1", b"INSERT INTO t \nFROM INFILE '/f' SETTINGS a=1 \nFORMAT CSV"),
        (b"INSERT INTO t -- why\nFORMAT CSV\n1", b"INSERT INTO t -- why\n\nFROM INFILE '/f' \nFORMAT CSV"),
    ],
)
def test_an_insert_reads_its_data_from_a_file(sql: bytes, expected: bytes) -> None:
    statement = parse(sql)
    assert statement.from_file("/f", statement.format) == expected
