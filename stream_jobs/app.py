"""The Faust application: one agent that takes batches, stores them and acknowledges them in order.

Why it looks as it does (faust-streaming 0.15): `take()` acknowledges a batch whose body raised, and the batch is gone, so
`noack_take` with a body that never raises; more than one agent or acknowledgement out of order can commit over a hole;
what must end the process ends it with `os._exit`, since `SystemExit` in an agent is swallowed and `app.crash()` waits for
the body. Nothing was acknowledged then, so nothing is lost.
"""

from __future__ import annotations

import asyncio
import logging
import os
import socket
import time
from typing import Any

from runtime.errors import EXIT_FAILED, EXIT_SETTING, EXIT_TEMPORARY, PermanentError, TemporaryError, TrainwireError
from runtime.metrics import Metrics
from schemas.topic import MESSAGE_LIMIT
from stream_jobs.broker import credentials
from stream_jobs.buffer import App
from stream_jobs.coordinator import install
from stream_jobs.group import Group
from stream_jobs.health import Health
from stream_jobs.ingest import Ingest
from stream_jobs.message import Message
from stream_jobs.pace import Pace
from stream_jobs.rows import DAY
from stream_jobs.settings import Settings
from stream_jobs.watchdog import Gaps, Stall, Steps, Twin

log = logging.getLogger("worker")

SESSION = 10.0  # s: a killed worker's partitions are free after it
REBALANCE = 20.0  # s: longer than any batch takes while the store answers
REQUEST = 30.0  # s: longer than the broker may hold a member that joins; Faust's 90 are what a lost answer would cost
BEAT = 10.0  # s between a worker's own heartbeats in the store
LOG_APPEND_TIME = 1  # of a message's time stamp: the broker's own clock
MONTH = 30 * DAY
COMMIT_EVERY = 1.0  # s: what is acknowledged and not yet committed is read again after a kill


def create(settings: Settings) -> App:
    kafka = settings.kafka
    install()
    return App(
        settings.worker.group,
        broker=[f"kafka://{address}" for address in kafka.bootstrap],
        broker_credentials=credentials(kafka),
        broker_client_id=f"trainwire-worker-{socket.gethostname()}-{os.getpid()}",
        value_serializer="raw",
        key_serializer="raw",
        store="memory://",
        web_enabled=False,
        topic_disable_leader=True,
        topic_allow_declare=False,
        table_standby_replicas=0,
        broker_session_timeout=SESSION,
        broker_rebalance_timeout=REBALANCE,
        broker_request_timeout=REQUEST,
        broker_heartbeat_interval=3.0,
        broker_commit_interval=COMMIT_EVERY,
        broker_max_poll_records=500,
        consumer_auto_offset_reset="earliest",
        consumer_max_fetch_size=MESSAGE_LIMIT,
        consumer_metadata_max_age_ms=10_000,  # how soon partitions that were added are seen
        stream_buffer_maxsize=settings.batch.messages,
    )


