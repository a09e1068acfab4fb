"""Faults that others met with Grafana on ClickHouse, each by its number."""

from __future__ import annotations

import json
import re

import pytest
from clickhouse_connect.driver.client import Client
from clickhouse_connect.driver.exceptions import ClickHouseError

from schemas.columns import TABLES
from tests.contract.grafana_data import BULK
from tests.contract.grafana_names import NAMES, TYPED
from tests.contract.grafana_rules import FOLDER, Case, Range, all_panels
from tests.contract.grafana_session import CASES, Grafana, axis_of, encoded, milliseconds, plain

pytestmark = pytest.mark.services

DASHBOARDS = sorted((FOLDER / "dashboards").glob("*.json"))
OF_ONE_TASK = re.compile(r"\$\{(task_id|task_ids|metric|rank|each)\b")
BOTH_ENDS = [
    "task: ${metric:text} by step",
    "task: Metrics by time",
    "task: Log",
    "task: Events",
    "task: @Events",
    "task: Status",
    "compare: ${metric:text} by step",
    "compare: ${metric:text} by time since the task was first seen",
    "pipeline: Newest messages put aside",
]
BINNED = ["task: Progress", "task: Stored a second", "pipeline: Messages put aside", "pipeline: Where time goes, by hop"]


def test_b27_the_same_answer_with_merges_stopped_as_after_them(grafana: Grafana, grafana_writer: Client) -> None:
    """Rows delivered three times, revisions and orphans: no merge changes what a panel shows."""
    stored = [case for case in CASES if case.where != "pipeline: Parts on disk"]
    before = [plain(case, grafana.ask(case, task_id="ranks")) for case in stored]
    replayed = grafana.ask("task: ${metric:text} by step", task_id="replayed")
    assert [row["value"] for row in replayed] == [2.0] * 25 + [1.0] * 25
    for table in TABLES:
        grafana_writer.command(f"SYSTEM START MERGES {table}")
        grafana_writer.command(f"OPTIMIZE TABLE {table} FINAL")
    for case, rows in zip(stored, before, strict=True):
        assert plain(case, grafana.ask(case, task_id="ranks")) == rows, case
    assert grafana.ask("task: ${metric:text} by step", task_id="replayed") == replayed


def test_b27_every_step_of_each_rank_once_with_its_newest_value(grafana: Grafana) -> None:
    rows = grafana.ask("task: ${metric:text} by step", task_id="ranks")
    truth = [(step, f"loss · rank {rank}", step + rank / 10) for step in range(50) for rank in range(4)]
    assert [tuple(row.values()) for row in rows] == truth


def test_b29_the_data_source_has_one_uid_everywhere() -> None:
    """Ids change with every install; a uid that stands in the files does not."""
    provisioned = (FOLDER / "provisioning/datasources/trainwire.yaml").read_text("utf-8")
    assert re.findall(r"(?m)^\s+uid: (.+)$", provisioned) == ["trainwire-clickhouse"]
    for path in [*DASHBOARDS, FOLDER / "provisioning/alerting/rules.json"]:
        text = path.read_text("utf-8")
        assert '"id": null' not in text
        uids = set(re.findall(r'"datasourceUid": "([^"]+)"', text))
        for match in re.finditer(r'"datasource": \{\s*"type": "([^"]+)",\s*"uid": "([^"]+)"', text):
            uids.add(match[2])
        assert uids <= {"trainwire-clickhouse", "__expr__"}, path
        assert "trainwire-clickhouse" in uids


@pytest.mark.parametrize("name", NAMES)
def test_b55_a_metric_of_any_name_is_drawn_alone(name: str, grafana: Grafana) -> None:
    rows = grafana.ask("task: ${metric:text} by step", task_id="names", metric=[name])
    assert {row["series"] for row in rows} == {name}
    place = NAMES.index(name)
    values = [row["value"] for row in grafana.ask("compare: ${metric:text} by step", task_ids=["names"], metric=[name])]
    assert values == [place] * 3


