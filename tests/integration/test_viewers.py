"""Viewers on real parts: the gateway as a program, the store, TensorBoard, and a stub where a real tool adds only time."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.services.fixtures import Store
from tests.services.killed_viewers import recorded_lives
from tests.services.viewing import Gateway, Tasks, stub_tools

pytestmark = [pytest.mark.services, pytest.mark.timeout(600)]


@pytest.fixture
def gateway(store: Store, database: str, tasks: Tasks, tmp_path: Path) -> Iterator[Gateway]:
    with stub_tools(tmp_path / "tools") as tools:
        found = Gateway(
            store, database, tmp_path / "gateway", tools=str(tools), viewers="40", viewers_by_user="40", viewer_requests="200"
        )
        yield found.start()
        found.end()


def scalars(gateway: Gateway, viewer: dict[str, Any], run: str, tag: str) -> dict[int, float]:
    """A curve as TensorBoard itself tells it: value by step."""
    answer = httpx.get(
        f"{gateway.url}{viewer['address']}app/data/plugin/scalars/scalars", params={"run": run, "tag": tag}, timeout=60
    )
    return {int(step): value for _, step, value in answer.json()} if answer.status_code == 200 else {}


def until(what: Any, expected: Any, seconds: float = 120) -> None:
    end = time.monotonic() + seconds
    while (found := what()) != expected:
        assert time.monotonic() < end, (found, expected)
        time.sleep(0.2)


def test_a_task_without_event_files_is_shown_by_tensorboard_and_followed(gateway: Gateway, tasks: Tasks) -> None:
    tasks.add(
        "run-1",
        {"loss": [(step, 1 / (1 + step)) for step in range(100)], "acc/top1": [(None, 0.5), (None, 0.75)]},
        params={"lr": "0.1"},
    )
    tasks.add("run-1", {"loss": [(step, 0.25) for step in range(50)]}, rank=1)
    asked = gateway.ask("run-1")
    assert asked.status_code == 202, asked.text
    answer = asked.json()
    assert answer["address"] == "/view/run-1/tensorboard/"
    assert answer["tool"] == "tensorboard"
    assert "default" in answer["why"]
    viewer = gateway.until("ready", answer["viewer"]["id"])
    loss = {step: 1 / (1 + step) for step in range(100)}
    until(lambda: scalars(gateway, viewer, "attempt-1/rank-0", "loss"), pytest.approx(loss, rel=1e-6))
    assert scalars(gateway, viewer, "attempt-1/rank-1", "loss") == {step: 0.25 for step in range(50)}
    assert scalars(gateway, viewer, "attempt-1/rank-0", "acc/top1") == {0: 0.5, 1: 0.75}
    text = httpx.get(f"{gateway.url}{viewer['address']}app/data/plugin/text/tags", timeout=60).json()
    assert text["attempt-1/rank-0"] == ["parameters"]
    # what is new comes while it is open, in old runs and in new ones
    tasks.add("run-1", {"loss": [(step, 2.0) for step in range(100, 120)]})
    tasks.add("run-1", {"loss": [(0, 9.0)]}, attempt=2)
    until(lambda: len(scalars(gateway, viewer, "attempt-1/rank-0", "loss")), 120)
    until(lambda: scalars(gateway, viewer, "attempt-2/rank-0", "loss"), {0: 9.0})
    print([(step["step"], step["after"]) for step in viewer["steps"]], viewer["ready_after"])
    stopped = httpx.delete(f"{gateway.url}/api/v1/viewers/{viewer['id']}", timeout=60)
    assert stopped.status_code == 204
    assert gateway.tools() == []
    assert not any((gateway.folder / "state" / "viewers").glob("v-*"))
    kinds = [event["kind"] for event in gateway.events()]
    assert kinds == ["viewer_requested", "viewer_selected", "viewer_created", "viewer_ready", "viewer_released"]


def test_b31_parallel_first_requests_make_one_viewer_for_each_task(gateway: Gateway, tasks: Tasks) -> None:
    for number in range(20):
        tasks.add(f"task-{number}", {"loss": [(0, 1.0)]})
    wishes = ["task-0"] * 20 + [f"task-{number}" for number in range(1, 20)] * 2
    with ThreadPoolExecutor(20) as pool:
        answers = list(pool.map(lambda task: gateway.ask(task, "stub"), wishes))
    assert {answer.status_code for answer in answers} == {202}
    ids = {answer.json()["viewer"]["id"] for answer in answers}
    assert len(ids) == 20
    for id in ids:
        gateway.until("ready", id)
    assert len(gateway.tools()) == 20
    for answer in answers:
        assert httpx.get(f"{gateway.url}{answer.json()['address']}app/ready", timeout=60).text == "ready"
    assert sum(event["kind"] == "viewer_created" for event in gateway.events()) == 20


@pytest.mark.timeout(600)
def test_b31_killed_at_every_step_nothing_is_left_and_nothing_doubled_after_one_reconcile(tmp_path: Path) -> None:
    with stub_tools(tmp_path / "tools") as tools:
        command = [sys.executable, "-m", "tests.services.killed_viewers", str(tmp_path), str(tools)]
        run = subprocess.run(command, capture_output=True, check=False)
    assert run.returncode == 0, run.stderr.decode()[-3000:]
    whole, *steps = [json.loads(line) for line in run.stdout.splitlines()]
    assert whole["answers"] == "ready"
    assert len(steps) == whole["steps"] >= 20
    for step, said in enumerate(steps, 1):
        after = said["after"]
        assert [state for _, state, _ in after["viewers"]] in ([], ["ready"]), (step, after)
        assert after.get("answers", "ready") == "ready"
        assert said["last"]["viewers"] == said["last"]["left"] == [], (step, said)
        lives, ends = recorded_lives(tmp_path / f"step-{step}")
        assert len(lives) <= 1, (step, lives)
        for life, kinds in lives.items():
            if "viewer_created" in kinds:
                assert len(ends[life]) == 1, (step, "one life has one end, however often it was recorded", ends)
    assert processes_of(tmp_path) == []
    died = sum(said["died"] for said in steps)
    assert died >= len(steps) - 2
    print(f"killed at {died} of {len(steps)} steps")


def processes_of(folder: Path) -> list[int]:
    found = []
    for one in Path("/proc").iterdir():
        if one.name.isdigit():
            with contextlib.suppress(OSError):
                if f"HOME={folder}/".encode() in (one / "environ").read_bytes():
                    found.append(int(one.name))
    return found


def test_b32_several_files_of_one_run_and_of_others_are_followed_without_a_restart(gateway: Gateway, tasks: Tasks) -> None:
    """Training and evaluation write two files of one run by turns, a third joins, another rank and a restart come late."""
    written: dict[tuple[str, str], dict[int, float]] = {}
    late: list[float] = []

    def write(run: str, tag: str, step: int, file: str) -> None:
        attempt, rank = (int(part.rpartition("-")[2]) for part in run.split("/"))
        written.setdefault((run, tag), {})[step] = float(step)
        tasks.add("run-1", {tag: [(step, float(step))]}, rank=rank, attempt=attempt, file_id=file)

    def shown() -> dict[tuple[str, str], dict[int, float]]:
        return {(run, tag): lanes(run, tag) for run, tag in written}

    def lanes(run: str, tag: str) -> dict[int, float]:
        """A run's curve over all the runs that its files were given."""
        runs = (run, *(f"{run}/file-{number}" for number in (2, 3, 4)))
        return {step: value for one in runs for step, value in scalars(gateway, viewer, one, tag).items()}

    first = "attempt-1/rank-0"
    write(first, "loss", 0, "train")
    viewer = gateway.until("ready", gateway.ask("run-1").json()["viewer"]["id"])
    for step in range(1, 13):
        write(first, "loss", step, "train")
        write(first, "loss" if step % 2 else "eval/loss", 100 + step, "eval")  # the older file goes on all the while
        if step >= 6:
            write(first, "eval/loss", 200 + step, "second-eval")
            write("attempt-1/rank-1", "loss", step, "train-1")
            write("attempt-2/rank-0", "loss", step, "restarted")
        if step % 4 == 0:
            began = time.monotonic()
            until(shown, written)
            late.append(time.monotonic() - began)
    print(f"all points shown {', '.join(f'{seconds:.1f}' for seconds in late)} s after the last was written; it reloads each 2 s")


