"""All viewers: asks, loads, watches, releases. What is decided elsewhere (tool, rights, presence) is done here.

One task a viewer makes it; asking again joins it. What exists is the launcher's to know: after a restart, and every few seconds,
its finds are compared with what is known here, so that nothing is left behind and nothing doubled.
"""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import logging
import secrets
import time
from collections.abc import Callable

import httpx

from gateway.store import Query, Store
from gateway.viewers.audit import Audit
from gateway.viewers.launchers.contract import Condition, Found, Launcher
from gateway.viewers.limits import Rate
from gateway.viewers.presence import Policy, Presence
from gateway.viewers.registry import Registry, Tool
from gateway.viewers.rights import Rights, TaskFacts
from gateway.viewers.settings import ViewerSettings
from gateway.viewers.viewer import Viewer
from gateway.viewers.words import NOBODY, Person, PolicyKind, Spec, address, viewer_id
from runtime.errors import PermanentError, TemporaryError
from runtime.metrics import Metrics

log = logging.getLogger("trainwire-gateway")

SWEEP_EVERY = 0.5  # seconds: `offline` promises 5 s from the last page's closing until it is gone, and deciding takes one sweep
LOOK_EVERY = 2.0  # seconds between two looks at a viewer that is ready
COMPARE_EVERY = 10.0  # seconds between two comparisons with what the launcher finds
PRESENCE_EVERY = 60.0  # seconds between two records of who looked
FACTS_FOR = 30.0  # seconds that a task's owner and project are taken as known: a tool's page makes hundreds of requests
REMEMBER = 600.0  # seconds that a failure stays on its page


class Refused(PermanentError):
    """The person may not have this. `status` as HTTP has it."""

    def __init__(self, status: int, detail: str, wait: float = 0.0) -> None:
        super().__init__(detail)
        self.status, self.wait = status, wait


@dataclasses.dataclass(frozen=True)
class Asked:
    """The answer to a request: where to look, in which tool, and why in that one."""

    address: str
    tool: Tool
    why: str
    viewer: Viewer | None  # None: a link, nothing is loaded


