"""Events to the broker, from a thread of its own: the reading loop never waits for the network.

`send` puts an event into a queue and returns; `results` gives, later, one result for each. The caller bounds what is on
its way (kafka-python 3 bounds nothing) and repeats what failed. Order: events are handed to the producer in the order of
`send`, and the idempotent producer keeps one batch of a partition in flight at a time.
"""

from __future__ import annotations

import collections
import contextlib
import itertools
import logging
import queue
import threading
import time
from collections.abc import Iterator
from typing import Any, Protocol

from kafka import KafkaAdminClient, KafkaProducer
from kafka import errors as kafka_errors

from producers.shipper.clock import onward
from producers.shipper.reconnect import Client
from runtime.broker import client_options
from runtime.retry import Backoff, LogLimiter
from runtime.settings import KafkaSettings
from schemas.events import Event, encode
from schemas.topic import MESSAGE_LIMIT, PARTITIONS

log = logging.getLogger("trainwire-shipper.publish")

CLOSE = 5.0  # s for the sending thread of a producer that is thrown away to end: at once, but for a busy machine
CHECK = 0.2  # s between looks at a producer that has nothing to send


class Publisher(Protocol):
    """Where events go. `token` is the caller's; each `send` gives exactly one result for it, in whatever order."""

    def send(self, event: Event, token: Any) -> None: ...

    def results(self) -> Iterator[tuple[Any, str]]:
        """(token, "" or the word for why it failed) of what has been decided since the last call."""
        ...

    def problem(self) -> str | None:
        """Why events cannot be delivered now, in a sentence; None when they can."""
        ...


class KafkaPublisher:
    """The publisher for a real broker.

    An event that kafka-python took and gave up (over the topic's limit, a right that is missing, an outage longer than
    `delivery_timeout_ms`) leaves its idempotent producer without the right to send anything ever again. Then it is thrown
    away, what was on its way counts as failed, and a new one begins.
    """

    def __init__(self, settings: KafkaSettings, client_id: str) -> None:
        self._settings = settings
        self._client_id = client_id
        self._queue: queue.SimpleQueue[tuple[Event, Any] | None] = queue.SimpleQueue()
        self._results: collections.deque[tuple[Any, str]] = collections.deque()
        self._open: dict[int, Any] = {}  # number of a send without a result → its token
        self._lock = threading.Lock()  # of `_open`: results come from kafka-python's thread and from ours
        self._numbers = itertools.count()
        self._stamp = onward(time.time)
        self._problem: str | None = "not connected to the broker yet"
        self._worn_out = False  # the producer has met an error that it does not recover from
        self._bug: Exception | None = None
        self._closing = threading.Event()
        self._limiter = LogLimiter()
        self._last_word = LastWord()
        library = logging.getLogger("kafka")
        library.addHandler(self._last_word)
        library.propagate = False  # an hour without a broker is a thousand lines, and its debug lines hold the password
        self._thread = threading.Thread(target=self._run, name="publish", daemon=True)
        self._thread.start()

    def send(self, event: Event, token: Any) -> None:
        self._queue.put((event, token))

    def results(self) -> Iterator[tuple[Any, str]]:
        if self._bug is not None:
            raise self._bug
        while self._results:
            yield self._results.popleft()

    def problem(self) -> str | None:
        return self._problem

    def close(self, timeout: float) -> None:
        """Give up what is still on its way after `timeout` seconds."""
        self._closing.set()
        self._queue.put(None)
        self._thread.join(timeout)

    def _run(self) -> None:
        try:
            while not self._closing.is_set():
                producer = self._connect()
                if producer is not None:
                    self._work(producer)
        except Exception as error:  # a bug: the reading loop raises it, so that the process ends and says why
            self._bug = error

    def _work(self, producer: KafkaProducer) -> None:
        """Send until closed, or until the producer is worn out."""
        self._worn_out = False
        while not self._worn_out:
            try:
                item = self._queue.get(timeout=CHECK)
            except queue.Empty:
                continue
            if item is None:
                break
            self._send(producer, *item)
        if self._worn_out:  # before `close`, which flushes first, and closes nothing where that does not end
            producer._sender.force_close()
            producer._sender.join(CLOSE)
        with contextlib.suppress(kafka_errors.KafkaError):  # a flush that did not end: its sends have failed below
            producer.close(timeout=1)
        with self._lock:
            left = list(self._open)
        for number in left:
            self._decide(number, "ProducerClosed")

    def _send(self, producer: KafkaProducer, event: Event, token: Any) -> None:
        key, value, headers = encode(event)
        number = next(self._numbers)
        with self._lock:
            self._open[number] = token
        try:
            stamp = round(self._stamp() * 1000)
            future = producer.send(self._settings.topic, value=value, key=key, headers=headers, timestamp_ms=stamp)
        except (kafka_errors.KafkaError, ValueError) as error:  # ValueError: a topic name that is not allowed
            self._refused(number, error)
        else:
            future.add_callback(self._delivered, number)
            future.add_errback(self._given_up, number)

    def _delivered(self, number: int, _: Any) -> None:
        self._problem = None
        self._limiter.reset()
        self._decide(number, "")

    def _given_up(self, number: int, error: BaseException) -> None:
        self._worn_out = True
        self._refused(number, error)

    def _refused(self, number: int, error: BaseException) -> None:
        if not getattr(error, "retriable", False):
            self._worn_out = True
        self._complain(error)
        self._decide(number, type(error).__name__)

    def _decide(self, number: int, result: str) -> None:
        with self._lock:
            known = number in self._open
            token = self._open.pop(number, None)
        if known:  # else its producer was thrown away before
            self._results.append((token, result))

    def _complain(self, error: BaseException) -> None:
        reason = str(error)
        if isinstance(error, kafka_errors.KafkaTimeoutError) and self._last_word.text:
            reason = f"{reason}: {self._last_word.text}"  # "unable to bootstrap" alone says nothing
        self._problem = f"{reason} ({_advice(error, reason, self._settings)})"
        if self._limiter.due(time.monotonic()):
            log.warning("cannot deliver to the broker at %s, trying on: %s", ", ".join(self._settings.bootstrap), self._problem)

    def _connect(self) -> KafkaProducer | None:
        """A connected producer, however long it takes; None when closed before."""
        backoff, failures = Backoff(), 0
        while not self._closing.is_set():
            self._last_word.text = ""
            try:
                producer = KafkaProducer(**producer_options(self._settings, self._client_id))
                try:
                    self._ensure_topic()
                except BaseException:
                    with contextlib.suppress(kafka_errors.KafkaError):  # nothing was sent with it
                        producer.close(timeout=0)
                    raise
            except (kafka_errors.KafkaError, OSError) as error:
                failures += 1
                self._complain(error)
                self._closing.wait(backoff.wait(failures))
            else:
                if failures:
                    log.info("connected to the broker")
                self._problem = None
                self._limiter.reset()
                return producer
        return None

    def _ensure_topic(self) -> None:
        topic = self._settings.topic
        admin = KafkaAdminClient(**client_options(self._settings, self._client_id), bootstrap_timeout_ms=10_000)
        try:
            if topic in admin.list_topics():
                return
            options = {"num_partitions": PARTITIONS, "configs": {"max.message.bytes": str(MESSAGE_LIMIT)}}
            admin.create_topics({topic: options}, wait_for_metadata=True)
            log.info("created topic %s with %d partitions", topic, PARTITIONS)
        except kafka_errors.TopicAlreadyExistsError:
            pass  # another shipper was faster
        finally:
            admin.close()


