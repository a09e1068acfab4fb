"""Loads a viewer and releases it in forked processes, killed at each step in turn; says what the next ones find.

    python -m tests.services.killed_viewers FOLDER TOOLS

One line of JSON a step: `died`, what one reconcile found (`after`), and what another one after a release (`last`).
All parts are real but the store, which only says that the task is there.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
import time
import traceback
from pathlib import Path
from typing import Any

import httpx

from gateway.viewers.audit import Audit
from gateway.viewers.launchers.process import ProcessLauncher
from gateway.viewers.registry import Registry
from gateway.viewers.rights import Rights, TaskFacts
from gateway.viewers.settings import LaunchSettings, LifeSettings, PeopleSettings, ViewerSettings
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

    def around(self, owner: type, name: str) -> None:
        deed = getattr(owner, name)

        def counted(*arguments: Any, **named: Any) -> Any:
            self.passed()
            found = deed(*arguments, **named)
            self.passed()
            return found

        setattr(owner, name, counted)


async def scenario(folder: Path, tools: str, mode: str, die_at: int) -> dict[str, Any]:
    steps = Steps(die_at)
    for name in ("_write", "_spawn", "_signal", "_remove"):
        steps.around(ProcessLauncher, name)
    steps.around(Audit, "say")
    settings = ViewerSettings(launch=LaunchSettings(), life=LifeSettings(), people=PeopleSettings())
    audit = Audit(folder / "events")
    async with httpx.AsyncClient(trust_env=False) as client:
        launcher = ProcessLauncher(folder / "viewers", lambda: None)  # type: ignore[arg-type, return-value]  # no feed
        viewers = Viewers(
            settings, Registry.load(further=tools), Rights(), launcher, audit, KnownTask, client, Metrics("gateway")  # type: ignore[arg-type]
        )  # fmt: skip
        await viewers.keeper.start()
        if mode == "live":
            await viewers.request(ADA, "run-1", "stub")
        for viewer in viewers.all():
            end = time.monotonic() + 60
            while viewer.state == "loading" and time.monotonic() < end:
                await asyncio.sleep(0.02)
        left = [path.name for path in (folder / "viewers").iterdir() if path.is_dir()]
        found = {"viewers": [(viewer.spec.life, viewer.state, viewer.step) for viewer in viewers.all()], "folders": left}
        for viewer in viewers.all():
            found["answers"] = (await client.get(f"http://127.0.0.1:{viewer.condition.port}{viewers.prefix(viewer)}/ready")).text
            await viewers.stop(viewer, ADA)
        await viewers.close()
        await asyncio.to_thread(audit.close)
    return {**found, "steps": steps.count}


def forked(folder: Path, tools: str, mode: str, die_at: int = 0) -> dict[str, Any] | None:
    """What it said; None where it died. Forked, so that the imports are paid once."""
    answer = folder.with_suffix(f".{mode}")
    answer.unlink(missing_ok=True)
    child = os.fork()
    if child == 0:
        try:
            answer.write_text(json.dumps(asyncio.run(scenario(folder, tools, mode, die_at))))
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


def main(folder: Path, tools: str) -> None:
    whole = forked(folder / "whole", tools, "live")
    print(json.dumps(whole), flush=True)
    for step in range(1, whole["steps"] + 1):  # type: ignore[index]  # it was not killed
        place = folder / f"step-{step}"
        died = forked(place, tools, "live", step) is None
        print(
            json.dumps({"died": died, "after": forked(place, tools, "after"), "last": forked(place, tools, "after")}), flush=True
        )


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2])
