"""Memory of a worker whose store is away, with more waiting in the topic than it may hold."""

from __future__ import annotations

import gc
import time
import zlib
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from clickhouse_connect.driver.insert import InsertContext

from schemas.events import Delta, FileRef, encode
from tests.chaos.proxy import Proxy
from tests.integration.test_worker_process import Line, line, wait
from tests.integration.worker_support import Csv, Desk, desk, rows, still

__all__ = ["desk", "line", "still"]
pytestmark = pytest.mark.services

LIMIT = 500  # MiB: what the project promises of a worker


def memory(pid: int, name: str) -> int:
    status = Path(f"/proc/{pid}/status").read_text()
    return next(int(text.split()[1]) // 1024 for text in status.splitlines() if text.startswith(name))


def test_a_backlog_that_does_not_fit_into_memory_waits_in_the_topic(line: Line) -> None:
    small = Csv(rows(5))
    value = (b"x" * 1023 + b"\n") * 900
    large = Delta(FileRef("task", "large", "/large"), 0, len(value), "A", 0, zlib.crc32(value), 0, value)
    key, value, headers = encode(large)
    proxy = Proxy(urlsplit(line.desk.settings.url).port or 0)
    try:
        worker = line.worker(TRAINWIRE_CLICKHOUSE_URL=f"http://127.0.0.1:{proxy.port}")
        line.send(small.deltas(9))
        wait(lambda: len(line.desk.lines()) == 6, 60, "nothing is stored", worker.log)
        proxy.cut()
        for _ in range(700):  # 630 MB in fewer messages than Faust's own buffer takes
            line.producer.send(line.topic, value=value, key=key, headers=headers)
        line.producer.flush()
        before, growing, deadline = 0, True, time.monotonic() + 120
        while growing and time.monotonic() < deadline:
            time.sleep(4)
            now = memory(worker.process.pid, "VmRSS")
            growing, before = now > before + 2, now
        assert memory(worker.process.pid, "VmHWM") < LIMIT
        assert worker.process.poll() is None
        assert worker.get("/readyz")[0] == 503
    finally:
        proxy.close()


def test_what_was_inserted_is_free_at_once(desk: Desk) -> None:
    worker, file = desk.worker(), Csv(rows(30))
    gc.collect()
    gc.disable()
    try:
        worker.take(*desk.messages(file.deltas(10)))
        kept = [each for each in gc.get_objects() if isinstance(each, InsertContext) and each.__dict__]
    finally:
        gc.enable()
    assert not kept
    assert desk.shows(file)
