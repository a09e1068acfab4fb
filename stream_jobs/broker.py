"""Reaching the broker through aiokafka, Faust's transport: credentials, and waiting until broker and topic are there."""

from __future__ import annotations

import asyncio
import logging
import ssl
import threading
from typing import Any

import faust
from aiokafka.admin import AIOKafkaAdminClient, NewTopic
from aiokafka.errors import KafkaError, TopicAlreadyExistsError

from runtime.errors import PermanentError, TemporaryError
from runtime.retry import Backoff, LogLimiter
from runtime.settings import KafkaSettings
from schemas.topic import MESSAGE_LIMIT
from stream_jobs.health import Health
from stream_jobs.settings import WorkerSettings

log = logging.getLogger("worker")


def ssl_context(kafka: KafkaSettings) -> ssl.SSLContext | None:
    if not kafka.security_protocol.endswith("SSL"):
        return None
    try:
        return ssl.create_default_context(cafile=kafka.ssl_ca or None)
    except OSError as error:
        raise PermanentError(f"TRAINWIRE_KAFKA_SSL_CA={kafka.ssl_ca!r} cannot be read ({error.strerror or error})") from error


def credentials(kafka: KafkaSettings) -> Any:
    """What Faust takes as `broker_credentials`; None for PLAINTEXT."""
    context = ssl_context(kafka)
    if kafka.security_protocol.startswith("SASL"):
        return faust.SASLCredentials(
            mechanism=kafka.sasl_mechanism,
            username=kafka.sasl_username,
            password=kafka.sasl_password.value,
            ssl_context=context,
        )
    return faust.SSLCredentials(context) if context is not None else None


def client_options(kafka: KafkaSettings) -> dict[str, Any]:
    """Keyword arguments of aiokafka's own clients."""
    options: dict[str, Any] = {
        "bootstrap_servers": list(kafka.bootstrap),
        "security_protocol": kafka.security_protocol,
        "ssl_context": ssl_context(kafka),
    }
    if kafka.security_protocol.startswith("SASL"):
        options |= {
            "sasl_mechanism": kafka.sasl_mechanism,
            "sasl_plain_username": kafka.sasl_username,
            "sasl_plain_password": kafka.sasl_password.value,
        }
    return options


async def wait_for_topic(kafka: KafkaSettings, worker: WorkerSettings, health: Health, stop: threading.Event) -> None:
    """Return when the broker answers and the topic exists, creating it if it does not; `TemporaryError` when told to stop."""
    failures, complaints, backoff = 0, LogLimiter(), Backoff()
    address = ",".join(kafka.bootstrap)
    while True:
        try:
            await _ensure_topic(kafka, worker)
        except (KafkaError, OSError) as error:
            failures += 1
            health.broker = f"no broker at {address}: {type(error).__name__}: {str(error)[:200]}"
            if complaints.due(asyncio.get_running_loop().time()):
                log.warning("%s; trying until there is one (%s)", health.broker, _settings_to_check(kafka))
            await _sleep(backoff.wait(failures), stop)
        else:
            health.broker = None
            return


async def _ensure_topic(kafka: KafkaSettings, worker: WorkerSettings) -> None:
    admin = AIOKafkaAdminClient(request_timeout_ms=10_000, **client_options(kafka))
    try:
        await admin.start()
        if kafka.topic in await admin.list_topics():
            return
        # LogAppendTime: a row's arrival must be the broker's clock, not that of any of thousands of machines.
        config = {"max.message.bytes": str(MESSAGE_LIMIT), "message.timestamp.type": "LogAppendTime"}
        topic = NewTopic(kafka.topic, worker.partitions, worker.replicas, topic_configs=config)
        try:
            answer = await admin.create_topics([topic])
        except TopicAlreadyExistsError:
            return
        for _, code, message in answer.topic_errors:
            if code not in (0, TopicAlreadyExistsError.errno):
                raise PermanentError(
                    f"topic {kafka.topic} does not exist and could not be created ({message or code}): create it with "
                    f"{worker.partitions} partitions, or correct TRAINWIRE_KAFKA_TOPIC"
                )
        log.info("created topic %s with %d partitions", kafka.topic, worker.partitions)
    finally:
        await admin.close()


def _settings_to_check(kafka: KafkaSettings) -> str:
    """aiokafka tells a wrong password like a broker that is away."""
    names = ["TRAINWIRE_KAFKA_BOOTSTRAP names it"]
    if kafka.security_protocol.endswith("SSL"):
        names.append("TRAINWIRE_KAFKA_SSL_CA must know its certificate")
    if kafka.security_protocol.startswith("SASL"):
        names.append("TRAINWIRE_KAFKA_SASL_MECHANISM, _USERNAME and _PASSWORD are what it is told")
    return "; ".join(names)


async def _sleep(seconds: float, stop: threading.Event) -> None:
    for _ in range(max(int(seconds / 0.1), 1)):
        if stop.is_set():
            raise TemporaryError("stopped while the broker was away")
        await asyncio.sleep(0.1)
