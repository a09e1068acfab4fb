"""The worker's start and rebalances where the broker misbehaves. Found by chaos."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import uuid

import pytest
from aiokafka import AIOKafkaConsumer, TopicPartition

from deploy.local.ports import free_port
from stream_jobs.group import highwater
from tests.seed import migrate
from tests.services.fixtures import Store

# The broker is there when the topic is asked for, and gone when Faust connects.
GOES_AWAY = """
import stream_jobs.broker, stream_jobs.__main__
async def there(*_): return None
stream_jobs.broker.wait_for_topic = there
stream_jobs.__main__.main()
"""


@pytest.mark.services
def test_a_broker_that_goes_away_while_the_worker_starts_is_a_sentence(store: Store, database: str) -> None:
    with store.client() as client:
        migrate(client, database)
    environ = {name: value for name, value in os.environ.items() if not name.startswith("TRAINWIRE_")} | store.environ()
    environ |= {
        "TRAINWIRE_CLICKHOUSE_DATABASE": database,
        "TRAINWIRE_KAFKA_BOOTSTRAP": f"127.0.0.1:{free_port()}",
        "TRAINWIRE_WORKER_HEALTH": "127.0.0.1:0",
        "TRAINWIRE_WORKER_GROUP": uuid.uuid4().hex,
    }
    done = subprocess.run([sys.executable, "-c", GOES_AWAY], env=environ, capture_output=True, text=True, timeout=120)
    assert done.returncode == 75, done.stderr
    assert "the broker went away while the worker started, start it again" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_partition_that_was_just_taken_away_has_no_end() -> None:
    async def ask() -> int | None:
        consumer = AIOKafkaConsumer()
        try:
            return highwater(consumer, TopicPartition("topic", 0))
        finally:
            await consumer.stop()

    assert asyncio.run(ask()) is None
