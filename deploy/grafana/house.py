"""House defaults: how a panel, a variable and a dashboard look here, and the SQL that several of them share."""

from __future__ import annotations

from typing import Any, TypeVar

from grafana_foundation_sdk.builders import common as common_build
from grafana_foundation_sdk.builders import dashboard as build
from grafana_foundation_sdk.builders import logs, stat, statetimeline, table, timeseries, trend
from grafana_foundation_sdk.cog import builder as cogbuilder
from grafana_foundation_sdk.models import common
from grafana_foundation_sdk.models import dashboard as models

from deploy.grafana.query import DATASOURCE, Form, Query, dedent

AnyPanel = TypeVar("AnyPanel", logs.Panel, stat.Panel, statetimeline.Panel, table.Panel, timeseries.Panel, trend.Panel)
CurvesPanel = TypeVar("CurvesPanel", timeseries.Panel, trend.Panel)

TAG = "trainwire"  # ours carry it, and a uid that begins with it: `push` touches nothing else
FOLDER_UID, FOLDER_TITLE = "trainwire", "trainwire"
ALL_TASKS = 10_000  # tasks that the list offers, newest first; a search finds the others
NEWEST = 1_000  # tasks that a panel of the fleet looks at: more rows are not read by people, and each costs a join
POINTS = 2_000  # drawn of one metric of one task: about one a pixel of a wide screen

# The gateway's address is a variable, so that links work wherever it runs; `push --gateway` sets it.
DEFAULT_GATEWAY = "http://127.0.0.1:8080"

# Words for the health of a task, in the colours that go with them.
HEALTH_COLORS = {
    "running": "green",
    "succeeded": "blue",
    "stopped": "light-blue",
    "ended": "purple",
    "stalled": "orange",
    "silent": "dark-orange",
    "failed": "red",
}


def dashboard(uid: str, title: str, description: str, since: str, refresh: str) -> build.Dashboard:
    """An empty dashboard of ours. Times are UTC, as the store's are."""
    return (
        build.Dashboard(title)
        .uid(uid)
        .description(description)
        .tags([TAG])
        .timezone("utc")
        .time(since, "now")
        .refresh(refresh)
        .tooltip(models.DashboardCursorSync.CROSSHAIR)
        .link(
            build.DashboardLink("trainwire")
            .type(models.DashboardLinkType.DASHBOARDS)
            .tags([TAG])
            .as_dropdown(True)
            .keep_time(True)
        )
    )


def text(name: str, label: str, description: str, default: str = "") -> build.TextBoxVariable:
    """What a person types. In SQL: `typed(name)`."""
    return build.TextBoxVariable(name).label(label).description(description).default_value(default)


def choice(name: str, label: str, options: dict[str, str], default: str) -> build.CustomVariable:
    """One of fixed options, {text: value}. In SQL: `typed(name)`."""
    items = [models.VariableOption(selected=value == default, text=key, value=value) for key, value in options.items()]
    return (
        build.CustomVariable(name)
        .label(label)
        .values(", ".join(f"{key} : {value}" for key, value in options.items()))
        .options(items)
        .current(next(item for item in items if item.value == default))
    )


def listed(name: str, label: str, sql: str, *, many: bool = False) -> build.QueryVariable:
    """Options from a query of two columns, value and label, read again when the time range changes; order is the query's."""
    return (
        build.QueryVariable(name)
        .label(label)
        .datasource(DATASOURCE)
        .query(dedent(sql))
        .refresh(models.VariableRefresh.ON_TIME_RANGE_CHANGED)
        .sort(models.VariableSort.DISABLED)
        .multi(many)
        .include_all(many)
    )


def gateway_variable() -> build.ConstantVariable:
    return build.ConstantVariable("gateway").label("Gateway").value(DEFAULT_GATEWAY)


def typed(name: str) -> str:
    """A text or a choice as an SQL expression: percent-encoded by Grafana, so that no quote and no backslash arrives."""
    return f"decodeURLComponent('${{{name}:percentencode}}')"


def chosen(name: str) -> str:
    """Values of a variable of many as Array(String): none, one, several or all."""
    return f"CAST([${{{name}:singlequote}}], 'Array(String)')"


def decoded(name: str) -> str:
    """The same, where the options' values are percent-encoded because tasks or people made them up."""
    return f"arrayMap(v -> decodeURLComponent(v), {chosen(name)})"


SEARCH = text("search", "Search", "Part of a task's id or name, whatever its case; empty finds all")

TASKS = f"""
    SELECT task_id AS value, if(name = '', task_id, concat(name, ' · ', task_id)) AS label
    FROM found_tasks(search = '${{search:percentencode}}')
    ORDER BY first_seen DESC, task_id
    LIMIT {ALL_TASKS}
"""

RECENT = f"""task_id IN (
        SELECT task_id FROM found_tasks(search = '${{search:percentencode}}')
        WHERE last_seen >= $__fromTime_ms AND first_seen <= $__toTime_ms
        ORDER BY first_seen DESC LIMIT {NEWEST})"""


