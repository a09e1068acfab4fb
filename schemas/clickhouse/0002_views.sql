-- What people and programs read. Each view is exact at any moment: with merges stopped, after kills, during a replay,
-- and in the middle of a file that two extractor versions have read. A condition on task_id reaches both sides of the
-- joins here, so that asking for one task reads one task's granules.

-- Log files, one row each: whose they are, which bytes are stored by which revision, and the attempt: the environment's
-- number, else the k-th start of that rank; a file without a start id counts by its generations at the same path.
CREATE OR REPLACE VIEW {database}.files {on_cluster} AS
SELECT
    task_id, file_id, path, start_id, rank, world_size, name, container, source, parent, parent_end,
    ranges, bytes, lines, first_arrived, last_arrived, last_stored,
    coalesce(
        given_attempt,
        if(start_id != '',
            toUInt32(dense_rank() OVER (PARTITION BY task_id, rank, start_id = '' ORDER BY start_first, start_id)),
            toUInt32(row_number() OVER (PARTITION BY task_id, rank, start_id = '', path ORDER BY first_arrived, file_id)))
    ) AS attempt
FROM
(
    SELECT *, min(first_arrived) OVER (PARTITION BY task_id, rank, start_id) AS start_first
    FROM
    (
        SELECT
            task_id, file_id,
            min(run.path) AS path, max(run.start_id) AS start_id, max(run.attempt) AS given_attempt, max(run.rank) AS rank,
            max(run.world_size) AS world_size, max(run.name) AS name, max(run.container) AS container,
            max(run.source) AS source, max(run.parent) AS parent, max(run.parent_end) AS parent_end,
            arraySort(groupArray((run.start, run.end, run.revision))) AS ranges,
            max(run.end) AS bytes, max(run.lines) AS lines,
            min(run.first_arrived) AS first_arrived, max(run.last_arrived) AS last_arrived, max(run.last_stored) AS last_stored
        FROM {database}.file_ranges AS run FINAL
        GROUP BY task_id, file_id
    )
);

-- Every point that a line said, each once: of the extractions that cover a line's bytes the newest counts.
CREATE OR REPLACE VIEW {database}.all_points {on_cluster} AS
SELECT
    p.task_id AS task_id, p.name AS name, p.step AS step, p.epoch AS epoch, p.value AS value,
    p.time AS time, p.time_known AS time_known, f.attempt AS attempt, p.rank AS rank, p.source AS source,
    multiIf(p.source = 'record', 3, p.source = 'tfevents', 2, 1) AS exactness,
    p.file_id AS file_id, p.offset AS offset, p.place AS place, p.revision AS revision, p.arrived AS arrived
FROM {database}.points AS p FINAL
INNER JOIN {database}.files AS f ON p.task_id = f.task_id AND p.file_id = f.file_id
WHERE p.revision = if(length(f.ranges) = 1,
    if(f.ranges[1].1 <= p.offset AND p.offset < f.ranges[1].2, f.ranges[1].3, 0),
    arrayMax(r -> if(r.1 <= p.offset AND p.offset < r.2, r.3, 0), f.ranges));

-- The log of a task, in file order: ORDER BY file_id, offset. Lines of our own records carry kind 'record'.
CREATE OR REPLACE VIEW {database}.lines {on_cluster} AS
SELECT
    l.task_id AS task_id, l.text AS text, l.kind AS kind, l.stream AS stream, l.time AS time, l.time_known AS time_known,
    f.attempt AS attempt, l.rank AS rank, f.path AS path, l.file_id AS file_id, l.offset AS offset, l.end AS end,
    l.arrived AS arrived
FROM {database}.log_lines AS l FINAL
INNER JOIN {database}.files AS f ON l.task_id = f.task_id AND l.file_id = f.file_id
WHERE arrayExists(r -> r.1 <= l.offset AND l.offset < r.2, f.ranges);

