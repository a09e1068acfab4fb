"""A store whose answers are lost, whose connections die while idle, and that refuses for a while: nothing lost, nothing twice."""

from __future__ import annotations

import contextlib
import dataclasses
import selectors
import socket
import threading
import time
from collections.abc import Iterator
from urllib.parse import urlsplit

import pytest

import stream_jobs.pace
from schemas.columns import TABLES
from stream_jobs.pace import Pace
from tests.integration.worker_support import Csv, Desk, Process, desk, rows, still

__all__ = ["desk", "still"]
pytestmark = pytest.mark.services


class Proxy:
    """In front of the store, on a port of its own. `lose`: drop the connection instead of passing on each n-th answer.

    `idle`: seconds after which a quiet connection is closed, as servers do.
    """

    def __init__(self, url: str, lose: int = 0, idle: float = 60.0) -> None:
        parts = urlsplit(url)
        self._target = (parts.hostname or "", parts.port or 0)
        self._lose, self._idle = lose, idle
        self.answers = self.lost = self.closed = 0
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._listener.getsockname()[1]}"
        self._threads: list[threading.Thread] = []
        self._stop = threading.Event()
        self._start(self._accept)

    def _start(self, work, *arguments) -> None:  # type: ignore[no-untyped-def]  # any callable
        thread = threading.Thread(target=work, args=arguments, daemon=True)
        thread.start()
        self._threads.append(thread)

    def _accept(self) -> None:
        self._listener.settimeout(0.2)
        with self._listener:
            while not self._stop.is_set():
                with contextlib.suppress(TimeoutError):
                    client, _ = self._listener.accept()
                    self._start(self._serve, client)

    def _serve(self, client: socket.socket) -> None:
        with client, socket.create_connection(self._target) as server, selectors.DefaultSelector() as selector:
            selector.register(client, selectors.EVENT_READ, server)
            selector.register(server, selectors.EVENT_READ, client)
            asked = False
            while not self._stop.is_set():
                ready = selector.select(self._idle)
                if not ready:
                    self.closed += 1
                    return
                for key, _ in ready:
                    source, target = key.fileobj, key.data
                    assert isinstance(source, socket.socket)
                    with contextlib.suppress(ConnectionError):
                        data = source.recv(65536)
                        if source is server and asked:
                            asked = False
                            self.answers += 1
                            if self._lose and self.answers % self._lose == 0:
                                self.lost += 1
                                return
                        asked = asked or source is client
                        if data:
                            target.sendall(data)
                            continue
                    return

    def close(self) -> None:
        self._stop.set()
        self._threads[0].join()


@contextlib.contextmanager
def behind(desk: Desk, **how: float) -> Iterator[tuple[Process, Proxy]]:
    proxy = Proxy(desk.settings.url, **how)  # type: ignore[arg-type]  # counts and seconds
    settings = desk.settings
    desk.settings = dataclasses.replace(settings, url=proxy.url)
    try:
        yield desk.worker(), proxy
    finally:
        desk.settings = settings
        proxy.close()


@pytest.mark.parametrize("lose", [3, 5])
def test_an_insert_that_was_done_and_whose_answer_was_lost_is_not_done_twice(desk: Desk, lose: int) -> None:
    file = Csv(rows(60))
    with behind(desk, lose=lose) as (worker, proxy):
        for message in desk.messages(file.deltas(20)):
            worker.take(message)
        assert proxy.lost > 3
    assert desk.shows(file)
    assert (desk.raw("points"), desk.raw("log_lines")) == (60, 61), "the insert token did not hold"


def test_b54_connections_that_the_store_closes_while_idle_cost_nothing(desk: Desk) -> None:
    file = Csv(rows(40))
    with behind(desk, idle=0.2) as (worker, proxy):
        for message in desk.messages(file.deltas(4)):
            worker.take(message)
            time.sleep(0.2)
        assert proxy.closed > 0
    assert desk.shows(file)
    assert desk.raw("log_lines") == 41


def test_b26_a_store_that_refuses_for_too_many_parts_is_waited_for(desk: Desk) -> None:
    file = Csv(rows(12))
    worker = desk.worker()
    worker.take(desk.message(file.delta(0, 5)))
    table = "log_lines"
    assert table in TABLES
    desk.client.command(
        f"ALTER TABLE {table} MODIFY SETTING parts_to_throw_insert = 1, parts_to_delay_insert = 1, max_delay_to_insert = 1"
    )
    thread = threading.Thread(target=worker.take, args=(desk.message(file.delta(5, 13)),))
    try:
        thread.start()
        deadline = time.monotonic() + 90
        while worker.metrics.value("worker_store_failures_total", reason="252") < 2 and time.monotonic() < deadline:
            time.sleep(0.1)
        trouble = worker.sink.trouble
    finally:
        desk.client.command(
            f"ALTER TABLE {table} RESET SETTING parts_to_throw_insert, parts_to_delay_insert, max_delay_to_insert"
        )
    thread.join(60)
    assert not thread.is_alive()
    assert trouble is not None
    assert "log_lines" in trouble
    assert worker.sink.trouble is None
    assert desk.shows(file)


def test_many_parts_make_the_worker_gather_longer(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    worker = desk.worker()
    worker.take(*desk.messages(Csv(rows(3)).deltas(9)))
    pace = Pace(worker.sink, 0.1)
    pace.look()
    assert pace.extra == 0
    monkeypatch.setattr(stream_jobs.pace, "PARTS_MANY", 0.5)
    assert pace.extra >= 0.2
    monkeypatch.setattr(stream_jobs.pace, "PARTS_MANY", 0.001)
    assert pace.extra == stream_jobs.pace.MOST
