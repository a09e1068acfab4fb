"""Brings one viewer from its spec to a tool that answers, and tells meanwhile what is being done."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable

import httpx

from gateway.viewers.audit import Audit
from gateway.viewers.launchers.contract import Condition, Launcher
from gateway.viewers.registry import Tool
from gateway.viewers.viewer import Viewer
from gateway.viewers.words import Spec, inner
from runtime.errors import PermanentError, TemporaryError

log = logging.getLogger("trainwire-gateway")

LOOK_EVERY = 0.1  # seconds between two looks at a tool that starts


class Loader:
    """`start_seconds` is the limit of tools that name none of their own."""

    def __init__(
        self,
        launcher: Launcher,
        audit: Audit,
        client: httpx.AsyncClient,
        start_seconds: float,
        base_path: str,
        clock: Callable[[], float],
    ) -> None:
        self._launcher, self._audit, self._client = launcher, audit, client
        self._start_seconds, self._base_path, self._clock = start_seconds, base_path, clock

    def prefix(self, spec: Spec) -> str:
        """The path under which the tool is shown, without a slash at its end."""
        return self._base_path + inner(spec)

    async def load(self, viewer: Viewer) -> str:
        """Empty when it is ready; else why it did not come up."""
        limit = viewer.tool.start_seconds or self._start_seconds
        try:
            async with asyncio.timeout(limit):
                viewer.spec = await self._launcher.create(
                    viewer.spec, viewer.tool, self.prefix, lambda step: viewer.tell(step, self._clock())
                )
                await self._audit.commit("created", viewer.spec, message=viewer.why, policy=viewer.spec.policy)
                await self._until_ready(viewer)
        except TimeoutError:
            return f"not ready within {limit:.0f} s: {viewer.step}"
        except (TemporaryError, PermanentError) as error:
            return str(error)
        except Exception as error:
            log.exception("a fault while loading %s", viewer.spec.id)
            return f"a fault of the gateway's own: {type(error).__name__}: {error}"
        return ""

    async def _until_ready(self, viewer: Viewer) -> None:
        while True:
            found = viewer.condition = await self._launcher.look(viewer.spec.id)
            viewer.lines = found.lines or viewer.lines
            if found.state in ("ended", "absent") or found.hopeless:
                raise PermanentError(found.message or "it is gone")
            if found.state == "running":
                if await self._answers(found, viewer.tool, self.prefix(viewer.spec), viewer.points):
                    return
                viewer.tell(f"waiting for {viewer.tool.title} to answer", self._clock())
            elif found.message:
                viewer.tell(found.message, self._clock())
            await asyncio.sleep(LOOK_EVERY)

    async def _answers(self, found: Condition, tool: Tool, prefix: str, points: bool) -> bool:
        root = f"http://{host_in_url(found.host)}:{found.port}{prefix if tool.prefix == 'keep' else ''}"
        try:
            answer = await self._client.get(root + tool.ready, timeout=2.0)
            if answer.status_code < 400 and tool.shows and points:
                answer = await self._client.get(root + tool.shows, timeout=2.0)
                return answer.status_code < 400 and bool(answer.json())
        except (httpx.HTTPError, ValueError):
            return False
        return answer.status_code < 400


def host_in_url(host: str) -> str:
    return f"[{host}]" if ":" in host else host
