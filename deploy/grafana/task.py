"""The Task dashboard: everything about one task at a glance. A panel is a function, named by what it shows.

Every query names the task, so it reads that task's granules only. What the task is now (health, completeness, parameters)
does not depend on the time range; curves, lines and events are those inside it, both ends included.
"""

from __future__ import annotations

from grafana_foundation_sdk.builders import dashboard as build
from grafana_foundation_sdk.builders import stat, statetimeline, table, timeseries, trend
from grafana_foundation_sdk.models import common

from deploy.grafana import house, task_rows
from deploy.grafana.query import Annotation
from deploy.grafana.task_rows import TASK

UID = "trainwire-task"

EACH = house.choice("each", "Attempts", {"Stitched": "0", "Each attempt": "1"}, "0")

METRICS = f"""
    SELECT encodeURLComponent(name) AS value, name AS label
    FROM metric_names WHERE task_id = {TASK}
    ORDER BY positionCaseInsensitive(name, 'loss') = 0, name
    LIMIT 500
"""

RANKS = f"""
    SELECT toString(rank) AS value, concat('rank ', toString(rank)) AS label
    FROM files WHERE task_id = {TASK}
    GROUP BY files.rank ORDER BY files.rank
"""


SERIES = f"concat({house.curve_label('name')}, if(kind = 'finite', '', concat(' ', kind)))"


def drawn(axis: str) -> str:
    """The chosen metrics of the task."""
    return house.drawn_curves(f"[{TASK}]", house.chosen("metric"), axis, house.POINTS)


def dashboard() -> build.Dashboard:
    return (
        house.dashboard(UID, "Task", "One task: curves, progress, ranks, log and events", "now-24h", "10s")
        .with_variable(house.SEARCH)
        .with_variable(house.listed("task_id", "Task", house.TASKS))
        .with_variable(house.listed("metric", "Metric", METRICS, many=True))
        .with_variable(house.listed("rank", "Rank", RANKS, many=True))
        .with_variable(EACH)
        .with_variable(house.text("line", "Log line", "Part of a log line; empty shows all"))
        .with_variable(house.gateway_variable())
        .annotation(first_non_finite())
        .annotation(task_events())
        .with_panel(now().span(24).height(4))
        .with_panel(in_words().span(24).height(3))
        .with_row(build.Row("Metrics by step"))
        .with_panel(by_step().span(12).height(10).repeat("metric").repeat_direction("h"))
        .with_row(build.Row("Metrics by time").collapsed(True).with_panel(by_time().span(24).height(12)))
        .with_row(build.Row("Progress"))
        .with_panel(status().span(12).height(7))
        .with_panel(progress().span(6).height(7))
        .with_panel(throughput().span(6).height(7))
        .with_row(build.Row("Ranks"))
        .with_panel(rank_spread().span(16).height(8))
        .with_panel(slowest_rank().span(8).height(8))
        .with_row(build.Row("Log and events"))
        .with_panel(task_rows.log_lines().span(24).height(12))
        .with_panel(task_rows.event_rows().span(12).height(9))
        .with_panel(task_rows.latest_values().span(12).height(9))
        .with_panel(task_rows.parameters().span(8).height(9))
        .with_panel(task_rows.files().span(16).height(9))
    )


def first_non_finite() -> Annotation:
    return Annotation(
        "First NaN or infinity",
        "red",
        f"""
        SELECT
            first_time AS time, concat(name, ' is ', toString(first_value)) AS title,
            concat('first at step ', ifNull(toString(first_step), 'unknown'), ', rank ', toString(rank), ', ',
                toString(points), ' in all') AS text,
            'non-finite' AS tags
        FROM non_finite
        WHERE task_id = {TASK} AND $__timeFilter_ms(first_time)
        ORDER BY time, title, text
        LIMIT 200
        """,
    )


def task_events() -> Annotation:
    return Annotation(
        "Events",
        "blue",
        f"""
        SELECT e.time AS time, e.kind AS title, substring(e.message, 1, 400) AS text, concat('rank ', toString(e.rank)) AS tags
        FROM events AS e
        WHERE e.task_id = {TASK} AND e.kind NOT IN ('header', 'params', 'progress') AND $__timeFilter_ms(e.time)
        ORDER BY time, title, tags, text
        LIMIT 500
        """,
    )


def now() -> stat.Panel:
    panel = house.facts(
        "",
        f"""
        SELECT
            health, progress, seconds_left AS `time left`, rate AS `a second`, toString(attempts) AS attempts,
            concat(toString(ranks), ' of ', toString(world_size)) AS ranks, quiet_seconds AS `last line ago`,
            if(owner = '', '-', owner) AS owner, if(project = '', '-', project) AS project
        FROM fleet AS f
        WHERE f.task_id = {TASK}
        """,
    )
    return (
        panel.override_by_name("health", [house.prop("mappings", house.health_mappings())])
        .override_by_name("progress", [house.prop("unit", "percentunit"), house.prop("decimals", 1)])
        .override_by_name("time left", [house.prop("unit", "s")])
        .override_by_name("last line ago", [house.prop("unit", "s")])
        .override_by_name("a second", [house.prop("decimals", 2)])
    )


