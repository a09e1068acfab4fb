"""Who may read a task over the read API: the same people, by the same rights, as may see it in a tool."""

from __future__ import annotations

from typing import Any

from fastapi import Request

from gateway.api.problems import Problem
from gateway.viewers.people import People
from gateway.viewers.rights import Rights, TaskFacts
from gateway.viewers.viewers import Viewers
from gateway.viewers.words import Person, Refused


class PeoplesAccess:
    """`gateway.api.access.Access` over people and rights."""

    def __init__(self, people: People, viewers: Viewers) -> None:
        self._people, self._viewers = people, viewers
        self._open = viewers.rights.rules == Rights().rules  # whoever is signed in may see all

    async def check(self, request: Request, task_id: str) -> None:
        person = self._person(request)
        if self._open:
            return
        try:
            await self._viewers.allowed(person, task_id)
        except Refused as refused:
            raise Problem(refused.status, str(refused)) from None

    async def readable(self, request: Request, tasks: list[dict[str, Any]]) -> list[dict[str, Any]]:
        person, rights = self._person(request), self._viewers.rights
        return [one for one in tasks if rights.may_view(person, TaskFacts(one["task_id"], one["owner"], one["project"]))]

    async def all_readable(self, request: Request) -> bool:
        return self._viewers.rights.is_admin(self._person(request)) or self._open

    def _person(self, request: Request) -> Person:
        person = self._people.who(request.headers, request.client.host if request.client else "", request.app.state.wall())
        if person is None:
            raise Problem(401, "sign in first: a token in the header `Authorization: Bearer …`, or the page /sign-in")
        return person
