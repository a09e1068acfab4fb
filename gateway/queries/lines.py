"""The log of a task: pages of lines, in both directions, of one file or of all."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from typing import Any, Literal

from gateway.store import Query, rows
from runtime.portions import portions

Position = tuple[int, str, int]  # (arrived ms, file id, offset): the place of a line among all lines of a task


@dataclasses.dataclass(frozen=True)
class LineRequest:
    """Which lines. With neither `after` nor `before`: the first ones, or from the end with `newest`.

    Lines of one file come in file order. Lines of several come by the broker's time stamp, then file, then offset: the
    time that a line tells is no order (one without a time of its own, such as a traceback's, would leave its neighbours),
    while a file's bytes reach the broker in their order.
    """

    limit: int = 500
    after: Position | None = None
    before: Position | None = None
    including: bool = False  # the line at `after` too
    newest: bool = False
    file: str | None = None
    rank: int | None = None
    attempt: int | None = None
    search: str = ""  # a part of the text, in any case
    kinds: tuple[Literal["text", "record", "continuation"], ...] = ("text", "continuation")

    @property
    def backwards(self) -> bool:
        """The nearest lines are the last ones."""
        return self.before is not None or (self.newest and self.after is None)


@dataclasses.dataclass(frozen=True)
class Page:
    """`more`: there may be more lines in the direction that was asked for."""

    lines: list[dict[str, Any]]
    more: bool


def lines(query: Query, task_id: str, request: LineRequest) -> Page:
    """Lines in order, at most `limit` of them and no more than fit an answer. Times are milliseconds since the epoch."""
    asked = _Asked(task_id, request)
    heads = asked.heads(query)
    fitting = next(portions(heads, _size, most=request.limit), [])
    if request.backwards:
        fitting.reverse()
    return Page(asked.whole(query, fitting), len(fitting) < len(heads) or len(heads) == request.limit)


def newest_lines(query: Query, task_id: str, count: int) -> Iterator[dict[str, Any]]:
    """The newest so many, in order; no more than an answer of them is held at a time."""
    asked = _Asked(task_id, LineRequest(limit=count, newest=True))
    for portion in portions(reversed(asked.heads(query)), _size, most=count):
        yield from asked.whole(query, portion)


Head = tuple[int, str, int, int]  # a line's position, and the bytes of its text


def _size(head: Head) -> int:
    return head[3]


class _Asked:
    """A request as SQL. A limit of rows bounds no answer (5,000 lines may have a gigabyte), and lets the store sort the text of
    all lines: so it is asked first where lines stand and how long they are, which reads no text, then for those that fit."""

    def __init__(self, task_id: str, request: LineRequest) -> None:
        self._request = request
        self._order = ("offset",) if request.file is not None else ("arrived", "file_id", "offset")
        self._where = ["task_id = {task:String}", "kind IN {kinds:Array(String)}"]
        self._parameters: dict[str, Any] = {"task": task_id, "kinds": list(request.kinds)}
        for name, kind in (("file", "String"), ("rank", "UInt32"), ("attempt", "UInt32")):
            if (value := getattr(request, name)) is not None:
                self._where.append(f"{'file_id' if name == 'file' else name} = {{{name}:{kind}}}")
                self._parameters[name] = value
        if request.search:
            self._where.append("positionCaseInsensitiveUTF8(text, {search:String}) > 0")
            self._parameters["search"] = request.search
        for name, sign, place in (("after", ">=" if request.including else ">", request.after), ("before", "<", request.before)):
            if place is not None:
                condition, parameters = self._bound(name, sign, place)
                self._where.append(condition)
                self._parameters |= parameters

    def heads(self, query: Query) -> list[Head]:
        """The lines that were asked for, nearest first."""
        found = query(
            f"""
            SELECT toUnixTimestamp64Milli(arrived) AS arrived_ms, file_id, offset, length(text) AS size
            FROM lines WHERE {" AND ".join(self._where)}
            ORDER BY {", ".join(f"{column}{' DESC' if self._request.backwards else ''}" for column in self._order)}
            LIMIT {{limit:UInt32}}
            """,
            **self._parameters,
            limit=self._request.limit,
        )
        return list(zip(found["arrived_ms"], found["file_id"], found["offset"], found["size"], strict=True))

    def whole(self, query: Query, heads: list[Head]) -> list[dict[str, Any]]:
        """The lines from the first of these to the last, in order."""
        if not heads:
            return []
        first, first_place = self._bound("first", ">=", heads[0][:3])
        last, last_place = self._bound("last", "<=", heads[-1][:3])
        found = query(
            f"""
            SELECT file_id, offset, end, text, kind, stream, toUnixTimestamp64Milli(time) AS time_ms, time_known, attempt, rank,
                   toUnixTimestamp64Milli(arrived) AS arrived_ms
            FROM lines WHERE {" AND ".join([*self._where, first, last])}
                AND offset BETWEEN {{lowest:UInt64}} AND {{highest:UInt64}}
            ORDER BY {", ".join(self._order)}
            """,
            **self._parameters,
            **first_place,
            **last_place,
            lowest=min(offset for _, _, offset, _ in heads),  # as the index knows it
            highest=max(offset for _, _, offset, _ in heads),
        )
        return rows(found)

    def _bound(self, name: str, sign: str, place: Position) -> tuple[str, dict[str, Any]]:
        if self._request.file is not None:
            return f"offset {sign} {{{name}_offset:UInt64}}", {f"{name}_offset": place[2]}
        return (
            f"(toUnixTimestamp64Milli(arrived), file_id, offset) {sign} "
            f"({{{name}_at:Int64}}, {{{name}_file:String}}, {{{name}_offset:UInt64}})",
            {f"{name}_at": place[0], f"{name}_file": place[1], f"{name}_offset": place[2]},
        )


def position(query: Query, task_id: str, file_id: str, offset: int) -> Position | None:
    """Where the line stands that holds this byte of this file; None where no such line is stored."""
    found = query(
        """
        SELECT toUnixTimestamp64Milli(arrived) AS at, offset FROM lines
        WHERE task_id = {task:String} AND file_id = {file:String} AND offset <= {offset:UInt64} ORDER BY offset DESC LIMIT 1
        """,
        task=task_id,
        file=file_id,
        offset=offset,
    )
    return (int(found["at"][0]), file_id, int(found["offset"][0])) if found["at"] else None
