"""Memory of shipper and worker while what they deliver to is away, and whether all is stored once when it has come back.

`python -m bench.memory broker` stops the broker, `… store` stops ClickHouse, for `--minutes`, with `--rate` lines a second
written all the while. Starts a broker and a store of its own. Exit code 1: a limit was passed, or a line is missing or twice.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path

from deploy.demo.check import Query
from deploy.local.settings import LocalSettings
from deploy.local.stack import Stack

FILES = 20
TICK = 0.1  # s between writes to the files
LIMITS = {"shipper": 100, "worker": 500}  # MiB
WATCHED = {"broker": "shipper", "store": "worker"}  # who waits for what
LINES = "SELECT count() AS lines, uniqExact(text) AS different FROM lines WHERE task_id = 'memory' AND file_id = {file:String}"


class Writer(threading.Thread):
    """Numbered lines into all files by turns, at `rate` a second, until told to stop."""

    def __init__(self, folder: Path, rate: int) -> None:
        super().__init__(daemon=True)
        self._files = [(folder / f"{number}.log").open("wb", buffering=0) for number in range(FILES)]
        self._rate = rate
        self._told = threading.Event()
        self.written = 0

    def run(self) -> None:
        began = time.monotonic()
        while not self._told.wait(TICK):
            due = int((time.monotonic() - began) * self._rate)
            each = (due - self.written) // FILES
            for file in self._files:
                numbers = range(self.written, self.written + each)
                file.write(
                    b"".join(
                        b"line %d loss=%.6f accuracy=%.4f and words as they are\n" % (n, 1 / (n + 1), n % 100) for n in numbers
                    )
                )
                self.written += each

    def stop(self) -> None:
        self._told.set()
        self.join()
        for file in self._files:
            file.close()


class Program:
    """One of ours, started again when it ends as an orchestrator would, and samples of its memory."""

    def __init__(self, module: str, environ: dict[str, str]) -> None:
        self._command, self._environ = [sys.executable, "-m", module], environ
        self._began = time.monotonic()
        self._samples: list[tuple[float, float]] = []  # (minutes, MiB)
        self.ends = -1
        self._start()

    def sample(self) -> None:
        if self._process.poll() is not None:
            self._start()
        status = Path(f"/proc/{self._process.pid}/status").read_text()
        if "VmRSS:" in status:  # else it ended this moment
            mib = int(status.split("VmRSS:")[1].split()[0]) / 1024
            self._samples.append(((time.monotonic() - self._began) / 60, mib))

    def kill(self) -> None:
        self._process.kill()
        self._process.wait()

    @property
    def most(self) -> float:
        return max(mib for _, mib in self._samples)

    def slope(self) -> float:
        """MiB a minute over the later half of the samples so far."""
        minutes, mib = zip(*self._samples[len(self._samples) // 2 :], strict=True)
        return statistics.linear_regression(minutes, mib).slope

    def _start(self) -> None:
        self.ends += 1
        self._process = subprocess.Popen(self._command, env=self._environ, stderr=subprocess.DEVNULL)


def until(condition: Callable[[], bool], seconds: float) -> float:
    """Seconds until it came true; exits when it does not in time."""
    began = time.monotonic()
    while not condition():
        if time.monotonic() - began > seconds:
            sys.exit(f"not within {seconds:.0f} s")
        time.sleep(0.5)
    return time.monotonic() - began


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.memory", description=__doc__)
    parser.add_argument("away", choices=list(WATCHED), help="what is stopped")
    parser.add_argument("--minutes", type=float, default=10.0, help="how long it is away (default: %(default)s)")
    parser.add_argument("--rate", type=int, default=10_000, help="lines a second (default: %(default)s)")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="trainwire-memory-") as folder:
        stack = Stack(Path(folder) / "stack", LocalSettings())
        stack.start(tied=True)
        try:
            good = measure(stack, Path(folder) / "logs", options.away, options.minutes, options.rate)
        finally:
            stack.remove()
    sys.exit(not good)


def measure(stack: Stack, logs: Path, away: str, minutes: float, rate: int) -> bool:
    logs.mkdir()
    environ = {name: value for name, value in os.environ.items() if not name.startswith("TRAINWIRE_")} | stack.environ()
    environ |= {"TRAINWIRE_TASK_ID": "memory", "TRAINWIRE_LOGS": f"{logs}/*.log", "TRAINWIRE_WORKER_HEALTH": "127.0.0.1:0"}
    migrate = [str(Path(sys.executable).with_name("trainwirectl")), "migrate", "up"]
    subprocess.run(migrate, env=environ, check=True, stdout=subprocess.DEVNULL)
    programs = {"shipper": Program("producers.shipper", environ), "worker": Program("stream_jobs", environ)}
    service = stack.broker if away == "broker" else stack.store
    query = Query(stack.clickhouse_url, "viewer", stack.password("viewer"), "trainwire")
    writer = Writer(logs, rate)

    def stored() -> int:
        try:
            return int(query.rows("SELECT sum(lines) AS lines FROM files")[0]["lines"])
        except OSError:  # it starts
            return 0

    def sample() -> None:
        for program in programs.values():
            program.sample()

    def all_stored() -> bool:
        sample()
        return stored() == writer.written

    try:
        writer.start()
        until(lambda: stored() > 0, 120)
        service.stop()
        began, before = time.monotonic(), writer.written
        while time.monotonic() - began < minutes * 60:
            sample()
            time.sleep(1)
        waited = writer.written - before
        slopes = {name: program.slope() for name, program in programs.items()}
        writer.stop()
        service.start()
        seconds = until(all_stored, 1800)
    finally:
        for program in programs.values():
            program.kill()
    shown = [query.rows(LINES, file=row["file_id"])[0] for row in query.rows("SELECT file_id FROM files")]
    lines, different = sum(row["lines"] for row in shown), sum(row["different"] for row in shown)
    print(f"{away} away for {minutes:.0f} min at {rate} lines/s: {waited} lines waited, stored {seconds:.0f} s after its return")
    for name, program in programs.items():
        print(
            f"{name}: at most {program.most:.0f} MiB, {slopes[name]:+.2f} MiB a minute while it was away;"
            f" ended and begun again {program.ends} times"
        )
    print(f"{writer.written} lines written, {lines} shown: lost {writer.written - different}, doubled {lines - different}")
    watched = WATCHED[away]
    return lines == different == writer.written and programs[watched].most < LIMITS[watched]


if __name__ == "__main__":
    main()
