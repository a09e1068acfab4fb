"""Viewers: from click to a TensorBoard that shows curves, by step; what the proxy adds; memory.

Starts a local stack and a gateway of its own, and ends them.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from pathlib import Path

import httpx

from deploy.local.settings import LocalSettings
from deploy.local.stack import Stack
from tests.services.addresses import StoreAddress
from tests.services.fixtures import Store
from tests.services.viewing import Gateway, Tasks, migrate

POINTS, CURVES = 2000, 5


def measure(direct: str, through: str, number: int, rate: float) -> tuple[list[float], list[float]]:
    """Milliseconds of requests by turns, so that what else the machine does falls on both."""
    here: list[float] = []
    there: list[float] = []
    with httpx.Client(timeout=30, trust_env=False) as client:
        for turn in range(number):
            due = time.perf_counter() + 1 / rate
            pair = [(through, here), (direct, there)]
            for url, times in pair if turn % 2 else pair[::-1]:
                began = time.perf_counter()
                client.get(url).raise_for_status()
                times.append((time.perf_counter() - began) * 1000)
            time.sleep(max(due - time.perf_counter(), 0))
    return here, there


def memory_mib(pid: int) -> float:
    line = next(line for line in Path(f"/proc/{pid}/status").read_text().splitlines() if line.startswith("VmRSS"))
    return int(line.split()[1]) / 1024


def main() -> None:
    argparse.ArgumentParser(description=__doc__).parse_args()
    with tempfile.TemporaryDirectory(prefix="bench-") as folder:
        stack = Stack(Path(folder) / "stack", LocalSettings())
        stack.start(tied=True)
        gateway = None
        try:
            address = StoreAddress(
                stack.clickhouse_url, ("writer", stack.password("writer")), ("viewer", stack.password("viewer"))
            )
            store = Store(address.url, address.writer, address.viewer)
            migrate(store, "trainwire")
            tasks = Tasks(store, "trainwire")
            tasks.add("bench", {f"loss/{curve}": [(step, 1 / (1 + step)) for step in range(POINTS)] for curve in range(CURVES)})
            tasks.close()
            gateway = Gateway(store, "trainwire", Path(folder) / "gateway", viewer_requests="1000").start()
            for turn in range(3):
                viewer = gateway.ask("bench", "tensorboard").json()["viewer"]
                viewer = gateway.until("ready", viewer["id"])
                steps = ", ".join(f"{one['step']} at {one['after']:.2f} s" for one in viewer["steps"])
                print(f"start {turn + 1}: {viewer['ready_after']:.2f} s ({steps})")
                if turn < 2:
                    httpx.delete(f"{gateway.url}/api/v1/viewers/{viewer['id']}", timeout=30)
            note = next((Path(folder) / "gateway" / "state" / "viewers").glob("*/process.json"))
            port = httpx.Response(200, content=note.read_bytes()).json()["port"]
            path = f"{gateway.inner(viewer['address'])}data/environment"
            for rate in (20.0, 200.0):
                here, there = measure(f"http://127.0.0.1:{port}{path}", f"{gateway.url}{path}", 400, rate)
                added = statistics.median(a - b for a, b in zip(here, there, strict=True))
                print(
                    f"TensorBoard's API at {rate:.0f}/s asked: direct {statistics.median(there):.2f} ms, through "
                    f"{statistics.median(here):.2f} ms, added {added:.2f} ms at the median"
                )
            assert gateway.process is not None
            print(f"gateway's memory: {memory_mib(gateway.process.pid):.0f} MiB")
        finally:
            if gateway is not None:
                gateway.end()
            stack.remove()


if __name__ == "__main__":
    main()
