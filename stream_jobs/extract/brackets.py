"""Counters that brackets mark: `Epoch[145]`, `Batch [20]`, `[0/25][100/1583]`, `[10]`, `[1,  2000]`."""

from __future__ import annotations

import re

from stream_jobs.extract import names
from stream_jobs.extract.apart import Apart
from stream_jobs.extract.reading import Counter, Span
from stream_jobs.extract.tokens import COUNTER, NUM, WORD, Token

# MXNet's `Batch [20-40]`, CNTK's `Minibatch[   1- 50, 10.00%]`: the last is the step
_RANGE = re.compile(r"\[\s*[0-9]+\s*-\s*([0-9]+)(?:,\s*[0-9.]+%)?\]")


class Brackets(Apart):
    """A phrase that knows square brackets."""

    def _open_square(self, at: int) -> int:
        """`Epoch[145]`, `Batch [20]`, `Epoch [1/10]`, `[1][15/15]`, `[10]`, `[1,  2000]`."""
        inside = self.tokens[at + 1] if at + 1 < len(self.tokens) else None
        ranged = _RANGE.match(self.text, self.tokens[at].start) if self.words else None
        if ranged is not None and self._count(self._name(), Token(NUM, *ranged.span(1), 0, ""), "counter in brackets"):
            self._boundary()
            return next(i for i in range(at, len(self.tokens)) if self.tokens[i].end == ranged.end()) + 1
        if inside is not None and inside.kind in (NUM, COUNTER):
            close = next((i for i in range(at + 2, min(at + 8, len(self.tokens))) if self.tokens[i].text == "]"), None)
            if close is not None:
                if self.words and self._count(self._name(), inside, "counter in brackets"):
                    self._boundary()
                    return close + 1
                if self._bare_brackets(at, inside, close):
                    self._boundary()
                    return close + 1
        if self.words and self.tokens[at].space == 0 and inside is not None and inside.kind == WORD and self._is_sign(at + 2):
            self.group = Span(self.words[-1].start, self.words[-1].end)
        self._push("")
        self._boundary()
        return at + 1

    def _bare_brackets(self, at: int, inside: Token, close: int) -> bool:
        """A counter that brackets alone mark."""
        reading, here = self.reading, Span(inside.start, inside.end)
        total = Span(*inside.total) if inside.kind == COUNTER else None
        if "." in self.text[inside.start : inside.end]:
            return False
        word = names.plain(self.words[-1].text) if self.words else ""
        alone = at == 0 and all(token.kind != WORD for token in self.tokens[close + 1 :])  # a printed list counts nothing
        if close == at + 4 and self.tokens[at + 2].text == "," and self.tokens[at + 3].kind == NUM and at == 0 and not alone:
            second = self.tokens[at + 3]
            reading.epochs.append(Counter(40, here, None, "[epoch, step]"))
            reading.steps.append(Counter(40, Span(second.start, second.end), None, "[epoch, step]"))
            return True
        pair = [token.text or token.kind for token in self.tokens[at + 2 : at + 6]] == ["]", "[", NUM, "]"]
        if at == 0 and inside.kind == NUM and pair and len(self.tokens) > at + 6:  # [3][100] G: 0.5
            second = self.tokens[at + 4]
            reading.epochs.append(Counter(40, here, None, "[epoch][step]"))
            reading.steps.append(Counter(40, Span(second.start, second.end), None, "[epoch][step]"))
            del self.tokens[at + 3 : at + 6]
            return True
        if close != at + 2 and self.tokens[at + 2].text != "(":
            return False
        if word.startswith("epoch") and not reading.epochs:
            reading.epochs.append(Counter(30, here, total, "epoch"))
        elif inside.kind == COUNTER:
            if reading.inner is not None and at and self.tokens[at - 1].text == "]" and not reading.epochs:  # [0/25][100/1583]
                reading.epochs.append(reading.inner)
                reading.inner = None
            if reading.inner is None:
                reading.inner = Counter(60, here, total, "")
        elif at == 0 and not alone:
            reading.steps.append(Counter(65, here, None, "line start"))
        else:
            return False
        return True
