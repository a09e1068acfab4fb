"""Tables: a header line names the columns of the rows below it. Aligned columns, pipes and boxes, CSV.

What is open is kept in the file's state, so that a row far from its header, in another delta, is read the same.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from stream_jobs.extract import names, numbers

ALIGNED, PIPE, CSV = "aligned", "pipe", "csv"
_GAP = re.compile(r"\t+|\s{2,}")
_RULE = re.compile(r"[\s\-=+|:─━═┼╪╋┿├┤┡╇┩┏┳┓└┴┘┌┬┐╭╮╰╯╞╡]+")
_PIPES = "|│┃║"
_CELL = re.compile(r"[\w./@:()%#\[\] '^*&+-]{1,80}")
_COUNTER = re.compile(r"([0-9]+)/([0-9]+)")
_SIGN = re.compile(r":(?:\s|$|[-+.0-9])")
_MISSING = {"", "-", "--", "---", "n/a", "na", "#na#", "none", "null", "."}
_CLOCK = re.compile(r"[0-9:.]+(?:\.[0-9]+)?(?:[a-zA-Z]{1,5}(?:/[a-z]+)?|%)?")
_OVERALL = {"all", "avg", "mean", "overall", "total", "average"}
_LABELS = {"class", "classes", "category", "label", "name"}
_KEYS = {"metric", "metrics", "test metric", "validate metric", "validation metric", "test_metric", "name", "key"}
MISSES = 64  # lines that are no rows before an aligned table is closed


@dataclass(frozen=True, slots=True)
class Table:
    kind: str
    columns: tuple[str, ...]


@dataclass(slots=True)
class Row:
    """What a row says: text of each value beside its name."""

    names: list[str]
    values: list[str]
    step: str | None = None
    epoch: str | None = None


def is_rule(text: str) -> bool:
    """A line of dashes and corners."""
    return _RULE.fullmatch(text) is not None and not text.isspace() and text != ""


def pipe_cells(text: str) -> list[str] | None:
    """The cells of a line between pipes, untrimmed; None where the line is none."""
    body = text.strip()
    if len(body) < 3 or body[0] not in _PIPES or body[-1] not in _PIPES:
        return None
    for pipe in _PIPES[1:]:
        body = body.replace(pipe, "|")
    return body[1:-1].split("|")


def header(text: str) -> Table | None:
    """The table that this line opens, or None."""
    body = text.strip(" \t|│┃║:")
    if len(body) > 8192:
        return None
    cells = pipe_cells(text)
    if cells is not None:
        return _opened(PIPE, [cell.strip() for cell in cells], 2)
    if "," in body:
        return (
            _opened(CSV, [cell.strip().strip('"') for cell in body.split(",")], 2)
            if "=" not in body and ": " not in body
            else None
        )
    if "  " in body or "\t" in body:
        return _opened(ALIGNED, _GAP.split(body), 2)
    return None


def _opened(kind: str, cells: list[str], least: int) -> Table | None:
    if len(cells) < least or len(cells) > 500:
        return None
    if not all(_CELL.fullmatch(cell) for cell in cells) or any(numbers.read(cell) is not None for cell in cells):
        return None
    if any(_COUNTER.search(cell) or "=" in cell or (kind != CSV and _SIGN.search(cell)) for cell in cells):
        return None
    counts = any(names.column_epoch(cell) or names.column_step(cell) is not None for cell in cells)
    metrics = sum(names.is_metric(cell) for cell in cells)
    words = max(len(cell.split()) for cell in cells)
    if kind == CSV and words > 1 and not (names.column_epoch(cells[0]) or names.column_step(cells[0]) is not None):
        return None
    labelled = names.plain(cells[0]) in _LABELS or cells[0].lower() in _KEYS
    if not (counts and (metrics or len(cells) > 2)) and metrics < 2 and not (labelled and (metrics or kind == PIPE)):
        return None
    return Table(kind, tuple(cells)) if words <= 4 else None


def row(table: Table, text: str) -> Row | None:
    """The row that this line is, or None."""
    body = text.strip(" \t")
    if table.kind == PIPE:
        raw = pipe_cells(text)
        cells = [cell.strip() for cell in raw] if raw is not None else []
    elif table.kind == CSV:
        cells = [cell.strip().strip('"') for cell in body.split(",")]
    else:
        body = body.rstrip(" \t|:")
        cells = body.split()
        if len(cells) != len(table.columns):
            cells = _GAP.split(body)
    if len(cells) != len(table.columns):
        return None
    return _read(table, cells)


def _read(table: Table, cells: list[str]) -> Row | None:
    found = Row([], [])
    best = 10**6
    texts = 0
    columns = table.columns
    keyed = table.kind == PIPE and columns[0].lower() in _KEYS
    for i, cell in enumerate(cells):
        name = columns[i]
        text = cell[:-1] if cell.endswith("%") else cell
        if numbers.read(text) is None:
            counter = _COUNTER.fullmatch(cell)
            if counter is not None and names.column_epoch(name):
                found.epoch = counter[1]
            elif counter is not None and names.column_step(name) is not None:
                found.step = counter[1]
            elif cell.lower() not in _MISSING and _CLOCK.fullmatch(cell) is None:
                texts += 1
                if i == 0 and names.plain(name) in _LABELS and not keyed and cell.lower() not in _OVERALL:
                    return Row([], [])
            continue
        if keyed and i:
            if "/" in cells[0] or _CELL.fullmatch(cells[0]):
                found.names.append(cells[0] if len(cells) == 2 else f"{cells[0]}/{name}")
                found.values.append(text)
            continue
        if names.column_epoch(name):
            found.epoch = text
            continue
        rank = names.column_step(name)
        if rank is not None:
            if rank < best:
                best, found.step = rank, text
            continue
        if not names.is_never(name):
            found.names.append(name)
            found.values.append(text)
    if table.kind != PIPE and texts > (1 if names.plain(columns[0]) in _LABELS else 0):
        return None
    return found


def box(text: str, section: str) -> tuple[str, str | None, str] | None:
    """A line of a two-column box: (section from here on, name or None, value). Stable-Baselines3 and its relatives."""
    cells = pipe_cells(text)
    if cells is None or len(cells) != 2:
        return None
    name, value = cells[0].strip(), cells[1].strip()
    if not value:
        return (name, None, "") if name.endswith("/") else (section, None, "")
    if not name or numbers.read(name) is not None or numbers.read(value.rstrip("%")) is None or not _CELL.fullmatch(name):
        return None
    indented = cells[0].startswith("  ")
    return section, (section + name if indented else name), value.rstrip("%")
