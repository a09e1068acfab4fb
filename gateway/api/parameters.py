"""What requests may say: checked here, so that nothing hostile goes further. Values reach the store as bound parameters only."""

from __future__ import annotations

import base64
import binascii
import json
from typing import Annotated, Any

from fastapi import Depends, Path, Query, Request

from gateway.api.access import Access
from gateway.api.problems import Problem
from gateway.queries.tasks import task_exists
from gateway.settings import Settings
from gateway.shared import Shared
from gateway.store import Store

MOST_KNOWN = 20_000  # ids kept, at 128 bytes at most: 3 MB
TASK = r"^[A-Za-z0-9][A-Za-z0-9._:-]{0,127}$"


def store(request: Request) -> Store:
    found: Store = request.app.state.store
    return found


def settings(request: Request) -> Settings:
    found: Settings = request.app.state.settings
    return found


def shared(request: Request) -> Shared:
    found: Shared = request.app.state.shared
    return found


SharedOf = Annotated[Shared, Depends(shared)]
StoreOf = Annotated[Store, Depends(store)]
SettingsOf = Annotated[Settings, Depends(settings)]
TaskId = Annotated[str, Path(pattern=TASK, description="task id: letters, digits and ._:- , at most 128")]
Search = Annotated[str, Query(max_length=300, description="a part of the text, in any case")]
Name = Annotated[str, Query(min_length=1, max_length=1000)]
FileId = Annotated[str | None, Query(max_length=300, description="only this log file")]


def unknown_task(task_id: str) -> Problem:
    return Problem(404, f"no task {task_id!r}: nothing of it is stored (yet); see `trainwirectl tasks` for those that are")


def access(request: Request) -> Access:
    found: Access = request.app.state.access
    return found


AccessOf = Annotated[Access, Depends(access)]


async def allowed_task(task_id: TaskId, request: Request, access: AccessOf) -> str:
    """The id, when the person who asks may read such a task, if there is one."""
    await access.check(request, task_id)
    return task_id


AllowedTask = Annotated[str, Depends(allowed_task)]


async def known_task(task_id: AllowedTask, store: StoreOf, request: Request) -> str:
    """The id, when the store knows such a task; else the request ends with 404.

    A task that was known once is not asked for again: its ranges outlive its data.
    """
    known: set[str] = request.app.state.known_tasks
    if task_id not in known:
        if not await store.run(task_exists, task_id):
            raise unknown_task(task_id)
        if len(known) >= MOST_KNOWN:
            known.clear()
        known.add(task_id)
    return task_id


KnownTask = Annotated[str, Depends(known_task)]


def cursor(values: tuple[Any, ...] | list[Any]) -> str:
    """A place in a list, as opaque text."""
    return base64.urlsafe_b64encode(json.dumps(list(values), separators=(",", ":")).encode()).decode().rstrip("=")


def from_cursor(text: str, *kinds: type) -> tuple[Any, ...]:
    """The place again. Ends the request with 400 where the text is no such cursor."""
    try:
        values = json.loads(base64.urlsafe_b64decode(text + "=" * (-len(text) % 4)))
        if isinstance(values, list) and [type(value) for value in values] == list(kinds):
            return tuple(values)
    except (binascii.Error, ValueError):
        pass
    raise Problem(400, "not a cursor of this list: take the one that an answer gave, unchanged")
