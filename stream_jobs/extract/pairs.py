"""Pairs in text: `name=value` and `name: value`."""

from __future__ import annotations

import re

from stream_jobs.extract.rows import Points

_PAIR = re.compile(
    r"([A-Za-z_][\w./@-]*)\"?\s?[=:]\s?([-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?|[Nn]a[Nn]|-?Infinity|-?inf)(?![\w.:])"
)


def read_line(text: str, line: int, points: Points) -> None:
    """Every pair of the line; `step` and `epoch` go to the points' own columns."""
    if len(text) > 65536:
        return
    found = _PAIR.findall(text)
    step = next((int(v) for k, v in found if k.lower() in ("step", "global_step", "iteration", "iter") and v.isdigit()), None)
    epoch = next((float(v) for k, v in found if k.lower() == "epoch"), None)
    index = 0
    for name, value in found:
        if name.lower() in ("step", "global_step", "iteration", "iter", "epoch"):
            continue
        points.add(line, index, name[:256], float(value), step, epoch, None, "pairs")
        index += 1