class Viewers:
    """`clock` never jumps; wall-clock times are for people and records only."""

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
        self.settings, self.registry, self.rights, self.audit, self.client = settings, registry, rights, audit, client
        self.base_path, self.clock = base_path, clock
        self._launcher, self._store, self._metrics = launcher, store, metrics
        self._viewers: dict[str, Viewer] = {}
        self._locks: dict[str, asyncio.Lock] = {}
        self._rate = Rate(settings.life.requests_a_minute)
        self._replica = secrets.token_hex(4)
        self._counter = 0
        self._facts: dict[str, tuple[TaskFacts, float]] = {}  # what rights ask of a task, and when it was asked
        self._half: set[str] = set()  # seen being released or half made in the comparison before
        self._gone: dict[str, float] = {}  # lives released here: a list that was made before may still hold them
        self._tasks: set[asyncio.Task[None]] = set()

    # -- asking ------------------------------------------------------------------------------------------------------

    async def request(self, person: Person, task_id: str, wanted: str | None = None, policy: PolicyKind | None = None) -> Asked:
        """Choose a tool for a task and begin to load it, or join the one there is. Raises `Refused`."""
        self.audit.say("requested", person=person, viewed_task=task_id, asked_tool=wanted or "")
        if wait := self._rate.take(person.user, self.clock()):
            self.audit.say("refused", person=person, message="too often", viewed_task=task_id)
            raise Refused(429, f"asked too often: try again in {wait:.0f} s", wait)
        task = await self.allowed(person, task_id, fresh=True)
        try:
            choice = self.registry.choose(wanted, {"points": task.points, "lines": task.lines})
        except KeyError:
            raise Refused(400, f"no tool {str(wanted)[:50]!r}; there are {', '.join(sorted(self.registry.tools))}") from None
        tool = choice.tool
        if tool.kind == "link":
            self.audit.say("selected", person=person, message=choice.why, viewed_task=task_id, tool=tool.name)
            return Asked(self.registry.link(tool, task_id, self.base_path), tool, choice.why, None)
        viewer = await self._join_or_make(person, task, tool, policy or self.settings.life.policy, choice.why)  # type: ignore[arg-type]  # checked in settings
        self.audit.say("selected", viewer.spec, person, choice.why)
        return Asked(self.base_path + address(task_id, tool.name), tool, choice.why, viewer)

    async def allowed(self, person: Person, task_id: str, fresh: bool = False) -> TaskFacts:
        """What is known of the task; what its owner and project are is asked again every half minute.

        Raises `Refused` where there is none, or the person may not see it, in the same words: who may not see a task is not told
        that it exists.
        """
        now = self.clock()
        known = self._facts.get(task_id)
        if known is None or fresh or now - known[1] > FACTS_FOR:
            found = await self._store().run(task_facts, task_id)
            self._facts = {task: fact for task, fact in self._facts.items() if now - fact[1] < FACTS_FOR}
            if found is not None:
                self._facts[task_id] = (found, now)
        else:
            found = known[0]
        if found is None or not self.rights.may_view(person, found):
            if found is not None:
                self.audit.say("refused", person=person, message="no right to see this task", viewed_task=task_id)
            raise Refused(404, f"no task {task_id!r}, or none that you may see")
        return found

    async def find(self, task_id: str, tool: str) -> Viewer | None:
        """The viewer, also one that another replica loaded a moment ago."""
        id = viewer_id(task_id, tool)
        if id not in self._viewers:
            with contextlib.suppress(TemporaryError):
                await self._compare()
        return self._viewers.get(id)

    def by_id(self, id: str) -> Viewer | None:
        return self._viewers.get(id)

    def all(self) -> list[Viewer]:
        return sorted(self._viewers.values(), key=lambda viewer: viewer.spec.created_ms)

    # -- a person's words ----------------------------------------------------------------------------------------------

    def opened(self, viewer: Viewer, page: str, person: Person) -> None:
        if viewer.presence.connect(page, person.user, self.clock()):
            self.audit.say("opened", viewer.spec, person)

    def seen(self, viewer: Viewer, page: str, person: Person, visible: bool) -> None:
        if viewer.presence.page(page, person.user, visible, self.clock()):
            self.audit.say("opened", viewer.spec, person)

    def left(self, viewer: Viewer, page: str, person: Person) -> None:
        looked = viewer.presence.close(page, self.clock())
        if looked is not None:
            self.audit.say("left", viewer.spec, person, looked_seconds=round(looked, 1))

    def extend(self, viewer: Viewer, person: Person) -> None:
        viewer.presence.extend(self.clock())
        self.audit.say("extended", viewer.spec, person)

    async def stop(self, viewer: Viewer, person: Person) -> None:
        if not self.rights.may_end(person, viewer.spec.owner):
            raise Refused(403, f"this viewer is {viewer.spec.owner}'s: they, or an admin, may stop it")
        await self._release(viewer, f"stopped by {person.user}", person)

    # -- the gateway's own doing -----------------------------------------------------------------------------------------

    async def start(self) -> None:
        """Take up what a gateway before this one left. The launcher away: later, in `run`."""
        with contextlib.suppress(TemporaryError):
            await self._compare(first=True)

    async def run(self) -> None:
        """Sweep until cancelled."""
        compared = looked = told = self.clock()
        while True:
            await asyncio.sleep(SWEEP_EVERY)
            now = self.clock()
            try:
                await self.sweep(look=now - looked >= LOOK_EVERY)
                if now - looked >= LOOK_EVERY:
                    looked = now
                if now - compared >= COMPARE_EVERY:
                    compared = now
                    await self._compare()
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
        now = self.clock()
        for viewer in self.all():
            if viewer.state == "failed":
                if now - viewer.ended > REMEMBER:
                    self._drop(viewer)
                continue
            if viewer.state == "releasing":
                continue
            viewer.decision = viewer.presence.decide(now)
            if viewer.decision.action == "warn":
                self.audit.say(
                    "warned", viewer.spec, message=viewer.decision.reason, seconds_left=round(viewer.decision.seconds_left)
                )
            elif viewer.decision.action == "release":
                self._begin_release(viewer, viewer.decision.reason)
                continue
            if look and viewer.state == "ready":
                await self._look(viewer)
        self._count()

    async def close(self) -> None:
        """Leave the tools running."""
        for task in [*self._tasks, *(viewer.loading for viewer in self._viewers.values() if viewer.loading)]:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self._launcher.close()

    async def _join_or_make(self, person: Person, task: TaskFacts, tool: Tool, policy: PolicyKind, why: str) -> Viewer:
        id = viewer_id(task.task_id, tool.name)
        async with self._locks.setdefault(id, asyncio.Lock()):
            viewer = self._viewers.get(id)
            if viewer is not None and viewer.state == "releasing":
                await viewer.gone.wait()
                viewer = None
            if viewer is not None and viewer.state != "failed":
                viewer.presence.stay(self.clock())
                return viewer
            if viewer is not None:
                await viewer.gone.wait()
                self._drop(viewer)
            await self._make_room(person)
            spec = Spec.new(task.task_id, tool.name, person.user, policy, tool.cpu, tool.memory_mib)
            return self._load_in_background(spec, tool, why, task.points)

    async def _make_room(self, person: Person) -> None:
        living = [viewer for viewer in self._viewers.values() if viewer.state in ("loading", "ready")]
        mine = [viewer for viewer in living if viewer.spec.owner == person.user]
        if len(mine) >= self.settings.life.most_by_user and not self.rights.is_admin(person):
            await self._release_least_used(mine, f"you have {len(mine)} viewers, all in use: stop one")
        elif len(living) >= self.settings.life.most:
            await self._release_least_used(
                living, f"all {len(living)} viewers are in use: try again later, or ask for one to be stopped"
            )

    async def _release_least_used(self, viewers: list[Viewer], refusal: str) -> None:
        now = self.clock()
        unused = [viewer for viewer in viewers if viewer.state == "ready" and not viewer.presence.in_use(now)]
        if not unused:
            self.audit.say("refused", message=refusal)
            raise Refused(429, refusal, 30.0)
        await self._release(
            max(unused, key=lambda viewer: viewer.presence.idle_for(now)),
            "room: it was unseen for longest, and another was asked for",
        )

    def _load_in_background(self, spec: Spec, tool: Tool, why: str, points: bool = False) -> Viewer:
        now = self.clock()
        viewer = Viewer(spec, tool, Presence(Policy.of(spec.policy, self.settings.life), now), now, why, points)
        self._viewers[spec.id] = viewer
        viewer.loading = asyncio.create_task(self._load(viewer), name=f"load {spec.id}")
        return viewer

    async def _load(self, viewer: Viewer) -> None:
        limit = viewer.tool.start_seconds or self.settings.launch.start_seconds
        prefix = self.prefix(viewer)
        try:
            async with asyncio.timeout(limit):
                viewer.spec = await self._launcher.create(
                    viewer.spec, viewer.tool, prefix, lambda step: viewer.tell(step, self.clock())
                )
                await self.audit.commit("created", viewer.spec, message=viewer.why, policy=viewer.spec.policy)
                await self._until_ready(viewer, prefix)
        except TimeoutError:
            await self._fail(viewer, f"not ready within {limit:.0f} s: {viewer.step}")
            return
        except (TemporaryError, PermanentError) as error:
            await self._fail(viewer, str(error))
            return
        except asyncio.CancelledError:
            raise
        except Exception as error:
            log.exception("a fault while loading %s", viewer.spec.id)
            await self._fail(viewer, f"a fault of the gateway's own: {type(error).__name__}: {error}")
            return
        now = self.clock()
        viewer.ready_after = round(now - viewer.asked, 3)
        viewer.tell("ready", now)
        viewer.state = "ready"
        self._metrics.observe("gateway_viewer_start_seconds", viewer.ready_after, tool=viewer.tool.name)
        await self.audit.commit("ready", viewer.spec, seconds=viewer.ready_after)

    async def _until_ready(self, viewer: Viewer, prefix: str) -> None:
        while True:
            found = viewer.condition = await self._launcher.look(viewer.spec.id)
            viewer.lines = found.lines or viewer.lines
            if found.state in ("ended", "absent") or found.hopeless:
                raise PermanentError(found.message or "it is gone")
            if found.state == "running":
                if await self._answers(found, prefix, viewer.tool, viewer.points):
                    return
                viewer.tell(f"waiting for {viewer.tool.title} to answer", self.clock())
            elif found.message:
                viewer.tell(found.message, self.clock())
            await asyncio.sleep(0.1)

    async def _answers(self, found: Condition, prefix: str, tool: Tool, points: bool) -> bool:
        root = f"http://{host_in_url(found.host)}:{found.port}{prefix if tool.prefix == 'keep' else ''}"
        try:
            answer = await self.client.get(root + tool.ready, timeout=2.0)
            if answer.status_code < 400 and tool.shows and points:
                answer = await self.client.get(root + tool.shows, timeout=2.0)
                return answer.status_code < 400 and bool(answer.json())
        except (httpx.HTTPError, ValueError):
            return False
        return answer.status_code < 400

    async def _look(self, viewer: Viewer) -> None:
        found = await self._launcher.look(viewer.spec.id)
        if found.state == "unknown":  # nobody could tell: nothing follows
            return
        viewer.condition, viewer.lines = found, found.lines
        if found.state in ("ended", "absent") and viewer.state == "ready":
            await self._fail(viewer, found.message or "its pod or process is gone")

    async def _fail(self, viewer: Viewer, why: str) -> None:
        """Show why, record it, and leave nothing behind. It is not tried again by itself: a retry is a person's."""
        if viewer.state in ("failed", "releasing"):
            return
        viewer.state, viewer.ended = "failed", self.clock()
        viewer.tell(why, self.clock())
        log.warning("viewer %s of %s failed: %s", viewer.spec.id, viewer.spec.task_id, why)
        await self.audit.commit("failed", viewer.spec, message=why, last_line=viewer.lines[-1] if viewer.lines else "")
        try:
            await self._remove(viewer.spec, f"failed: {why}")
        except TemporaryError as error:
            log.warning("viewer %s: %s; the next comparison completes its removal", viewer.spec.id, error)
        finally:
            viewer.gone.set()

    async def _release(self, viewer: Viewer, reason: str, person: Person = NOBODY) -> None:
        if viewer.state in ("releasing", "failed"):
            if viewer.state == "failed":
                self._drop(viewer)
            else:
                await viewer.gone.wait()
            return
        viewer.state = "releasing"
        viewer.tell(reason, self.clock())
        if viewer.loading is not None and not viewer.loading.done():
            viewer.loading.cancel()
            await asyncio.gather(viewer.loading, return_exceptions=True)
        try:
            await self._remove(viewer.spec, reason, person)
            self._metrics.inc("gateway_releases_total", tool=viewer.tool.name, reason=reason.partition(":")[0].split(" ")[0])
        finally:
            self._drop(viewer)
            viewer.gone.set()

    def _begin_release(self, viewer: Viewer, reason: str) -> None:
        task = asyncio.create_task(self._release(viewer, reason), name=f"release {viewer.spec.id}")
        self._tasks.add(task)
        task.add_done_callback(self._ended)

    def _ended(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            log.warning("%s: %s; the next comparison completes it", task.get_name(), error)

    async def _remove(self, spec: Spec, reason: str, person: Person = NOBODY) -> None:
        """The steps of a release, each of which may be the last before a kill: noted, ended, recorded, forgotten."""
        self._gone[spec.life] = self.clock()
        await self._launcher.mark(spec, reason)
        life = await self._launcher.delete(spec.id)
        seconds = max(life.ended_ms - life.started_ms, 0) / 1000
        await self.audit.commit(
            "released", spec, person, reason,
            reason=reason.partition(":")[0], started_ms=life.started_ms, ended_ms=life.ended_ms, seconds=seconds,
            cpu_seconds=round(seconds * spec.cpu, 3), memory_mib_seconds=round(seconds * spec.memory_mib, 1),
        )  # fmt: skip
        await self._launcher.forget(spec.id)

    async def _compare(self, first: bool = False) -> None:
        """Compare with what exists: take up what is unknown here, complete releases that nobody completes."""
        found = await self._launcher.find()
        now = self.clock()
        half = set()
        for one in found:
            viewer = self._viewers.get(one.id)
            if viewer is not None:
                for replica, note in one.notes.items():
                    if replica != self._replica:
                        viewer.presence.hear(replica, note, now)
                if viewer.state == "failed" and viewer.gone.is_set():
                    await self._clear(one)
                elif one.releasing and viewer.state in ("ready", "loading"):  # another replica releases it
                    viewer.state = "releasing"
                    if viewer.loading is not None:
                        viewer.loading.cancel()
                    self._drop(viewer)
                continue
            known = one.spec is not None and one.spec.tool in self.registry.tools and one.spec.life not in self._gone
            if one.spec is not None and known and not one.releasing:
                self._load_in_background(one.spec, self.registry.tools[one.spec.tool], "taken up from a gateway before this one")
            elif first or one.id in self._half:
                await self._clear(one)
            else:
                half.add(one.id)  # perhaps another replica is at it: the next comparison tells
        self._half = half
        self._gone = {life: when for life, when in self._gone.items() if now - when < REMEMBER}

    async def _clear(self, one: Found) -> None:
        if one.spec is None:
            await self._launcher.delete(one.id)
            await self._launcher.forget(one.id)
        else:
            await self._remove(one.spec, one.releasing or f"tool: {one.spec.tool} is not known any more")

    async def _share(self) -> None:
        self._counter += 1
        now = self.clock()
        for viewer in self.all():
            if viewer.state in ("loading", "ready"):
                await self._launcher.share(viewer.spec.id, self._replica, viewer.presence.note(self._counter, now))

    def _record_presence(self) -> None:
        now = self.clock()
        for viewer in self.all():
            for user, seconds in viewer.presence.looked(now).items():
                self.audit.say(
                    "presence",
                    viewer.spec,
                    Person(user),
                    looked_seconds=round(seconds, 1),
                    pages=viewer.presence.users().get(user, 0),
                )

    def _drop(self, viewer: Viewer) -> None:
        if self._viewers.get(viewer.spec.id) is viewer:
            del self._viewers[viewer.spec.id]
            self._locks.pop(viewer.spec.id, None) if not self._locked(viewer.spec.id) else None

    def _locked(self, id: str) -> bool:
        return id in self._locks and self._locks[id].locked()

    def _count(self) -> None:
        for tool in self.registry.tools.values():
            for state in ("loading", "ready", "releasing", "failed"):
                number = sum(1 for v in self._viewers.values() if v.tool.name == tool.name and v.state == state)
                self._metrics.set("gateway_viewers", number, tool=tool.name, state=state)

    def prefix(self, viewer: Viewer) -> str:
        """The path under which the tool is shown, without a slash at its end."""
        return self.base_path + address(viewer.spec.task_id, viewer.spec.tool) + "app"


def task_facts(query: Query, task_id: str) -> TaskFacts | None:
    """What is asked of a task before it is shown; None where nobody knows it."""
    found = query("SELECT owner, project, lines FROM tasks WHERE task_id = {task:String}", task=task_id)
    if not found["owner"]:
        return None
    points = query("SELECT 1 AS one FROM all_points WHERE task_id = {task:String} LIMIT 1", task=task_id)
    return TaskFacts(task_id, found["owner"][0], found["project"][0], bool(points["one"]), bool(found["lines"][0]))


def host_in_url(host: str) -> str:
    return f"[{host}]" if ":" in host else host
