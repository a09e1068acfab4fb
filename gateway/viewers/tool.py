"""`/view/TASK/TOOL/app/…`: the tool itself, for its page (by the key in its address) and for programs (by who they are)."""

from __future__ import annotations

import hmac
from urllib.parse import quote

from fastapi import APIRouter, Request
from fastapi.responses import FileResponse, RedirectResponse, Response
from starlette.datastructures import Headers
from starlette.websockets import WebSocket

from gateway.api.parameters import TaskId
from gateway.api.problems import problem
from gateway.viewers.headers import OPEN_TO_ITS_PAGE
from gateway.viewers.pages import PAGES
from gateway.viewers.parameters import ToolName, ViewersOf, answered, known, person_of
from gateway.viewers.paths import rest_of, split
from gateway.viewers.proxy import STORAGE, Proxy
from gateway.viewers.viewer import Viewer
from gateway.viewers.viewers import Viewers
from gateway.viewers.words import Refused, address

router = APIRouter(include_in_schema=False)


@router.api_route("/view/{task_id}/{tool}/app/{rest:path}", methods=["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"])
async def view_app(task_id: TaskId, tool: ToolName, request: Request, viewers: ViewersOf) -> Response:
    """An address typed into a browser leads to the page around it, which is what tells that somebody looks."""
    raw, query = request.scope["raw_path"], request.scope["query_string"]
    key, rest = split(rest_of(raw))
    page = viewers.base_path + address(task_id, tool)
    person = None
    if request.method == "GET" and request.headers.get("sec-fetch-dest") == "document":
        at = rest + (b"?" + query if query else b"")
        return RedirectResponse(page + (f"?at={quote(at, safe='')}" if at else ""), 307)
    if key is None:
        person = await person_of(request)
        await answered(viewers.allowed(person, task_id))
    viewer = await viewers.find(task_id, tool)
    if key is not None and not fits(key, viewer):
        return problem(404, f"this viewer is gone, or never was; its page is {page}", OPEN_TO_ITS_PAGE)
    if key is not None and preflight(request.method, request.headers):
        return Response(status_code=204, headers=OPEN_TO_ITS_PAGE)
    if viewer is None or viewer.state != "ready":
        return problem(503, f"not loaded{f' yet: {viewer.step}' if viewer else ''}; its page is {page}", {"Retry-After": "1"})
    if key is not None and rest == STORAGE:
        return FileResponse(PAGES / "storage.js", headers={"Cache-Control": "no-cache", **OPEN_TO_ITS_PAGE})
    if not rest and not raw.endswith(b"/"):  # without the final slash the relative addresses of pages would miss their prefix
        return RedirectResponse(viewers.prefix(viewer) + "/" + (f"?{request.url.query}" if query else ""), 307)
    proxy: Proxy = request.app.state.viewer_proxy
    return await proxy.http(request, viewer, rest, person.user if person else None)


@router.websocket("/view/{task_id}/{tool}/app/{rest:path}")
async def view_socket(socket: WebSocket, task_id: str, tool: str) -> None:
    viewers: Viewers = socket.app.state.viewers
    key, rest = split(rest_of(socket.scope["raw_path"]))
    person = None
    if key is None:
        origin = socket.headers.get("origin")
        if origin is not None and origin.partition("://")[2] != socket.headers.get("host"):
            await socket.close(1008, "a page of another origin asked")
            return
        person = known(socket)
    viewer = await viewers.find(task_id, tool)
    if viewer is None or viewer.state != "ready" or not (person if key is None else fits(key, viewer)):
        await socket.close(1008, "not signed in, or not loaded")
        return
    try:
        if person is not None:
            await viewers.allowed(person, task_id)
    except Refused:
        await socket.close(1008, "not allowed")
        return
    proxy: Proxy = socket.app.state.viewer_proxy
    await proxy.socket(socket, viewer, rest, person.user if person else None)


def fits(key: str, viewer: Viewer | None) -> bool:
    return viewer is not None and hmac.compare_digest(key.encode(), viewer.spec.key.encode())


def preflight(method: str, headers: Headers) -> bool:
    """A browser asks whether a page without an origin may ask."""
    return method == "OPTIONS" and "access-control-request-method" in headers
