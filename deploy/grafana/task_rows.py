"""The Task dashboard's log and tables: lines, events, latest values, parameters, files."""

from __future__ import annotations

from grafana_foundation_sdk.builders import logs, table
from grafana_foundation_sdk.models import common

from deploy.grafana import house
from deploy.grafana.query import Form

TASK = "${task_id:singlequote}"
LINES = 1_000  # newest log lines of the range: what a person scrolls through


def log_lines() -> logs.Panel:
    panel = house.asking(
        logs.Panel(),
        "Log",
        f"""
        SELECT timestamp, body, level, rank, attempt, stream
        FROM
        (
            SELECT
                l.time AS timestamp, l.text AS body,
                multiIf(
                    match(l.text, '(?i)(^|[^a-z])(error|exception|traceback|fatal)'), 'error',
                    match(l.text, '(?i)(^|[^a-z])warn'), 'warning', 'info') AS level,
                toString(l.rank) AS rank, toString(l.attempt) AS attempt, l.stream AS stream,
                l.file_id AS file_id, l.offset AS offset
            FROM lines AS l
            WHERE l.task_id = {TASK} AND l.kind != 'record' AND $__timeFilter_ms(l.time)
                AND positionCaseInsensitiveUTF8(l.text, {house.typed("line")}) > 0
                AND has({house.chosen("rank")}, toString(l.rank))
            ORDER BY l.time DESC, l.file_id DESC, l.offset DESC
            LIMIT {LINES}
        )
        ORDER BY timestamp, file_id, offset
        """,
        Form.LOGS,
    )
    return (
        panel.show_time(True)
        .wrap_log_message(True)
        .sort_order(common.LogsSortOrder.DESCENDING)
        .dedup_strategy(common.LogsDedupStrategy.NONE)
    )


def event_rows() -> table.Panel:
    return house.rows(
        "Events",
        f"""
        SELECT
            e.time AS time, e.kind AS kind, e.message AS message, toString(e.rank) AS rank, toString(e.attempt) AS attempt,
            ifNull(toString(e.step), '') AS step, toString(e.fields) AS fields
        FROM events AS e
        WHERE e.task_id = {TASK} AND e.kind NOT IN ('header', 'params', 'progress') AND $__timeFilter_ms(e.time)
        ORDER BY time DESC, e.file_id, e.offset DESC, e.place DESC
        LIMIT 500
        """,
    )


def latest_values() -> table.Panel:
    return house.rows(
        "Latest values",
        f"""
        SELECT
            name AS metric, toString(rank) AS rank, value, ifNull(toString(step), '') AS step, lowest, highest, points,
            non_finite AS `not finite`, time
        FROM latest_values
        WHERE task_id = {TASK} AND name IN {house.decoded("metric")} AND has({house.chosen("rank")}, toString(latest_values.rank))
        ORDER BY metric, latest_values.rank
        LIMIT 1000
        """,
    ).override_by_name(
        "step", [house.prop("links", [item.build() for item in house.page_links("${task_id}", "#step=${__value.text}")])]
    )


def parameters() -> table.Panel:
    return house.rows(
        "Parameters",
        f"""
        SELECT item.1 AS parameter, argMax(item.2, (attempt, time)) AS value
        FROM
        (
            SELECT attempt, time, CAST(fields, 'Array(Tuple(String, String))') AS items
            FROM events WHERE task_id = {TASK} AND kind = 'params'
        )
        ARRAY JOIN items AS item
        GROUP BY parameter
        ORDER BY parameter
        LIMIT 2000
        """,
    )


def files() -> table.Panel:
    return house.rows(
        "Log files",
        f"""
        SELECT
            toString(completeness.path) AS path, toString(rank) AS rank, toString(attempt) AS attempt, verdict,
            toFloat64(completeness.written) AS written, toFloat64(completeness.stored) AS stored,
            last_heartbeat AS `last report`
        FROM completeness
        WHERE task_id = {TASK}
        ORDER BY completeness.rank, completeness.attempt, path
        LIMIT 1000
        """,
    ).override_by_regexp("^(written|stored)$", [house.prop("unit", "bytes")])
