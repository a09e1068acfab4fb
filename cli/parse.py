"""`trainwirectl parse FILE`: the worker's own extraction on a file, without any service."""

from __future__ import annotations

import math
from bisect import bisect_right
from pathlib import Path

import click
import orjson

from cli.framed import container_of, deltas
from runtime.errors import PermanentError
from schemas.framing import CONTAINERS, Container, Lines
from schemas.patterns import sifted
from stream_jobs.extract import Options, Points, State, extract

_SHOWN = 160  # characters of a line that --explain shows


def _number(value: float) -> float | str:
    if math.isfinite(value):
        return value
    return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"


def _rows(points: Points, numbers: list[int]) -> bytes:
    columns = zip(points.line, points.step, points.epoch, points.name, points.value, strict=True)
    rows = [
        orjson.dumps({"line": numbers[line], "step": step, "epoch": epoch, "name": name, "value": _number(value)})
        for line, step, epoch, name, value in columns
    ]
    return b"".join(row + b"\n" for row in rows)


@click.command(name="parse")
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option("--explain", is_flag=True, help="Show for each line which rule read what, and why.")
@click.option("--pattern", multiple=True, help="A pattern to try: named groups value, name, step, epoch, or a metric each.")
@click.option("--container", type=click.Choice(CONTAINERS), help="How the file frames its lines [default: by its looks].")
def command(file: Path, explain: bool, pattern: tuple[str, ...], container: Container | None) -> None:
    """Extract the points of FILE: one JSON object a point, with the 1-based number of its line."""
    given, refused = sifted(pattern)
    if refused:
        raise PermanentError(f"--pattern {refused[0][0]!r}: {refused[0][1]}")
    data = file.read_bytes()
    kind = container or container_of(file, data)
    options = Options(container=kind)
    starts = [0]
    while kind != "tfevents" and (end := data.find(b"\n", starts[-1]) + 1) > 0:
        starts.append(end)
    out = click.get_binary_stream("stdout")
    state, before = State(given=given), 0
    for lines in deltas(data, kind):
        if kind == "tfevents":
            numbers = list(range(before + 1, before + 1 + len(lines.texts)))
        else:
            numbers = [bisect_right(starts, offset) for offset in lines.offsets]
        before += len(lines.texts)
        if explain:
            state = _explain(lines, numbers, options, state)
            continue
        state, points, _ = extract(state, lines, options)
        out.write(_rows(points, numbers))


def _explain(lines: Lines, numbers: list[int], options: Options, state: State) -> State:
    from stream_jobs.extract.explain import explain  # only this flag needs it; `parse` starts faster without

    for found in explain(lines, options, state):
        text = found.text.strip()
        click.secho(f"{numbers[found.index]:6}  {text[:_SHOWN]}{'…' if len(text) > _SHOWN else ''}", bold=True)
        click.echo(f"        read as: {found.rule}")
        for note in found.notes:
            click.echo(f"        - {note}")
        points, events = found.points, found.events
        columns = zip(points.name, points.value, points.step, points.epoch, points.source, strict=True)
        for name, value, step, epoch, source in columns:
            click.secho(f"        = {name} {_number(value)} (step {step}, epoch {epoch}; {source})", fg="green")
        for i in range(len(events)):
            click.secho(f"        ! {events.kind[i]} {events.message[i][:_SHOWN]} {events.fields[i] or ''}", fg="yellow")
        state = found.state
    return state
