"""`trainwire run -- CMD`: any command's output in a log file, with the records that say when and how it began and ended.

The command gets the log file itself as its stdout and stderr: there is no pipe through us that could fill up, and when this
wrapper is killed the command does not notice. The terminal is shown what arrives in the file, bytes as they are, so that progress
bars move. Needs Linux: signals are waited for with `sigtimedwait`, which tells who sent them.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import socket
import sys
import threading
import time
import uuid
from pathlib import Path
from typing import Dict, List, Mapping, Optional, Set, Tuple, Union

from trainwire import records
from trainwire.files import open_new
from trainwire.identity import Identity
from trainwire.run import tell

NOT_EXECUTABLE = 126  # as shells say it
NOT_FOUND = 127

FORWARDED = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT, signal.SIGUSR1, signal.SIGUSR2)
_STOPPING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT)
_SHOW_SECONDS = 0.03  # a bar moves smoothly at 30 pictures a second
_READ_BYTES = 1 << 16


def run(command: List[str], identity: Identity, folder: Path, environ: Mapping[str, str], *, quiet: bool = False) -> int:
    """Runs `command` to its end. Returns the exit code for our own process: the command's, or 128 + its signal.

    A log file that cannot be made or written is told on stderr, and the command runs all the same.
    """
    log = _Log.create(identity, folder, command)
    child_environ = {**environ, **identity.environment()}
    child_environ.setdefault("PYTHONUNBUFFERED", "1")
    if log is not None:
        child_environ["TRAINWIRE_LOG_DIR"] = str(folder)
        log.record(records.status(_now(), "running"))
    show = None if log is None or quiet else _Show(log.path, log.size())
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)  # where a parent ignored it, exit codes would be lost
    waited = {number for number in FORWARDED if signal.getsignal(number) is not signal.SIG_IGN} | {signal.SIGCHLD}  # nohup
    before = signal.pthread_sigmask(signal.SIG_BLOCK, waited)  # from here on they wait for `sigtimedwait`
    try:
        pid = _spawn(command, child_environ, log, before)
    except OSError as error:
        code, message = _why_not(command, child_environ, error)
        tell(f"trainwire run: {message}")
        if log is not None:
            log.finish("failed", message=message, code=code)
        return code
    if show is not None:
        show.start()
    asked, status = _wait(pid, waited)
    code, by_signal = _exit_of(status)
    if log is not None:
        if show is not None:
            show.end_at(log.size())  # our own records are not shown
        if by_signal is not None:
            log.finish("stopped" if asked else "failed", signal=by_signal)
        else:
            log.finish("succeeded" if code == 0 else "stopped" if asked else "failed", code=code)
        if show is not None:
            show.finish(waited)
    return code if by_signal is None else 128 + by_signal


def _spawn(command: List[str], environ: Dict[str, str], log: Optional[_Log], mask: Set[Union[int, signal.Signals]]) -> int:
    """Starts the command; its signals are as ours were before we began to wait for them. Raises OSError."""
    sys.stdout.flush()
    actions = [] if log is None else [(os.POSIX_SPAWN_DUP2, log.fd, 1), (os.POSIX_SPAWN_DUP2, log.fd, 2)]
    return os.posix_spawnp(
        command[0],
        command,
        environ,
        file_actions=actions,
        setsigmask=mask,
        setsigdef=[signal.SIGPIPE, signal.SIGXFSZ],  # Python ignores these two; the command expects them as usual
    )


def _wait(pid: int, waited: Set[signal.Signals]) -> Tuple[bool, int]:
    """Waits for the command: (whether somebody asked it to stop, its wait status). Passes signals on meanwhile.

    What the terminal sends (Ctrl-C) it sends to the command as well, which must not get it twice: the kernel is its sender then,
    and only what a process sent is passed on. As process 1 of a container we also bury orphans.
    """
    asked = False
    while True:
        with contextlib.suppress(InterruptedError):
            info = signal.sigtimedwait(waited, 1.0)  # a second: should a SIGCHLD ever be missed
            if info is not None and info.si_signo != signal.SIGCHLD:
                asked = asked or info.si_signo in _STOPPING
                if info.si_code <= 0:
                    with contextlib.suppress(ProcessLookupError):  # it ended in this moment
                        os.kill(pid, info.si_signo)
        while True:
            ended, status = os.waitpid(-1, os.WNOHANG)
            if ended == pid:
                return asked, status
            if ended == 0:
                break


def _exit_of(status: int) -> Tuple[int, Optional[int]]:
    if os.WIFSIGNALED(status):
        return 0, os.WTERMSIG(status)
    return os.WEXITSTATUS(status), None


def _why_not(command: List[str], environ: Mapping[str, str], error: OSError) -> Tuple[int, str]:
    name = command[0]
    found = shutil.which(name, mode=os.F_OK, path=environ.get("PATH"))
    if isinstance(error, PermissionError) or (found is not None and not isinstance(error, FileNotFoundError)):
        return NOT_EXECUTABLE, f"cannot execute {name}: {error.strerror}"
    if found is not None:
        return NOT_FOUND, f"cannot execute {name}: the interpreter that its first line names was not found"
    return NOT_FOUND, f"command not found: {name}"


class _Log:
    """The command's log file, with our records around its output."""

    def __init__(self, path: Path, fd: int) -> None:
        self.path = path
        self.fd = fd

    @classmethod
    def create(cls, identity: Identity, folder: Path, command: List[str]) -> Optional[_Log]:
        """A new file `<task>.a<attempt>.r<rank>.<start8>.log` with the header first; None, told on stderr, if there is none.

        A start that has such a file already (a container restarted in its pod) gets `….2.log` and so on.
        """
        number = 1
        try:
            folder.mkdir(parents=True, exist_ok=True)
            while True:
                path = folder / (f"{identity.stem()}.log" if number == 1 else f"{identity.stem()}.{number}.log")
                try:
                    log = cls(path, open_new(path))
                    break
                except FileExistsError:
                    number += 1
        except OSError as error:
            tell(f"trainwire run: no log file in {folder} ({error}); the command runs, and its output is not recorded")
            return None
        header = records.header(
            _now(),
            identity,
            uuid=str(uuid.uuid4()),
            host=socket.gethostname(),
            pid=os.getpid(),
            file=number,
            mode="run",
            command=command,
        )
        log.record(header)
        return log

    def size(self) -> int:
        """Bytes in the file."""
        return os.fstat(self.fd).st_size

    def record(self, text: str) -> None:
        """Appends one record as a line of its own, even where the last line has no end."""
        data = text.encode("utf-8", "replace")
        try:
            if not self._at_line_start():
                data = b"\n" + data
            while data:
                data = data[os.write(self.fd, data) :]
        except OSError as error:
            tell(f"trainwire run: {self.path} does not take a record ({error}); the command is not touched by that")

    def finish(
        self, word: str, *, message: Optional[str] = None, code: Optional[int] = None, signal: Optional[int] = None
    ) -> None:
        """Writes the last status and the end record."""
        self.record(records.status(_now(), word, message=message, code=code, signal=signal))
        self.record(records.end(_now(), word, code=code, signal=signal))

    def _at_line_start(self) -> bool:
        size = self.size()
        if size == 0:
            return True
        with self.path.open("rb") as file:
            file.seek(size - 1)
            return file.read(1) == b"\n"


