"""The words since the last boundary or value, and what a number behind them makes of them."""

from __future__ import annotations

import itertools
import re

from stream_jobs.extract import lexicon, names, numbers
from stream_jobs.extract.cursor import LINKS, Cursor
from stream_jobs.extract.reading import Counter, Pair, Reading, Span
from stream_jobs.extract.tokens import COUNTER, NUM, PUNCT, WORD, Token

STOP = {
    "in",
    "at",
    "of",
    "for",
    "to",
    "from",
    "after",
    "with",
    "by",
    "than",
    "on",
    "over",
    "every",
    "and",
    "because",
    "between",
    "be",
    "took",
    "which",
    "this",
    "that",
    "it",
}
CUT = {"with", "and", "has", "got", "gives", "achieved", "reached", "where"}  # what stands before them is no name
_WHEN = {"after", "at", "for", "of", "in", "on", "during"}
_CLUMP = re.compile(r"([0-9]+)(epoch|ep|batch|iter|step|num_updates|updates)(?![a-z])")
_OF_EPOCHS = re.compile(r"([0-9]+\.[0-9]+)/[0-9]+(?:\.[0-9]+)?")
LINE_START = 70  # rank of a counter that only its place makes one
NAME_WORDS = 12
_NAME_CHARACTERS = 256


