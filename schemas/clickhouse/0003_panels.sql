-- What panels, alerts and people with large tasks need on top: curves drawn from few points, a task's health in words,
-- and two ways to find rows without reading a table: by the time a batch came, and by a value that is no number.

-- Granules without NaN and infinities are skipped by a query for them (isFinite of a granule is 1 to 1, or reaches 0).
ALTER TABLE {database}.points {on_cluster} ADD INDEX IF NOT EXISTS non_finite isFinite(value) TYPE minmax GRANULARITY 1;

-- The ledger once more, by time, without its wide columns: the last hour of all tasks is one range here, and the whole
-- table in the order of tasks.
ALTER TABLE {database}.ledger {on_cluster} ADD PROJECTION IF NOT EXISTS by_time
(
    SELECT task_id, file_id, start, end, lines, points, events, source, worker, written, shipped, arrived, stored
    ORDER BY arrived
);

-- Batches as they were stored, and where their time went. Ask with a condition on arrived.
CREATE OR REPLACE VIEW {database}.batches {on_cluster} AS
SELECT
    task_id, file_id, start, end, lines, points, events, source, worker, written, shipped, arrived, stored,
    dateDiff('millisecond', written, shipped) AS written_to_shipped_ms,
    dateDiff('millisecond', shipped, arrived) AS shipped_to_arrived_ms,
    dateDiff('millisecond', arrived, stored) AS arrived_to_stored_ms
FROM {database}.ledger;

-- Tasks by name and age only: one row of the ranges a file is read, nothing else. (Casts, because a column's own type,
-- SimpleAggregateFunction, would go through, and not every client reads that.)
CREATE OR REPLACE VIEW {database}.task_names {on_cluster} AS
SELECT
    task_id, CAST(max(r.name), 'String') AS name, CAST(min(r.first_arrived), 'DateTime64(3, \'UTC\')') AS first_seen,
    CAST(max(r.last_arrived), 'DateTime64(3, \'UTC\')') AS last_seen, uniqExact(r.file_id) AS log_files
FROM {database}.file_ranges AS r
GROUP BY task_id;

-- Tasks whose id or name holds the text, whatever its case; the text is percent-encoded, so that no quote is in it.
CREATE OR REPLACE VIEW {database}.found_tasks {on_cluster} AS
SELECT task_id, name, first_seen, last_seen, log_files
FROM {database}.task_names
WHERE positionCaseInsensitiveUTF8(concat(task_id, '\n', name), decodeURLComponent({search:String})) > 0;

-- Metrics of a task by name, from the index alone; of two extractions that name one metric differently it tells both.
CREATE OR REPLACE VIEW {database}.metric_names {on_cluster} AS
SELECT task_id, name FROM {database}.points GROUP BY task_id, name;

-- Messages that were put aside.
CREATE OR REPLACE VIEW {database}.rejected_messages {on_cluster} AS
SELECT topic, partition, offset, reason, message, task_id, key, value, arrived, stored
FROM {database}.dead_letters FINAL;

-- What is no number, metric by metric: the first of it, and how often.
CREATE OR REPLACE VIEW {database}.non_finite {on_cluster} AS
SELECT
    task_id, name, rank, attempt, first.1 AS first_value, first.2 AS first_step, first.3 AS first_time, last_time, points
FROM
(
    SELECT
        task_id, name, rank, attempt,
        argMin((p.value, p.step, p.time), (p.time, p.file_id, p.offset, p.place)) AS first, max(p.time) AS last_time, count() AS points
    FROM {database}.all_points AS p
    WHERE isFinite(p.value) = 0
    GROUP BY task_id, name, rank, attempt
);

