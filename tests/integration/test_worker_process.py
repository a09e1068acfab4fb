"""The worker as a process, on a real broker and store: started, killed, stopped, without services, among other workers."""

from __future__ import annotations

import os
import random
import signal
import socket
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from kafka import KafkaAdminClient, KafkaConsumer, KafkaProducer, TopicPartition

from schemas.events import Event, encode
from schemas.topic import MESSAGE_LIMIT
from tests.chaos.proxy import Proxy
from tests.integration.worker_support import Csv, Desk, desk, rows, still
from tests.services.fixtures import Store

__all__ = ["desk", "still"]
pytestmark = pytest.mark.services
PROGRAM = str(Path(sys.executable).with_name("trainwire-worker"))
CTL = str(Path(sys.executable).with_name("trainwirectl"))


class Running:
    """A worker process; its log is in a file that tests wait upon."""

    def __init__(self, environ: dict[str, str], log: Path) -> None:
        """Its working folder is an empty one beside the log: a worker must leave nothing in it."""
        self.log, self.folder = log, log.with_suffix("")
        self.folder.mkdir()
        clean = {name: value for name, value in os.environ.items() if not name.startswith("TRAINWIRE_")}
        with log.open("ab") as handle:
            self.process = subprocess.Popen([PROGRAM], cwd=self.folder, env=clean | environ, stdout=handle, stderr=handle)

    def says(self, text: str, seconds: float = 90) -> str:
        """Wait until the log holds the text; the line with it."""
        found: list[str] = []

        def look() -> bool:
            found[:] = [line for line in self.log.read_text().splitlines() if text in line]
            return bool(found)

        wait(look, seconds, f"the worker never said {text!r}", self.log)
        return found[0]

    def get(self, path: str) -> tuple[int, str]:
        address = self.says("metrics and health at").rpartition("http://")[2].rstrip('"}')
        try:
            with urllib.request.urlopen(f"http://{address}{path}", timeout=60) as answer:
                return answer.status, answer.read().decode()
        except urllib.error.HTTPError as error:
            return error.code, error.read().decode()

    def metric(self, name: str) -> float:
        values = [
            float(line.rpartition(" ")[2])
            for line in self.get("/metrics")[1].splitlines()
            if line.startswith(f"trainwire_{name}")
        ]
        return sum(values)

    def end(self, number: int = signal.SIGTERM, seconds: float = 90) -> int:
        self.process.send_signal(number)
        return self.process.wait(seconds)


def wait(done: Callable[[], bool], seconds: float, otherwise: str, *logs: Path) -> None:
    deadline = time.monotonic() + seconds
    while not done():
        assert time.monotonic() < deadline, "\n".join([otherwise, *(log.read_text()[-3000:] for log in logs)])
        time.sleep(0.1)


class Line:
    """One topic, its producer and the workers on it."""

    def __init__(self, desk: Desk, store: Store, bootstrap: str, topic: str, folder: Path) -> None:
        self.desk, self.bootstrap, self.topic, self._folder = desk, bootstrap, topic, folder
        self.workers: list[Running] = []
        self.environ = store.environ() | {
            "TRAINWIRE_CLICKHOUSE_DATABASE": desk.settings.database,
            "TRAINWIRE_KAFKA_BOOTSTRAP": bootstrap,
            "TRAINWIRE_KAFKA_TOPIC": topic,
            "TRAINWIRE_WORKER_GROUP": f"group-{topic}",
            "TRAINWIRE_WORKER_HEALTH": "127.0.0.1:0",
        }
        self._producer: KafkaProducer | None = None

    @property
    def producer(self) -> KafkaProducer:
        if self._producer is None:
            self._producer = KafkaProducer(
                bootstrap_servers=self.bootstrap, compression_type="lz4", enable_idempotence=True, max_request_size=MESSAGE_LIMIT
            )
        return self._producer

    def worker(self, **environ: str) -> Running:
        running = Running(self.environ | environ, self._folder / f"worker-{len(self.workers)}.log")
        self.workers.append(running)
        return running

    def send(self, events: list[Any], partition: int | None = None, pause: float = 0) -> None:
        for event in events:
            key, value, headers = encode(event)
            self.producer.send(self.topic, value=value, key=key, headers=headers, partition=partition)
            if pause:
                self.producer.flush()
                time.sleep(pause)
        self.producer.flush()

    def shows(self, *files: Csv, seconds: float = 60) -> None:
        """Wait until as many lines and points are shown, then compare everything."""
        lines, points = sum(len(file.lines) for file in files), sum(len(file.points) for file in files)
        task = files[0].task
        logs = [worker.log for worker in self.workers]
        wait(lambda: len(self.desk.lines(task)) >= lines, seconds, "lines are missing", *logs)
        wait(lambda: len(self.desk.points(task)) >= points, seconds, "points are missing", *logs)
        assert self.desk.shows(*files)

    def close(self) -> None:
        for running in self.workers:
            if running.process.poll() is None:
                running.process.kill()
            running.process.wait()
        if self._producer is not None:
            self._producer.close(timeout=5)


