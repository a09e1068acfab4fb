"""`/api/v1/viewers`, `/api/v1/tools` and `/view/…`: ask for a viewer, look at it, prolong it, stop it."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable
from pathlib import Path
from typing import Annotated, Literal, TypeVar
from urllib.parse import quote, unquote_to_bytes

from fastapi import APIRouter, Depends, Query, Request
from fastapi import Path as InPath
from fastapi.responses import FileResponse, JSONResponse, RedirectResponse, Response, StreamingResponse
from pydantic import BaseModel, Field
from starlette.websockets import WebSocket

from gateway.api.parameters import TASK, TaskId
from gateway.api.problems import Problem, problem
from gateway.viewers.people import COOKIE, People
from gateway.viewers.proxy import Proxy
from gateway.viewers.registry import NAME
from gateway.viewers.viewer import Viewer
from gateway.viewers.viewers import Refused, Viewers
from gateway.viewers.words import Person, address, viewer_id
from gateway.web import POLICY

T = TypeVar("T")
PAGES = Path(__file__).parent / "page"
TELL_EVERY = 0.25  # seconds between two looks at a viewer for its pages
ALIVE_EVERY = 10.0  # seconds between two words on a silent stream: a network that is gone is noticed by sending


class Wish(BaseModel):
    """What somebody asks for."""

    task_id: str = Field(pattern=TASK)
    tool: str | None = Field(None, pattern=f"^{NAME}$", description="empty: chosen by what the task has")
    policy: Literal["offline", "threshold", "kept"] | None = Field(None, description="empty: the gateway's setting")


class Word(BaseModel):
    """What a page says of itself."""

    page: str = Field(pattern=r"^[A-Za-z0-9-]{8,64}$")
    visible: bool = False
    closing: bool = False


class Token(BaseModel):
    token: str = Field(min_length=1, max_length=1000)


ToolName = Annotated[str, InPath(pattern=f"^{NAME}$")]
ViewerId = Annotated[str, InPath(pattern=r"^v-[a-z2-7]{20}$")]


def viewers_of(request: Request) -> Viewers:
    found: Viewers = request.app.state.viewers
    return found


async def person_of(request: Request) -> Person:
    """Who asks. Ends the request with 401 where nobody is known."""
    people: People = request.app.state.people
    person = people.who(request.headers, request.client.host if request.client else "", request.app.state.wall())
    if person is None:
        raise Problem(401, "sign in first: a token in the header `Authorization: Bearer …`, or the page /sign-in")
    return person


ViewersOf = Annotated[Viewers, Depends(viewers_of)]
PersonOf = Annotated[Person, Depends(person_of)]
router = APIRouter()


@router.get("/api/v1/tools", tags=["viewers"], summary="Tools that can show a task")
async def get_tools(viewers: ViewersOf, person: PersonOf) -> Response:  # noqa: ARG001  # signed in
    """`deep_link`: what to put behind a viewer's address as `?at=` (encoded) to show one curve; {metric} (a pattern's signs
    escaped), {attempt} and {rank} are filled in by the caller."""
    tools = [
        {"name": tool.name, "title": tool.title, "kind": tool.kind, "needs": tool.needs, "deep_link": tool.deep_link}
        for tool in viewers.registry.tools.values()
    ]
    return JSONResponse({"tools": tools, "default": viewers.registry.default})


@router.post("/api/v1/viewers", tags=["viewers"], status_code=202, summary="Show a task in a tool")
async def post_viewer(wish: Wish, viewers: ViewersOf, person: PersonOf) -> Response:
    """202, the stable `address` to look at, the `tool` and `why` that one. Asking again joins the viewer that there is."""
    asked = await _answered(viewers.request(person, wish.task_id, wish.tool, wish.policy))
    body = {
        "address": asked.address,
        "tool": asked.tool.name,
        "why": asked.why,
        "viewer": asked.viewer.as_data(viewers.clock(), viewers.base_path) if asked.viewer else None,
    }
    return JSONResponse(body, 202, {"Location": asked.address})


@router.get("/api/v1/viewers", tags=["viewers"], summary="Running viewers")
async def get_viewers(viewers: ViewersOf, person: PersonOf) -> Response:
    """Those of tasks that the person may see."""
    shown = []
    for viewer in viewers.all():
        try:
            await viewers.allowed(person, viewer.spec.task_id)
        except Refused:
            continue
        may_end = viewers.rights.may_end(person, viewer.spec.owner)
        shown.append({**viewer.as_data(viewers.clock(), viewers.base_path), "may_end": may_end})
    return JSONResponse({"viewers": shown, "most": viewers.settings.life.most})


@router.get("/api/v1/viewers/{id}", tags=["viewers"], summary="One viewer")
async def get_viewer(id: ViewerId, viewers: ViewersOf, person: PersonOf) -> Response:
    return JSONResponse((await _known(viewers, id, person)).as_data(viewers.clock(), viewers.base_path))


@router.delete("/api/v1/viewers/{id}", tags=["viewers"], status_code=204, summary="Stop a viewer, and wait until it is gone")
async def delete_viewer(id: ViewerId, viewers: ViewersOf, person: PersonOf) -> Response:
    await _answered(viewers.stop(await _known(viewers, id, person), person))
    return Response(status_code=204)


@router.post("/api/v1/viewers/{id}/extend", tags=["viewers"], summary="Prolong a viewer's life")
async def post_extend(id: ViewerId, viewers: ViewersOf, person: PersonOf) -> Response:
    viewer = await _known(viewers, id, person)
    viewers.extend(viewer, person)
    return JSONResponse(viewer.as_data(viewers.clock(), viewers.base_path))


@router.post("/api/v1/session", tags=["people"], status_code=204, summary="A session cookie for a token")
async def post_session(body: Token, request: Request) -> Response:
    people: People = request.app.state.people
    found = people.of_token(body.token)
    if found is None:
        raise Problem(403, "this token is not known")
    response = Response(status_code=204)
    value = people.session(Person(*found), request.app.state.wall())
    path = request.app.state.viewers.base_path or "/"
    response.set_cookie(COOKIE, value, path=path, httponly=True, samesite="lax", secure=request.url.scheme == "https")
    return response


# -- pages -------------------------------------------------------------------------------------------------------------


@router.get("/viewers", include_in_schema=False)
async def viewers_page() -> Response:
    return FileResponse(PAGES / "viewers.html", headers={"Cache-Control": "no-cache"})


@router.get("/sign-in", include_in_schema=False)
async def sign_in_page() -> Response:
    return FileResponse(PAGES / "sign-in.html", headers={"Cache-Control": "no-cache"})


@router.get("/view/-/{name}", include_in_schema=False)
async def page_part(name: Literal["view.js", "view.css", "viewers.js", "sign-in.js"]) -> Response:
    """Parts of the pages here; no task is called `-`."""
    return FileResponse(PAGES / name, headers={"Cache-Control": "no-cache"})


@router.get("/view/{task_id}", include_in_schema=False)
async def view_default(task_id: TaskId, viewers: ViewersOf) -> Response:
    return RedirectResponse(viewers.base_path + address(task_id, viewers.registry.default), 307)


@router.get("/view/{task_id}/{tool}", include_in_schema=False)
@router.get("/view/{task_id}/{tool}/app", include_in_schema=False)
async def with_slash(task_id: TaskId, tool: ToolName, request: Request, viewers: ViewersOf) -> Response:
    """Without the final slash the relative addresses of pages would miss their prefix."""
    at = address(task_id, tool) + ("app/" if request.url.path.endswith("/app") else "")
    return RedirectResponse(viewers.base_path + at + (f"?{request.url.query}" if request.url.query else ""), 307)


@router.get("/view/{task_id}/{tool}/", include_in_schema=False)
async def view_page(task_id: TaskId, tool: ToolName, request: Request, viewers: ViewersOf) -> Response:
    """The page around the tool: waiting, presence, warnings. It holds nothing of the task: its script asks for that."""
    people: People = request.app.state.people
    if people.who(request.headers, request.client.host if request.client else "", request.app.state.wall()) is None:
        here = viewers.base_path + address(task_id, tool) + (f"?{request.url.query}" if request.url.query else "")
        return RedirectResponse(f"{viewers.base_path}/sign-in?then={quote(here, safe='')}", 303)
    policy = f"{POLICY}; frame-src 'self'"
    return FileResponse(PAGES / "view.html", headers={"Cache-Control": "no-store", "Content-Security-Policy": policy})


@router.get("/view/{task_id}/{tool}/live", include_in_schema=False)
async def view_live(
    task_id: TaskId,
    tool: ToolName,
    request: Request,
    viewers: ViewersOf,
    person: PersonOf,
    page: Annotated[str, Query(pattern=r"^[A-Za-z0-9-]{8,64}$")],
) -> Response:
    """Server-sent events: the viewer's state whenever it changes. As long as it is open, so is its page."""
    await _answered(viewers.allowed(person, task_id))
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


