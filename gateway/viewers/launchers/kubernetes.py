"""Viewers as pods: a ConfigMap that holds all that is known of a viewer, and a pod and a service that belong to it.

The ConfigMap comes first and goes last. Whoever creates it (one of two replicas, one of two requests) makes the viewer; the
others join. Pod and service have it as their owner, so that the cluster itself removes what a killed gateway left half made once
it is gone. Nothing is kept in the gateway: annotations on it say that a release has begun, how long the pod lived, and who looks
through which replica.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import aiohttp
from kubernetes_asyncio import client, config
from kubernetes_asyncio.client.exceptions import ApiException

from gateway.viewers.launchers import pods
from gateway.viewers.launchers.contract import Condition, Found, Life, Prefix, Told
from gateway.viewers.launchers.pods import LIFE, MANAGED, NOTE, RELEASING
from gateway.viewers.presence import Note
from gateway.viewers.registry import Tool
from gateway.viewers.settings import LaunchSettings
from gateway.viewers.words import Spec
from runtime.errors import PermanentError, TemporaryError

GONE_SECONDS = 40.0  # until a deleted pod is gone: a second of grace, and the kubelet's own work
LAST_LINES = 15
IN_CLUSTER = Path("/var/run/secrets/kubernetes.io/serviceaccount/namespace")


class KubernetesLauncher:
    """Over one client, for one namespace."""

    def __init__(self, api: Any, settings: LaunchSettings, namespace: str) -> None:
        self._api = api
        self._core: Any = client.CoreV1Api(api)  # its stubs lack the arguments that begin with _
        self._settings, self.namespace = settings, namespace

    @classmethod
    async def connect(cls, settings: LaunchSettings) -> KubernetesLauncher:
        """In a pod by its service account, elsewhere by KUBECONFIG. Raises `PermanentError` where there is neither."""
        try:
            if IN_CLUSTER.exists():
                config.load_incluster_config()  # type: ignore[no-untyped-call]
            else:
                await config.load_kube_config()
        except config.ConfigException as error:
            raise PermanentError(
                f"TRAINWIRE_GATEWAY_LAUNCHER=kubernetes, but no cluster is known ({error}): set KUBECONFIG"
            ) from None
        namespace = settings.namespace or (IN_CLUSTER.read_text().strip() if IN_CLUSTER.exists() else "default")
        return cls(client.ApiClient(), settings, namespace)

    # -- the contract ------------------------------------------------------------------------------------------------

    async def create(self, spec: Spec, tool: Tool, prefix: Prefix, told: Told) -> Spec:
        if not tool.image:
            raise PermanentError(f"{tool.title} has no image, so that it cannot run as a pod: set `image` in its TOML file")
        told("noting the viewer in the cluster")
        async with _explained("the viewer's ConfigMap"):
            anchor = await self._made(
                self._core.create_namespaced_config_map, self._core.read_namespaced_config_map, pods.anchor(spec)
            )
        spec = Spec.from_text(anchor.data["spec"])
        owner = pods.owned_by(anchor.metadata.name, anchor.metadata.uid)
        told("making its service and its pod")
        async with _explained("the viewer's service"):
            await self._made(
                self._core.create_namespaced_service, self._core.read_namespaced_service, pods.service(spec, tool, owner)
            )
        async with _explained("the viewer's pod"):
            pod = await self._made(
                self._core.create_namespaced_pod,
                self._core.read_namespaced_pod,
                pods.pod(spec, tool, prefix(spec), owner, self._settings),
            )
        if pod.metadata.deletion_timestamp is not None:
            raise TemporaryError("the pod before this one is still going: try again in a moment")
        return spec

    async def look(self, id: str) -> Condition:
        try:
            pod = await self._core.read_namespaced_pod(id, self.namespace)
            service = await self._core.read_namespaced_service(id, self.namespace)
        except ApiException as error:
            return (
                Condition("absent", "its pod is gone: somebody deleted it, or its node is")
                if error.status == 404
                else Condition("unknown")
            )
        except (aiohttp.ClientError, OSError, TimeoutError):
            return Condition("unknown")
        found = pods.condition(pod, service.spec.cluster_ip)
        if found.state == "ended" or (found.state == "pending" and found.message.startswith("its container")):
            return Condition(
                found.state, found.message, await self._lines(id), started_ms=found.started_ms, hopeless=found.hopeless
            )
        return found

    async def find(self) -> list[Found]:
        async with _explained("the list of viewers"):
            listed = await self._core.list_namespaced_config_map(self.namespace, label_selector=MANAGED)
        found = []
        for anchor in listed.items:
            notes = anchor.metadata.annotations or {}
            spec = None
            with contextlib.suppress(ValueError, KeyError, TypeError):
                spec = Spec.from_text(anchor.data["spec"])
            others = {
                name.removeprefix(NOTE): note for name, text in notes.items() if name.startswith(NOTE) and (note := _note(text))
            }
            found.append(Found(anchor.metadata.name, spec, notes.get(RELEASING, ""), others))
        return found

    async def mark(self, spec: Spec, reason: str) -> bool:
        async with _explained("the viewer's ConfigMap"):
            try:
                anchor = await self._core.read_namespaced_config_map(spec.id, self.namespace)
                if (anchor.metadata.annotations or {}).get(RELEASING) or json.loads(anchor.data["spec"])["life"] != spec.life:
                    return False
                await self._annotate(spec.id, {RELEASING: reason}, anchor.metadata.resource_version)
            except ApiException as error:
                if error.status in (404, 409):  # gone, or another replica was first
                    return False
                raise
        return True

    async def delete(self, id: str) -> Life:
        async with _explained("the viewer's pod"):
            life = await self._kept_life(id)
            if not life.started_ms and (pod := await self._or_none(self._core.read_namespaced_pod(id, self.namespace))):
                life = Life(pods.started_ms(pod))
                await self._keep_life(id, life)
            await self._or_none(self._core.delete_namespaced_service(id, self.namespace))
            await self._or_none(self._core.delete_namespaced_pod(id, self.namespace, grace_period_seconds=1))
            end = time.monotonic() + GONE_SECONDS
            while await self._or_none(self._core.read_namespaced_pod(id, self.namespace)):
                if time.monotonic() > end:
                    raise TemporaryError(f"pod {id} does not go: is its node there?")
                await asyncio.sleep(0.2)
            if life.started_ms and not life.ended_ms:
                life = Life(life.started_ms, time.time_ns() // 1_000_000)
                await self._keep_life(id, life)
        return life

    async def forget(self, id: str) -> None:
        async with _explained("the viewer's ConfigMap"):
            await self._or_none(self._core.delete_namespaced_config_map(id, self.namespace))

    async def share(self, id: str, replica: str, note: Note) -> None:
        async with _explained("the viewer's ConfigMap"):
            await self._or_none(self._annotate(id, {f"{NOTE}{replica}": f"{note.counter} {note.pages} {note.idle}"}))

    async def close(self) -> None:
        await self._api.close()

    # -- the rest ----------------------------------------------------------------------------------------------------

    async def _made(self, create: Any, read: Any, body: dict[str, Any]) -> Any:
        """The object as it is: made now, or by somebody before."""
        try:
            return await create(self.namespace, body)
        except ApiException as error:
            if error.status != 409:
                raise
        return await read(body["metadata"]["name"], self.namespace)

    async def _annotate(self, id: str, notes: dict[str, str], version: str | None = None) -> None:
        body: dict[str, Any] = {"metadata": {"annotations": notes, **({"resourceVersion": version} if version else {})}}
        await self._core.patch_namespaced_config_map(id, self.namespace, body, _content_type="application/merge-patch+json")

    async def _kept_life(self, id: str) -> Life:
        anchor = await self._or_none(self._core.read_namespaced_config_map(id, self.namespace))
        text = (anchor.metadata.annotations or {}).get(LIFE) if anchor else None
        return Life(*json.loads(text)) if text else Life()

    async def _keep_life(self, id: str, life: Life) -> None:
        await self._or_none(self._annotate(id, {LIFE: json.dumps([life.started_ms, life.ended_ms])}))

    async def _lines(self, id: str) -> tuple[str, ...]:
        with contextlib.suppress(ApiException, aiohttp.ClientError):
            text = await self._core.read_namespaced_pod_log(id, self.namespace, container="tool", tail_lines=LAST_LINES)
            return tuple(str(text).splitlines())
        return ()

    async def _or_none(self, asked: Any) -> Any:
        """The answer; None where there is no such object."""
        try:
            return await asked
        except ApiException as error:
            if error.status == 404:
                return None
            raise


@contextlib.asynccontextmanager
async def _explained(what: str) -> AsyncIterator[None]:
    """The cluster's refusals in our two words."""
    try:
        yield
    except ApiException as error:
        detail = error.reason
        with contextlib.suppress(ValueError, TypeError, AttributeError):
            detail = json.loads(error.body or "")["message"]
        if error.status == 403 and "exceeded quota" in str(detail):
            raise PermanentError(
                f"no room for another viewer in the cluster's quota: stop one, or try again later ({detail})"
            ) from None
        if error.status in (409, 429) or error.status >= 500:
            raise TemporaryError(f"{what}: the cluster says {error.status} ({detail})") from None
        raise PermanentError(f"{what}: the cluster refuses it ({error.status}: {detail})") from None
    except (aiohttp.ClientError, OSError, TimeoutError) as error:
        raise TemporaryError(f"{what}: the cluster does not answer ({type(error).__name__})") from None


def _note(text: str) -> Note | None:
    try:
        counter, pages, idle = text.split(" ")
        return Note(int(counter), int(pages), float(idle))
    except ValueError:
        return None
