"""Grafana's side of the contract: variables as a person chose them, queries as the read-only user, frames as they must be."""

from __future__ import annotations

import math
import re
from typing import Any
from urllib.parse import quote

from clickhouse_connect.driver.client import Client

from tests.contract.grafana_data import Data
from tests.contract.grafana_names import NAMES
from tests.contract.grafana_rules import Case, Range, Value, cases, expand

CASES = cases()
NAMED = {case.where: case for case in CASES}
# Columns that hold how long ago something was: they change from one second to the next.
DECODED = re.compile(
    r"(LowCardinality\()?(Nullable\()?(String|Bool|U?Int(8|16|32|64)|Float(32|64)|DateTime(64)?(\([^()]*\))?|Enum8\(.*\))\)*"
)
AGES = {"last line ago", "freshness", "time left", "last report"}


class Grafana:
    """Sends queries as the read-only user, expanded by Grafana's rules."""

    def __init__(self, reader: Client, data: Data) -> None:
        self.reader, self.data = reader, data

    def ask(self, where: str | Case, span: Range | None = None, **variables: Value) -> list[dict[str, Any]]:
        """Rows of a query, by its place, with the usual choices but those given."""
        case = NAMED[where] if isinstance(where, str) else where
        return self.sql(expand(case.sql, chosen(case, variables), span or self.data.span))

    def sql(self, text: str) -> list[dict[str, Any]]:
        result = self.reader.query(text)
        for name, kind in zip(result.column_names, result.column_types, strict=True):
            # what the data source's converters know; states of aggregates, maps, tuples and arrays it cannot show
            assert DECODED.fullmatch(kind.name), f"{name} is a {kind.name}"
        return list(result.named_results())

    def granules(self, where: str | Case, span: Range | None = None, **variables: Value) -> list[tuple[str, int, int, int]]:
        """One entry a reading of a table: (table, granules read, granules there, parts there), as EXPLAIN tells it."""
        case = NAMED[where] if isinstance(where, str) else where
        text = expand(case.sql, chosen(case, variables), span or self.data.span)
        lines = [str(row[0]).strip(" │├└─") for row in self.reader.query(f"EXPLAIN indexes = 1 {text}").result_rows]
        found: list[tuple[str, int, int, int]] = []
        for line in lines:
            if reading := re.match(r"ReadFromMergeTree \((?:\w+\.)?(\w+)\)", line):
                found.append((reading[1], 0, 0, 0))
            elif found and (seen := re.fullmatch(r"(Parts|Granules): (\d+)/(\d+)", line)):
                table, read, there, parts = found[-1]
                if seen[1] == "Parts":
                    parts = max(parts, int(seen[3]))
                else:  # one line an index, each of what the one before it left
                    read, there = int(seen[2]), max(there, int(seen[3]))
                found[-1] = (table, read, there, parts)
        return found


def encoded(name: str) -> str:
    return quote(name, safe="-_.~")


def chosen(case: Case, given: dict[str, Value]) -> dict[str, Value]:
    """Every variable's value: the usual one, or that given. A metric is given by its names; Compare takes one of them."""
    values: dict[str, Value] = {
        "search": "",
        "task_id": "attempts",
        "task_ids": ["attempts", "ranks", "broken", "replayed", "sources"],
        "metric": ["loss"],
        "rank": ["0", "1", "2", "3"],
        "each": "0",
        "line": "",
        "smoothing": "0",
        "better": "lower",
        "owner": ["%20", *(encoded(name) for name in NAMES)],
        "project": ["%20", *(encoded(name) for name in NAMES)],
        "framework": ["%20", "pytorch"],
        **given,
    }
    names = [encoded(name) for name in values["metric"]]
    return values | {"metric": names[0] if case.where.startswith("compare") else names}


def axis_of(case: Case, names: list[str]) -> str | None:
    """The column that a frame's rows are ordered by, where it has one."""
    if case.kind == "annotation" or case.form == 0:
        return "time"
    if case.form == 2:
        return "timestamp"
    return names[0] if names[0] in ("step", "seconds") else None


def check_frame(case: Case, rows: list[dict[str, Any]], span: Range) -> None:
    """What each kind of frame asks for: names, types that decode, ascending places, one row per place and labels."""
    names = list(rows[0])
    if case.kind == "variable":
        assert names == ["value", "label"]
        assert all(isinstance(row["value"], str) and isinstance(row["label"], str) for row in rows)
        assert len({row["value"] for row in rows}) == len(rows), "an option twice"
        return
    if case.kind == "alert":
        assert all(isinstance(row[name], float if name == "value" else str) for row in rows for name in names)
        labels = [tuple(row[name] for name in names if name != "value") for row in rows]
        assert len(labels) == len(set(labels)), "two rows for one alert"
        return
    if case.kind == "annotation":
        assert names == ["time", "title", "text", "tags"]
    axis = axis_of(case, names)
    if axis is None:
        return
    places = [row[axis] for row in rows]
    assert places == sorted(places), f"{axis} does not ascend"
    if case.form == 0 or axis in ("step", "seconds"):
        assert names == [axis, "series", "value"]
        keys = [(row[axis], row["series"]) for row in rows]
        assert len(keys) == len(set(keys)), "two rows at one place of a curve"
    if axis in ("time", "timestamp"):
        stamps = milliseconds(rows, axis)
        assert span.start <= stamps[0]
        assert stamps[-1] <= span.end


def milliseconds(rows: list[dict[str, Any]], column: str) -> list[int]:
    return [round(row[column].timestamp() * 1000) for row in rows]


def plain(case: Case, rows: list[dict[str, Any]]) -> list[tuple[Any, ...]]:
    """Rows that can be compared: NaN is equal to itself, ages are left out, sums may differ in the 12th digit."""

    def value(item: Any) -> Any:
        if isinstance(item, float):
            return "NaN" if math.isnan(item) else float(f"{item:.12g}")
        return item

    ages = AGES | ({"value"} if case.where in ("alert: Task stalled", "alert: No progress") else set())
    return [tuple(value(item) for name, item in row.items() if name not in ages) for row in rows]
