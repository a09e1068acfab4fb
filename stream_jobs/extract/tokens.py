"""A line's text as tokens: words, numbers, counters (`3/10`), opaque clumps, punctuation. One pass, linear time."""

from __future__ import annotations

import re
from typing import NamedTuple

from stream_jobs.extract.numbers import NUMBER, is_unit

WORD, NUM, COUNTER, OPAQUE, PUNCT = "word", "number", "counter", "opaque", "punct"


class Token(NamedTuple):
    """`start`, `end`: of the word, or of the number without its unit. `space`: 0 none, 1 one blank, 2 more or a tab before it."""

    kind: str
    start: int
    end: int
    space: int
    text: str  # a word or punctuation as it stands; of a number its unit; of a counter ""
    total: tuple[int, int] = (0, 0)  # of a counter: where its total stands


_BLANK = re.compile(r"[^\S\n]+")
_NUMBER = re.compile(NUMBER)
_TAIL = re.compile(r"[^\s,;|=()\[\]{}<>\"'•]*")
_WORD = re.compile(r"[^\W\d][^\s,;|=:()\[\]{}<>\"•]*")
_COUNTER = re.compile(r"\s*/\s*([0-9][0-9,]*)(?![\w/-]|[.:][0-9])")
_SPREAD = re.compile(r"[+±]" + NUMBER)
_UNIT = re.compile(r"%|[A-Za-zµμ]+(?:/[A-Za-z]+)*|(?:/[A-Za-z]+)+")
_NUMBER_FIRST = re.compile(r"[0-9]{1,4}_[A-Za-z]\w*(?=\s*[=:]\s)")  # a name: `0_f_rmse = 0.5`
_NUMBERED = re.compile(r"(?i)(?:epoch|step|iter|iteration|batch|round|trial|episode)\s?#$")
_GLUE = "/#@$^&\\?*"  # directly before a number: it is part of something else


def tokenize(text: str) -> list[Token]:
    tokens: list[Token] = []
    at, end, space, depth = 0, len(text), 2, 0  # depth: of square and round brackets, where commas separate numbers
    while at < end:
        char = text[at]
        if char.isspace():
            blank = _BLANK.match(text, at)
            stop = blank.end() if blank else at + 1
            space = 1 if stop - at == 1 and char != "\t" else 2
            at = stop
            continue
        number = _NUMBER.match(text, at) if char in "0123456789.+-" else None
        named = _NUMBER_FIRST.match(text, at) if number is not None and space else None
        if named is not None:
            tokens.append(Token(WORD, at, named.end(), space, named[0]))
            at = named.end()
        elif number is not None:
            token, at = _number(text, number, space, depth > 0)
            tokens.append(token)
        elif char == "_" or char.isalpha():
            word = _WORD.match(text, at)
            stop = word.end() if word else at + 1
            body = text[at:stop].rstrip(".'’!?*+-/…~") or char
            tokens.append(Token(WORD, at, at + len(body), space, body))
            at = stop
        else:
            depth += (char in "[(") - (char in "])" and depth > 0)
            tokens.append(Token(PUNCT, at, at + 1, space, char))
            at += 1
        space = 0
    return tokens


def _number(text: str, number: re.Match[str], space: int, listed: bool) -> tuple[Token, int]:
    """The token that begins with this number, and where the text goes on."""
    start, end = number.span()
    before = text[start - 1] if start and not space else " "
    if before == "#" and _NUMBERED.search(text, max(start - 12, 0), start):  # Epoch #3
        before = " "
    if before in _GLUE or before.isalnum() or before == "_":
        return _opaque(text, start, end, space)
    if text[end : end + 1] == "," and text[end + 1 : end + 2].isdigit() and not listed:  # 1,2: neither one number nor two
        return _opaque(text, start, end + 2, space)
    counter = _COUNTER.match(text, end)
    if counter is not None and "." not in number[0]:
        return Token(COUNTER, start, end, space, "", counter.span(1)), counter.end()
    tail = _TAIL.match(text, end)
    rest = tail[0] if tail else ""
    if rest.strip(".:…") == "" and not (rest[:1] == ":" and rest != ":"):
        return Token(NUM, start, end, space, ""), end + len(rest.rstrip(":"))
    if rest[0] == ":" and not rest[1].isdigit():
        return Token(NUM, start, end, space, ""), end
    spread = _SPREAD.match(text, end)
    if spread is not None and spread.end() == end + len(rest):
        return Token(NUM, start, end, space, ""), spread.end()
    unit = _UNIT.match(rest)
    if unit is not None:
        left = rest[unit.end() :]
        followed = text[end + len(rest) : end + len(rest) + 1]
        if rest[0] == "/" and (followed == "=" or left[:1] == ":"):  # epoch=0/micro_step=10
            return Token(NUM, start, end, space, ""), end
        if left.strip(".:") == "" and is_unit(unit[0]):
            return Token(NUM, start, end, space, unit[0]), end + unit.end()
    return _opaque(text, start, end, space)


def _opaque(text: str, start: int, end: int, space: int) -> tuple[Token, int]:
    tail = _TAIL.match(text, end)
    stop = tail.end() if tail else end
    if text[stop - 1] == ":" and stop - 1 > end:
        stop -= 1
    return Token(OPAQUE, start, stop, space, text[start:stop]), stop