def test_a_newer_extraction_replaces_what_is_shown(gateway: Gateway, tasks: Tasks) -> None:
    tasks.add("run-1", {"loss": [(step, 1.0) for step in range(10)]})
    viewer = gateway.until("ready", gateway.ask("run-1").json()["viewer"]["id"])
    until(lambda: scalars(gateway, viewer, "attempt-1/rank-0", "loss"), {step: 1.0 for step in range(10)})
    tasks.replay("run-1", {"loss": [(step, 2.0) for step in range(10)]}, revision=2 << 32)
    until(lambda: scalars(gateway, viewer, "attempt-1/rank-0", "loss"), {step: 2.0 for step in range(10)})


def test_b72_a_tool_that_takes_too_much_memory_ends_alone_and_says_so(
    store: Store, database: str, tasks: Tasks, tmp_path: Path
) -> None:
    tasks.add("run-1", {"loss": [(0, 1.0)]})
    tasks.add("run-2", {"loss": [(0, 1.0)]})
    with stub_tools(tmp_path / "tools", memory_limit_mib="120") as tools:
        gateway = Gateway(store, database, tmp_path / "gateway", tools=str(tools)).start()
    try:
        ids = [gateway.ask(task, "stub").json()["viewer"]["id"] for task in ("run-1", "run-2")]
        for id in ids:
            gateway.until("ready", id)
        assert httpx.get(f"{gateway.url}/view/run-1/stub/app/eat?mib=300", timeout=60).status_code in (200, 502)
        failed = gateway.until("failed", ids[0])
        assert "choose fewer" in failed["step"]
        time.sleep(3)
        assert len(gateway.tools()) == 1, "not started again by itself, and the other lives"
        assert httpx.get(f"{gateway.url}/view/run-2/stub/app/ready", timeout=60).text == "ready"
        assert gateway.ask("run-1", "stub").status_code == 202
        gateway.until("ready", ids[0])
    finally:
        gateway.end()


