"""`/api/v1/tasks/{id}/live`: what is new, as server-sent events."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator
from typing import Annotated, Any

from fastapi import APIRouter, Header, Query, Request
from fastapi.responses import Response, StreamingResponse

from gateway.api.parameters import KnownTask, SettingsOf, StoreOf
from gateway.api.problems import Problem
from gateway.api.values import encode
from gateway.coverage import Coverage
from gateway.feed import Feed, Message, coverage
from gateway.queries.events import pipeline_events
from gateway.queries.tasks import task_state
from gateway.settings import LiveSettings
from gateway.store import Query as StoreQuery
from gateway.store import Store
from runtime.errors import PermanentError, TemporaryError
from runtime.retry import Backoff

router = APIRouter(tags=["live"])

# Seconds between two looks at the state, which costs ten times a look for what is new: at an event other than progress
# at once, while bytes come each second, else less often (heartbeats carry the progress of open lines), and ever less often
# where it stays as it was: of 200 pages most show tasks that are over.
STATE_BUSY, STATE_QUIET, STATE_SETTLED = 1.0, 2.0, 8.0
KEEP_ALIVE = 15.0  # seconds: proxies close streams that are silent for 30 to 60
IDLE_AFTER = 60.0  # seconds without a byte until looks become rarer


@router.get(
    "/tasks/{task_id}/live",
    summary="What is new, as it becomes queryable",
    response_class=StreamingResponse,
    responses={200: {"content": {"text/event-stream": {}}, "description": "events `new`, `state`, `problem`"}},
)
async def get_live(
    request: Request,
    task_id: KnownTask,
    store: StoreOf,
    settings: SettingsOf,
    after: Annotated[
        str, Query(max_length=200_000, description="a task's `cursor`, or `start` for all there is; empty: from now")
    ] = "",
    last_event_id: Annotated[str, Header(max_length=200_000)] = "",
) -> Response:
    """Event `place`: nothing but the place it begins at, as its id.

    Event `new`: {lines, points, events, revised, more}, with the place behind it as its id; a stream that is opened again with
    `Last-Event-ID` goes on there, and gives nothing twice. `revised` are files whose curves are to be read again.
    Event `state`: {task, pipeline}, whole, when it changed. Event `problem`: {detail}; the stream goes on when it can.
    """
    gate: asyncio.Semaphore = request.app.state.live_gate
    if gate.locked():
        raise Problem(
            503, f"{settings.live.streams} live streams are open already: close one, or raise TRAINWIRE_GATEWAY_LIVE_STREAMS"
        )
    place = last_event_id or after
    try:
        start = Coverage() if place == "start" else Coverage.from_cursor(place) if place else await store.run(coverage, task_id)
    except ValueError as error:
        raise Problem(400, f"{error}: take the id of an event or a task's `cursor`, unchanged") from None
    stream = Stream(store, Feed(task_id, start), settings.live, request.app.state.closing)

    async def body() -> AsyncIterator[str]:
        async with gate:
            request.app.state.metrics.set("gateway_streams", settings.live.streams - gate._value)
            try:
                async for text in stream.events():
                    yield text
            finally:
                request.app.state.metrics.set("gateway_streams", settings.live.streams - gate._value - 1)

    headers = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
    return StreamingResponse(body(), media_type="text/event-stream", headers=headers)


class Stream:
    """One reader's stream: looks, waits, and says what it found."""

    def __init__(self, store: Store, feed: Feed, settings: LiveSettings, closing: asyncio.Event) -> None:
        self._store, self._feed, self._settings, self._closing = store, feed, settings, closing
        self._state: dict[str, Any] | None = None
        self._reading: asyncio.Task[dict[str, Any]] | None = None  # the state; what is new does not wait for it
        self._read = 0.0  # when that began last
        self._rest = STATE_QUIET  # until the next, while nothing is new
        self._urgent = False  # something happened since
        self._failures = 0
        self._backoff = Backoff(first=0.5, most=10)

    async def events(self) -> AsyncIterator[str]:
        """Server-sent events, until the gateway closes or the reader leaves."""
        yield "retry: 1000\n" + _event("place", {}, self._feed.coverage.cursor())  # to come back to before anything was new
        came = said = time.monotonic()
        try:
            while not self._closing.is_set():
                began = time.monotonic()
                wait = self._settings.interval if began - came < IDLE_AFTER else self._settings.idle_interval
                found, message = await self._look(began)
                for text in found:
                    said = began
                    yield text
                if message:
                    came = began
                    if message.more:
                        continue
                if self._failures:
                    wait = self._backoff.wait(self._failures)
                if began - said >= KEEP_ALIVE:
                    said = began
                    yield ": still here\n\n"
                with contextlib.suppress(TimeoutError):
                    await asyncio.wait_for(self._closing.wait(), max(wait - (time.monotonic() - began), 0.02))
        finally:
            if self._reading:
                self._reading.cancel()
                await asyncio.gather(self._reading, return_exceptions=True)

    async def _look(self, now: float) -> tuple[list[str], Message | None]:
        """What there is to say, and the message in it."""
        found: list[str] = []
        message = None
        try:
            message = await self._store.run(self._feed.look)
            if message:
                found.append(self._new(message))
            if self._reading and self._reading.done():
                reading, self._reading = self._reading, None
                found += self._changed(reading.result())
            if message:
                self._rest = STATE_QUIET
            due = STATE_BUSY if message else self._rest
            self._urgent |= message is not None and any(event["kind"] != "progress" for event in message.events)
            if not self._reading and (self._urgent or now - self._read >= due):
                self._read, self._urgent = now, False
                self._reading = asyncio.create_task(self._store.run(self._read_state))
            if self._failures:
                self._failures = 0
                found.append(_event("problem", {"detail": ""}))
        except (TemporaryError, PermanentError) as error:
            self._failures += 1
            found.append(_event("problem", {"detail": str(error)}))
        return found, message

    def _new(self, message: Message) -> str:
        data = {
            "lines": message.lines,
            "points": message.points,
            "events": message.events,
            "revised": message.revised,
            "more": message.more,
        }
        return _event("new", data, message.coverage.cursor())

    def _read_state(self, query: StoreQuery) -> dict[str, Any]:
        task_id = self._feed.task_id
        return {"task": task_state(query, task_id), "pipeline": pipeline_events(query, task_id)}

    def _changed(self, state: dict[str, Any]) -> list[str]:
        if state == self._state:
            self._rest = min(2 * self._rest, STATE_SETTLED)
            return []
        self._state, self._rest = state, STATE_QUIET
        return [_event("state", state)]


def _event(kind: str, data: Any, place: str = "") -> str:
    return f"event: {kind}\n{f'id: {place}' + chr(10) if place else ''}data: {encode(data)}\n\n"
