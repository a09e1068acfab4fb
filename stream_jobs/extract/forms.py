"""Forms of lines: what those of one shape give, and the regular expressions that read it from a line."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from operator import itemgetter

from stream_jobs.extract import bulk, tables
from stream_jobs.extract.prefixes import Prefix
from stream_jobs.extract.reading import Reading, Span
from stream_jobs.extract.shapes import Shape, shape

_DIGIT = re.compile("[0-9]")
# A body that begins with, or soon holds, what might be a time stamp if it had other digits.
_LEAD = 64
_STAMP_LIKE = re.compile(r"[0-9]+[-/.][0-9]+[-/.][0-9]+|[0-9]+:[0-9]+:[0-9]+|[0-9]{4,}[-/.][0-9]+")
_LONG_START = re.compile(r"[\[(\s]*[0-9]{9}")
_LONG_RUN = re.compile("[0-9]{24}")  # pushes what has the shape of a stamp out of sight
_GOES_ON = re.compile(r"[,.:/+-]\s?[0-9]")  # as the rest of a stamp would
_NO_LONG_START = r"(?![\[(\s]*[0-9]{9})"
_PREFIXES = 256  # forms of prefixes kept of one plan


@dataclass(slots=True)
class Take:
    """The pairs to take from a line of this shape, in a file whose training has begun, or not yet."""

    names: tuple[str, ...] = ()
    slots: tuple[int, ...] = ()  # place in the line's strings; -1: the constant beside it
    constants: tuple[float, ...] = ()
    special: bool = False  # some values are constants
    pick: Callable[[Sequence[str]], Sequence[str]] = tuple  # the values among the line's strings
    cut: int = 0  # how many there were, where there were too many


@dataclass(slots=True)
class Plan:
    spans: tuple[Span, ...] = ()  # in the canonical text, ascending: what is read from a line, its strings
    commas: bool = False  # strings may hold thousands commas
    step: int = -1
    epoch: int = -1
    done: int = -1
    total: int = -1
    time: int = -1
    unit: str = "step"  # of the progress
    within: bool = False  # a bar: its progress is the epoch's where epochs are counted
    headed: bool = False  # counts epochs in words
    evidence: bool = False  # the line itself says where the training is
    source: str = "pairs"
    unparsed: int = 0
    always: Take = field(default_factory=Take)
    started: Take = field(default_factory=Take)
    opens: tables.Table | None = None
    row: bool = False  # of the table that is open
    dump: bool = False  # opens a dump over several lines
    list: int = 0  # opens (1) or closes (-1) a list of objects over several lines
    happening: str | None = None
    reading: Reading | None = None
    regex: str = ""  # of the body
    uses: int = 0
    simple: bool = False  # it gives points and counters, nothing else
    table: tables.Table | None = None  # that was open
    lines: dict[str, Line] = field(default_factory=dict)  # by the form of the prefix
    literal: frozenset[int] = frozenset()


@dataclass(slots=True, eq=False)
class Line:
    """A whole line of one form: its prefix and its body's plan, and the regular expression that matches it."""

    plan: Plan
    stream: str
    level: str
    stamped: bool  # the first group is the time stamp
    match: Callable[[str], re.Match[str] | None]
    form: bulk.Form | None = None  # for runs of it
    step: int = -1  # group of the step, of the epoch
    epoch: int = -1
    quick: bool = False  # gives points and counters, nothing else, outside tables
    always: Callable[[Sequence[str]], Sequence[str]] = tuple  # the values among the groups
    started: Callable[[Sequence[str]], Sequence[str]] = tuple
    follow: Line | None = None  # the form that came after this one when it was last seen: worth a guess
    follows: dict[Line | None, Line] = field(default_factory=dict)  # and after the one before and this one