def test_b30_a_slow_download_keeps_its_viewer_and_silence_after_it_does_not(
    store: Store, database: str, tasks: Tasks, tmp_path: Path
) -> None:
    """Once for real: with limits of 8 s, a download of 14 s and no page at all."""
    tasks.add("run-1", {"loss": [(0, 1.0)]})
    with stub_tools(tmp_path / "tools") as tools:
        limits = {"viewer_offline_seconds": "8", "viewer_idle_seconds": "8", "viewer_warn_seconds": "2"}
        gateway = Gateway(store, database, tmp_path / "gateway", tools=str(tools), **limits).start()
    try:
        id = gateway.ask("run-1", "stub").json()["viewer"]["id"]
        gateway.until("ready", id)
        answer = httpx.get(f"{gateway.url}/view/run-1/stub/app/stream?bytes=140000&rate=10000", timeout=60)
        assert len(answer.content) == 140_000
        assert gateway.viewers()[0]["state"] == "ready"
        (tool,) = gateway.tools()
        started = process_started(tool)
        end = time.monotonic() + 60
        while gateway.tools():
            assert time.monotonic() < end
            time.sleep(0.02)
        lived = time.time() - started
        until(lambda: [event["kind"] for event in gateway.events()][-1], "viewer_released")
        fields = gateway.events()[-1]["fields"]
        assert fields["seconds"] == pytest.approx(lived, abs=1.0)
        print(f"recorded {fields['seconds']:.2f} s, lived {lived:.2f} s")
    finally:
        gateway.end()


def process_started(pid: int) -> float:
    """Wall clock, from the kernel's own account."""
    ticks = int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[19])
    return time.time() - (time.clock_gettime(time.CLOCK_BOOTTIME) - ticks / os.sysconf("SC_CLK_TCK"))


