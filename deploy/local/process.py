"""Starting processes that never stay behind, and naming them so that no stranger is ever signalled.

A process id alone names nobody: after a reboot or a wrap-around it is somebody else's. `Identity` adds the boot and the
start time (field 22 of /proc/<pid>/stat, clock ticks since boot).
"""

from __future__ import annotations

import concurrent.futures
import dataclasses
import os
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

# PR_SET_PDEATHSIG (1) has the kernel kill the child when the thread that started it ends. It outlives exec. The check of
# the parent closes the race with a starter that died in between.
_LAUNCHER = (
    "import ctypes, os, sys\n"
    "ctypes.CDLL(None).prctl(1, 9)\n"
    "if os.getppid() != int(sys.argv[1]): sys.exit(1)\n"
    "os.execvp(sys.argv[2], sys.argv[2:])\n"
)
# One thread for the whole life of the process: the kernel's signal goes by thread, and a caller's may end early.
_SPAWNER = concurrent.futures.ThreadPoolExecutor(1, thread_name_prefix="spawner")


@dataclasses.dataclass(frozen=True)
class Identity:
    """One process, for ever: equal only to itself."""

    pid: int
    started: int  # clock ticks since boot
    boot: str

    @classmethod
    def of(cls, pid: int) -> Identity | None:
        """The living process with this id; None where there is none, or only a zombie."""
        try:
            # The command in field 2 may hold spaces and parentheses; the rest counts from behind the last ")".
            rest = Path(f"/proc/{pid}/stat").read_text(errors="replace").rpartition(")")[2].split()
        except OSError:
            return None
        if rest[0] in "ZX":
            return None
        return cls(pid, int(rest[19]), Path("/proc/sys/kernel/random/boot_id").read_text().strip())

    def alive(self) -> bool:
        return Identity.of(self.pid) == self

    def signal(self, number: int) -> bool:
        """Send a signal to this very process; False when it is gone."""
        if not self.alive():
            return False
        try:
            os.kill(self.pid, number)
        except ProcessLookupError:
            return False
        return True

    def end(self, patience: float) -> None:
        """TERM, then KILL after `patience` seconds; returns when it is gone."""
        self.signal(signal.SIGTERM)
        self.signal(signal.SIGCONT)  # a stopped process takes its TERM only when it goes on
        deadline = time.monotonic() + patience
        while self.alive():
            if time.monotonic() > deadline:
                self.signal(signal.SIGKILL)
            _reap(self.pid)
            time.sleep(0.02)
        _reap(self.pid)


def find(*arguments: str) -> list[Identity]:
    """Living processes whose command line holds each of these as an argument of its own."""
    wanted = {argument.encode() for argument in arguments}
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            command = (entry / "cmdline").read_bytes().split(b"\0")
        except OSError:  # it ended in this moment, or is nobody's business of ours
            continue
        if wanted <= set(command) and (identity := Identity.of(int(entry.name))):
            found.append(identity)
    return found


def _reap(pid: int) -> None:
    """Collect a child of ours that ended, so that no zombie is left; of others' processes this knows nothing."""
    try:
        os.waitpid(pid, os.WNOHANG)
    except ChildProcessError:
        return


def spawn(command: Sequence[str], *, output: Path, environ: Mapping[str, str], tied: bool) -> Identity:
    """Start `command` in a session of its own, its output appended to a file.

    `tied`: the kernel kills it when this process ends, however that happens. Else it goes on until somebody stops it.
    """
    argv = [sys.executable, "-S", "-E", "-c", _LAUNCHER, str(os.getpid()), *command] if tied else list(command)

    def start() -> int:
        with output.open("ab") as log:
            # Popen would warn about a child that outlives it; a process here is known by its identity, and reaped by it.
            process = subprocess.Popen(
                argv, stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=dict(environ), start_new_session=True
            )
        process.returncode = 0
        return process.pid

    pid = _SPAWNER.submit(start).result()
    # A process that has ended already is named all the same: its identity is dead from the start.
    return Identity.of(pid) or Identity(pid, 0, "")
