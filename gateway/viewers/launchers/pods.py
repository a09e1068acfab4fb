"""The Kubernetes objects of a viewer, and what a pod's status says. Pure."""

from __future__ import annotations

import datetime
from typing import Any

from gateway.viewers.launchers.contract import Condition
from gateway.viewers.registry import Tool, fill
from gateway.viewers.settings import LaunchSettings
from gateway.viewers.words import Spec

DOMAIN = "trainwire.dev"
MANAGED = "app.kubernetes.io/managed-by=trainwire-gateway"
RELEASING, LIFE, NOTE = f"{DOMAIN}/releasing", f"{DOMAIN}/life", f"note.{DOMAIN}/"
USER = 65532  # nobody's: images need no user of this number
DATA_MIB = 1024
EVERYWHERE, TMP = "0.0.0.0", "/tmp"  # noqa: S104, S108  # in a network and a volume of the pod's own
NO_RIGHTS = {
    "allowPrivilegeEscalation": False,
    "readOnlyRootFilesystem": True,
    "capabilities": {"drop": ["ALL"]},
}
NOBODY = {
    "runAsNonRoot": True, "runAsUser": USER, "runAsGroup": USER, "fsGroup": USER, "seccompProfile": {"type": "RuntimeDefault"},
}  # fmt: skip
# Waiting for these does not help: a person has to correct an image's name or a setting.
HOPELESS = {"InvalidImageName", "ErrImageNeverPull", "CreateContainerConfigError", "ImagePullBackOff", "CrashLoopBackOff"}


def labels(spec: Spec) -> dict[str, str]:
    """Valid whatever the task's or the user's name is: those are annotations."""
    return {
        "app.kubernetes.io/name": "trainwire-viewer",
        "app.kubernetes.io/managed-by": "trainwire-gateway",
        f"{DOMAIN}/viewer": spec.id,
        f"{DOMAIN}/tool": spec.tool,
    }


def metadata(spec: Spec, owner: list[dict[str, Any]] | None = None) -> dict[str, Any]:
    notes = {f"{DOMAIN}/task": spec.task_id, f"{DOMAIN}/owner": spec.owner, f"{DOMAIN}/life-id": spec.life}
    return {"name": spec.id, "labels": labels(spec), "annotations": notes, **({"ownerReferences": owner} if owner else {})}


def owned_by(name: str, uid: str) -> list[dict[str, Any]]:
    return [{"apiVersion": "v1", "kind": "ConfigMap", "name": name, "uid": uid}]


def anchor(spec: Spec) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata(spec), "data": {"spec": spec.text()}}


def service(spec: Spec, tool: Tool, owner: list[dict[str, Any]]) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": metadata(spec, owner),
        "spec": {"selector": {f"{DOMAIN}/viewer": spec.id}, "ports": [{"name": "http", "port": 80, "targetPort": tool.port}]},
    }


