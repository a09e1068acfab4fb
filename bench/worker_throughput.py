"""A backlog of deltas to rows that can be queried: lines and points a second of one worker, and the ratio to a bare loop.

Starts a broker and a store of its own. The bare loop reads the same records with json and adds up their values, on the
same machine: the ratio can be compared between machines, the rate cannot.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
import zlib
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import clickhouse_connect
from kafka import KafkaAdminClient, KafkaProducer

from deploy.local.settings import LocalSettings
from deploy.local.stack import Stack
from schemas.events import Delta, FileRef, encode
from schemas.framing import DELTA_LIMIT
from schemas.migrations import Layout, Store
from schemas.topic import MESSAGE_LIMIT, TOPIC

FILES = 50
METRICS = ("loss", "accuracy", "lr")


def lines(count: int) -> list[bytes]:
    now = int(time.time() * 1000)
    return [
        json.dumps(
            {"tw": "log", "t": now + i, "s": i, "m": {name: (i + k) / 7 for k, name in enumerate(METRICS)}}, separators=(",", ":")
        ).encode()
        for i in range(count)
    ]


def deltas(file: FileRef, content: list[bytes]) -> Iterator[Delta]:
    start, crc, block = 0, 0, b""
    for line in [*content, b""]:
        if block and (not line or len(block) + len(line) >= DELTA_LIMIT):
            end, crc_end = start + len(block), zlib.crc32(block, crc)
            yield Delta(file, start, end, "reading", crc, crc_end, int(time.time() * 1000), block, source="bench")
            start, crc, block = end, crc_end, b""
        block += line + b"\n"


def bare(content: list[bytes]) -> float:
    """Lines a second of a loop that reads the records and does nothing with them."""
    began, total = time.perf_counter(), 0.0
    for line in content:
        total += sum(json.loads(line)["m"].values())
    return len(content) / (time.perf_counter() - began)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("lines", type=int, nargs="?", default=500_000, help="lines of the backlog (default: %(default)s)")
    content = lines(parser.parse_args().lines // FILES)
    with tempfile.TemporaryDirectory() as folder:
        stack = Stack(Path(folder) / "stack", LocalSettings())
        stack.start(tied=True)
        try:
            run(stack, content, Path(folder))
        finally:
            stack.remove()


def run(stack: Stack, content: list[bytes], folder: Path) -> None:
    url = urlsplit(stack.clickhouse_url)
    client = clickhouse_connect.get_client(
        host=url.hostname, port=url.port, username="writer", password=stack.password("writer"), autogenerate_session_id=False
    )
    list(Store(Layout("trainwire"), client.command, lambda sql: client.query(sql).result_rows).up())
    admin = KafkaAdminClient(bootstrap_servers=stack.bootstrap)
    configs = {"max.message.bytes": str(MESSAGE_LIMIT)}
    admin.create_topics({TOPIC: {"num_partitions": 8, "replication_factor": 1, "configs": configs}})
    producer = KafkaProducer(bootstrap_servers=stack.bootstrap, compression_type="lz4", max_request_size=MESSAGE_LIMIT)
    messages = 0
    for number in range(FILES):
        for delta in deltas(FileRef(f"task-{number}", f"file-{number}", f"/logs/{number}.jsonl"), content):
            key, value, headers = encode(delta)
            producer.send(TOPIC, value=value, key=key, headers=headers)
            messages += 1
    producer.flush()
    environ = os.environ | {
        "TRAINWIRE_KAFKA_BOOTSTRAP": stack.bootstrap,
        "TRAINWIRE_CLICKHOUSE_URL": stack.clickhouse_url,
        "TRAINWIRE_CLICKHOUSE_PASSWORD": stack.password("writer"),
        "TRAINWIRE_WORKER_HEALTH": "127.0.0.1:0",
    }
    log = folder / "worker.log"
    with log.open("wb") as handle:
        worker = subprocess.Popen([sys.executable, "-m", "stream_jobs"], env=environ, stdout=handle, stderr=handle)
    total, first, began = len(content) * FILES, 0.0, time.perf_counter()
    rows = 0
    while rows < total:
        time.sleep(0.1)
        if worker.poll() is not None:
            sys.exit(log.read_text())
        rows = int(client.query("SELECT sum(lines) FROM trainwire.files").result_rows[0][0])
        if rows and not first:
            first = time.perf_counter()
    seconds = time.perf_counter() - began
    status = Path(f"/proc/{worker.pid}/status").read_text()
    peak = next(int(line.split()[1]) // 1024 for line in status.splitlines() if line.startswith("VmHWM"))
    points = int(client.query("SELECT count() FROM trainwire.all_points").result_rows[0][0])
    worker.terminate()
    worker.wait()
    startup = first - began  # of the process: Python, Faust, joining the group; it does not grow with the backlog
    size = sum(map(len, content)) * FILES
    rate = total / (seconds - startup)
    loop = bare(content)
    print(f"{total} lines, {points} points, {size >> 20} MiB in {messages} messages; worker's peak memory {peak} MiB")
    print(f"start to first rows {first - began:.1f} s, to all rows {seconds:.1f} s")
    print(f"{rate:,.0f} lines/s, {rate * len(METRICS):,.0f} points/s; a bare loop {loop:,.0f} lines/s; ratio {rate / loop:.2f}")


if __name__ == "__main__":
    main()
