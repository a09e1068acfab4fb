"""The shipper when the broker is away, slow, or refuses: real broker, real process."""

from __future__ import annotations

import pathlib
import random
import socket
import time
from collections.abc import Callable, Iterator

import pytest

from deploy.local.settings import LocalSettings
from deploy.local.stack import Stack
from schemas.events import Delta, FileEnd
from tests.integration.test_shipper_process import Program, Topic, bytes_of, get
from tests.unit.shipper.harness import numbered, stored, write

pytestmark = pytest.mark.services


@pytest.fixture
def hurt(local_stack: Stack) -> Stack:
    """A stack of the test's own, running."""
    local_stack.start(tied=True)
    return local_stack


def resident(pid: int) -> int:
    """Bytes of memory that the process has now."""
    fields = pathlib.Path(f"/proc/{pid}/status").read_text().split("VmRSS:")[1].split()
    return int(fields[0]) * 1024


@pytest.fixture
def make_program(tmp_path: pathlib.Path) -> Iterator[Callable[[str, str], Program]]:
    made: list[Program] = []

    def make(broker: str, topic: str) -> Program:
        made.append(Program(tmp_path, broker, topic))
        return made[-1]

    yield make
    for program in made:
        program.end()


def test_b03_broker_and_shipper_killed_and_the_broker_stopped_for_a_while(
    hurt: Stack, make_program: Callable[[str, str], Program], tmp_path: pathlib.Path
) -> None:
    log = tmp_path / "a.log"
    program = make_program(hurt.bootstrap, "t.outage")
    shipper = program.start()
    write(log, numbered(1, 1000))
    topic = Topic(hurt.bootstrap, "t.outage")
    topic.until(lambda seen: bytes_of(seen) == log.stat().st_size)
    topic.close()

    hurt.broker.kill()
    write(log, numbered(1001, 400_000, "a line that is written while nobody listens"))
    time.sleep(3)
    assert resident(shipper.pid) < 100 * 1024 * 1024
    shipper.kill()
    shipper.wait()
    shipper = program.start()
    time.sleep(2)
    assert shipper.poll() is None, "it waits for the broker"
    hurt.broker.start()

    topic = Topic(hurt.bootstrap, "t.outage")
    topic.until(lambda seen: bytes_of(seen) > log.stat().st_size // 2, 90)
    hurt.broker.pause()  # stored or not, nobody answers: longer than a request may take
    write(log, numbered(1, 5000, "during the pause"))
    time.sleep(17)
    hurt.broker.resume()
    write(log, numbered(1, 5000, "after the pause"))
    seen = topic.until(lambda seen: bytes_of(seen) == log.stat().st_size, 120)
    topic.close()
    (content,) = stored([event for event in seen if isinstance(event, Delta)]).values()
    assert content == log.read_bytes()
    assert resident(shipper.pid) < 100 * 1024 * 1024


def test_the_broker_comes_later_than_the_shipper(
    local_stack: Stack, make_program: Callable[[str, str], Program], tmp_path: pathlib.Path
) -> None:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    stack = Stack(local_stack.data, LocalSettings(kafka_port=port))
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        health = f"127.0.0.1:{probe.getsockname()[1]}"
    program = make_program(f"127.0.0.1:{port}", "t.late")
    write(tmp_path / "a.log", numbered(1, 100))
    shipper = program.start("--until-exit", SHIPPER_HEALTH=health, SHIPPER_DRAIN_SECONDS="60")
    time.sleep(4)
    assert b"ok" in get(f"http://{health}/healthz")
    with pytest.raises(OSError, match="503"):
        get(f"http://{health}/readyz")
    stack.start(tied=True)
    try:
        topic = Topic(stack.bootstrap, "t.late")
        topic.until(lambda seen: bytes_of(seen) == (tmp_path / "a.log").stat().st_size, 60)
        assert get(f"http://{health}/readyz") == b"ok\n"
        write(tmp_path / "a.log", '{"tw":"end","t":1,"status":"succeeded"}\n')
        assert shipper.wait(60) == 0, "the end record ends it"
        topic.until(lambda seen: any(isinstance(event, FileEnd) for event in seen))
        topic.close()
    finally:
        stack.stop()


def test_a_message_that_the_broker_refuses_stops_no_other_file(
    make_topic: Callable[..., str], broker: str, make_program: Callable[[str, str], Program], tmp_path: pathlib.Path
) -> None:
    name = make_topic(max_message_bytes="50000")
    program = make_program(broker, name)
    noise = random.Random(1).randbytes(120_000).replace(b"\n", b" ") + b"\n"  # lz4 finds nothing in it
    write(tmp_path / "big.log", noise)
    shipper = program.start(SHIPPER_DRAIN_SECONDS="2")
    time.sleep(3)
    write(tmp_path / "small.log", numbered(1, 10))
    topic = Topic(broker, name)
    topic.until(lambda seen: bytes_of(seen) == len(numbered(1, 10)))
    topic.close()
    shipper.terminate()
    assert shipper.wait(60) == 75, "not everything was acknowledged"
    assert shipper.stderr is not None
    said = shipper.stderr.read()
    assert "max.message.bytes" in said
    assert "not acknowledged" in said


def test_an_end_marker_ends_it_even_if_the_broker_is_away(
    make_program: Callable[[str, str], Program], tmp_path: pathlib.Path
) -> None:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        nobody = f"127.0.0.1:{probe.getsockname()[1]}"
    program = make_program(nobody, "t.none")
    write(tmp_path / "a.log", "x\n")
    shipper = program.start("--end-marker", str(tmp_path / "done"), SHIPPER_DRAIN_SECONDS="2")
    time.sleep(3)
    assert shipper.poll() is None
    began = time.monotonic()
    (tmp_path / "done").touch()
    assert shipper.wait(60) == 0, "the pod must not fail for it"
    assert time.monotonic() - began < 15
    assert shipper.stderr is not None
    assert "not acknowledged" in shipper.stderr.read()
