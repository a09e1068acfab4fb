-- Which framework a task trains with, as its header says: a column beside owner and project.

-- As before, with the framework that the header names: what the writing tool was told, or saw in the process.
CREATE OR REPLACE VIEW {database}.tasks {on_cluster} AS
SELECT
    f.task_id AS task_id, if(header.name != '', header.name, f.name) AS name, header.owner AS owner, header.project AS project,
    header.framework AS framework,
    multiIf(
        state.failed > 0, 'failed',
        state.ranks > 0 AND state.succeeded = state.ranks AND state.ranks >= f.world_size, 'succeeded',
        state.ranks > 0 AND state.ranks >= f.world_size AND state.running = 0, state.any_status,
        f.open_files = 0 AND f.known_files > 0, 'ended',
        'running') AS status,
    state.message AS message, f.attempts AS attempts, f.ranks AS ranks, f.world_size AS world_size,
    progress.done AS progress_done, progress.total AS progress_total,
    if(header.task_id != '', header.started, f.first_seen) AS started, f.last_seen AS last_seen, f.last_stored AS last_stored, f.log_files AS log_files,
    f.bytes AS bytes, f.lines AS lines, f.last_heartbeat AS last_heartbeat
FROM
(
    SELECT
        task_id, max(file.name) AS name, max(file.attempt) AS attempts, uniqExact(file.rank) AS ranks,
        greatest(ifNull(max(file.world_size), 1), 1) AS world_size, count() AS log_files, sum(file.bytes) AS bytes, sum(file.lines) AS lines,
        min(file.first_arrived) AS first_seen, max(file.last_arrived) AS last_seen, max(file.last_stored) AS last_stored,
        max(beat.sent) AS last_heartbeat, countIf(beat.file_id != '') AS known_files,
        countIf(beat.file_id != '' AND beat.ended = '') AS open_files
    FROM {database}.files AS file
    LEFT JOIN {database}.file_heartbeats AS beat ON file.task_id = beat.task_id AND file.file_id = beat.file_id
    GROUP BY task_id
) AS f
LEFT JOIN
(
    SELECT
        task_id, max(fields['name']) AS name, max(fields['owner']) AS owner, max(fields['project']) AS project,
        max(fields['framework']) AS framework,
        min(time) AS started
    FROM {database}.events WHERE kind = 'header' GROUP BY task_id
) AS header ON f.task_id = header.task_id
LEFT JOIN
(
    SELECT
        task_id, count() AS ranks, countIf(status = 'failed') AS failed, countIf(status = 'succeeded') AS succeeded,
        countIf(status NOT IN ('failed', 'succeeded', 'stopped', 'ended')) AS running, argMax(status, time) AS any_status,
        argMax(rank_state.message, rank_state.status = 'failed') AS message
    FROM {database}.rank_states AS rank_state GROUP BY task_id
) AS state ON f.task_id = state.task_id
LEFT JOIN
(
    -- the further of what lines said and what the open line says
    SELECT
        task_id, argMax(tuple(at.done), (at.attempt, at.done)).1 AS done, argMax(tuple(at.total), (at.attempt, at.done)).1 AS total
    FROM
    (
        SELECT task_id, attempt, toFloat64OrNull(fields['done']) AS done, toFloat64OrNull(fields['total']) AS total
        FROM {database}.events WHERE kind = 'progress'
        UNION ALL
        SELECT beat.task_id, file.attempt, beat.progress_done, beat.progress_total
        FROM {database}.file_heartbeats AS beat
        INNER JOIN {database}.files AS file ON beat.task_id = file.task_id AND beat.file_id = file.file_id
    ) AS at
    WHERE at.done IS NOT NULL
    GROUP BY task_id
) AS progress ON f.task_id = progress.task_id;
