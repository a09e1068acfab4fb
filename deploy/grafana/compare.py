"""The Compare dashboard: up to 20 tasks side by side, over steps and over the time since each began."""

from __future__ import annotations

from grafana_foundation_sdk.builders import dashboard as build
from grafana_foundation_sdk.builders import table, trend
from grafana_foundation_sdk.models import dashboard as models

from deploy.grafana import house
from deploy.grafana.task import EACH

UID = "trainwire-compare"
MOST = 20  # tasks at once: more curves than a person can tell apart
POINTS = 400  # a task: 20 tasks make 8,000 points, which a browser joins and draws at once
TASKS = f"arraySlice({house.chosen('task_ids')}, 1, {MOST})"

# A weight w of the past is a decay length of -1 / ln(w) points: 0.6 → 1.96, 0.9 → 9.49, 0.99 → 99.5.
SMOOTHING = house.choice("smoothing", "Smoothing", {"none": "0", "0.6": "1.96", "0.9": "9.49", "0.99": "99.5"}, "0")
DECAY = f"toFloat64OrZero({house.typed('smoothing')})"

BETTER = house.choice("better", "Better is", {"lower": "lower", "higher": "higher"}, "lower")

METRICS = f"""
    SELECT encodeURLComponent(name) AS value, name AS label
    FROM metric_names WHERE task_id IN {TASKS}
    GROUP BY name
    ORDER BY positionCaseInsensitive(name, 'loss') = 0, count() DESC, name
    LIMIT 500
"""


def drawn(axis: str) -> str:
    return house.drawn_curves(TASKS, f"[{house.typed('metric')}]", axis, POINTS)


def dashboard() -> build.Dashboard:
    return (
        house.dashboard(UID, "Compare", "Up to 20 tasks side by side", "now-7d", "1m")
        .with_variable(house.SEARCH)
        .with_variable(house.listed("task_ids", "Tasks", house.TASKS, many=True).include_all(False))
        .with_variable(house.listed("metric", "Metric", METRICS))
        .with_variable(EACH)
        .with_variable(SMOOTHING)
        .with_variable(BETTER)
        .with_variable(house.gateway_variable())
        .with_panel(by_step().span(12).height(12))
        .with_panel(by_relative_time().span(12).height(12))
        .with_panel(best().span(24).height(9))
        .with_panel(parameters().span(24).height(9))
    )


def smoothed(source: str, x: str) -> str:
    """Rows of (x, series, value) from drawn curves: debiased exponential smoothing over the points drawn, marks as they are.

    With w the weight of the past, the value at n is Σ w^(n-i) v_i / Σ w^(n-i): both sums follow from those before, in one
    pass over at most 400 points. The store's own function for it wants its length as a constant of the query's text.
    """
    return f"""
        WITH if({DECAY} > 0, exp(-1 / {DECAY}), 0) AS past
        SELECT point.1 AS {x}, point.2 AS series, point.3 AS value
        FROM
        (
            SELECT
                series,
                arrayFold(
                    (sums, p) -> (
                        past * sums.1 + p.2, past * sums.2 + 1,
                        arrayPushBack(sums.3, (p.1, series, (past * sums.1 + p.2) / (past * sums.2 + 1)))),
                    arraySort(groupArrayIf(({x}, value), kind = 'finite')),
                    (toFloat64(0), toFloat64(0), CAST([], 'Array(Tuple(Float64, String, Float64))'))).3 AS curve,
                groupArrayIf(({x}, concat(series, ' ', kind), value), kind != 'finite') AS marks
            FROM
            (
                {source}
            )
            GROUP BY series
        )
        ARRAY JOIN arrayConcat(curve, marks) AS point
        ORDER BY {x}, series
    """


def by_step() -> trend.Panel:
    source = f"""SELECT toFloat64(x) AS step, {house.curve_label("task_id")} AS series, kind, drawn_at AS value
                FROM {drawn("step")}"""
    return house.step_curves("${metric:text} by step", smoothed(source, "step"), "step")


def by_relative_time() -> trend.Panel:
    source = f"""SELECT
                    toFloat64(x - toUnixTimestamp64Milli(n.first_seen)) / 1000 AS seconds,
                    {house.curve_label("d.task_id")} AS series, kind, drawn_at AS value
                FROM {drawn("time")} AS d
                INNER JOIN (SELECT task_id, first_seen FROM task_names WHERE task_id IN {TASKS}) AS n ON d.task_id = n.task_id"""
    panel = house.step_curves("${metric:text} by time since the task was first seen", smoothed(source, "seconds"), "seconds")
    return panel.override_by_name("seconds", [house.prop("unit", "s")])


def best() -> table.Panel:
    better = f"if({house.typed('better')} = 'higher', -1, 1)"
    return house.rows(
        "Best, last and least",
        f"""
        SELECT
            c.task_id AS task,
            minIf({better} * c.value, isFinite(c.value)) * {better} AS best,
            ifNull(toString(argMinIf(c.step, ({better} * c.value, c.step), isFinite(c.value))), '') AS `at step`,
            argMax(c.value, (c.attempt, ifNull(c.step, -9223372036854775808), c.time, c.offset, c.place)) AS last,
            minIf(c.value, isFinite(c.value)) AS least, maxIf(c.value, isFinite(c.value)) AS most,
            count() AS points, countIf(NOT isFinite(c.value)) AS `not finite`, max(c.time) AS time
        FROM curves AS c
        WHERE c.task_id IN {TASKS} AND c.name = decodeURLComponent({house.typed("metric")}) AND $__timeFilter_ms(c.time)
        GROUP BY c.task_id
        ORDER BY {better} * best, task
        """,
    ).override_by_name("task", [house.prop("links", [item.build() for item in house.page_links("${__value.text}")])])


def parameters() -> table.Panel:
    panel = house.rows(
        "Parameters that differ",
        f"""
        SELECT parameter, task, value
        FROM
        (
            SELECT *, uniqExact(value) OVER (PARTITION BY parameter) AS values, count() OVER (PARTITION BY parameter) AS tasks
            FROM
            (
                SELECT item.1 AS parameter, task_id AS task, argMax(item.2, (attempt, time)) AS value
                FROM
                (
                    SELECT task_id, attempt, time, CAST(fields, 'Array(Tuple(String, String))') AS items
                    FROM events WHERE task_id IN {TASKS} AND kind = 'params'
                )
                ARRAY JOIN items AS item
                GROUP BY parameter, task
            )
        )
        WHERE values > 1 OR tasks < length({TASKS})
        ORDER BY parameter, task
        LIMIT 5000
        """,
    )
    return panel.with_transformation(
        models.DataTransformerConfig(
            id_val="groupingToMatrix", options={"columnField": "task", "rowField": "parameter", "valueField": "value"}
        )
    )
