"""A small language for models of words: the same sentences for the same seed."""

from __future__ import annotations

import random


def sentences(rows: int, seed: int) -> list[list[str]]:
    draw = random.Random(seed)
    return [
        [draw.choice(["red", "blue", "tall", "old"]), draw.choice(["house", "tree", "car"]), draw.choice(["runs", "falls"])] * 3
        for _ in range(rows)
    ]
