"""The shipper as a process: settings in, exit code out."""

from __future__ import annotations

import argparse
import dataclasses
import logging
import os
import pathlib
import threading
import time
from collections.abc import Mapping

from producers.shipper.publish import KafkaPublisher
from producers.shipper.settings import Settings
from producers.shipper.shipper import Shipper
from runtime import logs, signals
from runtime.errors import EXIT_OK, EXIT_SETTING, EXIT_TEMPORARY, PermanentError, SettingError
from runtime.health import HealthServer
from runtime.metrics import Metrics
from runtime.settings import load, reference

CLOSE = 2.0  # s for the producer to end its thread; everything that matters was acknowledged before
STUCK = 30.0  # s without a step after which the loop is not healthy: a step takes milliseconds

DESCRIPTION = "Ship what is new in log files to Kafka. Settings come from TRAINWIRE_* (at least _LOGS and _TASK_ID)."
EPILOG = """\
exit codes:
  0   told to end (SIGTERM, SIGINT, --until-exit, --end-marker), and everything read was acknowledged
  2   a setting or an argument is wrong; the message says which
  75  the deadline (TRAINWIRE_SHIPPER_DRAIN_SECONDS) passed before everything was acknowledged; nothing is lost:
      the next shipper goes on from the checkpoint. With --end-marker the code is 0 even then: a container that ends
      for the training's sake must not make its pod fail
"""


@dataclasses.dataclass(frozen=True)
class Until:
    """When to end without being told by a signal."""

    files: bool = False  # when every file has its end record
    pid: int | None = None  # when this process is gone
    marker: pathlib.Path | None = None  # when this file is there


def parse(arguments: list[str]) -> Until:
    parser = argparse.ArgumentParser(
        prog="trainwire-shipper",
        description=DESCRIPTION,
        epilog=f"{EPILOG}\n{reference(Settings)}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "--until-exit",
        nargs="?",
        const="",
        metavar="PID",
        help="end when process PID has ended; without PID, when every followed file has its end record",
    )
    parser.add_argument("--end-marker", type=pathlib.Path, metavar="PATH", help="end when this file appears")
    options = parser.parse_args(arguments)
    if options.until_exit and not options.until_exit.isdigit():
        parser.error(f"--until-exit={options.until_exit}: expected a process id")
    return Until(options.until_exit == "", int(options.until_exit) if options.until_exit else None, options.end_marker)


def run(arguments: list[str], environ: Mapping[str, str]) -> int:
    until = parse(arguments)
    log = logs.setup("trainwire-shipper")
    # The publisher says what is wrong with the broker, once; the client says it at each of a hundred tries a second.
    logging.getLogger("kafka").setLevel(logging.CRITICAL)
    try:
        settings = load(Settings, environ)
    except SettingError as error:
        log.error("%s", error)
        return EXIT_SETTING
    stop = signals.stop_event()
    metrics = Metrics("shipper")
    beat = _Liveness()
    publisher = KafkaPublisher(settings.kafka, f"trainwire-shipper-{settings.source}")
    health = None
    if settings.shipper.health is not None:
        try:
            health = HealthServer(settings.shipper.health, metrics, beat.problem, publisher.problem)
        except PermanentError as error:
            log.error("TRAINWIRE_SHIPPER_HEALTH: %s", error)
            return EXIT_SETTING
        log.info("health at http://%s:%d/healthz", settings.shipper.health[0] or "0.0.0.0", health.port)  # noqa: S104  # only said
    shipper = Shipper(settings, publisher, metrics)
    log.info("following %s", ", ".join(settings.files.logs))
    try:
        return _loop(shipper, settings, until, stop, beat, log)
    finally:
        shipper.save(time.monotonic())
        shipper.close()
        publisher.close(CLOSE)
        if health is not None:
            health.close()


def _loop(shipper: Shipper, settings: Settings, until: Until, stop: threading.Event, beat: _Liveness, log: logging.Logger) -> int:
    deadline = None
    while True:
        now = time.monotonic()
        due = shipper.step(now)
        beat.at = now
        if deadline is None and (reason := _reason_to_leave(shipper, settings, until, stop)):
            deadline = now + settings.shipper.drain
            shipper.leave(reason, now)
            continue
        if deadline is not None and shipper.finished():
            return EXIT_OK
        if deadline is not None and now >= deadline:
            log.error(
                "%d bytes were not acknowledged within %.0f s; they are still in the files, and the next shipper sends them",
                shipper.lag(),
                settings.shipper.drain,
            )
            return EXIT_OK if until.marker is not None else EXIT_TEMPORARY
        pause = max(0.0, due - time.monotonic())
        if deadline is None:
            stop.wait(pause)
        else:
            time.sleep(pause)


def _reason_to_leave(shipper: Shipper, settings: Settings, until: Until, stop: threading.Event) -> str:
    if stop.is_set():
        return "shutdown" if settings.shipper.sigterm_ends else "farewell"
    if until.marker is not None and until.marker.exists():
        return "container-ended"
    if until.pid is not None and not _runs(until.pid):
        return "container-ended"
    if until.files and shipper.all_ended():
        return "farewell"
    return ""


def _runs(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True  # it is somebody else's, and it runs
    try:  # a zombie has ended; it only waits for its parent
        return pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


class _Liveness:
    """When the loop last made a step."""

    def __init__(self) -> None:
        self.at = time.monotonic()

    def problem(self) -> str | None:
        quiet = time.monotonic() - self.at
        return f"no step for {quiet:.0f} s" if quiet > STUCK else None
