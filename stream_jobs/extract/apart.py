"""Names that would be the same though what they name is not: of several splits, of several groups."""

from __future__ import annotations

from collections import Counter as Counts

from stream_jobs.extract import lexicon
from stream_jobs.extract.phrase import Phrase
from stream_jobs.extract.reading import Span


class Apart(Phrase):
    """A phrase that tells them apart."""

    def _tell_apart(self) -> None:
        """`Train: loss=0.5 Valid: loss=0.4`: a name that stands twice takes the split before it."""
        pairs = self.reading.pairs
        seen = Counts(self._string(pairs[index].name) for index in self.splits)
        for index, split in self.splits.items():
            name = pairs[index].name
            if split and isinstance(name, Span) and seen[self._string(name)] > 1:
                self.reading.loose.append(name)  # its digits are part of the name
                pairs[index] = pairs[index]._replace(name=f"{split} {self._string(name)}")

    def _head(self, title: str) -> None:
        """`DEV : loss 0.5`, `Evaluating test: L1 0.5`: what follows is measured on that split, not in training."""
        words = title.split()
        told = words[0].lower() == "evaluating"
        if len(words) > 2 or not all(word.lower() in lexicon.SPLITS for word in words[told:]):
            return
        if told or words[-1].lower() in lexicon.SIDE_SPLITS:
            self.side, self.sided = " ".join(words[told:]), len(self.reading.pairs)

    def _tell_side(self) -> None:
        """Names of another split than the training's own are not those of the training."""
        pairs = self.reading.pairs
        for index in range(self.sided, len(pairs)):
            name = pairs[index].name
            words = lexicon.WORDS.findall(self._string(name).lower())
            if isinstance(name, Span) and lexicon.SPLITS.isdisjoint(words) and lexicon.PARTS.isdisjoint(words[:1]):
                self.reading.loose.append(name)
                pairs[index] = pairs[index]._replace(name=f"{self.side} {self._string(name)}")

    def _tell_groups_apart(self) -> None:
        """`loss[loss=0.5, over 8 frames.], tot_loss[loss=0.25]`: a name that stood before takes the group's before it."""
        pairs, seen = self.reading.pairs, set[str]()
        for index, pair in enumerate(pairs):
            group, name = self.groups.get(index), self._string(pair.name)
            if group is not None and name in seen and isinstance(pair.name, Span):
                self.reading.loose += [group, pair.name]
                pairs[index] = pair._replace(name=f"{self._string(group)}/{name}")
            seen.add(name)
