"""The manifests configure the programs as these read their settings: a wrong or missing name fails here, not in a cluster."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from gateway.settings import Settings as Gateway
from producers.shipper.settings import Settings as Shipper
from runtime.settings import StoreSettings, load
from stream_jobs.settings import Settings as Worker

FOLDER = Path(__file__).parents[3] / "deploy" / "kubernetes"
PROGRAMS: dict[str, type[Any]] = {"shipper": Shipper, "worker": Worker, "gateway": Gateway, "cli": StoreSettings}
# What the comment in settings.yaml has the operator put into each Secret, and the pod's own fields.
SECRETS = {
    "trainwire-store-writer": {"TRAINWIRE_CLICKHOUSE_USER": "writer", "TRAINWIRE_CLICKHOUSE_PASSWORD": "x"},
    "trainwire-viewer-store": {
        "TRAINWIRE_CLICKHOUSE_URL": "http://clickhouse:8123",
        "TRAINWIRE_CLICKHOUSE_USER": "viewer",
        "TRAINWIRE_CLICKHOUSE_PASSWORD": "x",
    },
    "trainwire-gateway": {"TRAINWIRE_GATEWAY_COOKIE_KEY": "k" * 64},
}


def documents() -> list[dict[str, Any]]:
    files = sorted(path for folder in ("base", "examples") for path in (FOLDER / folder).glob("*.yaml"))
    return [document for file in files for document in yaml.safe_load_all(file.read_text()) if document]


def containers() -> Iterator[tuple[str, dict[str, Any]]]:
    for document in documents():
        pod = document.get("spec", {}).get("template", {}).get("spec", {})
        for container in [*pod.get("initContainers", []), *pod.get("containers", [])]:
            image = container["image"].partition(":")[0]
            if image.startswith("trainwire/"):
                yield f"{document['metadata']['name']}/{container['name']}", container


def environ(container: dict[str, Any]) -> dict[str, str]:
    maps = {document["metadata"]["name"]: document["data"] for document in documents() if document["kind"] == "ConfigMap"}
    found: dict[str, str] = {}
    for source in container.get("envFrom", []):
        found |= maps[source["configMapRef"]["name"]] if "configMapRef" in source else SECRETS[source["secretRef"]["name"]]
    for entry in container.get("env", []):
        match entry.get("valueFrom"):
            case None:
                found[entry["name"]] = entry["value"]
            case {"secretKeyRef": {"name": secret, "key": key}}:
                found[entry["name"]] = SECRETS[secret][key]
            case {"fieldRef": {"fieldPath": "metadata.uid"}}:
                found[entry["name"]] = "uid-1"
            case {"fieldRef": {"fieldPath": path}} if path.startswith("metadata.annotations["):
                found[entry["name"]] = r"zorp~(?P<zorp>[0-9.]+)"
            case other:
                raise AssertionError(other)
    return found


@pytest.mark.parametrize("container", [pytest.param(container, id=name) for name, container in containers()])
def test_a_container_has_the_settings_that_its_program_reads(container: dict[str, Any], tmp_path: Path) -> None:
    mounted = tmp_path / "secrets"
    mounted.mkdir()
    for name in ("tokens.toml", "rights.toml"):
        (mounted / name).touch()
    program = container["image"].partition(":")[0].removeprefix("trainwire/")
    values = {name: value.replace("/etc/trainwire", str(mounted)) for name, value in environ(container).items()}
    settings = load(PROGRAMS[program], values)
    if isinstance(settings, Shipper):
        mounts = [mount["mountPath"] for mount in container["volumeMounts"]]
        assert settings.shipper.sigterm_ends == (container.get("restartPolicy") == "Always")  # a native sidecar is ended last
        assert all(log.endswith("/") and log.startswith(tuple(mounts)) for log in settings.files.logs)