def in_words() -> stat.Panel:
    return house.facts(
        "",
        f"""
        SELECT
            (
                SELECT multiIf(
                    health = 'running', concat('fresh: a line ', formatReadableTimeDelta(greatest(quiet_seconds, 0)), ' ago'),
                    health = 'stalled', concat('alive, but no new line for ', formatReadableTimeDelta(quiet_seconds)),
                    health = 'silent', concat('nobody has reported for ', formatReadableTimeDelta(unheard_seconds)),
                    concat(health, if(message = '', '', concat(': ', substring(message, 1, 120)))))
                FROM fleet WHERE task_id = {TASK}
            ) AS freshness,
            (
                SELECT multiIf(
                    count() = 0, 'no file is known',
                    countIf(notEmpty(missing) OR error != '') = 0,
                        concat('every byte is stored: ', toString(count()), ' files, ', formatReadableSize(sum(stored))),
                    concat(toString(countIf(notEmpty(missing) OR error != '')), ' of ', toString(count()), ' files: ',
                        anyIf(verdict, notEmpty(missing) OR error != '')))
                FROM completeness WHERE task_id = {TASK}
            ) AS completeness
        """,
    ).text_mode(common.BigValueTextMode.VALUE)


def by_step() -> trend.Panel:
    panel = house.step_curves(
        "${metric:text} by step",
        f"""
        SELECT x AS step, {SERIES} AS series, drawn_at AS value
        FROM {drawn("step")}
        WHERE has({house.chosen("rank")}, toString(rank))
        ORDER BY step, series
        """,
        "step",
    )
    return panel.data_links(house.page_links("${task_id}", "#metric=${metric}&step=${__data.fields.step}"))


def by_time() -> timeseries.Panel:
    panel = house.time_curves(
        "Metrics by time",
        f"""
        SELECT time, {SERIES} AS series, drawn_at AS value
        FROM {drawn("time")}
        WHERE has({house.chosen("rank")}, toString(rank))
        ORDER BY time, series
        """,
    )
    return panel.data_links(house.page_links("${task_id}", "#axis=time"))


def status() -> statetimeline.Panel:
    return house.timeline(
        "Status",
        f"""
        SELECT
            e.time AS time, concat('rank ', toString(e.rank)) AS series,
            argMax(e.fields['status'], (e.attempt, e.kind != 'status', e.file_id, e.offset, e.place)) AS state
        FROM events AS e
        WHERE e.task_id = {TASK} AND e.kind IN ('status', 'finished', 'end')
            AND e.fields['status'] != '' AND $__timeFilter_ms(e.time)
        GROUP BY e.time, e.rank
        ORDER BY time, series
        """,
    )


def progress() -> timeseries.Panel:
    return house.time_curves(
        "Progress",
        f"""
        SELECT
            max(e.time) AS time, concat('rank ', toString(e.rank), ' · attempt ', toString(e.attempt)) AS series,
            max(toFloat64OrZero(e.fields['done'])) AS value
        FROM events AS e
        WHERE e.task_id = {TASK} AND e.kind = 'progress' AND $__timeFilter_ms(e.time)
        GROUP BY $__timeInterval(e.time), e.rank, e.attempt
        ORDER BY time, series
        """,
    )


def throughput() -> timeseries.Panel:
    return house.time_curves(
        "Stored a second",
        f"""
        SELECT time, rate.1 AS series, rate.2 AS value
        FROM
        (
            SELECT
                max(b.arrived) AS time,
                [('lines', sum(b.lines) / $__interval_s), ('points', sum(b.points) / $__interval_s)] AS rates
            FROM batches AS b
            WHERE b.task_id = {TASK} AND $__timeFilter_ms(b.arrived)
            GROUP BY $__timeInterval(b.arrived)
        )
        ARRAY JOIN rates AS rate
        ORDER BY time, series
        """,
    )


def rank_spread() -> trend.Panel:
    return house.step_curves(
        "How far the ranks are apart",
        f"""
        SELECT at AS step, concat(name, ' · ', curve.1) AS series, curve.2 AS value
        FROM
        (
            SELECT
                name, max(step) AS at,
                [('lowest', min(lowest)), ('mean', avg(mean)), ('highest', max(highest))] AS curves
            FROM
            (
                SELECT
                    name, step, lowest, mean, highest, min(step) OVER metric AS first, max(step) OVER metric AS last,
                    -- 600 parts with three values each: 1,800 points a metric
                    toInt32(least(599, (toFloat64(step) - first) / greatest(toFloat64(last) - first, 1) * 600)) AS part
                FROM rank_spread
                WHERE task_id = {TASK} AND name IN {house.decoded("metric")} AND ranks > 1 AND $__timeFilter_ms(time)
                WINDOW metric AS (PARTITION BY name)
            )
            GROUP BY name, part
        )
        ARRAY JOIN curves AS curve
        ORDER BY step, series
        """,
        "step",
    )


def slowest_rank() -> table.Panel:
    return house.rows(
        "Who comes last",
        f"""
        SELECT toString(slowest_rank) AS rank, count() AS `steps it was last`, avg(spread_ms) / 1000 AS `seconds behind the first`
        FROM rank_spread
        WHERE task_id = {TASK} AND name IN {house.decoded("metric")} AND ranks > 1 AND $__timeFilter_ms(time)
        GROUP BY slowest_rank
        ORDER BY 2 DESC, 1
        LIMIT 100
        """,
    )
