"""How often the shipper knocks at a door behind which nobody is: a real producer, a real broker, a proxy between them."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from deploy.local import ports
from deploy.local.broker import BrokerOptions
from deploy.local.settings import LocalSettings
from deploy.local.stack import Stack
from producers.shipper.publish import KafkaPublisher
from runtime.settings import KafkaSettings
from schemas.events import Delta, FileRef
from tests.chaos.proxy import Proxy

pytestmark = pytest.mark.services


@pytest.fixture
def link(tmp_path: Path) -> Iterator[Proxy]:
    """A proxy in front of a broker that tells its clients to come through it."""
    port = ports.free_port()
    proxy = Proxy(port)
    told = {"advertised.listeners": f"PLAINTEXT://127.0.0.1:{proxy.port}"}
    stack = Stack(tmp_path / "stack", LocalSettings(kafka_port=port), BrokerOptions(config=told))
    stack.start(tied=True)
    yield proxy
    stack.stop()
    proxy.close()


@pytest.fixture
def publisher(link: Proxy) -> Iterator[KafkaPublisher]:
    made = KafkaPublisher(KafkaSettings(bootstrap=(f"127.0.0.1:{link.port}",)), "test")
    yield made
    link.heal()
    made.close(60)


def send(publisher: KafkaPublisher, start: int) -> None:
    publisher.send(Delta(FileRef("task", "file", "/log"), start, start + 2, "A", 0, 0, 0, b"a\n"), None)


def until_delivered(publisher: KafkaPublisher) -> None:
    deadline = time.monotonic() + 60
    while not (results := list(publisher.results())):
        assert time.monotonic() < deadline, publisher.problem()
        time.sleep(0.02)
    assert results == [(None, "")]


def test_a_listener_that_accepts_and_closes_at_once_is_called_ever_more_rarely(link: Proxy, publisher: KafkaPublisher) -> None:
    send(publisher, 0)
    until_delivered(publisher)
    link.cut()
    send(publisher, 2)
    before = link.connections
    time.sleep(4)  # a slower machine calls less often, never more
    # 50 ms, doubled at each try up to 2 s, give or take 20 %: seven tries; without a back-off there are hundreds
    assert 1 <= link.connections - before <= 20
    link.heal()
    until_delivered(publisher)