-- Tasks with their health in words, and when they will be done. Silent: nobody has reported for 2 minutes (12 heartbeats
-- of 10 s). Stalled: reported alive, and no new line for 10 minutes.
CREATE OR REPLACE VIEW {database}.fleet {on_cluster} AS
SELECT
    t.task_id AS task_id, CAST(t.name, 'String') AS name, t.owner AS owner, t.project AS project, h.framework AS framework,
    t.status AS status, t.message AS message, t.attempts AS attempts, t.ranks AS ranks, t.world_size AS world_size,
    CAST(t.started, 'DateTime64(3, \'UTC\')') AS started, CAST(t.last_seen, 'DateTime64(3, \'UTC\')') AS last_seen,
    t.last_heartbeat AS last_heartbeat, CAST(t.bytes, 'UInt64') AS bytes, CAST(t.lines, 'UInt64') AS lines,
    t.progress_done AS progress_done, t.progress_total AS progress_total,
    if(t.progress_total > 0, least(t.progress_done / t.progress_total, 1), NULL) AS progress,
    p.moved AS progress_moved, p.rate AS rate,
    if(t.status = 'running' AND p.rate > 0 AND t.progress_total > t.progress_done,
        (t.progress_total - t.progress_done) / p.rate, NULL) AS seconds_left,
    dateDiff('second', t.last_seen, now64(3)) AS quiet_seconds,
    dateDiff('second', greatest(t.last_heartbeat, t.last_seen), now64(3)) AS unheard_seconds,
    multiIf(
        t.status != 'running', t.status,
        unheard_seconds > 120, 'silent',
        quiet_seconds > 600, 'stalled',
        'running') AS health
FROM {database}.tasks AS t
LEFT JOIN
(
    SELECT task_id, max(e.fields['framework']) AS framework
    FROM {database}.events AS e WHERE e.kind IN ('header', 'params') GROUP BY task_id
) AS h ON t.task_id = h.task_id
LEFT JOIN
(
    -- of the last attempt: when the furthest was reached, and units a second until then
    SELECT
        task_id, argMax(run.moved, run.attempt) AS moved,
        argMax((run.furthest - run.nearest) / nullIf(dateDiff('millisecond', run.began, run.moved) / 1000, 0), run.attempt) AS rate
    FROM
    (
        SELECT
            task_id, attempt, max(done) AS furthest, min(done) AS nearest, min(time) AS began,
            argMax(time, (done, -toUnixTimestamp64Milli(time))) AS moved
        FROM (SELECT task_id, attempt, time, toFloat64OrZero(fields['done']) AS done FROM {database}.events WHERE kind = 'progress')
        GROUP BY task_id, attempt
    ) AS run
    GROUP BY task_id
) AS p ON t.task_id = p.task_id;

-- Curves for drawing: at most `points` rows a metric of a task, however many there are, with the lowest and the highest
-- value of each part of the axis, both ends, and every NaN and infinity (thinned evenly, the first kept, where they are
-- too many). One row per curve, place on the axis and kind; a place that was logged twice shows what was logged last.
--   tasks, metrics   arrays; a metric's name percent-encoded where it holds anything but letters, digits and -_.~
--   axis             'step' or 'time' (x is then milliseconds since the epoch)
--   each             1: each attempt is a curve of its own; 0: stitched over attempts
--   since, until     both inside
-- Of n points a curve may draw (n - 2) × 2/5 parts with two values each, n/15 of each of the three kinds that are no
-- numbers, and two ends: 2 × 799 + 3 × 133 + 2 = 1,999 for n = 2,000. The axis is first cut into 799 parts a curve, so
-- that windows over all points are few and the rest works on what those parts gave. A curve gets 40 at the least.
-- `drawn_at` is where to put a mark: the value, or the number before it.
CREATE OR REPLACE VIEW {database}.drawn_curves {on_cluster} AS
SELECT
    task_id, name, rank, attempt, x, step, epoch, time, value, kind, points,
    ifNull(last_value(if(kind = 'finite', value, NULL)) IGNORE NULLS OVER (
        PARTITION BY task_id, name, rank, attempt ORDER BY x, kind != 'finite', kind ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW
    ), 0) AS drawn_at
