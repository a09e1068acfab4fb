"""Curves drawn in SQL from few points: what must be kept is kept, and what is shown was said by a line."""

from __future__ import annotations

import itertools
import math

import pytest
from clickhouse_connect.driver.client import Client

from schemas.migrations import Layout, all_migrations
from tests.contract.grafana_data import BULK, LONG
from tests.contract.grafana_names import NAMES
from tests.contract.grafana_session import Grafana, encoded

pytestmark = pytest.mark.services

STEP = "task: ${metric:text} by step"


def test_a_million_points_are_drawn_from_two_thousand(grafana: Grafana) -> None:
    rows = grafana.ask(STEP, task_id="long")
    assert 1_500 < len(rows) <= 2_000
    curve = {row["step"]: row["value"] for row in rows if row["series"] == "loss"}
    assert (min(curve.values()), max(curve.values())) == (-1000, 1000)
    assert (curve[123_456], curve[654_321]) == (-1000, 1000)
    assert {0, LONG - 1} <= curve.keys()
    marks = {(row["series"], row["step"]) for row in rows if row["series"] != "loss"}
    assert marks == {("loss NaN", 500_000), ("loss Infinity", 500_001), ("loss -Infinity", 500_002)}
    for step, value in curve.items():  # a point drawn is a point said
        if step not in (123_456, 654_321):
            assert math.isclose(value, math.sin(step / 5000), rel_tol=1e-9, abs_tol=1e-12)
    steps = sorted(curve)
    assert max(b - a for a, b in itertools.pairwise(steps)) < 3 * LONG / 799


def test_over_time_it_is_the_same(grafana: Grafana) -> None:
    rows = grafana.ask("task: Metrics by time", task_id="long")
    values = [row["value"] for row in rows if row["series"] == "loss"]
    assert len(rows) <= 2_000
    assert (min(values), max(values)) == (-1000, 1000)
    assert len([row for row in rows if row["series"] != "loss"]) == 3


def test_a_mark_stands_where_the_curve_last_was(grafana: Grafana) -> None:
    rows = grafana.ask(STEP, task_id="broken")
    marks = {(row["series"], row["step"]): row["value"] for row in rows if row["series"] != "loss"}
    assert marks == {
        ("loss NaN", 10): 1 / 10,
        ("loss Infinity", 11): 1 / 10,
        ("loss -Infinity", 12): 1 / 10,
        ("loss NaN", 30): 1 / 30,
    }
    assert [row["step"] for row in rows if row["series"] == "loss"] == [n for n in range(40) if n not in (10, 11, 12, 30)]


def test_the_first_that_is_no_number_is_an_annotation(grafana: Grafana) -> None:
    [row] = grafana.ask("task: @First NaN or infinity", task_id="broken")
    assert row["title"] == "loss is nan"
    assert row["text"] == "first at step 10, rank 0, 4 in all"


def test_attempts_are_stitched_or_each_by_the_switch(grafana: Grafana) -> None:
    stitched = grafana.ask(STEP, task_id="attempts", each="0")
    assert [(row["step"], row["series"], row["value"]) for row in stitched] == [
        (step, "loss", 1.0 if step < 60 else 2.0) for step in range(120)
    ]
    each = grafana.ask(STEP, task_id="attempts", each="1")
    assert [(row["step"], row["value"]) for row in each if row["series"] == "loss · attempt 1"] == [(n, 1.0) for n in range(100)]
    assert [(row["step"], row["value"]) for row in each if row["series"] == "loss · attempt 2"] == [
        (n, 2.0) for n in range(60, 120)
    ]
    assert len(each) == 160


def test_revisions_orphans_and_sources_show_one_truth(grafana: Grafana) -> None:
    replayed = grafana.ask(STEP, task_id="replayed")
    assert [(row["step"], row["value"]) for row in replayed] == [(n, 2.0 if n < 25 else 1.0) for n in range(50)]
    sources = grafana.ask(STEP, task_id="sources")
    assert [(row["step"], row["value"]) for row in sources] == [(n, 0.125) for n in range(20)]


