"""The log of a task, page by page."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from fastapi import APIRouter, Query
from fastapi.responses import Response

from gateway.api.parameters import FileId, KnownTask, Search, StoreOf, cursor, from_cursor
from gateway.api.problems import Problem
from gateway.api.values import answer
from gateway.queries.lines import LineRequest, Page, Position, lines, position
from gateway.store import Query as StoreQuery

router = APIRouter(tags=["lines"])
Kind = Literal["text", "record", "continuation"]
Cursor = Annotated[str, Query(max_length=2000)]


@router.get("/tasks/{task_id}/lines", summary="Lines of the log, in file order")
async def get_lines(
    task_id: KnownTask,
    store: StoreOf,
    file: FileId = None,
    rank: Annotated[int | None, Query(ge=0, le=2**32 - 1)] = None,
    attempt: Annotated[int | None, Query(ge=0, le=2**32 - 1)] = None,
    kind: Annotated[list[Kind] | None, Query(description="text (the default, with what continues it) or record")] = None,
    search: Search = "",
    limit: Annotated[int, Query(ge=1, le=5000)] = 500,
    after: Cursor = "",
    before: Cursor = "",
    newest: Annotated[bool, Query(description="begin at the end")] = False,
    around_file: Annotated[str, Query(max_length=300, description="begin at the line of this file …")] = "",
    around_offset: Annotated[int | None, Query(ge=0, le=2**63 - 1, description="… that holds this byte")] = None,
) -> Response:
    """`lines` in order, and the cursors to go on in both directions; `more`: there may be more in the direction asked for, also
    where these are fewer than `limit`, since an answer has about 8 MiB of text at most.

    Lines of one file come in file order, also across pages; lines of several by arrival, then file, then offset.
    """
    if after and before:
        raise Problem(400, "give one of `after` and `before`")
    kinds = tuple(kind) if kind else ("text", "continuation")
    base: dict[str, Any] = {"file": file, "rank": rank, "attempt": attempt, "kinds": kinds, "search": search}

    def ask(query: StoreQuery) -> Page | None:
        if not around_file or around_offset is None:
            asked = LineRequest(limit=limit, newest=newest, after=_place(after), before=_place(before), **base)
            return lines(query, task_id, asked)
        place = position(query, task_id, around_file, around_offset)
        if place is None:
            return None
        half = max(limit // 2, 1)
        earlier = lines(query, task_id, LineRequest(limit=half, before=place, **base))
        later = lines(query, task_id, LineRequest(limit=half, after=place, including=True, **base))
        return Page(earlier.lines + later.lines, later.more)

    page = await store.run(ask)
    if page is None:
        raise Problem(404, f"no line of file {around_file!r} holds byte {around_offset}")
    found = page.lines
    place = (lambda line: cursor((line["arrived_ms"], line["file_id"], line["offset"]))) if found else None
    return answer(
        {
            "lines": found,
            "before": place(found[0]) if place else None,
            "after": place(found[-1]) if place else after or None,
            "more": page.more,
        }
    )


def _place(text: str) -> Position | None:
    return from_cursor(text, int, str, int) if text else None
