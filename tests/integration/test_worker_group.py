"""The worker in a consumer group that misbehaves, on a real broker."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, TopicPartition
from aiokafka.consumer import consumer as aiokafka_consumer
from aiokafka.protocol.commit import OffsetFetchRequest, OffsetFetchResponse_v3
from kafka import KafkaConsumer
from kafka.coordinator.assignors.abstract import AbstractPartitionAssignor
from kafka.coordinator.assignors.range import RangePartitionAssignor
from kafka.coordinator.assignors.roundrobin import RoundRobinPartitionAssignor

from stream_jobs.coordinator import Coordinator
from stream_jobs.group import Group
from tests.integration.test_worker_process import Line, line
from tests.integration.worker_support import desk, still
from tests.services.members import member

__all__ = ["desk", "line", "still"]
pytestmark = pytest.mark.services


def joined(line: Line, assignor: type[AbstractPartitionAssignor], **options: Any) -> KafkaConsumer:
    """A member of the worker's group that holds the topic's partitions."""
    group = line.environ["TRAINWIRE_WORKER_GROUP"]
    consumer = member(line.bootstrap, group, line.topic, partition_assignment_strategy=[assignor], **options)
    deadline = time.monotonic() + 60
    while not consumer.assignment():
        consumer.poll(200)
        assert time.monotonic() < deadline, "no partition was given out"
    return consumer


def test_a_group_that_another_kind_of_program_uses_ends_the_worker_with_a_sentence(line: Line) -> None:
    # The worker knows round robin alone.
    other = joined(line, RangePartitionAssignor)
    try:
        worker = line.worker()
        deadline = time.monotonic() + 120
        while worker.process.poll() is None:
            other.poll(200)
            assert time.monotonic() < deadline, worker.log.read_text()[-3000:]
        assert worker.process.returncode == 75
        assert "InconsistentGroupProtocolError" in worker.says("TRAINWIRE_WORKER_GROUP")
    finally:
        other.close()


def test_a_rebalance_that_does_not_end_ends_the_worker(line: Line) -> None:
    # So long the broker waits for a member that lives and does not join again.
    other = joined(line, RoundRobinPartitionAssignor, max_poll_interval_ms=600_000)
    try:
        worker = line.worker(TRAINWIRE_WORKER_STALL_SECONDS="5")
        worker.says("partitions are not given out")
        assert worker.process.wait(60) == 75
    finally:
        other.close()


NOT_COORDINATOR = 16


def test_a_group_that_is_not_looked_after_for_a_moment_has_committed_all_the_same(
    broker: str, make_topic: Callable[..., str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The broker's answer is what a real one says whose group coordinator is not there yet: one error, and no partitions."""
    topic = make_topic()
    monkeypatch.setattr(aiokafka_consumer, "GroupCoordinator", Coordinator)

    async def ask() -> list[int | None]:
        consumer = AIOKafkaConsumer(topic, bootstrap_servers=broker, group_id=topic, enable_auto_commit=False)
        await consumer.start()
        try:
            await consumer.commit({TopicPartition(topic, 0): 3})
            send, told = consumer._client.send, list[OffsetFetchRequest]()

            async def once_without_coordinator(node: int, request: Any, **options: Any) -> Any:
                if isinstance(request, OffsetFetchRequest) and not told:
                    told.append(request)
                    return OffsetFetchResponse_v3(0, [], NOT_COORDINATOR)
                return await send(node, request, **options)

            consumer._client.send = once_without_coordinator
            committed = await consumer.committed(TopicPartition(topic, 0))
            return [len(told), committed]
        finally:
            await consumer.stop()

    assert asyncio.run(ask()) == [1, 3]


def test_messages_wait_though_the_consumer_fetches_no_more(broker: str, make_topic: Callable[..., str]) -> None:
    topic = make_topic()
    here = TopicPartition(topic, 0)

    async def measure() -> list[int]:
        consumer = AIOKafkaConsumer(topic, bootstrap_servers=broker, group_id=topic, auto_offset_reset="earliest")
        producer = AIOKafkaProducer(bootstrap_servers=broker)
        await consumer.start()
        await producer.start()
        try:
            faust = SimpleNamespace(_thread=SimpleNamespace(_consumer=consumer, thread_loop=asyncio.get_running_loop()))
            faust._committed_offset = {here: 1}
            group = Group(SimpleNamespace(_consumer=faust, consumer=faust))
            await producer.send_and_wait(topic, b"read", partition=0)
            await consumer.getone()
            consumer.pause(*consumer.assignment())
            before, _ = await group.lag(0.0)
            await producer.send_and_wait(topic, b"never fetched", partition=0)
            soon, _ = await group.lag(1.0)
            later, committed = await group.lag(20.0)
            assert group.trouble() is None
            assert committed == 1
            return [before[0], soon[0], later[0]]
        finally:
            await producer.stop()
            await consumer.stop()

    assert asyncio.run(measure()) == [0, 0, 1]
