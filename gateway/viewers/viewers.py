"""What people may do with viewers: ask for one, look, stay, prolong, stop."""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import time
from collections.abc import Callable

import httpx

from gateway.store import Store
from gateway.viewers.audit import Audit
from gateway.viewers.facts import Facts
from gateway.viewers.keeper import Keeper
from gateway.viewers.launchers.contract import Launcher
from gateway.viewers.limits import Rate
from gateway.viewers.lives import Lives
from gateway.viewers.loading import Loader
from gateway.viewers.registry import Registry, Tool
from gateway.viewers.rights import Rights, TaskFacts
from gateway.viewers.settings import ViewerSettings
from gateway.viewers.viewer import Viewer
from gateway.viewers.words import Person, PolicyKind, Refused, Spec, address, viewer_id
from runtime.errors import TemporaryError
from runtime.metrics import Metrics

FIND_EVERY = 0.5  # seconds between two comparisons for the sake of a viewer that is not known here


@dataclasses.dataclass(frozen=True)
class Asked:
    """The answer to a request: where to look, in which tool, and why in that one."""

    address: str
    tool: Tool
    why: str
    viewer: Viewer | None  # None: a link, nothing is loaded


class Viewers:
    """`clock` never jumps; wall-clock times are for people and records only. `keeper` does what nobody asks for."""

    def __init__(
        self,
        settings: ViewerSettings,
        registry: Registry,
        rights: Rights,
        launcher: Launcher,
        audit: Audit,
        store: Callable[[], Store],
        client: httpx.AsyncClient,
        metrics: Metrics,
        base_path: str = "",
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.settings, self.registry, self.rights, self.base_path, self.clock = settings, registry, rights, base_path, clock
        self._audit = audit
        self._facts = Facts(store, rights, audit, clock)
        self._finding, self._found = asyncio.Lock(), clock() - FIND_EVERY
        self._rate = Rate(settings.life.requests_a_minute)
        self._loader = Loader(launcher, audit, client, settings.launch.start_seconds, base_path, clock)
        self._lives = Lives(launcher, self._loader, audit, metrics, settings.life, clock)
        self.keeper = Keeper(self._lives, launcher, registry, audit, metrics, clock)

    # -- asking ------------------------------------------------------------------------------------------------------

    async def request(self, person: Person, task_id: str, wanted: str | None = None, policy: PolicyKind | None = None) -> Asked:
        """Choose a tool for a task and begin to load it, or join the one there is. Raises `Refused`."""
        self._audit.say("requested", person=person, viewed_task=task_id, asked_tool=wanted or "")
        if wait := self._rate.take(person.user, self.clock()):
            self._audit.say("refused", person=person, message="too often", viewed_task=task_id)
            raise Refused(429, f"asked too often: try again in {wait:.0f} s", wait)
        task = await self._facts.allowed(person, task_id, fresh=True)
        try:
            choice = self.registry.choose(wanted, {"points": task.points, "lines": task.lines})
        except KeyError:
            raise Refused(400, f"no tool {str(wanted)[:50]!r}; there are {', '.join(sorted(self.registry.tools))}") from None
        tool = choice.tool
        if tool.kind == "link":
            self._audit.say("selected", person=person, message=choice.why, viewed_task=task_id, tool=tool.name)
            return Asked(self.registry.link(tool, task_id, self.base_path), tool, choice.why, None)
        viewer = await self._join_or_make(person, task, tool, policy or self.settings.life.policy, choice.why)  # type: ignore[arg-type]  # checked in settings
        self._audit.say("selected", viewer.spec, person, choice.why)
        return Asked(self.base_path + address(task_id, tool.name), tool, choice.why, viewer)

    async def allowed(self, person: Person, task_id: str) -> TaskFacts:
        """What is known of a task that the person may see. Raises `Refused`."""
        return await self._facts.allowed(person, task_id)

    async def find(self, task_id: str, tool: str) -> Viewer | None:
        """The viewer, also one that another replica loaded a moment ago."""
        id = viewer_id(task_id, tool)
        if self._lives.by_id(id) is None:
            async with self._finding:  # whoever asks for what is not there costs the cluster no more than this
                if self._lives.by_id(id) is None and self.clock() - self._found >= FIND_EVERY:
                    with contextlib.suppress(TemporaryError):
                        await self.keeper.compare()
                    self._found = self.clock()
        return self._lives.by_id(id)

    def by_id(self, id: str) -> Viewer | None:
        return self._lives.by_id(id)

    def all(self) -> list[Viewer]:
        return self._lives.all()

    def prefix(self, viewer: Viewer) -> str:
        """The path under which the tool is shown, without a slash at its end."""
        return self._loader.prefix(viewer.spec)

    # -- a person's words ----------------------------------------------------------------------------------------------

    def opened(self, viewer: Viewer, page: str, person: Person) -> None:
        if viewer.presence.connect(page, person.user, self.clock()):
            self._audit.say("opened", viewer.spec, person)

    def seen(self, viewer: Viewer, page: str, person: Person, visible: bool) -> None:
        if viewer.presence.page(page, person.user, visible, self.clock()):
            self._audit.say("opened", viewer.spec, person)

    def left(self, viewer: Viewer, page: str, person: Person) -> None:
        looked = viewer.presence.close(page, self.clock())
        if looked is not None:
            self._audit.say("left", viewer.spec, person, looked_seconds=round(looked, 1))

    def extend(self, viewer: Viewer, person: Person) -> None:
        viewer.presence.extend(self.clock())
        self._audit.say("extended", viewer.spec, person)

    async def stop(self, viewer: Viewer, person: Person) -> None:
        """Returns when it is gone. Raises `Refused`."""
        if not self.rights.may_end(person, viewer.spec.owner):
            raise Refused(403, f"this viewer is {viewer.spec.owner}'s: they, or an admin, may stop it")
        await self._lives.release(viewer, f"stopped by {person.user}", person)

    async def close(self) -> None:
        """Leave the tools running."""
        await self._lives.close()

    # -- making one ----------------------------------------------------------------------------------------------------

    async def _join_or_make(self, person: Person, task: TaskFacts, tool: Tool, policy: PolicyKind, why: str) -> Viewer:
        id = viewer_id(task.task_id, tool.name)
        async with self._lives.lock(id):
            viewer = self._lives.by_id(id)
            if viewer is not None and viewer.state == "releasing":
                await viewer.gone.wait()
                viewer = None
            if viewer is not None and viewer.state != "failed":
                viewer.presence.stay(self.clock())
                return viewer
            if viewer is not None:
                await viewer.gone.wait()
                self._lives.drop(viewer)
            await self._make_room(person)
            spec = Spec.new(task.task_id, tool.name, person.user, policy, tool.cpu, tool.memory_mib)
            return self._lives.load(spec, tool, why, task.points)

    async def _make_room(self, person: Person) -> None:
        living = self._lives.living()
        mine = [viewer for viewer in living if viewer.spec.owner == person.user]
        if len(mine) >= self.settings.life.most_by_user and not self.rights.is_admin(person):
            await self._release_least_used(mine, f"you have {len(mine)} viewers, all in use: stop one")
        elif len(living) >= self.settings.life.most:
            refusal = f"all {len(living)} viewers are in use: try again later, or ask for one to be stopped"
            await self._release_least_used(living, refusal)

    async def _release_least_used(self, viewers: list[Viewer], refusal: str) -> None:
        now = self.clock()
        unused = [viewer for viewer in viewers if viewer.state == "ready" and not viewer.presence.in_use(now)]
        if not unused:
            self._audit.say("refused", message=refusal)
            raise Refused(429, refusal, 30.0)
        longest = max(unused, key=lambda viewer: viewer.presence.idle_for(now))
        await self._lives.release(longest, "room: it was unseen for longest, and another was asked for")
