"""Compare what the store's views show of a task with the truth. Uses no code of the product, only its address.

The truth of points is a journal that the training script wrote itself; the truth of lines is the log file.
"""

from __future__ import annotations

import base64
import collections
import dataclasses
import json
import math
import os
import urllib.parse
import urllib.request
from pathlib import Path
from typing import Any


@dataclasses.dataclass
class Verdict:
    """What was compared, and a sentence for each thing that is missing, wrong or doubled."""

    task: str
    points: int = 0
    lines: int = 0
    faults: list[str] = dataclasses.field(default_factory=list)


class Query:
    """SELECTs over ClickHouse's own HTTP interface, as the user who can only read."""

    def __init__(self, url: str, user: str, password: str, database: str) -> None:
        self._url, self._database = url, database
        self._authorization = "Basic " + base64.b64encode(f"{user}:{password}".encode()).decode()

    def rows(self, sql: str, **parameters: Any) -> list[dict[str, Any]]:
        options = {"database": self._database, "default_format": "JSONEachRow", "output_format_json_quote_denormals": "1"}
        options |= {"output_format_json_quote_64bit_integers": "0"} | {f"param_{k}": str(v) for k, v in parameters.items()}
        request = urllib.request.Request(  # noqa: S310  # the address is the stack's own
            f"{self._url}/?{urllib.parse.urlencode(options)}", sql.encode(), {"Authorization": self._authorization}
        )
        with urllib.request.urlopen(request, timeout=60) as answer:  # noqa: S310  # as above
            return [json.loads(line) for line in answer.read().splitlines()]


def compare(query: Query, task: str, journal: Path, logs: list[Path]) -> Verdict:
    """Every point and every line of `task`, both ways; and the ledger calls it complete."""
    verdict = Verdict(task)
    truth = collections.Counter(_key(json.loads(line)) for line in journal.read_text().splitlines())
    shown = collections.Counter(
        _key(row)
        for row in query.rows("SELECT name, value, step, epoch FROM all_points WHERE task_id = {task:String}", task=task)
    )
    verdict.points = sum(truth.values())
    for key in sorted(truth.keys() | shown.keys(), key=str):
        if truth[key] != shown[key]:
            verdict.faults.append(f"point {key}: {truth[key]} in the journal, {shown[key]} in the view")
    stored: dict[str, list[str]] = collections.defaultdict(list)
    for row in query.rows("SELECT path, text FROM lines WHERE task_id = {task:String} ORDER BY file_id, offset", task=task):
        stored[Path(row["path"]).name].append(row["text"])
    for log in logs:
        written = [line.rpartition("\r")[2] for line in log.read_bytes().decode("utf-8", "replace").split("\n")]
        if written[-1] == "":
            written.pop()
        verdict.lines += len(written)
        if stored.pop(log.name, []) != written:
            verdict.faults.append(f"{log.name}: the view's lines are not the file's {len(written)} lines")
    verdict.faults += [f"{name}: lines in the view of a file that is not there" for name in stored]
    said = query.rows("SELECT verdict FROM task_completeness WHERE task_id = {task:String}", task=task)
    verdict.faults += [f"the ledger says: {row['verdict']}" for row in said if row["verdict"] != "complete"]
    return verdict


def _key(point: dict[str, Any]) -> tuple[str, str, int | None, float | None]:
    value = float(point["value"])
    epoch = point["epoch"]
    return point["name"], "NaN" if math.isnan(value) else repr(value), point["step"], None if epoch is None else float(epoch)


def query_from_environment(environ: dict[str, str]) -> Query:
    return Query(
        environ["TRAINWIRE_CLICKHOUSE_URL"],
        environ["TRAINWIRE_CLICKHOUSE_USER"],
        environ["TRAINWIRE_CLICKHOUSE_PASSWORD"],
        environ.get("TRAINWIRE_CLICKHOUSE_DATABASE", os.environ.get("TRAINWIRE_CLICKHOUSE_DATABASE", "trainwire")),
    )