class _Show(threading.Thread):
    """Copies to our stdout what is new in the log file. A terminal that takes nothing holds up only this thread."""

    def __init__(self, path: Path, start: int) -> None:
        super().__init__(name="trainwire-show", daemon=True)
        self._path = path
        self._offset = start
        self._end: Optional[int] = None
        self._reading = threading.Lock()

    def run(self) -> None:
        """Until `finish` and everything before its end was shown, or nobody looks any more."""
        try:
            with self._path.open("rb", buffering=0) as file:
                file.seek(self._offset)
                while True:
                    with self._reading:
                        end = self._end
                        data = file.read(_READ_BYTES if end is None else min(_READ_BYTES, max(0, end - self._offset)))
                    if data:
                        self._offset += len(data)
                        self._write(data)
                    elif end is not None:
                        return
                    else:
                        time.sleep(_SHOW_SECONDS)
        except OSError:  # our stdout is closed, as in `| head`: the command goes on, unseen
            return

    def end_at(self, end: int) -> None:
        """Nothing from byte `end` on is shown."""
        with self._reading:
            self._end = end

    def finish(self, waited: Set[signal.Signals]) -> None:
        """Returns when everything before the end was shown; a signal ends the wait for a terminal that takes nothing."""
        while self.is_alive():
            self.join(0.05)
            info = signal.sigtimedwait(waited, 0)
            if info is not None and info.si_signo in _STOPPING:
                return

    @staticmethod
    def _write(data: bytes) -> None:
        while data:
            data = data[os.write(1, data) :]


def _now() -> int:
    return int(time.time() * 1000)
