-- What alerts ask once a minute, of all tasks at once: kept as it comes, one small row a file, so that no alert reads the history
-- of tasks. Only what a repeat cannot change is kept: maxima and minima. No insert window here: what is delivered again, also after
-- a kill between a table and its view, must arrive and changes nothing.

-- The newest heartbeat of a file, whoever sent it.
CREATE TABLE IF NOT EXISTS {database}.newest_heartbeats {on_cluster}
(
    task_id String,
    file_id String,
    newest  SimpleAggregateFunction(max, Tuple(sent DateTime64(3, 'UTC'), ended String, error String))
)
ENGINE = AggregatingMergeTree
ORDER BY (task_id, file_id);

CREATE MATERIALIZED VIEW IF NOT EXISTS {database}.to_newest_heartbeats {on_cluster} TO {database}.newest_heartbeats AS
SELECT task_id, file_id, max((h.sent, toString(h.ended), h.error)) AS newest FROM {database}.heartbeats AS h GROUP BY task_id, file_id;

-- What a file's lines said last of its task: who it is, how it is and how far. Each extraction has a row, and each word the
-- offset of its line: it counts where the extraction's range stands. A time is kept as minus its milliseconds where the
-- earliest is wanted, and is 0 where nothing was said.
CREATE TABLE IF NOT EXISTS {database}.newest_words {on_cluster}
(
    task_id  String,
    file_id  String,
    revision UInt64,
    rank     UInt32,
    header   SimpleAggregateFunction(max, Tuple(
        before Int64, offset UInt64, owner String, project String, framework String)),
    status   SimpleAggregateFunction(max, Tuple(
        last Bool, time DateTime64(3, 'UTC'), offset UInt64, place UInt32, status String, message String)),
    progress SimpleAggregateFunction(max, Tuple(done Float64, before Int64, offset UInt64, total Float64))
)
ENGINE = AggregatingMergeTree
ORDER BY (task_id, file_id, revision, rank);

CREATE MATERIALIZED VIEW IF NOT EXISTS {database}.to_newest_words {on_cluster} TO {database}.newest_words AS
SELECT
    task_id, file_id, revision, rank,
    maxIf(
        (-toUnixTimestamp64Milli(e.time), e.offset, e.fields['owner'], e.fields['project'], e.fields['framework']),
        e.kind = 'header') AS header,
    maxIf(
        (e.kind != 'status' AND e.fields['status'] != 'running', e.time, e.offset, e.place, e.fields['status'], e.message),
        e.kind IN ('status', 'finished', 'end') AND e.fields['status'] != '') AS status,
    maxIf(
        (toFloat64OrZero(e.fields['done']), -toUnixTimestamp64Milli(e.time), e.offset, toFloat64OrZero(e.fields['total'])),
        e.kind = 'progress' AND isFinite(toFloat64OrZero(e.fields['done']))) AS progress
FROM {database}.task_events AS e
WHERE e.origin = 'line' AND e.kind IN ('header', 'status', 'finished', 'end', 'progress')
GROUP BY task_id, file_id, revision, rank;

-- By quarter of an hour of arrival: the lowest of each loss (infinity where it has no finite value), and the last value of any metric
-- that is no number, with the offsets of their lines. Who asks wants the last day.
CREATE TABLE IF NOT EXISTS {database}.metric_quarters {on_cluster}
(
    quarter  DateTime('UTC'),
    task_id  String,
    name     LowCardinality(String),
    file_id  String,
    revision UInt64,
    lowest   SimpleAggregateFunction(min, Tuple(value Float64, offset UInt64)),
    broken   SimpleAggregateFunction(max, Tuple(is_broken Bool, offset UInt64))
)
ENGINE = AggregatingMergeTree
PARTITION BY toYYYYMM(quarter)
ORDER BY (quarter, task_id, name, file_id, revision)
TTL quarter + INTERVAL 2 DAY;

CREATE MATERIALIZED VIEW IF NOT EXISTS {database}.to_metric_quarters {on_cluster} TO {database}.metric_quarters AS
SELECT
    toStartOfFifteenMinutes(p.arrived) AS quarter, task_id, name, file_id, revision,
    min((if(isFinite(p.value), p.value, inf), p.offset)) AS lowest, max((isFinite(p.value) = 0, p.offset)) AS broken