def test_points_without_a_step_are_drawn_over_time_one_a_millisecond(grafana: Grafana) -> None:
    assert grafana.ask(STEP, task_id="broken", metric=["val"]) == []
    [row] = grafana.ask("task: Metrics by time", task_id="broken", metric=["val"])
    assert row["value"] in range(5)


def as_first_written(writer: Client, view: str) -> str:
    """A view as migration 3 had it, under a name of its own: the slow truth that a faster form is held against."""
    [panels] = [migration for migration in all_migrations() if migration.name == "panels"]
    [statement] = [text for text in panels.statements(Layout(str(writer.database))) if f"VIEW {writer.database}.{view} " in text]
    writer.command(statement.replace(f"{writer.database}.{view} ", f"{writer.database}.{view}_at_first ", 1))
    return f"{view}_at_first"


@pytest.mark.parametrize(("axis", "each"), [("step", 0), ("step", 1), ("time", 0), ("time", 1)])
def test_one_pass_draws_what_windows_over_all_points_drew(axis: str, each: int, grafana: Grafana, grafana_writer: Client) -> None:
    windowed = as_first_written(grafana_writer, "drawn_curves")
    tasks = ["edges", "attempts", "ranks", "broken", "breaking", "replayed", "sources", "names", *(["long"] if each else [])]
    metrics = [encoded(name) for name in ("loss", "val", *NAMES)]
    for points, since in ((2_000, 0), (50, grafana.data.edges.start)):
        call = (
            f"(tasks = {tasks}, metrics = {metrics}, axis = '{axis}', each = {each}, since = fromUnixTimestamp64Milli({since}), "
            f"until = fromUnixTimestamp64Milli({grafana.data.span.end}), points = {points}) ORDER BY ALL"
        )
        drawn, truth = (repr(grafana.sql(f"SELECT * FROM {view}{call}")) for view in ("drawn_curves", windowed))  # NaN is equal
        assert len(truth) > 10_000
        assert drawn == truth


def test_many_curves_share_the_points(grafana: Grafana) -> None:
    """Four ranks of one metric draw no more than one does."""
    sql = (
        "SELECT count() AS n, uniqExact(rank) AS ranks FROM drawn_curves(tasks = ['ranks'], metrics = ['loss'], axis = 'step', "
        "each = 0, since = fromUnixTimestamp64Milli(0), until = fromUnixTimestamp64Milli(4000000000000), points = 200)"
    )
    [row] = grafana.sql(sql)
    assert row["ranks"] == 4
    assert row["n"] <= 200


def test_smoothing_is_the_debiased_average(grafana: Grafana) -> None:
    raw = [
        row["value"]
        for row in grafana.ask("compare: ${metric:text} by step", task_ids=["ranks"], smoothing="0")
        if "rank 1" in row["series"]
    ]
    shown = [
        row["value"]
        for row in grafana.ask("compare: ${metric:text} by step", task_ids=["ranks"], smoothing="9.49")
        if "rank 1" in row["series"]
    ]
    weight, total, norm, truth = math.exp(-1 / 9.49), 0.0, 0.0, []
    for value in raw:
        total, norm = weight * total + value, weight * norm + 1
        truth.append(total / norm)
    assert len(shown) == 50
    assert shown == pytest.approx(truth)


def test_compare_shows_parameters_that_differ(grafana: Grafana) -> None:
    rows = grafana.ask("compare: Parameters that differ", task_ids=["attempts", "ranks"])
    assert [(row["parameter"], row["task"]) for row in rows] == [("big", "attempts"), ("it's", "attempts"), ("lr", "attempts")]


def test_best_last_and_least(grafana: Grafana) -> None:
    lower = {row["task"]: row for row in grafana.ask("compare: Best, last and least", task_ids=["ranks", "broken", "replayed"])}
    assert (lower["ranks"]["best"], lower["ranks"]["at step"], lower["ranks"]["most"]) == (0.0, "0", 49.3)
    assert lower["broken"]["not finite"] == 4
    assert lower["replayed"]["last"] == 1.0
    higher = grafana.ask("compare: Best, last and least", task_ids=["ranks"], better="higher")
    assert [(row["best"], row["at step"]) for row in higher] == [(49.3, "49")]


