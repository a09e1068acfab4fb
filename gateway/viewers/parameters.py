"""What the routes of viewers share: who asks, for what, and a refusal as an answer."""

from __future__ import annotations

from collections.abc import Awaitable
from typing import Annotated, TypeVar

from fastapi import Depends, Request
from fastapi import Path as InPath
from starlette.requests import HTTPConnection

from gateway.api.problems import Problem
from gateway.viewers.people import People
from gateway.viewers.registry import NAME
from gateway.viewers.viewers import Viewers
from gateway.viewers.words import Person, Refused

T = TypeVar("T")

ToolName = Annotated[str, InPath(pattern=f"^{NAME}$")]
ViewerId = Annotated[str, InPath(pattern=r"^v-[a-z2-7]{20}$")]


def viewers_of(request: Request) -> Viewers:
    found: Viewers = request.app.state.viewers
    return found


def known(asking: HTTPConnection) -> Person | None:
    """Who asks; None where nobody is known."""
    people: People = asking.app.state.people
    return people.who(asking.headers, asking.client.host if asking.client else "", asking.app.state.wall())


async def person_of(request: Request) -> Person:
    """Who asks. Ends the request with 401 where nobody is known."""
    person = known(request)
    if person is None:
        raise Problem(401, "sign in first: a token in the header `Authorization: Bearer …`, or the page /sign-in")
    return person


ViewersOf = Annotated[Viewers, Depends(viewers_of)]
PersonOf = Annotated[Person, Depends(person_of)]


async def answered(asked: Awaitable[T]) -> T:
    """A refusal as the answer that it is."""
    try:
        return await asked
    except Refused as error:
        raise Problem(error.status, str(error)) from None
