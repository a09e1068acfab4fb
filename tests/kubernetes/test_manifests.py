"""What deploy/kubernetes ships, asked of a real API server: every field known; the gateway's rights are enough, and no more."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.kubernetes.conftest import Cluster

pytestmark = [pytest.mark.kubernetes, pytest.mark.timeout(600)]
BASE = Path(__file__).parents[2] / "deploy" / "kubernetes"
GATEWAY = "--as=system:serviceaccount:trainwire:trainwire-gateway"


@pytest.fixture(scope="module")
def applied(cluster: Cluster) -> Iterator[Cluster]:
    cluster.run("apply", "--validate=strict", "-k", str(BASE / "base"))
    yield cluster
    cluster.run("delete", "namespace", "trainwire", "--wait=false")  # its pods would hold the node's two cores


def test_every_field_is_known(applied: Cluster) -> None:
    applied.run("apply", "--validate=strict", "--dry-run=server", "-k", str(BASE / "base"))
    applied.run("apply", "--validate=strict", "--dry-run=server", "-f", str(BASE / "examples"))


@pytest.mark.parametrize(
    ("verb", "what", "may"),
    [
        ("create", "pods", "yes"), ("delete", "pods", "yes"), ("get", "pods/log", "yes"), ("create", "services", "yes"),
        ("patch", "configmaps", "yes"), ("list", "configmaps", "yes"),
        ("get", "secrets", "no"), ("create", "deployments.apps", "no"), ("create", "pods/exec", "no"), ("list", "nodes", "no"),
    ],
)  # fmt: skip
def test_the_gateway_may_what_it_needs_and_no_more(applied: Cluster, verb: str, what: str, may: str) -> None:
    resource, _, part = what.partition("/")
    question = ["auth", "can-i", verb, resource, *([f"--subresource={part}"] if part else []), GATEWAY]
    assert applied.ask(*question, "-n", "trainwire").strip().splitlines()[-1] == may
    assert applied.ask(*question, "-n", "default").strip().splitlines()[-1] == "no"
