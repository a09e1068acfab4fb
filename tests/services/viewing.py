"""What tests of viewers share: tasks as rows in the store, a gateway as a program, and tools that start in a moment."""

from __future__ import annotations

import contextlib
import json
import os
import socket
import subprocess
import sys
import time
import uuid
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import httpx
import pytest

from schemas.columns import TABLES
from schemas.migrations import Layout
from schemas.migrations import Store as Migrations
from tests.services.fixtures import Store

REVISION = 1 << 32
T0 = 1_796_000_000_000  # ms

# A tool of a tenth of a second: says its path, its environment and headers; streams; redirects; sets cookies; stays small.
STUB = Path(__file__).with_name("stub_tool.py")


def migrate(store: Store, database: str) -> None:
    with store.client() as admin:
        list(Migrations(Layout(database), admin.command, lambda sql: admin.query(sql).result_rows).up())


class Tasks:
    """Writes tasks as the worker does: rows, then the range that shows them."""

    def __init__(self, store: Store, database: str) -> None:
        self._client = store.client(database=database)
        self._ends: dict[tuple[str, str], int] = {}

    def close(self) -> None:
        self._client.close()

    def add(
        self,
        task_id: str,
        curves: Mapping[str, Sequence[tuple[int | None, float]]],
        *,
        rank: int = 0,
        attempt: int = 1,
        owner: str = "",
        project: str = "",
        params: Mapping[str, str] | None = None,
        revision: int = REVISION,
        file_id: str = "",
    ) -> None:
        """Append points to a task's file of this rank and attempt: one line a point."""
        file = file_id or f"f{attempt}.{rank}"
        offset = start = self._ends.get((task_id, file), 0)
        if start == 0 and (owner or project):
            self._insert(
                "task_events",
                [dict(task_id=task_id, kind="header", file_id=file, offset=0, revision=revision, time=T0, rank=rank,
                      fields={"owner": owner, "project": project}, arrived=T0)],
            )  # fmt: skip
        if params:
            about = dict(task_id=task_id, kind="params", file_id=file, offset=start, revision=revision, time=T0, rank=rank)
            self._insert("task_events", [about | {"fields": dict(params), "arrived": T0}])
        rows: list[dict[str, Any]] = []
        for name, points in curves.items():
            for step, value in points:
                rows.append(
                    dict(task_id=task_id, name=name, file_id=file, offset=offset, revision=revision, value=value, step=step,
                         time=T0 + attempt * 1_000_000 + len(rows) * 1000, rank=rank, source="record", arrived=T0)
                )  # fmt: skip
                offset += 10
        self._insert("points", rows)
        self._insert(
            "log_lines", [dict(task_id=task_id, file_id=file, offset=start, end=start + 10, text="a line", time=T0, arrived=T0)]
        )
        end = max(offset, start + 10)
        self._insert(
            "file_ranges",
            [dict(task_id=task_id, file_id=file, start=0, end=end, revision=revision, path=f"/logs/{file}", rank=rank,
                  start_id=f"s{attempt}", attempt=attempt, lines=max(len(rows), 1), first_arrived=T0 + attempt,
                  last_arrived=T0, last_stored=T0)],
        )  # fmt: skip
        self._ends[task_id, file] = end

    def replay(self, task_id: str, curves: Mapping[str, Sequence[tuple[int | None, float]]], revision: int) -> None:
        """Extract the task's first file anew: the same bytes, other points, under a higher revision."""
        end = self._ends.pop((task_id, "f1.0"))
        self.add(task_id, curves, revision=revision)
        assert self._ends[task_id, "f1.0"] == end, "a replay says something of each line"

    def _insert(self, table: str, rows: list[dict[str, Any]]) -> None:
        if rows:
            names = list(rows[0])
            types = [TABLES[table][name] for name in names]
            settings = {"insert_deduplication_token": uuid.uuid4().hex}
            data = [list(row.values()) for row in rows]
            self._client.insert(table, data, column_names=names, column_type_names=types, settings=settings)


@pytest.fixture
def tasks(store: Store, database: str) -> Iterator[Tasks]:
    """Tasks in a database of the test's own."""
    migrate(store, database)
    found = Tasks(store, database)
    yield found
    found.close()


