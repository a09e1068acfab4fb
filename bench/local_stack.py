"""What the local stack takes and gives: time to ready, memory, and small queries a second from one clickhouse-connect client."""

from __future__ import annotations

import argparse
import tempfile
import time
from pathlib import Path

from deploy.local.stack import Service, Stack
from runtime.settings import Secret, StoreSettings
from runtime.store import connect

QUERIES = 1000
ROWS = 20_000_000  # of 8 to 9 bytes each as text: 169 MB, far more than the front may hold


def memory_mb(service: Service) -> int:
    assert service.process is not None
    status = Path(f"/proc/{service.process.pid}/status").read_text()
    return int(next(line.split()[1] for line in status.splitlines() if line.startswith("VmRSS"))) // 1024


def main() -> None:
    argparse.ArgumentParser(description=__doc__).parse_args()
    with tempfile.TemporaryDirectory() as folder:
        stack = Stack(Path(folder) / "stack")
        begun = time.perf_counter()
        stack.start(tied=True)
        try:
            print(f"ready after {time.perf_counter() - begun:.1f} s")
            settings = StoreSettings(url=stack.clickhouse_url, password=Secret(stack.password("writer")), database="default")
            with connect(settings) as client:
                client.command("CREATE TABLE t (id UInt32, name String) ENGINE = MergeTree ORDER BY id")
                client.insert("t", [[i, f"name {i}"] for i in range(10_000)], column_names=["id", "name"])
                for _ in range(50):
                    client.query("SELECT 1")
                begun = time.perf_counter()
                for i in range(QUERIES):
                    assert client.query("SELECT name FROM t WHERE id = {i:UInt32}", parameters={"i": i}).result_rows == [
                        (f"name {i}",)
                    ]
                print(f"{QUERIES / (time.perf_counter() - begun):.0f} small queries/s from one client")
                before = memory_mb(stack.store)
                with client.raw_stream(f"SELECT number FROM numbers({ROWS}) FORMAT TSV") as stream:
                    begun, size, most = time.perf_counter(), 0, before
                    while piece := stream.read(1 << 20):
                        size += len(piece)
                        most = max(most, memory_mb(stack.store))
                speed = size / 1e6 / (time.perf_counter() - begun)
                print(f"streamed {size / 1e6:.0f} MB at {speed:.0f} MB/s; the front grew by {most - before} MB")
            print(f"memory: broker {memory_mb(stack.broker)} MB, ClickHouse {memory_mb(stack.store)} MB")
        finally:
            stack.stop()


if __name__ == "__main__":
    main()
