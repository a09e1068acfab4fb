"""`/healthz`, `/readyz` and `/metrics`. Healthy: a restart would not help. Ready: the store answers."""

from __future__ import annotations

from fastapi import APIRouter, Request
from fastapi.responses import PlainTextResponse, Response

from gateway.api.parameters import StoreOf
from runtime.errors import PermanentError, TemporaryError

router = APIRouter(include_in_schema=False)


@router.get("/healthz")
async def healthz() -> Response:
    return PlainTextResponse("ok\n")


@router.get("/readyz")
async def readyz(store: StoreOf) -> Response:
    try:
        await store.run(lambda query: query("SELECT task_id FROM files LIMIT 0"))
    except (TemporaryError, PermanentError) as error:
        return PlainTextResponse(f"{error}\n", 503)
    return PlainTextResponse("ok\n")


@router.get("/metrics")
async def metrics(request: Request) -> Response:
    return Response(request.app.state.metrics.render(), media_type="text/plain; version=0.0.4; charset=utf-8")
