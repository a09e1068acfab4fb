"""`trainwirectl verify`, as people run it, on rows that were stored by hand and files that the test wrote."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from clickhouse_connect.driver.client import Client

from tests.contract.test_views import Rows, client, rows
from tests.services.fixtures import Store

__all__ = ["client", "rows"]
pytestmark = pytest.mark.services
TRAINWIRECTL = str(Path(sys.executable).with_name("trainwirectl"))
TEXT = [f"step={step} loss=0.{step}" for step in range(1, 41)]


@pytest.fixture
def environ(store: Store, client: Client) -> dict[str, str]:
    return {**os.environ, **store.environ("viewer"), "TRAINWIRE_CLICKHOUSE_DATABASE": str(client.database)}


@pytest.fixture
def log(tmp_path: Path) -> Path:
    path = tmp_path / "train.log"
    path.write_text("".join(f"{line}\n" for line in TEXT))
    return path


def verify(environ: dict[str, str], *arguments: str | Path) -> tuple[int, dict[str, Any]]:
    done = subprocess.run(
        [TRAINWIRECTL, "verify", "--json", "t", *map(str, arguments)], env=environ, capture_output=True, text=True, timeout=120
    )
    assert not done.stderr, done.stderr
    return done.returncode, json.loads(done.stdout)


def store_lines(rows: Rows, path: Path, lines: list[str], *, file_id: str = "f", at: int = 0, **values: Any) -> int:
    """Store lines of a file from byte `at` on; the byte behind them."""
    start = at
    for line in lines:
        rows.line(at, line, file_id=file_id, end=at + len(line) + 1)
        at += len(line) + 1
    rows.stored(start, at, file_id=file_id, path=str(path), world_size=1, **values)
    return at


def ended(rows: Rows, path: Path, size: int, file_id: str = "f") -> None:
    now = time.time_ns() // 1_000_000
    said = {"file_id": file_id, "sent": now, "arrived": now, "path": str(path), "size": size, "offset": size}
    rows.add("heartbeats", **said, ended="end-record", source="s")


def test_a_whole_task_is_complete_and_its_file_equal(rows: Rows, environ: dict[str, str], log: Path) -> None:
    ended(rows, log, store_lines(rows, log, TEXT))
    rows.add("repeats", file_id="f", start=0, end=30, bytes=30, kind="reread")
    code, answer = verify(environ)
    assert (code, answer["verdict"], answer["lacks"]) == (0, "complete", [])
    (file,) = answer["files"]
    size = log.stat().st_size
    assert (file["written"], file["shipped"], file["stored"], file["missing"], file["reread"]) == (size, size, size, [], 30)
    assert answer["contents"][str(log)] | {"file_id": "f"} == {
        "file_id": "f", "equal": size, "missing": [], "differs_at": None, "open_tail": 0, "same": True
    }  # fmt: skip
    text = subprocess.run([TRAINWIRECTL, "verify", "t"], env=environ, capture_output=True, text=True)
    assert text.stdout.splitlines()[-2:] == [f"{log}: equal, {size} bytes", "t: complete"]


def test_lines_that_are_not_shown_are_named(rows: Rows, environ: dict[str, str], log: Path) -> None:
    store_lines(rows, log, TEXT[:10])
    border = len("\n".join(TEXT[:10])) + 1
    code, answer = verify(environ, log)
    size = log.stat().st_size
    assert (code, answer["contents"][str(log)]["missing"]) == (1, [[border, size]])


def test_one_line_that_is_shown_otherwise_is_found(rows: Rows, environ: dict[str, str], log: Path) -> None:
    wrong = [*TEXT[:20], "step=21 loss=9.21"[: len(TEXT[20])].ljust(len(TEXT[20]), "x"), *TEXT[21:]]
    ended(rows, log, store_lines(rows, log, wrong))
    code, answer = verify(environ, log)
    assert (code, answer["verdict"]) == (1, "complete")
    assert answer["contents"][str(log)]["differs_at"] == len("\n".join(TEXT[:20])) + 1


def test_of_several_generations_the_one_at_hand_is_compared(rows: Rows, environ: dict[str, str], log: Path) -> None:
    older = [TEXT[0], *(line.replace("loss", "cost") for line in TEXT[1:])]  # they begin alike
    store_lines(rows, log, older, file_id="f", first_offset=1)
    ended(rows, log, store_lines(rows, log, TEXT, file_id="f.g1", first_offset=2), "f.g1")
    code, answer = verify(environ, log)
    assert (code, answer["contents"][str(log)]["file_id"]) == (0, "f.g1")


def test_a_fork_is_compared_with_its_parents_beginning(rows: Rows, environ: dict[str, str], log: Path) -> None:
    border = store_lines(rows, log, TEXT[:30])
    store_lines(rows, log, ["other rows of the parent"], at=border)
    end = store_lines(rows, log, TEXT[30:], file_id="f~r", at=border, parent="f", parent_end=border, first_offset=9)
    ended(rows, log, end, "f~r")
    code, answer = verify(environ, log)
    assert (code, answer["contents"][str(log)]["file_id"], answer["contents"][str(log)]["same"]) == (0, "f~r", True)


def test_a_file_of_nobody_s_and_an_unknown_task(rows: Rows, environ: dict[str, str], log: Path, tmp_path: Path) -> None:
    code, answer = verify(environ)
    assert (code, answer["verdict"]) == (1, "nothing is stored of this task")
    ended(rows, log, store_lines(rows, log, TEXT))
    other = tmp_path / "other.log"
    other.write_text("nobody knows me\n")
    code, answer = verify(environ, other)
    assert (code, answer["contents"][str(other)]["file_id"]) == (1, "")


def test_a_last_line_without_its_end_is_no_fault(rows: Rows, environ: dict[str, str], log: Path) -> None:
    ended(rows, log, store_lines(rows, log, TEXT))
    with log.open("a") as more:
        more.write("step=41 lo")
    code, answer = verify(environ, log)
    assert (code, answer["contents"][str(log)]["open_tail"]) == (0, 10)