def pod(spec: Spec, tool: Tool, prefix: str, owner: list[dict[str, Any]], settings: LaunchSettings) -> dict[str, Any]:
    """The tool, and beside it, where it needs data, the feeder: the only one that may reach the store."""
    values = {
        "host": EVERYWHERE,
        "port": tool.port,
        "data": "/data/rows",
        "prefix": prefix,
        "title": spec.task_id,
        "task": spec.task_id,
    }  # in a pod
    command = [fill(part, python="python", **values) for part in tool.command]
    environment = {"HOME": TMP, **{name: fill(value, **values) for name, value in tool.environment.items()}}
    ready = {"httpGet": {"path": (prefix if tool.prefix == "keep" else "") + tool.ready, "port": tool.port}}
    scratch = [{"name": "data", "mountPath": "/data"}, {"name": "tmp", "mountPath": TMP}]
    container = {
        "name": "tool",
        "image": tool.image,
        "imagePullPolicy": "IfNotPresent",
        "command": command,
        "env": [{"name": name, "value": value} for name, value in environment.items()],
        "ports": [{"containerPort": tool.port}],
        "resources": {
            "requests": {"cpu": f"{round(tool.cpu * 1000)}m", "memory": f"{tool.memory_mib}Mi"},
            "limits": {
                "cpu": f"{max(round(tool.cpu * 4), 1)}",
                "memory": f"{tool.memory_limit_mib}Mi",
            },  # its start takes more than its run
        },
        "readinessProbe": {**ready, "periodSeconds": 1, "timeoutSeconds": 2, "failureThreshold": 3},
        "securityContext": NO_RIGHTS,
        "volumeMounts": scratch,
    }
    feeder = {
        "name": "feeder",
        "image": settings.feeder_image,
        "imagePullPolicy": "IfNotPresent",
        "restartPolicy": "Always",  # a native sidecar: there before the tool, gone after it
        "command": ["python", "-m", "gateway.viewers.feeds", tool.feed, spec.task_id, "/data/rows", "/data/feed.json"],
        "envFrom": [{"secretRef": {"name": settings.store_secret}}],
        "env": [{"name": "HOME", "value": TMP}],
        "resources": {"requests": {"cpu": "50m", "memory": "96Mi"}, "limits": {"cpu": "2", "memory": "512Mi"}},
        "securityContext": NO_RIGHTS,
        "volumeMounts": scratch,
    }
    if tool.data_first:  # the tool starts when this probe has passed
        there = "import os, sys; sys.exit(not os.path.exists('/data/feed.json'))"
        feeder["startupProbe"] = {"exec": {"command": ["python", "-c", there]}, "periodSeconds": 1, "failureThreshold": 600}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": metadata(spec, owner),
        "spec": {
            "restartPolicy": "Never",  # a tool that ends is told to people, not restarted for ever
            "automountServiceAccountToken": False,
            "enableServiceLinks": False,
            "terminationGracePeriodSeconds": 1,
            "securityContext": NOBODY,
            "initContainers": [feeder] if tool.feed else [],
            "containers": [container],
            "volumes": [
                {"name": "data", "emptyDir": {"sizeLimit": f"{DATA_MIB}Mi"}},
                {"name": "tmp", "emptyDir": {"sizeLimit": "256Mi"}},
            ],
        },
    }


def condition(pod: Any, host: str) -> Condition:
    """What a pod's status says, in words for the person who waits. `host`: its service's address."""
    status, started = pod.status, started_ms(pod)
    if pod.metadata.deletion_timestamp is not None:
        return Condition("ended", "its pod is being deleted", started_ms=started)
    containers = [*(status.init_container_statuses or []), *(status.container_statuses or [])]
    for one in containers:
        ended = one.state.terminated or (one.last_state.terminated if one.last_state and one.name == "tool" else None)
        if one.name == "tool" and ended is not None:
            if ended.reason == "OOMKilled":
                return Condition(
                    "ended", "it took more memory than allowed: choose fewer ranks, attempts or metrics", started_ms=started
                )
            return Condition("ended", f"it ended with exit code {ended.exit_code}", started_ms=started)
    if status.phase == "Failed":
        return Condition("ended", status.message or f"its pod failed: {status.reason or 'no reason told'}", started_ms=started)
    for one in containers:
        if (waiting := one.state.waiting) is not None and waiting.reason not in ("PodInitializing", "ContainerCreating"):
            why = f"its container {one.name!r} waits: {waiting.reason}{f' ({waiting.message})' if waiting.message else ''}"
            return Condition("pending", why, started_ms=started, hopeless=waiting.reason in HOPELESS)
    for one in status.conditions or []:
        if one.type == "PodScheduled" and one.status == "False":
            return Condition("pending", f"no node has room for it: {one.message or one.reason}", started_ms=started)
    tool = next((one for one in containers if one.name == "tool"), None)
    if tool is not None and tool.state.running is not None:
        if tool.ready:
            return Condition("running", host=host, port=80, started_ms=started)
        return Condition("pending", "its container runs and does not answer yet", started_ms=started)
    return Condition("pending", "its node prepares the image and starts the container", started_ms=started)


def started_ms(pod: Any) -> int:
    """When it took a place on a node, else when it was made: wall clock, of the cluster, to the second."""
    at: datetime.datetime = pod.status.start_time or pod.metadata.creation_timestamp
    return int(at.timestamp() * 1000)