def test_people_see_and_stop_what_they_may(store: Store, database: str, tasks: Tasks, tmp_path: Path) -> None:
    tasks.add("adas", {"loss": [(0, 1.0)]}, owner="ada")
    tasks.add("public-1", {"loss": [(0, 1.0)]}, owner="ada")
    names: dict[str, list[str]] = {"ada": [], "bob": [], "root": ["ops"]}
    entries = (
        f'[[token]]\nuser = "{user}"\ngroups = {json.dumps(groups)}\n'
        f'sha256 = "{hashlib.sha256(f"{user}-token".encode()).hexdigest()}"\n'
        for user, groups in names.items()
    )
    (tmp_path / "tokens.toml").write_text("".join(entries))
    rules = '[[rule]]\ntasks = "public-*"\nview = ["*"]\n[[rule]]\ntasks = "*"\nview = ["owner"]\n'
    (tmp_path / "rights.toml").write_text('admins = ["ops"]\n' + rules)
    with stub_tools(tmp_path / "tools") as tools:
        gateway = Gateway(
            store, database, tmp_path / "gateway", tools=str(tools), sign_in="tokens",
            tokens=str(tmp_path / "tokens.toml"), rights=str(tmp_path / "rights.toml"),
        ).start()  # fmt: skip
    clients = {
        user: httpx.Client(base_url=gateway.url, headers={"Authorization": f"Bearer {user}-token"}, timeout=60) for user in names
    }
    try:
        assert httpx.post(f"{gateway.url}/api/v1/viewers", json={"task_id": "adas"}, timeout=60).status_code == 401
        wish = {"task_id": "adas", "tool": "stub"}
        refused = clients["bob"].post("/api/v1/viewers", json=wish)
        absent = clients["bob"].post("/api/v1/viewers", json={"task_id": "none-such", "tool": "stub"})
        assert (refused.status_code, absent.status_code) == (404, 404)
        assert refused.json()["detail"].replace("adas", "") == absent.json()["detail"].replace("none-such", ""), (
            "nobody learns that it exists"
        )
        id = clients["ada"].post("/api/v1/viewers", json=wish).json()["viewer"]["id"]
        until(lambda: clients["ada"].get(f"/api/v1/viewers/{id}").json()["state"], "ready")
        assert clients["ada"].get("/view/adas/stub/app/ready").text == "ready"
        for path in ("/view/adas/stub/app/ready", f"/api/v1/viewers/{id}", "/view/adas/stub/live?page=aaaaaaaa"):
            assert clients["bob"].get(path).status_code == 404
            assert httpx.get(gateway.url + path, timeout=60).status_code == 401
        assert clients["bob"].get("/api/v1/viewers").json()["viewers"] == []
        assert clients["root"].get("/api/v1/viewers").json()["viewers"][0]["owner"] == "ada"
        public = clients["ada"].post("/api/v1/viewers", json={"task_id": "public-1", "tool": "stub"}).json()["viewer"]["id"]
        until(lambda: clients["bob"].get(f"/api/v1/viewers/{public}").json()["state"], "ready")
        assert clients["bob"].delete(f"/api/v1/viewers/{public}").status_code == 403, "seeing is not stopping"
        assert clients["root"].delete(f"/api/v1/viewers/{public}").status_code == 204
        # the read API holds to the same rules
        assert httpx.get(f"{gateway.url}/api/v1/tasks", timeout=60).status_code == 401
        listed = {
            user: {task["task_id"] for task in client.get("/api/v1/tasks").json()["tasks"]} for user, client in clients.items()
        }
        assert listed == {"ada": {"adas", "public-1"}, "bob": {"public-1"}, "root": {"adas", "public-1"}}
        assert clients["bob"].get("/api/v1/statuses").json() == {}
        for path in ("", "/lines", "/metrics", "/curves?name=loss", "/events", "/live", "/completeness", "/latency"):
            assert clients["bob"].get(f"/api/v1/tasks/adas{path}").status_code == 404
            assert httpx.get(f"{gateway.url}/api/v1/tasks/adas{path}", timeout=60).status_code == 401
        assert clients["ada"].get("/api/v1/tasks/adas/lines").status_code == 200
        # a browser: without a session to the sign-in page, with it through; never from another site
        page = httpx.get(f"{gateway.url}/view/adas/stub/?at=x", timeout=60)
        assert (page.status_code, page.headers["location"]) == (303, "/sign-in?then=%2Fview%2Fadas%2Fstub%2F%3Fat%3Dx")
        assert httpx.post(f"{gateway.url}/api/v1/session", json={"token": "wrong"}, timeout=60).status_code == 403
        session = httpx.post(f"{gateway.url}/api/v1/session", json={"token": "ada-token"}, timeout=60)
        cookie = session.headers["set-cookie"]
        assert "HttpOnly" in cookie
        assert "SameSite=lax" in cookie
        value = cookie.partition(";")[0]
        said = httpx.get(f"{gateway.url}/view/adas/stub/app/echo", headers={"Cookie": f"{value}; own=1"}, timeout=60).json()
        assert dict(said["headers"])["cookie"] == "own=1"
        foreign = {"Cookie": value, "Origin": "https://evil.example"}
        assert httpx.post(f"{gateway.url}/api/v1/viewers", json=wish, headers=foreign, timeout=60).status_code == 403
        assert httpx.delete(f"{gateway.url}/api/v1/viewers/{id}", headers=foreign, timeout=60).status_code == 403
        assert clients["ada"].delete(f"/api/v1/viewers/{id}").status_code == 204
        kinds = [(event["kind"], event["fields"].get("user")) for event in gateway.events()]
        assert ("viewer_refused", "bob") in kinds
    finally:
        for client in clients.values():
            client.close()
        gateway.end()


