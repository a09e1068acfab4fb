"""Curves, thinned in the store: extremes, first and last point and every kind of non-finite value survive."""

from __future__ import annotations

import dataclasses
from typing import Any, Literal

from gateway.store import Columns, Query, rows

Axis = Literal["step", "time"]
Attempts = Literal["stitched", "each"]


@dataclasses.dataclass(frozen=True)
class CurveRequest:
    """Which curves of a task: `start` and `end` bound x (a step, or ms since the epoch), both included."""

    names: tuple[str, ...]
    axis: Axis = "step"
    attempts: Attempts = "stitched"
    points: int = 2000  # most points of one series
    start: int | None = None
    end: int | None = None
    ranks: tuple[int, ...] = ()  # empty: all


def metric_names(query: Query, task_id: str) -> list[dict[str, Any]]:
    """Every metric with its newest value (of the lowest rank that has it), its number of points, and of non-finite ones."""
    return rows(
        query(
            """
            SELECT name, argMin(value, rank) AS value, argMin(tuple(step), rank).1 AS step, argMin(tuple(epoch), rank).1 AS epoch,
                   argMin(toUnixTimestamp64Milli(time), rank) AS time_ms, count() AS ranks, sum(points) AS points,
                   sum(non_finite) AS non_finite, min(lowest) AS lowest, max(highest) AS highest
            FROM latest_values WHERE task_id = {task:String} GROUP BY name ORDER BY name LIMIT 20000
            """,
            task=task_id,
        )
    )


def curves(query: Query, task_id: str, request: CurveRequest) -> dict[str, Any]:
    """Series of the asked names, by (name, rank) or (name, rank, attempt), each with at most `request.points` points.

    A series that has more is cut into buckets of equal width in x, and of each bucket the lowest and the highest value
    stay. Their budget is four fifths of the points, the rest is for NaN, +Inf and -Inf, each kind once a bucket (coarser
    ones). The first and the last point fall into buckets of their own: a legend's newest value is always there.
    """
    # (points × 4/5) at two a bucket, less the two of the ends; (points × 1/5) at three kinds a bucket, less the same.
    finite = max(request.points * 2 // 5 - 2, 1)
    special = max(request.points // 15 - 2, 1)
    x = "step" if request.axis == "step" else "toUnixTimestamp64Milli(time)"
    view = "curves_stitched" if request.attempts == "stitched" else "curves"
    series = "name, rank" if request.attempts == "stitched" else "name, rank, attempt"
    where = ["task_id = {task:String}", "name IN {names:Array(String)}"]
    parameters: dict[str, Any] = {"task": task_id, "names": list(request.names), "points": request.points}
    if request.ranks:
        where.append("rank IN {ranks:Array(UInt32)}")
        parameters["ranks"] = list(request.ranks)
    for name, sign, bound in (("start", ">=", request.start), ("end", "<=", request.end)):
        if bound is not None:
            where.append(f"{x} {sign} {{{name}:Int64}}")
            parameters[name] = bound
    found = query(
        f"""
        SELECT {series}, points AS total, point.1 AS x, point.2 AS value, point.3 AS file_id, point.4 AS offset,
               point.5 AS place, point.6 AS attempt_of, point.7 AS step, point.8 AS time_ms
        FROM
        (
            SELECT {series}, any(total) AS points,
                if(any(total) <= {{points:UInt64}}, groupArrayIf(point, total <= {{points:UInt64}}),
                   if(any(kind) = 0, arrayDistinct([argMin(point, value), argMax(point, value)]), [any(point)])) AS kept
            FROM
            (
                SELECT {series}, total, value, (x, value, file_id, offset, place, attempt, step, time_ms) AS point,
                    multiIf(isFinite(value), 0, isNaN(value), 1, value > 0, 2, 3) AS kind,
                    multiIf(total <= {{points:UInt64}}, 0, x = lowest, -1, x = highest, -2,
                        intDiv((x - lowest) * if(kind = 0, {finite}, {special}), highest - lowest)) AS bucket
                FROM
                (
                    SELECT name, rank, attempt, step, value, file_id, offset, place,
                        toUnixTimestamp64Milli(time) AS time_ms, {x} AS x,
                        countIf({x} IS NOT NULL) OVER one AS total,
                        toInt128(min({x}) OVER one) AS lowest, toInt128(max({x}) OVER one) AS highest
                    FROM {view} WHERE {" AND ".join(where)}
                    WINDOW one AS (PARTITION BY {series})
                )
                WHERE x IS NOT NULL
            )
            GROUP BY {series}, bucket, if(total <= {{points:UInt64}}, 0, kind)
        )
        ARRAY JOIN kept AS point
        ORDER BY {series}, x, attempt_of, file_id, offset, place
        """,
        **parameters,
    )
    return _shaped(found, request)


def _shaped(found: Columns, request: CurveRequest) -> dict[str, Any]:
    """Columns by series; file ids once each, points name them by their place in `files`."""
    files: dict[str, int] = {}
    series: list[dict[str, Any]] = []
    each = request.attempts == "each"
    attempts = found["attempt"] if each else [None] * len(found["name"])
    last: tuple[Any, ...] | None = None
    for name, rank, attempt, total, x, value, file_id, offset, place, attempt_of, step, time in zip(
        found["name"], found["rank"], attempts, found["total"], found["x"], found["value"], found["file_id"], found["offset"],
        found["place"], found["attempt_of"], found["step"], found["time_ms"], strict=True,
    ):  # fmt: skip
        if (name, rank, attempt) != last:
            last = (name, rank, attempt)
            series.append(
                {"name": name, "rank": rank, "attempt": attempt, "total": total}
                | {column: [] for column in ("x", "value", "step", "time_ms", "attempts", "file", "offset", "place")}
            )
        one = series[-1]
        one["x"].append(x)
        one["value"].append(value)
        one["step"].append(step)
        one["time_ms"].append(time)
        one["attempts"].append(attempt_of)
        one["file"].append(files.setdefault(file_id, len(files)))
        one["offset"].append(offset)
        one["place"].append(place)
    return {"axis": request.axis, "attempts": request.attempts, "files": list(files), "series": series}