FROM {database}.points AS p
WHERE isFinite(p.value) = 0 OR p.name IN ('loss', 'train_loss', 'train/loss')
GROUP BY quarter, task_id, name, file_id, revision;

-- What was there before: once more is no more.
INSERT INTO {database}.newest_heartbeats
SELECT task_id, file_id, max((h.sent, toString(h.ended), h.error)) FROM {database}.heartbeats AS h GROUP BY task_id, file_id;

INSERT INTO {database}.newest_words
SELECT
    task_id, file_id, revision, rank,
    maxIf(
        (-toUnixTimestamp64Milli(e.time), e.offset, e.fields['owner'], e.fields['project'], e.fields['framework']),
        e.kind = 'header'),
    maxIf(
        (e.kind != 'status' AND e.fields['status'] != 'running', e.time, e.offset, e.place, e.fields['status'], e.message),
        e.kind IN ('status', 'finished', 'end') AND e.fields['status'] != ''),
    maxIf(
        (toFloat64OrZero(e.fields['done']), -toUnixTimestamp64Milli(e.time), e.offset, toFloat64OrZero(e.fields['total'])),
        e.kind = 'progress' AND isFinite(toFloat64OrZero(e.fields['done'])))
FROM {database}.task_events AS e
WHERE e.origin = 'line' AND e.kind IN ('header', 'status', 'finished', 'end', 'progress')
GROUP BY task_id, file_id, revision, rank;

-- Messages that were put aside lately are found in granules of late arrivals.
ALTER TABLE {database}.dead_letters {on_cluster} ADD INDEX IF NOT EXISTS lately arrived TYPE minmax GRANULARITY 1;

-- Files as alerts see them: bytes missing between stored ones, and why a shipper cannot read.
CREATE OR REPLACE VIEW {database}.watched_files {on_cluster} AS
SELECT
    f.task_id AS task_id, f.file_id AS file_id, f.path AS path, f.rank AS rank, f.attempt AS attempt, f.world_size AS world_size,
    f.ranges AS ranges, f.first_arrived AS first_arrived, f.last_arrived AS last_arrived,
    b.newest.1 AS last_heartbeat, b.newest.2 AS ended, b.newest.3 AS error, b.file_id != '' AS is_known,
    -- (end of what is covered so far, bytes missing before it): a sweep over the ranges in order of their starts
    arrayFold(
        (acc, r) -> (greatest(acc.1, r.2), acc.2 + toUInt64(greatest(acc.1, r.1) - acc.1)),
        f.ranges, (CAST(f.parent_end, 'UInt64'), toUInt64(0))).2 AS missing_inside
FROM {database}.files AS f
LEFT JOIN
(
    SELECT task_id, file_id, max(newest.newest) AS newest FROM {database}.newest_heartbeats AS newest GROUP BY task_id, file_id
) AS b ON f.task_id = b.task_id AND f.file_id = b.file_id;

-- Tasks as alerts see them: the health of `fleet`, told from the newest words only. A word counts where its line is stored by the
-- extraction that read it, and no newer one; so the words that a killed worker left half done are silent until it is done again.
CREATE OR REPLACE VIEW {database}.watched_tasks {on_cluster} AS
SELECT
    task_id, owner, project, framework, message, last_seen, progress.1 AS progress_done, progress.4 AS progress_total,
    fromUnixTimestamp64Milli(-progress.2, 'UTC') AS progress_moved, progress.2 != 0 AS has_progress,
    dateDiff('second', last_seen, now64(3)) AS quiet_seconds,
    dateDiff('second', greatest(last_heartbeat, last_seen), now64(3)) AS unheard_seconds,
    multiIf(
        failed > 0, 'failed',
        speaking > 0 AND succeeded = speaking AND speaking >= world_size, 'succeeded',
        speaking > 0 AND speaking >= world_size AND running = 0, any_status,
        open_files = 0 AND known_files > 0, 'ended',
        'running') AS status,
    multiIf(
        status != 'running', status,
        unheard_seconds > 120, 'silent',
        quiet_seconds > 600, 'stalled',
        'running') AS health
