"""The record of all that happens with viewers: appended with the SDK to a log file, which a shipper ships like any other.

So the gateway works on when broker and store are away, and loses no event. The file belongs to the task `trainwire-gateway`;
the task that somebody looked at is a field. Views over these events: schemas/clickhouse/*_viewers.sql.
"""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any, Literal

import trainwire

from gateway.viewers.words import NOBODY, Person, Spec

TASK_ID = "trainwire-gateway"

Kind = Literal[
    "requested",  # somebody asked for a task
    "selected",  # a tool was chosen, and why
    "created",  # its resources were made
    "ready",  # it answers
    "opened",  # a person opened its page
    "presence",  # once a minute: who looked for how long
    "left",  # a person closed the page
    "warned",  # it will go soon
    "extended",  # a person prolonged its life
    "released",  # its resources are gone: reason, seconds, cost
    "failed",  # it did not come up, or ended by itself: why
    "refused",  # somebody asked for what they may not have
]
# Lost with a killed process they would leave a life without beginning or end: in the file before the deed goes on.
DURABLE = {"created", "ready", "released", "failed"}


class Audit:
    """Appends. `say` never waits for the disk; `commit` returns when the record is in the file."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._run = trainwire.init(TASK_ID, dir=str(folder), name="the gateway's own record", flush_seconds=0.2)

    def say(
        self, kind: Kind, spec: Spec | None = None, person: Person = NOBODY, message: str | None = None, **fields: Any
    ) -> None:
        """Append one event. `fields` become columns of the views: plain values, seconds, MiB."""
        named = (
            {"viewer": spec.id, "life": spec.life, "viewed_task": spec.task_id, "tool": spec.tool, "owner": spec.owner}
            if spec
            else {}
        )
        who = {"user": person.user, "device": person.device, "method": person.method} if person.user else {}
        self._run.event(f"viewer_{kind}", message, **{**named, **who, **fields})

    async def commit(
        self, kind: Kind, spec: Spec | None = None, person: Person = NOBODY, message: str | None = None, **fields: Any
    ) -> None:
        """The same, and wait (at most 5 s: a full disk holds up no viewer) until it is in the file."""
        self.say(kind, spec, person, message, **fields)
        await asyncio.to_thread(self._run.flush, 5.0)

    def close(self) -> None:
        self._run.finish()
