"""A query of Grafana's ClickHouse data source, in the shape that its version 4 reads: `types/sql.ts` there.

Rules that every query here keeps, because that data source asks for them:

- Names without a database: the data source's own default database counts.
- A single value is ``${name:singlequote}`` (its escape is for quotes only, so it is for values that cannot hold a
  backslash: task ids and numbers). Free text and values that people or tasks made up travel percent-encoded
  (``'${name:percentencode}'``, or options whose values are encoded already), and are decoded by the store.
- Macros: the ``(`` follows the name at once. ``$__timeFilter_ms`` for columns with milliseconds.
- Time series: a time column, ascending, and one row per time and labels. An axis of steps: a table, and a trend panel.
- ``$__conditionalAll`` is never used: it is wrong in repeated rows, and alerts do not know it.
"""

from __future__ import annotations

import dataclasses
import enum
import textwrap
from typing import Any, Self

from grafana_foundation_sdk.cog import builder as cogbuilder
from grafana_foundation_sdk.cog import plugins as cogplugins
from grafana_foundation_sdk.cog import runtime as cogruntime
from grafana_foundation_sdk.cog import variants as cogvariants
from grafana_foundation_sdk.models.dashboard import AnnotationQuery, Dashboard, DataSourceRef

PLUGIN = "grafana-clickhouse-datasource"
PLUGIN_VERSION = "4.14.1"
DATASOURCE_UID = "trainwire-clickhouse"  # fixed, so that dashboards find it after every restart and install
DATASOURCE = DataSourceRef(type_val=PLUGIN, uid=DATASOURCE_UID)


class Form(enum.Enum):
    """How the data source turns rows into frames: (number in `format`, word in `queryType`)."""

    TIME_SERIES = (0, "timeseries")
    TABLE = (1, "table")
    LOGS = (2, "logs")


@dataclasses.dataclass(frozen=True)
class ClickHouseQuery(cogvariants.Dataquery):
    """One query: `sql` with macros and variables as Grafana replaces them."""

    ref: str
    sql: str
    form: Form

    def to_json(self) -> dict[str, object]:
        number, word = self.form.value
        return {
            "datasource": DATASOURCE,
            "editorType": "sql",
            "format": number,
            "meta": {"timezone": "UTC"},
            "pluginVersion": PLUGIN_VERSION,
            "queryType": word,
            "rawSql": self.sql,
            "refId": self.ref,
        }

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> Self:
        return cls(data["refId"], data["rawSql"], next(form for form in Form if form.value[0] == data["format"]))


class Query(cogbuilder.Builder[cogvariants.Dataquery]):
    """Builder of one query, for the SDK's panels; the text is dedented."""

    def __init__(self, sql: str, form: Form, ref: str = "A") -> None:
        self._query = ClickHouseQuery(ref, dedent(sql), form)

    def build(self) -> ClickHouseQuery:
        return self._query


class Annotation(cogbuilder.Builder[AnnotationQuery]):
    """Builder of an annotation: columns time, title, text and tags."""

    def __init__(self, name: str, color: str, sql: str) -> None:
        self._name, self._color = name, color
        self._query = ClickHouseQuery("annotation", dedent(sql), Form.TABLE)

    def build(self) -> AnnotationQuery:
        annotation = AnnotationQuery(name=self._name, datasource=DATASOURCE, icon_color=self._color)
        _set_target(annotation, self._query)
        return annotation


def dedent(sql: str) -> str:
    return textwrap.dedent(sql).strip()


def load(data: dict[str, Any]) -> Dashboard:
    """A dashboard from its JSON, in the SDK's own types. Annotations' queries are kept, which the SDK alone would drop."""
    cogplugins.register_default_plugins()
    cogruntime.register_dataquery_variant(cogruntime.DataqueryConfig(identifier=PLUGIN, from_json_hook=ClickHouseQuery.from_json))
    dashboard = Dashboard.from_json(data)
    for annotation, raw in zip(dashboard.annotations.list_val or [], data["annotations"].get("list", []), strict=True):
        if raw["datasource"].get("uid") == DATASOURCE_UID:
            _set_target(annotation, ClickHouseQuery.from_json(raw["target"]))
    return dashboard


def _set_target(annotation: AnnotationQuery, query: ClickHouseQuery) -> None:
    # the SDK types a target as the built-in data source's own; it writes whatever has a `to_json`
    vars(annotation)["target"] = query
