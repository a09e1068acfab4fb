"""The read API over real rows: what was seeded is what it tells."""

from __future__ import annotations

import json
import math
import socket
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.gateway import running_gateway
from tests.integration.gateway_support import Seeded, seeded
from tests.seed import insert, now_ms
from tests.services.fixtures import Store

pytestmark = pytest.mark.services
__all__ = ["seeded"]


@pytest.fixture(scope="module")
def trained(seeded: Seeded) -> dict[tuple[int, int], dict[int, float]]:
    """Task `trained`: two ranks, two attempts, the second from step 60 on. Returns the truth: (attempt, rank) → step → loss."""
    truth: dict[tuple[int, int], dict[int, float]] = {}
    began = now_ms() - 1_000_000
    for attempt, first, last in ((1, 0, 80), (2, 60, 120)):
        for rank in (0, 1):
            file = seeded.file("trained", f"trained-{attempt}-{rank}", attempt=attempt, rank=rank, world_size=2,
                               start_id=f"s{attempt}", name="名前 d'arc")  # fmt: skip
            file.event("header", {"owner": "vision", "project": "digits", "framework": "jax"}, at=began + attempt * 100_000)
            file.event("status", {"status": "running"}, at=began + attempt * 100_000)
            values = truth.setdefault((attempt, rank), {})
            for step in range(first, last):
                values[step] = math.nan if step == 30 else math.inf if step == 31 else 1 / (step + 1) + rank
                file.log({"loss": values[step], "lr": 0.1}, step=step, at=began + attempt * 100_000 + step * 100)
            file.event("progress", {"done": str(last), "total": "200"}, at=began + attempt * 100_000 + 20_000)
            file.store()
            file.heartbeat()
    return truth


def test_a_task_in_words(seeded: Seeded, trained: object) -> None:
    found = seeded.get("tasks/trained")
    task = found["task"]
    assert (task["name"], task["owner"], task["status"], task["attempts"], task["ranks"]) == (
        "名前 d'arc",
        "vision",
        "running",
        2,
        2,
    )
    assert (task["progress_done"], task["progress_total"]) == (120, 200)
    assert task["eta_ms"] > task["last_seen_ms"]
    assert (task["project"], task["framework"]) == ("digits", "jax")
    assert [(one["attempt"], one["ranks"]) for one in found["attempts"]] == [(1, 2), (2, 2)]
    assert [(file["attempt"], file["rank"]) for file in found["files"]] == [(1, 0), (1, 1), (2, 0), (2, 1)]


def test_curves_stitched_over_a_restart(seeded: Seeded, trained: dict[tuple[int, int], dict[int, float]]) -> None:
    found = seeded.get("tasks/trained/curves", names="loss")
    for series in found["series"]:
        rank = series["rank"]
        truth = {step: value for step, value in trained[1, rank].items() if step < 60} | trained[2, rank]
        assert dict(zip(series["x"], map(float, series["value"]), strict=True)) == pytest.approx(truth, nan_ok=True)
        assert series["value"][30:32] == ["NaN", "Infinity"]
        assert series["attempts"] == [1] * 60 + [2] * 60
    assert [series["rank"] for series in found["series"]] == [0, 1]


def test_curves_of_each_attempt_by_time(seeded: Seeded, trained: dict[tuple[int, int], dict[int, float]]) -> None:
    found = seeded.get("tasks/trained/curves", names=["loss", "lr"], axis="time", attempts="each", rank=1)
    series = {(one["name"], one["attempt"]): one for one in found["series"]}
    assert set(series) == {("loss", 1), ("loss", 2), ("lr", 1), ("lr", 2)}
    assert series["loss", 2]["step"] == list(range(60, 120))
    assert series["loss", 2]["x"] == sorted(series["loss", 2]["time_ms"])


def test_a_range_of_x_includes_its_ends(seeded: Seeded, trained: object) -> None:
    (series,) = seeded.get("tasks/trained/curves", **{"names": "lr", "from": 50, "to": 70, "rank": 0})["series"]
    assert series["x"] == list(range(50, 71))


def test_newest_values(seeded: Seeded, trained: dict[tuple[int, int], dict[int, float]]) -> None:
    found = {one["name"]: one for one in seeded.get("tasks/trained/metrics")["metrics"]}
    assert set(found) == {"loss", "lr"}
    assert (found["loss"]["value"], found["loss"]["step"]) == (trained[2, 0][119], 119)
    assert found["loss"]["non_finite"] == 4  # two steps of two ranks