def producer_options(settings: KafkaSettings, client_id: str) -> dict[str, Any]:
    """Every option that matters stated: with the defaults, a conflict turns idempotence off with a mere warning."""
    return client_options(settings, client_id) | {
        "enable_idempotence": True,
        "acks": "all",
        "compression_type": "lz4",
        "linger_ms": 5,  # deltas were gathered already; a few of other files may join them
        "batch_size": 512 * 1024,  # one batch of a partition is in flight at a time, so it must be worth its round trip
        "max_request_size": MESSAGE_LIMIT,
        "request_timeout_ms": 15_000,
        "delivery_timeout_ms": 60_000,  # then it fails and is sent again from the tail's own queue
        "max_block_ms": 5_000,
        "bootstrap_timeout_ms": 10_000,
        "kafka_client": Client,
        "reconnect_backoff_max_ms": 2_000,
        "allow_auto_create_topics": False,  # the broker's defaults would give it one partition and 1 MiB
        "metrics_enabled": False,
    }


class LastWord(logging.Handler):
    """Keeps the last error that kafka-python logged: its exceptions do not say why a connection failed."""

    def __init__(self) -> None:
        super().__init__(logging.ERROR)
        self.text = ""

    def emit(self, record: logging.LogRecord) -> None:
        message = record.getMessage()
        if "Bootstrap failed" not in message:  # which only repeats the exception
            self.text = message[:300]


def _advice(error: BaseException, reason: str, settings: KafkaSettings) -> str:
    if isinstance(error, kafka_errors.UnsupportedSaslMechanismError) or "SaslAuthenticationFailed" in reason:
        return "check TRAINWIRE_KAFKA_SASL_MECHANISM, _USERNAME and _PASSWORD"
    if isinstance(error, kafka_errors.AuthorizationError):
        return f"the broker does not let this user write to or create topic {settings.topic}: change its ACLs"
    if isinstance(error, kafka_errors.UnknownTopicOrPartitionError):
        return f"topic {settings.topic} does not exist: create it with {PARTITIONS} partitions"
    if isinstance(error, kafka_errors.MessageSizeTooLargeError):
        return f"set max.message.bytes of topic {settings.topic} to {MESSAGE_LIMIT}"
    if "SSL" in reason or "certificate" in reason:
        return "check TRAINWIRE_KAFKA_SECURITY_PROTOCOL and TRAINWIRE_KAFKA_SSL_CA"
    if settings.security_protocol.startswith("SASL"):  # a broker may just hang up on a wrong password
        return (
            "check TRAINWIRE_KAFKA_BOOTSTRAP, whether the broker runs,"
            " and TRAINWIRE_KAFKA_SASL_MECHANISM, _USERNAME and _PASSWORD: a refused login can look like this"
        )
    return "check TRAINWIRE_KAFKA_BOOTSTRAP and TRAINWIRE_KAFKA_SECURITY_PROTOCOL, and whether the broker runs"
