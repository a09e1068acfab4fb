"""What Grafana does to a query before the store sees it, by its own rules, written down apart from the dashboards.

Variables: the syntaxes and formats of Grafana's template service (packages/…/templateSrv, variable formats). Macros: those of
the ClickHouse data source 4 (pkg/macros), which works on the text behind comments, with the ``(`` at once behind the name.
"""

from __future__ import annotations

import dataclasses
import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import quote

FOLDER = Path(__file__).parents[2] / "deploy" / "grafana"
_VARIABLE = re.compile(r"\$(\w+)|\[\[(\w+?)(?::(\w+))?\]\]|\$\{(\w+)(?:\.([^:^}]+))?(?::([^}]+))?\}")
Value = str | list[str]


@dataclasses.dataclass(frozen=True)
class Range:
    """A time range, milliseconds, and the interval that Grafana makes of it for a panel, seconds."""

    start: int
    end: int

    @property
    def interval(self) -> float:
        return max((self.end - self.start) / 1000 / 1000, 0.001)  # a thousand points a panel


@dataclasses.dataclass(frozen=True)
class Case:
    """One query as it stands in a committed file. `form`: 0 time series, 1 table, 2 logs; None where no frame is made."""

    where: str  # dashboard or file, and the panel, variable, annotation or rule
    kind: str  # panel, variable, annotation or alert
    sql: str
    form: int | None

    def __str__(self) -> str:
        return self.where


def cases() -> list[Case]:
    return [*_dashboard_cases(), *_alert_cases()]


def _dashboard_cases() -> Iterator[Case]:
    for path in sorted((FOLDER / "dashboards").glob("*.json")):
        dashboard = json.loads(path.read_text("utf-8"))
        for panel in all_panels(dashboard):
            for target in panel.get("targets", []):
                name = panel.get("title") or f"panel {panel['id']}"
                yield Case(f"{path.stem}: {name}", "panel", target["rawSql"], target["format"])
        for variable in dashboard["templating"]["list"]:
            if variable["type"] == "query":
                yield Case(f"{path.stem}: ${variable['name']}", "variable", variable["query"], None)
        for annotation in dashboard["annotations"].get("list", []):
            if "rawSql" in annotation.get("target", {}):
                yield Case(f"{path.stem}: @{annotation['name']}", "annotation", annotation["target"]["rawSql"], 1)


def _alert_cases() -> Iterator[Case]:
    for group in json.loads((FOLDER / "provisioning/alerting/rules.json").read_text("utf-8"))["groups"]:
        for rule in group["rules"]:
            for query in rule["data"]:
                if "rawSql" in query["model"]:
                    yield Case(f"alert: {rule['title']}", "alert", query["model"]["rawSql"], query["model"]["format"])


def all_panels(dashboard: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    for panel in dashboard["panels"]:
        yield panel
        yield from panel.get("panels", [])


def expand(sql: str, variables: Mapping[str, Value], span: Range) -> str:
    """What arrives at the store."""
    return _macros(_variables(sql, variables), span)


def _variables(sql: str, variables: Mapping[str, Value]) -> str:
    def replaced(match: re.Match[str]) -> str:
        name = match[1] or match[2] or match[4]
        if name not in variables:
            return match[0]
        return _formatted(variables[name], match[6] or match[3] or "")

    return _VARIABLE.sub(replaced, sql)


def _formatted(value: Value, form: str) -> str:
    if form == "singlequote":
        many = value if isinstance(value, list) else [value]
        return ",".join("'" + one.replace("'", "\\'") + "'" for one in many)
    if form == "percentencode":
        text = "{" + ",".join(value) + "}" if isinstance(value, list) else value
        return quote(text, safe="-_.~")
    raise AssertionError(f"no query here uses the format {form!r}: it does not quote")


def _macros(sql: str, span: Range) -> str:
    """Macros outside comments; the text keeps its length where a comment was."""
    out, position = [], 0
    bare = _without_comments(sql)
    for match in re.finditer(r"\$__(\w+)", bare):
        if match.start() < position:
            continue
        end, arguments = match.end(), None
        if bare[end : end + 1] == "(":
            end, arguments = _arguments(bare, end)
        text = _macro(match[1], arguments, span)
        if text is not None:
            out.append(bare[position : match.start()] + text)
            position = end
    return "".join(out) + bare[position:]


def _macro(name: str, arguments: list[str] | None, span: Range) -> str | None:
    seconds = [f"toDateTime({span.start // 1000})", f"toDateTime({span.end // 1000})"]
    millis = [f"fromUnixTimestamp64Milli({span.start})", f"fromUnixTimestamp64Milli({span.end})"]
    plain = {"fromTime": seconds[0], "toTime": seconds[1], "fromTime_ms": millis[0], "toTime_ms": millis[1]}
    if name in plain:
        return plain[name]
    if name == "interval_s":
        return str(int(max(span.interval, 1)))
    if name not in ("timeFilter", "timeFilter_ms", "timeInterval", "timeInterval_ms"):
        return None
    assert arguments is not None, f"${name} takes an argument"
    [column] = arguments
    if name == "timeInterval":
        return f"toStartOfInterval(toDateTime({column}), INTERVAL {int(max(span.interval, 1))} second)"
    if name == "timeInterval_ms":
        return f"toStartOfInterval(toDateTime64({column}, 3), INTERVAL {int(max(span.interval * 1000, 1))} millisecond)"
    low, high = seconds if name == "timeFilter" else millis
    return f"{column} >= {low} AND {column} <= {high}"


def _arguments(text: str, start: int) -> tuple[int, list[str]]:
    depth, begin, found = 0, start + 1, list[str]()
    for position in range(start, len(text)):
        if text[position] == "(":
            depth += 1
        elif text[position] == ")":
            depth -= 1
            if depth == 0:
                return position + 1, [*found, text[begin:position].strip()]
        elif text[position] == "," and depth == 1:
            found.append(text[begin:position].strip())
            begin = position + 1
    raise AssertionError("a macro's parenthesis is not closed")


def _without_comments(sql: str) -> str:
    pattern = re.compile(r"'(?:\\.|''|[^'\\])*'|`[^`]*`|\"[^\"]*\"|--[^\n]*|/\*.*?\*/", re.DOTALL)
    return pattern.sub(lambda match: " " * len(match[0]) if match[0][:2] in ("--", "/*") else match[0], sql)
