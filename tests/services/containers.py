"""The broker and the store in containers, by testcontainers: TRAINWIRE_TEST_CONTAINERS=1 where Docker runs.

Images by their official names; `deploy/docker/standin/build.sh` makes local ones where no image registry is reached.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import socket
import time
from collections.abc import Callable, Iterator

import clickhouse_connect
from clickhouse_connect.driver.exceptions import ClickHouseError
from testcontainers.core.container import DockerContainer

from deploy.local import broker
from tests.services.addresses import Services, StoreAddress

KAFKA_IMAGE = os.environ.get("TRAINWIRE_TEST_KAFKA_IMAGE", "apache/kafka:4.3.1")
STORE_IMAGE = os.environ.get("TRAINWIRE_TEST_STORE_IMAGE", "clickhouse/clickhouse-server:26.9")
PATIENCE = 90.0  # seconds for an image's first start


@contextlib.contextmanager
def running_containers() -> Iterator[Services]:
    with contextlib.ExitStack() as stack:
        bootstrap = stack.enter_context(_broker())
        store = stack.enter_context(_store())
        yield Services(bootstrap=bootstrap, store=store)


@contextlib.contextmanager
def _broker() -> Iterator[str]:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = int(free.getsockname()[1])  # clients are sent to the advertised port, so it is chosen before the start
    container = DockerContainer(KAFKA_IMAGE).with_bind_ports(9092, port)
    for name, value in {
        "NODE_ID": "1",
        "PROCESS_ROLES": "broker,controller",
        "CONTROLLER_QUORUM_VOTERS": "1@localhost:9093",
        "CONTROLLER_LISTENER_NAMES": "CONTROLLER",
        "LISTENERS": "PLAINTEXT://:9092,CONTROLLER://:9093",
        "ADVERTISED_LISTENERS": f"PLAINTEXT://127.0.0.1:{port}",
        "LISTENER_SECURITY_PROTOCOL_MAP": "CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT",
        "OFFSETS_TOPIC_REPLICATION_FACTOR": "1",
        "TRANSACTION_STATE_LOG_REPLICATION_FACTOR": "1",
        "TRANSACTION_STATE_LOG_MIN_ISR": "1",
        "GROUP_INITIAL_REBALANCE_DELAY_MS": "0",
        "AUTO_CREATE_TOPICS_ENABLE": "false",
        "MESSAGE_MAX_BYTES": str(broker.MESSAGE_LIMIT),
    }.items():
        container.with_env(f"KAFKA_{name}", value)
    with container:
        _wait(lambda: broker.answers(port), container)
        yield f"127.0.0.1:{port}"


@contextlib.contextmanager
def _store() -> Iterator[StoreAddress]:
    writer, viewer = ("writer", secrets.token_urlsafe(12)), ("viewer", secrets.token_urlsafe(12))
    container = DockerContainer(STORE_IMAGE).with_exposed_ports(8123)
    container.with_env("CLICKHOUSE_USER", writer[0]).with_env("CLICKHOUSE_PASSWORD", writer[1])
    container.with_env("CLICKHOUSE_DEFAULT_ACCESS_MANAGEMENT", "1").with_env("TRAINWIRE_VIEWER_PASSWORD", viewer[1])
    with container:
        port = int(container.get_exposed_port(8123))

        def answers(login: tuple[str, str]) -> bool:
            try:
                clickhouse_connect.get_client(host="127.0.0.1", port=port, username=login[0], password=login[1]).close()
            except (ClickHouseError, OSError):
                return False
            return True

        _wait(lambda: answers(writer), container)
        if not answers(viewer):  # a server's reader is made by SQL; the stand-in brings its own
            with clickhouse_connect.get_client(host="127.0.0.1", port=port, username=writer[0], password=writer[1]) as client:
                client.command(f"CREATE USER viewer IDENTIFIED BY '{viewer[1]}' SETTINGS readonly = 2")
                client.command("GRANT SELECT, SHOW ON *.* TO viewer")
        yield StoreAddress(f"http://127.0.0.1:{port}", writer, viewer)


def _wait(ready: Callable[[], bool], container: DockerContainer) -> None:
    deadline = time.monotonic() + PATIENCE
    while not ready():
        if time.monotonic() > deadline:
            output, errors = container.get_logs()
            raise TimeoutError(f"{container.image} is not ready after {PATIENCE:.0f} s:\n{(output + errors).decode()[-2000:]}")
        time.sleep(0.2)
