"""The training processes: log files that grow, and everything that people and tools do to them."""

from __future__ import annotations

import os
import random
import shutil
import threading
import time
from pathlib import Path

from tests.chaos.journal import Script

TICK = 0.05  # s between two writes to a file


class LogFile:
    """One log file and its author. What the file holds and what its author said differ only by a half line, while it grows."""

    def __init__(self, path: Path, script: Script, seed: int) -> None:
        self.path, self.script = path, script
        self.lock = threading.Lock()
        self._chance = random.Random(f"{seed}/{path.name}/cuts")
        self._half = b""
        self._copies = 0
        self._handle = path.open("ab", buffering=0)
        self._put(script.begin())

    def grow(self, lines: int) -> None:
        """Write so many lines; the last one often only in part, to be completed by the next call."""
        with self.lock:
            data = self._half + b"".join(self.script.line() for _ in range(lines))
            cut = self._chance.randrange(len(data) + 1) if data and self._chance.random() < 0.5 else len(data)
            self._half = data[cut:]
            self._put(data[:cut])

    def settle(self) -> None:
        """Complete the last line."""
        with self.lock:
            self._complete()

    def close(self) -> None:
        self._handle.close()

    # What is done to it

    def rename(self) -> None:
        """What rotation by rename does: older ones move up by one."""
        with self.lock:
            self._complete()
            self._shift()
            self.path.rename(self._numbered(1))
            self._renew()

    def copytruncate(self, pause: float) -> None:
        """Copy, then truncate; the writer pauses in between, since what it wrote then would be nobody's any more."""
        with self.lock:
            self._complete()
            self._shift()
            shutil.copyfile(self.path, self._numbered(1))
            time.sleep(pause)
            os.truncate(self.path, 0)
            self._put(self.script.begin())

    def replace(self, *, in_place: bool) -> None:
        """What a logger does that writes its file anew at each save: the same lines, and some more."""
        with self.lock:
            self._complete()
            content = self.path.read_bytes() + b"".join(self.script.line() for _ in range(3))
            if in_place:
                self._handle.close()
                self._handle = self.path.open("wb", buffering=0)
                self._put(content)
                self._reopen()
            else:
                beside = self.path.with_name(f".{self.path.name}.new")
                beside.write_bytes(content)
                beside.replace(self.path)
                self._reopen()

    def truncate(self) -> None:
        """What a restart with `> log` does. What nobody had read is gone: call it only when everything is stored."""
        with self.lock:
            self._complete()
            self._handle.close()
            self._handle = self.path.open("wb", buffering=0)
            self._reopen()
            self._put(self.script.begin())

    def delete(self) -> None:
        with self.lock:
            self._complete()
            self.path.unlink()

    # Inside, with the lock held

    def _put(self, data: bytes) -> None:
        while data:
            data = data[self._handle.write(data) :]

    def _complete(self) -> None:
        self._put(self._half)
        self._half = b""

    def _reopen(self) -> None:
        self._handle.close()
        self._handle = self.path.open("ab", buffering=0)

    def _renew(self) -> None:
        self._reopen()
        self._put(self.script.begin())

    def _numbered(self, number: int) -> Path:
        return self.path.with_name(f"{self.path.name}.{number}")

    def _shift(self) -> None:
        self._copies += 1
        for number in range(self._copies - 1, 0, -1):
            self._numbered(number).rename(self._numbered(number + 1))


class Writer(threading.Thread):
    """Lets all files grow together, at `rate` lines a second in all, until it is paused or stopped."""

    def __init__(self, files: list[LogFile], rate: float) -> None:
        super().__init__(name="writer", daemon=True)
        self.files, self._rate = files, rate
        self._running = threading.Event()
        self._idle = threading.Event()
        self._ended = False
        self.error: BaseException | None = None

    def run(self) -> None:
        try:
            self._write()
        except BaseException as error:
            self.error = error
            raise
        finally:
            self._idle.set()

    def pause(self) -> None:
        """Returns when no line is half written and none follows."""
        self._running.clear()
        self._idle.wait()
        if self.error is not None:
            raise self.error
        for file in self.files:
            file.settle()

    def resume(self) -> None:
        self._idle.clear()
        self._running.set()

    def stop(self) -> None:
        self.pause()
        self._ended = True
        self._running.set()
        self.join()

    def _write(self) -> None:
        owed = 0.0
        last = time.monotonic()
        while not self._ended:
            if not self._running.is_set():
                self._idle.set()
                self._running.wait()
                last = time.monotonic()
                continue
            time.sleep(TICK)
            now = time.monotonic()
            owed += min(now - last, 1.0) * self._rate / len(self.files)
            last = now
            lines, owed = int(owed), owed % 1
            for file in self.files:
                file.grow(lines)
