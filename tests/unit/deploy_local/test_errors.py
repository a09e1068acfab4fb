"""The engine's words become ClickHouse's code, name and message."""

from __future__ import annotations

import pytest

from deploy.local.errors import EngineError


@pytest.mark.parametrize(
    ("text", "code", "name", "message", "status"),
    [
        ("Code: 60. DB::Exception: Unknown table 'x'. (UNKNOWN_TABLE)", 60, "UNKNOWN_TABLE", "Unknown table 'x'", 404),
        (
            "Code: 6. DB::Exception: Code: 6. DB::Exception: No x. (CANNOT_PARSE_TEXT) (version 26.9.2.1). (CANNOT_PARSE_TEXT)",
            6, "CANNOT_PARSE_TEXT", "No x", 400,
        ),
        ("Code: 400. DB::ErrnoException: Cannot stat file /x (CANNOT_STAT)", 400, "CANNOT_STAT", "Cannot stat file /x", 500),
        ("Code: 62. DB::Exception: Bad at 1:\nx (y). (SYNTAX_ERROR)", 62, "SYNTAX_ERROR", "Bad at 1:\nx (y)", 400),
        ("something else", 1002, "UNKNOWN_EXCEPTION", "something else", 500),
    ],
)  # fmt: skip
def test_parsed(text: str, code: int, name: str, message: str, status: int) -> None:
    error = EngineError.parse(text)
    assert (error.code, error.name, error.message, error.status) == (code, name, message, status)
    assert error.render("26.9") == f"Code: {code}. DB::Exception: {message}. ({name}) (version 26.9 (official build))\n"
