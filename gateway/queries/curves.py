"""Curves, thinned in the store: extremes, first and last point and every kind of non-finite value survive."""

from __future__ import annotations

import dataclasses
import itertools
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

    A first look at the index's side of the points tells how many there are at most, and how far they reach; what is short
    is read as it is. What is long is cut into buckets of equal width in x, and of each the lowest and the highest value
    stay. Their budget is four fifths of the points, the rest is for NaN, +Inf and -Inf, each kind once a (wider) bucket.
    A series' first and last point are always there: a legend's newest value is no matter of thinning.
    """
    question = _Question(task_id, request)
    reach = rows(query(question.reach(), **question.parameters))
    long = {row["name"]: (row["lowest"], row["highest"]) for row in reach if row["most"] > request.points}
    found = []
    if long:
        thinned = query(question.thinned(), **question.parameters | _bounds(long))
        # Counted in the view, a series may be short after all: several sources of one metric, steps that a restart repeats.
        short = {name for name, total in zip(thinned["name"], thinned["total"], strict=True) if total <= request.points}
        found += [row for row in _tuples(thinned) if row[0] not in short]
        long = {name: bounds for name, bounds in long.items() if name not in short}
    whole = [row["name"] for row in reach if row["name"] not in long]
    if whole:
        found += _tuples(query(question.whole(), **question.parameters | {"names": whole}))
    return _shaped(sorted(found, key=lambda row: row[:3]), request)


def _bounds(long: dict[str, tuple[int, int]]) -> dict[str, Any]:
    return {"names": list(long), "lows": [low for low, _ in long.values()], "highs": [high for _, high in long.values()]}


class _Question:
    """The SQL of one request. Only our own identifiers are put into it; what people typed is bound."""

    def __init__(self, task_id: str, request: CurveRequest) -> None:
        self.request = request
        self.x = "step" if request.axis == "step" else "toUnixTimestamp64Milli(time)"
        each = request.attempts == "each"
        self.view = "curves" if each else "curves_stitched"
        self.series = f"name, rank, {'attempt' if each else '0'} AS of_attempt"
        self.where = f"task_id = {{task:String}} AND name IN {{names:Array(String)}} AND {self.x} IS NOT NULL"
        self.parameters: dict[str, Any] = {"task": task_id, "names": list(request.names)}
        if request.ranks:
            self.where += " AND rank IN {ranks:Array(UInt32)}"
            self.parameters["ranks"] = list(request.ranks)
        for name, sign, bound in (("start", ">=", request.start), ("end", "<=", request.end)):
            if bound is not None:
                self.where += f" AND {self.x} {sign} {{{name}:Int64}}"
                self.parameters[name] = bound

    def reach(self) -> str:
        """By name: points of the longest series, at most, and the bounds of x."""
        return f"""
            SELECT name, max(points) AS most, min(low) AS lowest, max(high) AS highest
            FROM (SELECT name, rank, count() AS points, min({self.x}) AS low, max({self.x}) AS high
                  FROM all_points WHERE {self.where} GROUP BY name, rank)
            GROUP BY name
        """

    def whole(self) -> str:
        """All points."""
        return f"""
            SELECT {self.series}, assumeNotNull({self.x}) AS x, value, file_id, offset, place, attempt, step,
                   toUnixTimestamp64Milli(time) AS time_ms, 0 AS total
            FROM {self.view} WHERE {self.where}
            ORDER BY name, rank, of_attempt, x, attempt, file_id, offset, place
        """

    def thinned(self) -> str:
        """Two points a bucket, one of each kind that is not finite, the first and the last; `total`: points before that."""
        points = self.request.points
        finite = max(points * 2 // 5 - 1, 1)  # × 2 values + 2 ends ≤ 4/5 of the points
        special = max(points // 15, 1)  # × 3 kinds ≤ 1/5
        return f"""
            SELECT name, rank, of_attempt, point.1 AS x, point.2 AS value, point.3 AS file_id, point.4 AS offset,
                   point.5 AS place, point.6 AS attempt, point.7 AS step, point.8 AS time_ms, total
            FROM
            (
                SELECT name, rank, of_attempt,
                    sum(points) OVER one AS total,
                    arrayDistinct(arrayConcat(kept,
                        if(first.1 = min(first.1) OVER one, [first], []),
                        if(last.1 = max(last.1) OVER one, [last], []))) AS chosen
                FROM
                (
                    SELECT name, rank, of_attempt, count() AS points,
                        argMin(point, (x, offset)) AS first, argMax(point, (x, offset)) AS last,
                        if(any(kind) = 0, [argMin(point, value), argMax(point, value)], [first]) AS kept
                    FROM
                    (
                        SELECT {self.series}, assumeNotNull({self.x}) AS x, value, offset,
                            toUnixTimestamp64Milli(time) AS time_ms,
                            (x, value, toLowCardinality(file_id), offset, place, attempt, step, time_ms) AS point,
                            multiIf(isFinite(value), 0, isNaN(value), 1, value > 0, 2, 3) AS kind,
                            indexOf({{names:Array(String)}}, name) AS nth,
                            -- in floating point: steps as far apart as 64 bits allow must not overflow
                            (toFloat64(x) - {{lows:Array(Int64)}}[nth])
                                / greatest(toFloat64({{highs:Array(Int64)}}[nth]) - {{lows:Array(Int64)}}[nth], 1) AS part,
                            toInt32(part * (if(kind = 0, {finite}, {special}) - 0.5)) AS bucket
                        FROM {self.view} WHERE {self.where}
                    )
                    GROUP BY name, rank, of_attempt, bucket, kind
                )
                WINDOW one AS (PARTITION BY name, rank, of_attempt)
            )
            ARRAY JOIN chosen AS point
            ORDER BY name, rank, of_attempt, x, attempt, file_id, offset, place
        """


def _tuples(found: Columns) -> list[tuple[Any, ...]]:
    order = ("name", "rank", "of_attempt", "x", "value", "file_id", "offset", "place", "attempt", "step", "time_ms", "total")
    return list(zip(*(found[column] for column in order), strict=True))


def _shaped(found: list[tuple[Any, ...]], request: CurveRequest) -> dict[str, Any]:
    """Columns by series; file ids once each, points name them by their place in `files`."""
    files: dict[str, int] = {}
    series: list[dict[str, Any]] = []
    for (name, rank, of_attempt), group in itertools.groupby(found, key=lambda row: row[:3]):
        points = list(group)
        _, _, _, x, value, file_id, offset, place, attempt, step, time_ms, total = map(list, zip(*points, strict=True))
        series.append(
            {
                "name": name,
                "rank": rank,
                "attempt": of_attempt or None,
                "total": total[0] or len(points),
                "x": x,
                "value": value,
                "step": step,
                "time_ms": time_ms,
                "attempts": attempt,
                "file": [files.setdefault(one, len(files)) for one in file_id],
                "offset": offset,
                "place": place,
            }
        )
    return {"axis": request.axis, "attempts": request.attempts, "files": list(files), "series": series}
