"""`trainwirectl parse FILE`: the worker's own extraction on a file, without any service."""

from __future__ import annotations

import math
import re
from bisect import bisect_right
from pathlib import Path
from typing import Any

import click
import orjson

from schemas.framing import Container, frame
from stream_jobs.extract import Options, Points, State, extract


_CRI = re.compile(rb"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\S* (?:stdout|stderr) [PF] ")


def _number(value: float) -> float | str:
    if math.isfinite(value):
        return value
    return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"


def _rows(points: Points, numbers: list[int]) -> list[bytes]:
    rows: list[dict[str, Any]] = [
        {"line": numbers[line], "step": step, "epoch": epoch, "name": name, "value": _number(value)}
        for line, step, epoch, name, value in zip(points.line, points.step, points.epoch, points.name, points.value, strict=True)
    ]
    return [orjson.dumps(row) for row in rows]


@click.command(name="parse")
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
def command(file: Path) -> None:
    """Extract the points of FILE: one JSON object a point, with the 1-based number of its line."""
    data = file.read_bytes()
    container: Container = "cri" if _CRI.match(data) else "plain"
    lines = frame(data, 0, container)
    starts = [0]
    while (end := data.find(b"\n", starts[-1]) + 1) > 0:
        starts.append(end)
    _, points, _ = extract(State(), lines, Options(container=container))
    numbers = [bisect_right(starts, offset) for offset in lines.offsets]
    for row in _rows(points, numbers):
        click.echo(row)
