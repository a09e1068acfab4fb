"""The broker and the store that tests run against: real ones, in this order.

1. Addresses in the environment: TRAINWIRE_TEST_KAFKA (host:port) and TRAINWIRE_TEST_CLICKHOUSE (http://host:port), with
   TRAINWIRE_TEST_WRITER and TRAINWIRE_TEST_VIEWER (user:password).
2. Containers, when TRAINWIRE_TEST_CONTAINERS=1.
3. The local stack, one a session, on free ports, in a temporary folder; it ends with the test run, however that ends.

`tests/conftest.py` imports these fixtures. `database` and `topic` are fresh for each test; a session's services are shared.
"""

from __future__ import annotations

import os
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import pytest

from deploy.local.settings import LocalSettings
from deploy.local.stack import Stack
from tests.services.addresses import Services, StoreAddress

if TYPE_CHECKING:
    from clickhouse_connect.driver.client import Client

# Client libraries are imported where they are used: unit tests, which load this file too, start a second earlier.


class Store(StoreAddress):
    """A running ClickHouse: `url`, `writer` and `viewer` (user, password), and clients for them."""

    def client(self, user: str = "writer", **options: Any) -> Client:
        """A client without a session, that the caller closes (or `with`)."""
        import clickhouse_connect

        name, password = self.writer if user == "writer" else self.viewer
        url = urlsplit(self.url)
        return clickhouse_connect.get_client(
            interface=url.scheme,
            host=url.hostname,
            port=url.port,
            username=name,
            password=password,
            autogenerate_session_id=False,
            **options,
        )

    def environ(self, user: str = "writer") -> dict[str, str]:
        """The `TRAINWIRE_CLICKHOUSE_*` of a program under test."""
        name, password = self.writer if user == "writer" else self.viewer
        return {
            "TRAINWIRE_CLICKHOUSE_URL": self.url,
            "TRAINWIRE_CLICKHOUSE_USER": name,
            "TRAINWIRE_CLICKHOUSE_PASSWORD": password,
        }


@pytest.fixture(scope="session")
def services(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Services]:
    """Both services, started once a session. Ask for `broker` or `store`."""
    if "TRAINWIRE_TEST_KAFKA" in os.environ or "TRAINWIRE_TEST_CLICKHOUSE" in os.environ:
        yield Services.from_environ(os.environ)
    elif os.environ.get("TRAINWIRE_TEST_CONTAINERS") == "1":
        from tests.services.containers import running_containers

        with running_containers() as found:
            yield found
    else:
        stack = Stack(tmp_path_factory.mktemp("stack"), LocalSettings())
        stack.start(tied=True)
        try:
            yield Services(
                bootstrap=stack.bootstrap,
                store=StoreAddress(
                    stack.clickhouse_url, ("writer", stack.password("writer")), ("viewer", stack.password("viewer"))
                ),
            )
        finally:
            stack.remove()


@pytest.fixture(scope="session")
def broker(services: Services) -> str:
    """The broker's bootstrap address."""
    return services.bootstrap


@pytest.fixture(scope="session")
def store(services: Services) -> Store:
    address = services.store
    return Store(address.url, address.writer, address.viewer)


@pytest.fixture
def database(store: Store) -> Iterator[str]:
    """A fresh, empty database's name; dropped after the test."""
    name = f"test_{uuid.uuid4().hex[:12]}"
    with store.client() as client:
        client.command(f"CREATE DATABASE {name}")
    yield name
    with store.client() as client:
        client.command(f"DROP DATABASE IF EXISTS {name} SYNC")


@pytest.fixture(scope="session")
def make_topic(broker: str) -> Iterator[Callable[..., str]]:
    """`make_topic(partitions=1, **config)`: create a topic with a fresh name and return the name."""
    from kafka import KafkaAdminClient

    admin = KafkaAdminClient(bootstrap_servers=broker)

    def make(partitions: int = 1, **config: str) -> str:
        name = f"test.{uuid.uuid4().hex[:12]}"
        configs = {key.replace("_", "."): value for key, value in config.items()}
        admin.create_topics({name: {"num_partitions": partitions, "replication_factor": 1, "configs": configs}})
        return name

    yield make
    admin.close()


@pytest.fixture
def topic(make_topic: Callable[..., str]) -> str:
    """A fresh topic of one partition."""
    return make_topic()


@pytest.fixture
def local_stack(tmp_path: Path) -> Iterator[Stack]:
    """A stack of the test's own, not started: for tests that hurt the services. Removed after the test."""
    stack = Stack(tmp_path / "stack", LocalSettings())
    yield stack
    stack.remove()
