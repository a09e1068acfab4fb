"""A test's own member of a consumer group."""

from __future__ import annotations

import time
from typing import Any

from kafka import KafkaConsumer


def member(broker: str, group: str, topic: str, **options: Any) -> KafkaConsumer:
    """A member of `group` that has subscribed to `topic`, and knows its partitions.

    kafka-python's leader of a group that joins before it knows them gives out none, and does not always join again
    when it learns of them.
    """
    consumer = KafkaConsumer(bootstrap_servers=broker, group_id=group, **options)
    deadline = time.monotonic() + 60
    while not consumer.partitions_for_topic(topic):
        assert time.monotonic() < deadline, "the broker never told of the topic"
    consumer.subscribe([topic])
    return consumer