class Phrase(Cursor):
    """Where reading stands within the line: open words, open brackets, what came before."""

    def __init__(self, text: str, reading: Reading) -> None:
        super().__init__(text)
        self.reading = reading
        self.words: list[Token] = []
        self.strong = True  # the words began at a boundary, not directly behind a value
        self.edge = "|"  # which
        self.after_value = False  # nothing but a unit stood between the last value and here
        self.open = {"call": 0, "value": 0, "": 0}  # how many brackets of each kind are open
        self.brackets: list[str] = []  # what opened each open bracket: "call", "value" (behind a number) or ""
        self.repeat = False  # what follows is a best value so far, told before
        self.after = False  # something was counted so: `after 3 epochs`
        self.of_loss = False  # the last bracket behind a number is behind a loss
        self.split = ""  # train, valid, … standing alone before a counter
        self.splits: dict[int, str] = {}  # what stood there before each pair, by the pair's index
        self.group: Span | None = None  # the word that the open square bracket is glued to: `tot_loss[`
        self.groups: dict[int, Span] = {}  # of each pair inside such a bracket, by the pair's index
        self.side, self.sided = "", 0  # what heads the line, and the index of the first pair behind it
        self.titles: list[str] = []
        self.colons = sum(t.text == ":" and t.space > 0 and t.kind == PUNCT for t in self.tokens) >= 3
        self.last_rate: int | None = None  # index of a pair whose unit may become its name
        self.last_unit = ""  # of that pair

    def _push(self, kind: str) -> None:
        self.brackets.append(kind)
        self.open[kind] += 1

    def _boundary(self) -> None:
        if self.words:
            title = self.text[self.words[0].start : self.words[-1].end]
            if len(self.titles) < 16:
                self.titles.append(title)
            if names.plain(title) in lexicon.SPLITS:
                self.split = title
        self.words = []
        self.strong = True
        self.after_value = False
        self.repeat = False

    def _after(self) -> None:
        self.words = []
        self.strong = False
        self.after_value = True

    def _name(self, until: int | None = None) -> Span | None:
        """Where the name stands that ends with the last word (or at `until`), or None where there is none worth it."""
        words = self.words
        for back in range(len(words) - 1, max(len(words) - 1 - NAME_WORDS, -1), -1):
            if words[back].text.lower() in CUT:
                words = words[back + 1 :]
                break
        if words and words[0].text.lower() == "of":  # `iteration: 1 of max_iter: 9`
            words = words[1:]
        if len(words) > 1 and words[0].text in ("the", "The", "INFO", "DEBUG"):
            words = words[1:]
        if len(words) > 1 and until is None and words[-1].text in LINKS:  # `loss is: 0.5`
            words = words[:-1]
        if not words or len(words) > NAME_WORDS:
            return None
        start, end = words[0].start, until if until is not None else words[-1].end
        if (end - start > _NAME_CHARACTERS and len(words) > 1) or self._is_flag(words[0]):
            return None
        last = words[-1].text.lower()
        stopped = last in STOP and (len(words) > 1 or last != "it")  # `it 7/90` counts iterations
        if self.repeat or stopped or "best" in self.text[self.words[0].start : end].lower():
            return None
        return Span(start, end)

    def _ends_sentence(self, token: Token) -> bool:
        """`Skipping step. Attempted loss scale: 4`: a dot before a capital ends what was said, but not `Mel-Spec. Error`."""
        last = self.words[-1]
        if last.end - last.start <= 3 or "-" in last.text or not token.text[0].isupper():
            return False
        return self.text[last.end : token.start] in (". ", "! ", "? ")

    def _has_stop(self) -> bool:
        return any(word.text.lower() in STOP for word in self.words)

    def _has_number(self) -> bool:
        return any(word.kind == NUM for word in self.words)

    def _closed(self, at: int) -> bool:
        """The number ends its segment: a bar, a comma, a gap or the end follows, with at most a unit before it."""
        at += at + 1 < len(self.tokens) and self.tokens[at + 1].kind == WORD and numbers.is_unit(self.tokens[at + 1].text)
        following = self.tokens[at + 1] if at + 1 < len(self.tokens) else None
        if following is None or following.space == 2:
            return True
        return following.kind == PUNCT and (following.text in "|,;)](" or (self.colons and following.text == ":"))

    def _leads_phrase(self, at: int) -> bool:
        """`Accuracy of the network on the 10000 test images: 55 %`: the number is a word of a name."""
        follow = at + 1
        while (
            follow < len(self.tokens) and follow < at + 6 and self.tokens[follow].kind == WORD and self.tokens[follow].space == 1
        ):
            if numbers.is_unit(self.tokens[follow].text) and follow == at + 1:
                return False
            follow += 1
        return follow > at + 1 and self._has_stop() and self._is_sign(follow)

    def _after_counted(self, at: int) -> int:
        """`After 1001 training step(s), loss …`, `accuracy after 3 epochs: …`: what is counted stands behind the number.

        0, or the place of the first token behind it.
        """
        behind = self.tokens[at + 1 : at + 4]
        unit = list(itertools.takewhile(lambda token: token.kind == WORD and token.text not in ("the", *LINKS), behind))
        shown = (Span(unit[0].start, word.end) for word in unit)
        count = next((i for i, name in enumerate(shown, 1) if self._count(name, self.tokens[at], "counter")), 0)
        if not count:
            return 0
        follow = at + 1 + count
        self.after = True
        self._boundary()
        plural = [token.text for token in self.tokens[follow : follow + 3]] == ["(", "s", ")"]
        return follow + 3 if plural else follow

    def _counts(self, at: int) -> bool:
        """`Overall training speed: 300 iterations in 0:05:00`: how many of them, in how long."""
        token, behind = self.tokens[at], self.tokens[at + 1 : at + 3]
        if token.text or len(behind) < 2 or behind[1].text != "in":
            return False
        return behind[0].text in lexicon.STEP_RANK and self.text[token.start : token.end].isdigit()

    def _is_part(self, name: str) -> bool:
        """`loss=1.75 (value=0.25, policy=1.5)`: what stands in the bracket behind a loss."""
        return self.open["value"] > 0 and self.of_loss and not names.is_hyper(name)

    def _settle(self) -> None:
        """Take back counters that count nothing: the only number of a line (`No better after 3 epochs`, `0:  N`)."""
        reading = self.reading
        if reading.epochs:  # `3: Epoch 2: loss 0.5`: who says it
            reading.steps = [counter for counter in reading.steps if counter.rank != LINE_START]
        if reading.pairs or not self.tokens:
            return
        if self.after:
            reading.epochs, reading.steps = [], []
        reading.steps = [counter for counter in reading.steps if counter.name != "line start"]

    def _subject(self, words: list[Token]) -> Span | None:
        """`loss after step 33: 0.5`: what stands before `after`, where that is a metric."""
        stop = max((i for i, word in enumerate(words) if word.text.lower() in _WHEN), default=0)
        if not stop or stop > NAME_WORDS:
            return None
        name = Span(words[0].start, words[stop - 1].end)
        return name if names.is_metric(self._string(name)) else None

    def _rate(self, token: Token, unit: str) -> None:
        """`151075.54 words/s`: the unit is the name. `Speed: 1 a/s 2 b/s`: so it is of the first, too."""
        pairs = self.reading.pairs
        if self.last_rate is not None and self.after_value and pairs:
            unit_name, index = self.last_unit, self.last_rate
            pairs[index] = pairs[index]._replace(name=unit_name, rule="value unit")
        self._add(unit, Span(token.start, token.end), "value unit")
        self._after()

    def _unit(self, unit: str) -> None:
        if numbers.is_rate(unit) and self.reading.pairs:
            self.last_rate, self.last_unit = len(self.reading.pairs) - 1, unit

    def _clump(self, token: Token) -> None:
        """ESPnet's `2epoch:train:51-100batch:100num_updates`: counters glued before their names."""
        for found in _CLUMP.finditer(self.text, token.start, token.end):
            self._counter(found[2], Span(*found.span(1)))

    def _counter(self, name: str, at: Span) -> None:
        if names.is_epoch(name):
            self.reading.epochs.append(Counter(0, at, None, name))
        else:
            self.reading.steps.append(Counter(names.step_rank(name) or 0, at, None, name))

    def _count_fraction(self, token: Token, name: str) -> bool:
        """`Epoch: 0.25/6.0`."""
        fraction = _OF_EPOCHS.fullmatch(token.text) if names.is_epoch(name) else None
        if fraction is not None:
            self.reading.epochs.append(Counter(0, Span(token.start, token.start + fraction.end(1)), None, name))
        return fraction is not None

    def _count(self, name: Span | None, token: Token, rule: str) -> bool:
        """Take the number as a counter of steps or epochs, where that is what its name says."""
        if name is None or token.text not in ("", "%"):
            return False
        string = self._string(name)
        here, total = Span(token.start, token.end), Span(*token.total) if token.kind == COUNTER else None
        if total is not None and string in lexicon.EPOCH_BATCH:
            self.reading.epochs.append(Counter(40, here, None, string))
            self.reading.steps.append(Counter(66, total, None, string))
            return True
        if names.is_of_epoch(string) and "." in self.text[here.start : here.end].rstrip("."):
            return False
        if names.is_epoch(string):
            self.reading.epochs.append(Counter(int(names.plain(string) in lexicon.EPISODES_TOO), here, total, string))
            return True
        rank = names.step_rank(string)
        if rank is None:
            return False
        first, _, last = names.plain(string).partition("_")
        if last in lexicon.WITHIN and first in lexicon.SIDE_SPLITS:  # [eval batch=1/10]
            self.reading.side = True
            return True
        if "." in self.text[here.start : here.end].rstrip("."):
            if rule.startswith("counter"):
                return False
            # Evaluation over 10 episodes: 12.5, loss on training batch is 0.5
            said = not STOP.isdisjoint(string.lower().split())
            if said or (" " in string and first not in lexicon.SPLITS and names.is_metric(string)):
                return False
        self.reading.steps.append(Counter(rank, here, total, string))
        return True

    def _add(self, name: Span | str, value: Span | float, rule: str, token: Token | None = None, sure: bool = True) -> None:
        string = self._string(name)
        if names.is_never(string) or names.is_count(string):
            return
        if token is not None and numbers.is_time(token.text) and names.plain(string).endswith("speed"):
            return  # `Speed: 0.5ms preprocess, 8.5ms inference`: no speed
        if self.open[""] and not names.is_metric(string) and self._is_position(name, value):
            return
        if token is not None and token.text and numbers.is_rate(token.text):
            self.last_rate, self.last_unit = len(self.reading.pairs), token.text
        else:
            self.last_rate = None
        whole = isinstance(value, Span) and self.text[value.start : value.end].strip("+-").replace(",", "").isdigit()
        self.splits[len(self.reading.pairs)] = self.split
        if self.group is not None:
            self.groups[len(self.reading.pairs)] = self.group
        sure = sure and names.is_metric(string) and not (whole and (names.is_split_only(string) or names.is_switch(string)))
        part = not whole and rule in ("name = value", "name : value") and self._is_part(string)
        self.reading.pairs.append(Pair(name, value, sure or part, rule))