-- What happened to a task.
CREATE OR REPLACE VIEW {database}.events {on_cluster} AS
SELECT
    e.task_id AS task_id, e.kind AS kind, e.time AS time, e.time_known AS time_known, f.attempt AS attempt, e.rank AS rank,
    e.step AS step, e.epoch AS epoch, e.message AS message, e.fields AS fields, e.origin AS origin,
    e.file_id AS file_id, e.offset AS offset, e.place AS place, f.first_arrived AS file_first, e.arrived AS arrived
FROM {database}.task_events AS e FINAL
LEFT JOIN {database}.files AS f ON e.task_id = f.task_id AND e.file_id = f.file_id
WHERE e.origin = 'pipeline'
    OR e.revision = arrayMax(r -> if(r.1 <= e.offset AND e.offset < r.2, r.3, 0), f.ranges);

-- Curves: where the same metric of a rank and attempt comes from several sources, only the most exact is shown
-- (our own records, then TensorBoard's event files, then text).
CREATE OR REPLACE VIEW {database}.curves {on_cluster} AS
SELECT task_id, name, step, epoch, value, time, time_known, attempt, rank, source, file_id, offset, place, arrived
FROM
(
    SELECT *, max(exactness) OVER (PARTITION BY task_id, name, rank, attempt) AS most_exact
    FROM {database}.all_points
)
WHERE exactness = most_exact;

-- Curves over restarts as one: a point stands while no later attempt has logged that step or an earlier one.
CREATE OR REPLACE VIEW {database}.curves_stitched {on_cluster} AS
SELECT task_id, name, step, epoch, value, time, time_known, attempt, rank, source, file_id, offset, place, arrived
FROM
(
    SELECT *, min(first_step) OVER (
        PARTITION BY task_id, name, rank ORDER BY attempt RANGE BETWEEN 1 FOLLOWING AND UNBOUNDED FOLLOWING) AS next_first
    FROM
    (
        SELECT *, min(step) OVER (PARTITION BY task_id, name, rank, attempt) AS first_step
        FROM {database}.curves
    )
)
WHERE step IS NULL OR next_first IS NULL OR step < next_first;

-- The newest value of every metric, by rank: of the last attempt, the furthest step, the latest line.
CREATE OR REPLACE VIEW {database}.latest_values {on_cluster} AS
SELECT
    task_id, name, rank,
    last.1 AS value, last.2 AS step, last.3 AS epoch, last.4 AS time, points, non_finite, lowest, highest
FROM
(
    SELECT
        task_id, name, rank,
        argMax((c.value, c.step, c.epoch, c.time), (c.attempt, ifNull(c.step, -9223372036854775808), c.time, c.offset, c.place)) AS last,
        count() AS points, countIf(NOT isFinite(c.value)) AS non_finite,
        minIf(c.value, isFinite(c.value)) AS lowest, maxIf(c.value, isFinite(c.value)) AS highest
    FROM {database}.curves AS c
    GROUP BY task_id, name, rank
);

-- How far the ranks are apart, step by step of the stitched curves.
CREATE OR REPLACE VIEW {database}.rank_spread {on_cluster} AS
SELECT
    task_id, name, step, count() AS ranks, min(c.value) AS lowest, max(c.value) AS highest, avg(c.value) AS mean,
    argMin(c.rank, c.value) AS lowest_rank, argMax(c.rank, c.value) AS highest_rank,
    max(c.time) AS time, argMax(c.rank, c.time) AS slowest_rank, dateDiff('millisecond', min(c.time), max(c.time)) AS spread_ms
FROM {database}.curves_stitched AS c
WHERE c.step IS NOT NULL
GROUP BY task_id, name, step;

-- The newest word of shippers on each file.
CREATE OR REPLACE VIEW {database}.file_heartbeats {on_cluster} AS
SELECT
    task_id, file_id,
    max(h.sent) AS sent, max(h.arrived) AS arrived, max(h.size) AS size, max(h.offset) AS offset,
    argMax(h.ended, h.sent) AS ended, argMax(h.error, h.sent) AS error, argMax(h.open_line, h.sent) AS open_line,
    argMax(tuple(h.progress_done), h.sent).1 AS progress_done, argMax(tuple(h.progress_total), h.sent).1 AS progress_total,
    argMax(h.source, h.sent) AS source, argMax(h.host, h.sent) AS host, argMax(h.interval_ms, h.sent) AS interval_ms,
    argMax(h.path, h.sent) AS path, max(h.rank) AS rank, max(h.world_size) AS world_size, max(h.name) AS name
FROM {database}.heartbeats AS h
GROUP BY task_id, file_id;

-- What each rank of a task last said of itself: of its last start the latest status, ordered by start, time, file and
-- offset, so that a 'running' which comes late cannot beat the end. The end record of a file that goes on in another
-- one says 'running' itself.
CREATE OR REPLACE VIEW {database}.rank_states {on_cluster} AS
SELECT task_id, rank, attempt, last.1 AS status, last.2 AS message, last.3 AS code, last.4 AS signal, last.5 AS time
FROM
(
    SELECT
        task_id, rank, max(e.attempt) AS attempt,
        argMax(
            (e.fields['status'], e.message, e.fields['code'], e.fields['signal'], e.time),
            (e.attempt, e.kind != 'status' AND e.fields['status'] != 'running', e.time, e.file_id, e.offset, e.place)) AS last
    FROM {database}.events AS e
    WHERE e.kind IN ('status', 'finished', 'end') AND e.fields['status'] != ''
    GROUP BY task_id, rank
);

-- Tasks, one row each.
CREATE OR REPLACE VIEW {database}.tasks {on_cluster} AS
SELECT
    f.task_id AS task_id, if(header.name != '', header.name, f.name) AS name, header.owner AS owner, header.project AS project,
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

-- Is every byte that a task wrote stored? One row a file; `missing` are byte ranges that nothing covers.
CREATE OR REPLACE VIEW {database}.completeness {on_cluster} AS
SELECT
    file.task_id AS task_id, file.file_id AS file_id, file.path AS path, file.rank AS rank, file.attempt AS attempt,
    greatest(beat.size, covered.1) AS written, greatest(beat.offset, covered.1) AS shipped,
    arraySum(g -> g.2 - g.1, gaps) AS missing_inside, covered.1 - missing_inside AS stored,
    arrayFilter(g -> g.2 > g.1, arrayPushBack(gaps, (covered.1, greatest(beat.size, covered.1)))) AS missing,
    beat.ended AS ended, beat.sent AS last_heartbeat, beat.error AS error,
    multiIf(
        beat.error != '', concat('the shipper cannot read it: ', beat.error),
        empty(missing) AND beat.ended NOT IN ('', 'farewell', 'damaged'), 'complete',
        empty(missing) AND beat.ended = 'damaged', 'stored up to damaged bytes',
        empty(missing), 'stored so far',
        shipped < written, concat('shipper at byte ', toString(shipped), ' of ', toString(written)),
        concat(toString(arraySum(g -> g.2 - g.1, missing)), ' bytes shipped and not stored yet')) AS verdict
FROM
(
    SELECT
        *,
        -- (end of what is covered so far, gaps found): a sweep over the ranges in order of their starts
        arrayFold(
            (acc, r) -> (greatest(acc.1, r.2), if(r.1 > acc.1, arrayPushBack(acc.2, (acc.1, r.1)), acc.2)),
            ranges, (toUInt64(0), CAST([], 'Array(Tuple(UInt64, UInt64))'))) AS covered,
        covered.2 AS gaps
    FROM {database}.files
) AS file
LEFT JOIN {database}.file_heartbeats AS beat ON file.task_id = beat.task_id AND file.file_id = beat.file_id;

-- Where time goes between a written line and a stored row, batch by batch. A negative hop is clock skew, shown as it is.
CREATE OR REPLACE VIEW {database}.hop_latency {on_cluster} AS
SELECT
    task_id, file_id, start, end, written, shipped, arrived, stored,
    dateDiff('millisecond', written, shipped) AS written_to_shipped_ms,
    dateDiff('millisecond', shipped, arrived) AS shipped_to_arrived_ms,
    dateDiff('millisecond', arrived, stored) AS arrived_to_stored_ms,
    least(written_to_shipped_ms, shipped_to_arrived_ms, arrived_to_stored_ms) < 0 AS clock_skew
FROM {database}.ledger;
