"""Tables: a header line names the columns of the rows below it. Aligned columns, pipes and boxes, CSV.

What is open is kept in the file's state, so that a row far from its header, in another delta, is read the same.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from stream_jobs.extract import lexicon, names, numbers
from stream_jobs.extract.reading import Span

ALIGNED, PIPE, CSV = "aligned", "pipe", "csv"
OPEN = "open"  # bars between the columns, none around them
UPPER = "upper"  # the upper half of a header over two lines, as Vowpal Wabbit prints
_GAP = re.compile(r"\t+|\s{2,}")
_RULE = re.compile(r"[\s\-=+|:─━═┼╪╋┿├┤┡╇┩┏┳┓└┴┘┌┬┐╭╮╰╯╞╡]+")
PIPES = "|│┃║"
RULES = "-=+|:─━═┼╪╋┿├┤┡╇┩┏┳┓└┴┘┌┬┐╭╮╰╯╞╡"
_PIPE = re.compile(r"[|│┃║]")
_COMMA = re.compile(r",")
_WORD = re.compile(r"\S+")
_CELLS = re.compile(r"\S+(?:\s\S+)*")
_CELL = re.compile(r"[\w./@:()%#\[\] '^*&+-]{1,80}")
_COUNTER = re.compile(r"([0-9]+)/([0-9]+)")
_SIGN = re.compile(r":(?:\s|$|[-+.0-9])")
_CUT_OFFS = re.compile(r"@\.?[0-9.]+:\.?[0-9]+")  # mAP@.5:.95: the colon is no sign
_TIMED = re.compile(rf"({numbers.NUMBER})(?:s|ms|sec)")
_FIGURE = re.compile(r"(?<![^\s|])[0-9.]")  # a word that begins with a digit
_MISSING = {"", "-", "--", "---", "n/a", "na", "#na#", "none", "null", ".", "+", "*", "✓", "✔"}  # and marks
_CLOCK = re.compile(r"[0-9:.]+(?:\.[0-9]+)?(?:[a-zA-Z]{1,5}(?:/[a-z]+)?|%)?")
_OVERALL = {"all", "avg", "mean", "overall", "total", "average"}
_LABELS = {"class", "classes", "category", "label", "name"}
_KEYS = {"metric", "metrics", "test metric", "validate metric", "validation metric", "test_metric", "name", "key"}
_FOLD = re.compile(r"(?:fold|run|split|seed|trial)\s?[0-9]+|mean|avg|average|median|min|max|std", re.I)
_SPLITS = lexicon.SPLITS | {"vali"}
MISSES = 64  # lines that are no rows before an aligned table is closed


@dataclass(frozen=True, slots=True)
class Table:
    kind: str
    columns: tuple[str, ...]


@dataclass(slots=True)
class Row:
    """What a row says: names, and where in its text each value stands."""

    names: list[str]
    values: list[Span]
    step: Span | None = None
    epoch: Span | None = None
    labels: list[Span] = field(default_factory=list)  # text of the row that became part of a name


def is_rule(text: str) -> bool:
    """A line of dashes and corners."""
    return _RULE.fullmatch(text) is not None and not text.isspace() and text != ""


def pipe_cells(text: str) -> list[str] | None:
    """The cells of a line between pipes, untrimmed; None where the line is none."""
    body = text.strip()
    if len(body) < 3 or body[0] not in PIPES or body[-1] not in PIPES:
        return None
    for pipe in PIPES[1:]:
        body = body.replace(pipe, "|")
    return body[1:-1].split("|")


def header(text: str, above: Table | None = None) -> Table | None:
    """The table that this line opens, or None. `above`: the table that is open, perhaps by the upper half of this header."""
    if text.lstrip().startswith("# "):  # `#  step  loss`: as gnuplot and np.savetxt want it
        text = text.lstrip()[2:]
    body = text.strip(" \t|│┃║:")
    if len(body) > 8192:
        return None
    cells = pipe_cells(text)
    if cells is not None:
        cells = [cell.strip() for cell in cells]
        return _lower(above, cells) or _opened(PIPE, cells, 2)
    if _PIPE.search(body) is not None and "=" not in body and ": " not in body and _FIGURE.search(body) is None:
        return _opened(OPEN, [cell.strip() for cell in _PIPE.split(body)], 2)
    if "," in body:
        if "('" in body or '("' in body:  # a list of tuples
            return None
        return (
            _opened(CSV, [cell.strip().strip('"') for cell in body.split(",")], 2)
            if "=" not in body and ": " not in body
            else None
        )
    if "  " not in body and "\t" not in body:
        return _spaced(body.split(" "))
    cells = _GAP.split(body)
    if above is None and _is_upper(cells):
        return Table(UPPER, tuple(cells))
    below = body.split()
    if above is not None and above.kind == UPPER and len(below) == len(above.columns):
        return _opened(ALIGNED, [f"{one} {other}" for one, other in zip(above.columns, below, strict=True)], 2)
    return _opened(ALIGNED, cells, 2)


def _spaced(cells: list[str]) -> Table | None:
    """`epoch train_loss valid_loss time`: single blanks separate columns where a counter leads and metrics follow."""
    if len(cells) < 3 or not (names.column_epoch(cells[0]) or names.column_step(cells[0]) is not None):
        return None
    return Table(ALIGNED, tuple(cells)) if all(_is_column(cell) for cell in cells[1:]) else None


def _is_column(cell: str) -> bool:
    return cell == "time" or (cell.replace("_", "").isalpha() and (names.is_metric(cell) and not names.is_split_only(cell)))


def _lower(above: Table | None, cells: list[str]) -> Table | None:
    """MATLAB's `|  |  Accuracy  |  Loss  |` below `|  Epoch  |  Mini-batch  |  Mini-batch  |`: the lower half of a header."""
    if above is None or above.kind != PIPE or not len(set(above.columns)) < len(above.columns) == len(cells) or cells[0]:
        return None
    if not all(not cell or (_CELL.fullmatch(cell) and numbers.read(cell) is None) for cell in cells):
        return None
    return Table(PIPE, tuple(f"{upper} {cell}".strip() for upper, cell in zip(above.columns, cells, strict=True)))


