"""The shipper as a process, against a real broker."""

from __future__ import annotations

import pathlib
import signal
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator

import pytest
from kafka import KafkaConsumer

from schemas.events import Delta, Event, FileEnd, Heartbeat, decode
from tests.unit.shipper.harness import numbered, stored, write

pytestmark = pytest.mark.services


class Topic:
    """Everything that was published to a topic so far."""

    def __init__(self, broker: str, topic: str) -> None:
        self.name = topic
        self._consumer = KafkaConsumer(
            topic, bootstrap_servers=broker, auto_offset_reset="earliest", enable_auto_commit=False, group_id=None
        )
        self.log: list[tuple[int, Event]] = []  # (broker's time stamp, event)

    def until(self, enough: Callable[[list[Event]], bool], seconds: float = 60) -> list[Event]:
        deadline = time.monotonic() + seconds
        while True:
            for records in self._consumer.poll(timeout_ms=100).values():
                for r in records:
                    self.log.append((r.timestamp, decode(r.key, r.value, r.headers)))
            events = [event for _, event in self.log]
            if enough(events) or time.monotonic() > deadline:
                assert enough(events), f"not within {seconds} s: {[type(e).__name__ for e in events]}"
                return events

    def close(self) -> None:
        self._consumer.close()


@pytest.fixture
def events(broker: str, topic: str) -> Iterator[Topic]:
    out = Topic(broker, topic)
    yield out
    out.close()


class Program:
    """Starts `trainwire-shipper`, and ends what it started."""

    def __init__(self, folder: pathlib.Path, broker: str, topic: str) -> None:
        self.environ = {
            "PATH": "/usr/bin:/bin",
            "TRAINWIRE_LOGS": str(folder / "*.log"),
            "TRAINWIRE_TASK_ID": "t1",
            "TRAINWIRE_KAFKA_BOOTSTRAP": broker,
            "TRAINWIRE_KAFKA_TOPIC": topic,
            "TRAINWIRE_SHIPPER_ID": "s1",
        }
        self._running: list[subprocess.Popen[str]] = []

    def start(self, *arguments: str, **environ: str) -> subprocess.Popen[str]:
        command = [sys.executable, "-m", "producers.shipper", *arguments]
        extra = {f"TRAINWIRE_{name}": value for name, value in environ.items()}
        process = subprocess.Popen(command, env=self.environ | extra, stderr=subprocess.PIPE, text=True)
        self._running.append(process)
        return process

    def end(self) -> None:
        for process in self._running:
            if process.poll() is None:
                process.kill()
            process.communicate()


@pytest.fixture
def program(tmp_path: pathlib.Path, broker: str, topic: str) -> Iterator[Program]:
    out = Program(tmp_path, broker, topic)
    yield out
    out.end()


def get(address: str) -> bytes:
    with urllib.request.urlopen(address) as answer:
        return bytes(answer.read())


def bytes_of(events: list[Event]) -> int:
    return sum(len(content) for content in stored([e for e in events if isinstance(e, Delta)]).values())


def test_lines_heartbeats_kill_and_sigterm(program: Program, events: Topic, tmp_path: pathlib.Path) -> None:
    log = tmp_path / "a.log"
    shipper = program.start()
    write(log, numbered(1, 5000))
    size = log.stat().st_size
    events.until(lambda seen: bytes_of(seen) == size)
    shipper.kill()
    shipper.wait()
    write(log, numbered(5001, 6000) + "half")
    shipper = program.start(SHIPPER_SIGTERM_ENDS="1")
    size = log.stat().st_size
    events.until(lambda seen: bytes_of(seen) == size - len("half"))
    shipper.send_signal(signal.SIGTERM)
    assert shipper.wait(60) == 0
    seen = events.until(lambda seen: any(isinstance(e, FileEnd) for e in seen))
    deltas = [e for e in seen if isinstance(e, Delta)]
    assert list(stored(deltas).values()) == [log.read_bytes()]
    assert len({d.reading for d in deltas}) == 1, "the checkpoint was used"
    end = next(e for e in seen if isinstance(e, FileEnd))
    assert (end.reason, end.offset, end.size, end.known) == ("shutdown", size, size, True)
    beat = next(e for e in seen if isinstance(e, Heartbeat))
    assert (beat.task, beat.source, beat.interval) == ("t1", "s1", 10_000)


def test_until_the_training_process_has_ended(program: Program, events: Topic, tmp_path: pathlib.Path) -> None:
    script = "import sys, time; print('a', flush=True); time.sleep(1); sys.stdout.write('final score=0.1')"
    with (tmp_path / "b.log").open("wb") as out:
        training = subprocess.Popen([sys.executable, "-c", script], stdout=out)
        shipper = program.start(f"--until-exit={training.pid}")
        training.wait()
    assert shipper.wait(60) == 0
    seen = events.until(lambda seen: any(isinstance(e, FileEnd) for e in seen))
    assert list(stored([e for e in seen if isinstance(e, Delta)]).values()) == [b"a\nfinal score=0.1"]
    assert [e.reason for e in seen if isinstance(e, FileEnd)] == ["container-ended"]


def test_health_and_a_port_in_use(program: Program, events: Topic, tmp_path: pathlib.Path) -> None:
    write(tmp_path / "a.log", "x\n")
    shipper = program.start(SHIPPER_HEALTH="127.0.0.1:0")
    assert shipper.stderr is not None
    address = ""
    for line in shipper.stderr:
        if "health at " in line:
            address = line.partition("http://")[2].partition("/")[0]
            break
    events.until(lambda seen: bytes_of(seen) == 2)
    for path in ("/healthz", "/readyz"):
        assert get(f"http://{address}{path}") == b"ok\n"
    deadline = time.monotonic() + 60
    while b"trainwire_shipper_lines_total 1.0" not in get(f"http://{address}/metrics"):
        assert time.monotonic() < deadline, "the acknowledged line was never counted"
        time.sleep(0.05)
    second = program.start(SHIPPER_HEALTH=address)
    assert second.wait(60) == 2
    assert second.stderr is not None
    assert "choose another port" in second.stderr.read()


def test_missing_topic_is_created_with_room_for_a_delta(program: Program, broker: str, tmp_path: pathlib.Path) -> None:
    name = f"test.created.{time.time_ns()}"
    write(tmp_path / "a.log", numbered(1, 10))
    program.start(KAFKA_TOPIC=name)
    topic = Topic(broker, name)
    try:
        topic.until(lambda seen: bytes_of(seen) == len(numbered(1, 10)))
        assert len(topic._consumer.partitions_for_topic(name)) == 8
    finally:
        topic.close()


def test_line_to_broker_is_fast(program: Program, events: Topic, tmp_path: pathlib.Path) -> None:
    """Prints the times; the bound is generous, because other tests share the machine."""
    log = tmp_path / "a.log"
    program.start()
    write(log, "first\n")
    events.until(lambda seen: bytes_of(seen) > 0)
    written = []
    for n in range(30):
        written.append(time.time_ns() // 1_000_000)
        write(log, f"line {n}\n")
        time.sleep(0.1)
    seen = events.until(lambda seen: bytes_of(seen) == log.stat().st_size)
    assert seen
    hops = []
    for stamp, event in events.log:
        if isinstance(event, Delta):
            lines = [line for line in event.value.decode().splitlines() if line.startswith("line ")]
            hops += [stamp - written[int(line.split()[1])] for line in lines]
    hops.sort()
    print(f"line to broker: p50 {hops[len(hops) // 2]} ms, max {hops[-1]} ms")
    assert hops[len(hops) // 2] < 500