FROM
(
    SELECT
        task_id, max(r.world_size) AS world_size, max(r.last_seen) AS last_seen, max(r.last_heartbeat) AS last_heartbeat,
        sum(r.known_files) AS known_files, sum(r.open_files) AS open_files,
        max(r.owner) AS owner, max(r.project) AS project, max(r.framework) AS framework,
        countIf(r.status.4 != '') AS speaking, countIf(r.status.4 = 'failed') AS failed, countIf(r.status.4 = 'succeeded') AS succeeded,
        countIf(r.status.4 NOT IN ('', 'failed', 'succeeded', 'stopped', 'ended')) AS running,
        argMaxIf(r.status.4, r.status.3, r.status.4 != '') AS any_status,
        argMaxIf(r.status.5, r.status.4 = 'failed', r.status.4 != '') AS message,
        argMax(r.progress, (r.attempt, r.progress)) AS progress
    FROM
    (
        -- of each rank what its last start said: (attempt, is it an end, time, status, message)
        SELECT
            task_id, rank, max(w.attempt) AS attempt, greatest(ifNull(max(w.world_size), 1), 1) AS world_size, max(w.last_arrived) AS last_seen,
            max(w.last_heartbeat) AS last_heartbeat, countIf(w.is_known) AS known_files, countIf(w.is_known AND w.ended = '') AS open_files,
            max(w.header.3) AS owner, max(w.header.4) AS project, max(w.header.5) AS framework,
            max((w.attempt, w.status.1, w.status.2, w.status.5, w.status.6)) AS status,
            argMax(w.progress, (w.attempt, w.progress)) AS progress
        FROM
        (
            SELECT
                f.task_id AS task_id, f.file_id AS file_id, f.rank AS rank, any(f.attempt) AS attempt, any(f.world_size) AS world_size,
                any(f.last_arrived) AS last_arrived, any(f.last_heartbeat) AS last_heartbeat, any(f.is_known) AS is_known, any(f.ended) AS ended,
                maxIf(n.header, n.revision = arrayMax(r -> if(r.1 <= n.header.2 AND n.header.2 < r.2, r.3, 0), f.ranges)) AS header,
                maxIf(n.status, n.revision = arrayMax(r -> if(r.1 <= n.status.3 AND n.status.3 < r.2, r.3, 0), f.ranges)) AS status,
                maxIf(n.progress, n.revision = arrayMax(r -> if(r.1 <= n.progress.3 AND n.progress.3 < r.2, r.3, 0), f.ranges)) AS progress
            FROM {database}.watched_files AS f
            LEFT JOIN
            (
                SELECT
                    task_id, file_id, revision, rank, max(m.header) AS header, max(m.status) AS status, max(m.progress) AS progress
                FROM {database}.newest_words AS m
                GROUP BY task_id, file_id, revision, rank
            ) AS n ON f.task_id = n.task_id AND f.file_id = n.file_id
            GROUP BY task_id, file_id, rank
        ) AS w
        GROUP BY task_id, rank
    ) AS r
    GROUP BY task_id
);

-- What alerts ask of metrics, by quarter of an hour of arrival, of the last two days: the lowest of a loss, infinity where there is
-- none, and whether a value was no number. Ask with a condition on quarter.
CREATE OR REPLACE VIEW {database}.watched_metrics {on_cluster} AS
SELECT
    m.task_id AS task_id, m.name AS name, m.quarter AS quarter,
    minIf(m.lowest.1, m.revision = arrayMax(r -> if(r.1 <= m.lowest.2 AND m.lowest.2 < r.2, r.3, 0), f.ranges)) AS lowest,
    maxIf(m.broken.1, m.revision = arrayMax(r -> if(r.1 <= m.broken.2 AND m.broken.2 < r.2, r.3, 0), f.ranges)) AS is_broken
FROM {database}.metric_quarters AS m
INNER JOIN {database}.files AS f ON m.task_id = f.task_id AND m.file_id = f.file_id
GROUP BY task_id, name, quarter;

