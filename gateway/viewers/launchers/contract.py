"""What a launcher does. Every deed may be done again: a half-made set is completed, a half-removed one removed."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from typing import Literal, Protocol

from gateway.viewers.presence import Note
from gateway.viewers.registry import Tool
from gateway.viewers.words import Spec

Told = Callable[[str], None]  # takes a sentence for the waiting page: what is being done
Prefix = Callable[[Spec], str]  # the path under which that viewer's tool is shown, without a slash at its end


@dataclasses.dataclass(frozen=True)
class Condition:
    """How a viewer's resources are. `unknown`: nobody could tell now, so nothing follows from it."""

    state: Literal["absent", "pending", "running", "ended", "unknown"]
    message: str = ""  # why it is not running, for people
    lines: tuple[str, ...] = ()  # the tool's last words
    host: str = ""
    port: int = 0
    started_ms: int = 0  # when its process or pod began to exist, wall clock
    ended_ms: int = 0
    hopeless: bool = False  # waiting will not help


@dataclasses.dataclass(frozen=True)
class Found:
    """A viewer that exists. Without a spec it is a half-made one that nobody can show: to be removed."""

    id: str
    spec: Spec | None
    releasing: str = ""  # why its release began
    notes: Mapping[str, Note] = dataclasses.field(default_factory=dict)


@dataclasses.dataclass(frozen=True)
class Life:
    """How long resources existed, wall clock: the base of the cost. 0: never."""

    started_ms: int = 0
    ended_ms: int = 0


class Launcher(Protocol):
    """Raises `TemporaryError` where the same may work later, `PermanentError` where it will not."""

    async def create(self, spec: Spec, tool: Tool, prefix: Prefix, told: Told) -> Spec:
        """Make what is missing, and take up what a gateway before this one did for it. Returns the spec that holds: of two
        that are made at once, the first one's."""
        ...

    async def look(self, id: str) -> Condition: ...

    async def find(self) -> list[Found]: ...

    async def mark(self, spec: Spec, reason: str) -> bool:
        """Note that its release begins, so that it is completed whatever happens. False where it was noted before."""
        ...

    async def delete(self, id: str) -> Life:
        """End its process or pod, and wait until it has. What was noted of it stays, until `forget`."""
        ...

    async def forget(self, id: str) -> None:
        """The last step of a release, once its record is written: nothing of it is left."""
        ...

    async def share(self, id: str, replica: str, note: Note) -> None:
        """Tell other replicas who is there."""
        ...

    async def close(self) -> None: ...
