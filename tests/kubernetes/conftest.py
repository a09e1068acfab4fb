"""A real node, as deploy/kubernetes/node/run.sh gives it: API server, scheduler, kubelet, containerd."""

from __future__ import annotations

import base64
import json
import os
import socket
import ssl
import subprocess
import threading
import time
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.services.fixtures import Store
from tests.services.viewing import Gateway, Tasks, stub_tools, tasks

__all__ = ["tasks"]

HOST = "10.244.0.254"  # this machine, as the node's pods see it


class Cluster:
    """kubectl, and namespaces that are fresh."""

    def __init__(self, kubectl: Path, config: Path) -> None:
        self._kubectl, self.config = kubectl, config
        pki = config.parent / "pki"
        context = ssl.create_default_context(cafile=str(pki / "ca.crt"))
        context.load_cert_chain(pki / "admin.crt", pki / "admin.key")
        self._api = httpx.Client(
            base_url=json.loads(self.run("config", "view", "-o", "json"))["clusters"][0]["cluster"]["server"],
            verify=context,
            timeout=60,
            trust_env=False,
        )

    def close(self) -> None:
        self._api.close()

    def run(self, *arguments: str, given: Any = None) -> str:
        run = subprocess.run(
            [str(self._kubectl), "--kubeconfig", str(self.config), *arguments],
            input=json.dumps(given) if given is not None else None, text=True, capture_output=True, timeout=60, check=False,
        )  # fmt: skip
        assert run.returncode == 0, f"kubectl {' '.join(arguments)}: {run.stderr}"
        return run.stdout

    def ask(self, *arguments: str) -> str:
        """What a question answers, whose exit code is part of the answer."""
        command = [str(self._kubectl), "--kubeconfig", str(self.config), *arguments]
        return subprocess.run(command, text=True, capture_output=True, timeout=60, check=False).stdout

    def items(self, kind: str, namespace: str) -> list[dict[str, Any]]:
        """Objects that the gateway made there (pods, services, configmaps). Asked without kubectl: a third of a second each."""
        label = "app.kubernetes.io/managed-by=trainwire-gateway"
        answer = self._api.get(f"/api/v1/namespaces/{namespace}/{kind}", params={"labelSelector": label})
        found: list[dict[str, Any]] = answer.raise_for_status().json()["items"]
        return found

    def left(self, namespace: str) -> list[str]:
        """What of viewers is there, by kind and name."""
        kinds = ("pods", "services", "configmaps")
        return [f"{kind} {one['metadata']['name']}" for kind in kinds for one in self.items(kind, namespace)]

    def until_left(self, namespace: str, expected: list[str], seconds: float = 120) -> None:
        end = time.monotonic() + seconds
        while (left := self.left(namespace)) != expected:
            assert time.monotonic() < end, left
            time.sleep(0.3)


@pytest.fixture(scope="session")
def cluster() -> Iterator[Cluster]:
    if "TRAINWIRE_TEST_NODE" not in os.environ:
        pytest.fail("these tests need a node: `make test-kubernetes`, or deploy/kubernetes/node/run.sh pytest …", pytrace=False)
    node, programs = Path(os.environ["TRAINWIRE_TEST_NODE"]), Path(os.environ["TRAINWIRE_TEST_NODE_PROGRAMS"])
    found = Cluster(programs / "kubectl", node / "kubeconfig")
    yield found
    found.close()


@pytest.fixture(scope="session")
def store_for_pods(cluster: Cluster, store: Store) -> Iterator[str]:
    """The store listens on this machine only; its address as pods reach it, by a forwarder on the node's own network."""
    host, port = store.url.removeprefix("http://").split(":")
    listener = socket.create_server((HOST, 0))

    def pump(source: socket.socket, target: socket.socket) -> None:
        with source, target:
            try:
                while data := source.recv(65536):
                    target.sendall(data)
            except OSError:
                return

    def accept() -> None:
        while True:
            try:
                near, _ = listener.accept()
            except OSError:
                return
            far = socket.create_connection((host, int(port)))
            for source, target in ((near, far), (far.dup(), near.dup())):
                threading.Thread(target=pump, args=(source, target), daemon=True).start()

    threading.Thread(target=accept, daemon=True).start()
    yield f"http://{HOST}:{listener.getsockname()[1]}"
    listener.close()


@pytest.fixture
def namespace(cluster: Cluster, store: Store, store_for_pods: str, database: str, tasks: Tasks) -> Iterator[str]:
    name = f"t-{uuid.uuid4().hex[:8]}"
    user, password = store.viewer
    secret = {
        "TRAINWIRE_CLICKHOUSE_URL": store_for_pods, "TRAINWIRE_CLICKHOUSE_USER": user,
        "TRAINWIRE_CLICKHOUSE_PASSWORD": password, "TRAINWIRE_CLICKHOUSE_DATABASE": database,
    }  # fmt: skip
    labels = {"pod-security.kubernetes.io/enforce": "restricted"}
    cluster.run(
        "create", "-f", "-", given={"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, "labels": labels}}
    )
    data = {key: base64.b64encode(value.encode()).decode() for key, value in secret.items()}
    about = {"name": "trainwire-viewer-store", "namespace": name}
    cluster.run("create", "-f", "-", given={"apiVersion": "v1", "kind": "Secret", "metadata": about, "data": data})
    yield name
    cluster.run("delete", "namespace", name, "--wait=false")


@pytest.fixture
def start(store: Store, database: str, cluster: Cluster, namespace: str, tmp_path: Path) -> Iterator[Callable[..., Gateway]]:
    """Gateways outside the cluster, with its API; each call another replica."""
    made: list[Gateway] = []

    def begin(tools: dict[str, str] | None = None, **settings: str) -> Gateway:
        with stub_tools(
            tmp_path / "tools", image='"trainwire/viewers:latest"', port="8000", memory_mib="64", memory_limit_mib="256",
            cpu="0.05",
            command='["python", "/app/stub_tool.py", "{host}", "{port}", "{prefix}"]',
        ) as folder:  # fmt: skip
            for name, text in (tools or {}).items():
                (folder / f"{name}.toml").write_text(text)
        gateway = Gateway(
            store, database, tmp_path / f"gateway-{len(made)}", tools=str(folder), launcher="kubernetes",
            kubernetes_namespace=namespace, viewers="40", viewers_by_user="40", viewer_requests="200", **settings,
        )  # fmt: skip
        made.append(gateway)
        return gateway.start(KUBECONFIG=str(cluster.config))

    yield begin
    for gateway in made:
        gateway.end()
