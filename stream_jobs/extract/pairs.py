"""Pairs in free text: ``name=value``, ``name: value``, ``name value``, ``value unit``, and the counters between them.

A small grammar over tokens. A name is the words since the last boundary (comma, bar, bracket, gap, dash) or value; its
value is the number behind ``=``, ``:`` or ``is``. Without such a sign only a metric's name makes a pair. Counters
(``Epoch 3/10``, ``[20/791]``, ``step=5``) are read on the way.
"""

from __future__ import annotations

import re

from stream_jobs.extract import names, numbers, summaries
from stream_jobs.extract.phrase import CUT
from stream_jobs.extract.reading import Counter, Reading, Span
from stream_jobs.extract.rounds import Rounds
from stream_jobs.extract.tokens import COUNTER, NUM, OPAQUE, WORD, Token
from stream_jobs.extract.values import WRAPPERS

_EPOCH_STEP = re.compile(r"([0-9]+)-([0-9]+)")  # `epoch 1-599`
_CUT_OFF = re.compile(r"(?i)(?:top|hits?|recall|precision|ndcg|m?ap|mrr|prec|p|r)\W?$")  # at how many: `recall 20`
_GLUED = re.compile(r"(?i)(epoch|step|iter|iteration)[_-]?([0-9]+)|第([0-9]+)(?:轮|步)")
_DROP_TITLES = ("memory", "time (ms)", "times across ranks")
_BEST_TITLES = ("best metric", "best result")  # what follows was told before
_CHAIN_WORD = 3  # characters of a name that nobody knows and no sign introduces


