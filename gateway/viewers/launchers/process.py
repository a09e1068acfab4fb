"""Viewers as processes of this machine: the way on one machine, and without a cluster.

A folder a viewer, named by its id: `spec.json` (who asked for what), `data/` (the tool reads it), `feed.json` (the feed's place),
`lock` (held by the tool as long as it lives), `process.json` (pid and port), `log` (the tool's words), `releasing` (why it goes).
All that a restarted gateway needs is there; nothing else is kept. One gateway a folder.
"""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import json
import logging
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from gateway.store import Store
from gateway.viewers.feeds.feed import Feed, open_feed
from gateway.viewers.launchers.contract import Condition, Found, Life, Prefix, Told
from gateway.viewers.presence import Note
from gateway.viewers.registry import Tool, fill
from gateway.viewers.words import Spec
from runtime.errors import PermanentError, TemporaryError
from runtime.retry import Backoff

log = logging.getLogger("trainwire-gateway")

CHILD = Path(__file__).with_name("child.py")
LAST_LINES = 15
POLITE = 1.0  # seconds between asking a tool to end and ending it
FEED_EVERY = 1.0  # seconds between two looks of a feed: TensorBoard reloads every 2
MEMORY_EVERY = 2.0


class ProcessLauncher:
    """`folder` holds one folder a viewer. Raises `PermanentError` where another gateway has it."""

    def __init__(self, folder: Path, store: Callable[[], Store]) -> None:
        self.folder = folder
        self._store = store
        self._children: dict[str, subprocess.Popen[bytes]] = {}
        self._feeds: dict[str, asyncio.Task[None]] = {}
        self._limits: dict[str, int] = {}
        self._memory_at: dict[str, float] = {}
        self._over: dict[str, str] = {}
        folder.mkdir(parents=True, exist_ok=True)
        self._owned = (folder / "owner.lock").open("w")
        try:
            fcntl.flock(self._owned, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            self._owned.close()
            raise PermanentError(f"another gateway has {folder}: give this one a TRAINWIRE_GATEWAY_FOLDER of its own") from None

    # -- the contract ------------------------------------------------------------------------------------------------

    async def create(self, spec: Spec, tool: Tool, prefix: Prefix, told: Told) -> Spec:
        place = self.folder / spec.id
        if (kept := self._spec(place)) is not None:
            spec = kept
        else:
            self._write(place / "spec.json", spec.text())
        self._limits[spec.id] = tool.memory_limit_mib
        if not self._alive(place) and not tool.data_first:
            told(f"starting {tool.title}")
            self._spawn(place, spec, tool, prefix(spec))
        if tool.feed and not (place / "feed.json").exists():  # beside the tool's own start, which takes seconds
            told("reading the task's rows from the store")
            points = await self._fill(spec, tool)
            told(f"{points:,} points read" if points else "no points yet")
        if tool.data_first and not self._alive(place):
            self._spawn(place, spec, tool, prefix(spec))
        self._follow(spec, tool)
        return spec

    async def look(self, id: str) -> Condition:
        place = self.folder / id
        note = self._note(place)
        alive = self._alive(place)
        if id in self._children:
            self._children[id].poll()  # no zombie is left
        if not (place / "spec.json").exists():
            return Condition("absent")
        if alive and note:
            self._watch_memory(id, note["pid"])
            return Condition(
                "running", host="127.0.0.1", port=note["port"], started_ms=note["started_ms"], lines=self._lines(place)
            )
        child = self._children.get(id)
        if note or (child is not None and child.returncode is not None):
            code = child.returncode if child is not None else None
            why = self._over.get(id) or (
                "it ended"
                if code is None
                else f"it ended with exit code {code}"
                if code >= 0
                else f"it was ended by signal {-code}"
            )
            return Condition("ended", why, self._lines(place), started_ms=note["started_ms"] if note else 0, ended_ms=_now())
        return Condition("pending", "its process is starting")

    async def find(self) -> list[Found]:
        found = []
        for place in sorted(self.folder.iterdir()):
            if place.is_dir():
                reason = (place / "releasing").read_text() if (place / "releasing").exists() else ""
                found.append(Found(place.name, self._spec(place), reason))
        return found

    async def mark(self, spec: Spec, reason: str) -> bool:
        place = self.folder / spec.id
        if not place.is_dir() or (place / "releasing").exists():
            return False
        self._write(place / "releasing", reason)
        return True

    async def delete(self, id: str) -> Life:
        place = self.folder / id
        if (feed := self._feeds.pop(id, None)) is not None:
            feed.cancel()
            await asyncio.gather(feed, return_exceptions=True)
        note = self._note(place)
        await self._end(place)
        if note is None:
            note = self._note(place)  # it was just becoming the tool
        ended = _now()
        # The life is kept until the folder is gone: a gateway killed in between records the same one again.
        if note is not None:
            kept = note.get("ended_ms") or ended
            self._write(place / "process.json", json.dumps({**note, "ended_ms": kept}))
            ended = kept
        for memory in (self._children, self._limits, self._memory_at, self._over):
            memory.pop(id, None)
        return Life(note["started_ms"], ended) if note else Life()

    async def forget(self, id: str) -> None:
        """The last step of a release: the folder goes, once its record is written."""
        self._remove(self.folder / id)

    async def share(self, id: str, replica: str, note: Note) -> None:
        """One gateway a folder: there is nobody to tell."""

    async def close(self) -> None:
        """Leave the tools running: a gateway that is restarted finds them."""
        for feed in self._feeds.values():
            feed.cancel()
        await asyncio.gather(*self._feeds.values(), return_exceptions=True)
        self._owned.close()

    # -- steps, each whole or not done -------------------------------------------------------------------------------

    def _write(self, file: Path, text: str) -> None:
        if file.name == "spec.json":
            file.parent.mkdir(parents=True, exist_ok=True)
        if not file.parent.is_dir():
            return
        fresh = file.with_name(file.name + ".new")
        fresh.write_text(text)
        fresh.replace(file)

    def _spawn(self, place: Path, spec: Spec, tool: Tool, prefix: str) -> None:
        (place / "process.json").unlink(missing_ok=True)
        data = place / "data"
        data.mkdir(exist_ok=True)
        command = tool.filled(
            tool.command, host="127.0.0.1", data=data.resolve(), prefix=prefix, title=spec.task_id, task=spec.task_id
        )
        environment = {  # nothing of the gateway's own: its environment holds secrets
            "PATH": os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", os.defpath)]),
            "HOME": str(place.resolve()),
            "TMPDIR": str(place.resolve()),
            "LANG": "C.UTF-8",
            "PYTHONSAFEPATH": "1",
            **{name: fill(value, data=data.resolve(), prefix=prefix) for name, value in tool.environment.items()},
        }
        with (place / "log").open("ab") as out:
            self._children[spec.id] = subprocess.Popen(
                [sys.executable, "-I", "-S", str(CHILD), str(place.resolve()), *command],
                cwd=place,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=out,
                start_new_session=True,  # a group of its own, that ends as one; a Ctrl-C in the gateway's terminal is not for it
            )

    def _signal(self, group: int, number: int) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(group, number)

    def _remove(self, place: Path) -> None:
        if not place.exists():
            return
        # In one step out of sight, then at leisure: a folder half removed is never taken for a viewer.
        grave = place.with_name(f"{place.name}.gone")
        shutil.rmtree(grave, ignore_errors=True)
        place.rename(grave)
        shutil.rmtree(grave, ignore_errors=True)

    # -- the rest ----------------------------------------------------------------------------------------------------

    async def _end(self, place: Path) -> None:
        deadline = time.monotonic() + 5
        asked: float | None = None
        while self._alive(place) and time.monotonic() < deadline:
            note = self._note(place)
            if note is None:  # becoming the tool: its note comes in a moment
                await asyncio.sleep(0.05)
                continue
            if asked is None:
                asked = time.monotonic()
                self._signal(note["pid"], signal.SIGTERM)
            elif time.monotonic() - asked > POLITE:
                self._signal(note["pid"], signal.SIGKILL)
            await asyncio.sleep(0.05)
        child = self._children.get(place.name)
        if (note := self._note(place)) and child is not None and child.pid == note["pid"]:
            self._signal(note["pid"], signal.SIGKILL)  # helpers of it that do not hold the lock: their group is still its own
            with contextlib.suppress(subprocess.TimeoutExpired):
                child.wait(1)
        elif child is not None and child.poll() is None:  # never became a tool
            child.kill()
            child.wait(1)
        if self._alive(place):
            raise TemporaryError(f"the viewer in {place.name} does not end")

    def _alive(self, place: Path) -> bool:
        """Whether the tool holds its lock."""
        try:
            handle = os.open(place / "lock", os.O_RDONLY)
        except FileNotFoundError:
            return False
        try:
            fcntl.flock(handle, fcntl.LOCK_SH | fcntl.LOCK_NB)
            return False
        except OSError:
            return True
        finally:
            os.close(handle)

    def _note(self, place: Path) -> dict[str, Any] | None:
        try:
            note: dict[str, Any] = json.loads((place / "process.json").read_text())
            return note
        except (FileNotFoundError, NotADirectoryError):
            return None

    def _spec(self, place: Path) -> Spec | None:
        try:
            spec = Spec.from_text((place / "spec.json").read_text())
        except (FileNotFoundError, NotADirectoryError, ValueError):
            return None
        return spec if spec.id == place.name else None

    def _lines(self, place: Path) -> tuple[str, ...]:
        with contextlib.suppress(FileNotFoundError), (place / "log").open("rb") as file:
            file.seek(max(file.seek(0, os.SEEK_END) - 8192, 0))
            return tuple(file.read().decode(errors="replace").splitlines()[-LAST_LINES:])
        return ()

    async def _fill(self, spec: Spec, tool: Tool) -> int:
        feed = self._open_feed(spec, tool)
        return await self._store().run(feed.fill)

    def _open_feed(self, spec: Spec, tool: Tool) -> Feed:
        place = self.folder / spec.id
        return open_feed(tool.feed, spec.task_id, place / "data", place / "feed.json")

    def _follow(self, spec: Spec, tool: Tool) -> None:
        if tool.feed and (spec.id not in self._feeds or self._feeds[spec.id].done()):
            self._feeds[spec.id] = asyncio.create_task(self._keep_fed(spec, tool), name=f"feed {spec.id}")

    async def _keep_fed(self, spec: Spec, tool: Tool) -> None:
        feed = self._open_feed(spec, tool)
        await asyncio.to_thread(feed.resume)
        backoff, failures = Backoff(first=1, most=30), 0
        while True:
            try:
                await self._store().run(feed.look, time.monotonic())
                failures = 0
            except TemporaryError as error:
                failures += 1
                if failures == 1:
                    log.warning("viewer %s of %s is not up to date: %s", spec.id, spec.task_id, error)
            except FileNotFoundError:  # its folder is being removed
                return
            await asyncio.sleep(backoff.wait(failures) if failures else FEED_EVERY)

    def _watch_memory(self, id: str, group: int) -> None:
        now = time.monotonic()
        if now - self._memory_at.get(id, 0.0) < MEMORY_EVERY:
            return
        self._memory_at[id] = now
        used, limit = group_memory_mib(group), self._limits.get(id)
        if limit and used > limit:
            self._over[id] = (
                f"it took {used} MiB of memory, more than the {limit} allowed: choose fewer ranks, attempts or metrics"
            )
            log.warning("viewer %s ended: %s", id, self._over[id])
            self._signal(group, signal.SIGKILL)


def group_memory_mib(group: int) -> int:
    """Resident memory of a process group; 0 where /proc does not tell."""
    pages = 0
    with contextlib.suppress(FileNotFoundError):
        for one in Path("/proc").iterdir():
            if one.name.isdigit():
                with contextlib.suppress(OSError, IndexError, ValueError):
                    if int((one / "stat").read_text().rpartition(")")[2].split()[2]) == group:
                        pages += int((one / "statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") // 2**20


def _now() -> int:
    return time.time_ns() // 1_000_000