class Gateway:
    """A gateway as its own program. `folder` outlives it, so that another one goes on there."""

    def __init__(
        self, store: Store, database: str, folder: Path, program: Sequence[str] = ("-m", "gateway"), **settings: str
    ) -> None:
        self.folder = folder
        folder.mkdir(parents=True, exist_ok=True)
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self.url = f"http://127.0.0.1:{self.port}"
        self.base_path = settings.get("base_path", "")
        self._program = program
        self._environment = {
            **{name: value for name, value in os.environ.items() if not name.startswith("TRAINWIRE_")},
            **store.environ("viewer"),
            "TRAINWIRE_CLICKHOUSE_DATABASE": database,
            "TRAINWIRE_GATEWAY_PORT": str(self.port),
            "TRAINWIRE_GATEWAY_FOLDER": str(folder / "state"),
            **{f"TRAINWIRE_GATEWAY_{name.upper()}": value for name, value in settings.items()},
        }
        self.process: subprocess.Popen[bytes] | None = None

    def start(self, wait: bool = True, **more: str) -> Gateway:
        with (self.folder / "gateway.log").open("ab") as log:
            self.process = subprocess.Popen(
                [sys.executable, *self._program], env={**self._environment, **more}, stdout=log, stderr=log
            )
        if wait:
            self.wait()
        return self

    def wait(self) -> None:
        for _ in range(600):
            with contextlib.suppress(httpx.TransportError):
                if httpx.get(f"{self.url}/healthz", timeout=5).status_code == 200:
                    return
            if self.process is not None and self.process.poll() is not None:
                break
            time.sleep(0.1)
        raise AssertionError(self.log())

    def log(self) -> str:
        return (self.folder / "gateway.log").read_text()

    def kill(self) -> None:
        assert self.process is not None
        self.process.kill()
        self.process.wait()

    def stop(self) -> None:
        if self.process is not None and self.process.poll() is None:
            self.process.terminate()
            try:
                self.process.wait(60)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()

    def end(self) -> None:
        """Stop it, and every viewer that it left running."""
        if self.process is not None and self.process.poll() is None:
            with contextlib.suppress(httpx.HTTPError):
                for viewer in httpx.get(f"{self.url}/api/v1/viewers", timeout=60).json().get("viewers", []):
                    httpx.delete(f"{self.url}/api/v1/viewers/{viewer['id']}", timeout=60)
        self.stop()
        for process in self.tools():
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process, 9)

    def tools(self) -> list[int]:
        """Pids of tools (not of their helpers) whose folder is this gateway's, as the system itself tells."""
        mark = str(self.folder / "state" / "viewers")
        found = []
        for one in Path("/proc").iterdir():
            if one.name.isdigit():
                with contextlib.suppress(OSError):
                    environment = (one / "environ").read_bytes()
                    if f"HOME={mark}".encode() in environment and int(
                        (one / "stat").read_text().rpartition(")")[2].split()[2]
                    ) == int(one.name):
                        found.append(int(one.name))
        return found

    def ask(self, task_id: str, tool: str | None = None, **more: Any) -> httpx.Response:
        body = {"task_id": task_id, **({"tool": tool} if tool else {}), **more}
        return httpx.post(f"{self.url}/api/v1/viewers", json=body, timeout=60)

    def inner(self, address: str, **headers: str) -> str:
        """The tool's own address, as the page at `address` is told it: its path, with a slash at its end."""
        url = f"{self.url.removesuffix(self.base_path)}{address}live?page=a-page-that-asks"
        with httpx.stream("GET", url, headers=headers, timeout=60) as answer:
            for line in answer.iter_lines():
                if line.startswith("data:") and (inner := json.loads(line[5:]).get("inner")):
                    return str(inner)
        raise AssertionError(f"{address} is not shown")

    def viewers(self) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = httpx.get(f"{self.url}/api/v1/viewers", timeout=60).json()["viewers"]
        return found

    def until(self, state: str, id: str, seconds: float = 120) -> dict[str, Any]:
        end = time.monotonic() + seconds
        found: dict[str, Any] = {}
        while time.monotonic() < end:
            answer = httpx.get(f"{self.url}/api/v1/viewers/{id}", timeout=60)
            found = answer.json() if answer.status_code == 200 else {"state": "absent"}
            if found["state"] == state:
                return found
            time.sleep(0.1)
        raise AssertionError(f"not {state}: {found}\n{self.log()[-3000:]}")

    def events(self) -> list[dict[str, Any]]:
        """What the gateway recorded, from its log files, in order."""
        found = []
        for file in sorted((self.folder / "state" / "events").rglob("*.jsonl"), key=lambda f: f.stat().st_mtime_ns):
            found += [json.loads(line) for line in file.read_text().splitlines() if line]
        return [record for record in found if record["tw"] == "event"]


@contextlib.contextmanager
def stub_tools(folder: Path, **more: str) -> Iterator[Path]:
    """An operator's folder with the tool `stub`; `more`: further lines of its TOML by field."""
    folder.mkdir(parents=True, exist_ok=True)
    fields = {
        "title": '"Stub"', "kind": '"launched"', "ready": '"/ready"',
        "command": json.dumps(["{python}", str(STUB), "{host}", "{port}", "{prefix}"]), **more,
    }  # fmt: skip
    (folder / "stub.toml").write_text("".join(f"{name} = {value}\n" for name, value in fields.items()))
    yield folder
