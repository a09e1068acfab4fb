"""The shape of a text: what is left when its numbers are put aside.

Training logs repeat their lines with other numbers. What a line says (which numbers are metrics of which name) is read
from its shape alone, once, and kept; a line of a known shape is read by one regular expression. In a shape an integer is
``1``, a number with a dot or an exponent ``1.1``, a run of blanks two blanks. Numbers that are part of a name
(`top5_acc`) stay as they are. As the grammar never sees the digits, keeping its result cannot change it.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from dataclasses import dataclass

_PIECES = re.compile(r"([0-9]+(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?| {2,})")
INTEGER = "[0-9]+"
FLOAT = r"[0-9]+(?:\.[0-9]+(?:[eE][-+]?[0-9]+)?|[eE][-+]?[0-9]+)"
# Around a comma the number of digits decides whether it separates thousands, so it is part of the shape.
_LONG, _SHORT, _GROUP, _OTHER = "[0-9]{4,}", "[0-9]{1,3}", "[0-9]{3}", "(?:[0-9]{1,2}|[0-9]{4,})"
_EXPONENT = r"[0-9]+(?:\.[0-9]+)?[eE][-+]?[0-9]+"
_GROUP_FLOAT = r"[0-9]{3}(?:\.[0-9]+(?:[eE][-+]?[0-9]+)?|[eE][-+]?[0-9]+)"


@dataclass(slots=True)
class Shape:
    """A text cut into literal pieces (even places) and numbers or blanks (odd places), and its canonical form."""

    parts: list[str]
    canonical: list[str]  # of each part
    sources: list[str]  # regular expression of each odd part

    def text(self, literal: frozenset[int] = frozenset()) -> str:
        """The canonical text, in which the parts named in `literal` stay as they are."""
        if not literal:
            return "".join(self.canonical)
        return "".join(
            part if i in literal else canon for i, (part, canon) in enumerate(zip(self.parts, self.canonical, strict=True))
        )

    def starts(self, literal: frozenset[int]) -> tuple[list[int], list[int]]:
        """Where each part begins in the canonical text and in the text itself."""
        shaped, real = [0], [0]
        for i, part in enumerate(self.parts):
            shaped.append(shaped[-1] + len(part if i in literal else self.canonical[i]))
            real.append(real[-1] + len(part))
        return shaped, real


def shape(text: str) -> Shape:
    parts = _PIECES.split(text)
    canonical, sources = parts.copy(), [""] * len(parts)
    for i in range(1, len(parts), 2):
        part = parts[i]
        if part[0] == " ":
            canonical[i], sources[i] = "  ", " {2,}"
            continue
        exact = part.isdigit()
        canonical[i], sources[i] = ("1", INTEGER) if exact else ("1.1", FLOAT)
        if parts[i + 1][:1] in ("e", "E") and ("e" in part or "E" in part):  # 1e5e5: its shape must be no number either
            canonical[i], sources[i] = "1e1", _EXPONENT
        if parts[i - 1] == "," and i > 1 and parts[i - 2] and parts[i - 2][0] != " ":
            digits = len(part) if exact else len(re.match(INTEGER, part)[0])  # type: ignore[index]  # it begins with one
            if digits == 3:
                canonical[i], sources[i] = ("111", _GROUP) if exact else ("111.1", _GROUP_FLOAT)
            elif exact:
                canonical[i], sources[i] = "1", _OTHER
            if parts[i - 2].isdigit():
                before = canonical[i - 2]
                if before == "1":
                    canonical[i - 2], sources[i - 2] = ("1", _SHORT) if len(parts[i - 2]) <= 3 else ("1111", _LONG)
    return Shape(parts, canonical, sources)


def touched(shaped: list[int], start: int, end: int) -> range:
    """The parts that a span of the canonical text touches."""
    return range(bisect_right(shaped, start) - 1, bisect_right(shaped, end - 1))


def locate(shaped: list[int], real: list[int], at: int) -> int:
    """Where a place in the canonical text is in the text itself. Inside a number only its first and last place are asked."""
    i = bisect_right(shaped, at) - 1
    if i >= len(real) - 1:
        return real[-1]
    return real[i] + min(at - shaped[i], real[i + 1] - real[i])