def _is_upper(words: list[str]) -> bool:
    """`average  since  example  example` over `loss  last  counter  weight`: what stands twice names no column yet."""
    return 3 < len(words) < 100 and len(set(words)) < len(words) and all(word.isalpha() and word.islower() for word in words)


def _opened(kind: str, cells: list[str], least: int) -> Table | None:
    if len(cells) < least or len(cells) > 500:
        return None
    if not all(_CELL.fullmatch(cell) for cell in cells) or any(numbers.read(cell) is not None for cell in cells):
        return None
    if any(_COUNTER.search(cell) or "=" in cell or (kind != CSV and _SIGN.search(_CUT_OFFS.sub("", cell))) for cell in cells):
        return None
    if (kind == ALIGNED and _is_folds(cells)) or (kind == OPEN and _is_splits(cells)):
        return Table(kind, tuple(cells))
    if 2 * sum(_SIGN.search(cell) is not None for cell in cells) >= len(cells):
        return None  # `mse:0.5, mae:0.25`
    if 2 * sum(numbers.read(cell.rsplit(" ", 1)[-1]) is not None for cell in cells) >= len(cells):
        return None  # `| step 3 | loss 0.5 |`: names and values
    counts = any(names.column_epoch(cell) or names.column_step(cell) is not None for cell in cells)
    metrics = sum(names.is_metric(cell) for cell in cells) + 2 * ({"P", "R", "F"} <= set(cells))
    words = max(len(cell.split()) for cell in cells)
    if kind == CSV and words > 1 and not (names.column_epoch(cells[0]) or names.column_step(cells[0]) is not None):
        return None
    labelled = names.plain(cells[0]) in _LABELS or cells[0].lower() in _KEYS
    if not (counts and (metrics or len(cells) > 2)) and metrics < 2 and not (labelled and (metrics or kind == PIPE)):
        return None
    return Table(kind, tuple(cells)) if words <= 4 else None


def _is_folds(columns: Sequence[str]) -> bool:
    """`Fold 1  Fold 2  Mean  Std`: each row is one metric, named by its label."""
    return len(columns) > 2 and all(_FOLD.fullmatch(column) for column in columns)


def row(table: Table, text: str) -> Row | None:
    """The row that this line is, or None."""
    count = len(table.columns)
    if table.kind == UPPER:
        return None
    if table.kind == PIPE:
        if pipe_cells(text) is None:
            return None
        spans = _split(text, _PIPE)[1:-1]
    elif table.kind == CSV:
        spans = _split(text, _COMMA)
    elif table.kind == OPEN:
        spans = _split(text, _PIPE)
        if len(spans) == count + 1 and _is_splits(table.columns):
            return _read_splits(table, text, spans)
    else:
        spans = [Span(*cell.span()) for cell in _WORD.finditer(text.rstrip(" \t|:]"))]
        if len(spans) != count:
            spans = [Span(*cell.span()) for cell in _CELLS.finditer(text.rstrip(" \t|:]"))]
        if len(spans) == count + 1:
            return _read_labelled(table, text, spans)
    return _read(table, text, spans) if len(spans) == count else None


