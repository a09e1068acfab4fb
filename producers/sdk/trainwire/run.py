"""A run: what `trainwire.init` returns and a training script talks to.

No method of a run raises, waits for a disk or touches a network: what cannot be recorded is counted in `problems` and told once
a kind on stderr. Only `init` raises, ValueError, before the training starts.
"""

from __future__ import annotations

import dataclasses
import os
import socket
import sys
import threading
import time
from pathlib import Path
from types import TracebackType
from typing import Any, Callable, Dict, List, Mapping, Optional, Sequence, Type

from trainwire import framework as frameworks
from trainwire import life, records
from trainwire.identity import Identity, resolve
from trainwire.writer import Writer

FLUSH_SECONDS = 0.1  # a curve is a second fresh with room to spare; ten wake-ups a second cost a training nothing
MAX_FILE_BYTES = 64 << 20  # small enough to read and delete one by one, large enough to be few
BUFFER_BYTES = 8 << 20  # some 80,000 scalars while the disk takes nothing
CLOSE_SECONDS = 5.0  # the longest that an ending process waits for a hanging disk
SIGNAL_SECONDS = 2.0  # the same inside a signal handler
DEFAULT_DIR = "trainwire-logs"


class Run:
    """One process of a task and the log files that it appends to. Thread-safe; a forked child gets files of its own."""

    def __init__(self, identity: Identity, folder: Path, *, flush_seconds: float, max_file_bytes: int, buffer_bytes: int) -> None:
        self.identity = identity
        self.problems: Dict[str, int] = {}  # what could not be recorded → how often
        self._told: List[str] = []
        self._closed = False
        self._forked = False
        self._began = int(time.time() * 1000)
        self._refused_lock = threading.RLock()
        self._writer = Writer(
            folder,
            identity.stem(),
            self._header,
            flush_seconds=flush_seconds,
            max_file_bytes=max_file_bytes,
            buffer_bytes=buffer_bytes,
            complain=self._complain,
            started=life.speaks,
        )

    # -- what a training script says ---------------------------------------------------------------------------------

    def log(self, metrics: Mapping[str, Any], step: Optional[int] = None, epoch: Optional[float] = None) -> None:
        """Records numbers by name, at a step and in an epoch where the script has them.

        Nested dicts become names with "/"; scalars of NumPy, Torch and the like, 0-d arrays, Decimal, Fraction and bool (1, 0)
        are taken exactly, NaN and ±Inf too; None is skipped; anything else is left out and counted in `problems`.
        """
        try:
            if self._closed:
                self._complain("after finish", "a record came after finish() and was left out")
                return
            t = int(time.time() * 1000)
            line = records.simple_log(t, step, epoch, metrics) if metrics.__class__ is dict else None
            if line is not None:
                self._writer.put(line)
                return
            refused: records.Refused = []
            for line in records.log(t, step, epoch, metrics, refused):
                self._writer.put(line)
            if refused:
                self._refuse(refused)
        except Exception as error:  # training goes on whatever it hands to us
            self._complain("log", f"{type(error).__name__}: {error}")

    def progress(self, done: float, total: Optional[float] = None, unit: Optional[str] = None) -> None:
        """Records how far the task is: `done` of `total` `unit`s."""
        self._record("progress", lambda t, refused: records.progress(t, done, total, unit, refused))

    def status(self, word: str, message: Optional[str] = None) -> None:
        """Records the task's state: running, succeeded, failed, stopped, or a word of its own such as "evaluating"."""
        self._record("status", lambda t, _: [records.status(t, word, message=message)])

    def params(self, values: Any) -> None:
        """Records what the task was started with: a dict (nested or not), an argparse.Namespace, a dataclass."""
        self._record("params", lambda t, refused: records.params(t, values, refused))

    def event(self, kind: str, message: Optional[str] = None, **fields: Any) -> None:
        """Records that something happened: `event("checkpoint", "saved", path=path, step=100)`."""
        self._record("event", lambda t, refused: [records.event(t, kind, message, fields, refused)])

    def flush(self, timeout: float = CLOSE_SECONDS) -> bool:
        """Writes what is held to the file now, waiting at most `timeout` seconds; True when all of it is there.

        Never needed for freshness; useful before the process is replaced or killed by its own hand.
        """
        try:
            return self._writer.flush(timeout)
        except Exception as error:
            self._complain("flush", f"{type(error).__name__}: {error}")
            return False

    def finish(self, status: str = "succeeded", message: Optional[str] = None) -> None:
        """Records how the task ended and ends the file. A second call does nothing."""
        self.end(status, message=message)

    @property
    def path(self) -> Optional[Path]:
        """The file that is written to now; None while there is none."""
        return self._writer.path

    @property
    def dropped(self) -> int:
        """Records lost so far because the disk took nothing and the buffer was full."""
        return self._writer.dropped_total

    # -- how it ends -------------------------------------------------------------------------------------------------

    def __enter__(self) -> Run:
        return self

    def __exit__(self, kind: Optional[Type[BaseException]], error: Optional[BaseException], _: Optional[TracebackType]) -> None:
        """Finishes: succeeded, failed with the exception's text, or stopped by Ctrl-C. The exception goes on."""
        self.end_by(error)

    def end_by(self, error: Optional[BaseException]) -> None:
        """Finishes as the exception that ends the process says."""
        if error is None or (isinstance(error, SystemExit) and error.code in (None, 0)):
            self.end("succeeded")
        elif isinstance(error, SystemExit):
            code = error.code if isinstance(error.code, int) else 1
            self.end("failed", message=None if isinstance(error.code, int) else str(error.code), code=code)
        else:
            word = "stopped" if isinstance(error, KeyboardInterrupt) else "failed"
            self.end(word, message=f"{type(error).__name__}: {error}" if str(error) else type(error).__name__)

    def end(
        self,
        word: str,
        *,
        message: Optional[str] = None,
        code: Optional[int] = None,
        signal: Optional[int] = None,
        timeout: float = CLOSE_SECONDS,
    ) -> None:
        """Records a last status and the end, and gives the disk `timeout` seconds to take all that is held."""
        if self._closed:
            return
        try:
            t = int(time.time() * 1000)
            self._closed = True
            self._writer.put(records.status(t, word, message=message, code=code, signal=signal))
            self._close(records.end(t, word, code=code, signal=signal), timeout)
        except Exception as error:
            self._complain("finish", f"{type(error).__name__}: {error}")

    def at_exit(self) -> None:
        """The process ends without a word from the script: say what can be known.

        An exception that nobody caught is a failure. Otherwise the exit code is not known here, so that the word is "ended".
        A forked child says nothing of the task: it goes on.
        """
        if self._closed:  # the disk had not taken all
            self._writer.flush(CLOSE_SECONDS)
            return
        if self._forked:
            self.end_child()
            return
        error = None if hasattr(sys, "ps1") else getattr(sys, "last_value", None)  # a prompt keeps old errors
        if error is not None:
            self.end_by(error)
        else:
            self.end("ended")

    def at_sigterm(self, number: int) -> None:
        """The process is about to end by a signal."""
        if self._forked:
            self.end_child()
        else:
            self.end("stopped", signal=number, timeout=SIGNAL_SECONDS)

    def end_child(self) -> None:
        """Ends a forked child's file, if it has one."""
        if not self._closed and self._writer.used:
            self._closed = True
            self._close(records.end(int(time.time() * 1000), "running"), CLOSE_SECONDS)

    # -- fork --------------------------------------------------------------------------------------------------------

    def before_fork(self) -> None:
        """In the parent, before a fork."""
        self._writer.before_fork()

    def after_fork(self) -> None:
        """In the child: nothing of the parent's is ours; the first record begins a file of the child's own."""
        self._forked = True
        self._began = int(time.time() * 1000)
        self._refused_lock = threading.RLock()
        self._writer.after_fork()

    # -- inside ------------------------------------------------------------------------------------------------------

    def _header(self, uuid: str, number: int, before: Optional[str]) -> str:
        return records.header(
            int(time.time() * 1000) if before else self._began,  # not later than the records that follow it
            dataclasses.replace(self.identity, framework=self.identity.framework or frameworks.imported(sys.modules)),
            uuid=uuid,
            host=socket.gethostname(),
            pid=os.getpid(),
            file=number,
            before=before,
            mode="sdk",
        )

    def _record(self, what: str, make: Callable[[int, records.Refused], List[str]]) -> None:
        try:
            if self._closed:
                self._complain("after finish", "a record came after finish() and was left out")
                return
            refused: records.Refused = []
            for line in make(int(time.time() * 1000), refused):
                self._writer.put(line)
            if refused:
                self._refuse(refused)
        except Exception as error:
            self._complain(what, f"{type(error).__name__}: {error}")

    def _close(self, line: str, timeout: float) -> None:
        if self._writer.close(line, timeout):
            life.forget(self)
        else:
            self._complain("end", "the disk did not take all records in time; tried again until the process is gone")

    def _refuse(self, refused: records.Refused) -> None:
        for name, why in refused:
            self._complain(f"value of {name!r}", why)

    def _complain(self, what: str, why: str) -> None:
        """Counts a problem and tells it once. Never through `warnings`: those may be errors, and training is not ours to end."""
        with self._refused_lock:
            first = what not in self.problems
            if first and len(self.problems) >= 1000:  # names made up for ever must not grow us
                what = "others"
                first = what not in self.problems
            self.problems[what] = self.problems.get(what, 0) + 1
        if first:
            tell(f"trainwire: {what}: {why}")


