"""How fast extraction alone is, on one core, as ratios to plain Python work in the same run (lines per second against).

    python -m bench.extract_speed [--logs FOLDER]

- SDK records of four scalars against `orjson.loads` a line
- a repeated text line of six numbers against `str.split` a line
- each log of a folder, repeated to 10,000 lines, in deltas that follow each other file by file, against `str.split` a line
- one line of growing length: the exponent of time over length, for lines made to be slow
"""

from __future__ import annotations

import argparse
import math
import random
import sys
import time
from collections.abc import Callable
from pathlib import Path

import orjson

from schemas.framing import DELTA_LIMIT, LINE_LIMIT, Lines, frame
from stream_jobs.extract import State, extract

TARGETS = {"records": 0.7, "text": 0.45, "logs": 0.25, "exponent": 1.25}
DELTA = 500  # lines of a delta of the mixed logs


def best(work: Callable[[], object], repeats: int = 7) -> float:
    """Seconds of processor time of the fastest run: other work on the machine does not count."""
    times = []
    for _ in range(repeats):
        start = time.process_time()
        work()
        times.append(time.process_time() - start)
    return min(times)


def ratio(theirs: Callable[[], object], ours: Callable[[], object], turns: int = 5) -> float:
    """Of their time to ours, measured in turns: what else the machine does strikes both."""
    pairs = [(best(theirs, 3), best(ours, 3)) for _ in range(turns)]
    return min(a for a, _ in pairs) / min(b for _, b in pairs)


def as_lines(texts: list[str]) -> Lines:
    return Lines(list(range(len(texts))), list(range(1, len(texts) + 1)), texts)


def against(plain: Callable[[str], object], texts: list[str]) -> float:
    """The ratio of plain work on each line to extraction, both in deltas of the shipper's size, and both keep what they made."""
    size = DELTA_LIMIT // len(texts[0])
    blocks = [texts[at : at + size] for at in range(0, len(texts), size)]
    deltas = [as_lines(block) for block in blocks]

    def ours() -> list[object]:
        state, kept = State(), list[object]()
        for delta in deltas:
            state, points, events = extract(state, delta)
            kept.append((points, events))
        return kept

    def theirs() -> list[object]:
        return [[plain(text) for text in block] for block in blocks]

    return ratio(theirs, ours)


def records(count: int = 10_000) -> float:
    rng = random.Random(1)
    texts = [
        f'{{"tw":"log","t":{1_760_000_000_000 + i},"s":{i},"m":{{"loss":{rng.random()},"acc":{rng.random():.4f},'
        f'"lr":{rng.random() * 1e-4},"grad_norm":{rng.random() * 3:.3f}}}}}'
        for i in range(count)
    ]
    return against(orjson.loads, texts)


def text(count: int = 10_000) -> float:
    rng = random.Random(2)
    texts = [
        f"step {i}: loss={rng.random():.4f} acc={rng.random():.4f} lr={rng.random() * 1e-4:.3e} "
        f"grad_norm={rng.random() * 3:.3f} tps={rng.randint(5000, 9000)}"
        for i in range(count)
    ]
    return against(str.split, texts)


def logs(folder: Path) -> tuple[float, list[tuple[float, str]]]:
    """The ratio over all files, and each file's own."""
    files: list[tuple[str, list[Lines]]] = []
    for path in sorted(folder.glob("*.log")):
        data = path.read_bytes()
        body = data if data.endswith(b"\n") else data + b"\n"
        body *= 10_000 // max(body.count(b"\n"), 1) + 1
        container = "cri" if b" stdout F " in data else "plain"
        whole = frame(body, 0, container)  # type: ignore[arg-type]  # one of the two
        texts = whole.texts[:10_000]
        files.append((path.name, [as_lines(texts[at : at + DELTA]) for at in range(0, len(texts), DELTA)]))

    turns = range(max(len(deltas) for _, deltas in files))

    def ours() -> None:
        states = [State() for _ in files]
        for turn in turns:  # what a turn makes is kept until its end, as a worker keeps it until it is inserted
            kept: list[object] = []
            for place, (_, deltas) in enumerate(files):
                if turn < len(deltas):
                    states[place], points, events = extract(states[place], deltas[turn])
                    kept.append((points, events))

    def plain() -> None:
        for turn in turns:
            kept: list[object] = []
            for _, deltas in files:
                if turn < len(deltas):
                    kept.append([text.split() for text in deltas[turn].texts])

    single = []
    for name, deltas in files:

        def one(deltas: list[Lines] = deltas) -> None:
            state = State()
            for delta in deltas:
                state, _, _ = extract(state, delta)

        def split(deltas: list[Lines] = deltas) -> None:
            for delta in deltas:
                [text.split() for text in delta.texts]

        single.append((best(split, 2) / best(one, 2), name))
    return best(plain, 3) / best(ours, 3), sorted(single)


HOSTILE: dict[str, Callable[[int], str]] = {
    "nested brackets": lambda n: "[" * n,
    "nested braces": lambda n: '{"a":' * (n // 5),
    "open strings": lambda n: "{'a': '" + "\\'" * (n // 2),
    "one long number": lambda n: "loss: " + "1" * n,
    "thousands": lambda n: "loss: 1" + ",111" * (n // 4),
    "exponents": lambda n: "1e" * (n // 2),
    "pairs": lambda n: "loss=0.5 " * (n // 9),
    "words": lambda n: "word " * (n // 5),
    "numbers": lambda n: "1 " * (n // 2),
    "blanks": lambda n: "a" + " " * n + "b",
    "bars": lambda n: "37%|" * (n // 4),
    "cells": lambda n: "| a " * (n // 4) + "|",
    "commas": lambda n: "a," * (n // 2),
    "colons": lambda n: "a : " * (n // 4),
    "slashes": lambda n: "1/" * (n // 2),
    "stamps": lambda n: "2024-01-01 00:00:00 " * (n // 20),
    "escapes": lambda n: "\x1b[" + "0;" * (n // 2),
    "saving": lambda n: "saving " * (n // 7),
}


def slope(make: Callable[[int], str], long: int = LINE_LIMIT) -> float:
    """The exponent of time over length, between an eighth of the limit and the limit."""
    short = long // 8
    few = best(lambda: extract(State(), as_lines([make(short)])), 2)
    many = best(lambda: extract(State(), as_lines([make(long)])), 2)
    return math.log(many / few) / math.log(8)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--logs", type=Path, help="a folder of *.log files")
    args = parser.parse_args()
    missed = 0

    def say(what: str, ratio: float, target: float, most: bool = False) -> None:
        nonlocal missed
        good = ratio <= target if most else ratio >= target
        missed += not good
        print(f"{what:48} {ratio:6.2f}  ({'at most' if most else 'at least'} {target}){'' if good else '  MISSED'}")

    say("SDK records of four scalars / orjson.loads", records(), TARGETS["records"])
    say("text line of six numbers / str.split", text(), TARGETS["text"])
    if args.logs:
        ratio, single = logs(args.logs)
        say("logs, interleaved / str.split", ratio, TARGETS["logs"])
        for own, name in single[:12]:
            print(f"    {own:6.2f}  {name}")
    for name, make in HOSTILE.items():
        say(f"exponent of time over length: {name}", slope(make), TARGETS["exponent"], most=True)
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
