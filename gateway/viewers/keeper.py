"""The gateway's own doing: sweeps viewers by what presence decides, and compares what it knows with what exists.

What exists is the launcher's to know: after a restart, and every few seconds, its finds are compared with what is known here, so
that nothing is left behind and nothing doubled.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import secrets
from collections.abc import Callable

from gateway.viewers.audit import Audit
from gateway.viewers.launchers.contract import Found, Launcher
from gateway.viewers.lives import REMEMBER, Lives
from gateway.viewers.registry import Registry
from gateway.viewers.viewer import Viewer
from gateway.viewers.words import Person
from runtime.errors import TemporaryError
from runtime.metrics import Metrics

log = logging.getLogger("trainwire-gateway")

SWEEP_EVERY = 0.5  # seconds: `offline` promises 5 s from the last page's closing until it is gone, and deciding takes one sweep
LOOK_EVERY = 2.0  # seconds between two looks at a viewer that is ready
COMPARE_EVERY = 10.0  # seconds between two comparisons with what the launcher finds
PRESENCE_EVERY = 60.0  # seconds between two records of who looked


class Keeper:
    """One a gateway; told apart from those of other replicas by a random name."""

    def __init__(
        self,
        lives: Lives,
        launcher: Launcher,
        registry: Registry,
        audit: Audit,
        metrics: Metrics,
        clock: Callable[[], float],
    ) -> None:
        self._lives, self._launcher, self._registry, self._audit, self._metrics = lives, launcher, registry, audit, metrics
        self._clock = clock
        self._replica = secrets.token_hex(4)
        self._counter = 0
        self._half: set[str] = set()  # seen being released or half made in the comparison before

    async def start(self) -> None:
        """Take up what a gateway before this one left. The launcher away: later, in `run`."""
        with contextlib.suppress(TemporaryError):
            await self.compare(first=True)

    async def run(self) -> None:
        """Sweep until cancelled."""
        compared = looked = told = self._clock()
        while True:
            await asyncio.sleep(SWEEP_EVERY)
            now = self._clock()
            try:
                await self.sweep(look=now - looked >= LOOK_EVERY)
                if now - looked >= LOOK_EVERY:
                    looked = now
                if now - compared >= COMPARE_EVERY:
                    compared = now
                    await self.compare()
                    await self._share()
                if now - told >= PRESENCE_EVERY:
                    told = now
                    self._record_presence()
            except TemporaryError as error:
                log.warning("viewers: %s", error)
            except Exception:
                log.exception("a fault in the sweep of viewers; it goes on")

    async def sweep(self, look: bool = True) -> None:
        """Do what presence decides, and notice tools that ended by themselves."""
        now = self._clock()
        for viewer in self._lives.all():
            if viewer.state == "failed":
                if now - viewer.ended > REMEMBER:
                    self._lives.drop(viewer)
                continue
            if viewer.state == "releasing":
                continue
            decision = viewer.decision = viewer.presence.decide(now)
            if decision.action == "warn":
                self._audit.say("warned", viewer.spec, message=decision.reason, seconds_left=round(decision.seconds_left))
            elif decision.action == "release":
                self._lives.begin_release(viewer, decision.reason)
                continue
            if look and viewer.state == "ready":
                await self._look(viewer)
        self._count()

    async def compare(self, first: bool = False) -> None:
        """Take up what is unknown here, and complete releases that nobody completes."""
        half = set()
        for one in await self._launcher.find():
            viewer = self._lives.by_id(one.id)
            if viewer is not None:
                await self._meet(viewer, one)
            elif one.spec is not None and not one.releasing and self._shown(one):
                self._lives.load(one.spec, self._registry.tools[one.spec.tool], "taken up from a gateway before this one")
            elif first or one.id in self._half:
                await self._lives.clear(one)
            else:
                half.add(one.id)  # perhaps another replica is at it: the next comparison tells
        self._half = half
        self._lives.tidy()

    def _shown(self, one: Found) -> bool:
        return one.spec is not None and one.spec.tool in self._registry.tools and not self._lives.was_released(one.spec)

    async def _meet(self, viewer: Viewer, one: Found) -> None:
        for replica, note in one.notes.items():
            if replica != self._replica:
                viewer.presence.hear(replica, note, self._clock())
        if viewer.state == "failed" and viewer.gone.is_set():
            await self._lives.clear(one)
        elif one.releasing and viewer.state in ("ready", "loading"):  # another replica releases it
            viewer.state = "releasing"
            if viewer.loading is not None:
                viewer.loading.cancel()
            self._lives.drop(viewer)

    async def _look(self, viewer: Viewer) -> None:
        found = await self._launcher.look(viewer.spec.id)
        if found.state == "unknown":  # nobody could tell: nothing follows
            return
        viewer.condition, viewer.lines = found, found.lines
        if found.state in ("ended", "absent") and viewer.state == "ready":
            await self._lives.fail(viewer, found.message or "its pod or process is gone")

    async def _share(self) -> None:
        self._counter += 1
        now = self._clock()
        for viewer in self._lives.living():
            await self._launcher.share(viewer.spec.id, self._replica, viewer.presence.note(self._counter, now))

    def _record_presence(self) -> None:
        now = self._clock()
        for viewer in self._lives.all():
            pages = viewer.presence.users()
            for user, seconds in viewer.presence.looked(now).items():
                looked = round(seconds, 1)
                self._audit.say("presence", viewer.spec, Person(user), looked_seconds=looked, pages=pages.get(user, 0))

    def _count(self) -> None:
        for tool in self._registry.tools.values():
            for state in ("loading", "ready", "releasing", "failed"):
                number = sum(1 for viewer in self._lives.all() if viewer.tool.name == tool.name and viewer.state == state)
                self._metrics.set("gateway_viewers", number, tool=tool.name, state=state)
