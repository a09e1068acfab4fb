r"""A task's own patterns, checked when they enter: bounded in time and in output.

A regular expression names what it finds by groups: ``value`` (with ``name``, or every other group is a metric of its own
name), ``step``, ``epoch``. ``json value=path.to.value step=iteration`` takes members of a JSON line instead.

A pattern is refused when it could cost more than linear time: a repeat without a small bound must be of single characters
none of which may follow it (``[^=]*=`` is fine, ``.*=`` is not), so that there is one way to match it; branches and
optional parts whose first character does not decide are few, and never inside a repeat; there are no back-references and
no looking around. It sees at most `LINE` characters of a line and finds at most `FOUND` matches: with `WAYS` ways to try
from each of them, the worst pattern takes some milliseconds for the worst line.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import lru_cache
from re import _constants as sre  # type: ignore[attr-defined]  # the parse tree has no public name
from re import _parser as sre_parser  # type: ignore[attr-defined]
from typing import Any

LINE = 1024  # characters of a line that a regular expression sees
FOUND = 100
MOST = 8  # patterns of a file
WAYS = 8  # ways to match from one place, over all branches and optional parts that the first character does not decide
_LENGTH = 1000
_SMALL = 32  # a repeat up to this often is bounded
_LATIN = 256  # the characters told apart; beyond them stand four for all spaces, digits, letters and the rest
_SPACES, _DIGITS, _LETTERS, _REST = range(_LATIN, _LATIN + 4)
_BEYOND = frozenset({_SPACES, _DIGITS, _LETTERS, _REST})
_ALL = frozenset(range(_LATIN)) | _BEYOND
_FIELDS = re.compile(r"(name|value|step|epoch)=(\S+)")
_RESERVED = {"name", "value", "step", "epoch"}


class PatternError(ValueError):
    """The pattern is refused; the message says why and what to write instead."""


@dataclass(frozen=True, slots=True)
class Pattern:
    """One checked pattern; `text` is what the task gave."""

    text: str
    regex: re.Pattern[str] | None = field(default=None, compare=False)
    members: tuple[tuple[str, tuple[str, ...]], ...] = ()  # of JSON: what, and the path to it

    @classmethod
    def of(cls, text: str) -> Pattern:
        """The pattern that `text` says. Raises `PatternError`."""
        if len(text) > _LENGTH:
            raise PatternError(f"a pattern has at most {_LENGTH} characters, this one has {len(text)}")
        if text.startswith("json "):
            found = tuple((what, tuple(path.split("."))) for what, path in _FIELDS.findall(text))
            if not any(what == "value" for what, _ in found):
                raise PatternError("a JSON pattern names its value: `json value=path.to.it step=path.to.step`")
            return cls(text, None, found)
        try:
            tree = sre_parser.parse(text)
            regex = re.compile(text)
        except (re.error, RecursionError, OverflowError) as error:
            raise PatternError(f"this is no regular expression: {error}") from error
        if not set(regex.groupindex) - {"name", "step", "epoch"}:
            raise PatternError("a pattern needs a group that finds a number: (?P<value>…) with (?P<name>…), or (?P<loss>…)")
        _Check().items(list(tree), frozenset(), False)
        return cls(text, regex)


@lru_cache(1024)
def checked(text: str) -> Pattern | str:
    """The pattern, or why it is refused."""
    try:
        return Pattern.of(text)
    except PatternError as error:
        return str(error)


def sifted(said: object) -> tuple[tuple[str, ...], list[tuple[str, str]]]:
    """(Patterns that can be used, those that cannot with the reason), of a list of texts, or of whatever stands in its place."""
    if not isinstance(said, list | tuple) or not all(isinstance(text, str) for text in said):
        return (), [(str(said)[:_LENGTH], "patterns are a list of texts")]
    refused = [(text[:_LENGTH], why) for text in said[:MOST] if isinstance(why := checked(text), str)]
    refused += [(text[:_LENGTH], f"a file has at most {MOST} patterns") for text in said[MOST:]]
    return tuple(text for text in said[:MOST] if isinstance(checked(text), Pattern)), refused


def usable(texts: Iterable[str]) -> tuple[Pattern, ...]:
    """The patterns of texts that were sifted."""
    return tuple(pattern for pattern in map(checked, texts) if isinstance(pattern, Pattern))


class _Check:
    """Raises `PatternError` where items could be matched in too many ways. `follow` is what may come after them."""

    def __init__(self) -> None:
        self.ways = 1

    def items(self, items: list[Any], follow: frozenset[int], repeated: bool) -> None:
        kinds = {kind for kind, _ in items}
        if kinds & {sre.GROUPREF, sre.GROUPREF_EXISTS}:
            raise PatternError("back-references are refused: their time cannot be bounded")
        if kinds & {sre.ASSERT, sre.ASSERT_NOT}:
            raise PatternError("looking ahead or behind is refused; match the text around the number instead")
        for place, (kind, argument) in enumerate(items):
            after = _first(items[place + 1 :], follow)
            if kind is sre.SUBPATTERN:
                self.items(list(argument[3]), after, repeated)
            elif kind is sre.BRANCH:
                self.branch([list(branch) for branch in argument[1]], after, repeated)
            elif kind in (sre.MAX_REPEAT, sre.MIN_REPEAT, sre.POSSESSIVE_REPEAT):
                self.repeat(argument, after, repeated)
            elif kind is sre.ATOMIC_GROUP:
                self.items(list(argument), after, repeated)

    def branch(self, branches: list[list[Any]], after: frozenset[int], repeated: bool) -> None:
        firsts = [_folded(_first(branch, after)) for branch in branches]
        if len(frozenset().union(*firsts)) != sum(map(len, firsts)):
            self.undecided(len(branches), repeated)
        for branch in branches:
            self.items(branch, after, repeated)

    def repeat(self, argument: Any, after: frozenset[int], repeated: bool) -> None:
        least, most, inner = argument
        inner = list(inner)
        single = _single(inner)
        if most == 1:
            if least != most and _folded(_first(inner, frozenset())) & _folded(after):
                self.undecided(2, repeated)
            self.items(inner, after, repeated)
        elif single is None:
            if repeated or most > _SMALL:
                raise PatternError(f"a repeated group is refused unless it is bounded, such as {{0,{_SMALL}}}, and in no other")
            begins = _first(inner, frozenset())
            if _may_be_empty(inner) or (least != most and _folded(begins) & _folded(after)):
                raise PatternError("what a repeated group begins with may also follow it, or it may be empty: say where it stops")
            self.items(inner, begins | after, True)
        elif least != most and _folded(single) & _folded(after):
            raise PatternError("what a repeat matches may also follow it, as in `.*`; say what it stops at, as in `[^=]*=`")

    def undecided(self, ways: int, repeated: bool) -> None:
        self.ways *= ways
        if repeated or self.ways > WAYS:
            raise PatternError("too many ways to match: let the first character of each branch and optional part say which it is")


def _folded(characters: frozenset[int]) -> frozenset[int]:
    """Capitals as small letters: a pattern may ignore case."""
    return frozenset(code + 32 if 65 <= code <= 90 else code for code in characters)


def _single(items: list[Any]) -> frozenset[int] | None:
    """The characters of one item that matches one character; None for anything else."""
    if len(items) != 1:
        return None
    kind, argument = items[0]
    if kind is sre.SUBPATTERN:
        return _single(list(argument[3]))
    return _characters(kind, argument)


def _characters(kind: Any, argument: Any) -> frozenset[int] | None:
    if kind is sre.ANY:
        return _ALL - {10}
    if kind is sre.LITERAL:
        return frozenset({_stand_in(argument)})
    if kind is sre.NOT_LITERAL:
        return _ALL - {argument} if argument < _LATIN else _ALL
    if kind is sre.IN:
        return _class(argument)
    return None


def _class(members: list[Any]) -> frozenset[int]:
    negated = bool(members) and members[0][0] is sre.NEGATE
    found: set[int] = set()
    for kind, argument in members:
        if kind is sre.LITERAL:
            found.add(_stand_in(argument))
        elif kind is sre.RANGE:
            found.update(range(argument[0], min(argument[1] + 1, _LATIN)))
            found |= _BEYOND if argument[1] >= _LATIN else frozenset()
        elif kind is sre.CATEGORY:
            found |= _CATEGORIES.get(argument, _ALL)
    if not negated:
        return frozenset(found)
    return (_ALL - found) | _BEYOND


def _stand_in(code: int) -> int:
    if code < _LATIN:
        return code
    char = chr(code)
    return _SPACES if char.isspace() else _DIGITS if char.isdigit() else _LETTERS if char.isalnum() else _REST


_SPACE = frozenset(i for i in range(_LATIN) if chr(i).isspace()) | {_SPACES}
_DIGIT = frozenset(i for i in range(_LATIN) if chr(i).isdecimal()) | {_DIGITS}
_WORD = frozenset(i for i in range(_LATIN) if chr(i).isalnum() or chr(i) == "_") | {_DIGITS, _LETTERS}
_CATEGORIES = {
    sre.CATEGORY_SPACE: _SPACE,
    sre.CATEGORY_DIGIT: _DIGIT,
    sre.CATEGORY_WORD: _WORD,
    sre.CATEGORY_NOT_SPACE: _ALL - _SPACE,
    sre.CATEGORY_NOT_DIGIT: _ALL - _DIGIT,
    sre.CATEGORY_NOT_WORD: _ALL - _WORD,
}


def _first(items: list[Any], follow: frozenset[int]) -> frozenset[int]:
    """The characters that may come first in what the items match, or after them where they may match nothing."""
    found: frozenset[int] = frozenset()
    for kind, argument in items:
        if kind is sre.AT:
            continue
        if kind is sre.SUBPATTERN:
            inner, empty = _first(list(argument[3]), frozenset()), _may_be_empty(list(argument[3]))
        elif kind is sre.BRANCH:
            inner = frozenset().union(*(_first(list(branch), frozenset()) for branch in argument[1]))
            empty = any(_may_be_empty(list(branch)) for branch in argument[1])
        elif kind in (sre.MAX_REPEAT, sre.MIN_REPEAT, sre.POSSESSIVE_REPEAT):
            inner = _first(list(argument[2]), frozenset())
            empty = argument[0] == 0 or _may_be_empty(list(argument[2]))
        elif kind is sre.ATOMIC_GROUP:
            inner, empty = _first(list(argument), frozenset()), _may_be_empty(list(argument))
        else:
            characters = _characters(kind, argument)
            inner, empty = (characters, False) if characters is not None else (_ALL, True)
        found |= inner
        if not empty:
            return found
    return found | follow


def _may_be_empty(items: list[Any]) -> bool:
    low, _ = sre_parser.SubPattern(sre_parser.State(), items).getwidth()
    return bool(low == 0)
