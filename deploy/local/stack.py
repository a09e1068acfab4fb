"""The local stack: a broker and the ClickHouse engine on this machine, in one data folder, on 127.0.0.1.

    stack = Stack(Path("data"))
    stack.start(tied=True)     # they end with this process, however it ends
    os.environ | stack.environ()
    stack.broker.kill(); stack.broker.start()   # faults: same port, same data
    stack.stop()

The data folder: `broker/` and `clickhouse/` (data), `logs/`, `state.json`, `credentials.json` (deploy/local/folder.py).
"""

from __future__ import annotations

import base64
import contextlib
import errno
import os
import shutil
import signal
import sys
import time
import urllib.request
from collections.abc import Callable
from pathlib import Path

from deploy.local import broker, jars, ports, process
from deploy.local.folder import Folder
from deploy.local.settings import LocalSettings
from runtime.errors import PermanentError, TemporaryError

PATIENCE = 15.0  # seconds from TERM to KILL; a broker with data takes up to 5 to close its segments
READY = 90.0  # seconds to become ready: 3 to 5 on an idle machine; a busy one gets its time


def _silent(_: str) -> None:
    """Progress that nobody asked for."""


class Service:
    """One program of the stack, started, stopped and hurt on its own; port and data stay."""

    def __init__(self, stack: Stack, name: str, port: int) -> None:
        self._stack, self.name, self.port = stack, name, port
        self.log = stack.folder.logs / f"{name}.log"
        self.output = stack.folder.logs / f"{name}.out"

    @property
    def process(self) -> process.Identity | None:
        """The process that was started last, alive or not."""
        return self._stack.folder.process(self.name)

    @property
    def running(self) -> bool:
        known = self.process
        return known is not None and known.alive()

    @property
    def healthy(self) -> bool:
        """Whether it answers a client now."""
        return self._stack.healthy(self)

    def start(self) -> None:
        """Start it and wait until it is ready; nothing happens when it runs."""
        self._stack.launch([self])

    def stop(self) -> None:
        """TERM and wait."""
        if known := self.process:
            known.end(PATIENCE)

    def kill(self) -> None:
        """KILL and wait: what a crash does."""
        if known := self.process:
            known.signal(signal.SIGKILL)
            known.end(PATIENCE)

    def pause(self) -> None:
        """Stop its clock (SIGSTOP): connections stay open and nothing answers."""
        if known := self.process:
            known.signal(signal.SIGSTOP)

    def resume(self) -> None:
        if known := self.process:
            known.signal(signal.SIGCONT)

    def restart(self) -> None:
        self.stop()
        self.start()

    def last_words(self) -> str:
        """The end of what it printed, for a message about its end."""
        for file in (self.output, self.log):
            with contextlib.suppress(FileNotFoundError):
                lines = [line for line in file.read_text(errors="replace").splitlines() if line.strip()]
                if lines:
                    return f"{lines[-1][:300]} (more in {file})"
        return "it said nothing"


