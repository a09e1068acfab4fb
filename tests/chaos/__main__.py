"""`make chaos`: seeded faults over the whole local stack, then every view against the journal.

Exit code 0: nothing is lost, nothing is doubled, nothing is shown wrong.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from tests.chaos.plan import KINDS, Round, plan
from tests.chaos.run import Report, run


def main() -> int:
    parser = argparse.ArgumentParser(prog="make chaos", description=__doc__)
    parser.add_argument("--seed", type=int, default=1, help="the same seed gives the same faults in the same order")
    parser.add_argument("--minutes", type=float, default=15.0, help="how long faults go on")
    parser.add_argument("--rate", type=float, default=500.0, help="lines a second, over all files")
    parser.add_argument("--tasks", type=int, default=3)
    parser.add_argument("--only", nargs="+", choices=list(KINDS), default=list(KINDS), metavar="KIND", help="only these faults")
    parser.add_argument("--keep", type=Path, help="folder for logs and programs' output that stays; else a temporary one")
    options = parser.parse_args()
    if all(KINDS[name].outage for name in options.only):
        parser.error("--only outages: name a short kind too, they come between")
    began = time.monotonic()

    def say(text: str) -> None:
        print(f"{time.monotonic() - began:7.1f} s  {text}", flush=True)

    rounds = _until(plan(options.seed, tuple(options.only), minutes=options.minutes), began + options.minutes * 60)
    with tempfile.TemporaryDirectory(prefix="trainwire-chaos-") as folder:
        report = run(options.keep or Path(folder), options.seed, rounds, rate=options.rate, tasks=options.tasks, say=say)
    print(text_of(report, options.seed))
    return 0 if report.good else 1


def _until(rounds: Iterator[Round], deadline: float) -> Iterator[Round]:
    while time.monotonic() < deadline:
        yield next(rounds)


def text_of(report: Report, seed: int) -> str:
    """The run's result as people read it."""
    verdict = report.verdict
    lines = [f"seed {seed}: {report.faults.total()} faults, {report.healthy.total()} of them at lag 0"]
    lines += [f"  {count:4}  {kind} ({report.healthy[kind]} at lag 0)" for kind, count in sorted(report.faults.items())]
    lines += [
        f"  {name} ended by itself {count} times and was started again" for name, count in report.ended_by_themselves.items()
    ]
    lines += [
        f"lines:  {verdict.lines_written} written, {verdict.lines_stored} shown ({verdict.raw_lines} raw rows)",
        f"points: {verdict.points_written} written, {verdict.points_stored} shown",
        f"lost {verdict.lost}, doubled {verdict.doubled}",
        *verdict.faults,
    ]
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main())