def test_a_curve_of_many_points_keeps_what_matters(seeded: Seeded) -> None:
    file = seeded.file("long")
    count = 200_000
    values = [math.sin(i / 1000) for i in range(count)]
    values[77_777], values[140_001], values[150_000], values[160_000] = 99.0, -99.0, math.nan, -math.inf
    common = {
        "task_id": "long",
        "name": "loss",
        "file_id": file.file_id,
        "place": 0,
        "revision": file.revision,
        "source": "record",
    }
    moment = now_ms()
    rows = [common | {"offset": i, "value": v, "step": i, "time": moment, "arrived": moment} for i, v in enumerate(values)]
    insert(seeded.client, "points", rows, seeded.database)
    file.cover(0, count)
    (series,) = seeded.get("tasks/long/curves", names="loss", points=500)["series"]
    assert series["total"] == count
    assert 300 < len(series["x"]) <= 500
    assert (series["x"][0], series["x"][-1]) == (0, count - 1)
    kept = dict(zip(series["x"], series["value"], strict=True))
    assert (kept[77_777], kept[140_001], kept[150_000], kept[160_000]) == (99.0, -99.0, "NaN", "-Infinity")
    assert all(float(value) == pytest.approx(values[x], nan_ok=True) for x, value in kept.items())


def test_points_without_a_step_are_on_the_time_axis(seeded: Seeded) -> None:
    file = seeded.file("stepless")
    file.log({"loss": 1.5}, text="loss=1.5", source="pairs")
    file.store()
    assert seeded.get("tasks/stepless/curves", names="loss")["series"] == []
    (series,) = seeded.get("tasks/stepless/curves", names="loss", axis="time")["series"]
    assert (series["value"], series["step"]) == ([1.5], [None])


def test_whole_numbers_above_2_to_53_stay_exact(seeded: Seeded) -> None:
    file = seeded.file("big")
    file.size = 9_007_199_254_740_993
    file.text("far out")
    file.log({"loss": 1.0}, step=9_007_199_254_740_995)
    file.store()
    (line,) = seeded.get("tasks/big/lines")["lines"]
    assert line["offset"] == "9007199254740993"
    (series,) = seeded.get("tasks/big/curves", names="loss")["series"]
    assert series["x"] == ["9007199254740995"]


def test_lines_of_one_moment_stay_in_file_order_across_pages(seeded: Seeded) -> None:
    """A traceback of 40 lines in one write, between 1,000 others, all in one millisecond, beside another file."""
    moment = now_ms()
    texts = (
        [f"line {i}" for i in range(500)]
        + [f"  File 'train.py', line {i}" for i in range(40)]
        + [f"line {i}" for i in range(500, 1000)]
    )
    for name in ("fast-b", "fast-a"):
        file = seeded.file("fast", name, path=f"/logs/{name}", arrived=moment)
        for place, text in enumerate(texts):
            file.text(text, at=moment - place if place % 7 == 0 else None)  # times of their own, that even run backwards
        file.store()
    forward = _pages(seeded, "fast", limit=77)
    backward = _pages(seeded, "fast", limit=77, newest=True)
    assert forward == backward
    assert [line["text"] for line in forward if line["file_id"] == "fast-a"] == texts
    assert [line["text"] for line in forward if line["file_id"] == "fast-b"] == texts
    assert [line["text"] for line in _pages(seeded, "fast", limit=100, file="fast-b")] == texts


def _pages(seeded: Seeded, task: str, *, newest: bool = False, **parameters: Any) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    page = seeded.get(f"tasks/{task}/lines", newest=newest, **parameters)
    while page["lines"]:
        found = page["lines"] + found if newest else found + page["lines"]
        parameters["before" if newest else "after"] = page["before" if newest else "after"]
        page = seeded.get(f"tasks/{task}/lines", **parameters)
    return found


def test_the_line_of_a_point_and_those_around_it(seeded: Seeded) -> None:
    file = seeded.file("around")
    offsets = [file.text(f"line {i}") for i in range(300)]
    file.store()
    page = seeded.get("tasks/around/lines", around_file=file.file_id, around_offset=offsets[200] + 3, limit=20)
    assert [line["text"] for line in page["lines"]] == [f"line {i}" for i in range(190, 210)]
    assert seeded.api.get(f"/api/v1/tasks/around/lines?around_file={file.file_id}x&around_offset=1").status_code == 404


@pytest.mark.parametrize("text", ["') OR 1=1 --", "100%", "back\\slash", "{z}", "\n", "😀", "$__all"])
def test_typed_text_is_only_text(seeded: Seeded, text: str) -> None:
    file = seeded.file("typed")
    if file.file_id not in {one["file_id"] for one in _files(seeded, "typed")}:
        file.text("loss = 1 back\\slash {z} 100% 😀 $__all")
        file.store()
    found = seeded.get("tasks/typed/lines", search=text)["lines"]
    assert len(found) == (0 if text in ("') OR 1=1 --", "\n") else 1)
    assert seeded.get("tasks", search=text)["tasks"] == []
    assert seeded.get("tasks/typed/curves", names=text)["series"] == []


