"""`trainwire-worker`: wiring, start and end of the process."""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import socket
import sys
import threading

from runtime import logs
from runtime.errors import EXIT_FAILED, EXIT_OK, EXIT_SETTING, EXIT_TEMPORARY, PermanentError, TemporaryError
from runtime.health import HealthServer
from runtime.metrics import Metrics
from runtime.settings import load, tell_use
from stream_jobs.settings import Settings


def main() -> None:
    """Exit codes: 0 stopped, 1 failed, 2 a setting, schema or right is wrong, 75 start it again."""
    tell_use(
        "trainwire-worker",
        "Store what shippers send: from the broker's topic to ClickHouse. Settings come from the environment.",
        Settings,
    )
    log = logs.setup("worker")
    for noisy in ("faust", "mode", "aiokafka", "kafka"):
        logging.getLogger(noisy).setLevel(max(logging.WARNING, logging.getLogger().level))
    for handler in logging.getLogger().handlers:
        handler.addFilter(logs.Repeats("aiokafka"))
    logging.getLogger("clickhouse_connect").setLevel(logging.ERROR)  # each failed request; the sink says it once
    code = EXIT_OK
    try:
        code = asyncio.run(_run(load(Settings, os.environ), log))
    except PermanentError as error:
        log.error("%s", error)
        code = EXIT_SETTING
    except TemporaryError as error:
        log.warning("%s", error)
        code = EXIT_TEMPORARY
    logging.shutdown()
    sys.stderr.flush()
    os._exit(code)  # threads that wait for a store that is away must not hold the process


async def _run(settings: Settings, log: logging.Logger) -> int:
    # Faust and aiokafka take half a second to import; a wrong setting is told before that.
    from aiokafka.errors import KafkaError

    from stream_jobs.app import Worker
    from stream_jobs.broker import wait_for_topic
    from stream_jobs.health import Health
    from stream_jobs.ingest import Ingest
    from stream_jobs.pace import Pace
    from stream_jobs.sink import Sink

    stop = _stop_on_signals(settings.worker.stop, log)
    metrics = Metrics("worker")
    sink = Sink(settings.store, metrics, stop=stop)
    health = Health(sink)
    server = HealthServer(settings.worker.health, metrics, health.healthy, health.ready)
    log.info("metrics and health at http://%s:%d", settings.worker.health[0], server.port)
    # The schema is asked for before the first message is taken, so that a missing one is told at once.
    await asyncio.to_thread(sink.query, "SELECT revision FROM file_ranges LIMIT 0", {})
    health.store = None
    await wait_for_topic(settings.kafka, settings.worker, health, stop)
    name = f"{socket.gethostname()}:{os.getpid()}"
    ingest = Ingest(
        sink, metrics, worker=name, size=settings.batch.size, quarantine=settings.quarantine, names=settings.worker.names
    )
    worker = Worker(settings, ingest, health, metrics, Pace(sink, settings.batch.seconds))
    watch = asyncio.create_task(worker.watch())
    try:
        await worker.app.start()
    except (KafkaError, OSError) as error:
        raise TemporaryError(f"the broker went away while the worker started, start it again: {error}") from error
    log.info("taking %s as group %s", settings.kafka.topic, settings.worker.group)
    while not stop.is_set() and not watch.done() and not worker.app.crashed:
        await asyncio.sleep(0.1)
    if not stop.is_set():
        reason = watch.exception() if watch.done() else worker.app.crash_reason
        log.error("the stream job ended: %r", reason)
        return EXIT_FAILED
    watch.cancel()
    log.info("stopping")
    await worker.app.stop()
    server.close()
    return EXIT_OK


def _stop_on_signals(seconds: float, log: logging.Logger) -> threading.Event:
    """An event that the first SIGTERM or SIGINT sets; the process ends `seconds` later, whatever hangs."""
    stop = threading.Event()

    def ended_late() -> None:
        log.warning("not done %.0f s after the signal, ending now; what is not acknowledged is read again", seconds)
        logging.shutdown()
        os._exit(EXIT_TEMPORARY)

    def handle(number: int) -> None:
        if stop.is_set():
            os._exit(128 + number)
        stop.set()
        timer = threading.Timer(seconds, ended_late)
        timer.daemon = True
        timer.start()

    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, handle, number)
    return stop


if __name__ == "__main__":
    main()
