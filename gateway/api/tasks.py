"""`/api/v1/tasks` and all about one task that is no curve and no line."""

from __future__ import annotations

import asyncio
from typing import Annotated

from fastapi import APIRouter, Query, Request
from fastapi.responses import Response

from gateway.api.parameters import AccessOf, AllowedTask, KnownTask, Search, SharedOf, StoreOf, cursor, from_cursor, unknown_task
from gateway.api.values import answer
from gateway.feed import coverage
from gateway.queries.events import completeness, events, latency, wholeness
from gateway.queries.tasks import status_counts, task_list, task_parts, task_state

router = APIRouter(tags=["tasks"])
# Seconds that an answer serves everybody who asks the same: a list on many screens costs as one.
LIST_KEPT, COUNTS_KEPT = 1.0, 10.0
Status = Annotated[str, Query(max_length=100, description="only tasks of this status: running, succeeded, failed, …")]


@router.get("/tasks", summary="Tasks, newest first")
async def get_tasks(
    request: Request,
    store: StoreOf,
    shared: SharedOf,
    access: AccessOf,
    search: Search = "",
    status: Status = "",
    limit: Annotated[int, Query(ge=1, le=1000)] = 100,
    after: Annotated[str, Query(max_length=1000, description="`next` of the page before")] = "",
) -> Response:
    """`tasks`, and the cursor of the `next` page (null on the last). Times: ms since the epoch."""
    place = from_cursor(after, int, str) if after else None
    key = ("tasks", search, status, limit, place)
    found = await shared.get(
        key, LIST_KEPT, lambda: store.run(task_list, search=search, status=status, limit=limit + 1, after=place)
    )
    page = found[:limit]
    following = cursor((page[-1]["first_seen_ms"], page[-1]["task_id"])) if len(found) > limit else None
    return answer({"tasks": await access.readable(request, page), "next": following})


@router.get("/statuses", summary="Number of tasks by status")
async def get_statuses(request: Request, store: StoreOf, shared: SharedOf, access: AccessOf) -> Response:
    """Empty for a person who may not read all tasks."""
    if not await access.all_readable(request):
        return answer({})
    return answer(await shared.get(("statuses",), COUNTS_KEPT, lambda: store.run(status_counts)))


@router.get("/tasks/{task_id}", summary="One task")
async def get_task(task_id: AllowedTask, store: StoreOf) -> Response:
    """Latest state, progress with estimated end, attempts, ranks, files and parameters.

    `cursor` is the place in the task's live stream before any of this was read: a stream from there on misses nothing.
    """

    place = await store.run(coverage, task_id)
    state, parts = await asyncio.gather(store.run(task_state, task_id), store.run(task_parts, task_id))
    if state is None:
        raise unknown_task(task_id)
    return answer({"cursor": place.cursor(), "task": state, **parts})


@router.get("/tasks/{task_id}/events", summary="What happened, newest first")
async def get_events(
    task_id: KnownTask,
    store: StoreOf,
    kind: Annotated[list[Annotated[str, Query(max_length=100)]] | None, Query(description="only these kinds")] = None,
    quiet: Annotated[bool, Query(description="progress and parameters too")] = False,
    limit: Annotated[int, Query(ge=1, le=5000)] = 500,
    after: Annotated[str, Query(max_length=2000)] = "",
) -> Response:
    place = from_cursor(after, int, str, int, int) if after else None
    found = await store.run(events, task_id, kinds=tuple(kind or ()), quiet=quiet, limit=limit + 1, after=place)
    page = found[:limit]
    last = page[-1] if len(found) > limit else None
    following = cursor((last["time_ms"], last["file_id"], last["offset"], last["place"])) if last else None
    return answer({"events": page, "next": following})


@router.get("/tasks/{task_id}/completeness", summary="Is every byte stored?")
async def get_completeness(task_id: KnownTask, store: StoreOf) -> Response:
    """One entry a file: bytes written, shipped, stored, the byte ranges that are missing, and the verdict in words."""
    files, whole = await asyncio.gather(store.run(completeness, task_id), store.run(wholeness, task_id))
    return answer({**whole, "files": files})


@router.get("/tasks/{task_id}/latency", summary="Where time goes between a written line and a stored row")
async def get_latency(task_id: KnownTask, store: StoreOf) -> Response:
    """Median and 99th percentile of each hop over the last 1,000 batches. A negative hop is clock skew, shown as it is."""
    return answer(await store.run(latency, task_id))