def _files(seeded: Seeded, task: str) -> list[dict[str, Any]]:
    answer = seeded.api.get(f"/api/v1/tasks/{task}")
    return list(answer.json()["files"]) if answer.status_code == 200 else []


@pytest.mark.parametrize("task", ["d'arc", "a%5Cb", "%2E%2E%2Fetc", "a" * 300, "-a", "x;y", "a%00b", "a%0Ab", "%F0%9F%98%80"])
def test_hostile_task_ids_are_refused(seeded: Seeded, task: str) -> None:
    for path in ("", "/curves?names=loss", "/lines", "/events", "/live", "/completeness", "/latency", "/metrics"):
        answer = seeded.api.get(f"/api/v1/tasks/{task}{path}")
        assert answer.status_code in (400, 404), (path, answer.text)  # 404 where the path itself is another one
        assert answer.headers["content-type"] == "application/problem+json"


def test_an_unknown_task_is_said_so(seeded: Seeded) -> None:
    for path in ("", "/curves?names=loss", "/lines", "/events", "/live", "/completeness", "/latency", "/metrics"):
        answer = seeded.api.get(f"/api/v1/tasks/nobody{path}")
        assert answer.status_code == 404
        assert answer.headers["content-type"] == "application/problem+json"
        assert "no task 'nobody'" in answer.json()["detail"]


@pytest.mark.parametrize(
    "query", ["after=nonsense", "after=WzFd", "before=%27", "limit=0", "limit=x", "kind=table", "around_offset=-1"]
)
def test_wrong_parameters_are_told(seeded: Seeded, trained: object, query: str) -> None:
    answer = seeded.api.get(f"/api/v1/tasks/trained/lines?{query}")
    assert answer.status_code == 400, answer.text
    assert answer.json()["detail"]


