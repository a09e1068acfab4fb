"""The contract of every query of every panel, variable, annotation and alert: on the engine, as Grafana would send it."""

from __future__ import annotations

import re

import pytest

from tests.contract.grafana_rules import Case, Range
from tests.contract.grafana_session import CASES, Grafana, check_frame

pytestmark = pytest.mark.services

SOURCES = {case.where.split(":")[0] for case in CASES}
OF_ONE_TASK = re.compile(r"\$\{(task_id|task_ids|metric|rank)\b")


def tasks_for(case: Case) -> list[str]:
    """A query that does not ask for a task answers the same whatever is chosen: once is enough."""
    return ["attempts", "ranks", "broken", "going", "edges"] if "${task_id:" in case.sql else ["attempts"]


def test_all_four_dashboards_and_the_alerts_are_under_contract() -> None:
    assert sorted(SOURCES) == ["alert", "compare", "fleet", "pipeline", "task"]
    assert len(CASES) > 45


@pytest.mark.parametrize("case", CASES, ids=str)
def test_it_runs_and_its_frame_is_right(case: Case, grafana: Grafana) -> None:
    answered = 0
    for task in tasks_for(case):
        rows = grafana.ask(case, task_id=task)
        if rows:
            check_frame(case, rows, grafana.data.span)
            answered += 1
    assert answered or case.where in NEVER_HERE, "the data set has no row for it: its frame was never seen"


# Troubles that the data set does not have.
NEVER_HERE = {"alert: Rows come late", "alert: Messages are put aside"}


@pytest.mark.parametrize("case", [case for case in CASES if OF_ONE_TASK.search(case.sql)], ids=str)
def test_nothing_chosen_and_nothing_there_is_no_error(case: Case, grafana: Grafana) -> None:
    """None, one that does not exist, and all: the variable is empty before its query has answered."""
    nobody = grafana.ask(case, task_id="", task_ids=[], metric=[""], rank=[])
    assert not any(row.get("series") for row in nobody)
    nobody = grafana.ask(case, task_id="nobody", task_ids=["nobody", "'"], metric=["no such"], rank=["77"])
    assert not any(row.get("series") for row in nobody)
    if "${task_ids:" in case.sql:
        assert isinstance(grafana.ask(case, task_ids=[f"task-{number}" for number in range(500)]), list)


@pytest.mark.parametrize("case", [case for case in CASES if "$__" in case.sql], ids=str)
def test_an_empty_range_gives_no_rows(case: Case, grafana: Grafana) -> None:
    at = grafana.data.span.start - 10**9
    rows = grafana.ask(case, Range(at, at))
    alone = all(value in (0, None, "-") for row in rows for value in row.values())  # counts of nothing
    assert not rows or alone


@pytest.mark.parametrize("case", [case for case in CASES if "$__timeFilter_ms" in case.sql], ids=str)
def test_it_runs_in_whole_seconds_too(case: Case, grafana: Grafana) -> None:
    """The other precision of the data source's filter: its bounds are cut to seconds, and rows stay inside them."""
    whole = Case(case.where, case.kind, case.sql.replace("$__timeFilter_ms", "$__timeFilter"), case.form)
    span = grafana.data.edges
    rows = grafana.ask(whole, Range(span.start + 400, span.end + 700), task_id="edges", task_ids=["edges"])
    if rows:
        check_frame(whole, rows, Range(span.start // 1000 * 1000, (span.end + 700) // 1000 * 1000))


def test_an_alert_knows_no_variable_and_no_macro() -> None:
    """Grafana expands no dashboard's variable there, and takes a `$` for an environment variable."""
    for case in CASES:
        assert "conditionalAll" not in case.sql
        if case.kind == "alert":
            assert "$" not in case.sql, case


def test_a_macro_is_followed_by_its_parenthesis_at_once() -> None:
    for case in CASES:
        assert not re.search(r"\$__(timeFilter|timeInterval)\w*\s+\(", case.sql), case


def test_no_query_names_a_database_or_a_table_of_ours() -> None:
    """The data source's default database counts; people and panels read views."""
    for case in CASES:
        sources = re.findall(r"(?:FROM|JOIN)\s+([\w.]+)", case.sql)
        tables = {"points", "log_lines", "task_events", "ledger", "file_ranges", "heartbeats", "dead_letters"}
        assert not tables & set(sources), case
        assert {source for source in sources if "." in source} <= {"system.parts"}, case
