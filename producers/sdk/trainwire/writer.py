"""From memory to disk: a bounded buffer and the one thread that writes it.

The training's threads only append to the buffer. A disk that is full, slow or gone costs them nothing: the writer tries again
at every interval, and a buffer that is full loses its oldest records, which an event record counts when there is space.

Signal handlers may run in the middle of any call of the main thread, so that the usual path takes no lock at all: a deque's
`append` and `popleft` are atomic, and flushing is a request to the writing thread through `SimpleQueue`, which may be entered
again. What is held is counted by three sums, each changed by one kind of thread: of one count that both changed, a change as
large as the buffer could be lost, and then the newest records were dropped. When several threads log, the first sum is off by
a record now and then; it is set right when all is written.
"""

from __future__ import annotations

import contextlib
import queue
import threading
import time
from collections import deque
from functools import partial
from pathlib import Path
from typing import Callable, Deque, Optional, Tuple

from trainwire import records
from trainwire.chain import Chain

_WAKE_SHARE = 8  # the writer is woken early when the buffer is filled to one part of this many

Request = Tuple["threading.Lock", bool, Optional[bytes]]  # released when done; whether the thread is to end; the end record


class Writer:
    """Writes whole lines into the files of one start. Made once a run; `after_fork` makes it a child's own."""

    def __init__(
        self,
        folder: Path,
        stem: str,
        header: Callable[[str, int, Optional[str]], str],
        *,
        flush_seconds: float,
        max_file_bytes: int,
        buffer_bytes: int,
        complain: Callable[[str, str], None],
        started: Callable[[], None],
    ) -> None:
        """`header(uuid, number, before)` makes the first record of each file; `complain(what, why)` tells people, once a `what`;
        `started()` is called by the thread whose record made the writer begin, or begin again after a fork."""
        self._folder = folder
        self._flush_seconds = flush_seconds
        self._buffer_bytes = buffer_bytes
        self._complain = complain
        self._started = started
        self._new_chain = partial(Chain, folder, stem, header, max_file_bytes, complain, self._trouble)
        self._begin()

    def _begin(self) -> None:
        self._chain = self._new_chain()
        self._writing = threading.Lock()  # of the chain: never waited for
        self._lines: Deque[bytes] = deque()
        self._put_bytes = 0  # of all lines ever put: changed by the threads that log
        self._dropped_bytes = 0  # of those dropped again: by the same, seldom by the writer
        self._taken_bytes = 0  # of those in the writer's hands or written: by who holds `_writing`
        self._wake_at = self._buffer_bytes // _WAKE_SHARE  # of `_put_bytes`
        self._lock = threading.RLock()  # of the rare things: starting the thread, counting what is dropped
        self._dropped = 0
        self.dropped_total = 0
        self._last: Optional[bytes] = None  # the end record, once it is known
        self._thread: Optional[threading.Thread] = None
        self._requests: queue.SimpleQueue[Request] = queue.SimpleQueue()

    @property
    def path(self) -> Optional[Path]:
        """The file that is written to now; None where none could be made yet."""
        return self._chain.path

    @property
    def used(self) -> bool:
        """Whether any line was put since the beginning, or since the fork that made this process."""
        return self._thread is not None or self._chain.path is not None or bool(self._lines)

    def put(self, line: str) -> None:
        """Takes one whole line. Never waits, never raises for a disk's sake."""
        data = line.encode("utf-8", "replace")  # half of a surrogate pair has no UTF-8: "?"
        self._lines.append(data)
        self._put_bytes += len(data)
        if self._put_bytes > self._wake_at:
            self._crowded()
        if self._thread is None:
            self._start()

    def flush(self, timeout: float) -> bool:
        """Writes what is held; True when all of it is in the file. Waits at most `timeout` seconds."""
        return self._ask(timeout) and self._empty()

    def close(self, line: str, timeout: float) -> bool:
        """As `flush`, then writes `line` as the last one. Where the disk takes nothing in time, the thread goes on trying."""
        thread = self._thread
        done = self._ask(timeout, last=line.encode("utf-8", "replace")) and self._ended()
        if done and thread is not None and thread is not threading.current_thread():
            thread.join(timeout)
        return done

    def before_fork(self) -> None:
        """Ends the thread, so that a fork finds one thread less (Python 3.12 warns of forks beside threads)."""
        thread = self._thread
        if thread is not None and thread is not threading.current_thread():
            self._ask(0.1, stop=True)
            thread.join(0.1)
            self._thread = None  # the next record starts another

    def after_fork(self) -> None:
        """In the child: forget what the parent holds and will write. A file of our own comes with the first record."""
        self._chain.forget()
        self._begin()

    # -- the writing thread ------------------------------------------------------------------------------------------

    def _start(self) -> None:
        with self._lock:
            if self._thread is not None:
                return
            self._requests = queue.SimpleQueue()
            self._thread = threading.Thread(target=self._loop, args=(self._requests,), name="trainwire", daemon=True)
            try:
                self._thread.start()
            except RuntimeError:  # no thread can be had (limits, interpreter at its end): the caller of `flush` writes
                self._thread = None
        self._started()

    def _loop(self, requests: queue.SimpleQueue[Request]) -> None:
        while True:
            request: Optional[Request] = None
            with contextlib.suppress(queue.Empty):
                request = requests.get(timeout=self._flush_seconds)
            if request is not None and request[2] is not None:
                self._last = request[2]
            self._write_held()
            if request is not None:
                request[0].release()
                if request[1]:
                    return
            if self._ended():
                return

    def _ask(self, timeout: float, *, stop: bool = False, last: Optional[bytes] = None) -> bool:
        """Has the buffer written once; False when that did not happen in time."""
        thread = self._thread
        deadline = time.monotonic() + timeout
        if thread is not None and thread is not threading.current_thread():
            done = threading.Lock()
            done.acquire()
            self._requests.put((done, stop, last))
            while thread.is_alive():
                if done.acquire(timeout=max(0.0, min(0.1, deadline - time.monotonic()))):
                    return True
                if time.monotonic() >= deadline:
                    return False
        self._last = last or self._last  # no thread: none could be started, or it has done its work
        return self._write_held()

    def _write_held(self) -> bool:
        if not self._writing.acquire(blocking=False):
            return False  # another thread is at it, perhaps stuck in the disk
        try:
            self._write()
            return True
        except Exception as error:  # a fault of ours must not end the thread, and with it the record of the task
            self._complain("fault in the writer", f"{type(error).__name__}: {error}")
            return False
        finally:
            self._writing.release()

    def _write(self) -> None:
        chain = self._chain
        if chain.sealed:
            chain.settle_last()
            return
        lines: Deque[bytes] = deque()
        with contextlib.suppress(IndexError):  # emptied by `_crowded` meanwhile
            for _ in range(len(self._lines)):
                lines.append(self._lines.popleft())
        self._taken_bytes += sum(map(len, lines))
        if not self._lines:
            self._taken_bytes = self._put_bytes - self._dropped_bytes
        self._wake_at = self._taken_bytes + self._dropped_bytes + self._buffer_bytes // _WAKE_SHARE
        try:
            if (lines or self._last or chain.unfinished or chain.path is None) and chain.ready() and self._tell_dropped():
                chain.take(lines)
                # the end, and what was dropped before it, may have come while we hung in the disk
                if self._last is not None and not lines and not self._lines and self._tell_dropped():
                    chain.seal(self._last)
        finally:
            if chain.lost:
                self._count_dropped(chain.lost)
                chain.lost = 0
            if lines:
                self._put_back(lines)

    # -- a disk that does not take what we have ----------------------------------------------------------------------

    def _crowded(self) -> None:
        """Wakes the writer, and drops the oldest records beyond the bound."""
        if self._held <= self._buffer_bytes:
            self._wake_at = self._bound  # wake once; the next stop is the bound
            done = threading.Lock()
            done.acquire()
            self._requests.put((done, False, None))
            return
        with contextlib.suppress(IndexError):  # emptied by the writer meanwhile
            while self._held > self._buffer_bytes:
                self._dropped_bytes += len(self._lines.popleft())
                self._count_dropped(1)
        self._wake_at = self._bound

    def _put_back(self, lines: Deque[bytes]) -> None:
        self._lines.extendleft(reversed(lines))
        self._taken_bytes -= sum(map(len, lines))
        self._wake_at = self._bound  # the writer knows already
        if self._held > self._buffer_bytes:
            self._crowded()

    @property
    def _held(self) -> int:
        """Bytes in the buffer."""
        return self._put_bytes - self._taken_bytes - self._dropped_bytes

    @property
    def _bound(self) -> int:
        """The sum of all that was put at which the buffer is full."""
        return self._taken_bytes + self._dropped_bytes + self._buffer_bytes

    def _count_dropped(self, count: int) -> None:
        with self._lock:
            self._dropped += count
            self.dropped_total += count

    def _tell_dropped(self) -> bool:
        """Writes the event that says how many records are missing here; False when the disk does not take that either."""
        with self._lock:
            count, self._dropped = self._dropped, 0
        if not count:
            return True
        message = f"{count} records did not fit into memory before the disk took them; the oldest were dropped"
        event: Deque[bytes] = deque()
        event.append(records.event(int(time.time() * 1000), "dropped", message, {"records": count}, []).encode())
        self._chain.take(event)
        if event:
            with self._lock:
                self._dropped += count  # not told yet; `dropped_total` has them already
        return not event and not self._chain.unfinished

    def _trouble(self, error: Optional[OSError]) -> None:
        self._complain(
            "log file does not take records",
            f"{error} ({self._folder}); up to {self._buffer_bytes:,} bytes wait in memory, training goes on",
        )

    def _empty(self) -> bool:
        return not self._lines and not self._chain.unfinished

    def _ended(self) -> bool:
        return self._chain.sealed and not self._chain.unfinished
