"""The local stack: a broker and the ClickHouse engine on this machine, in one data folder, on 127.0.0.1.

    stack = Stack(Path("data"))
    stack.start(tied=True)     # they end with this process, however it ends
    os.environ | stack.environ()
    stack.broker.kill(); stack.broker.start()   # faults: same port, same data
    stack.stop()

The data folder: `broker/` and `clickhouse/` (data), `logs/`, `state.json` (ports, processes), `credentials.json` (0600).
"""

from __future__ import annotations

import base64
import contextlib
import errno
import fcntl
import json
import os
import secrets
import shutil
import signal
import socket
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from deploy.local import broker, jars, process
from deploy.local.settings import LocalSettings
from runtime.errors import PermanentError, TemporaryError

ROOM = 512 << 20  # bytes free that a start asks for: below that the broker's and the engine's first segments do not fit
PATIENCE = 15.0  # seconds from TERM to KILL; a broker with data takes up to 5 to close its segments
READY = 60.0  # seconds to become ready: 5 to 8 on an idle machine; a busy one gets its time


def _silent(_: str) -> None:
    """Progress that nobody asked for."""


class Service:
    """One program of the stack, started, stopped and hurt on its own; port and data stay."""

    def __init__(self, stack: Stack, name: str, port: int) -> None:
        self._stack, self.name, self.port = stack, name, port
        self.log = stack.data / "logs" / f"{name}.log"
        self.output = stack.data / "logs" / f"{name}.out"

    @property
    def process(self) -> process.Identity | None:
        """The process that was started last, alive or not."""
        return self._stack.recorded(self.name)

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


