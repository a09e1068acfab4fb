"""Looking at the tokens around a place."""

from __future__ import annotations

from stream_jobs.extract.reading import Span
from stream_jobs.extract.tokens import NUM, OPAQUE, PUNCT, WORD, Token, tokenize


class Cursor:
    """A text as tokens, and questions about what stands where."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.tokens = tokenize(text)

    def _is_sign(self, at: int) -> bool:
        return at < len(self.tokens) and self.tokens[at].kind == PUNCT and self.tokens[at].text in ":="

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

    def _is_valued(self, at: int) -> bool:
        """A number behind a bracket of words or a gap, with nothing behind it: `F-score (micro) 0.85`."""
        if at + 1 != len(self.tokens) or self.tokens[at].kind != NUM:
            return False
        return self.tokens[at].space == 2 or self.tokens[at - 2].kind == WORD

    def _ends_title(self, at: int) -> bool:
        """`Validation DataLoader 0: |`: a colon, then a bar or nothing: the number counts what the bar is of."""
        behind = self.tokens[at + 1 : at + 3]
        return bool(behind) and behind[0].text == ":" and behind[0].space == 0 and (len(behind) == 1 or behind[1].text == "|")

    def _behind_range(self, at: int) -> int | None:
        """`avg. loss [381-400]: 0.5`: the sign behind a range in brackets, where one stands."""
        close = at + 2
        ranged = close + 1 < len(self.tokens) and self.tokens[at + 1].kind == OPAQUE and self.tokens[close].text == "]"
        return close + 1 if ranged and self._is_sign(close + 1) else None

    def _is_duration(self, at: int) -> bool:
        """`10 minutes and 3 seconds`: several numbers make one."""
        return [t.text for t in self.tokens[at + 1 : at + 3]] in [[u, "and"] for u in ("minutes", "minute", "hours", "hour")]

    def _changes(self, at: int) -> bool:
        """`lr: 0.1 -> 0.01`: what was, not what is."""
        behind = self.tokens[at + 1 : at + 4]
        return len(behind) == 3 and behind[0].text == "-" and behind[1].text == ">" and behind[2].kind == NUM

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
        return before.endswith("-") and before != "->" and word.space == 0

    def _string(self, name: Span | str) -> str:
        return name if isinstance(name, str) else self.text[name.start : name.end]