FROM
(
    SELECT
        task_id, name, rank, attempt, x, value, kind, points,
        if(step_ = -9223372036854775808, NULL, step_) AS step, if(isNaN(epoch_), NULL, epoch_) AS epoch,
        fromUnixTimestamp64Milli(ms, 'UTC') AS time
    FROM
    (
        SELECT
            *,
            multiIf(bucket < 0, -1, bucket = 799, 799, intDiv(bucket * intDiv((share - 2) * 2, 5), 799)) AS part,
            row_number() OVER (PARTITION BY task_id, name, rank, attempt, kind, part ORDER BY value, x, ms) AS from_low,
            row_number() OVER (PARTITION BY task_id, name, rank, attempt, kind, part ORDER BY value DESC, x DESC, ms DESC) AS from_high,
            row_number() OVER (PARTITION BY task_id, name, rank, attempt, kind ORDER BY x, ms) AS nth,
            count() OVER (PARTITION BY task_id, name, rank, attempt, kind) AS of_kind,
            intDiv(of_kind + intDiv(share, 15) - 1, intDiv(share, 15)) AS every
        FROM
        (
            SELECT
                task_id, name, rank, attempt, bucket, kind, points,
                point.1 AS x, point.2 AS value, point.3 AS ms, point.4 AS step_, point.5 AS epoch_,
                greatest(intDiv({points:UInt32}, uniqExact((rank, attempt)) OVER (PARTITION BY task_id, name)), 40) AS share
            FROM
            (
                SELECT
                    task_id, name, rank, attempt, bucket, kind, points,
                    -- of equal values always the same one, whatever order the parts are read in
                    [argMin((x, value, ms, step_, epoch_), (value, x, ms)), argMax((x, value, ms, step_, epoch_), (value, x, ms))] AS ends,
                    if(kind = 'finite', ends, groupArraySortedIf(133)((x, value, ms, step_, epoch_), kind != 'finite')) AS chosen
                FROM
                (
                    SELECT
                        task_id, name, rank, if({each:UInt8} = 1, attempt, 0) AS attempt, value,
                        toUnixTimestamp64Milli(time) AS ms,
                        ifNull(step, -9223372036854775808) AS step_, ifNull(epoch, nan) AS epoch_,
                        if({axis:String} = 'time', ms, step_) AS x,
                        multiIf(isFinite(value), 'finite', isNaN(value), 'NaN', value > 0, 'Infinity', '-Infinity') AS kind,
                        min(x) OVER curve AS first_x, max(x) OVER curve AS last_x, count() OVER curve AS points,
                        -- in floating point: steps as far apart as 64 bits allow must not overflow
                        multiIf(x = first_x, -1, x = last_x, 799,
                            toInt32(least(798, (toFloat64(x) - first_x) / (toFloat64(last_x) - first_x) * 799))) AS bucket
                    FROM
                    (
                        SELECT task_id, name, step, epoch, value, time, attempt, rank
                        FROM {database}.curves_stitched
                        WHERE task_id IN if({each:UInt8} = 1, [''], arrayPushBack({tasks:Array(String)}, ''))
                            AND name IN arrayMap(m -> decodeURLComponent(m), {metrics:Array(String)})
                        UNION ALL
                        SELECT task_id, name, step, epoch, value, time, attempt, rank
                        FROM {database}.curves
                        WHERE task_id IN if({each:UInt8} = 1, arrayPushBack({tasks:Array(String)}, ''), [''])
                            AND name IN arrayMap(m -> decodeURLComponent(m), {metrics:Array(String)})
                    )
                    WHERE time >= {since:DateTime64(3)} AND time <= {until:DateTime64(3)} AND ({axis:String} = 'time' OR step IS NOT NULL)
                    WINDOW curve AS (PARTITION BY task_id, name, rank, attempt)
                )
                GROUP BY task_id, name, rank, attempt, bucket, kind, points
            )
            ARRAY JOIN chosen AS point
        )
    )
    WHERE if(kind = 'finite', from_low = 1 OR from_high = 1, (nth - 1) % every = 0)
    ORDER BY task_id, name, rank, attempt, x, kind, ms DESC
    LIMIT 1 BY task_id, name, rank, attempt, x, kind
);
