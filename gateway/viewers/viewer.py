"""One running instance of a tool, as the gateway knows it."""

from __future__ import annotations

import asyncio
import dataclasses
from typing import Any

from gateway.viewers.launchers.contract import Condition
from gateway.viewers.presence import Decision, Presence
from gateway.viewers.registry import Tool
from gateway.viewers.words import Spec, State, address


@dataclasses.dataclass
class Viewer:
    """State; `presence` decides, `Viewers` acts."""

    spec: Spec
    tool: Tool
    presence: Presence
    asked: float  # when it was asked for, of a clock that never jumps
    why: str = ""  # why this tool
    points: bool = False  # the task has some: the tool is ready when it shows them
    state: State = "loading"
    step: str = "asked for"  # what is being done, for the waiting page
    lines: tuple[str, ...] = ()  # the tool's last words
    steps: list[tuple[str, float]] = dataclasses.field(default_factory=list)  # (what, seconds since asked)
    condition: Condition = Condition("pending")
    ready_after: float | None = None  # seconds from asked to ready
    ended: float = 0.0  # when it failed
    decision: Decision | None = None
    loading: asyncio.Task[None] | None = None
    gone: asyncio.Event = dataclasses.field(default_factory=asyncio.Event)

    def tell(self, step: str, now: float) -> None:
        """What is being done; the waiting page shows it."""
        if step != self.step:
            self.step = step
            self.steps.append((step, round(now - self.asked, 3)))

    def as_data(self, now: float, base_path: str) -> dict[str, Any]:
        """For API and pages. Durations in seconds."""
        decision = self.decision
        return {
            "id": self.spec.id,
            "task_id": self.spec.task_id,
            "tool": self.tool.name,
            "title": self.tool.title,
            "owner": self.spec.owner,
            "policy": self.spec.policy,
            "address": base_path + address(self.spec.task_id, self.spec.tool),
            "state": self.state,
            "step": self.step,
            "why": self.why,
            "lines": list(self.lines) if self.state != "ready" else [],
            "created_ms": self.spec.created_ms,
            "age": round(now - self.asked, 1),
            "ready_after": self.ready_after,
            "pages": self.presence.pages(),
            "idle": round(self.presence.idle_for(now), 1),
            "left": round(decision.seconds_left) if decision else None,
            "reason": decision.reason if decision else "",
            "warned": self.presence.warned,
            "cpu_seconds": round((now - self.asked) * self.spec.cpu, 1),
            "memory_mib": self.spec.memory_mib,
            "steps": [{"step": step, "after": after} for step, after in self.steps],
        }
