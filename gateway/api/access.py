"""Who may read a task. The part of the gateway that knows people sets `app.state.access`; without one everybody may read all."""

from __future__ import annotations

from typing import Any, Protocol

from fastapi import Request


class Access(Protocol):
    """Asked at each request for a task. Raises `Problem`: 401 where nobody is known, 404 where the person may not see it."""

    async def check(self, request: Request, task_id: str) -> None:
        """Return where the person may read this task."""

    async def readable(self, request: Request, tasks: list[dict[str, Any]]) -> list[dict[str, Any]]:
        """Those of these tasks (task_id, owner, project) that the person may read."""

    async def all_readable(self, request: Request) -> bool:
        """Whether that is every task: only then what is counted over all of them may be told."""


class Anybody:
    """Everybody may read all."""

    async def check(self, request: Request, task_id: str) -> None:
        """As above."""

    async def readable(self, request: Request, tasks: list[dict[str, Any]]) -> list[dict[str, Any]]:  # noqa: ARG002
        return tasks

    async def all_readable(self, request: Request) -> bool:  # noqa: ARG002
        return True
