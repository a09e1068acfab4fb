"""The Fleet dashboard: which tasks there are, how they are, and which need somebody.

A panel looks at the newest tasks that the search finds and that were alive in the time range; a task's health is that of now.
"""

from __future__ import annotations

from grafana_foundation_sdk.builders import dashboard as build
from grafana_foundation_sdk.builders import stat, table, timeseries

from deploy.grafana import house
from deploy.grafana.house import RECENT
from deploy.grafana.task import UID as TASK_UID

UID = "trainwire-fleet"
NONE = "%20"  # the encoded value of an option for "no owner": a space, which no trimmed word is


def words(column: str) -> str:
    """Options of an owner, a project, a framework: made up by people, so the values are percent-encoded."""
    return f"""
    SELECT if({column} = '', '{NONE}', encodeURLComponent({column})) AS value, if({column} = '', '(none)', {column}) AS label
    FROM fleet WHERE {RECENT}
    GROUP BY {column} ORDER BY {column}
    LIMIT 500
"""


def matches(column: str) -> str:
    return f"has({house.decoded(column)}, if({column} = '', ' ', {column}))"


CHOSEN = f"""{RECENT}
        AND {matches("owner")} AND {matches("project")} AND {matches("framework")}"""


def dashboard() -> build.Dashboard:
    return (
        house.dashboard(UID, "Fleet", "All tasks: running, stalled, failed, finished", "now-24h", "30s")
        .with_variable(house.SEARCH)
        .with_variable(house.listed("owner", "Owner", words("owner"), many=True))
        .with_variable(house.listed("project", "Project", words("project"), many=True))
        .with_variable(house.listed("framework", "Framework", words("framework"), many=True))
        .with_variable(house.gateway_variable())
        .with_panel(counts().span(24).height(4))
        .with_panel(tasks().span(24).height(12))
        .with_panel(groups().span(12).height(9))
        .with_panel(slowest().span(12).height(9))
        .with_panel(non_finite().span(12).height(9))
        .with_panel(begun().span(12).height(9))
    )


def to_task(panel: table.Panel, column: str = "task") -> table.Panel:
    """The column's ids lead to the Task dashboard, the page and a viewer."""
    links = [
        house.link("Open the task", f"/d/{TASK_UID}?var-task_id=${{__value.text}}&${{__url_time_range}}"),
        *house.page_links("${__value.text}"),
    ]
    return panel.override_by_name(column, [house.prop("links", [item.build() for item in links])])


def counts() -> stat.Panel:
    return house.facts(
        "",
        f"""
        SELECT
            countIf(health = 'running') AS running, countIf(health IN ('stalled', 'silent')) AS stalled,
            countIf(health = 'failed') AS failed, countIf(health IN ('succeeded', 'stopped', 'ended')) AS finished
        FROM fleet
        WHERE {CHOSEN}
        """,
    )


def tasks() -> table.Panel:
    panel = house.rows(
        "Tasks, newest first",
        f"""
        SELECT
            task_id AS task, name, owner, project, framework, health, progress, seconds_left AS `time left`, started,
            last_seen AS `last line`, attempts, ranks, lines, toFloat64(bytes) AS bytes, message
        FROM fleet
        WHERE {CHOSEN}
        ORDER BY started DESC, task
        """,
    )
    return (
        to_task(panel)
        .override_by_name("health", [house.prop("mappings", house.health_mappings())])
        .override_by_name("progress", [house.prop("unit", "percentunit"), house.prop("decimals", 1)])
        .override_by_name("time left", [house.prop("unit", "s")])
        .override_by_name("bytes", [house.prop("unit", "bytes")])
    )


def groups() -> table.Panel:
    return house.rows(
        "By owner, project and framework",
        f"""
        SELECT
            pair.1 AS by, if(pair.2 = '', '(none)', pair.2) AS which,
            countIf(health = 'running') AS running, countIf(health IN ('stalled', 'silent')) AS stalled,
            countIf(health = 'failed') AS failed, countIf(health IN ('succeeded', 'stopped', 'ended')) AS finished
        FROM
        (
            SELECT health, [('owner', owner), ('project', project), ('framework', framework)] AS pairs
            FROM fleet
            WHERE {CHOSEN}
        )
        ARRAY JOIN pairs AS pair
        GROUP BY pair
        ORDER BY by, running + stalled + failed + finished DESC, which
        LIMIT 300
        """,
    )


def slowest() -> table.Panel:
    panel = house.rows(
        "Longest to go",
        f"""
        SELECT task_id AS task, name, seconds_left AS `time left`, rate AS `a second`, progress, progress_moved AS `last moved`
        FROM fleet
        WHERE {CHOSEN} AND health IN ('running', 'stalled', 'silent') AND progress < 1
        ORDER BY seconds_left IS NULL DESC, seconds_left DESC, task
        LIMIT 50
        """,
    )
    return (
        to_task(panel)
        .override_by_name("progress", [house.prop("unit", "percentunit")])
        .override_by_name("time left", [house.prop("unit", "s")])
    )


def non_finite() -> table.Panel:
    return to_task(
        house.rows(
            "NaN or infinity",
            f"""
            SELECT
                task_id AS task, name AS metric, toString(rank) AS rank, first_value AS value,
                ifNull(toString(first_step), '') AS `first at step`,
                first_time AS time, points
            FROM non_finite
            WHERE {RECENT} AND $__timeFilter_ms(last_time)
            ORDER BY last_time DESC, task, metric, non_finite.rank
            LIMIT 200
            """,
        )
    )


def begun() -> timeseries.Panel:
    return house.time_curves(
        "Tasks begun",
        """
        SELECT max(n.first_seen) AS time, 'tasks' AS series, count() AS value
        FROM found_tasks(search = '${search:percentencode}') AS n
        WHERE $__timeFilter_ms(n.first_seen)
        GROUP BY $__timeInterval(n.first_seen)
        ORDER BY time
        """,
    )
