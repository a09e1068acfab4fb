"""The floor under all programs: waiting, metrics, health, log, signals."""

import json
import logging
import signal
import subprocess
import sys
import urllib.error
import urllib.request

import pytest

from runtime.errors import PermanentError
from runtime.health import HealthServer
from runtime.logs import JsonFormatter
from runtime.metrics import PROGRAMS, Metrics
from runtime.retry import Backoff, LogLimiter


def test_waits_grow_to_the_most_and_never_to_nothing() -> None:
    policy = Backoff(first=0.2, most=10)
    for failures, ceiling in [(1, 0.2), (2, 0.4), (6, 6.4), (7, 10), (10_000, 10)]:
        waits = [policy.wait(failures) for _ in range(200)]
        assert ceiling / 2 <= min(waits) <= max(waits) <= ceiling


def test_a_repeated_complaint_is_due_once_in_a_while() -> None:
    limiter = LogLimiter(every=30)
    assert [limiter.due(now) for now in (0, 1, 29.9, 30, 31)] == [True, False, False, True, False]
    limiter.reset()
    assert limiter.due(32)


@pytest.mark.parametrize("program", sorted(PROGRAMS))
def test_every_metric_is_in_prometheus_form(program: str) -> None:
    text = Metrics(program).render().decode()
    for name, (kind, _, meaning) in PROGRAMS[program].items():
        assert f"# TYPE trainwire_{name} {kind}" in text
        assert f"# HELP trainwire_{name} {meaning}" in text
        assert name.startswith(f"{program}_")
        assert name.endswith("_total") == (kind == "counter")


def test_only_what_is_declared_can_be_counted() -> None:
    metrics = Metrics("shipper")
    metrics.inc("shipper_lines_total", 3)
    metrics.inc("shipper_file_errors_total", reason="denied")
    metrics.set("shipper_files", 2)
    assert metrics.value("shipper_lines_total") == 3
    assert metrics.value("shipper_file_errors_total", reason="denied") == 1
    assert metrics.value("shipper_files") == 2
    with pytest.raises(KeyError):
        metrics.inc("shipper_typo_total")


def get(url: str) -> tuple[int, str]:
    try:
        with urllib.request.urlopen(url, timeout=10) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        with error:
            return error.code, error.read().decode()


def test_health_is_said_over_http() -> None:
    metrics = Metrics("shipper")
    wrong: list[str] = []
    server = HealthServer(("127.0.0.1", 0), metrics, lambda: None, lambda: wrong[0] if wrong else None)
    try:
        base = f"http://127.0.0.1:{server.port}"
        assert get(f"{base}/healthz") == (200, "ok\n")
        assert get(f"{base}/readyz") == (200, "ok\n")
        wrong.append("no broker at b:9092")
        assert get(f"{base}/readyz") == (503, "no broker at b:9092\n")
        assert get(f"{base}/healthz")[0] == 200
        assert "trainwire_shipper_files" in get(f"{base}/metrics?x=1")[1]
        assert get(f"{base}/")[0] == 404
        with pytest.raises(PermanentError, match="choose another port"):
            HealthServer(("127.0.0.1", server.port), metrics, lambda: None, lambda: None)
    finally:
        server.close()


def test_a_log_record_is_one_json_line() -> None:
    try:
        raise ValueError("broken\nline")
    except ValueError:
        record = logging.LogRecord("worker", logging.ERROR, __file__, 1, "not %s", ("done",), sys.exc_info())
    line = JsonFormatter().format(record)
    assert "\n" not in line
    said = json.loads(line)
    assert (said["level"], said["logger"], said["message"]) == ("error", "worker", "not done")
    assert "ValueError: broken" in said["traceback"]


PROGRAM = """
import time
from runtime.signals import stop_event
stop = stop_event()
print("ready", flush=True)
stop.wait(60)
print("asked", flush=True)
time.sleep(30)
"""


def test_the_first_signal_asks_and_the_second_insists() -> None:
    with subprocess.Popen([sys.executable, "-c", PROGRAM], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        process.send_signal(signal.SIGTERM)
        assert process.stdout.readline() == "asked\n"
        process.send_signal(signal.SIGTERM)
        assert process.wait(60) == 128 + signal.SIGTERM