class Stack:
    """A data folder and what runs in it. Several processes may hold one (`up` here, `down` there)."""

    def __init__(
        self, data: Path, settings: LocalSettings | None = None, broker_options: broker.BrokerOptions | None = None
    ) -> None:
        self.data = data.absolute()
        self.settings = settings or LocalSettings()
        self.broker_options = broker_options or broker.BrokerOptions()
        self._tied = False
        state = self._read_state()
        ports = state.get("ports", {})
        self._controller_port = int(ports.get("controller", 0))
        self.broker = Service(self, "broker", self.settings.kafka_port or int(ports.get("broker", 0)))
        self.store = Service(self, "clickhouse", self.settings.clickhouse_port or int(ports.get("clickhouse", 0)))
        self.services = (self.broker, self.store)

    # What others need to know

    @property
    def bootstrap(self) -> str:
        return f"127.0.0.1:{self.broker.port}"

    @property
    def clickhouse_url(self) -> str:
        return f"http://127.0.0.1:{self.store.port}"

    def password(self, user: str) -> str:
        """Of `writer` or `viewer`. Raises `PermanentError` before the first start."""
        try:
            return str(json.loads(self._credentials.read_text())[user])
        except FileNotFoundError:
            raise PermanentError(f"{self.data} holds no local stack yet: start it with `trainwirectl up`") from None

    def environ(self, user: str = "writer") -> dict[str, str]:
        """Settings for any program of the project, and for the tests."""
        return {
            "TRAINWIRE_KAFKA_BOOTSTRAP": self.bootstrap,
            "TRAINWIRE_CLICKHOUSE_URL": self.clickhouse_url,
            "TRAINWIRE_CLICKHOUSE_USER": user,
            "TRAINWIRE_CLICKHOUSE_PASSWORD": self.password(user),
        }

    # Life

    def start(self, *, tied: bool, progress: Callable[[str], None] = _silent) -> None:
        """Start what does not run, and return when all is ready.

        `tied`: the kernel ends the services with this process. Raises `PermanentError` (a port in use, no disk space, no
        Java) or `TemporaryError` (not ready in time); then nothing that this call started is left.
        """
        with self._locked():
            self._tied = tied
            try:
                self._prepare(progress)
            except OSError as error:
                raise (
                    _no_room(self.data)
                    if error.errno == errno.ENOSPC
                    else PermanentError(f"cannot use {self.data} as data folder: {error.strerror} ({error.filename})")
                ) from error
            progress("starting the broker and ClickHouse")
            self._launch_locked(list(self.services))

    def launch(self, services: list[Service]) -> None:
        with self._locked():
            self._launch_locked(services)

    def stop(self) -> None:
        """End all services: TERM, then KILL. The data stays."""
        known = [service.process for service in self.services]
        for identity in known:  # both get their TERM before either is waited for
            if identity:
                identity.signal(signal.SIGTERM)
        for identity in known:
            if identity:
                identity.end(PATIENCE)
        if (self.data / "state.json").exists():
            self._write_state({})

    def remove(self) -> None:
        """Stop, and delete the data folder."""
        self.stop()
        shutil.rmtree(self.data, ignore_errors=True)

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

    def recorded(self, name: str) -> process.Identity | None:
        known = self._read_state().get("processes", {}).get(name)
        return process.Identity(**known) if known else None

    # Inside

    def _prepare(self, progress: Callable[[str], None]) -> None:
        for folder in ("logs", "clickhouse"):
            (self.data / folder).mkdir(parents=True, exist_ok=True)
        ignore = self.data / ".gitignore"
        if not ignore.exists():
            ignore.write_text("*\n")
        if shutil.disk_usage(self.data).free < ROOM:
            raise _no_room(self.data)
        self._make_credentials()
        self._java = jars.java(self.settings.java)
        self._classpath = jars.classpath(self.settings.cache_folder, progress)
        for service, fixed in ((self.broker, self.settings.kafka_port), (self.store, self.settings.clickhouse_port)):
            if not service.running:
                service.port = _port(service, fixed)
        if not self.broker.running:
            self._controller_port = free_port()
            progress("preparing the broker's storage")
            self._broker().prepare(self.broker.port, self._controller_port, self.broker_options)

    def _launch_locked(self, services: list[Service]) -> None:
        begun: list[Service] = []
        try:
            for service in services:
                if not service.running:
                    begun.append(service)
                    self._spawn(service)
            deadline = time.monotonic() + READY
            waiting = list(services)
            while waiting:
                waiting = [service for service in waiting if not service.healthy]
                for service in waiting:
                    if not service.running:
                        raise TemporaryError(f"{service.name} ended while it started: {_last_words(service)}")
                if waiting and time.monotonic() > deadline:
                    names = " and ".join(service.name for service in waiting)
                    raise TemporaryError(f"{names} not ready after {READY:.0f} s; see {self.data / 'logs'}")
                if waiting:
                    time.sleep(0.05)
        except BaseException:  # Ctrl-C too: what this call began must not stay
            for service in begun:
                service.kill()
            raise

    def _spawn(self, service: Service) -> None:
        if service is self.broker:
            command, environ = self._broker().command(self.broker_options), broker.environment()
        else:
            command = [
                sys.executable,
                "-m",
                "deploy.local.front",
                str(self.data / "clickhouse"),
                str(service.port),
                str(self._credentials),
            ]
            environ = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}
        identity = process.spawn(command, output=service.output, environ=environ, tied=self._tied)
        state = self._read_state()
        processes = {
            **state.get("processes", {}),
            service.name: {"pid": identity.pid, "started": identity.started, "boot": identity.boot},
        }
        self._write_state(processes)

    def _broker(self) -> broker.Broker:
        return broker.Broker(self.data / "broker", self.broker.log, self._classpath, self._java, self.settings.heap_mb)

    @property
    def _credentials(self) -> Path:
        return self.data / "credentials.json"

    def _make_credentials(self) -> None:
        known: dict[str, str] = json.loads(self._credentials.read_text()) if self._credentials.exists() else {}
        for user, given in (("writer", self.settings.writer_password), ("viewer", self.settings.viewer_password)):
            known[user] = given.value or known.get(user) or secrets.token_urlsafe(18)
        _write(self._credentials, known)

    def _read_state(self) -> dict[str, Any]:
        try:
            state = json.loads((self.data / "state.json").read_text())
        except (FileNotFoundError, NotADirectoryError):
            return {}
        except json.JSONDecodeError:
            raise PermanentError(f"{self.data / 'state.json'} is damaged: remove it when nothing of the stack runs") from None
        return state if isinstance(state, dict) else {}

    def _write_state(self, processes: dict[str, Any]) -> None:
        ports = {"broker": self.broker.port, "clickhouse": self.store.port, "controller": self._controller_port}
        _write(self.data / "state.json", {"ports": ports, "processes": processes})

    @contextlib.contextmanager
    def _locked(self) -> Iterator[None]:
        """One start at a time in a data folder."""
        try:
            self.data.mkdir(parents=True, exist_ok=True)
            handle = (self.data / "lock").open("w")
        except OSError as error:
            raise PermanentError(f"cannot use {self.data} as data folder: {error.strerror}") from error
        with handle:
            fcntl.flock(handle, fcntl.LOCK_EX)
            yield


def _write(path: Path, content: dict[str, Any]) -> None:
    """Whole or not at all, and for this user only."""
    temporary = path.with_name(f"{path.name}.{os.getpid()}")
    with os.fdopen(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as handle:
        json.dump(content, handle)
    temporary.replace(path)


def _no_room(folder: Path) -> PermanentError:
    return PermanentError(f"{folder} has less than {ROOM >> 20} MiB free: make room, or choose another data folder")


def _last_words(service: Service) -> str:
    for file in (service.output, service.log):
        with contextlib.suppress(FileNotFoundError):
            lines = [line for line in file.read_text(errors="replace").splitlines() if line.strip()]
            if lines:
                return f"{lines[-1][:300]} (more in {file})"
    return "it said nothing"


def _port(service: Service, fixed: int) -> int:
    """The port to start on: the fixed one, the one it had before if still free, or a free one."""
    wanted = fixed or service.port
    if not wanted:
        return free_port()
    if _is_free(wanted):
        return wanted
    if fixed:
        raise PermanentError(
            f"port {fixed} of 127.0.0.1 is in use: free it, or give {service.name} another one (0 for a free one)"
        )
    return free_port()


def _is_free(port: int) -> bool:
    with socket.socket() as probe:
        probe.setsockopt(
            socket.SOL_SOCKET, socket.SO_REUSEADDR, 1
        )  # as the services do: connections that closed lately do not count
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
        return True


def free_port() -> int:
    """A port of 127.0.0.1 that nobody listens on at this moment."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