def _read_labelled(table: Table, text: str, spans: list[Span]) -> Row | None:
    """A row with a label that no column names: of a classification report, whose averages are read, or of folds."""
    label = text[slice(*spans[0])]
    values = spans[1:]
    if not all(numbers.is_number(text[slice(*span)]) for span in values):
        return None
    if not (label.endswith("avg") or (_is_folds(table.columns) and names.is_metric(label) and not names.is_split_only(label))):
        return Row([], [])
    named = [(f"{label} {name}", span) for name, span in zip(table.columns, values, strict=True) if not names.is_never(name)]
    return Row([name for name, _ in named], [span for _, span in named], labels=[spans[0]])


def _is_splits(columns: Sequence[str]) -> bool:
    """`Training |  Validation`, as AllenNLP prints: each row is one metric, named by its label."""
    return all(names.plain(column) in lexicon.SPLITS for column in columns)


def _read_splits(table: Table, text: str, spans: list[Span]) -> Row | None:
    label, cells = text[slice(*spans[0])], [text[slice(*span)] for span in spans[1:]]
    if not label or not all(numbers.is_number(cell) or cell.lower() in _MISSING for cell in cells):
        return None
    found = Row([], [], labels=[spans[0]])
    for column, cell, span in zip(table.columns, cells, spans[1:], strict=True):
        if numbers.is_number(cell) and not names.is_never(label):
            found.names.append(f"{column} {label}")
            found.values.append(span)
    return found


def _split(text: str, separator: re.Pattern[str]) -> list[Span]:
    """The trimmed cells between separators."""
    spans: list[Span] = []
    start = 0
    for found in [*[m.span() for m in separator.finditer(text)], (len(text), len(text))]:
        end = found[0]
        while start < end and text[start] in ' \t"':
            start += 1
        while end > start and text[end - 1] in ' \t"':
            end -= 1
        spans.append(Span(start, end))
        start = found[1]
    return spans


def _read(table: Table, text: str, spans: list[Span]) -> Row | None:
    found = Row([], [])
    best = 10**6
    texts = figures = 0
    columns = table.columns
    first = text[slice(*spans[0])]
    keyed = table.kind == PIPE and columns[0].lower() in _KEYS
    label = names.plain(columns[0]) in _LABELS and not keyed
    split = first if table.kind == PIPE and first.lower() in _SPLITS else ""  # each row is measured on another split
    for i, span in enumerate(spans):
        name, cell = columns[i], text[slice(*span)]
        if cell.startswith("["):  # DeepXDE prints lists, also of one; the row's last bracket is off already
            cell = cell[1:].removesuffix("]")
            span = Span(span.start + 1, span.start + 1 + len(cell))
        if cell.endswith("%"):
            span, cell = Span(span.start, span.end - 1), cell[:-1]
        timed = _TIMED.fullmatch(cell)
        if timed is not None:
            span, cell = Span(span.start, span.start + timed.end(1)), timed[1]
        if not numbers.is_number(cell) and numbers.word_value(cell) is None:
            counter = _COUNTER.fullmatch(cell)
            if counter is not None:
                figures += 1
                here = Span(span.start, span.start + counter.end(1))
                if names.column_epoch(name):
                    found.epoch = here
                elif names.column_step(name) is not None:
                    found.step = here
            elif cell.lower() not in _MISSING and _CLOCK.fullmatch(cell) is None:
                texts += 1
            continue
        figures += 1
        if keyed and i:
            found.labels.append(spans[0])
            found.names.append(first if len(spans) == 2 else f"{first}/{name}")
            found.values.append(span)
            continue
        if names.column_epoch(name):
            found.epoch = span
            continue
        rank = names.column_step(name)
        if rank is not None:
            if rank < best:
                best, found.step = rank, span
        elif not names.is_never(name) or (names.plain(name) == "total" and "." in cell):  # of the losses beside it
            found.names.append(f"{split} {name}" if split else name)
            found.values.append(span)
    if split:
        found.labels.append(spans[0])
    if not figures:
        return None
    if label and first.lower() not in _OVERALL and not numbers.is_number(first):
        return Row([], [])  # one class of many: its numbers would pass for those of all
    return None if table.kind != PIPE and texts > (1 if label else 0) else found


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