class Pairs(Rounds):
    """One reading of one text: a step for each token."""

    def read(self) -> None:
        at = 0
        while at < len(self.tokens):
            at = self._step(at)
        if len(set(self.splits.values())) > 1:
            self._tell_apart()
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
        value = numbers.word_value(token.text)
        if value is not None and self.words and token.space == 1:  # `loss nan`
            name = self._name()
            if name is not None and names.is_metric(self._string(name)):
                self._add(name, value, "name value")
                self._after()
                return at + 1
        if token.space == 2 and self.after_value:
            self._boundary()
            self.edge = "|"
        if token.space == 2 and not self.words:
            self.edge = "|"
        self.after_value = False
        self.words.append(token)
        return at + 1

    def _bare(self, at: int, token: Token) -> int:
        """A number that no sign leads to."""
        if self.words:
            words = self.words
            if words[-1].text.lower() == "after" and token.kind == NUM and (behind := self._after_counted(at)):
                subject = self._subject(words)
                return self._sign(behind, subject) if subject is not None and self._is_sign(behind) else behind
            if at == 2 and self.tokens[0].kind == COUNTER and words[0].text == "in" and self._leads_epoch(at):
                # `7/90 in 1 epoch`
                self.reading.epochs.append(Counter(50, Span(token.start, token.end), None, "in"))
                self._after()
                return at + 2
            if self._count(self._name(), token, "counter"):
                subject = self._subject(words)
                if subject is not None and self._is_sign(at + 1):
                    return self._sign(at + 1, subject)
                if subject is not None and self._is_told(at + 1):
                    return self._value(at + 2, subject, "is")
                self._after()
                return at + 1
            if self._ends_title(at) or self._changes(at):
                self._after()
                return at + 1
            name = self._name()
            counted = self._counted(at, name)
            if counted is not None:
                return counted
            if len(self.words) > 1 and "_" in self.words[-1].text:  # CV info cv_loss 1.5
                name = Span(self.words[-1].start, self.words[-1].end)
            if token.kind == NUM and name is not None and not self._has_stop():
                string = self._string(name)
                if names.is_metric(string) and not self._leads_phrase(at):
                    self._add(name, Span(token.start, token.end), "name value", token)
                    self._after()
                    return at + 1
                if self._has_average(at) and not names.is_never(string):
                    self._add(name, Span(token.start, token.end), "value (average)", token, sure=False)
                    self._after()
                    return at + 1
                if (
                    self.strong
                    and self.edge in "|,:"
                    and self._closed(at)
                    and not names.is_never(string)
                    and len(self.words) <= 3
                ):
                    self._add(name, Span(token.start, token.end), "name value in a list", token, sure=False)
                    self._after()
                    return at + 1
                if not self.strong and self._chains(string):
                    self._add(name, Span(token.start, token.end), "name value in a chain", token, sure=False)
                    self._after()
                    return at + 1
            if token.kind == NUM and self._leads_phrase(at):
                self.words.append(token)
                return at + 1
            self._after()
            return at + 1
        first = at == 0
        if first and [t.text or t.kind for t in self.tokens[1:4]] == ["|", NUM, "|"]:  # torchtune: epoch|step|Loss: …
            second = self.tokens[2]
            self.reading.epochs.append(Counter(40, Span(token.start, token.end), None, "epoch|step"))
            self.reading.steps.append(Counter(40, Span(second.start, second.end), None, "epoch|step"))
            return 4
        if token.kind == COUNTER:
            if self.brackets and self.split and not self.reading.epochs:
                self.reading.epochs.append(Counter(50, Span(token.start, token.end), Span(*token.total), self.split))
            elif self.reading.inner is None and (self.brackets or first or (self.reading.epochs and not self.reading.pairs)):
                self.reading.inner = Counter(60, Span(token.start, token.end), Span(*token.total), "")
        elif at == 1 and self.tokens[0].text == "[" and self._leads_epoch(at):  # `[   37 Epoch:[ 1/25] [ 13/ 27]`
            self.reading.steps.append(Counter(20, Span(token.start, token.end), None, "line start"))
        elif first and self._is_sign(1) and self.tokens[1].text == ":":
            self.reading.steps.append(Counter(70, Span(token.start, token.end), None, "line start"))
            self._boundary()
            return 2
        elif self._named_behind(at):
            return at + 1
        elif numbers.is_rate(token.text) and not self.open["value"]:
            self._rate(token, token.text)
            return at + 1
        elif at + 1 < len(self.tokens) and self.tokens[at + 1].kind == WORD and self.tokens[at + 1].space == 1:
            unit = self.tokens[at + 1].text
            if self._leads_list(at) and numbers.is_pace(unit):  # `[2.5 sec/step, loss=0.5]`
                self._rate(token, unit)
                return at + 2
            if numbers.is_rate(unit) and not self.open["value"] and (self.colons or not self._is_sign(at + 2)):
                self._rate(token, unit)
                return at + 2
        self._after()
        return at + 1

    def _counted(self, at: int, name: Span | None) -> int | None:
        """A whole number between a metric's name and its value: the step, or a part of the name; where reading goes on."""
        token = self.tokens[at]
        if name is None or self._has_stop():
            return None
        string, here = self._string(name), Span(token.start, token.end)
        if token.kind == COUNTER:  # `Process 100/400(25%) loss: 0.5`
            if at == 1 and self._percent_behind(at) and not names.is_metric(string) and self.reading.inner is None:
                self.reading.inner = Counter(60, here, Span(*token.total), "")
                self._after()
                return at + 1
            return None
        valued = self._is_whole(at) and self._is_sign(at + 1) and at + 2 < len(self.tokens) and self.tokens[at + 2].kind == NUM
        if not (valued or self._before_fraction(at)) or not names.is_metric(string):
            return None
        if valued and (self.reading.steps or self.reading.epochs or _CUT_OFF.search(string)):
            return self._sign(at + 1, Span(name.start, token.end))
        self.reading.steps.append(Counter(66, here, None, "behind a name"))
        return self._sign(at + 1, name) if valued else at + 1

    def _chains(self, name: str) -> bool:
        """`sec/kimg 12.5 upkeep 2.5`: a name that nobody knows, directly behind a pair that has no sign either."""
        pairs = self.reading.pairs
        return len(self.words) == 1 and len(name) >= _CHAIN_WORD and bool(pairs) and pairs[-1].rule.startswith("name value")

    def _named_behind(self, at: int) -> bool:
        """Darknet's `500.123 avg loss,`: the name stands behind the number, up to the next comma."""
        token, follow = self.tokens[at], at + 1
        while follow < min(at + 4, len(self.tokens)) and self.tokens[follow].kind == WORD and self.tokens[follow].space == 1:
            follow += 1
        closed = follow == len(self.tokens) or self.tokens[follow].text in ",;"
        if follow == at + 1 or not closed or token.text:
            return False
        name = Span(self.tokens[at + 1].start, self.tokens[follow - 1].end)
        rate = follow > at + 2 and numbers.is_rate(self.tokens[follow - 1].text)  # `518 src tok/s`
        if not rate and not ("." in self.text[token.start : token.end] and names.ends_as_metric(self._string(name))):
            return False
        self._add(name, Span(token.start, token.end), "value name", token)
        self.tokens[at + 1 : follow] = []
        self._after()
        return True

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
