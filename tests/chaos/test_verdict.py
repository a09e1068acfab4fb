"""The judge sees what is lost, doubled, out of order or miscounted: answers as a store would give them, each wrong in one way."""

from __future__ import annotations

from typing import Any

import pytest

from deploy.demo.check import Query
from tests.chaos.journal import Script
from tests.chaos.verdict import judge


class Answers(Query):
    """The views of a store that holds exactly what the script wrote, in two files; tests then spoil one answer."""

    def __init__(self, script: Script) -> None:
        self.views: dict[str, list[dict[str, Any]]] = {}
        points = [point for generation in script.generations for point in generation.points]
        for view in ("all_points", "curves", "curves_stitched"):
            self.views[view] = [{"name": name, "step": step, "value": value} for name, step, value in points]
        self.views["lines"] = [
            {"file_id": f"f{generation.number}", "text": line} for generation in script.generations for line in generation.lines
        ]
        last = points[-1]
        self.views["latest_values"] = [{"name": last[0], "step": last[1], "value": last[2], "points": len(points)}]
        self.views["tasks"] = [{"lines": len(self.views["lines"]), "bytes": script.size, "log_files": 2}]
        self.views["completeness"] = []
        self.views["log_lines"] = self.views["rejected_messages"] = [{"n": 0}]

    def rows(self, sql: str, **parameters: Any) -> list[dict[str, Any]]:
        return self.views[sql.partition(" FROM ")[2].split()[0]]


@pytest.fixture
def script() -> Script:
    made = Script("chaos-0-0", "text", "text", 0)
    for _ in range(2):
        made.begin()
        for _ in range(20):
            made.line()
    return made


def test_what_is_as_it_was_written_is_good(script: Script) -> None:
    verdict = judge(Answers(script), [script], 0)
    assert (verdict.faults, verdict.lost, verdict.doubled) == ([], 0, 0)
    assert (verdict.lines_written, verdict.lines_stored, verdict.points_written) == (42, 42, verdict.points_stored)


@pytest.mark.parametrize("view", ["lines", "all_points", "curves", "curves_stitched"])
def test_one_row_that_is_missing_or_doubled_is_counted(script: Script, view: str) -> None:
    less, more = Answers(script), Answers(script)
    less.views[view] = less.views[view][:7] + less.views[view][8:]
    more.views[view] = more.views[view][:8] + more.views[view][7:]
    assert (judge(less, [script], 0).lost, judge(less, [script], 0).doubled) == (1, 0)
    assert (judge(more, [script], 0).lost, judge(more, [script], 0).doubled) == (0, 1)
    assert judge(less, [script], 0).faults
    assert judge(more, [script], 0).faults


def test_lines_out_of_order_and_wrong_numbers_are_faults(script: Script) -> None:
    swapped = Answers(script)
    lines = swapped.views["lines"]
    lines[3], lines[4] = lines[4], lines[3]
    assert [fault.partition(" of ")[0] for fault in judge(swapped, [script], 0).faults] == ["files"]
    for view, column in (("latest_values", "value"), ("latest_values", "points"), ("tasks", "lines"), ("tasks", "log_files")):
        wrong = Answers(script)
        wrong.views[view][0][column] += 1
        assert len(judge(wrong, [script], 0).faults) == 1
    assert len(judge(Answers(script), [script], 3).faults) == 1, "dead letters that nobody wrote down"
