"""Who looked, when, and what it cost: the gateway's own records, read by the worker's extraction, through the shipped views."""

from __future__ import annotations

import time
import uuid
from pathlib import Path
from typing import Any

import httpx
import pytest

from schemas.columns import TABLES
from stream_jobs.extract.records import read_record
from stream_jobs.extract.rows import Events, Points
from tests.services.fixtures import Store
from tests.services.viewing import REVISION, T0, Gateway, Tasks, migrate, stub_tools

pytestmark = [pytest.mark.services, pytest.mark.timeout(600)]


def store_events(store: Store, database: str, folder: Path) -> int:
    """What shipper and worker do with the gateway's log files; returns the number of events."""
    stored = 0
    with store.client(database=database) as client:
        for file in (folder / "events").rglob("*.jsonl"):
            rows, offset = [], 0
            for line in file.read_text().splitlines(keepends=True):
                events = Events()
                read_record(line.rstrip("\n"), 0, Points(), events, 300, 1000)
                for kind, at, message, fields in zip(events.kind, events.time, events.message, events.fields, strict=True):
                    rows.append(["trainwire-gateway", kind, file.name, offset, REVISION, at, True, message, fields, T0])
                offset += len(line.encode())
            names = ["task_id", "kind", "file_id", "offset", "revision", "time", "time_known", "message", "fields", "arrived"]
            settings = {"insert_deduplication_token": uuid.uuid4().hex}
            types = [TABLES["task_events"][name] for name in names]
            client.insert("task_events", rows, column_names=names, column_type_names=types, settings=settings)
            names = ["task_id", "file_id", "start", "end", "revision", "first_arrived"]
            types = [TABLES["file_ranges"][name] for name in names]
            row = [["trainwire-gateway", file.name, 0, offset, REVISION, T0]]
            client.insert("file_ranges", row, column_names=names, column_type_names=types, settings=settings)
            stored += len(rows)
    return stored


def test_views_say_who_looked_and_what_it_cost(store: Store, database: str, tmp_path: Path) -> None:
    migrate(store, database)
    tasks = Tasks(store, database)
    tasks.add("run-1", {"loss": [(0, 1.0)]})
    tasks.close()
    with stub_tools(tmp_path / "tools", cpu="0.5", memory_mib="64") as tools:
        gateway = Gateway(store, database, tmp_path / "gateway", tools=str(tools)).start()
    try:
        id = gateway.ask("run-1", "stub").json()["viewer"]["id"]
        gateway.until("ready", id)
        word: dict[str, Any] = {"page": "page-of-ada", "visible": True}
        device = {"User-Agent": "Firefox/140", "X-Trainwire-Method": "page"}
        presence = f"{gateway.url}/view/run-1/stub/presence"
        assert httpx.post(presence, json=word, headers=device, timeout=60).status_code == 204
        time.sleep(2)
        assert httpx.post(presence, json={**word, "closing": True}, headers=device, timeout=60).status_code == 204
        assert httpx.delete(f"{gateway.url}/api/v1/viewers/{id}", timeout=60).status_code == 204
        gateway.kill()  # nothing that was said is lost with it
        gateway.start()
        id = gateway.ask("run-1", "stub").json()["viewer"]["id"]
        gateway.until("ready", id)
        assert httpx.delete(f"{gateway.url}/api/v1/viewers/{id}", timeout=60).status_code == 204
    finally:
        gateway.end()
    recorded = [event["fields"] for event in gateway.events() if event["kind"] == "viewer_released"]
    assert store_events(store, database, gateway.folder / "state") >= 12
    with store.client("viewer", database=database) as client:
        lives = list(client.query("SELECT * FROM viewer_lives ORDER BY created").named_results())
        looks = list(client.query("SELECT * FROM viewer_looks ORDER BY time, what").named_results())
        costs = list(client.query("SELECT * FROM viewer_costs").named_results())
    assert len(lives) == 2
    for life, fields in zip(lives, recorded, strict=True):
        assert (life["viewed_task"], life["tool"], life["reason"]) == ("run-1", "stub", "stopped by anybody")
        assert life["seconds"] == pytest.approx(fields["seconds"])
        assert life["cpu_seconds"] == pytest.approx(fields["seconds"] * 0.5, abs=0.01)
        assert life["memory_mib_seconds"] == pytest.approx(fields["seconds"] * 64, abs=0.1)
        assert (life["ended"] - life["started"]).total_seconds() == pytest.approx(fields["seconds"], abs=0.002)
        assert life["ready_after"] > 0
    assert [(life["opened"], life["people"]) for life in lives] == [(1, 1), (0, 0)]
    assert [(look["what"], look["user"], look["method"]) for look in looks] == [
        ("opened", "anybody", "page"),
        ("left", "anybody", "page"),
    ]
    assert looks[0]["device"] == "127.0.0.1 Firefox/140"
    assert looks[1]["looked_seconds"] == pytest.approx(2, abs=1)
    (cost,) = costs
    assert (cost["user"], cost["viewed_task"], cost["viewers"], cost["unseen"], cost["failed"]) == ("anybody", "run-1", 2, 1, 0)
    assert cost["cpu_seconds"] == pytest.approx(sum(fields["cpu_seconds"] for fields in recorded), abs=0.01)
    assert cost["unseen_seconds"] == pytest.approx(recorded[1]["seconds"])