def test_b55_metrics_of_any_name_are_drawn_together(grafana: Grafana) -> None:
    options = {row["label"]: row["value"] for row in grafana.ask("task: $metric", task_id="names")}
    assert options == {name: encoded(name) for name in NAMES}
    for where in ("task: ${metric:text} by step", "task: Metrics by time", "task: Latest values"):
        rows = grafana.ask(where, task_id="names", metric=NAMES)
        assert {row.get("series", row.get("metric")) for row in rows} == set(NAMES)
    best = grafana.ask("compare: Best, last and least", task_ids=["names"], metric=["back\\slash"])
    assert [(row["task"], row["best"]) for row in best] == [("names", NAMES.index("back\\slash"))]


def test_b55_an_owner_of_any_name_finds_its_tasks(grafana: Grafana) -> None:
    options = {row["label"]: row["value"] for row in grafana.ask("fleet: $owner")}
    assert set(NAMES) < set(options)
    for some in (NAMES, ["d'arc"], ["back\\slash", "a,b"]):
        rows = grafana.ask("fleet: Tasks, newest first", owner=[options[name] for name in some])
        assert {row["task"] for row in rows} == {f"owned-{NAMES.index(name)}" for name in some}


@pytest.mark.parametrize("text", [*NAMES, *TYPED])
def test_b55_typed_text_is_only_text(text: str, grafana: Grafana) -> None:
    """It finds what holds it and changes nothing; an empty box finds all."""
    truth = {"names"} if text in ("d'arc", "%", "\\", "'", "100%") else set()  # its name is d'arc \\ 100% 学習
    assert {row["value"] for row in grafana.ask("task: $task_id", search=text)} == truth
    assert grafana.ask("task: Log", task_id="edges", line=text, span=grafana.data.edges) == []


def test_b55_typed_text_finds_what_holds_it(grafana: Grafana) -> None:
    assert len(grafana.ask("task: Log", task_id="edges", line="LINE", span=grafana.data.edges)) == 4
    for text in ("'", "\\') OR 1=1 --"):
        assert grafana.ask("pipeline: Files with bytes missing", search=text) == []
    assert {row["task"] for row in grafana.ask("pipeline: Files with bytes missing", search="GAP")} == {"gaps"}


@pytest.mark.parametrize("case", [case for case in CASES if OF_ONE_TASK.search(case.sql)], ids=str)
def test_b55_a_hostile_value_in_a_link_finds_nothing(case: Case, grafana: Grafana) -> None:
    """A link can put any text into any variable. An id that was refused where tasks enter names none; an error is right too."""
    for hostile in ("') OR 1=1 --", "x' OR 'a' = 'a", "back\\slash, $__all"):
        try:
            rows = grafana.ask(case, task_id=hostile, task_ids=[hostile, hostile], metric=[hostile], rank=[hostile], each=hostile)
        except ClickHouseError:
            continue  # a query that is none any more
        assert not any("series" in row or "metric" in row for row in rows), rows[:3]


def test_b55_the_user_can_only_read(grafana: Grafana) -> None:
    for statement in ("DROP TABLE points", "INSERT INTO points (task_id) VALUES ('x')", "ALTER TABLE points DELETE WHERE 1"):
        with pytest.raises(ClickHouseError):
            grafana.reader.command(statement)


@pytest.mark.parametrize("where", BOTH_ENDS)
def test_b56_both_ends_belong_to_the_range_and_a_millisecond_outside_does_not(where: str, grafana: Grafana) -> None:
    span = grafana.data.edges  # rows at start - 1, start, start + 1, end - 1, end, end + 1 ms: numbers 0 to 5
    rows = grafana.ask(where, span, task_id="edges", task_ids=["edges"])
    axis = axis_of(next(case for case in CASES if case.where == where), list(rows[0]))
    if axis == "step":
        assert [row["step"] for row in rows] == [1, 2, 3, 4]
    elif axis == "seconds":
        assert [row["value"] for row in rows] == [1, 2, 3, 4]
    else:
        truth = [span.start, span.start + 1, span.end - 1, span.end]
        assert sorted(set(milliseconds(rows, axis or "time"))) == truth