def start(
    task_id: Optional[str] = None,
    *,
    name: Optional[str] = None,
    dir: Optional[str] = None,
    rank: Optional[int] = None,
    world_size: Optional[int] = None,
    attempt: Optional[int] = None,
    start_id: Optional[str] = None,
    owner: Optional[str] = None,
    project: Optional[str] = None,
    framework: Optional[str] = None,
    patterns: Optional[Sequence[str]] = None,
    params: Any = None,
    flush_seconds: float = FLUSH_SECONDS,
    max_file_bytes: int = MAX_FILE_BYTES,
    buffer_bytes: int = BUFFER_BYTES,
) -> Run:
    """Begins to record this process as a rank of a task: see `trainwire.init`."""
    if flush_seconds <= 0 or max_file_bytes < 1 or buffer_bytes < 1:
        raise ValueError("flush_seconds, max_file_bytes and buffer_bytes are positive numbers")
    identity = resolve(
        os.environ,
        task_id=task_id,
        name=name,
        start_id=start_id,
        attempt=attempt,
        rank=rank,
        world_size=world_size,
        owner=owner,
        project=project,
        framework=framework,
        patterns=patterns,
    )
    folder = Path(dir or os.environ.get("TRAINWIRE_LOG_DIR") or DEFAULT_DIR).absolute()
    run = Run(identity, folder, flush_seconds=flush_seconds, max_file_bytes=max_file_bytes, buffer_bytes=buffer_bytes)
    life.remember(run)
    run.status("running")
    if params is not None:
        run.params(params)
    run.flush(SIGNAL_SECONDS)  # so that the file is there, and a folder without rights is told, before the training begins
    return run


def tell(text: str) -> None:
    """One line on stderr, if there is one that takes it."""
    try:
        if sys.stderr is not None:
            sys.stderr.write(text + "\n")
    except (OSError, ValueError):  # closed or full: there is nobody left to tell
        return