def line_for(plan: Plan, text: str, prefix: Prefix) -> Line:
    """The form of a line that has this prefix and this plan."""
    source, body = _prefix_source(text, prefix), text[prefix.end :]
    head = body[:_LEAD]
    exact = bool(_STAMP_LIKE.search(head) or _LONG_RUN.search(head) or _LONG_START.match(body) or _GOES_ON.match(body))
    # How many digits stand there decides whether it is part of the prefix.
    key = source + (regex(shape(body), plan.literal, plan.spans, _LEAD) if exact else _NO_LONG_START + plan.regex)
    line = plan.lines.get(key)
    if line is None:
        if len(plan.lines) >= _PREFIXES:
            plan.lines.clear()
        match = re.compile(key).fullmatch
        head, stamp = text[: prefix.end], prefix.stamp
        rest = head if stamp is None else head[stamp[1] :]
        form = None
        if plan.simple and not exact and _DIGIT.search(rest) is None and prefix.level not in ("WARNING", "WARN"):
            bare = _prefix_source(text, prefix, "(?:") + ("" if body[0].isalpha() else _NO_LONG_START)
            form = bulk.form_of(head, bare, stamp, shape(body), plan.literal, plan.spans)
        line = plan.lines[key] = Line(plan, prefix.stream, prefix.level, prefix.stamp is not None, match, form)
        if plan.simple and plan.table is None and prefix.level not in ("WARNING", "WARN"):
            behind = int(line.stamped)  # the stamp's group comes first
            line.quick = True
            line.step = plan.step + behind if plan.step >= 0 else -1
            line.epoch = plan.epoch + behind if plan.epoch >= 0 else -1
            line.always = picker(tuple(slot + behind for slot in plan.always.slots))
            line.started = picker(tuple(slot + behind for slot in plan.started.slots))
    return line


def _prefix_source(text: str, prefix: Prefix, group: str = "(") -> str:
    """A regular expression for prefixes of this form: the same words, a time stamp of the same digits, other numbers."""
    stamp = prefix.stamp
    if stamp is None:
        return _loose(text[: prefix.end], prefix.stream)
    head, middle, tail = text[: stamp[0]], text[slice(*stamp)], text[stamp[1] : prefix.end]
    first = middle[:1] if middle.replace(".", "").isdigit() else ""  # a moment in seconds begins with 1
    stamped = first + _DIGIT.sub("[0-9]", re.escape(middle[len(first) :]))
    return f"{_loose(head, prefix.stream)}{group}{stamped}){_loose(tail, prefix.stream)}"


def _loose(text: str, stream: str) -> str:
    """The same words and as many digits: how many there are may decide what a prefix is."""
    escaped = re.escape(text)
    return escaped if stream else _DIGIT.sub("[0-9]", escaped)  # a stream's digits say who wrote the line


def picker(slots: tuple[int, ...]) -> Callable[[Sequence[str]], Sequence[str]]:
    if slots and slots == tuple(range(slots[0], slots[0] + len(slots))):
        return itemgetter(slice(slots[0], slots[0] + len(slots)))
    return itemgetter(*slots) if len(slots) > 1 else _nothing


def _nothing(_: Sequence[str]) -> Sequence[str]:
    return ()


def regex(form: Shape, literal: frozenset[int], spans: tuple[Span, ...], exact: int = 0) -> str:
    """A regular expression that matches the texts of this shape, with a group for each span.

    Numbers and blanks that begin in the first `exact` characters have as many digits and blanks as here.
    """
    shaped, real = form.starts(literal)
    opens, closes = {span.start for span in spans}, {span.end for span in spans}
    out: list[str] = []
    for i, canonical in enumerate(form.canonical):
        at = shaped[i]
        if i % 2 and i not in literal:
            source = form.sources[i] if real[i] >= exact else _DIGIT.sub("[0-9]", re.escape(form.parts[i]))
            out.append(("(" if at in opens else "") + source + (")" if shaped[i + 1] in closes else ""))
            continue
        part = form.parts[i] if i in literal else canonical
        for k, char in enumerate(part):
            if at + k in opens:
                out.append("(")
            out.append(re.escape(char))
            if at + k + 1 in closes:
                out.append(")")
    return "".join(out)
