"""Runs of lines of one form, read at once.

One regular expression, the form's own, repeated, says how many of the lines that follow have the form. Of those the text
between the numbers is known; it is turned into commas byte by byte, and what is left is one JSON array of all numbers.
How each form's text becomes commas is tried on made-up lines when the form is learned, and given up where it fails.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import orjson

from stream_jobs.extract.reading import Span
from stream_jobs.extract.shapes import FLOAT, INTEGER, Shape

WINDOW = 2048  # lines looked at once
FIRST = 16  # and at first
LEAST = 3  # lines of one form in a row before a run is tried
_NUMERIC = frozenset(b"0123456789.eE+-")
WHOLE = "[0-9]{1,18}+"  # what JSON reads as an int of 64 bits
_CLASSES: dict[str, tuple[str, type]] = {
    INTEGER: (WHOLE, int),
    FLOAT: (r"[0-9]++(?:\.[0-9]++(?:[eE][-+]?[0-9]++)?+|[eE][-+]?[0-9]++)", float),
}
_ANY_FLOAT = "[0-9]++[.eE][0-9.eE+-]*+"  # what of this is no number is no JSON either; quicker to match
_SAMPLES = {int: ("7", "40"), float: ("0.25", "1.5e-05"), object: ("-7", "1.5e-05")}


@dataclass(frozen=True, slots=True)
class Form:
    lines: re.Pattern[str]  # any number of whole lines of the form
    stamp: tuple[int, int] | None  # where each line's time stamp stands
    table: bytes  # of bytes.translate
    delete: bytes
    before: tuple[tuple[bytes, bytes], ...]  # texts to replace first
    after: tuple[tuple[bytes, bytes], ...]  # and last
    kinds: tuple[type, ...]  # of each number of a line: int, float, or object for either
    columns: tuple[int, ...]  # of each of the plan's strings: which number it is
    ends: tuple[str, str]  # put before the first and behind the last line, so that every line is between the same texts


def form_of(
    head: str,
    head_source: str,
    stamp: tuple[int, int] | None,
    shape: Shape,
    literal: frozenset[int],
    spans: tuple[Span, ...],
) -> Form | None:
    """The form of lines of this shape behind `head`; None where it cannot be read so.

    `head` has no digits outside its stamp; `head_source` is the regular expression for it.
    """
    shaped, _ = shape.starts(literal)
    kinds: list[type] = []
    texts, sources = [head[stamp[1] :] if stamp else head], [head_source]
    columns: dict[int, int] = {}
    padded: set[int] = set()  # texts that hold a run of blanks of any length
    ends = {span.end: i for i, span in enumerate(spans)}
    for i, part in enumerate(shape.parts):
        if i % 2 and i not in literal and part[0] != " ":
            if shape.sources[i] not in _CLASSES:
                return None
            source, kind = _CLASSES[shape.sources[i]]
            place = ends.get(shaped[i + 1])
            if place is not None:
                columns[place] = len(kinds)
                if shaped[i] - spans[place].start not in (0, 1):
                    return None
                if shaped[i] > spans[place].start:
                    if not texts[-1].endswith("-"):
                        return None
                    texts[-1] = texts[-1][:-1]
            follows = shape.parts[i + 1][:1]
            sources.append(_ANY_FLOAT if kind is float and follows not in set(".eE+-") else source)
            kinds.append(kind)
            texts.append("")
        else:
            sources.append(shape.sources[i].replace("}", "}+") if i % 2 and i not in literal else re.escape(part))
            texts[-1] += "  " if i % 2 and i not in literal else part
            if i % 2 and i not in literal:
                padded.add(len(texts) - 1)
    if len(columns) != len(spans) or not kinds:
        return None
    lines = re.compile(f"(?:{''.join(sources)}\n)*+")
    return tried(lines, stamp, texts, padded, tuple(kinds), tuple(columns[i] for i in range(len(spans))))


def tried(
    lines: re.Pattern[str],
    stamp: tuple[int, int] | None,
    texts: list[str],
    padded: set[int],
    kinds: tuple[type, ...],
    columns: tuple[int, ...],
) -> Form | None:
    """The form whose way to commas works, or None."""
    between = [text.encode() for text in texts[1:-1]]
    joint = f"{texts[-1]}\n{texts[0]}".encode()
    wanted = {*between, joint}
    flexible = {texts[i].encode() if 0 < i < len(texts) - 1 else joint for i in padded}
    comma = _comma(between, joint)
    commas = {comma} if joint.count(comma) == 1 else {comma, ord("\n")}
    delete = frozenset(b"".join(wanted)) - _NUMERIC - commas
    table = bytearray(range(256))
    for byte in commas:
        table[byte] = ord(",")
    blank = b" " if ord(" ") not in commas else b"\t"  # JSON reads over it; texts of the same length are replaced in place
    before: list[tuple[bytes, bytes]] = []
    after: set[tuple[bytes, bytes]] = set()
    for text in wanted:
        left = bytes(table[byte] for byte in text if byte not in delete)
        if left == b",":
            continue
        if left == b",," or (left.count(b",") == 1 and left.strip(b"eE,") == b"" and left.startswith(b",")):
            after.add((left, b",".ljust(len(left))))
        elif text in flexible:
            return None
        else:
            before.append((text, bytes([comma]).ljust(len(text), blank)))
    before.sort(key=lambda pair: -len(pair[0]))
    form = Form(
        lines,
        stamp,
        bytes(table),
        bytes(delete),
        tuple(before),
        tuple(sorted(after, reverse=True)),
        kinds,
        columns,
        (f"{texts[-1]}\n", f"\n{texts[0]}"),
    )
    return form if _works(form, texts) else None


def _comma(between: list[bytes], joint: bytes) -> int:
    """The byte that stands once in most of the texts between numbers, best not in the one over the end of a line."""
    once = {byte: sum(text.count(byte) == 1 for text in between) for byte in set(b"".join(between)) - _NUMERIC}
    return max(once, key=lambda byte: (once[byte], byte not in joint), default=ord("\n"))


def _works(form: Form, texts: list[str]) -> bool:
    """Made-up lines with two kinds of each number are read right."""
    made: list[str] = []
    expected: list[float] = []
    for turn in range(4):
        numbers = [_SAMPLES[kind][(turn >> (place % 2)) & 1] for place, kind in enumerate(form.kinds)]
        made.append("".join(text + number for text, number in zip(texts, [*numbers, ""], strict=True)))
        expected += [float(number) for number in numbers]
    return read(replace(form, stamp=None), made) == expected


def fitting(form: Form, lines: list[str]) -> int:
    """How many of the lines, from the first on, have the form."""
    joined = "\n".join(lines) + "\n"
    found = form.lines.match(joined)
    end = found.end() if found is not None else 0
    return len(lines) if end == len(joined) else joined.count("\n", 0, end)


def read(form: Form, lines: list[str]) -> list[float] | None:
    """All numbers of lines that have the form, one line after the other; None where JSON knows no such number."""
    stamp = form.stamp
    if stamp is not None:
        lines = [line[stamp[1] :] for line in lines]
    data = "\n".join(lines).join(form.ends).encode()
    for old, new in form.before:
        data = data.replace(old, new)
    data = data.translate(form.table, form.delete)
    for old, new in form.after:
        data = data.replace(old, new)
    try:
        flat: list[float] = orjson.loads(b"[" + data.strip(b", \t\n") + b"]")
    except ValueError:
        return None
    return flat if len(flat) == len(form.kinds) * len(lines) else None


def kept(form: Form, flat: list[float], places: Sequence[int]) -> list[float]:
    """The numbers at these places of each line, as floats, one line after the other. `flat` is used up."""
    width, most = len(form.kinds), len(places)
    if all(a < b for a, b in pairwise(places)):
        for place in reversed(range(width)):
            if place not in places:
                del flat[place::width]
                width -= 1
        values = flat
    else:
        values = [0.0] * (len(flat) // width * most)
        for at, place in enumerate(places):
            values[at::most] = flat[place::width]
    kinds = [form.kinds[place] for place in places]
    if float not in kinds:
        return list(map(float, values))
    for at, kind in enumerate(kinds):
        if kind is not float:
            values[at::most] = map(float, values[at::most])
    return values
