"""The value behind a sign: a number, a word for one, or a number wrapped in a call, quotes or a list."""

from __future__ import annotations

from stream_jobs.extract import lexicon, names, numbers
from stream_jobs.extract.brackets import Brackets
from stream_jobs.extract.reading import Counter, Span
from stream_jobs.extract.tokens import COUNTER, NUM, OPAQUE, PUNCT, WORD, Token

WRAPPERS = {"tensor", "float", "array", "Array", "DeviceArray", "item", "Tensor", "scalar"}
_NOTHING = {"null", "none", "n/a", "na", "undefined"}


class Values(Brackets):
    """A phrase that knows what stands behind `=`, `:` and `is`."""

    def _sign(self, at: int, name: Span | None) -> int:
        """At `=` or `:` behind a name."""
        if name is not None and self._is_range(at):  # `AP@0.50:0.95 = 0.5`
            return self._value(at + 2 + self._is_sign(at + 2), Span(name.start, self.tokens[at + 1].end), "name value")
        follow = at + 1
        while follow < len(self.tokens) and self.tokens[follow].text == "*":  # `**Loss:** 0.5`
            follow += 1
        if follow >= len(self.tokens):
            self._boundary()
            return follow
        if self.tokens[at].text == "=" and self.tokens[follow].text == "=" and self.tokens[follow].space == 0:
            self._boundary()
            return follow + 1
        return self._value(follow, name, f"name {self.tokens[at].text} value")

    def _value(self, at: int, name: Span | None, rule: str) -> int:
        token = self.tokens[at]
        if token.kind in (NUM, COUNTER):
            self._named(at, name, token, rule)
            return at + 1
        if token.kind == OPAQUE and name is not None and self._count_fraction(token, self._string(name)):
            self._after()
            return at + 1
        if token.kind == OPAQUE:
            if numbers.is_short(token.text) and name is not None and names.step_rank(self._string(name)) is not None:
                self._count(name, token._replace(text=""), rule)
                self._after()
                return at + 1
            self._clump(token)
            if name is not None and names.is_metric(self._string(name)) and not names.is_never(self._string(name)):
                self.reading.unparsed += 1
            self._after()
            return at + 1
        if token.kind == PUNCT:
            return self._wrapped_or_boundary(at, name, token, rule)
        if token.text.rsplit(".", 1)[-1] in WRAPPERS or token.text.startswith(("np.", "numpy.", "jnp.", "torch.")):
            inside = at + 1
            while inside < len(self.tokens) and self.tokens[inside].text in ("(", "["):
                inside += 1
            if inside > at + 1 and inside < len(self.tokens):
                number = self.tokens[inside]
                several = self.tokens[inside - 1].text == "[" and [t.text for t in self.tokens[inside + 1 : inside + 2]] == [","]
                if number.kind == NUM and not several:
                    self._named(inside, name, number, rule + " in a call")
                elif number.kind == WORD and (value := numbers.word_value(number.text)) is not None and name is not None:
                    self._add(name, value, rule + " in a call")
                self._push("call")
                self._after()
                return inside + 1
        value = numbers.word_value(token.text)
        if value is not None:
            if name is not None:
                self._add(name, value, rule)
            self._after()
            return at + 1
        if token.text.lower() in _NOTHING:
            self._after()
            return at + 1
        if rule == "name : value" and name is not None:
            self._head(self._string(name))
        self._boundary()
        return at

    def _wrapped_or_boundary(self, at: int, name: Span | None, token: Token, rule: str) -> int:
        following = self.tokens[at + 1] if at + 1 < len(self.tokens) else None
        if following is None:
            self._boundary()
            return at + 1
        if token.text in "'\"" and following.kind == NUM:
            self._named(at + 1, name, following, rule)
            return at + 2
        if token.text in "+-" and following.kind == WORD and following.space == 0:
            value = numbers.word_value(token.text + following.text)
            if value is not None and name is not None:
                self._add(name, value, rule)
                self._after()
                return at + 2
        if token.text in "[(" and following.kind in (NUM, COUNTER) and name is not None:
            string = self._string(name)
            if following.kind == NUM and names.is_metric(string) and token.text == "[":
                self._add(name, Span(following.start, following.end), rule + ", first of a list")
                self._after()
                return self._past_list(at)
            if self._count(name, following, "counter in brackets"):
                self._boundary()
                return at + 2
            if token.text == "(" and following.kind == COUNTER:  # `fg/bg=(20/1004)`
                self._after()
                return at + 2
            close = next((i for i in range(at + 2, min(at + 8, len(self.tokens))) if self.tokens[i].text in "])"), None)
            if token.text == "[" and close is not None and names.plain(string) in lexicon.SPLITS:
                self._bare_brackets(at, following, close)
                self._boundary()
                return close + 1
        self._boundary()
        return at

    def _named(self, at: int, name: Span | None, token: Token, rule: str) -> None:
        """The number at `at` belongs to `name`."""
        if name is None:
            self._after()
            return
        string = self._string(name)
        if self._count(name, token, rule):
            self._after()
            return
        here = Span(token.start, token.end)
        if self._is_duration(at) or self._changes(at) or self._is_bytes(at) or self._counts(at):
            self._after()
            return
        following = self.tokens[at + 1] if at + 1 < len(self.tokens) else None
        if names.plain(string) in lexicon.SPLITS and following is not None and following.text == "[" and not self.reading.epochs:
            self.reading.epochs.append(Counter(45, here, None, string))
            self._boundary()
            return
        if token.kind == COUNTER:
            percent = self._percent_behind(at)
            if percent is not None and names.is_metric(string):
                self._add(name, Span(percent.start, percent.end), rule + ", share in brackets")
            self._after()
            return
        self._add(name, here, rule, token)
        self._after()