@router.post("/view/{task_id}/{tool}/presence", include_in_schema=False, status_code=204)
async def view_presence(task_id: TaskId, tool: ToolName, word: Word, viewers: ViewersOf, person: PersonOf) -> Response:
    if (viewer := viewers.by_id(viewer_id(task_id, tool))) is not None:
        await _answered(viewers.allowed(person, task_id))
        if word.closing:
            viewers.left(viewer, word.page, person)
        else:
            viewers.seen(viewer, word.page, person, word.visible)
    return Response(status_code=204)


@router.api_route(
    "/view/{task_id}/{tool}/app/{rest:path}",
    methods=["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"],
    include_in_schema=False,
)
async def view_app(task_id: TaskId, tool: ToolName, request: Request, viewers: ViewersOf, person: PersonOf) -> Response:
    """The tool. Its address typed into a browser leads to the page around it, which is what tells that somebody looks."""
    await _answered(viewers.allowed(person, task_id))
    rest = raw_rest(request.scope["raw_path"])
    if request.method == "GET" and request.headers.get("sec-fetch-dest") == "document":
        inner = rest + (b"?" + request.scope["query_string"] if request.scope["query_string"] else b"")
        at = f"?at={quote(inner, safe='')}" if inner else ""
        return RedirectResponse(viewers.base_path + address(task_id, tool) + at, 307)
    viewer = await viewers.find(task_id, tool)
    if viewer is None or viewer.state != "ready":
        where = viewers.base_path + address(task_id, tool)
        return problem(503, f"not loaded{f' yet: {viewer.step}' if viewer else ''}; its page is {where}", {"Retry-After": "1"})
    proxy: Proxy = request.app.state.viewer_proxy
    return await proxy.http(request, viewer, rest, person)


