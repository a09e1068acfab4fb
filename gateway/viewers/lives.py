"""The viewers that this gateway knows, and each one's way: loaded, ready, released or failed.

One task a viewer makes it; what comes later waits for it. A release is a row of steps, each of which may be the last before a
kill: noted, ended, recorded, forgotten; whoever finds it half done does it again.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable

from gateway.viewers.audit import Audit
from gateway.viewers.launchers.contract import Found, Launcher
from gateway.viewers.loading import Loader
from gateway.viewers.presence import Policy, Presence
from gateway.viewers.registry import Tool
from gateway.viewers.settings import LifeSettings
from gateway.viewers.viewer import Viewer
from gateway.viewers.words import NOBODY, Person, Spec
from runtime.errors import TemporaryError
from runtime.metrics import Metrics

log = logging.getLogger("trainwire-gateway")

REMEMBER = 600.0  # seconds that a failure stays on its page, and a life that was released here in mind


class Lives:
    """State and deeds; `clock` never jumps."""

    def __init__(
        self,
        launcher: Launcher,
        loader: Loader,
        audit: Audit,
        metrics: Metrics,
        settings: LifeSettings,
        clock: Callable[[], float],
    ) -> None:
        self._launcher, self._loader, self._audit, self._metrics = launcher, loader, audit, metrics
        self._settings, self._clock = settings, clock
        self._viewers: dict[str, Viewer] = {}
        self._locks: dict[str, asyncio.Lock] = {}
        self._gone: dict[str, float] = {}  # lives released here: a list that was made before may still hold them
        self._tasks: set[asyncio.Task[None]] = set()

    def by_id(self, id: str) -> Viewer | None:
        return self._viewers.get(id)

    def all(self) -> list[Viewer]:
        return sorted(self._viewers.values(), key=lambda viewer: viewer.spec.created_ms)

    def living(self) -> list[Viewer]:
        return [viewer for viewer in self.all() if viewer.state in ("loading", "ready")]

    def lock(self, id: str) -> asyncio.Lock:
        """Held while a viewer of this id is looked for and made."""
        return self._locks.setdefault(id, asyncio.Lock())

    def was_released(self, spec: Spec) -> bool:
        return spec.life in self._gone

    def load(self, spec: Spec, tool: Tool, why: str, points: bool = False) -> Viewer:
        """Begin to load it, in the background."""
        now = self._clock()
        viewer = Viewer(spec, tool, Presence(Policy.of(spec.policy, self._settings), now), now, why, points)
        self._viewers[spec.id] = viewer
        viewer.loading = asyncio.create_task(self._load(viewer), name=f"load {spec.id}")
        return viewer

    async def _load(self, viewer: Viewer) -> None:
        if why := await self._loader.load(viewer):
            await self.fail(viewer, why)
            return
        now = self._clock()
        viewer.ready_after = round(now - viewer.asked, 3)
        viewer.tell("ready", now)
        viewer.state = "ready"
        self._metrics.observe("gateway_viewer_start_seconds", viewer.ready_after, tool=viewer.tool.name)
        await self._audit.commit("ready", viewer.spec, seconds=viewer.ready_after)

    async def fail(self, viewer: Viewer, why: str) -> None:
        """Show why, record it, and leave nothing behind. It is not tried again by itself: a retry is a person's."""
        if viewer.state in ("failed", "releasing"):
            return
        viewer.state, viewer.ended = "failed", self._clock()
        viewer.tell(why, self._clock())
        log.warning("viewer %s of %s failed: %s", viewer.spec.id, viewer.spec.task_id, why)
        await self._audit.commit("failed", viewer.spec, message=why, last_line=viewer.lines[-1] if viewer.lines else "")
        try:
            await self._remove(viewer.spec, f"failed: {why}")
        except TemporaryError as error:
            log.warning("viewer %s: %s; the next comparison completes its removal", viewer.spec.id, error)
        finally:
            viewer.gone.set()

    async def release(self, viewer: Viewer, reason: str, person: Person = NOBODY) -> None:
        """Returns when it is gone."""
        if viewer.state == "failed":
            self.drop(viewer)
            return
        if viewer.state == "releasing":
            await viewer.gone.wait()
            return
        viewer.state = "releasing"
        viewer.tell(reason, self._clock())
        if viewer.loading is not None and not viewer.loading.done():
            viewer.loading.cancel()
            await asyncio.gather(viewer.loading, return_exceptions=True)
        try:
            await self._remove(viewer.spec, reason, person)
            self._metrics.inc("gateway_releases_total", tool=viewer.tool.name, reason=reason.partition(":")[0].split(" ")[0])
        finally:
            self.drop(viewer)
            viewer.gone.set()

    def begin_release(self, viewer: Viewer, reason: str) -> None:
        task = asyncio.create_task(self.release(viewer, reason), name=f"release {viewer.spec.id}")
        self._tasks.add(task)
        task.add_done_callback(self._ended)

    async def clear(self, one: Found) -> None:
        """Remove what exists of a viewer that nobody shows, and record its end where it is known whose it was."""
        if one.spec is None:
            await self._launcher.delete(one.id)
            await self._launcher.forget(one.id)
        else:
            await self._remove(one.spec, one.releasing or f"tool: {one.spec.tool} is not known any more")

    def drop(self, viewer: Viewer) -> None:
        """Know it no more."""
        id = viewer.spec.id
        if self._viewers.get(id) is viewer:
            del self._viewers[id]
            if id in self._locks and not self._locks[id].locked():
                del self._locks[id]

    def tidy(self) -> None:
        now = self._clock()
        self._gone = {life: when for life, when in self._gone.items() if now - when < REMEMBER}

    async def close(self) -> None:
        """Leave the tools running."""
        for task in [*self._tasks, *(viewer.loading for viewer in self._viewers.values() if viewer.loading)]:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self._launcher.close()

    def _ended(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            log.warning("%s: %s; the next comparison completes it", task.get_name(), error)

    async def _remove(self, spec: Spec, reason: str, person: Person = NOBODY) -> None:
        self._gone[spec.life] = self._clock()
        await self._launcher.mark(spec, reason)
        life = await self._launcher.delete(spec.id)
        seconds = max(life.ended_ms - life.started_ms, 0) / 1000
        await self._audit.commit(
            "released", spec, person, reason,
            reason=reason.partition(":")[0], started_ms=life.started_ms, ended_ms=life.ended_ms, seconds=seconds,
            cpu_seconds=round(seconds * spec.cpu, 3), memory_mib_seconds=round(seconds * spec.memory_mib, 1),
        )  # fmt: skip
        await self._launcher.forget(spec.id)
