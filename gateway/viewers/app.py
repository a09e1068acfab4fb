"""Wires viewers into the gateway: one router, whose life begins and ends with the application's."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from collections.abc import AsyncIterator
from pathlib import Path

import httpx
from fastapi import APIRouter, FastAPI

from gateway.store import Store
from gateway.viewers import api, pages, tool
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
from runtime.errors import PermanentError


def router(settings: ViewerSettings) -> APIRouter:
    """To be given to `gateway.app.build(further=…)`.

    Tools, rights and tokens are read, and the folder is taken, at once: raises `PermanentError`.
    """
    logging.getLogger("httpx").setLevel(logging.WARNING)  # a line for each request that a tool's page makes is nobody's news
    launch, folder = settings.launch, Path(settings.launch.folder)
    registry = Registry.load(further=launch.tools, default=launch.default_tool, grafana=launch.grafana)
    if launch.launcher == "none":
        registry = Registry([one for one in registry.tools.values() if one.kind == "link"], "page")
    rights = Rights.load(settings.people.rights)

    serving: list[FastAPI] = []

    def store() -> Store:
        found: Store = serving[0].state.store
        return found

    try:
        people = People(settings.people, folder)
        here = None if launch.launcher == "kubernetes" else ProcessLauncher(folder / "viewers", store)
    except OSError as error:
        raise PermanentError(
            f"cannot use {folder} for the gateway's own files: {error.strerror} ({error.filename}); name a folder that this user "
            "may write with TRAINWIRE_GATEWAY_FOLDER"
        ) from error

    @contextlib.asynccontextmanager
    async def life(app: FastAPI) -> AsyncIterator[None]:
        serving[:] = [app]
        launcher = here or await in_the_cluster(settings)
        audit = Audit(folder / "events")
        # Tools are reached directly, whatever the environment says of proxies.
        async with httpx.AsyncClient(trust_env=False, timeout=30.0) as client, proxy_client() as passing:
            viewers = Viewers(
                settings, registry, rights, launcher, audit, store, client, app.state.metrics, app.state.settings.web.base_path
            )
            app.state.viewers, app.state.people, app.state.wall = viewers, people, time.time
            app.state.access = PeoplesAccess(people, viewers)
            app.state.viewer_proxy = Proxy(viewers, passing, (settings.people.user_header, settings.people.groups_header))
            await viewers.keeper.start()
            sweeping = asyncio.create_task(viewers.keeper.run(), name="viewers")
            try:
                yield
            finally:
                sweeping.cancel()
                await asyncio.gather(sweeping, return_exceptions=True)
                await viewers.close()
                await asyncio.to_thread(audit.close)

    whole = APIRouter(lifespan=life)
    for part in (api, pages, tool):
        whole.include_router(part.router)
    return whole


async def in_the_cluster(settings: ViewerSettings) -> Launcher:
    from gateway.viewers.launchers.kubernetes import KubernetesLauncher  # its client takes 0.4 s to import

    return await KubernetesLauncher.connect(settings.launch)
