"""What the project's programs ask of a Kafka broker. Runs against whatever the `broker` fixture reaches."""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable, Iterator

import pytest
from kafka import KafkaAdminClient, KafkaConsumer, KafkaProducer, TopicPartition
from kafka.errors import MessageSizeTooLargeError, RecordListTooLargeError, TopicAlreadyExistsError, UnknownTopicOrPartitionError

from tests.services.members import member

pytestmark = pytest.mark.services
LIMIT = 2 << 20  # bytes: the topic's limit in the event contract


@pytest.fixture
def producer(broker: str) -> Iterator[KafkaProducer]:
    made = KafkaProducer(
        bootstrap_servers=broker, compression_type="lz4", enable_idempotence=True, acks="all", max_request_size=2 * LIMIT
    )
    yield made
    made.close(timeout=5)


def read(broker: str, topic: str, count: int, seconds: float = 60, **options: object) -> list[object]:
    consumer = KafkaConsumer(topic, bootstrap_servers=broker, auto_offset_reset="earliest", group_id=None, **options)
    found: list[object] = []
    deadline = time.monotonic() + seconds
    while len(found) < count and time.monotonic() < deadline:
        for records in consumer.poll(timeout_ms=200).values():
            found += records
    consumer.close()
    return found


def test_bytes_key_headers_and_order_come_back(broker: str, topic: str, producer: KafkaProducer) -> None:
    sent = [(b"task-1", bytes([i]) * 10 + b"\x00\xff\n", [("ce_id", b"f:%d" % i), ("empty", b"")]) for i in range(100)]
    for key, value, headers in sent:
        producer.send(topic, value=value, key=key, headers=headers)
    producer.flush(timeout=60)
    found = read(broker, topic, 100)
    assert [(r.key, r.value, r.headers) for r in found] == sent  # type: ignore[attr-defined]
    assert [r.offset for r in found] == list(range(100))  # type: ignore[attr-defined]


def test_a_key_stays_in_its_partition(broker: str, make_topic: Callable[..., str], producer: KafkaProducer) -> None:
    topic = make_topic(4)
    places = {
        f"task-{i}": {producer.send(topic, b"x", key=f"task-{i}".encode()).get(20).partition for _ in range(3)} for i in range(20)
    }
    assert all(len(where) == 1 for where in places.values())
    assert len(set.union(*places.values())) > 1


def test_messages_up_to_two_mebibytes_and_no_further(broker: str, topic: str) -> None:
    plain = KafkaProducer(bootstrap_servers=broker, max_request_size=4 * LIMIT)
    plain.send(topic, b"x" * (LIMIT - 1000)).get(20)
    with pytest.raises((MessageSizeTooLargeError, RecordListTooLargeError)):
        plain.send(topic, b"x" * (LIMIT + 1000)).get(20)
    plain.close(timeout=5)
    (record,) = read(broker, topic, 1, fetch_max_bytes=4 * LIMIT, max_partition_fetch_bytes=4 * LIMIT)
    assert len(record.value) == LIMIT - 1000  # type: ignore[attr-defined]


@pytest.mark.parametrize("compression", ["lz4", "gzip"])
def test_compressions(broker: str, topic: str, compression: str) -> None:
    producer = KafkaProducer(bootstrap_servers=broker, compression_type=compression)
    producer.send(topic, b"line\n" * 1000).get(20)
    producer.close(timeout=5)
    (record,) = read(broker, topic, 1)
    assert record.value == b"line\n" * 1000  # type: ignore[attr-defined]


def test_topics_are_made_by_their_owner_only(broker: str, make_topic: Callable[..., str]) -> None:
    topic = make_topic(3, retention_ms="3600000")
    admin = KafkaAdminClient(bootstrap_servers=broker)
    with pytest.raises(TopicAlreadyExistsError):
        admin.create_topics({topic: {"num_partitions": 1, "replication_factor": 1}})
    admin.close()
    missing = f"missing.{uuid.uuid4().hex}"
    producer = KafkaProducer(bootstrap_servers=broker, max_block_ms=3000, allow_auto_create_topics=False)
    with pytest.raises(Exception) as error:  # noqa: PT011  # a time-out or an unknown topic: versions differ
        producer.send(missing, b"x").get(5)
    assert type(error.value).__name__ in ("KafkaTimeoutError", UnknownTopicOrPartitionError.__name__)
    producer.close(timeout=2)


def test_a_group_starts_at_once_and_keeps_its_offset(broker: str, topic: str, producer: KafkaProducer) -> None:
    """`group.initial.rebalance.delay.ms=0`: a group of one waits for nobody."""
    for i in range(10):
        producer.send(topic, b"%d" % i)
    producer.flush(timeout=60)
    group = f"group-{uuid.uuid4().hex}"
    partition = TopicPartition(topic, 0)

    def consume(count: int) -> list[bytes]:
        options = {"auto_offset_reset": "earliest", "enable_auto_commit": False, "max_poll_records": count}
        consumer = member(broker, group, topic, **options)
        values: list[bytes] = []
        deadline = time.monotonic() + 60
        while not values and time.monotonic() < deadline:
            values = [r.value for r in consumer.poll(timeout_ms=500).get(partition, [])]
        consumer.commit()
        consumer.close()
        return values

    assert consume(4) == [b"0", b"1", b"2", b"3"]
    assert consume(100) == [b"%d" % i for i in range(4, 10)]
