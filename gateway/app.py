"""Wires the gateway: routers, guards, the store. Routers of other parts are given to `build`."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Iterable
from pathlib import Path

from fastapi import APIRouter, FastAPI
from starlette.middleware.gzip import GZipMiddleware

from gateway.api import curves, health, lines, live, problems, tasks
from gateway.api.access import Anybody
from gateway.page import routes
from gateway.settings import Settings
from gateway.shared import Shared
from gateway.store import Store
from gateway.viewers.paths import keyed
from gateway.web import Guard, Prefix, names
from runtime.metrics import Metrics


def build(settings: Settings, *, further: Iterable[APIRouter] = (), static: Path = routes.STATIC) -> FastAPI:
    """The application. `app.state` holds settings, store, metrics, and the event `closing` that ends its streams."""
    metrics = Metrics("gateway")

    @contextlib.asynccontextmanager
    async def life(app: FastAPI) -> AsyncIterator[None]:
        app.state.store = Store(settings.store, settings.query)
        app.state.live_gate = asyncio.Semaphore(settings.live.streams)
        try:
            yield
        finally:
            app.state.closing.set()
            app.state.store.close()

    app = FastAPI(
        title="trainwire",
        version="1",
        description="Training tasks, their curves, their logs. Times are milliseconds since the epoch, UTC.",
        openapi_url="/api/v1/openapi.json",
        docs_url=None,  # their pages come from another host
        redoc_url=None,
        lifespan=life,
        responses={
            status: {"model": problems.ProblemDocument, "description": text}
            for status, text in ((400, "the request is wrong"), (404, "no such task"), (503, "the store is away"))
        },
    )
    app.state.settings, app.state.metrics, app.state.static = settings, metrics, static
    app.state.closing = asyncio.Event()
    app.state.known_tasks = set()
    app.state.shared = Shared()
    app.state.access = Anybody()
    problems.install(app)
    for part in (tasks, curves, lines, live):
        app.include_router(part.router, prefix="/api/v1")
    app.include_router(health.router)
    for router in further:
        app.include_router(router)
    app.include_router(routes.router)
    app.mount("/assets", routes.assets(static), name="assets")
    app.add_middleware(GZipMiddleware, minimum_size=2000, compresslevel=4)
    app.add_middleware(Guard, names=names(settings.web.host, settings.web.names), metrics=metrics, keyed=keyed)
    app.add_middleware(Prefix, prefix=settings.web.base_path)  # outermost: added last
    return app
