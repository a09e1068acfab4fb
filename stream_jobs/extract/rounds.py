"""What round brackets say: a part of a name, a counter, or an aside."""

from __future__ import annotations

from stream_jobs.extract import lexicon, names
from stream_jobs.extract.reading import Span
from stream_jobs.extract.tokens import COUNTER, NUM, WORD, Token
from stream_jobs.extract.values import Values


class Rounds(Values):
    """A phrase that knows round brackets."""

    def _open_round(self, at: int, token: Token) -> int:
        close = self._closing(at)
        if self.words and close is not None and self._is_valued(close + 1):
            name = self._name(self.tokens[close].end)
            if name is not None and names.is_metric(self._string(name)):
                return self._value(close + 1, name, "name value")
            if name is not None and close + 2 < len(self.tokens) and self.tokens[close + 1].kind == NUM:  # `| Time(s) 0.5 |`
                number = self.tokens[close + 1]
                self._add(name, Span(number.start, number.end), "name value in a list", number, sure=False)
                self._after()
                return close + 2
        if self.words and close == at + 3 and self._is_sign(close + 1):  # `Average loss (epoch 3): 0.5`
            name, inside, number = self._name(), self.tokens[at + 1], self.tokens[at + 2]
            if (
                name is not None
                and number.kind in (NUM, COUNTER)
                and self._count(Span(*inside[1:3]), number, "counter in brackets")
            ):
                return self._sign(close + 1, name)
        if self.words and close is not None and self._is_sign(close + 1) and not self._has_sign(at + 1, close):
            return self._sign(close + 1, self._name(self.tokens[close].end))
        if self.words and close == at + 2 and self.tokens[at + 1].text.lower() in lexicon.SPLITS:  # Epoch(train) [1][15/15]
            self.split = self.tokens[at + 1].text
            if self.split.lower() not in ("train", "training"):
                self.reading.side = True
            return at + 3
        if self.words and close is not None and self._is_aside(at + 1, close):  # `loss (for one batch) at step 3: 0.5`
            self.words += [*self.tokens[at + 1 : close], self.tokens[close]._replace(kind=WORD)]
            return close + 1
        if self.words and token.space == 0:
            self._push("call")
            return at + 1
        if self.words and close is not None and self.tokens[close - 1].text in ("ms", "s", "MB", "GB", "sec", "seconds"):
            end = self.tokens[close].end
            if len(self.titles) < 16:
                self.titles.append(self.text[self.words[0].start : end])
        self._push("value" if self.after_value else "")
        if self.after_value:
            self.of_loss = bool(self.reading.pairs) and "loss" in self._string(self.reading.pairs[-1].name).lower()
        value = self.after_value
        self._boundary()
        self.after_value = value
        return at + 1
