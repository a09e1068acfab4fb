"""The shipper's producer when its road to the broker is broken: a real producer, a real broker, a proxy between them."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from deploy.local import ports
from deploy.local.broker import BrokerOptions
from deploy.local.settings import LocalSettings
from deploy.local.stack import Stack
from producers.shipper import publish
from producers.shipper.publish import KafkaPublisher
from producers.shipper.publish import producer_options as options
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


def outcome(publisher: KafkaPublisher) -> str:
    """Wait until it is decided what became of the one event that is on its way."""
    deadline = time.monotonic() + 60
    while not (results := list(publisher.results())):
        assert time.monotonic() < deadline, publisher.problem()
        time.sleep(0.02)
    ((_, word),) = results
    return word


def test_a_listener_that_accepts_and_closes_at_once_is_called_ever_more_rarely(link: Proxy, publisher: KafkaPublisher) -> None:
    send(publisher, 0)
    assert outcome(publisher) == ""
    link.cut()
    send(publisher, 2)
    before = link.connections
    time.sleep(4)  # a slower machine calls less often, never more
    # 50 ms, doubled at each try up to 2 s, give or take 20 %: seven tries; without a back-off there are hundreds
    assert 1 <= link.connections - before <= 20
    link.heal()
    assert outcome(publisher) == ""


def test_an_outage_longer_than_an_event_may_take_is_got_over(link: Proxy, monkeypatch: pytest.MonkeyPatch) -> None:
    """kafka-python gives its producer id away with an event that was tried and expires, and never asks for another."""
    hurry = {"request_timeout_ms": 1000, "delivery_timeout_ms": 2000}
    monkeypatch.setattr(publish, "producer_options", lambda *given: options(*given) | hurry)
    publisher = KafkaPublisher(KafkaSettings(bootstrap=(f"127.0.0.1:{link.port}",)), "test")
    try:
        send(publisher, 0)
        assert outcome(publisher) == ""
        link.lose_answers()
        send(publisher, 2)
        assert outcome(publisher) == "KafkaTimeoutError"
        assert "KafkaTimeoutError" in str(publisher.problem())
        link.heal()
        send(publisher, 2)
        while outcome(publisher):  # it may have met the producer that was being thrown away
            send(publisher, 2)
        assert publisher.problem() is None
    finally:
        publisher.close(60)
