"""The images that deploy/kubernetes names, run as there: no root, nothing to write but what is mounted.

`deploy/docker/images.sh` has made them of this tree: `make test-containers`.
"""

from __future__ import annotations

import json
import subprocess
import time
import uuid
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from tests.services.fixtures import Store

pytestmark = pytest.mark.services
LOCKED_DOWN = ("--network", "host", "--read-only", "--tmpfs", "/tmp", "--cap-drop", "ALL", "--security-opt", "no-new-privileges")


class Programs:
    """Containers by name, ended with the test."""

    def __init__(self, environ: dict[str, str]) -> None:
        self._environ, self._names = environ, list[str]()

    def command(self, image: str, *options: str, **environ: str) -> list[str]:
        name = f"{image}-{uuid.uuid4().hex[:8]}"
        self._names.append(name)
        settings = [f"--env={key}={value}" for key, value in (self._environ | environ).items()]
        return ["docker", "run", "--rm", "--name", name, *LOCKED_DOWN, *settings, *options, f"trainwire/{image}:latest"]

    def end(self) -> None:
        subprocess.run(["docker", "rm", "--force", *self._names], capture_output=True, check=False, timeout=60)


@pytest.fixture
def programs(broker: str, store: Store) -> Iterator[Programs]:
    found = Programs({**store.environ("writer"), "TRAINWIRE_KAFKA_BOOTSTRAP": broker})
    yield found
    found.end()


def test_a_line_takes_the_whole_road_through_the_images(programs: Programs, store: Store, tmp_path: Path) -> None:
    subprocess.run([*programs.command("cli"), "migrate", "up"], check=True, timeout=120)
    logs = tmp_path / "logs"
    logs.mkdir(mode=0o777)
    logs.chmod(0o777)
    task = f"image-{uuid.uuid4().hex[:8]}"
    (logs / "train.log").write_text("".join(f"step {step} loss {1 / step:.4f}\n" for step in range(1, 101)))
    with (
        subprocess.Popen(programs.command("worker")),
        subprocess.Popen(programs.command("gateway", "--tmpfs", "/state:mode=1777", TRAINWIRE_GATEWAY_FOLDER="/state",
                                          TRAINWIRE_GATEWAY_PORT="0"), stderr=subprocess.PIPE, text=True) as gateway,
    ):  # fmt: skip
        try:
            shipper = programs.command("shipper", "--volume", f"{logs}:/logs", TRAINWIRE_TASK_ID=task, TRAINWIRE_LOGS="/logs/")
            (logs / "done").touch()
            subprocess.run([*shipper, "--end-marker", "/logs/done"], check=True, timeout=120)
            assert gateway.stderr is not None
            address = next(line for line in gateway.stderr if "listening on" in line)
            page = json.loads(address)["message"].split()[-1].removesuffix("/tasks")
            deadline = time.monotonic() + 90
            while (found := httpx.get(f"{page}/api/v1/tasks/{task}")).status_code != 200 and time.monotonic() < deadline:
                time.sleep(0.2)
            assert found.json()["task"]["lines"] == 100
            assert httpx.get(f"{page}/tasks").status_code == 200
        finally:
            programs.end()
    with store.client("viewer") as client:
        assert client.query(
            "SELECT count(), min(value) FROM trainwire.points WHERE task_id = {task:String}", parameters={"task": task}
        ).result_rows == [(100, 0.01)]


def test_the_images_say_their_use_and_hold_no_more_than_they_need(programs: Programs) -> None:
    for image in ("shipper", "worker", "gateway", "cli"):
        shown = subprocess.run([*programs.command(image), "--help"], capture_output=True, text=True, check=True, timeout=60)
        assert "usage" in shown.stdout.lower()
    held = subprocess.run(
        [*programs.command("shipper")[:-1], "--entrypoint", "pip", "trainwire/shipper:latest", "list", "--format", "freeze"],
        capture_output=True, text=True, check=True, timeout=60,
    ).stdout.lower()  # fmt: skip
    assert "kafka-python" in held
    assert not [name for name in ("faust", "aiohttp", "clickhouse", "fastapi", "chdb") if name in held]
