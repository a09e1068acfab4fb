"""The page about SQL for people (docs/sql.md): every view with its meaning, columns and examples, from the schema itself.

What a view means is the comment above it in the migrations; its columns are the engine's own description, with the meaning
that a table's column of that name carries. Examples stand here, and a test runs each.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from schemas.migrations import all_migrations

Query = Callable[[str], Sequence[Sequence[Any]]]

# Arguments of parameterized views, to describe them with.
ARGUMENTS = {
    "found_tasks": "search = 'resnet'",
    "drawn_curves": (
        "tasks = ['resnet-7'], metrics = ['loss'], axis = 'step', each = 0, since = fromUnixTimestamp64Milli(0), "
        "until = now64(3), points = 2000"
    ),
}

# What people ask, by the view that answers: (question, query). Tasks here are called resnet-7 and resnet-8.
EXAMPLES: dict[str, tuple[tuple[str, str], ...]] = {
    "tasks": (
        ("The ten newest tasks", "SELECT task_id, status, started, lines FROM tasks ORDER BY started DESC LIMIT 10"),
        ("How one is doing", "SELECT status, message, progress_done, progress_total FROM tasks WHERE task_id = 'resnet-7'"),
    ),
    "fleet": (
        (
            "Tasks that need somebody",
            "SELECT task_id, health, quiet_seconds FROM fleet\n"
            "WHERE health IN ('failed', 'stalled', 'silent') AND task_id IN (\n"
            "    SELECT task_id FROM task_names WHERE last_seen >= now64(3) - INTERVAL 1 DAY)",
        ),
    ),
    "task_names": (
        ("Tasks begun today", "SELECT task_id, first_seen FROM task_names WHERE first_seen >= today() ORDER BY first_seen"),
    ),
    "found_tasks": (
        ("Tasks by a part of their name", "SELECT task_id FROM found_tasks(search = 'resnet') ORDER BY first_seen DESC"),
    ),
    "metric_names": (("What a task measures", "SELECT name FROM metric_names WHERE task_id = 'resnet-7' ORDER BY name"),),
    "curves_stitched": (
        (
            "A curve over restarts, as one",
            "SELECT step, value FROM curves_stitched\nWHERE task_id = 'resnet-7' AND name = 'loss' AND rank = 0 ORDER BY step",
        ),
    ),
    "curves": (
        (
            "Each attempt for itself",
            "SELECT attempt, count() AS points, min(step), max(step) FROM curves\n"
            "WHERE task_id = 'resnet-7' AND name = 'loss' GROUP BY attempt ORDER BY attempt",
        ),
    ),
    "all_points": (
        (
            "The same metric from every source",
            "SELECT source, count(), avg(value) FROM all_points WHERE task_id = 'resnet-7' AND name = 'loss' GROUP BY source",
        ),
    ),
    "drawn_curves": (
        (
            "A curve of a million points, drawn from two thousand",
            "SELECT step, value FROM drawn_curves(\n    tasks = ['resnet-7'], metrics = ['loss'], axis = 'step', each = 0,\n"
            "    since = fromUnixTimestamp64Milli(0), until = now64(3), points = 2000)\nWHERE kind = 'finite' ORDER BY step",
        ),
        (
            "Two tasks by time, a metric with a slash in its name",
            "SELECT task_id, time, value FROM drawn_curves(\n    tasks = ['resnet-7', 'resnet-8'],\n"
            "    metrics = ['acc%2Ftop1', 'loss'], axis = 'time', each = 1,\n"
            "    since = now64(3) - INTERVAL 1 DAY, until = now64(3), points = 400)\nORDER BY task_id, time",
        ),
    ),
    "latest_values": (
        (
            "The newest value of each metric",
            "SELECT name, value, step, lowest FROM latest_values WHERE task_id = 'resnet-7' AND rank = 0",
        ),
    ),
    "non_finite": (
        (
            "Where NaN began",
            "SELECT name, first_step, first_time, points FROM non_finite WHERE task_id = 'resnet-7' ORDER BY first_time",
        ),
    ),
    "rank_spread": (
        (
            "Which rank comes last",
            "SELECT slowest_rank, count() AS steps FROM rank_spread\n"
            "WHERE task_id = 'resnet-8' AND name = 'loss' GROUP BY slowest_rank ORDER BY steps DESC",
        ),
    ),
    "lines": (
        (
            "The last 100 lines",
            "SELECT time, rank, text FROM lines WHERE task_id = 'resnet-7'\nORDER BY file_id, offset DESC LIMIT 100",
        ),
    ),
    "events": (
        (
            "What happened",
            "SELECT time, kind, message FROM events WHERE task_id = 'resnet-7' AND kind != 'progress' ORDER BY time",
        ),
        (
            "A parameter of every task",
            "SELECT task_id, fields['lr'] AS lr FROM events WHERE kind = 'params' AND task_id IN ('resnet-7', 'resnet-8')",
        ),
    ),
    "task_completeness": (
        ("Is the task whole, and if not, what lacks?", "SELECT verdict, lacks FROM task_completeness WHERE task_id = 'resnet-7'"),
    ),
    "pulse": (("Which hop of a quiet task is quiet?", "SELECT verdict, because FROM pulse WHERE task_id = 'resnet-7'"),),
    "completeness": (("Is all of it stored?", "SELECT path, verdict, missing FROM completeness WHERE task_id = 'resnet-7'"),),
    "batches": (
        (
            "How late rows were in the last hour",
            "SELECT quantile(0.5)(arrived_to_stored_ms), quantile(0.99)(arrived_to_stored_ms)\n"
            "FROM batches WHERE arrived >= now64(3) - INTERVAL 1 HOUR",
        ),
    ),
    "rejected_messages": (("Why messages were put aside", "SELECT reason, count() FROM rejected_messages GROUP BY reason"),),
}

HEAD = """# SQL for people

