"""Loads a viewer and releases it in forked processes, killed at each step in turn; says what the next ones find.

    python -m tests.services.killed_viewers FOLDER TOOLS [NAMESPACE]

One line of JSON a step: `died`, what one reconcile found (`after`), and what another one after a release (`last`). With a
namespace (and KUBECONFIG), viewers are objects in a cluster, of a tool that no node has room for: as far as the API server takes
it. All parts are real but the store, which only says that the task is there.
"""

from __future__ import annotations

import asyncio
import inspect
import json
import os
import signal
import sys
import time
import traceback
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import httpx
from kubernetes_asyncio import client, config

from gateway.viewers.audit import Audit
from gateway.viewers.launchers.contract import Launcher
from gateway.viewers.launchers.kubernetes import KubernetesLauncher
from gateway.viewers.launchers.pods import MANAGED
from gateway.viewers.launchers.process import ProcessLauncher
from gateway.viewers.registry import Registry
from gateway.viewers.rights import Rights, TaskFacts
from gateway.viewers.settings import LaunchSettings, LifeSettings, PeopleSettings, ViewerSettings
from gateway.viewers.viewer import Viewer
from gateway.viewers.viewers import Viewers
from gateway.viewers.words import Person
from runtime.metrics import Metrics

ADA = Person("ada")


class KnownTask:
    """A store that knows every task."""

    async def run(self, function: object, task_id: str) -> TaskFacts:
        return TaskFacts(task_id)


class Steps:
    """Counts the deeds that leave something behind, and dies before or after the n-th."""

    def __init__(self, die_at: int) -> None:
        self.count, self.die_at = 0, die_at

    def passed(self) -> None:
        self.count += 1
        if self.count == self.die_at:
            os.kill(os.getpid(), signal.SIGKILL)

    def around(self, owner: type, *names: str) -> None:
        for name in names:
            self._around(owner, name, getattr(owner, name))

    def _around(self, owner: type, name: str, deed: Callable[..., Any]) -> None:
        def counted(*arguments: Any, **named: Any) -> Any:
            self.passed()
            found = deed(*arguments, **named)
            if inspect.isawaitable(found):
                return self._awaited(found)
            self.passed()
            return found

        setattr(owner, name, counted)

    async def _awaited(self, deed: Awaitable[Any]) -> Any:
        found = await deed
        self.passed()
        return found


class Processes:
    """Viewers as processes: what exists is folders."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    async def launcher(self, steps: Steps) -> Launcher:
        steps.around(ProcessLauncher, "_write", "_spawn", "_signal", "_remove")
        return ProcessLauncher(self._folder, lambda: None)  # type: ignore[arg-type, return-value]  # no feed

    def settled(self, viewer: Viewer) -> bool:
        return viewer.state != "loading"

    async def left(self) -> list[str]:
        return [path.name for path in self._folder.iterdir() if path.is_dir()]


class Pods:
    """Viewers as pods that no node has room for."""

    def __init__(self, namespace: str) -> None:
        self._settings = LaunchSettings(namespace=namespace)

    async def launcher(self, steps: Steps) -> Launcher:
        kinds = ("config_map", "service", "pod")
        deeds = [*(f"{deed}_namespaced_{kind}" for deed in ("create", "delete") for kind in kinds), "patch_namespaced_config_map"]
        steps.around(client.CoreV1Api, *deeds)
        return await KubernetesLauncher.connect(self._settings)

    def settled(self, viewer: Viewer) -> bool:
        return viewer.state != "loading" or "no node has room" in viewer.step

    async def left(self) -> list[str]:
        await config.load_kube_config()
        async with client.ApiClient() as api:
            core: Any = client.CoreV1Api(api)
            lists = (core.list_namespaced_pod, core.list_namespaced_service, core.list_namespaced_config_map)
            found = [(await every(self._settings.namespace, label_selector=MANAGED)).items for every in lists]
        return [f"{kind} {one.metadata.name}" for kind, items in zip("psc", found, strict=True) for one in items]


async def scenario(folder: Path, tools: str, mode: str, die_at: int, place: Processes | Pods) -> dict[str, Any]:
    steps = Steps(die_at)
    launcher = await place.launcher(steps)
    steps.around(Audit, "say")
    settings = ViewerSettings(launch=LaunchSettings(), life=LifeSettings(), people=PeopleSettings())
    audit = Audit(folder / "events")
    async with httpx.AsyncClient(trust_env=False) as asking:
        viewers = Viewers(
            settings, Registry.load(further=tools), Rights(), launcher, audit, KnownTask, asking, Metrics("gateway")  # type: ignore[arg-type]
        )  # fmt: skip
        await viewers.keeper.start()
        if mode == "live":
            await viewers.request(ADA, "run-1", "stub")
        for viewer in viewers.all():
            end = time.monotonic() + 60
            while not place.settled(viewer) and time.monotonic() < end:
                await asyncio.sleep(0.02)
        found: dict[str, Any] = {
            "viewers": [(one.spec.life, one.state, one.step) for one in viewers.all()],
            "left": await place.left(),
        }
        for viewer in viewers.all():
            if viewer.state == "ready":
                url = f"http://127.0.0.1:{viewer.condition.port}{viewers.prefix(viewer)}/ready"
                found["answers"] = (await asking.get(url)).text
            await viewers.stop(viewer, ADA)
        await viewers.close()
        await asyncio.to_thread(audit.close)
    return {**found, "steps": steps.count}


def forked(folder: Path, tools: str, mode: str, place: Processes | Pods, die_at: int = 0) -> dict[str, Any] | None:
    """What it said; None where it died. Forked, so that the imports are paid once."""
    answer = folder.with_suffix(f".{mode}")
    answer.unlink(missing_ok=True)
    child = os.fork()
    if child == 0:
        try:
            answer.write_text(json.dumps(asyncio.run(scenario(folder, tools, mode, die_at, place))))
            os._exit(0)
        except BaseException:
            traceback.print_exc()
            os._exit(1)
    _, status = os.waitpid(child, 0)
    if os.WIFSIGNALED(status):
        return None
    if status:
        sys.exit("a scenario failed")
    found: dict[str, Any] = json.loads(answer.read_text())
    return found


def recorded_lives(folder: Path) -> tuple[dict[str, set[str]], dict[str, set[tuple[int, int]]]]:
    """By life: the kinds of its events, and the ends that were recorded."""
    lives: dict[str, set[str]] = {}
    ends: dict[str, set[tuple[int, int]]] = {}
    for file in (folder / "events").rglob("*.jsonl"):
        for line in file.read_text().splitlines():
            event = json.loads(line)
            if event["tw"] == "event" and (life := event["fields"].get("life")):
                lives.setdefault(life, set()).add(event["kind"])
                if event["kind"] == "viewer_released":
                    ends.setdefault(life, set()).add((event["fields"]["started_ms"], event["fields"]["ended_ms"]))
    return lives, ends


def main(folder: Path, tools: str, namespace: str = "") -> None:
    def place(name: str) -> Processes | Pods:
        return Pods(namespace) if namespace else Processes(folder / name / "viewers")

    whole = forked(folder / "whole", tools, "live", place("whole"))
    print(json.dumps(whole), flush=True)
    for step in range(1, whole["steps"] + 1):  # type: ignore[index]  # it was not killed
        name = f"step-{step}"
        died = forked(folder / name, tools, "live", place(name), step) is None
        after, last = (forked(folder / name, tools, "after", place(name)) for _ in range(2))
        print(json.dumps({"died": died, "after": after, "last": last}), flush=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]), *sys.argv[2:])