def test_the_list_is_newest_first_and_pages_leave_nothing_out(seeded: Seeded) -> None:
    began = now_ms()
    for i in range(7):
        file = seeded.file(f"listed-{i}", arrived=began - (i // 2) * 1000)  # pairs came at one moment
        file.event("header", {"owner": "theo", "project": "lists", "framework": "Chainer"})
        file.event("status", {"status": "failed" if i == 3 else "running"})
        file.store()
    found, page = [], seeded.get("tasks", search="LISTED", limit=2)
    while True:
        found += [task["task_id"] for task in page["tasks"]]
        if page["next"] is None:
            break
        page = seeded.get("tasks", search="LISTED", limit=2, after=page["next"])
    assert found == [f"listed-{i}" for i in range(7)]
    assert [task["task_id"] for task in seeded.get("tasks", search="theo", status="failed")["tasks"]] == ["listed-3"]
    assert len(seeded.get("tasks", search="chainer")["tasks"]) == 7
    assert seeded.get("statuses")["failed"] >= 1


def test_events_newest_first_without_the_quiet_ones(seeded: Seeded) -> None:
    file = seeded.file("eventful")
    moment = now_ms()
    file.event("progress", {"done": "1"}, at=moment)
    for i in range(5):
        file.event("checkpoint", {"path": f"{i}.pt"}, at=moment + i, step=i)
    file.store()
    page = seeded.get("tasks/eventful/events", limit=3)
    rest = seeded.get("tasks/eventful/events", limit=3, after=page["next"])
    assert [event["step"] for event in page["events"] + rest["events"]] == [4, 3, 2, 1, 0]
    assert rest["next"] is None
    assert len(seeded.get("tasks/eventful/events", quiet=True)["events"]) == 6


def test_completeness_and_latency(seeded: Seeded) -> None:
    file = seeded.file("holey")
    file.text("x" * 99)
    file.text("y" * 99)
    file.text("z" * 99)
    file.store(covered=False)
    file.cover(0, 100)
    file.cover(200, 300)
    file.heartbeat(size=320)
    whole = seeded.get("tasks/holey/completeness")
    assert whole["verdict"] == whole["lacks"][0]
    assert "shipped and are not stored" in whole["verdict"] or "shipper of rank 0" in whole["verdict"]
    assert whole["pulse"] == "running"
    (found,) = whole["files"]
    assert found["missing"] == [[100, 200], [300, 320]]
    assert (found["written"], found["stored"]) == (320, 200)
    assert [line["text"][0] for line in seeded.get("tasks/holey/lines")["lines"]] == ["x", "z"]
    assert seeded.get("tasks/holey/latency")["batches"] == 0
    whole = seeded.file("whole")
    whole.text("x")
    whole.store()
    assert seeded.get("tasks/whole/latency")["written_to_stored_ms"] == {"p50": 180, "p99": 180}


def test_rows_without_a_confirmed_range_do_not_exist(seeded: Seeded) -> None:
    file = seeded.file("orphan")
    file.log({"loss": 1.0}, step=1)
    file.store(covered=False)
    assert seeded.api.get("/api/v1/tasks/orphan").status_code == 404


def test_headers_bind_the_browser_and_foreign_names_are_refused(seeded: Seeded) -> None:
    answer = seeded.api.get("/api/v1/tasks")
    assert "frame-ancestors 'self'" in answer.headers["content-security-policy"]
    assert "unsafe" not in answer.headers["content-security-policy"]
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert "access-control-allow-origin" not in seeded.api.get("/api/v1/tasks", headers={"Origin": "http://evil.example"}).headers
    assert seeded.api.get("/api/v1/tasks", headers={"Host": "evil.example"}).status_code == 421
    assert seeded.api.get("/healthz", headers={"Host": "10.1.2.3"}).status_code == 200
    assert seeded.api.post("/api/v1/tasks", headers={"Origin": "http://evil.example"}).status_code == 403


def test_the_document_describes_every_route(seeded: Seeded) -> None:
    document = seeded.api.get("/api/v1/openapi.json").json()
    paths = {
        "",
        "/{task_id}",
        *(f"/{{task_id}}/{part}" for part in ("metrics", "curves", "lines", "events", "completeness", "latency", "live")),
    }
    assert {f"/api/v1/tasks{path}" for path in paths} <= set(document["paths"])


def test_health_and_metrics(seeded: Seeded) -> None:
    assert seeded.api.get("/healthz").text == "ok\n"
    assert seeded.api.get("/readyz").text == "ok\n"
    assert 'trainwire_gateway_requests_total{route="/readyz",status="200"}' in seeded.api.get("/metrics").text


def test_under_a_prefix_that_the_proxy_cuts_off_or_leaves(store: Store, seeded: Seeded, tmp_path: Path) -> None:
    environ = {
        **store.environ("viewer"),
        "TRAINWIRE_CLICKHOUSE_DATABASE": seeded.database,
        "TRAINWIRE_GATEWAY_BASE_PATH": "/ml/wire",
    }
    with running_gateway(environ, tmp_path / "log") as address, httpx.Client(base_url=address.removesuffix("/ml/wire")) as api:
        for path in ("/api/v1/tasks", "/ml/wire/api/v1/tasks"):
            assert api.get(path, timeout=60).status_code == 200
        assert api.get("/ml/wire/").headers["location"] == "/ml/wire/tasks"
        assert '<base href="/ml/wire/">' in api.get("/ml/wire/tasks/some-task").text


def test_a_store_that_is_away_is_told_with_what_to_do(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    environ = {"TRAINWIRE_CLICKHOUSE_URL": f"http://127.0.0.1:{port}"}
    with running_gateway(environ, tmp_path / "log") as address, httpx.Client(base_url=address, timeout=60) as api:
        answer = api.get("/api/v1/tasks")
        assert answer.status_code == 503
        assert "trainwirectl up" in answer.json()["detail"]
        assert answer.headers["retry-after"]
        assert api.get("/healthz").status_code == 200
        assert api.get("/readyz").status_code == 503


def test_a_store_that_hangs_holds_up_nobody_else(tmp_path: Path) -> None:
    """More requests than there are threads, to a store that takes connections and never answers."""
    with socket.create_server(("127.0.0.1", 0), backlog=64) as silent:
        environ = {
            "TRAINWIRE_CLICKHOUSE_URL": f"http://127.0.0.1:{silent.getsockname()[1]}",
            "TRAINWIRE_GATEWAY_QUERY_THREADS": "2",
            "TRAINWIRE_GATEWAY_QUERY_SECONDS": "1",
        }
        with running_gateway(environ, tmp_path / "log") as address, httpx.Client(base_url=address, timeout=60) as api:
            answers: list[int] = []
            threads = [threading.Thread(target=lambda: answers.append(api.get("/api/v1/tasks").status_code)) for _ in range(5)]
            for thread in threads:
                thread.start()
            assert api.get("/healthz").status_code == 200
            assert not answers  # they still wait for the store
            for thread in threads:
                thread.join()
            assert answers == [503] * 5


def test_a_port_in_use_ends_with_a_sentence() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        environ = {"TRAINWIRE_GATEWAY_PORT": str(taken.getsockname()[1])}
        ended = subprocess.run([sys.executable, "-m", "gateway"], env=environ, capture_output=True, text=True, timeout=60)
    assert ended.returncode == 2
    assert "choose another TRAINWIRE_GATEWAY_PORT" in json.loads(ended.stderr)["message"]
