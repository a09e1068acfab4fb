"""The log of a task: pages of lines, in both directions, of one file or of all."""

from __future__ import annotations

import dataclasses
from typing import Any, Literal

from gateway.store import Query, rows

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


def lines(query: Query, task_id: str, request: LineRequest) -> list[dict[str, Any]]:
    """Lines in order. Times are milliseconds since the epoch."""
    where = ["task_id = {task:String}", "kind IN {kinds:Array(String)}"]
    parameters: dict[str, Any] = {"task": task_id, "kinds": list(request.kinds), "limit": request.limit}
    for name, kind in (("file", "String"), ("rank", "UInt32"), ("attempt", "UInt32")):
        if (value := getattr(request, name)) is not None:
            where.append(f"{'file_id' if name == 'file' else name} = {{{name}:{kind}}}")
            parameters[name] = value
    if request.search:
        where.append("positionCaseInsensitiveUTF8(text, {search:String}) > 0")
        parameters["search"] = request.search
    for bound, sign in ((request.after, ">"), (request.before, "<")):
        if bound is None:
            continue
        key = "after" if sign == ">" else "before"
        sign += "=" if request.including and key == "after" else ""
        parameters |= {f"{key}_file": bound[1], f"{key}_offset": bound[2]}
        if request.file is not None:
            where.append(f"offset {sign} {{{key}_offset:UInt64}}")
        else:
            parameters[f"{key}_at"] = bound[0]
            where.append(
                f"(toUnixTimestamp64Milli(arrived), file_id, offset) {sign} "
                f"({{{key}_at:Int64}}, {{{key}_file:String}}, {{{key}_offset:UInt64}})"
            )
    backwards = request.before is not None or (request.newest and request.after is None)
    order = ("offset",) if request.file is not None else ("arrived", "file_id", "offset")
    found = query(
        f"""
        SELECT file_id, offset, end, text, kind, stream, toUnixTimestamp64Milli(time) AS time_ms, time_known, attempt, rank,
               toUnixTimestamp64Milli(arrived) AS arrived_ms
        FROM lines WHERE {" AND ".join(where)}
        ORDER BY {", ".join(f"{column}{' DESC' if backwards else ''}" for column in order)}
        LIMIT {{limit:UInt32}}
        """,
        **parameters,
    )
    page = rows(found)
    return page[::-1] if backwards else page


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