Generated by `make docs` from the migrations in schemas/clickhouse; every example below is run by a test.

Ask views, never tables: rows in tables may be repeated, belong to an older extraction, or to bytes that were never
confirmed. A view is exact at any moment. Name the task (`WHERE task_id = …`): that is what a query is fast by; a condition
`task_id IN (SELECT task_id FROM task_names WHERE …)` is as good for several. `trainwirectl sql "…"` runs a query as a user
that can only read; so does every ClickHouse client over HTTP.

Times are UTC with milliseconds. An absent step is NULL, never −1. NaN and infinities are kept: leave them out with
`isFinite(value)`.

A text that comes from somebody else belongs into a query's parameters (`{name:String}`), not into its text. Where a tool can
only paste, as Grafana can, views take percent-encoded text instead, which holds no quote and no backslash: `found_tasks`
and the metrics of `drawn_curves` (`encodeURLComponent(name)` gives it).

## Who may read

On a ClickHouse server, `trainwirectl migrate --server up` makes the role `trainwire_reader` (reads only; at most 60 s, 200
million rows, 4 GiB and 1 million result rows a query, and a quota for each user) and `trainwire_limited`, whose users see
those tasks that the table `task_rights` names for them (row policies; they reach through the views). The statements are in
schemas/clickhouse/server. The engine of the local stack has no users, so there `viewer` is a reader by the front's own
rules; it has parsed these statements, on one server and with ON CLUSTER, and **has not run them**: they were not tried on
a server yet.
"""


def views() -> dict[str, str]:
    """Every view in the order of the migrations, with the comment above it."""
    found: dict[str, str] = {}
    for migration in all_migrations():
        for comment, name in re.findall(
            r"((?:^--.*\n)+)CREATE OR REPLACE VIEW \{database\}\.(\w+)", migration.text, re.MULTILINE
        ):
            found.setdefault(name, _unwrapped(comment))  # a later migration says only what it changes
    return found


def _unwrapped(comment: str) -> str:
    """A comment as Markdown: its indented lines (parameters) as a block, the rest as a paragraph."""
    lines = [line.removeprefix("--").removeprefix(" ") for line in comment.splitlines()]
    parts: list[str] = []
    block = False
    for line in lines:
        if line.startswith("  ") != block:
            parts.append("```" if not block else "```\n")
            block = not block
        parts.append(line[2:] if block else line)
    return "\n".join(parts)


def document(database: str, query: Query) -> str:
    """The page. `query` runs on an engine with the schema in `database`."""
    return HEAD + "".join(_sections(database, query))


def _sections(database: str, query: Query) -> Iterator[str]:
    meanings = dict(
        (str(name), str(comment))
        for name, comment in query(
            f"SELECT name, any(comment) FROM system.columns WHERE database = '{database}' AND comment != '' GROUP BY name"
        )
    )
    for name, meaning in views().items():
        arguments = f"({ARGUMENTS[name]})" if name in ARGUMENTS else ""
        yield f"\n## {name}\n\n{meaning}\n\n"
        for question, sql in EXAMPLES.get(name, ()):
            yield f"{question}:\n\n```sql\n{sql}\n```\n\n"
        yield "| column | type | |\n|---|---|---|\n"
        for row in query(f"DESCRIBE TABLE (SELECT * FROM {database}.{name}{arguments})"):
            column, kind = str(row[0]), str(row[1])
            yield f"| {column} | {kind.replace('|', chr(92) + '|')} | {meanings.get(column, '')} |\n"
