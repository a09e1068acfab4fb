"""What was written: the generator's own memory of every line and point. It uses nothing of the product.

A `Script` makes the lines of one log file in one of five forms, and knows what each of them says. Its content comes in
generations (one from each rotation to the next); a generation's lines are complete before it is rotated.
"""

from __future__ import annotations

import dataclasses
import json
import random
from typing import Any

Point = tuple[str, int, float]  # metric, step, value
FORMS = ("text", "json", "table", "equal", "record")


@dataclasses.dataclass
class Generation:
    """The lines of one generation, as a terminal would show them in the end, and the points that they say."""

    number: int
    lines: list[str] = dataclasses.field(default_factory=list)
    points: list[Point] = dataclasses.field(default_factory=list)
    size: int = 0  # bytes


class Script:
    """The author of one log file. `task` and `name` make its lines unlike those of all other files."""

    def __init__(self, task: str, name: str, form: str, seed: int) -> None:
        self.task, self.name, self.form = task, name, form
        self.metric = f"loss_{name}"
        self.generations: list[Generation] = []
        self._chance = random.Random(f"{seed}/{task}/{name}")
        self._step = 0

    @property
    def now(self) -> Generation:
        return self.generations[-1]

    @property
    def size(self) -> int:
        return sum(generation.size for generation in self.generations)

    def begin(self) -> bytes:
        """A new generation: the bytes of its first line."""
        self.generations.append(Generation(len(self.generations)))
        number = self.now.number
        if self.form == "table":
            return self._say(f"step,{self.metric}")
        if self.form == "equal":  # every start of one codebase says the same at first
            return self._say(f"start of the training of {self.name}")
        if self.form == "record":
            uuid = f"{self.task}-{self.name}-{number:06d}"
            record = {
                "tw": "header",
                "t": _ms(self._step),
                "v": 1,
                "uuid": uuid,
                "task": self.task,
                "start": "start-1",
                "rank": 0,
            }
            return self._say(_json(record))
        return self._say(f"generation {number} of {self.name} begins")

    def line(self) -> bytes:
        """The next line's bytes."""
        self._step += 1
        step, value = self._step, round(self._chance.random(), 6)
        tag = f"{self.name}.g{self.now.number}.n{step}"
        if self.form == "table":
            return self._say(f"{step},{value!r}", (self.metric, step, value))
        if self.form == "record":
            return self._say(
                _json({"tw": "log", "t": _ms(step), "s": step, "m": {self.metric: value}}), (self.metric, step, value)
            )
        odd = self._chance.random()
        if odd < 0.005:
            return self._say(f"{tag} " + "損失 é words without a number, " * self._chance.randrange(2, 300))
        if odd < 0.02:
            shown = f"step={step} {self.metric}={value!r} tag={tag}"
            return self._say(shown, (self.metric, step, value), before=" 37%|###  |\r 38%|### |\r")
        if self.form == "json":
            return self._say(_json({"step": step, self.metric: value, "tag": tag}), (self.metric, step, value))
        return self._say(f"step={step} {self.metric}={value!r} tag={tag}", (self.metric, step, value))

    def _say(self, text: str, *points: Point, before: str = "") -> bytes:
        data = f"{before}{text}\n".encode()
        self.now.lines.append(text)
        self.now.points += points
        self.now.size += len(data)
        return data


def _ms(step: int) -> int:
    return 1_790_000_000_000 + step


def _json(record: dict[str, Any]) -> str:
    return json.dumps(record, separators=(",", ":"))
