"""Looking at the tokens around a place."""

from __future__ import annotations

import re

from stream_jobs.extract import names, numbers
from stream_jobs.extract.reading import Span
from stream_jobs.extract.tokens import NUM, OPAQUE, PUNCT, WORD, Token, tokenize

_FROM = re.compile(r"@[0-9]*\.[0-9]+$")
_LONG_UNITS = {"minutes", "minute", "min", "m", "hours", "hour", "h", "days", "day"}
LINKS = {"is", "was", "are"}
_BYTES = {"bytes", "kb", "mb", "gb", "tb", "kib", "mib", "gib", "tib"}


class Cursor:
    """A text as tokens, and questions about what stands where."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.tokens = tokenize(text)

    def _is_sign(self, at: int) -> bool:
        return at < len(self.tokens) and self.tokens[at].kind == PUNCT and self.tokens[at].text in ":="

    def _is_told(self, at: int) -> bool:
        """`loss is 0.5`."""
        behind = self.tokens[at : at + 2]
        return len(behind) == 2 and behind[0].text in LINKS and behind[1].kind == NUM

    def _has_sign(self, start: int, stop: int) -> bool:
        return any(self._is_sign(i) for i in range(start, stop))

    def _closing(self, at: int) -> int | None:
        """The bracket that closes the one at `at`, where it is near."""
        depth = 0
        for i in range(at, min(at + 9, len(self.tokens))):
            depth += (self.tokens[i].text == "(") - (self.tokens[i].text == ")")
            if depth == 0:
                return i
        return None

    def _is_range(self, at: int) -> bool:
        """The colon of `AP@0.50:0.95`, with a sign or a value behind it."""
        colon, until, behind = (self.tokens[i : i + 1] for i in (at, at + 1, at + 2))
        if not behind or colon[0].space or until[0].kind != NUM or until[0].space:
            return False
        start = colon[0].start
        fraction = _FROM.search(self.text, max(start - 12, 0), start) is not None
        return fraction and (self._is_sign(at + 2) or behind[0].kind == NUM)

    def _past_list(self, at: int, most: int | None = None) -> int:
        """Behind the square bracket that closes the one at `at`; the end where none (of the next `most` tokens) does."""
        depth = 0
        for i in range(at, len(self.tokens) if most is None else min(at + most, len(self.tokens))):
            depth += (self.tokens[i].text == "[") - (self.tokens[i].text == "]")
            if depth == 0:
                return i + 1
        return len(self.tokens)

    def _sign_behind(self, at: int) -> int:
        """The sign here or behind a few words, or 0: `after 250 iterations with early exaggeration: 50.0`."""
        for i in range(at, min(at + 4, len(self.tokens))):
            if self._is_sign(i) or self.tokens[i].kind != WORD:
                return i if self._is_sign(i) else 0
        return 0

    def _is_aside(self, at: int, close: int) -> bool:
        """Words in a bracket, behind which it is said when."""
        behind = self.tokens[close + 1 : close + 2]
        return bool(behind) and behind[0].text in ("at", "after") and all(token.kind == WORD for token in self.tokens[at:close])

    def _is_named(self, at: int) -> bool:
        """Words and a sign."""
        while at < len(self.tokens) and self.tokens[at].kind == WORD:
            at += 1
        return self._is_sign(at) and self.tokens[at - 1].kind == WORD

    def _is_valued(self, at: int) -> bool:
        """A number behind a bracket of words or a gap, with a bar or nothing behind it: `F-score (micro) 0.85`."""
        if at >= len(self.tokens) or (self.tokens[at].kind != NUM and numbers.word_value(self.tokens[at].text) is None):
            return False
        if at + 1 < len(self.tokens) and self.tokens[at + 1].text != "|":
            return False
        return self.tokens[at].space == 2 or self.tokens[at - 2].kind == WORD

    def _ends_title(self, at: int) -> bool:
        """`Validation DataLoader 0: |`: a colon, then a bar or nothing: the number counts what the bar is of, if it is whole."""
        behind = self.tokens[at + 1 : at + 3]
        closed = bool(behind) and behind[0].text == ":" and behind[0].space == 0 and (len(behind) == 1 or behind[1].text == "|")
        return closed and "." not in self.text[self.tokens[at].start : self.tokens[at].end]

    def _is_whole(self, at: int) -> bool:
        """Digits alone: what a counter looks like."""
        token = self.tokens[at]
        return token.kind == NUM and not token.text and self.text[token.start : token.end].isdigit()

    def _before_fraction(self, at: int) -> bool:
        """`Train loss 640 0.5`: a whole number directly before one that is none."""
        if at + 1 >= len(self.tokens) or not self._is_whole(at):
            return False
        value = self.tokens[at + 1]
        return value.kind == NUM and value.space == 1 and "." in self.text[value.start : value.end]

    def _behind_arrow(self, at: int) -> int:
        """`Loss --> 0.5`, `Loss => 0.5`: where the number stands behind the arrow that begins here, or 0."""
        head = at
        if self.tokens[at].text not in ("-", "="):
            return 0
        while head < min(at + 3, len(self.tokens)) and self.tokens[head].text == self.tokens[at].text:
            head += 1
        last, value = self.tokens[head : head + 1], self.tokens[head + 1 : head + 2]
        if not value or last[0].text != ">" or (value[0].kind != NUM and numbers.word_value(value[0].text) is None):
            return 0
        before = self.tokens[at - 1]
        inside = any(token.space for token in self.tokens[at + 1 : head + 1])
        return 0 if inside or self.tokens[at].space == 0 or numbers.word_value(before.text) is not None else head + 1

    def _barred(self, at: int) -> Span | None:
        """`|grad|=0.5`: the name in bars that ends directly before this sign."""
        around = self.tokens[max(at - 3, 0) : at + 1]
        if [token.text for token in around[::2]] != ["|", "|"] or around[1].kind != WORD:
            return None
        return Span(around[0].start, around[2].end) if not any(token.space for token in around[1:]) else None

    def _has_average(self, at: int) -> bool:
        """`Data 0.25 (0.5)`: a meter's value and, in brackets, its average."""
        here, behind = self.tokens[at], self.tokens[at + 1 : at + 4]
        if [token.text or token.kind for token in behind] != ["(", NUM, ")"]:
            return False
        return all("." in self.text[token.start : token.end] for token in (here, behind[1]))

    def _is_measure(self, at: int) -> bool:
        """What directly follows a number and names nothing: `2.5 GB`, but not `2.5 GB of data`."""
        word = self.tokens[at].text
        sized = word.lower() in _BYTES and "of" not in [token.text for token in self.tokens[at + 1 : at + 2]]
        return sized or numbers.is_unit(word)

    def _is_bytes(self, at: int) -> bool:
        """`14.25 GB`: a size."""
        behind = self.tokens[at + 1 : at + 2]
        return bool(behind) and behind[0].space == 1 and behind[0].text.lower() in _BYTES

    def _leads_epoch(self, at: int) -> bool:
        """A whole number directly before the word for an epoch."""
        behind = self.tokens[at + 1 : at + 2]
        return self._is_whole(at) and bool(behind) and behind[0].kind == WORD and names.is_epoch(behind[0].text)

    def _leads_list(self, at: int) -> bool:
        """A number and a word that stand in a square bracket before its first comma."""
        return self.tokens[at - 1].text == "[" and [token.text for token in self.tokens[at + 2 : at + 3]] == [","]

    def _behind_range(self, at: int) -> int | None:
        """`avg. loss [381-400]: 0.5`: the sign behind a range in brackets, where one stands."""
        close = at + 2
        ranged = close + 1 < len(self.tokens) and self.tokens[at + 1].kind == OPAQUE and self.tokens[close].text == "]"
        return close + 1 if ranged and self._is_sign(close + 1) else None

    def _is_duration(self, at: int) -> bool:
        """`10 minutes and 3 seconds`, `35 minutes 37 seconds`, `1h 19m`: several numbers make one."""
        unit, behind = self.tokens[at].text, self.tokens[at + 1 : at + 3]
        if unit:
            return unit in _LONG_UNITS and bool(behind) and behind[0].kind in (NUM, OPAQUE) and behind[0].space == 1
        return len(behind) == 2 and behind[0].text in _LONG_UNITS and (behind[1].text == "and" or behind[1].kind == NUM)

    def _changes(self, at: int) -> bool:
        """`lr: 0.1 -> 0.01`: what was, not what is."""
        return at + 1 < len(self.tokens) and self._behind_arrow(at + 1) > 0

    def _percent_behind(self, at: int) -> Token | None:
        """`9913/10000 (99%)`."""
        if at + 2 < len(self.tokens) and self.tokens[at + 1].text == "(" and self.tokens[at + 2].text == "%":
            return self.tokens[at + 2]
        return None

    def _is_position(self, name: Span | str, value: Span | float) -> bool:
        """`(trainer:777)`: a place in a source file."""
        if isinstance(name, str) or not isinstance(value, Span):
            return False
        return self.text[name.end : value.start] == ":" and self.text[value.start : value.end].isdigit()

    def _is_flag(self, word: Token) -> bool:
        """`--lr 0.1`, `-epoch 25`: an argument of a command."""
        before = self.text[max(word.start - 2, 0) : word.start]
        return before.endswith("-") and before != "]-" and word.space == 0

    def _string(self, name: Span | str) -> str:
        return name if isinstance(name, str) else self.text[name.start : name.end]
