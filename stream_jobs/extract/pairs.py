"""Pairs in free text: ``name=value``, ``name: value``, ``name value``, ``value unit``, and the counters between them.

A small grammar over tokens. A name is the words since the last boundary (comma, bar, bracket, gap, dash) or value; its
value is the number behind ``=``, ``:`` or ``is``. Without such a sign only a metric's name makes a pair. Counters
(``Epoch 3/10``, ``[20/791]``, ``step=5``) are read on the way.
"""

from __future__ import annotations

import re

from stream_jobs.extract import names, numbers, summaries
from stream_jobs.extract.bare import Bare
from stream_jobs.extract.phrase import CUT
from stream_jobs.extract.reading import Counter, Reading, Span
from stream_jobs.extract.tokens import COUNTER, NUM, OPAQUE, WORD, Token
from stream_jobs.extract.values import WRAPPERS

_EPOCH_STEP = re.compile(r"([0-9]+)-([0-9]+)")  # `epoch 1-599`
_GLUED = re.compile(r"(?i)(epoch|step|iter|iteration)[_-]?([0-9]+)|第([0-9]+)(?:轮|步)")
_DROP_TITLES = ("memory", "time (ms)", "times across ranks")
_BEST_TITLES = ("best metric", "best result", "best ckpt", "best checkpoint", "best model")  # what follows was told before


class Pairs(Bare):
    """One reading of one text: a step for each token."""

    def read(self) -> None:
        at = 0
        while at < len(self.tokens):
            at = self._step(at)
        if len(set(self.splits.values())) > 1:
            self._tell_apart()
        if self.side:
            self._tell_side()
        if self.groups:
            self._tell_groups_apart()
        self._settle()
        lowered = " ".join(self.titles).lower()
        if any(title in lowered for title in _DROP_TITLES) or lowered.startswith(_BEST_TITLES):
            self.reading.pairs = [p for p in self.reading.pairs if p.rule == "dict"]

    def _step(self, at: int) -> int:
        token = self.tokens[at]
        if self.open["call"] and token.text not in ("(", ")"):
            return at + 1
        if token.kind == WORD:
            return self._word(at, token)
        if token.kind in (NUM, COUNTER):
            return self._bare(at, token)
        if token.kind == OPAQUE:
            if self.words and names.is_epoch(self.words[-1].text) and (ranged := _EPOCH_STEP.fullmatch(token.text)) is not None:
                epoch, step = (Span(token.start + ranged.start(i), token.start + ranged.end(i)) for i in (1, 2))
                self._counter("epoch", epoch)
                self.reading.steps.append(Counter(66, step, None, "epoch-step"))
            self._clump(token)
            self._boundary()
            self.strong = False
            return at + 1
        return self._punct(at, token)

    def _word(self, at: int, token: Token) -> int:
        value = numbers.word_value(token.text)
        if value is not None and self.words and token.space:  # `loss nan`
            called = self._name()
            if called is not None and names.is_metric(self._string(called)):
                self._add(called, value, "name value")
                self._after()
                return at + 1
        if self.words and (token.space == 2 or self._ends_sentence(token)):
            self._boundary()
            self.edge = "|"
        glued = _GLUED.fullmatch(token.text)
        if glued is not None:  # Epoch25, 第25轮
            here = glued.span(2) if glued[2] else glued.span(3)
            name = glued[1] or ("epoch" if "轮" in token.text else "step")
            self._counter(name, Span(token.start + here[0], token.start + here[1]))
            self._after()
            return at + 1
        if self.after_value and token.space == 1 and self._is_measure(at) and not self._is_sign(at + 1):
            self._unit(token.text)
            return at + 1
        if self.words and self._is_told(at):
            return self._value(at + 1, self._name(), "is")
        if not self.words and token.text.lower() in CUT:  # `Finished epoch 3 with loss 0.5`
            self.after_value = False
            return at + 1
        if token.text.lower() == "best":
            self.repeat = True
        if token.text in WRAPPERS and self.words and self.tokens[at + 1 : at + 2] and self.tokens[at + 1].text == "(":
            name = self._name()  # `loss tensor(0.5, device='cuda:0')`
            if name is not None and names.is_metric(self._string(name)):
                return self._value(at, name, "name value")
        if token.space == 2 and self.after_value:
            self._boundary()
            self.edge = "|"
        if token.space == 2 and not self.words:
            self.edge = "|"
        self.after_value = False
        self.words.append(token)
        return at + 1

    def _punct(self, at: int, token: Token) -> int:
        char = token.text
        if (char == "=" or char == ":") and not (self.words and self._behind_arrow(at)):
            if char == ":" and self.colons and token.space and at + 1 < len(self.tokens) and self.tokens[at + 1].space:
                following = self.tokens[at + 1]
                if not (self.words and following.kind == NUM and self.strong and not self._has_number()):
                    self._boundary()
                    self.edge = char
                    return at + 1
            if self.words and self.words[-1].end <= token.start:
                return self._sign(at, self._name())
            barred = self._barred(at)
            if barred is not None:
                return self._sign(at, barred)
            self._boundary()
            return at + 1
        if char == "(":
            return self._open_round(at, token)
        if char == "[":
            ranged = self._behind_range(at)
            if ranged is not None:
                return self._sign(ranged, self._name())
            if self.words and self.words[-1].text.endswith("@") and self._is_sign(close := self._past_list(at, 9)):
                return self._sign(close, self._name(self.tokens[close - 1].end))  # `mAP@[.5:.95]: 0.5`
            return self._open_square(at)
        if char in "])}":
            self.group = None if char == "]" else self.group
            if self.brackets:
                self.open[self.brackets.pop()] -= 1
            was_value = self.after_value
            self._boundary()
            self.edge = char
            self.after_value = was_value and char == ")"
            return at + 1
        if char in "'\"" or (char == "#" and self.words and self.tokens[at + 1 : at + 2] and self.tokens[at + 1].kind == NUM):
            return at + 1
        follow = self._behind_arrow(at) if self.words else 0
        if follow:
            return self._value(follow, self._name(), "name -> value")
        self.edge = char
        if char == "-" and token.space == 0 and self.words:
            return at + 1
        if char in "+-" and self.words and at + 1 < len(self.tokens) and self.tokens[at + 1].space == 0:  # `loss -inf`
            value, name = numbers.word_value(char + self.tokens[at + 1].text), self._name()
            if value is not None and name is not None and names.is_metric(self._string(name)):
                self._add(name, value, "name value")
                self._after()
                return at + 2
        self._boundary()
        return at + 1


def read(text: str, reading: Reading) -> None:
    if not summaries.read(text, reading):
        Pairs(text, reading).read()
