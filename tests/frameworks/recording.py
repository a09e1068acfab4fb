"""One training run of a real framework: its output as it writes it, and beside it what its own API says was printed.

A generator (`make_<framework>.py`) wraps each run in `recorded(…)`. Everything that the process writes to its standard
output and error goes to `logs/<name>.log`, at the level of file descriptors, so that C++ libraries are caught too. The
generator then gives the points, from callbacks or from the framework's history, never from the log. Each is a line of
`logs/<name>.points.jsonl`: `[line or null, step, epoch, name, value]`, the value rounded as the framework's format says
(`form`). The line is known where the point is given in a callback: it is the last one that was complete at that moment.

Needs only the standard library: it runs in an environment that holds frameworks and nothing of this project.
"""

from __future__ import annotations

import contextlib
import csv
import ctypes
import getpass
import json
import math
import os
import platform
import pty
import re
import shutil
import socket
import sys
import tempfile
import termios
import threading
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path

LOGS = Path(__file__).parent / "logs"
INDEX = Path(__file__).parent / "INDEX.tsv"
COLUMNS = ["file", "framework", "version", "optional", "why", "points"]
_LARGEST = 60_000  # bytes of a log


class Recording:
    """The points of one run. `at` is the number of the last complete line of the log."""

    def __init__(self, log: Path) -> None:
        self.log = log
        self.points: list[list[object]] = []

    @property
    def at(self) -> int:
        _flush()
        return self.log.read_bytes().count(b"\n")

    def point(
        self,
        name: str,
        value: float,
        *,
        step: int | None = None,
        epoch: float | None = None,
        form: str = "",
        line: int | None = None,
    ) -> None:
        """A number that the framework printed. `form`: the format it is printed in, such as `.4f`; empty: as `repr`."""
        shown = float(format(float(value), form).rstrip("%")) if form else float(value)
        number = shown if math.isfinite(shown) else "NaN" if math.isnan(shown) else "Infinity" if shown > 0 else "-Infinity"
        self.points.append([line, step, epoch, name, number])


@contextlib.contextmanager
def recorded(
    name: str,
    framework: str,
    package: str = "",
    *,
    optional: str = "",
    why: str = "",
    terminal: bool = False,
    suffix: str = ".log",
) -> Iterator[Recording]:
    """Record a run. `optional`: names (`*` for any ending) that may be read without being points, `why`: the reason.

    `terminal`: the run sees a terminal, so that bars redraw themselves. `suffix`: of a log that is not the output but a file
    which the run writes; the generator puts it in the output's place.
    """
    LOGS.mkdir(exist_ok=True)
    log = LOGS / f"{name}{suffix}"
    recording = Recording(log)
    home, work = Path.cwd(), tempfile.mkdtemp()
    os.chdir(work)
    kept = os.dup(1), os.dup(2)
    _flush()
    target = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_APPEND, 0o644)
    reader = None
    if terminal:
        ours, theirs = pty.openpty()
        termios.tcsetwinsize(theirs, (40, 110))
        reader = threading.Thread(target=_pump, args=(ours, target))
        reader.start()
        os.dup2(theirs, 1)
        os.dup2(theirs, 2)
        os.close(theirs)
    else:
        os.dup2(target, 1), os.dup2(target, 2)
    try:
        yield recording
    finally:
        _flush()
        for place, copy in enumerate(kept, 1):
            os.dup2(copy, place)
            os.close(copy)
        if reader is not None:
            reader.join()
        os.close(target)
        os.chdir(home)
        shutil.rmtree(work, ignore_errors=True)
    _neutral(log, work)
    save(log, recording.points)
    _index(log.name, framework, version(package or framework), optional, why, len(recording.points))


def save(log: Path, points: list[list[object]]) -> None:
    lines = [json.dumps(point, separators=(",", ":"), ensure_ascii=False) for point in points]
    log.with_suffix(".points.jsonl").write_text("".join(line + "\n" for line in lines), encoding="utf-8")
    if log.stat().st_size > _LARGEST or not points:
        raise SystemExit(f"{log.name}: {log.stat().st_size} bytes, {len(points)} points; make the run shorter, or print")


def _flush() -> None:
    sys.stdout.flush()
    sys.stderr.flush()
    ctypes.CDLL(None).fflush(None)


def _pump(terminal: int, target: int) -> None:
    """Copy what a terminal would show, until its last writer closes it."""
    with contextlib.suppress(OSError):  # a terminal without a writer says so by an error
        while data := os.read(terminal, 65536):
            os.write(target, data)
    os.close(terminal)


def _neutral(log: Path, work: str) -> None:
    """Take what names this machine, and any host, out of the log."""
    data = log.read_bytes()
    names = {work: "/data/run", sys.prefix: "/opt/venv", sys.base_prefix: "/usr/local", str(Path.home()): "/home/trainer"}
    names |= {platform.platform(): "Linux-x86_64", sys.version: platform.python_version()}
    names |= {socket.gethostname(): "node1"}
    if getpass.getuser() != "root":  # a word that logs hold for other reasons
        names[getpass.getuser()] = "trainer"
    for name, instead in names.items():
        data = re.sub(rb"(?<![\w.-])" + re.escape(name.encode()) + rb"(?![\w-])", instead.encode(), data)
    log.write_bytes(re.sub(rb"https?://[^\s/)]+", b"https://example.org", data))


def _index(name: str, framework: str, release: str, optional: str, why: str, points: int) -> None:
    rows = {}
    if INDEX.exists():
        with INDEX.open(newline="", encoding="utf-8") as file:
            rows = {row["file"]: row for row in csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE)}
    cells = [name, framework, release, optional, why, str(points)]
    rows[name] = dict(zip(COLUMNS, cells, strict=True))
    lines = ["\t".join(COLUMNS), *("\t".join(rows[key][column] for column in COLUMNS) for key in sorted(rows))]
    INDEX.write_text("\n".join(lines) + "\n", encoding="utf-8")