class Stack:
    """A data folder and what runs in it. Several processes may hold one (`up` here, `down` there)."""

    def __init__(
        self, data: Path, settings: LocalSettings | None = None, broker_options: broker.BrokerOptions | None = None
    ) -> None:
        self.folder = Folder(data)
        self.settings = settings or LocalSettings()
        self.broker_options = broker_options or broker.BrokerOptions()
        self._tied = False
        before = self.folder.ports()
        self.broker = Service(self, "broker", self.settings.kafka_port or before.get("broker", 0))
        self.store = Service(self, "clickhouse", self.settings.clickhouse_port or before.get("clickhouse", 0))
        self.services = (self.broker, self.store)

    # What others need to know

    @property
    def data(self) -> Path:
        return self.folder.path

    @property
    def bootstrap(self) -> str:
        return f"127.0.0.1:{self.broker.port}"

    @property
    def clickhouse_url(self) -> str:
        return f"http://127.0.0.1:{self.store.port}"

    def password(self, user: str) -> str:
        """Of `writer` or `viewer`. Raises `PermanentError` before the first start."""
        return self.folder.password(user)

    def environ(self, user: str = "writer") -> dict[str, str]:
        """Settings for any program of the project, and for the tests."""
        return {
            "TRAINWIRE_KAFKA_BOOTSTRAP": self.bootstrap,
            "TRAINWIRE_CLICKHOUSE_URL": self.clickhouse_url,
            "TRAINWIRE_CLICKHOUSE_USER": user,
            "TRAINWIRE_CLICKHOUSE_PASSWORD": self.password(user),
        }

    @property
    def stopping(self) -> bool:
        """Whether somebody asked for the end: `down` in another terminal."""
        return self.folder.stopping()

    def healthy(self, service: Service) -> bool:
        if service is self.broker:
            return broker.answers(service.port)
        try:
            with urllib.request.urlopen(f"{self.clickhouse_url}/ping", timeout=1) as answer:  # noqa: S310  # our own http address
                return bool(answer.read() == b"Ok.\n")
        except OSError:  # URLError is one
            return False

    def version(self, service: Service) -> str:
        """What the running service says it is; empty when it does not answer."""
        if not service.running:
            return ""
        if service is self.broker:
            return f"Apache Kafka {jars.KAFKA_VERSION}"
        login = base64.b64encode(f"viewer:{self.password('viewer')}".encode()).decode()
        request = urllib.request.Request(  # noqa: S310  # as above
            f"{self.clickhouse_url}/?query=SELECT%20version()", headers={"Authorization": f"Basic {login}"}
        )
        try:
            with urllib.request.urlopen(request, timeout=2) as answer:  # noqa: S310  # as above
                return f"ClickHouse {answer.read().decode().strip()}"
        except OSError:
            return ""

    # Life

    def start(self, *, tied: bool, progress: Callable[[str], None] = _silent) -> None:
        """Start what does not run, and return when all is ready.

        `tied`: the kernel ends the services with this process. Raises `PermanentError` (a port in use, no disk space, no
        Java) or `TemporaryError` (not ready in time); then nothing that this call started is left.
        """
        with self.folder.locked():
            self._tied = tied
            try:
                self._prepare(progress)
            except OSError as error:
                if error.errno == errno.ENOSPC:
                    raise self.folder.no_room() from error
                raise PermanentError(f"cannot use {self.data} as data folder: {error.strerror} ({error.filename})") from error
            progress("starting the broker and ClickHouse")
            self._launch(list(self.services))

    def launch(self, services: list[Service]) -> None:
        with self.folder.locked():
            self._launch(services)

    def stop(self) -> None:
        """End all services: TERM, then KILL. The data stays."""
        known = {*self._strays(), *(found for service in self.services if (found := service.process) and found.alive())}
        if known:
            self.folder.remember(stopping=True)
        for identity in known:  # both get their TERM before either is waited for
            identity.signal(signal.SIGTERM)
        for identity in known:
            identity.end(PATIENCE)

    def remove(self) -> None:
        """Stop, and delete the data folder."""
        self.stop()
        shutil.rmtree(self.data, ignore_errors=True)

    # Inside

    def _prepare(self, progress: Callable[[str], None]) -> None:
        self.folder.prepare()
        given = {"writer": self.settings.writer_password.value, "viewer": self.settings.viewer_password.value}
        self.folder.make_passwords(given)
        jars.java(self.settings.java)  # said before the download
        jars.classpath(self.settings.cache_folder, progress)
        recorded = [service.process for service in self.services]
        for stray in self._strays():  # of a start that was killed before it could write down what it started
            if stray not in recorded:
                stray.end(PATIENCE)
        for service, fixed in ((self.broker, self.settings.kafka_port), (self.store, self.settings.clickhouse_port)):
            if not service.running:
                service.port = ports.choose(service.name, fixed, service.port)
        self.folder.remember(ports={service.name: service.port for service in self.services})
        if not self.broker.running:
            progress("preparing the broker's storage")
            self._broker().prepare(self.broker.port, ports.free_port(), self.broker_options)

    def _launch(self, services: list[Service]) -> None:
        begun: list[Service] = []
        try:
            for service in services:
                if not service.running:
                    begun.append(service)
                    self._spawn(service)
            deadline = time.monotonic() + READY
            waiting = list(services)
            while waiting := [service for service in waiting if not service.healthy]:
                for service in waiting:
                    if not service.running:
                        raise TemporaryError(f"{service.name} ended while it started: {service.last_words()}")
                if time.monotonic() > deadline:
                    names = " and ".join(service.name for service in waiting)
                    raise TemporaryError(f"{names} not ready after {READY:.0f} s; see {self.folder.logs}")
                time.sleep(0.05)
        except BaseException:  # Ctrl-C too: what this call began must not stay
            for service in begun:
                service.kill()
            raise

    def _spawn(self, service: Service) -> None:
        if service is self.broker:
            command, environ = self._broker().command(self.broker_options), broker.environment()
        else:
            arguments = [str(self._clickhouse), str(service.port), str(self.folder.credentials)]
            command = [sys.executable, "-m", "deploy.local.front", *arguments]
            environ = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}
        identity = process.spawn(command, output=service.output, environ=environ, tied=self._tied)
        self.folder.remember(processes={service.name: identity})

    def _strays(self) -> list[process.Identity]:
        """Our services by what stands in their command line, recorded or not."""
        return process.find("kafka.Kafka", str(self._broker_folder / broker.CONFIG)) + process.find(
            "deploy.local.front", str(self._clickhouse)
        )

    def _broker(self) -> broker.Broker:
        classpath = jars.classpath(self.settings.cache_folder, _silent)
        java = jars.java(self.settings.java)
        return broker.Broker(self._broker_folder, self.broker.log, classpath, java, self.settings.heap_mb)

    @property
    def _broker_folder(self) -> Path:
        return self.data / "broker"

    @property
    def _clickhouse(self) -> Path:
        return self.data / "clickhouse"