class Worker:
    """The agent and what watches it. `exit` ends the process at once; tests give another one."""

    def __init__(
        self, settings: Settings, ingest: Ingest, health: Health, metrics: Metrics, pace: Pace, exit: Any = os._exit
    ) -> None:
        self._settings, self._ingest, self._health, self._metrics = settings, ingest, health, metrics
        self._pace, self._exit = pace, exit
        self._files = ingest.assignment()
        self._gaps, self._twin, self._stall, self._steps = Gaps(), Twin(), Stall(settings.worker.stall), Steps()
        self.app = create(settings)
        self._group = Group(self.app)
        topic = self.app.topic(settings.kafka.topic, key_serializer="raw", value_serializer="raw")
        self.app.agent(topic, name="store", concurrency=1)(self._consume)
        self.app.on_partitions_assigned.connect(self._on_assigned)
        self.app.on_partitions_revoked.connect(self._on_revoked)

    async def _consume(self, stream: Any) -> None:
        async for events in stream.noack_take(self._settings.batch.messages, within=self._settings.batch.seconds):
            files = self._files  # a body keeps the one that it began with, whatever is revoked meanwhile
            messages = [_message(event.message) for event in events]
            try:
                self._report_gaps(messages)
                await asyncio.to_thread(self._work, messages, files)
            except PermanentError as error:
                self._end(EXIT_SETTING, f"{error}")
            except TemporaryError as error:
                self._end(EXIT_TEMPORARY, f"{error}")
            except Exception:
                log.exception("a batch failed in a way that nobody foresaw; nothing of it was acknowledged")
                self._end(EXIT_FAILED, "ending, so that the batch is read again")
            for event in events:
                await stream.ack(event)
            if self._pace.extra:
                await asyncio.sleep(self._pace.extra)

    def _work(self, messages: list[Message], files: Any) -> None:
        self._pace.look()
        self._ingest.process(messages, files)

    def _report_gaps(self, messages: list[Message]) -> None:
        firsts = {tp.partition: offset for tp, offset in self._group.committed().items()}
        for message in messages:
            missing = self._gaps.seen(message.partition, message.offset, firsts.get(message.partition))
            if missing:
                low = message.offset - missing
                log.error(
                    "partition %d of %s: messages %d to %d are gone, %d in number: retention removed them before they were "
                    "read; the ledger shows which bytes are missing, and their log files may still hold them",
                    message.partition,
                    message.topic,
                    low,
                    message.offset - 1,
                    missing,
                )
                self._metrics.inc("worker_topic_gap_messages_total", missing, partition=str(message.partition))
                self._ingest.report(
                    "topic_gap",
                    message,
                    f"{missing} messages were removed by retention before they were read",
                    {"partition": str(message.partition), "first": str(low), "messages": str(missing)},
                )

    async def _on_assigned(self, *_: Any, **__: Any) -> None:
        if self._twin.fights(time.monotonic()):
            self._end(
                EXIT_FAILED, "partitions were handed around 12 times in 30 s: another process uses this member's id; stop one"
            )
        self._files = self._ingest.assignment()
        self._gaps.forget()
        self._health.assigned = True

    async def _on_revoked(self, *_: Any, **__: Any) -> None:
        self._files = self._ingest.assignment()
        self._gaps.forget()
        self._health.assigned = False

    async def watch(self) -> None:
        """Measure the lag each second and tell the store; end the process when it does no work though there is some."""
        told, next_beat = None, 0.0
        while True:
            await asyncio.sleep(1)
            trouble = self._group.trouble()
            if trouble is not None:
                self._end(
                    EXIT_TEMPORARY,
                    f"group {self._settings.worker.group} gives this worker no partitions ({trouble!r}): ending, to be started "
                    "again; if it ends so again, see that TRAINWIRE_WORKER_GROUP is no other program's and this user may read it",
                )
            behind, committed = await self._group.lag(time.monotonic())
            for partition, messages in behind.items():
                self._metrics.set("worker_lag_messages", messages, partition=str(partition))
            lag = sum(behind.values())
            if time.monotonic() >= next_beat and (told is None or told.done()):
                next_beat = time.monotonic() + BEAT
                told = asyncio.create_task(self._beat(committed + lag, committed))
            work = lag if self._health.assigned else max(lag, 1)  # in a rebalance nobody knows how much waits
            excused = self._steps.go_on(self._ingest.step) or self._health.sink.trouble is not None
            if self._stall.stalled(time.monotonic(), work, committed, excused):
                what = f"{lag} messages wait" if self._health.assigned else "partitions are not given out"
                self._end(
                    EXIT_TEMPORARY,
                    f"{what} and nothing was committed for {self._stall.seconds:.0f} s: ending, to be started again",
                )

    async def _beat(self, high: int, committed: int) -> None:
        try:
            await asyncio.to_thread(self._ingest.beat, self._settings.kafka.topic, high, committed, round(BEAT * 1000))
        except TrainwireError as error:  # what it means for the process, the next batch will say
            log.warning("the worker's heartbeat was not stored: %s", error)

    def _end(self, code: int, reason: str) -> None:
        log.error("%s", reason)
        logging.shutdown()
        self._exit(code)


def _message(raw: Any) -> Message:
    """Faust's message; its time stamp is in seconds.

    Where the topic carries the producers' time (CreateTime), a wrong clock could put rows where they expire at once, or
    into months of their own: what is a day ahead or a month behind becomes now.
    """
    now = time.time_ns() // 1_000_000
    arrived = round(raw.timestamp * 1000) if raw.timestamp else 0
    if raw.timestamp_type != LOG_APPEND_TIME and not now - MONTH < arrived < now + DAY:
        arrived = now
    headers = raw.headers.items() if isinstance(raw.headers, dict) else raw.headers or ()
    return Message(raw.topic, raw.partition, raw.offset, arrived, raw.key, raw.value, tuple(headers))
