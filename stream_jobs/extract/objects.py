"""JSON objects, Python dicts and lists of couples in a line: quoted keys, numbers, NaN words, and what wraps a number.

`np.float64(0.3)`, `tensor(0.3, device='cuda:0')` and `'0.3'` are 0.3. Nested names are joined with ``/``. Lists and other
texts give nothing. A scanner with a stack of its own: no recursion, one pass.
"""

from __future__ import annotations

import json
import re

from stream_jobs.extract import names, numbers
from stream_jobs.extract.numbers import NUMBER
from stream_jobs.extract.reading import Counter, Pair, Reading, Span

_KEY = re.compile(r"""\s*(?:"((?:[^"\\]|\\.)*)"|'((?:[^'\\]|\\.)*)')\s*:\s*""")
_VALUE = re.compile(rf"({NUMBER})(?=[\s}}\])]|,(?![0-9]))")
_QUOTED = re.compile(r"""(["'])([^"'\\]*)\1""")
_COUNTED = re.compile(r"([0-9]+)/([0-9]+)")
_STRING = re.compile(r""""(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'""")
_CALL = re.compile(rf"[A-Za-z_][\w.]*\(\s*\[?\s*({NUMBER}|-?(?:nan|inf))\s*\]?\s*(?:,[^()]*)?\)")
_WORD = re.compile(r"[-+]?[A-Za-z_][\w.]*")
_SPACE = re.compile(r"\s*")
_START = re.compile(r"""\{\s*["']|\[\s*(?=\(\s*["'])""")
_FIRST = re.compile(r"""\s*\(\s*(?:"((?:[^"\\]|\\.)*)"|'((?:[^'\\]|\\.)*)')\s*,\s*""")
_NEXT = re.compile(r"\s*,?\s*\)\s*,?")
_SETTINGS = re.compile(r"(?i)(?:params|parameters|config|configuration|args|arguments|settings)\W{0,3}$")
_DEPTH = 16
_OBJECTS = 8
_TIME_KEYS = {"timestamp", "_timestamp", "@timestamp", "wall_time", "datetime", "date", "asctime", "created", "ts", "time"}


def read(text: str, reading: Reading) -> list[tuple[int, int]]:
    """Read every object of the line; gives back where they stand, so that the rest can be read as text."""
    found: list[tuple[int, int]] = []
    at = 0
    while len(found) < _OBJECTS:
        start = _START.search(text, at)
        if start is None:
            break
        pairs = len(reading.pairs)
        end = (_object if text[start.start()] == "{" else _couples)(text, start.start(), reading)
        if _SETTINGS.search(text, max(start.start() - 40, 0), start.start()):
            del reading.pairs[pairs:]
        found.append((start.start(), end))
        at = end
    return found


def _object(text: str, at: int, reading: Reading) -> int:
    """Read the object that begins at `at`; gives back where reading stopped."""
    prefix: list[str] = []
    opened: list[Span] = []
    at += 1
    while True:
        key = _KEY.match(text, at)
        if key is None:
            at = _SPACE.match(text, at).end()  # type: ignore[union-attr]  # it matches everywhere
            if at < len(text) and text[at] == "}":
                at += 1
                if not prefix:
                    return at
                prefix.pop()
                opened.pop()
            elif at < len(text) and text[at] == ",":
                at += 1
                continue
            else:
                return at
        else:
            at = key.end()
            if at < len(text) and text[at] == "{":
                if len(prefix) >= _DEPTH:
                    return at
                prefix.append(_key_string(key))
                opened.append(_key_span(key))
                at += 1
                continue
            pairs = len(reading.pairs)
            at = _member(text, at, key, prefix, reading)
            if len(reading.pairs) > pairs and isinstance(reading.pairs[-1].name, str):
                reading.loose += [*opened, _key_span(key)]
            if at < 0:
                return -at
        at = _SPACE.match(text, at).end()  # type: ignore[union-attr]  # it matches everywhere
        if at < len(text) and text[at] == ",":
            at += 1


def _couples(text: str, at: int, reading: Reading) -> int:
    """Read `[('loss', 0.5), ('acc', 0.75)]`, as an `OrderedDict` prints; gives back where reading stopped."""
    at += 1
    while (key := _FIRST.match(text, at)) is not None:
        at = _member(text, key.end(), key, [], reading)
        closed = _NEXT.match(text, at) if at >= 0 else None
        if closed is None:
            return abs(at)
        at = closed.end()
    return at + 1 if text[at : at + 1] == "]" else at