def test_the_least_recently_used_viewer_goes_when_there_is_no_room_and_one_in_use_does_not(
    store: Store, database: str, tasks: Tasks, tmp_path: Path
) -> None:
    for number in range(4):
        tasks.add(f"run-{number}", {"loss": [(0, 1.0)]})
    with stub_tools(tmp_path / "tools") as tools:
        gateway = Gateway(store, database, tmp_path / "gateway", tools=str(tools), viewers="2").start()
    try:
        ids = []
        for number in range(2):
            ids.append(gateway.ask(f"run-{number}", "stub").json()["viewer"]["id"])
            gateway.until("ready", ids[-1])
        look = {"page": "a-page-of-mine", "visible": True}
        assert httpx.post(f"{gateway.url}/view/run-0/stub/presence", json=look, timeout=60).status_code == 204
        assert gateway.ask("run-2", "stub").status_code == 202
        assert {viewer["task_id"] for viewer in gateway.viewers()} == {"run-0", "run-2"}, "run-1 was unseen"
        assert (
            httpx.post(f"{gateway.url}/view/run-2/stub/presence", json={**look, "page": "another-page"}, timeout=60).status_code
            == 204
        )
        gateway.until("ready", gateway.viewers()[1]["id"])
        refused = gateway.ask("run-3", "stub")
        assert refused.status_code == 429
        assert "in use" in refused.json()["detail"]
        released = next(event for event in gateway.events() if event["kind"] == "viewer_released")
        assert released["fields"]["reason"] == "room"
    finally:
        gateway.end()


def test_a_second_tool_is_fed_from_the_same_rows_and_followed(gateway: Gateway, tasks: Tasks) -> None:
    tasks.add("run:1", {"loss": [(step, step / 4) for step in range(50)]})
    asked = gateway.ask("run:1", "datasette").json()
    viewer = gateway.until("ready", asked["viewer"]["id"])
    url = f"{gateway.url}{viewer['address']}app/task.json"

    def rows(sql: str) -> list[list[Any]]:
        found: list[list[Any]] = httpx.get(url, params={"sql": sql}, timeout=60).json()["rows"]
        return found

    assert rows("select count(*), sum(value) from points where name = 'loss'") == [[50, sum(step / 4 for step in range(50))]]
    assert rows("select text from lines") == [["a line"]]
    tasks.add("run:1", {"loss": [(50, 1.0)]}, rank=1)
    until(lambda: rows("select rank, step, value from points where rank = 1"), [[1, 50, 1.0]])
    tasks.replay("run:1", {"loss": [(step, 2.0) for step in range(50)]}, revision=2 << 32)
    until(lambda: rows("select count(*), min(value), max(value) from points where rank = 0"), [[50, 2.0, 2.0]])
    page = httpx.get(f"{gateway.url}{viewer['address']}app/", timeout=60)
    assert page.status_code == 200
    assert f"{viewer['address']}app/~" in page.text, "its links stay below its prefix"


def test_the_command_line_loads_lists_and_stops(gateway: Gateway, tasks: Tasks) -> None:
    tasks.add("run-1", {"loss": [(0, 1.0)]})

    def say(*words: str, expect: int = 0) -> str:
        environment = {"PATH": os.environ["PATH"], "TRAINWIRE_CTL_GATEWAY": gateway.url}
        command = [str(Path(sys.executable).with_name("trainwirectl")), *words]
        run = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120, check=False)
        assert run.returncode == expect, run.stderr
        return run.stdout + run.stderr

    said = say("view", "run-1", "--tool", "stub")
    assert f"{gateway.url}/view/run-1/stub/\n" in said
    assert "was asked for" in said
    assert "ready after" in said
    assert "run-1" in say("viewers")
    assert "stopped Stub of run-1" in say("stop", "run-1")
    assert "no viewers run" in say("viewers")
    assert "no task 'none-such'" in say("view", "none-such", expect=2)
    assert "no tool 'nothing'" in say("view", "run-1", "--tool", "nothing", expect=2)
    gateway.stop()
    assert "no gateway at" in say("viewers", expect=75)


def test_a_folder_has_one_gateway_and_another_is_told_so(gateway: Gateway, store: Store, database: str) -> None:
    second = Gateway(store, database, gateway.folder).start(wait=False)
    assert second.process is not None
    assert second.process.wait(60) == 2
    assert "another gateway has" in second.log()
    assert "TRAINWIRE_GATEWAY_FOLDER" in second.log()