def drawn_curves(tasks: str, metrics: str, axis: str, points: int) -> str:
    """Curves of some tasks and metrics (expressions, arrays) over steps or time, drawn from few points, in the time range."""
    return (
        f"drawn_curves(tasks = {tasks}, metrics = {metrics}, axis = '{axis}', each = toUInt8OrZero({typed('each')}), "
        f"since = $__fromTime_ms, until = $__toTime_ms, points = {points})"
    )


def curve_label(*parts: str) -> str:
    """The name of a curve: what is given, and rank and attempt where there are several."""
    return (
        f"concat({', '.join(parts)}, if(max(rank) OVER () = min(rank) OVER (), '', concat(' · rank ', toString(rank))), "
        "if(attempt = 0, '', concat(' · attempt ', toString(attempt))))"
    )


def link(title: str, url: str) -> build.DashboardLink:
    return build.DashboardLink(title).type(models.DashboardLinkType.LINK).url(url).target_blank(True)


def page_links(task: str, mark: str = "") -> list[cogbuilder.Builder[models.DashboardLink]]:
    """To the page and to a viewer of a task (an expression of Grafana's); `mark` is what the page shall point at."""
    return [
        link("Open on the page", f"${{gateway}}/tasks/{task}{mark}"),
        link("Open in a viewer", f"${{gateway}}/view/{task}"),
    ]


def color(value: str) -> models.DynamicConfigValue:
    return models.DynamicConfigValue(id_val="color", value={"mode": "fixed", "fixedColor": value})


def prop(name: str, value: Any) -> models.DynamicConfigValue:
    return models.DynamicConfigValue(id_val=name, value=value)


def health_mappings() -> list[models.ValueMapping]:
    return [
        models.ValueMap(
            options={
                word: models.ValueMappingResult(color=paint, index=place, text=word)
                for place, (word, paint) in enumerate(HEALTH_COLORS.items())
            }
        )
    ]


# Marks of what is no number: a point where the curve last was, red, not joined by a line.
MARKS: list[models.DynamicConfigValue] = [
    prop("custom.drawStyle", "points"),
    prop("custom.pointSize", 9),
    color("red"),
]
MARK_PATTERN = "/ (NaN|-?Infinity)$/"


def step_curves(title: str, sql: str, x: str) -> trend.Panel:
    """Curves over numbers: rows of (x, series, value) become one column a series, joined on x."""
    return (
        _curves(trend.Panel(), title, sql, Form.TABLE)
        .with_transformation(_by_series())
        .with_transformation(models.DataTransformerConfig(id_val="joinByField", options={"byField": x, "mode": "outer"}))
        .x_field(x)
    )


def time_curves(title: str, sql: str) -> timeseries.Panel:
    """Curves over time: rows of (time, series, value), ascending."""
    return _curves(timeseries.Panel(), title, sql, Form.TIME_SERIES).display_name("${__field.labels.series}")


def rows(title: str, sql: str) -> table.Panel:
    """A table of what the query gives."""
    return asking(table.Panel(), title, sql, Form.TABLE).show_header(True).no_value("none")


def facts(title: str, sql: str) -> stat.Panel:
    """One row, each column a large word or number."""
    reduce = common_build.ReduceDataOptions().calcs(["lastNotNull"]).fields("/.*/").values(False)
    return (
        asking(stat.Panel(), title, sql, Form.TABLE)
        .reduce_options(reduce)
        .graph_mode(common.BigValueGraphMode.NONE)
        .color_mode(common.BigValueColorMode.VALUE)
        .text_mode(common.BigValueTextMode.VALUE_AND_NAME)
        .no_value("unknown")
    )


def timeline(title: str, sql: str) -> statetimeline.Panel:
    """Words over time, a line a series: rows of (time, series, state). A table, because words would become labels."""
    return (
        asking(statetimeline.Panel(), title, sql, Form.TABLE)
        .with_transformation(_by_series())
        .display_name("${__field.labels.series}")
        .mappings(health_mappings())
        .fill_opacity(70)
        .merge_values(True)
    )


def asking(panel: AnyPanel, title: str, sql: str, form: Form) -> AnyPanel:
    """What every panel has: a title, the data source and one query."""
    return panel.title(title).datasource(DATASOURCE).with_target(Query(sql, form))


def _curves(panel: CurvesPanel, title: str, sql: str, form: Form) -> CurvesPanel:
    return (
        asking(panel, title, sql, form)
        .line_width(1)
        .span_nulls(True)
        .show_points(common.VisibilityMode.AUTO)
        .legend(_legend())
        .tooltip(_tooltip())
        .override_by_regexp(MARK_PATTERN, MARKS)
    )


def _by_series() -> models.DataTransformerConfig:
    return models.DataTransformerConfig(id_val="partitionByValues", options={"fields": ["series"], "keepFields": False})


def _legend() -> common_build.VizLegendOptions:
    return (
        common_build.VizLegendOptions()
        .show_legend(True)
        .display_mode(common.LegendDisplayMode.LIST)
        .placement(common.LegendPlacement.BOTTOM)
        .calcs(["lastNotNull", "min"])
    )


def _tooltip() -> common_build.VizTooltipOptions:
    return common_build.VizTooltipOptions().mode(common.TooltipDisplayMode.MULTI).sort(common.SortOrder.NONE)
