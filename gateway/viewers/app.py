"""Wires viewers into the gateway: one router, whose life begins and ends with the application's."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import httpx
from fastapi import APIRouter, FastAPI

from gateway.store import Store
from gateway.viewers import api
from gateway.viewers.access import PeoplesAccess
from gateway.viewers.audit import Audit
from gateway.viewers.launchers.contract import Launcher
from gateway.viewers.launchers.process import ProcessLauncher
from gateway.viewers.people import People
from gateway.viewers.proxy import Proxy
from gateway.viewers.proxy import client as proxy_client
from gateway.viewers.registry import Registry
from gateway.viewers.rights import Rights
from gateway.viewers.settings import ViewerSettings
from gateway.viewers.viewers import Viewers


def router(settings: ViewerSettings) -> APIRouter:
    """To be given to `gateway.app.build(further=…)`. Tools, rights and tokens are read at once: raises `PermanentError`."""
    logging.getLogger("httpx").setLevel(logging.WARNING)  # a line for each request that a tool's page makes is nobody's news
    launch, folder = settings.launch, Path(settings.launch.folder)
    registry = Registry.load(further=launch.tools, default=launch.default_tool, grafana=launch.grafana)
    rights = Rights.load(settings.people.rights)
    people = People(settings.people, folder)

    @contextlib.asynccontextmanager
    async def life(app: FastAPI) -> AsyncIterator[None]:
        def store() -> Store:
            found: Store = app.state.store
            return found

        launcher = await make_launcher(settings, folder, store)
        audit = Audit(folder / "events")
        plain = httpx.AsyncClient(
            trust_env=False, timeout=30.0
        )  # tools are reached directly, whatever proxies the environment names
        async with plain as client, proxy_client() as passing:
            viewers = Viewers(
                settings, registry, rights, launcher, audit, store, client, app.state.metrics, app.state.settings.web.base_path
            )
            app.state.viewers, app.state.people, app.state.wall = viewers, people, time.time
            app.state.access = PeoplesAccess(people, viewers)
            app.state.viewer_proxy = Proxy(viewers, passing, (settings.people.user_header, settings.people.groups_header))
            await viewers.start()
            sweeping = asyncio.create_task(viewers.run(), name="viewers")
            try:
                yield
            finally:
                sweeping.cancel()
                await asyncio.gather(sweeping, return_exceptions=True)
                await viewers.close()
                await asyncio.to_thread(audit.close)

    whole = APIRouter(lifespan=life)
    whole.include_router(api.router)
    return whole


async def make_launcher(settings: ViewerSettings, folder: Path, store: Callable[[], Store]) -> Launcher:
    if settings.launch.launcher == "kubernetes":
        from gateway.viewers.launchers.kubernetes import KubernetesLauncher  # its client takes 0.4 s to import

        return await KubernetesLauncher.connect(settings.launch)
    return ProcessLauncher(folder / "viewers", store)
