"""ClickHouse's tokens, as far as the front needs them: where words, names, strings and comments begin and end.

Source of the rules: ClickHouse's `Lexer.cpp`; a test compares this reader with the engine's own parser. Where the two
could ever differ, this one errs on the side of seeing code: what it cannot place counts as white space, and the two
forms of quoting that nobody needs here (heredocs and typographic quotes) are reported, so that the caller refuses them.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterator
from enum import Enum, auto

_SKIP = re.compile(rb"[\x00-\x20\x7f]+|--[^\n]*|//[^\n]*|#[ !][^\n]*")
_WORD = re.compile(rb"[A-Za-z0-9_][A-Za-z0-9_$]*")
_STRING = re.compile(rb"'(?:[^'\\]|\\.|'')*'?", re.DOTALL)
_BACKTICK = re.compile(rb"`(?:[^`\\]|\\.|``)*`?", re.DOTALL)
_DOUBLE = re.compile(rb'"(?:[^"\\]|\\.|"")*"?', re.DOTALL)
_HEREDOC = re.compile(rb"\$[A-Za-z0-9_]*\$")
_TYPOGRAPHIC = re.compile(rb"\xe2\x80[\x98\x99\x9c\x9d]")


class Kind(Enum):
    WORD = auto()  # keyword, number or bare name
    NAME = auto()  # quoted name
    STRING = auto()
    SYMBOL = auto()  # one other character
    ODD = auto()  # a heredoc's head or a typographic quote: refuse the query


@dataclasses.dataclass(frozen=True, slots=True)
class Token:
    kind: Kind
    start: int
    end: int
    text: str  # of a NAME or STRING: what stands between the quotes, escapes as written

    def word(self) -> str:
        """A keyword in upper case; empty for anything but a bare word."""
        return self.text.upper() if self.kind is Kind.WORD else ""


def names(text: str) -> frozenset[str]:
    """A set of names from a text with blanks between them, in lower case."""
    return frozenset(text.lower().split())


def tokens(sql: bytes, start: int = 0) -> Iterator[Token]:
    """Lazily, so that the data behind an INSERT's head is never read as SQL."""
    position, size = start, len(sql)
    while position < size:
        if skipped := _SKIP.match(sql, position):
            position = skipped.end()
        elif sql.startswith(b"/*", position):
            position = _comment_end(sql, position)
        elif found := _WORD.match(sql, position):
            yield Token(Kind.WORD, position, found.end(), found[0].decode("ascii"))
            position = found.end()
        elif (quoted := _quoted(sql, position)) is not None:
            yield quoted
            position = quoted.end
        elif sql[position] >= 0x80 and not _TYPOGRAPHIC.match(sql, position):
            position += 1
        else:
            odd = _HEREDOC.match(sql, position) or _TYPOGRAPHIC.match(sql, position)
            end = odd.end() if odd else position + 1
            yield Token(Kind.ODD if odd else Kind.SYMBOL, position, end, sql[position:end].decode("utf-8", "replace"))
            position = end


def _quoted(sql: bytes, position: int) -> Token | None:
    for first, pattern, kind in ((0x27, _STRING, Kind.STRING), (0x60, _BACKTICK, Kind.NAME), (0x22, _DOUBLE, Kind.NAME)):
        if sql[position] == first:
            found = pattern.match(sql, position)
            assert found is not None  # noqa: S101  # each pattern matches at least its first character
            return Token(kind, position, found.end(), sql[position + 1 : found.end() - 1].decode("utf-8", "replace"))
    return None


def _comment_end(sql: bytes, position: int) -> int:
    """Behind a comment, which may hold others; an open one ends the text (the engine refuses it)."""
    depth = 0
    for found in re.compile(rb"/\*|\*/").finditer(sql, position):
        depth += 1 if found[0] == b"/*" else -1
        if not depth:
            return found.end()
    return len(sql)