@pytest.mark.parametrize("where", BINNED)
def test_b56_a_bin_at_an_end_holds_the_range_only(where: str, grafana: Grafana) -> None:
    span = grafana.data.edges
    rows = grafana.ask(where, span, task_id="edges")
    stamps = milliseconds(rows, "time")
    assert (min(stamps), max(stamps)) == (span.start + 1, span.end)  # each bin at its last row's own time
    if where == "pipeline: Messages put aside":
        assert sum(row["value"] for row in rows) == 4


@pytest.mark.parametrize("seconds", [2, 3_600, 90 * 86_400])
def test_b56_ranges_of_any_length(seconds: int, grafana: Grafana) -> None:
    end = grafana.data.edges.end
    rows = grafana.ask("task: Metrics by time", Range(end - seconds * 1_000, end), task_id="edges")
    assert len(rows) == {2: 2, 3_600: 4, 90 * 86_400: 5}[seconds]


@pytest.mark.parametrize("case", [case for case in CASES if case.where.startswith("task:")], ids=str)
def test_b56_a_panel_of_one_task_reads_that_tasks_granules(case: Case, grafana: Grafana) -> None:
    """A granule or two of each part, out of some 25 that other tasks have in every table (and 123 of one task's curve)."""
    for table, read, there, parts in grafana.granules(case, task_id="going", task_ids=["going"]):
        if table != "file_ranges" or case.kind != "variable":
            assert read <= 2 * max(parts, 1) or read <= 2, (table, read, there, parts)


@pytest.mark.parametrize("case", [case for case in CASES if case.where.startswith(("fleet", "pipeline", "alert"))], ids=str)
def test_b56_a_panel_of_all_tasks_reads_those_of_its_range(case: Case, grafana: Grafana) -> None:
    """The 10,000 other tasks are older than the range. One row a file is read of all: the list of tasks, and its newest words."""
    for table, read, there, parts in grafana.granules(case):
        if table not in ("file_ranges", "newest_words", "newest_heartbeats", "dead_letters"):
            assert read <= max(2 * parts, there // 3), (table, read, there, parts)


def test_b69_ids_are_strings_and_large_numbers_are_not_in_links(grafana: Grafana) -> None:
    """What a browser would round above 2^53 never makes a link; a parameter is shown as it was written."""
    for path in DASHBOARDS:
        for panel in all_panels(json.loads(path.read_text("utf-8"))):
            for override in panel.get("fieldConfig", {}).get("overrides", []):
                if any(part["id"] == "links" for part in override["properties"]):
                    column, case = override["matcher"]["options"], f"{path.stem}: {panel['title']}"
                    for row in grafana.ask(case, metric=["loss"]):
                        assert isinstance(row[column], str), (case, column)
    parameters = {row["parameter"]: row["value"] for row in grafana.ask("task: Parameters", task_id="attempts")}
    assert parameters == {"lr": "0.2", "it's": "a \"quoted\" 'value'", "big": "9007199254740993"}


def test_ten_thousand_tasks_are_listed_newest_first_and_searched(grafana: Grafana) -> None:
    listed = [row["value"] for row in grafana.ask("task: $task_id")]
    assert len(listed) == BULK
    times = {row["task_id"]: row["first_seen"] for row in grafana.sql("SELECT task_id, first_seen FROM task_names")}
    assert [times[task] for task in listed] == sorted(times.values(), reverse=True)[:BULK]
    assert [row["value"] for row in grafana.ask("task: $task_id", search="BULK-00007")] == ["bulk-00007"]
