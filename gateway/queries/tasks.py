"""Tasks: the list, and all about one."""

from __future__ import annotations

import time
from typing import Any

from gateway.store import Query, rows

_COLUMNS = """
    task_id, name, owner, project, framework, status, message, attempts, ranks, world_size, progress_done, progress_total,
    toUnixTimestamp64Milli(started) AS started_ms, toUnixTimestamp64Milli(last_seen) AS last_seen_ms,
    toUnixTimestamp64Milli(last_stored) AS last_stored_ms,
    toUnixTimestamp64Milli(ifNull(last_heartbeat, toDateTime64(0, 3))) AS last_heartbeat_ms,
    log_files, bytes, lines
"""


def task_list(
    query: Query, *, search: str = "", status: str = "", limit: int = 100, after: tuple[int, str] | None = None
) -> list[dict[str, Any]]:
    """Tasks, newest first: by when the first of their bytes came. `search` is a part of
    id, name, owner, project or framework, in any case.

    `after`: (first_seen_ms, id) of the last one seen. Times are milliseconds since the epoch. Which tasks a page holds is
    asked of few columns; only for these the whole state is worked out: of 10,000 tasks that would take a second.
    """
    where = ["1"]
    parameters: dict[str, Any] = {"limit": limit}
    if search:
        where.append(
            """
            (positionCaseInsensitiveUTF8(task_id, {search:String}) > 0 OR positionCaseInsensitiveUTF8(name, {search:String}) > 0
             OR task_id IN (
                SELECT task_id FROM events WHERE kind = 'header' AND arrayExists(
                    part -> positionCaseInsensitiveUTF8(part, {search:String}) > 0,
                    [fields['name'], fields['owner'], fields['project'], fields['framework']])))
            """
        )
        parameters["search"] = search
    if status:
        where.append("task_id IN (SELECT task_id FROM tasks WHERE status = {status:String})")
        parameters["status"] = status
    if after:
        where.append("(first_seen_ms < {at:Int64} OR (first_seen_ms = {at:Int64} AND task_id > {last:String}))")
        parameters |= {"at": after[0], "last": after[1]}
    found = query(
        f"""
        SELECT task_id, toUnixTimestamp64Milli(first_seen) AS first_seen_ms FROM task_names
        WHERE {" AND ".join(where)} ORDER BY first_seen_ms DESC, task_id LIMIT {{limit:UInt32}}
        """,
        **parameters,
    )
    page = dict(zip(found["task_id"], found["first_seen_ms"], strict=True))
    if not page:
        return []
    states = query(f"SELECT {_COLUMNS} FROM tasks WHERE task_id IN {{tasks:Array(String)}}", tasks=list(page))
    by_id = {row["task_id"]: _with_eta(row) for row in rows(states)}
    return [by_id[task] | {"first_seen_ms": seen} for task, seen in page.items() if task in by_id]


def status_counts(query: Query) -> dict[str, int]:
    """Number of tasks by status."""
    found = query("SELECT status, count() AS tasks FROM tasks GROUP BY status ORDER BY status")
    return dict(zip(found["status"], found["tasks"], strict=True))


def task_exists(query: Query, task_id: str) -> bool:
    """Whether anything of such a task is stored: a byte of a file, or a shipper's word of one."""
    found = query(
        """
        SELECT task_id FROM files WHERE task_id = {task:String}
        UNION ALL SELECT task_id FROM file_heartbeats WHERE task_id = {task:String} LIMIT 1
        """,
        task=task_id,
    )
    return bool(found["task_id"])


def task_state(query: Query, task_id: str) -> dict[str, Any] | None:
    """The latest state of one task with progress and estimated end, or None where nobody knows such a task."""
    found = rows(query(f"SELECT {_COLUMNS} FROM tasks WHERE task_id = {{task:String}}", task=task_id))
    return _with_eta(found[0]) if found else None


def task_parts(query: Query, task_id: str) -> dict[str, Any]:
    """Files, ranks, attempts and parameters of one task."""
    files = rows(
        query(
            """
            SELECT f.file_id AS file_id, f.path AS path, f.start_id AS start_id, f.attempt AS attempt, f.rank AS rank,
                   f.bytes AS bytes, f.lines AS lines, f.parent AS parent, f.parent_end AS parent_end,
                   toUnixTimestamp64Milli(f.first_arrived) AS first_arrived_ms,
                   toUnixTimestamp64Milli(f.last_arrived) AS last_arrived_ms,
                   beat.ended AS ended, beat.host AS host, beat.open_line AS open_line, beat.error AS error
            FROM files AS f LEFT JOIN file_heartbeats AS beat ON f.task_id = beat.task_id AND f.file_id = beat.file_id
            WHERE f.task_id = {task:String} ORDER BY f.attempt, f.rank, f.first_arrived, f.file_id LIMIT 5000
            """,
            task=task_id,
        )
    )
    ranks = rows(
        query(
            """
            SELECT rank, attempt, status, message, code, signal, toUnixTimestamp64Milli(time) AS time_ms
            FROM rank_states WHERE task_id = {task:String} ORDER BY rank LIMIT 5000
            """,
            task=task_id,
        )
    )
    parameters = query(
        """
        SELECT item.1 AS name, argMax(item.2, (time, file_id, offset, place)) AS value
        FROM (SELECT time, file_id, offset, place, arrayJoin(CAST(fields, 'Array(Tuple(String, String))')) AS item
              FROM events WHERE task_id = {task:String} AND kind = 'params')
        GROUP BY name ORDER BY name LIMIT 2000
        """,
        task=task_id,
    )
    return {
        "files": files,
        "ranks": ranks,
        "attempts": _attempts(files),
        "parameters": dict(zip(parameters["name"], parameters["value"], strict=True)),
    }


def _attempts(files: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """One entry an attempt, from its files: which ranks wrote, and from when to when."""
    found: dict[int, dict[str, Any]] = {}
    for file in files:
        one = found.setdefault(
            file["attempt"],
            {
                "attempt": file["attempt"],
                "ranks": set(),
                "files": 0,
                "first_arrived_ms": file["first_arrived_ms"],
                "last_arrived_ms": 0,
            },
        )
        one["ranks"].add(file["rank"])
        one["files"] += 1
        one["first_arrived_ms"] = min(one["first_arrived_ms"], file["first_arrived_ms"])
        one["last_arrived_ms"] = max(one["last_arrived_ms"], file["last_arrived_ms"])
    return [one | {"ranks": len(one["ranks"])} for _, one in sorted(found.items())]


def _with_eta(row: dict[str, Any]) -> dict[str, Any]:
    return row | {"eta_ms": eta(row, time.time_ns() // 1_000_000)}


def eta(task: dict[str, Any], now_ms: int) -> int | None:
    """When a running task will end (ms since the epoch), if it goes on as it went on the whole; None where nobody can tell.

    Counted up to the last word from the task, not up to now: while a task is silent the estimate stays where it was. A
    restarted task's progress counts from the first start: it tells the end too late rather than too early.
    """
    done, total, started = task["progress_done"], task["progress_total"], task["started_ms"]
    last = max(task["last_seen_ms"], task["last_heartbeat_ms"])
    if task["status"] != "running" or not done or not total or done <= 0 or done > total or last <= started:
        return None
    end = started + (last - started) * total / done
    return int(end) if end < now_ms + 10 * 365 * 86_400_000 else None