@pytest.fixture
def line(desk: Desk, store: Store, broker: str, topic: str, tmp_path: Path) -> Iterator[Line]:
    made = Line(desk, store, broker, topic, tmp_path)
    yield made
    made.close()


def test_lines_become_rows_and_a_stopped_worker_has_committed_them(line: Line) -> None:
    file = Csv(rows(200))
    worker = line.worker()
    line.send(file.deltas(7))
    line.shows(file)
    wait(lambda: worker.get("/readyz")[0] == 200, 20, "never ready")
    assert worker.get("/healthz")[0] == 200
    assert worker.metric("worker_points_total") == 200
    assert worker.end() == 0
    assert list(worker.folder.iterdir()) == []
    consumer = KafkaConsumer(bootstrap_servers=line.bootstrap, group_id=line.environ["TRAINWIRE_WORKER_GROUP"])
    partition = TopicPartition(line.topic, 0)
    assert consumer.committed(partition) == consumer.end_offsets([partition])[partition]
    consumer.close()


def test_killed_again_and_again_nothing_is_lost_and_nothing_doubled(line: Line) -> None:
    files = [Csv(rows(300), file_id=f"file-{number}") for number in range(4)]
    deltas = [delta for group in zip(*[file.deltas(5) for file in files], strict=True) for delta in group]
    sender = threading.Thread(target=line.send, args=(deltas,), kwargs={"pause": 0.05})
    sender.start()
    dice = random.Random(4)
    for _ in range(3):
        worker = line.worker()
        worker.says("taking")
        time.sleep(dice.uniform(1.5, 3.5))
        worker.end(signal.SIGKILL)
    sender.join()
    line.worker()
    line.shows(*files)


def test_b14_workers_that_come_and_go_share_the_work(line: Line, make_topic: Callable[..., str]) -> None:
    line.topic = make_topic(partitions=4)
    line.environ |= {"TRAINWIRE_KAFKA_TOPIC": line.topic, "TRAINWIRE_WORKER_GROUP": f"group-{line.topic}"}
    files = [Csv(rows(400), file_id=f"file-{number}") for number in range(4)]
    senders = [
        threading.Thread(target=line.send, args=(file.deltas(5),), kwargs={"pause": 0.15, "partition": number})
        for number, file in enumerate(files)
    ]
    for sender in senders:
        sender.start()
    first = line.worker()
    first.says("taking")
    second = line.worker()
    second.says("taking")
    time.sleep(3)
    assert first.end() == 0
    third = line.worker()
    third.says("taking")
    time.sleep(2)
    second.end(signal.SIGKILL)
    for sender in senders:
        sender.join()
    line.shows(*files)


def test_b76_more_workers_than_partitions_and_one_in_waiting_takes_over(line: Line) -> None:
    file = Csv(rows(100))
    first, second = line.worker(), line.worker()
    for worker in (first, second):
        worker.says("taking")
    half = file.deltas(5, last=50)
    line.send(half)
    wait(lambda: len(line.desk.lines()) == 50, 60, "nobody stores")
    active = max((first, second), key=lambda worker: worker.metric("worker_points_total"))
    active.end(signal.SIGKILL)
    line.send(file.deltas(5, first=50))
    line.shows(file)


