"""A shipper driven in process: real files, a clock that the test moves, and a publisher that keeps events in memory.

`stored()` applies the worker's rule for repeats to what was published, written here independently of both programs: bytes
of a file id count once; bytes that come again must be the same.
"""

from __future__ import annotations

import collections
import pathlib
import zlib
from collections.abc import Iterator
from typing import Any

from producers.shipper.settings import Settings
from producers.shipper.shipper import Shipper
from runtime.metrics import Metrics
from runtime.settings import load
from schemas.events import Delta, Event, FileEnd, Heartbeat, decode, encode


class Sink:
    """A broker in memory. `away`: events wait; `failing`: they fail with that word."""

    def __init__(self) -> None:
        self.log: list[Event] = []
        self.away = False
        self.failing = ""
        self._waiting: list[tuple[Event, Any]] = []
        self._results: collections.deque[tuple[Any, str]] = collections.deque()

    def send(self, event: Event, token: Any) -> None:
        self._waiting.append((event, token))

    def results(self) -> Iterator[tuple[Any, str]]:
        self.deliver()
        while self._results:
            yield self._results.popleft()

    def problem(self) -> str | None:
        return "away" if self.away else None

    def deliver(self, count: int | None = None) -> None:
        if self.away and count is None:
            return
        taken, self._waiting = self._waiting[:count], self._waiting[len(self._waiting) if count is None else count :]
        for event, token in taken:
            if self.failing:
                self._results.append((token, self.failing))
                continue
            key, value, headers = encode(event)
            again = decode(key, value, headers)  # what a worker would see
            assert again == event
            self.log.append(again)
            self._results.append((token, ""))

    def drop(self) -> None:
        """The process is gone: what was not delivered never will be."""
        self._waiting.clear()
        self._results.clear()

    def deltas(self) -> list[Delta]:
        return [event for event in self.log if isinstance(event, Delta)]

    def ends(self) -> list[FileEnd]:
        return [event for event in self.log if isinstance(event, FileEnd)]

    def beats(self) -> list[Heartbeat]:
        return [event for event in self.log if isinstance(event, Heartbeat)]


def stored(deltas: list[Delta]) -> dict[str, bytes]:
    """File id → its bytes from 0 on. Fails on a gap, on other bytes at the same place, and on a wrong checksum."""
    files: dict[str, bytearray] = {}
    have: dict[str, bytearray] = {}  # 1 for each byte that is stored
    for delta in deltas:
        content = files.setdefault(delta.file.file_id, bytearray())
        known = have.setdefault(delta.file.file_id, bytearray())
        missing = bytes(max(0, delta.end - len(content)))
        content += missing
        known += missing
        span = slice(delta.start, delta.end)
        mask, old = known[span], content[span]
        if any(mask):
            other = [
                at for at, (set_, a, b) in enumerate(zip(mask, old, delta.value, strict=True), delta.start) if set_ and a != b
            ]
            assert not other, f"{delta.file.file_id}: other bytes at {other[0]}"
        content[span] = delta.value
        known[span] = b"\x01" * len(delta.value)
    for name, known in have.items():
        assert all(known), f"{name}: gap at {known.index(0)}"
    for delta in deltas:
        content = files[delta.file.file_id]
        assert delta.crc_start == zlib.crc32(content[: delta.start])
        assert delta.crc_end == zlib.crc32(content[: delta.end])
    return {name: bytes(content) for name, content in files.items()}


class Rig:
    """One shipper after another over a folder of logs."""

    def __init__(self, folder: pathlib.Path, sink: Sink | None = None, **environ: str) -> None:
        self.folder = folder
        self.sink = sink or Sink()
        self.now = 1000.0
        self.ahead = 0.0  # s by which the machine's clock is wrong
        self.environ = {
            "TRAINWIRE_LOGS": str(folder / "**" / "*.log"),
            "TRAINWIRE_TASK_ID": "t1",
            "TRAINWIRE_SHIPPER_ID": "s1",
            **{f"TRAINWIRE_{name}": value for name, value in environ.items()},
        }
        self.settings = load(Settings, self.environ)
        self.write: Any = None
        self.start()

    def start(self) -> None:
        self.metrics = Metrics("shipper")
        self.shipper = Shipper(self.settings, self.sink, self.metrics, wall=self.wall, write=self.write)

    def wall(self) -> float:
        return 1.7e9 + self.now + self.ahead

    def run(self, seconds: float = 1.5, step: float = 0.05) -> None:
        """Let that much time pass."""
        end = self.now + seconds
        while self.now < end:
            self.now += step
            self.shipper.step(self.now)

    def kill(self) -> None:
        """kill -9: nothing is saved, nothing on its way arrives."""
        self.shipper.close()
        self.sink.drop()

    def restart(self) -> None:
        self.kill()
        self.start()

    def checkpoints(self) -> list[pathlib.Path]:
        return sorted(self.folder.glob("**/.trainwire/*.json"))

    def lose_checkpoint(self) -> None:
        for path in self.checkpoints():
            path.unlink()

    def texts(self) -> list[str]:
        """The content of every file stored, sorted."""
        return sorted(content.decode() for content in stored(self.sink.deltas()).values())


def write(path: pathlib.Path, text: str | bytes) -> None:
    """Append, as a training task does."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("ab") as file:
        file.write(text.encode() if isinstance(text, str) else text)


def numbered(first: int, last: int, word: str = "line") -> str:
    return "".join(f"{word} {n}\n" for n in range(first, last + 1))


def inode(path: pathlib.Path) -> int:
    return path.stat().st_ino
