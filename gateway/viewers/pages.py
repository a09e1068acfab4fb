"""The pages around tools, the list of viewers and the sign-in; what they are told, and what they say of themselves."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Annotated, Literal
from urllib.parse import quote

from fastapi import APIRouter, Query, Request
from fastapi.responses import FileResponse, RedirectResponse, Response, StreamingResponse
from pydantic import BaseModel, Field

from gateway.api.parameters import TaskId
from gateway.viewers.parameters import PersonOf, ToolName, ViewersOf, answered, known
from gateway.viewers.viewer import Viewer
from gateway.viewers.viewers import Viewers
from gateway.viewers.words import address, viewer_id
from gateway.web import POLICY

PAGES = Path(__file__).parent / "page"
TELL_EVERY = 0.25  # seconds between two looks at a viewer for its pages
ALIVE_EVERY = 10.0  # seconds between two words on a silent stream: a network that is gone is noticed by sending

router = APIRouter(include_in_schema=False)


class Word(BaseModel):
    """What a page says of itself."""

    page: str = Field(pattern=r"^[A-Za-z0-9-]{8,64}$")
    visible: bool = False
    closing: bool = False


@router.get("/viewers")
async def viewers_page() -> Response:
    return FileResponse(PAGES / "viewers.html", headers={"Cache-Control": "no-cache"})


@router.get("/sign-in")
async def sign_in_page() -> Response:
    return FileResponse(PAGES / "sign-in.html", headers={"Cache-Control": "no-cache"})


@router.get("/view/-/{name}")
async def page_part(name: Literal["view.js", "view.css", "viewers.js", "sign-in.js"]) -> Response:
    """Parts of the pages here; no task is called `-`."""
    return FileResponse(PAGES / name, headers={"Cache-Control": "no-cache"})


@router.get("/view/{task_id}")
async def view_default(task_id: TaskId, viewers: ViewersOf) -> Response:
    return RedirectResponse(viewers.base_path + address(task_id, viewers.registry.default), 307)


@router.get("/view/{task_id}/{tool}")
@router.get("/view/{task_id}/{tool}/app")
async def with_slash(task_id: TaskId, tool: ToolName, request: Request, viewers: ViewersOf) -> Response:
    """Without the final slash the relative addresses of pages would miss their prefix."""
    at = address(task_id, tool) + ("app/" if request.url.path.endswith("/app") else "")
    return RedirectResponse(viewers.base_path + at + (f"?{request.url.query}" if request.url.query else ""), 307)


@router.get("/view/{task_id}/{tool}/")
async def view_page(task_id: TaskId, tool: ToolName, request: Request, viewers: ViewersOf) -> Response:
    """The page around the tool: waiting, presence, warnings. It holds nothing of the task: its script asks for that."""
    if known(request) is None:
        here = viewers.base_path + address(task_id, tool) + (f"?{request.url.query}" if request.url.query else "")
        return RedirectResponse(f"{viewers.base_path}/sign-in?then={quote(here, safe='')}", 303)
    policy = f"{POLICY}; frame-src 'self'"
    return FileResponse(PAGES / "view.html", headers={"Cache-Control": "no-store", "Content-Security-Policy": policy})


@router.get("/view/{task_id}/{tool}/live")
async def view_live(
    task_id: TaskId,
    tool: ToolName,
    request: Request,
    viewers: ViewersOf,
    person: PersonOf,
    page: Annotated[str, Query(pattern=r"^[A-Za-z0-9-]{8,64}$")],
) -> Response:
    """Server-sent events: the viewer's state whenever it changes. As long as it is open, so is its page."""
    await answered(viewers.allowed(person, task_id))
    await viewers.find(task_id, tool)
    closing: asyncio.Event = request.app.state.closing

    async def body() -> AsyncIterator[str]:
        told, said_at, connected = "", viewers.clock(), None
        try:
            yield "retry: 1000\n\n"
            while not closing.is_set():
                viewer = viewers.by_id(viewer_id(task_id, tool))
                if viewer is not connected:
                    if viewer is not None:
                        viewers.opened(viewer, page, person)
                    connected = viewer
                text = json.dumps(_changing(viewer, viewers) if viewer else {"state": "absent"})
                if text != told:
                    told, said_at = text, viewers.clock()
                    yield f"data: {text}\n\n"
                elif viewers.clock() - said_at > ALIVE_EVERY:
                    said_at = viewers.clock()
                    yield ": here\n\n"
                await asyncio.sleep(TELL_EVERY)
        finally:
            if connected is not None:
                connected.presence.disconnect(page, viewers.clock())

    return StreamingResponse(
        body(), media_type="text/event-stream", headers={"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
    )


@router.post("/view/{task_id}/{tool}/presence", status_code=204)
async def view_presence(task_id: TaskId, tool: ToolName, word: Word, viewers: ViewersOf, person: PersonOf) -> Response:
    if (viewer := viewers.by_id(viewer_id(task_id, tool))) is not None:
        await answered(viewers.allowed(person, task_id))
        if word.closing:
            viewers.left(viewer, word.page, person)
        else:
            viewers.seen(viewer, word.page, person, word.visible)
    return Response(status_code=204)


def _changing(viewer: Viewer, viewers: Viewers) -> dict[str, object]:
    """What pages show, coarse enough not to change all the time."""
    data = viewer.as_data(viewers.clock(), viewers.base_path)
    left = data["left"]
    keep = ("state", "title", "tool", "owner", "policy", "step", "steps", "lines", "why", "reason", "warned", "ready_after", "id")
    return {name: data[name] for name in keep} | {
        "left": left if data["warned"] else None,
        "waited": round(data["age"]) if data["state"] == "loading" else None,
        "inner": f"{viewers.prefix(viewer)}/" if data["state"] == "ready" else None,
    }
