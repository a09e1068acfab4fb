"""Numbers that no sign leads to: counters, values behind a metric's name, values before their name or unit."""

from __future__ import annotations

import re

from stream_jobs.extract import lexicon, names, numbers
from stream_jobs.extract.phrase import LINE_START, NAME_WORDS, STOP
from stream_jobs.extract.reading import Counter, Span
from stream_jobs.extract.rounds import Rounds
from stream_jobs.extract.tokens import COUNTER, NUM, WORD, Token

_CUT_OFF = re.compile(r"(?i)(?:top|hits?|recall|precision|ndcg|m?ap|mrr|prec|p|r)\W?$")  # at how many: `recall 20`
_CHAIN_WORD = 3  # characters of a name that nobody knows and no sign introduces

_STEP_OF_ALL = lexicon.STEP_RANK["timestep"]  # better than episodes, where a line has both


class Bare(Rounds):
    """A phrase that knows numbers without a sign."""

    def _bare(self, at: int, token: Token) -> int:
        """A number that no sign leads to."""
        if self.words:
            words = self.words
            if words[-1].text.lower() == "after" and token.kind == NUM and (behind := self._after_counted(at)):
                subject = self._subject(words)
                if subject is not None and self._is_told(behind):
                    return self._value(behind + 1, subject, "is")
                sign = self._sign_behind(behind)
                return self._sign(sign, subject) if subject is not None and sign else behind
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
            if self._ends_title(at) or self._changes(at) or [word.text for word in words[-2:]] == ["out", "of"]:
                self._after()
                return at + 1
            name = None if self._tells_part(at) else self._name()
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
            if token.kind == NUM and (self._leads_phrase(at) or self._tells_part(at)):
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
            if first and self._is_sign(1) and len(self.tokens) > 2 and self.tokens[2].kind == WORD:  # `700/9000: episode: 9`
                self.reading.steps.append(Counter(_STEP_OF_ALL, Span(token.start, token.end), Span(*token.total), "line start"))
                self._boundary()
                return 2
            if self.brackets and self.split and not self.reading.epochs:
                self.reading.epochs.append(Counter(50, Span(token.start, token.end), Span(*token.total), self.split))
            elif (self.open["value"] and self.reading.pairs) or (at == 1 and self.tokens[0].text == "("):
                pass  # `acc: 0.75 (75/100)`: what it was counted from; `(0/3) loss`: who of how many
            elif self.reading.inner is None and (self.brackets or first or (self.reading.epochs and not self.reading.pairs)):
                self.reading.inner = Counter(60, Span(token.start, token.end), Span(*token.total), "")
        elif at == 1 and self.tokens[0].text == "[" and self._leads_epoch(at):  # `[   37 Epoch:[ 1/25] [ 13/ 27]`
            self.reading.steps.append(Counter(20, Span(token.start, token.end), None, "line start"))
        elif first and self._is_sign(1) and self.tokens[1].text == ":" and [t.text for t in self.tokens[2:3]] != ["|"]:
            self.reading.steps.append(Counter(LINE_START, Span(token.start, token.end), None, "line start"))
            self._boundary()
            return 2
        elif first and self._is_whole(0) and [t.text or t.kind for t in self.tokens[1:2]] == ["["] and self._is_named(2):
            self.reading.steps.append(Counter(LINE_START, Span(token.start, token.end), None, "line start"))  # `30 [D loss: 0.5]`
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

    def _tells_part(self, at: int) -> bool:
        """`bucket 0 perplexity 6.5`, `Fold 3 accuracy: 0.5`: the number of one of few things, a word of the name."""
        behind = self.tokens[at + 1 : at + 2]
        if len(self.words) > NAME_WORDS:
            return False
        named = self.words[-1].text.lower() in lexicon.PARTS and self._is_whole(at) and self.words[-1].end < self.tokens[at].start
        return named and bool(behind) and behind[0].kind == WORD and behind[0].space == 1

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
        if any(word.text.lower() in STOP for word in self.tokens[at + 1 : follow]):
            return False
        if not rate and not ("." in self.text[token.start : token.end] and names.ends_as_metric(self._string(name))):
            return False
        self._add(name, Span(token.start, token.end), "value name", token)
        self.tokens[at + 1 : follow] = []
        self._after()
        return True