def test_a_zombie_that_wakes_up_after_its_session_changes_nothing(line: Line) -> None:
    file = Csv(rows(200))
    zombie = line.worker()
    zombie.says("taking")
    line.send(file.deltas(5, last=100), pause=0.02)
    wait(lambda: bool(line.desk.lines()), 60, "nothing is stored", line.workers[0].log)
    zombie.process.send_signal(signal.SIGSTOP)
    line.send(file.deltas(5, first=100), pause=0.01)
    line.worker()
    line.shows(file)
    zombie.process.send_signal(signal.SIGCONT)
    line.send(file.deltas(9))  # everything once more, cut otherwise
    time.sleep(5)
    line.shows(file)


def test_b50_partitions_that_are_added_are_read(line: Line) -> None:
    files = [Csv(rows(150), file_id=f"file-{number}") for number in range(3)]
    worker = line.worker()
    worker.says("taking")
    line.send(files[0].deltas(10))
    admin = KafkaAdminClient(bootstrap_servers=line.bootstrap)
    admin.create_partitions({line.topic: 3})
    admin.close()
    line.producer.close()
    line._producer = None  # a new one knows the new partitions
    for number, file in enumerate(files):
        line.send(file.deltas(10), partition=number)
    line.shows(*files)


def test_b50_what_retention_removed_is_reported_and_the_rest_is_stored(line: Line) -> None:
    file = Csv(rows(99))
    worker = line.worker()
    line.send(file.deltas(10, last=10))
    wait(lambda: len(line.desk.lines()) == 10, 60, "nothing is stored", line.workers[0].log)
    assert worker.end() == 0
    line.send(file.deltas(1, first=10))
    admin = KafkaAdminClient(bootstrap_servers=line.bootstrap)
    admin.delete_records({TopicPartition(line.topic, 0): 41})  # one message was committed; 40 more are removed
    admin.close()
    worker = line.worker()
    wait(lambda: len(line.desk.lines()) == 60, 60, "what still exists was not stored")
    assert "40 in number" in worker.says("retention removed them")
    assert worker.metric("worker_topic_gap_messages_total") == 40
    assert line.desk.lines() == file.lines[:10] + file.lines[50:]
    assert line.desk.query("SELECT fields['messages'] FROM events WHERE task_id = 'trainwire' AND kind = 'topic_gap'") == [
        ("40",)
    ]
    assert line.desk.query("SELECT missing_inside > 0 FROM completeness") == [(1,)]
    wait(lambda: worker.metric("worker_lag_messages") == 0, 20, "the worker never commits over the gap")


def free() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def test_a_store_that_is_away_is_waited_for_and_sigterm_ends_within_its_time(line: Line) -> None:
    worker = line.worker(TRAINWIRE_CLICKHOUSE_URL=f"http://127.0.0.1:{free()}")
    worker.says("trying until it does")
    assert worker.get("/readyz")[0] == 503
    assert worker.get("/healthz")[0] == 200
    began = time.monotonic()
    worker.end()
    assert time.monotonic() - began < 12


def test_a_store_that_hangs_does_not_hold_a_stopped_worker_and_costs_nothing(line: Line) -> None:
    file = Csv(rows(100))
    proxy = Proxy(urlsplit(line.desk.settings.url).port or 0)
    try:
        worker = line.worker(TRAINWIRE_CLICKHOUSE_URL=f"http://127.0.0.1:{proxy.port}")
        line.send(file.deltas(5, last=50))
        wait(lambda: len(line.desk.lines()) == 50, 60, "nothing is stored", worker.log)
        proxy.delay(3600)
        line.send(file.deltas(5, first=50))
        time.sleep(2)
        began = time.monotonic()
        assert worker.end() == 75
        assert time.monotonic() - began < 13  # 10 s, and what a busy machine takes to end a process
    finally:
        proxy.close()
    line.worker()
    line.shows(file)


def test_a_broker_that_is_away_is_waited_for_and_said(line: Line) -> None:
    worker = line.worker(TRAINWIRE_KAFKA_BOOTSTRAP=f"127.0.0.1:{free()}")
    assert "TRAINWIRE_KAFKA_BOOTSTRAP" in worker.says("no broker at")
    status, text = worker.get("/readyz")
    assert status == 503
    assert "no broker" in text
    worker.end()


