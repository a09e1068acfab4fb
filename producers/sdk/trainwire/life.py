"""The process around the runs: its exit, SIGTERM and forks. Hooks are set with the first run and find all that live."""

from __future__ import annotations

import atexit
import os
import signal
import sys
import threading
from types import FrameType
from typing import TYPE_CHECKING, Any, Dict, Optional

if TYPE_CHECKING:
    from trainwire.run import Run

_runs: Dict[int, Run] = {}  # also keeps them: a run that the script let go of still has records to write
_hooked = False
_previous: Any = None  # what SIGTERM did before; the signal module's own type has four shapes
_finalizer_pid = 0  # the process whose multiprocessing ends our files
_fork = threading.local()  # `mask`: which signals the thread that forks had blocked before
_handling = False  # whether SIGTERM comes to us


def remember(run: Run) -> None:
    """From now on the run is ended with the process."""
    global _hooked
    _runs[id(run)] = run
    if not _hooked:
        _hooked = True
        atexit.register(_at_exit)
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(before=_before_fork, after_in_parent=_unblock, after_in_child=_after_fork)


def forget(run: Run) -> None:
    """The run has ended by itself."""
    _runs.pop(id(run), None)
    if not _runs:
        _unhook_signal()


def _at_exit() -> None:
    for run in list(_runs.values()):
        run.at_exit()


def _before_fork() -> None:
    """Python forgets a signal that reaches a child before it is set up; a blocked one waits until nothing of ours is there."""
    if _handling:
        _fork.mask = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})
    for run in list(_runs.values()):
        run.before_fork()


def _after_fork() -> None:
    """A child that never logs is as if we were not there: SIGTERM ends it even inside a library's long call."""
    for run in list(_runs.values()):
        run.after_fork()
    _unhook_signal()
    _unblock()


def _unblock() -> None:
    mask = getattr(_fork, "mask", None)
    if mask is not None:
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)
        _fork.mask = None


def speaks() -> None:
    """A run begins to write, or does so again in a forked child: its file has to be ended with the process."""
    _hook_signal()
    _hook_multiprocessing()


def _hook_multiprocessing() -> None:
    """Children of multiprocessing leave by `os._exit`, past atexit, but run these finalizers."""
    global _finalizer_pid
    if _finalizer_pid == os.getpid():
        return
    util = sys.modules.get("multiprocessing.util")
    process = sys.modules.get("multiprocessing.process")
    if util is not None and process is not None and process.parent_process() is not None:
        util.Finalize(None, _at_exit, exitpriority=0)
        _finalizer_pid = os.getpid()


def _hook_signal() -> None:
    global _previous, _handling
    if _handling or threading.current_thread() is not threading.main_thread():
        return  # only the main thread may; a run begun elsewhere loses at most one flush interval to SIGTERM
    previous = signal.getsignal(signal.SIGTERM)
    if previous is None or previous is signal.SIG_IGN:
        return  # set outside Python, or not to end this process
    _previous = previous
    signal.signal(signal.SIGTERM, _on_sigterm)
    _handling = True


def _unhook_signal() -> None:
    global _handling
    if not _handling or threading.current_thread() is not threading.main_thread():
        return
    if signal.getsignal(signal.SIGTERM) is _on_sigterm:  # else somebody chained after us and may call us: we pass on
        signal.signal(signal.SIGTERM, _previous)
        _handling = False


def _on_sigterm(number: int, frame: Optional[FrameType]) -> None:
    """A handler that was there before decides what follows: the records are made safe, no more. Else the task stops here."""
    if callable(_previous):
        for run in list(_runs.values()):
            run.flush(1.0)
        _previous(number, frame)
        return
    for run in list(_runs.values()):
        run.at_sigterm(number)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    os.kill(os.getpid(), number)
