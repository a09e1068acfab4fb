"""The store's views against the journal. A sentence for each thing that is lost, doubled, or shown wrong."""

from __future__ import annotations

import collections
import dataclasses
from typing import Any

from deploy.demo.check import Query
from tests.chaos.journal import Script

SHOWN = 5  # examples of each kind of difference


@dataclasses.dataclass
class Verdict:
    lines_written: int = 0
    lines_stored: int = 0
    points_written: int = 0
    points_stored: int = 0
    lost: int = 0
    doubled: int = 0
    faults: list[str] = dataclasses.field(default_factory=list)
    raw_lines: int = 0

    def compare(self, what: str, written: collections.Counter[Any], shown: collections.Counter[Any]) -> None:
        lost, more = written - shown, shown - written
        self.lost += lost.total()
        self.doubled += more.total()
        for name, difference in (("lost", lost), ("more than written", more)):
            if difference:
                some = [str(key)[:100] for key in list(difference)[:SHOWN]]
                self.faults.append(f"{what}: {difference.total()} {name}: {some}")


def stored_bytes(query: Query) -> int:
    """Bytes that the ranges cover, over all files: equal to what was written when nothing is on its way."""
    ends = "SELECT max(r.end) AS last, max(r.parent_end) AS first FROM file_ranges AS r GROUP BY task_id, file_id"
    sql = f"SELECT sum(f.last - f.first) AS bytes FROM ({ends}) AS f"
    return int(query.rows(sql)[0]["bytes"])


def judge(query: Query, scripts: list[Script], poison: int) -> Verdict:
    """Everything that is shown, against everything that was written."""
    verdict = Verdict()
    for task in sorted({script.task for script in scripts}):
        _judge_task(query, task, [script for script in scripts if script.task == task], verdict)
    verdict.raw_lines = int(query.rows("SELECT count() AS n FROM log_lines")[0]["n"])
    letters = int(query.rows("SELECT count() AS n FROM rejected_messages")[0]["n"])
    if letters != poison:
        verdict.faults.append(f"rejected_messages: {letters} where {poison} were sent")
    return verdict


def _judge_task(query: Query, task: str, scripts: list[Script], verdict: Verdict) -> None:
    generations = [generation for script in scripts for generation in script.generations]
    lines = collections.Counter(line for generation in generations for line in generation.lines)
    points = collections.Counter(point for generation in generations for point in generation.points)
    verdict.lines_written += lines.total()
    verdict.points_written += points.total()

    rows = query.rows("SELECT file_id, text FROM lines WHERE task_id = {task:String} ORDER BY file_id, offset", task=task)
    verdict.lines_stored += len(rows)
    verdict.compare(f"lines of {task}", lines, collections.Counter(row["text"] for row in rows))
    _judge_order(task, rows, generations, verdict)

    for view in ("all_points", "curves", "curves_stitched"):
        rows = query.rows(f"SELECT name, step, value FROM {view} WHERE task_id = {{task:String}}", task=task)
        shown = collections.Counter((row["name"], row["step"], float(row["value"])) for row in rows)
        verdict.compare(f"{view} of {task}", points, shown)
        if view == "all_points":
            verdict.points_stored += len(rows)

    latest = {row["name"]: row for row in query.rows("SELECT * FROM latest_values WHERE task_id = {task:String}", task=task)}
    for script in scripts:
        said = [point for generation in script.generations for point in generation.points]
        row = latest.get(script.metric, {"step": None, "value": None, "points": 0})
        _, step, value = said[-1]
        if (row["step"], row["value"], row["points"]) != (step, value, len(said)):
            verdict.faults.append(
                f"latest_values of {task}: {script.metric} is {row['value']} at step {row['step']} of {row['points']} points,"
                f" written was {value} at {step} of {len(said)}"
            )

    row = query.rows("SELECT lines, bytes, log_files FROM tasks WHERE task_id = {task:String}", task=task)[0]
    truth = (lines.total(), sum(generation.size for generation in generations), len(generations))
    if (row["lines"], row["bytes"], row["log_files"]) != truth:
        verdict.faults.append(f"tasks: {task} has (lines, bytes, files) {tuple(row.values())}, written were {truth}")
    gaps = query.rows("SELECT path, missing FROM completeness WHERE task_id = {task:String} AND notEmpty(missing)", task=task)
    verdict.faults += [f"completeness of {task}: {row['path']} lacks {row['missing']}" for row in gaps]


def _judge_order(task: str, rows: list[dict[str, Any]], generations: list[Any], verdict: Verdict) -> None:
    """Each stored file holds exactly one generation, in its order."""
    files: dict[str, list[str]] = {}
    for row in rows:
        files.setdefault(row["file_id"], []).append(row["text"])
    shown = collections.Counter(tuple(lines) for lines in files.values())
    written = collections.Counter(tuple(generation.lines) for generation in generations)
    if shown != written:
        strange = [(len(lines), lines[0][:80]) for lines in shown - written]
        missing = [(len(lines), lines[0][:80]) for lines in written - shown]
        verdict.faults.append(
            f"files of {task} are not the generations written: shown {strange[:SHOWN]}, written {missing[:SHOWN]}"
        )