def _key_string(key: re.Match[str]) -> str:
    raw = key[1] if key[1] is not None else key[2]
    if "\\" in raw:
        try:
            # Half of a surrogate pair can be written, and is no character: no column takes it.
            return str(json.loads(f'"{raw}"')).encode("utf-8", "replace").decode()
        except ValueError:
            return str(raw)
    return str(raw)


def _key_span(key: re.Match[str]) -> Span:
    return Span(*key.span(1 if key[1] is not None else 2))


def _member(text: str, at: int, key: re.Match[str], prefix: list[str], reading: Reading) -> int:
    """Read one value; gives back where it ends, negative where the object cannot be read on."""
    number = _VALUE.match(text, at)
    if number is not None:
        _take(key, prefix, Span(*number.span(1)), reading)
        return number.end()
    quoted = _QUOTED.match(text, at)
    if quoted is not None:
        value = numbers.word_value(quoted[2])
        if numbers.is_number(quoted[2]):
            _take(key, prefix, Span(*quoted.span(2)), reading)
        elif value is not None:
            _take(key, prefix, value, reading)
        elif (counted := _COUNTED.fullmatch(quoted[2])) is not None:
            _count(_key_string(key).split("/")[0], quoted.start(2), counted, reading)
        elif names.plain(_key_string(key)) in _TIME_KEYS and reading.time is None:
            reading.time = Span(*quoted.span(2))
        return quoted.end()
    string = _STRING.match(text, at)
    if string is not None:
        return string.end()
    call = _CALL.match(text, at)
    if call is not None:
        value = numbers.word_value(call[1])
        _take(key, prefix, Span(*call.span(1)) if value is None else value, reading)
        return call.end()
    word = _WORD.match(text, at)
    if word is not None:
        value = numbers.word_value(word[0])
        if value is not None:
            _take(key, prefix, value, reading)
        end = word.end()
        if end < len(text) and text[end] == "(":
            return _skip(text, end)
        return end
    if at < len(text) and text[at] in "[(":
        return _skip(text, at)
    if at < len(text) and text[at] in "0123456789+-.":
        if names.is_metric(_key_string(key)):
            reading.unparsed += 1
        return _skip_scalar(text, at)
    return -at


_BRACKET = re.compile(r"""[\[\](){}]|"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'""")
_SCALAR = re.compile(r"[^\s,}\])]*")


def _skip_scalar(text: str, at: int) -> int:
    scalar = _SCALAR.match(text, at)
    return scalar.end() if scalar else at


def _skip(text: str, at: int) -> int:
    """Past the bracket that opens at `at`; negative where it is never closed."""
    depth = 0
    for token in _BRACKET.finditer(text, at):
        char = token[0]
        if char in "[({":
            depth += 1
        elif char in "])}":
            depth -= 1
            if depth == 0:
                return token.end()
    return -len(text)


def _count(name: str, at: int, counted: re.Match[str], reading: Reading) -> None:
    """`'global_step/max_steps': '12/94'`."""
    rank = names.step_rank(name)
    if rank is not None:
        done, total = (Span(at + counted.start(i), at + counted.end(i)) for i in (1, 2))
        reading.steps.append(Counter(rank, done, total, name))


def _take(key: re.Match[str], prefix: list[str], value: Span | float, reading: Reading) -> None:
    string = _key_string(key)
    plain = names.plain(string)
    if isinstance(value, Span):
        if names.is_epoch(string):
            reading.epochs.append(Counter(0, value, None, string))
            return
        rank = names.step_rank(string)
        if rank is not None:
            reading.steps.append(Counter(rank, value, None, string))
            return
        if plain in ("total_steps", "total_step", "max_steps") and reading.total is None:
            reading.total = value
            return
        if plain in _TIME_KEYS and plain != "time":
            if reading.time is None:
                reading.time = value
            return
    if names.is_never(string):
        return
    name: Span | str
    name = "/".join([*prefix, string]) if prefix or "\\" in (key[1] or key[2] or "") else _key_span(key)
    if string:
        # {'train': 40000, 'test': 12000}: sizes of the splits
        size = isinstance(value, Span) and key.string[slice(*value)].isdigit() and names.is_split_only(string)
        reading.pairs.append(Pair(name, value, names.is_metric(string) and not size, "dict"))
