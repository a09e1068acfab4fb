"""`/api/v1/viewers`, `/api/v1/tools`, `/api/v1/session`: ask for a viewer, prolong it, stop it."""

from __future__ import annotations

from typing import Literal

from fastapi import APIRouter, Request
from fastapi.responses import JSONResponse, Response
from pydantic import BaseModel, Field

from gateway.api.parameters import TASK
from gateway.api.problems import Problem
from gateway.viewers.parameters import PersonOf, ViewerId, ViewersOf, answered
from gateway.viewers.people import COOKIE, People
from gateway.viewers.registry import NAME
from gateway.viewers.viewer import Viewer
from gateway.viewers.viewers import Viewers
from gateway.viewers.words import Person, Refused

router = APIRouter()


class Wish(BaseModel):
    """What somebody asks for."""

    task_id: str = Field(pattern=TASK)
    tool: str | None = Field(None, pattern=f"^{NAME}$", description="empty: chosen by what the task has")
    policy: Literal["offline", "threshold", "kept"] | None = Field(None, description="empty: the gateway's setting")


class Token(BaseModel):
    token: str = Field(min_length=1, max_length=1000)


@router.get("/api/v1/tools", tags=["viewers"], summary="Tools that can show a task")
async def get_tools(viewers: ViewersOf, person: PersonOf) -> Response:  # noqa: ARG001  # signed in
    """`deep_link`: what to put behind a viewer's address as `?at=` (encoded) to show one curve. {metric}, {attempt}, {rank} and
    {step} are filled in by the caller, and {pattern}: the metric with a regular expression's signs escaped."""
    tools = [
        {"name": tool.name, "title": tool.title, "kind": tool.kind, "needs": tool.needs, "deep_link": tool.deep_link}
        for tool in viewers.registry.tools.values()
    ]
    return JSONResponse({"tools": tools, "default": viewers.registry.default})


@router.post("/api/v1/viewers", tags=["viewers"], status_code=202, summary="Show a task in a tool")
async def post_viewer(wish: Wish, viewers: ViewersOf, person: PersonOf) -> Response:
    """202, the stable `address` to look at, the `tool` and `why` that one. Asking again joins the viewer that there is."""
    asked = await answered(viewers.request(person, wish.task_id, wish.tool, wish.policy))
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
    await answered(viewers.stop(await _known(viewers, id, person), person))
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


async def _known(viewers: Viewers, id: str, person: Person) -> Viewer:
    viewer = viewers.by_id(id)
    if viewer is None:
        raise Problem(404, f"no viewer {id}")
    await answered(viewers.allowed(person, viewer.spec.task_id))
    return viewer