@router.websocket("/view/{task_id}/{tool}/app/{rest:path}")
async def view_socket(socket: WebSocket, task_id: str, tool: str) -> None:
    state = socket.app.state
    viewers: Viewers = state.viewers
    origin = socket.headers.get("origin")
    if origin is not None and origin.partition("://")[2] != socket.headers.get("host"):
        await socket.close(1008, "a page of another origin asked")
        return
    person = state.people.who(socket.headers, socket.client.host if socket.client else "", state.wall())
    viewer = await viewers.find(task_id, tool)
    rest = raw_rest(socket.scope["raw_path"])
    if person is None or viewer is None or viewer.state != "ready":
        await socket.close(1008, "not signed in, or not loaded")
        return
    try:
        await viewers.allowed(person, task_id)
    except Refused:
        await socket.close(1008, "not allowed")
        return
    await state.viewer_proxy.socket(socket, viewer, rest, person)


def raw_rest(raw_path: bytes) -> bytes:
    """What stands behind `/view/TASK/TOOL/app/` in a path as it came: the bytes that go to the tool."""
    segments = raw_path.split(b"?")[0].split(b"/")
    for place, segment in enumerate(segments):
        if unquote_to_bytes(segment) == b"view":
            return b"/".join(segments[place + 4 :])
    return b""


def _changing(viewer: Viewer, viewers: Viewers) -> dict[str, object]:
    """What pages show, coarse enough not to change all the time."""
    data = viewer.as_data(viewers.clock(), viewers.base_path)
    left = data["left"]
    keep = ("state", "title", "tool", "owner", "policy", "step", "steps", "lines", "why", "reason", "warned", "ready_after", "id")
    return {name: data[name] for name in keep} | {
        "left": left if data["warned"] else None,
        "waited": round(data["age"]) if data["state"] == "loading" else None,
    }


async def _known(viewers: Viewers, id: str, person: Person) -> Viewer:
    viewer = viewers.by_id(id)
    if viewer is None:
        raise Problem(404, f"no viewer {id}")
    await _answered(viewers.allowed(person, viewer.spec.task_id))
    return viewer


async def _answered(asked: Awaitable[T]) -> T:
    """A refusal as the answer that it is."""
    try:
        return await asked
    except Refused as error:
        raise Problem(error.status, str(error)) from None
