"""What one logging call costs the training: `trainwire` beside a bare JSON line and the standard library's logging.

    python bench/logging_call.py [--steps 20000] [--rounds 5]

Rounds of all three follow one another, so that a noisy machine is noisy for each; figures are medians over rounds. `cpu` is the
whole process's CPU time per call, the writing thread and the end of the run included. Prints a table and one JSON object.
"""

from __future__ import annotations

import argparse
import json
import logging
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import trainwire

Log = Callable[[int, float], None]
Close = Callable[[], object]


def with_trainwire(folder: Path, names: list[str]) -> tuple[Log, Close]:
    """The SDK as a script uses it."""
    run = trainwire.init("bench", dir=str(folder))
    return lambda step, value: run.log({name: value for name in names}, step=step), run.finish


def with_json(folder: Path, names: list[str]) -> tuple[Log, Close]:
    """The least that a script can do by itself: one JSON line, written at once."""
    file = (folder / "metrics.jsonl").open("w", buffering=1)

    def log(step: int, value: float) -> None:
        file.write(json.dumps({"step": step, **{name: value for name in names}}) + "\n")

    return log, file.close


def with_logging(folder: Path, names: list[str]) -> tuple[Log, Close]:
    """A text line by the standard library's logging, into a file."""
    handler = logging.FileHandler(folder / "train.log")
    handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(message)s"))
    logger = logging.Logger("bench", logging.INFO)
    logger.addHandler(handler)
    text = "step=%d " + " ".join(f"{name}=%.6f" for name in names)
    return lambda step, value: logger.info(text, step, *([value] * len(names))), handler.close


LOGGERS = {"trainwire": with_trainwire, "json line": with_json, "logging": with_logging}


def measure(make: Callable[[Path, list[str]], tuple[Log, Close]], scalars: int, steps: int) -> dict[str, float]:
    """Microseconds of one call: p50, p99, mean, and CPU of the whole process."""
    names = [f"train/m{index}" for index in range(scalars)]
    clock = time.perf_counter_ns
    with tempfile.TemporaryDirectory() as folder:
        cpu = time.process_time_ns()
        log, close = make(Path(folder), names)
        times = []
        for step in range(steps):
            began = clock()
            log(step, 1 / (1 + step * 1e-3))
            times.append(clock() - began)
        close()
        cpu = time.process_time_ns() - cpu
    times.sort()
    return {
        "p50": times[steps // 2] / 1e3,
        "p99": times[steps * 99 // 100] / 1e3,
        "mean": sum(times) / steps / 1e3,
        "cpu": cpu / steps / 1e3,
    }


def main() -> int:
    parser = argparse.ArgumentParser(description="Cost of a logging call, side by side.")
    parser.add_argument("--steps", type=int, default=20_000)
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    result: dict[str, dict[str, dict[str, float]]] = {}
    print(f"{'scalars':>7}  {'logger':<10} {'p50 µs':>8} {'p99 µs':>8} {'mean µs':>8} {'cpu µs':>8}   p50 against trainwire")
    for scalars in (1, 10):
        rounds: dict[str, list[dict[str, float]]] = {name: [] for name in LOGGERS}
        for _ in range(options.rounds):
            for name, make in LOGGERS.items():
                rounds[name].append(measure(make, scalars, options.steps))
        medians = {
            name: {key: round(statistics.median(found[key] for found in all_found), 2) for key in all_found[0]}
            for name, all_found in rounds.items()
        }
        ours = medians["trainwire"]["p50"]
        for name, found in medians.items():
            found["p50_ratio"] = round(found["p50"] / ours, 2)
            figures = " ".join(f"{found[key]:>8.1f}" for key in ("p50", "p99", "mean", "cpu"))
            print(f"{scalars:>7}  {name:<10} {figures}   × {found['p50_ratio']:.1f}")
        result[str(scalars)] = medians
    print(json.dumps({"bench": "logging_call", "steps": options.steps, "rounds": options.rounds, "scalars": result}))
    return 0


if __name__ == "__main__":
    sys.exit(main())