def test_the_slowest_rank_is_named(grafana: Grafana) -> None:
    rows = grafana.ask("task: Who comes last", task_id="ranks")
    assert [(row["rank"], row["steps it was last"], row["seconds behind the first"]) for row in rows] == [("3", 50, 0.3)]


def test_health_in_words(grafana: Grafana) -> None:
    health = {row["task"]: row["health"] for row in grafana.ask("fleet: Tasks, newest first")}
    truth = {"going": "running", "stalled": "stalled", "silent": "silent", "failed": "failed", "done": "succeeded"}
    assert {task: health[task] for task in truth} == truth
    [row] = grafana.ask("task: panel 2", task_id="gaps")
    assert row["completeness"].startswith("2 of 2 files: ")
    [row] = grafana.ask("task: panel 2", task_id="stalled")
    assert row["freshness"].startswith("alive, but no new line for 2")


def test_alerts_speak_of_what_is_wrong_and_of_nothing_else(grafana: Grafana) -> None:
    def tasks(title: str) -> set[str]:
        return {row["task"] for row in grafana.ask(f"alert: {title}")}

    assert {"stalled", "silent"} <= tasks("Task stalled")
    assert not {"going", "done", "failed"} & tasks("Task stalled")
    assert tasks("Task failed") == {"failed", "said"}
    assert tasks("Task has NaN or infinity") == {"broken"}
    assert [(row["task"], row["value"]) for row in grafana.ask("alert: Loss diverges")] == [("breaking", 9.0)]
    assert tasks("No progress") == {"going"}
    assert tasks("Bytes are missing") == {"gaps"}
    assert [row["reason"] for row in grafana.ask("alert: A log file cannot be read")] == ["permission denied: 'g2'"]


def test_the_newest_words_tell_what_the_history_does(grafana: Grafana, grafana_writer: Client) -> None:
    """Task by task, in every column but the ages, as the view that reads all events and heartbeats."""
    history = as_first_written(grafana_writer, "fleet")
    columns = [row["name"] for row in grafana.sql("DESCRIBE TABLE fleet")]
    assert columns == [row["name"] for row in grafana.sql(f"DESCRIBE TABLE {history}")]
    told = ", ".join(name for name in columns if name not in ("quiet_seconds", "unheard_seconds"))
    truth = grafana.sql(f"SELECT {told} FROM {history} ORDER BY task_id")
    assert len(truth) > BULK
    assert grafana.sql(f"SELECT {told} FROM fleet ORDER BY task_id") == truth
    [said] = [row for row in truth if row["task_id"] == "said"]
    assert (said["owner"], said["status"], said["progress_done"]) == ("ada", "failed", 7.0)
    lacks = (
        "SELECT task_id, file_id, missing_inside, error FROM {} WHERE missing_inside > 0 OR error != '' ORDER BY task_id, file_id"
    )
    assert grafana.sql(lacks.format("watched_files")) == grafana.sql(lacks.format("completeness"))


def test_frameworks_are_listed_and_chosen(grafana: Grafana) -> None:
    assert {row["label"] for row in grafana.ask("fleet: $framework")} == {"(none)", "pytorch"}
    rows = grafana.ask("fleet: Tasks, newest first", framework=["pytorch"])
    assert {row["framework"] for row in rows} == {"pytorch"}
    assert {row["task"] for row in rows} == {f"owned-{number}" for number in range(len(NAMES))}


def test_a_viewers_life_costs_once(grafana: Grafana) -> None:
    rows = grafana.ask("pipeline: What viewers cost", grafana.data.edges)
    assert [tuple(row.values()) for row in rows] == [("tensorboard", "d'arc", 4, 20.0, 10.0, 4.0)]
