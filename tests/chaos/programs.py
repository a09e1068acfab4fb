"""The stack and the programs under test, with a proxy on every road between them, and a supervisor that starts what ends."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

from deploy.local import broker, ports, process
from deploy.local.settings import LocalSettings
from deploy.local.stack import Stack
from tests.chaos.proxy import Proxy

BIN = Path(sys.executable).parent
PATIENCE = 15.0  # s for a program to end after TERM: a worker with its store away ends after 10


class Program:
    """One of our programs, kept running by a supervisor, as any orchestrator does."""

    def __init__(self, name: str, command: list[str], environ: dict[str, str], log: Path) -> None:
        self.name, self._command, self._environ, self.log = name, command, environ, log
        self._lock = threading.Lock()
        self._wanted = False
        self._identity: process.Identity | None = None
        self.ended_by_itself = 0

    @property
    def pid(self) -> int:
        assert self._identity is not None
        return self._identity.pid

    def start(self) -> None:
        with self._lock:
            self._wanted = True
            if self._identity is None or not self._identity.alive():
                self._identity = process.spawn(self._command, output=self.log, environ=self._environ, tied=True)

    def kill(self) -> None:
        """-9, and it stays down until `start`."""
        self._end(signal.SIGKILL)

    def stop(self) -> None:
        """TERM, and it stays down until `start`."""
        self._end(signal.SIGTERM)

    def signal(self, number: int) -> None:
        with self._lock:
            if self._identity is not None:
                self._identity.signal(number)

    def look(self) -> None:
        """Start it again if it ended by itself."""
        with self._lock:
            if self._wanted and self._identity is not None and not self._identity.alive():
                self._identity.end(0)
                self.ended_by_itself += 1
                self._identity = process.spawn(self._command, output=self.log, environ=self._environ, tied=True)

    def _end(self, number: int) -> None:
        with self._lock:
            self._wanted = False
            if self._identity is not None:
                self._identity.signal(number)
                self._identity.end(PATIENCE)


class Stage:
    """Everything that runs. `start` it, hurt it, `close` it."""

    def __init__(self, folder: Path, logs: Path) -> None:
        self.folder, self.logs = folder, logs
        kafka, edge = ports.free_port(), ports.free_port()
        store = ports.free_port()
        self.shipper_link, self.worker_link, self.store_link = Proxy(edge), Proxy(kafka), Proxy(store)
        advertised = f"PLAINTEXT://127.0.0.1:{self.worker_link.port},EDGE://127.0.0.1:{self.shipper_link.port}"
        options = broker.BrokerOptions((broker.Listener("EDGE", "PLAINTEXT", edge),), {"advertised.listeners": advertised})
        self.stack = Stack(folder / "stack", LocalSettings(kafka_port=kafka, clickhouse_port=store), options)
        self._told_to_end = threading.Event()
        self._watcher = threading.Thread(target=self._watch, name="supervisor", daemon=True)

    def start(self) -> None:
        self.stack.start(tied=True)
        subprocess.run(
            [BIN / "trainwirectl", "migrate", "up"],
            env={**os.environ, **self.stack.environ()},
            check=True,
            stdout=subprocess.DEVNULL,
        )
        patterns = ",".join(
            f"{self.logs}/{base}/*/*.{ending}" for base in ("once", "again") for ending in ("log", "csv", "jsonl")
        )
        self.shipper = self._program(
            "shipper",
            "trainwire-shipper",
            TRAINWIRE_KAFKA_BOOTSTRAP=f"127.0.0.1:{self.shipper_link.port}",
            TRAINWIRE_LOGS=patterns,
            TRAINWIRE_TASK_FROM="/(?P<task>chaos-[^/]+)/",
            TRAINWIRE_SHIPPER_HEARTBEAT_SECONDS="2",
        )
        self.workers = [
            self._program(
                f"worker-{number}",
                "trainwire-worker",
                TRAINWIRE_KAFKA_BOOTSTRAP=f"127.0.0.1:{self.worker_link.port}",
                TRAINWIRE_CLICKHOUSE_URL=f"http://127.0.0.1:{self.store_link.port}",
                TRAINWIRE_WORKER_HEALTH="127.0.0.1:0",
                TRAINWIRE_WORKER_TOPIC_PARTITIONS="4",
                TRAINWIRE_WORKER_COUNT="2",
            )
            for number in range(3)
        ]
        self.programs = [self.shipper, *self.workers]
        for program in (self.shipper, *self.workers[:2]):  # the third only joins now and then
            program.start()
        self._watcher.start()

    def close(self) -> None:
        self._told_to_end.set()
        if self._watcher.is_alive():
            self._watcher.join()
            for program in self.programs:
                program.kill()
        self.stack.stop()
        for link in (self.shipper_link, self.worker_link, self.store_link):
            link.close()

    def heal(self) -> None:
        """Everything runs and every road is open."""
        for link in (self.shipper_link, self.worker_link, self.store_link):
            link.heal()
        for service in self.stack.services:
            service.resume()
            service.start()
        for program in (self.shipper, *self.workers[:2]):
            program.signal(signal.SIGCONT)
            program.start()

    def _program(self, name: str, command: str, **settings: str) -> Program:
        environ = {k: v for k, v in os.environ.items() if not k.startswith("TRAINWIRE_")} | self.stack.environ() | settings
        return Program(name, [str(BIN / command)], environ, self.stack.folder.logs / f"{name}.log")

    def _watch(self) -> None:
        while not self._told_to_end.wait(1.0):
            for program in self.programs:
                program.look()


def holds_open(pid: int, path: Path) -> bool:
    """Whether the process has this file open now."""
    try:
        for handle in Path(f"/proc/{pid}/fd").iterdir():
            if handle.samefile(path):
                return True
    except OSError:  # it closed one meanwhile, or has ended: asked again
        return False
    return False


def wait_until(condition: Callable[[], bool], seconds: float, every: float = 0.1) -> bool:
    """Whether the condition came true in time."""
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(every)
    return True