-- As before, from one pass: the points of a curve are gathered into arrays, and what was a window over all points (the most exact
-- source, the next attempt's first step, the ends of the axis) is one over its few attempts. A step of 2^63 - 1 is not stitched.
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
                point.2 AS x, point.1 AS value, point.3 AS ms, point.4 AS step_, point.5 AS epoch_,
                greatest(intDiv({points:UInt32}, uniqExact((rank, attempt)) OVER (PARTITION BY task_id, name)), 40) AS share
            FROM
            (
                -- grouped by three small numbers: texts as keys of all points take half of the time
                SELECT
                    any(c.task_id) AS task_id, any(c.name) AS name, any(c.rank) AS rank, any(c.attempt) AS attempt, bucket,
                    ['finite', 'NaN', 'Infinity', '-Infinity'][sort] AS kind, any(c.points) AS points,
                    -- of equal values always the same one, whatever order the parts are read in
                    if(sort = 1,
                        [min((value, x, ms, step_, epoch_)), max((value, x, ms, step_, epoch_))],
                        arrayMap(p -> (p.2, p.1, p.3, p.4, p.5), groupArraySortedIf(133)((x, value, ms, step_, epoch_), sort != 1))) AS chosen
                FROM
                (
                    SELECT
                        task_id, name, rank, attempt, points, curve, value, ms, step_, epoch_, if({axis:String} = 'time', ms, step_) AS x,
                        multiIf(isFinite(value), 1, isNaN(value), 2, value > 0, 3, 4) AS sort,
                        -- in floating point: steps as far apart as 64 bits allow must not overflow
                        multiIf(x = first_x, -1, x = last_x, 799,
                            toInt32(least(798, (toFloat64(x) - first_x) / (toFloat64(last_x) - first_x) * 799))) AS bucket
                    FROM
                    (
                        SELECT
                            *, dense_rank() OVER (ORDER BY task_id, name, rank, attempt) AS curve,
                            min(low) OVER one AS first_x, max(high) OVER one AS last_x, sum(length(stamps)) OVER one AS points
                        FROM
                        (
                            SELECT
                                task_id, name, rank, if({each:UInt8} = 1, attempt, 0) AS attempt,
                                arrayMap(
                                    (s, ms) -> ms >= toUnixTimestamp64Milli({since:DateTime64(3)}) AND ms <= toUnixTimestamp64Milli({until:DateTime64(3)})
                                        AND if(s = -9223372036854775808, {axis:String} = 'time', {each:UInt8} = 1 OR s < next_first),
                                    all_steps, all_stamps) AS drawn,
                                arrayFilter((v, d) -> d, all_values, drawn) AS values,
                                arrayFilter((v, d) -> d, all_stamps, drawn) AS stamps,
                                arrayFilter((v, d) -> d, all_steps, drawn) AS steps,
                                arrayFilter((v, d) -> d, all_epochs, drawn) AS epochs,
                                if({axis:String} = 'time', arrayMin(stamps), arrayMin(steps)) AS low,
                                if({axis:String} = 'time', arrayMax(stamps), arrayMax(steps)) AS high
                            FROM
                            (
                                -- a point stands while no later attempt has logged that step or an earlier one; 2^63 - 1: none has
                                SELECT *, ifNull(min(first_step) OVER (
                                    PARTITION BY task_id, name, rank ORDER BY attempt RANGE BETWEEN 1 FOLLOWING AND UNBOUNDED FOLLOWING
                                    ), 9223372036854775807) AS next_first
                                FROM
                                (
                                    SELECT *, max(exactness) OVER (PARTITION BY task_id, name, rank, attempt) AS most_exact
                                    FROM
                                    (
                                        SELECT
                                            task_id, name, rank, attempt, exactness, min(p.step) AS first_step,
                                            groupArray(p.value) AS all_values, groupArray(toUnixTimestamp64Milli(p.time)) AS all_stamps,
                                            groupArray(ifNull(p.step, -9223372036854775808)) AS all_steps,
                                            groupArray(ifNull(p.epoch, nan)) AS all_epochs
                                        FROM {database}.all_points AS p
                                        WHERE task_id IN {tasks:Array(String)}
                                            AND name IN arrayMap(m -> decodeURLComponent(m), {metrics:Array(String)})
                                        GROUP BY task_id, name, rank, attempt, exactness
                                    )
                                )
                                WHERE exactness = most_exact
                            )
                        )
                        WHERE notEmpty(stamps)
                        WINDOW one AS (PARTITION BY task_id, name, rank, attempt)
                    )
                    ARRAY JOIN values AS value, stamps AS ms, steps AS step_, epochs AS epoch_
                ) AS c
                GROUP BY curve, bucket, sort
            )
            ARRAY JOIN chosen AS point
        )
    )
    WHERE if(kind = 'finite', from_low = 1 OR from_high = 1, (nth - 1) % every = 0)
    ORDER BY task_id, name, rank, attempt, x, kind, ms DESC
    LIMIT 1 BY task_id, name, rank, attempt, x, kind
);
