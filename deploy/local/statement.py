"""What a statement is: its kind, its format, and where an INSERT's data begins."""

from __future__ import annotations

import dataclasses

from deploy.local.lexer import Kind, Token, tokens


@dataclasses.dataclass(frozen=True)
class Statement:
    """`head` is what the engine parses as SQL; `data` begins the bytes that an INSERT brings along (None: it brings none)."""

    head: bytes
    found: list[Token]
    format: str  # of the answer, or of an INSERT's data; empty: not said
    data: int | None

    @property
    def first(self) -> str:
        """The first keyword, or an opening parenthesis; empty for anything else."""
        if not self.found:
            return ""
        return "(" if self.found[0].text == "(" else self.found[0].word()

    @property
    def reads(self) -> bool:
        """Whether it answers with rows that can be streamed."""
        return self.first in ("SELECT", "WITH", "FROM", "(") and self.data is None and not self._inserts

    def from_file(self, path: str, form: str) -> bytes:
        """An INSERT that brings its data along, as one that reads it from a file; SETTINGS stand behind the file."""
        depth, at = 0, len(self.head)
        for token in self.found:
            depth += (token.text in ("(", "[", "{")) - (token.text in (")", "]", "}"))
            if depth == 0 and token.word() == "SETTINGS" and token.start < at:
                at = token.start
        return self.head[:at] + f"\nFROM INFILE '{path}' ".encode() + self.head[at:] + f"\nFORMAT {form}".encode()

    @property
    def keeps(self) -> bool:
        """Whether it leaves something behind in its connection."""
        return self.first in ("SET", "USE") or any(token.word() in ("TEMPORARY", "TEMP") for token in self.found)

    @property
    def _inserts(self) -> bool:
        return any(token.word() == "INSERT" for token in self.found)


def parse(sql: bytes) -> Statement:
    """Read a statement, stopping where an INSERT's data begins, so that data is never taken for SQL."""
    found: list[Token] = []
    depth, inserts = 0, False
    for token in tokens(sql):
        symbol = token.text if token.kind is Kind.SYMBOL else ""
        depth += (symbol in ("(", "[", "{")) - (symbol in (")", "]", "}"))
        previous = found[-1].word() if found else ""
        found.append(token)
        word = token.word()
        if depth == 0 and word == "INSERT" and (len(found) == 1 or found[0].word() in ("WITH", "EXPLAIN")):
            inserts = True
        elif inserts and depth == 0 and found[0].word() == "INSERT":
            if word == "VALUES" and previous not in ("FORMAT", "INTO", "TABLE"):
                return Statement(sql[: token.start], found, "Values", token.end)
            if previous == "FORMAT" and token.kind is Kind.WORD:
                return Statement(sql[: found[-2].start], found, token.text, _data_start(sql, token.end))
            if word in ("SELECT", "WITH", "WATCH"):
                inserts = False  # INSERT … SELECT: the rest is a query
    return Statement(sql, found, _answer_format(found), len(sql) if inserts and found[0].word() == "INSERT" else None)


def _answer_format(found: list[Token]) -> str:
    """The name behind the last FORMAT that is a clause: nothing follows it, or `;`, or SETTINGS."""
    for index in range(len(found) - 2, -1, -1):
        if found[index].word() == "FORMAT" and found[index + 1].kind is Kind.WORD:
            following = found[index + 2] if index + 2 < len(found) else None
            if following is None or following.text == ";" or following.word() == "SETTINGS":
                return found[index + 1].text
    return ""


def _data_start(sql: bytes, position: int) -> int:
    """Behind `FORMAT name`: white space up to one line end, or one `;`, belongs to neither (as ClickHouse's parser has it)."""
    while position < len(sql) and sql[position] in b" \t\x0b\x0c":
        position += 1
    if sql.startswith(b";", position):
        position += 1
        while position < len(sql) and sql[position] in b" \t\x0b\x0c":
            position += 1
    if sql.startswith(b"\r\n", position):
        return position + 2
    return position + 1 if sql.startswith(b"\n", position) else position
