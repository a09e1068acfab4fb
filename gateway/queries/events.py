"""What happened to a task, and how far its rows can be trusted."""

from __future__ import annotations

from typing import Any

from gateway.store import Query, rows

# A task may report progress at every step: the timeline is about the rest.
QUIET = ("progress", "params")


def events(
    query: Query,
    task_id: str,
    *,
    kinds: tuple[str, ...] = (),
    quiet: bool = False,
    limit: int = 500,
    after: tuple[int, str, int, int] | None = None,
) -> list[dict[str, Any]]:
    """Events, newest first; with `quiet` those of progress and parameters too.

    `after`: (time ms, file id, offset, place) of the last one seen.
    """
    where = ["task_id = {task:String}"]
    parameters: dict[str, Any] = {"task": task_id, "limit": limit}
    if kinds:
        where.append("kind IN {kinds:Array(String)}")
        parameters["kinds"] = list(kinds)
    elif not quiet:
        where.append("kind NOT IN {quiet:Array(String)}")
        parameters["quiet"] = list(QUIET)
    if after:
        where.append(
            "(toUnixTimestamp64Milli(time), file_id, offset, place) < "
            "({at:Int64}, {file:String}, {offset:UInt64}, {place:UInt32})"
        )
        parameters |= {"at": after[0], "file": after[1], "offset": after[2], "place": after[3]}
    return rows(
        query(
            f"""
            SELECT kind, toUnixTimestamp64Milli(time) AS time_ms, time_known, attempt, rank, step, epoch, message, fields, origin,
                   file_id, offset, place
            FROM events WHERE {" AND ".join(where)}
            ORDER BY time DESC, file_id DESC, offset DESC, place DESC LIMIT {{limit:UInt32}}
            """,
            **parameters,
        )
    )


def completeness(query: Query, task_id: str) -> list[dict[str, Any]]:
    """One row a file: bytes written, shipped and stored, the ranges that are missing, and the verdict in words."""
    return rows(
        query(
            """
            SELECT file_id, path, rank, attempt, written, shipped, stored, missing, ended, error, verdict,
                   toUnixTimestamp64Milli(last_heartbeat) AS last_heartbeat_ms
            FROM completeness WHERE task_id = {task:String} ORDER BY attempt, rank, path, file_id LIMIT 5000
            """,
            task=task_id,
        )
    )


def wholeness(query: Query, task_id: str) -> dict[str, Any]:
    """Whether a task is complete, what it lacks, and of a quiet one which hop is quiet (`pulse`, `because`), in words."""
    (found,) = rows(
        query(
            """
            SELECT t.verdict AS verdict, t.lacks AS lacks, p.verdict AS pulse, p.because AS because
            FROM task_completeness AS t LEFT JOIN pulse AS p ON t.task_id = p.task_id WHERE t.task_id = {task:String}
            """,
            task=task_id,
        )
    ) or [{"verdict": "nothing is stored of this task", "lacks": [], "pulse": "", "because": ""}]
    return found


def latency(query: Query, task_id: str) -> dict[str, Any]:
    """Where time went between written and stored, in ms, over the task's last 1,000 batches."""
    found = rows(
        query(
            """
            SELECT count() AS batches, countIf(clock_skew) AS clock_skew,
                quantiles(0.5, 0.99)(written_to_shipped_ms) AS written_to_shipped_ms,
                quantiles(0.5, 0.99)(shipped_to_arrived_ms) AS shipped_to_arrived_ms,
                quantiles(0.5, 0.99)(arrived_to_stored_ms) AS arrived_to_stored_ms,
                quantiles(0.5, 0.99)(dateDiff('millisecond', written, stored)) AS written_to_stored_ms
            FROM (SELECT * FROM hop_latency WHERE task_id = {task:String} ORDER BY stored DESC LIMIT 1000)
            """,
            task=task_id,
        )
    )[0]
    hops = ("written_to_shipped_ms", "shipped_to_arrived_ms", "arrived_to_stored_ms", "written_to_stored_ms")
    named = {hop: dict(zip(("p50", "p99"), found[hop], strict=True)) if found["batches"] else None for hop in hops}
    return {"batches": found["batches"], "clock_skew_batches": found["clock_skew"]} | named


def pipeline_events(query: Query, task_id: str) -> list[dict[str, Any]]:
    """The newest events that shipper, worker or gateway said about the task: no byte range tells when they become visible."""
    return rows(
        query(
            """
            SELECT kind, toUnixTimestamp64Milli(time) AS time_ms, time_known, attempt, rank, step, epoch, message, fields, origin,
                   file_id, offset, place
            FROM events WHERE task_id = {task:String} AND origin = 'pipeline'
            ORDER BY time DESC, file_id DESC, offset DESC, place DESC LIMIT 100
            """,
            task=task_id,
        )
    )
