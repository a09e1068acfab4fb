"""Metrics and curves of a task."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query
from fastapi.responses import Response

from gateway.api.parameters import KnownTask, Name, StoreOf
from gateway.api.values import answer
from gateway.queries.curves import Attempts, Axis, CurveRequest, curves, metric_names

router = APIRouter(tags=["curves"])


@router.get("/tasks/{task_id}/metrics", summary="Every metric with its newest value")
async def get_metrics(task_id: KnownTask, store: StoreOf) -> Response:
    """Non-finite values are the strings "NaN", "Infinity" and "-Infinity", here and in curves."""
    return answer({"metrics": await store.run(metric_names, task_id)})


@router.get("/tasks/{task_id}/curves", summary="Curves, thinned where they are long")
async def get_curves(
    task_id: KnownTask,
    store: StoreOf,
    names: Annotated[list[Name], Query(min_length=1, max_length=200, description="metric names; repeat the parameter")],
    axis: Axis = "step",
    attempts: Annotated[Attempts, Query(description="stitched over restarts into one, or each attempt by itself")] = "stitched",
    points: Annotated[int, Query(ge=60, le=20_000, description="most points of one series")] = 2000,
    start: Annotated[int | None, Query(alias="from", description="least x: a step, or ms since the epoch")] = None,
    end: Annotated[int | None, Query(alias="to", description="greatest x")] = None,
    rank: Annotated[list[Annotated[int, Query(ge=0, le=2**32 - 1)]] | None, Query(max_length=1000)] = None,
) -> Response:
    """Series by (name, rank), or (name, rank, attempt), as columns of equal length: x, value, and where each point comes from.

    A series with more than `points` keeps the extremes of equal slices of x, its first and last point, and every kind
    of non-finite value; `total` says how many points there are. Points without a step are on the time axis only.
    """
    request = CurveRequest(tuple(dict.fromkeys(names)), axis, attempts, points, start, end, tuple(rank or ()))
    return answer(await store.run(curves, task_id, request))
