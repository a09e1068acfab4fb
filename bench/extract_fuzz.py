"""Extraction on broken logs, for as long as you like: mutated real lines, any cut.

    python -m bench.extract_fuzz --logs FOLDER [--minutes 60] [--seed 1]

Shows: no exception; the same rows however the lines are cut; every value is found in its line by an independent check
(the line cut at everything that is no number); no line costs more than a constant plus so much a character.
"""

from __future__ import annotations

import argparse
import math
import random
import re
import sys
import time
from dataclasses import replace
from pathlib import Path

from schemas.framing import Lines, frame
from stream_jobs.extract import Points, State, extract

PRINTED = re.compile(r"[0-9][0-9,]*\.?[0-9]*(?:[eE][-+]?[0-9]+)?|\.[0-9]+(?:[eE][-+]?[0-9]+)?")
WORDS = re.compile(r"(?i)nan|inf")
COLOURS = re.compile(r"\x1b\[[0-?]*[ -/]*[@-~]")  # and other control sequences: a terminal shows what is left
BITS = [
    "",
    " ",
    "  ",
    "\t",
    "|",
    "=",
    ":",
    ": ",
    ", ",
    "[",
    "]",
    "(",
    ")",
    "{",
    "}",
    "'",
    '"',
    "-",
    "/",
    "%",
    "nan",
    "inf",
    "1e400",
    "0x1",
    "1_0",
]
BITS += [
    ".",
    "1,2",
    "1,234",
    "loss",
    "epoch ",
    "step ",
    "10/20",
    "\x1b[1m",
    "é",
    "\r",
    "[Rank 0]",
    "{'loss': ",
    "100%|##|",
    "---",
    "12:30:00",
]
SECONDS, SECONDS_PER_CHARACTER = 0.5, 40e-6  # far above what any line costs on a busy machine, far below a quadratic one


def shown(text: str) -> str:
    """What a terminal prints of a text, character by character (ECMA-48: escape, then [ and a sequence, or one final byte)."""
    state, printed = "", []
    for char in text:
        if char == "\x1b":
            state = "escape"  # whatever was open is given up
        elif char < " " and char != "\t":
            continue
        elif state == "escape":
            state = "sequence" if char == "[" else state if char <= "/" else ""
        elif state == "sequence":
            state = "" if "@" <= char <= "~" else state
        else:
            printed.append(char)
    return "".join(printed)


def said(text: str, value: float) -> bool:
    """The line prints this value, with or without thousands commas, signs aside: on a terminal, or with its colours taken out."""
    found: set[float] = set()
    readings = {shown(text), COLOURS.sub("", text)}
    for number in (number for reading in readings for number in PRINTED.findall(reading)):
        for form in {number.replace(",", ""), *number.split(",")}:
            if form.lstrip(".")[:1].isdigit():  # of `1,e5` only the 1
                found.add(float(form))
    if abs(value) in found:
        return True
    return not math.isfinite(value) and any(WORDS.search(reading) for reading in readings)


def mutate(rng: random.Random, text: str, others: list[str]) -> str:
    for _ in range(rng.choice((1, 1, 2, 3, 8))):
        at = rng.randrange(len(text) + 1)
        stop = min(len(text), at + rng.choice((0, 1, 3, 10)))
        how = rng.randrange(5)
        if how == 0:
            text = text[:at] + rng.choice(BITS) + text[at:]
        elif how == 1:
            text = text[:at] + text[stop:]
        elif how == 2:
            text = text[:at] + rng.choice(BITS) + text[stop:]
        elif how == 3:
            other = rng.choice(others)
            text = text[:at] + other[rng.randrange(len(other) + 1) :]
        else:
            text = text[:at] + text[at:stop] * rng.choice((2, 3, 50)) + text[stop:]
    return text.replace("\n", " ")[:8192]


def part(lines: Lines, start: int, stop: int) -> Lines:
    return replace(lines, offsets=lines.offsets[start:stop], ends=lines.ends[start:stop], texts=lines.texts[start:stop])


def rows(lines: Lines, points: Points) -> list[tuple[object, ...]]:
    return [
        (lines.offsets[line], index, name, repr(value), step, repr(epoch), at)
        for line, index, name, value, step, epoch, at in zip(
            points.line, points.index, points.name, points.value, points.step, points.epoch, points.time, strict=True
        )
    ]


def one_round(rng: random.Random, texts: list[str]) -> tuple[int, int, list[str]]:
    """Lines and points read, and what went wrong."""
    start = rng.randrange(len(texts))
    picked = texts[start : start + rng.randrange(1, 60)]
    picked = [mutate(rng, text, texts) if rng.random() < 0.5 else text for text in picked]
    lines = frame("\n".join(picked * rng.choice((1, 1, 3))).encode("utf-8", "surrogatepass"), 0)
    begun = time.process_time()
    _, points, _ = extract(State(), lines)
    spent = time.process_time() - begun
    wrong: list[str] = []
    characters = sum(map(len, lines.texts))
    if spent > SECONDS * max(len(lines.texts) / 10, 1) + SECONDS_PER_CHARACTER * characters:
        wrong.append(f"slow: {spent:.2f} s for {characters} characters: {picked!r}")
    for line, value in zip(points.line, points.value, strict=True):
        if not said(lines.texts[line], value):
            wrong.append(f"not said: {value} in {lines.texts[line]!r}")
    got: list[tuple[object, ...]] = []
    state, at = State(), 0
    while at < len(lines.texts):
        stop = min(at + rng.choice((1, 2, 5, 20)), len(lines.texts))
        piece = part(lines, at, stop)
        state, some, _ = extract(state, piece)
        state = State.load(state.dump()) if rng.random() < 0.3 else state
        got += rows(piece, some)
        at = stop
    if got != rows(lines, points):
        wrong.append(f"another cut, other rows: {picked!r}")
    return len(lines.texts), len(points), wrong


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--logs", type=Path, required=True)
    parser.add_argument("--minutes", type=float, default=1.0)
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    rng = random.Random(args.seed)
    texts = [line for path in sorted(args.logs.glob("*.log")) for line in path.read_text(errors="replace").split("\n")]
    end = time.monotonic() + 60 * args.minutes
    lines = points = rounds = bad = 0
    while time.monotonic() < end and bad < 10:
        more_lines, more_points, wrong = one_round(rng, texts)
        lines, points, rounds = lines + more_lines, points + more_points, rounds + 1
        for text in wrong[:3]:
            print(text)
        bad += bool(wrong)
    print(f"{rounds} rounds, {lines} lines, {points} points, {bad} rounds with faults")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