def test_a_missing_topic_is_created_as_its_contract_says(line: Line) -> None:
    line.topic = f"{line.topic}.made"
    line.environ["TRAINWIRE_KAFKA_TOPIC"] = line.topic
    file = Csv(rows(30))
    worker = line.worker(TRAINWIRE_WORKER_TOPIC_PARTITIONS="2")
    worker.says("created topic")
    line.send(file.deltas(5))
    line.shows(file)


@pytest.mark.parametrize(
    ("environ", "said"),
    [
        ({"TRAINWIRE_WORKER_BATCH_WINDW": "1"}, "did you mean TRAINWIRE_WORKER_BATCH_WINDOW"),
        ({"TRAINWIRE_WORKER_BATCH_WINDOW": "soon"}, "TRAINWIRE_WORKER_BATCH_WINDOW"),
        ({"TRAINWIRE_WORKER_HEALTH": "9000"}, "host:port"),
        ({"TRAINWIRE_CLICKHOUSE_DATABASE": "nowhere"}, "trainwirectl migrate up"),
        ({"TRAINWIRE_CLICKHOUSE_PASSWORD": "wrong"}, "TRAINWIRE_CLICKHOUSE_PASSWORD"),
        ({"TRAINWIRE_KAFKA_SECURITY_PROTOCOL": "SSL", "TRAINWIRE_KAFKA_SSL_CA": "/nowhere.pem"}, "TRAINWIRE_KAFKA_SSL_CA"),
    ],
)
def test_wrong_settings_end_it_with_a_sentence(line: Line, environ: dict[str, str], said: str) -> None:
    worker = line.worker(**environ)
    assert worker.process.wait(60) == 2
    assert said in worker.log.read_text()
    assert "Traceback" not in worker.log.read_text()


def test_help_names_every_setting() -> None:
    shown = subprocess.run([PROGRAM, "--help"], capture_output=True, text=True, check=True).stdout
    assert "TRAINWIRE_WORKER_GROUP" in shown
    assert "TRAINWIRE_CLICKHOUSE_URL" in shown


def test_dead_letters_are_listed_shown_and_sent_again(line: Line) -> None:
    file, events = Csv(rows(30)), list[Event]()
    events += file.deltas(10)
    key, value, headers = encode(events[1])
    line.send(events[:1])
    line.producer.send(line.topic, value=value, key=b"another", headers=headers)  # mended below, as a person would
    line.producer.send(line.topic, value=b"\xff\x00junk", key=key)
    line.send(events[2:])
    worker = line.worker()
    worker.says("no-type")
    wait(lambda: line.desk.raw("dead_letters") == 2, 60, "nothing was put aside")
    environ = {name: text for name, text in os.environ.items() if not name.startswith("TRAINWIRE_")} | line.environ
    del environ["TRAINWIRE_WORKER_GROUP"], environ["TRAINWIRE_WORKER_HEALTH"]

    def ctl(*arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run([CTL, *arguments], capture_output=True, text=True, env=environ, timeout=60)

    listed = [row.split("\t") for row in ctl("dead-letters", "list").stdout.splitlines()]
    assert [row[:3] for row in listed] == [[f"{line.topic}/0/1", "wrong-key", "task"], [f"{line.topic}/0/2", "no-type", "task"]]
    shown = ctl("dead-letters", "show", f"{line.topic}/0/2").stdout
    assert "\\xff" in shown
    assert "junk" in shown
    assert "header   ce_type: dev.trainwire.delta.v1\n" in ctl("dead-letters", "show", f"{line.topic}/0/1").stdout
    assert ctl("dead-letters", "show", f"{line.topic}/0/77").returncode == 1
    assert ctl("dead-letters", "replay").returncode == 2
    line.desk.client.command(
        "INSERT INTO dead_letters SELECT * REPLACE ('task' AS key, 'mended' AS reason) FROM dead_letters AS d"
        " WHERE d.reason = 'wrong-key'"
    )
    assert ctl("dead-letters", "replay", "--reason", "mended").stdout == "1 messages sent again\n"
    line.shows(file)
    assert ctl("replay", "task").stdout == f"file: {len(file.content)} of {len(file.content)} bytes extracted again\n"
    assert ctl("replay", "nobody").returncode == 1
    line.shows(file)
