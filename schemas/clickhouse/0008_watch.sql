-- What alerts and Fleet ask again and again, of all tasks at once: kept as it comes, a small row a file, so that neither reads the
-- history of tasks. Only what a repeat cannot change is kept: maxima and minima. No insert window here: what is delivered again, also after
-- a kill between a table and its view, must arrive and changes nothing.

-- The newest heartbeat of a file, whoever sent it.
CREATE TABLE IF NOT EXISTS {database}.newest_heartbeats {on_cluster}
(
    task_id String,
    file_id String,
    newest  SimpleAggregateFunction(max, Tuple(sent DateTime64(3, 'UTC'), ended String, error String, progress Array(Float64)))
            COMMENT 'progress, of its open line: nothing, done, or done and total'
)
ENGINE = AggregatingMergeTree
ORDER BY (task_id, file_id);

CREATE MATERIALIZED VIEW IF NOT EXISTS {database}.to_newest_heartbeats {on_cluster} TO {database}.newest_heartbeats AS
SELECT
    task_id, file_id,
    max((
        h.sent, toString(h.ended), h.error,
        arrayMap(n -> assumeNotNull(n), arrayFilter(n -> isNotNull(n), if(isNull(h.progress_done), [], [h.progress_done, h.progress_total]))))) AS newest
FROM {database}.heartbeats AS h
GROUP BY task_id, file_id;

-- What a file's lines said last of its task: who it is, how it is and how far. Each extraction has a row, and each word the
-- offset of its line: it counts where the extraction's range stands. Where the earliest is wanted, `before` is 10^15 less the
-- milliseconds of its time, so that it is a maximum too, and above the 0 of nothing said.
CREATE TABLE IF NOT EXISTS {database}.newest_words {on_cluster}
(
    task_id  String,
    file_id  String,
    revision UInt64,
    header   SimpleAggregateFunction(max, Tuple(
        before UInt64, offset UInt64, name String, owner String, project String, framework String)),
    status   SimpleAggregateFunction(max, Tuple(
        last Bool, time DateTime64(3, 'UTC'), offset UInt64, place UInt32, status String, message String)),
    progress SimpleAggregateFunction(max, Tuple(done Float64, before UInt64, offset UInt64, total Array(Float64))),
    nearest  SimpleAggregateFunction(min, Nullable(Float64)) COMMENT 'the least that was done',
    began    SimpleAggregateFunction(min, Nullable(DateTime64(3, 'UTC'))) COMMENT 'the first word on progress'
)
ENGINE = AggregatingMergeTree
ORDER BY (task_id, file_id, revision);

CREATE MATERIALIZED VIEW IF NOT EXISTS {database}.to_newest_words {on_cluster} TO {database}.newest_words AS
WITH e.kind = 'progress' AND ifNull(isFinite(toFloat64OrNull(e.fields['done'])), 0) AS says_progress
SELECT
    task_id, file_id, revision,
    maxIf(
        (toUInt64(1e15 - toUnixTimestamp64Milli(e.time)), e.offset, e.fields['name'], e.fields['owner'], e.fields['project'], e.fields['framework']),
        e.kind = 'header') AS header,
    maxIf(
        (e.kind != 'status' AND e.fields['status'] != 'running', e.time, e.offset, e.place, e.fields['status'], e.message),
        e.kind IN ('status', 'finished', 'end') AND e.fields['status'] != '') AS status,
    maxIf(
        (toFloat64OrZero(e.fields['done']), toUInt64(1e15 - toUnixTimestamp64Milli(e.time)), e.offset,
         arrayMap(n -> assumeNotNull(n), arrayFilter(n -> isNotNull(n), [toFloat64OrNull(e.fields['total'])]))),
        says_progress) AS progress,
    minOrNullIf(toFloat64OrZero(e.fields['done']), says_progress) AS nearest, minOrNullIf(e.time, says_progress) AS began
FROM {database}.task_events AS e
WHERE e.origin = 'line' AND e.kind IN ('header', 'status', 'finished', 'end', 'progress')
GROUP BY task_id, file_id, revision;

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
SELECT
    task_id, file_id,
    max((
        h.sent, toString(h.ended), h.error,
        arrayMap(n -> assumeNotNull(n), arrayFilter(n -> isNotNull(n), if(isNull(h.progress_done), [], [h.progress_done, h.progress_total])))))
FROM {database}.heartbeats AS h
GROUP BY task_id, file_id;

INSERT INTO {database}.newest_words
WITH e.kind = 'progress' AND ifNull(isFinite(toFloat64OrNull(e.fields['done'])), 0) AS says_progress
SELECT
    task_id, file_id, revision,
    maxIf(
        (toUInt64(1e15 - toUnixTimestamp64Milli(e.time)), e.offset, e.fields['name'], e.fields['owner'], e.fields['project'], e.fields['framework']),
        e.kind = 'header'),
    maxIf(
        (e.kind != 'status' AND e.fields['status'] != 'running', e.time, e.offset, e.place, e.fields['status'], e.message),
        e.kind IN ('status', 'finished', 'end') AND e.fields['status'] != ''),
    maxIf(
        (toFloat64OrZero(e.fields['done']), toUInt64(1e15 - toUnixTimestamp64Milli(e.time)), e.offset,
         arrayMap(n -> assumeNotNull(n), arrayFilter(n -> isNotNull(n), [toFloat64OrNull(e.fields['total'])]))),
        says_progress),
    minOrNullIf(toFloat64OrZero(e.fields['done']), says_progress), minOrNullIf(e.time, says_progress)
FROM {database}.task_events AS e
WHERE e.origin = 'line' AND e.kind IN ('header', 'status', 'finished', 'end', 'progress')
GROUP BY task_id, file_id, revision;

-- Messages that were put aside lately are found in granules of late arrivals.
ALTER TABLE {database}.dead_letters {on_cluster} ADD INDEX IF NOT EXISTS lately arrived TYPE minmax GRANULARITY 1;

-- Files as alerts see them: bytes missing between stored ones, and why a shipper cannot read.
CREATE OR REPLACE VIEW {database}.watched_files {on_cluster} AS
SELECT
    f.task_id AS task_id, f.file_id AS file_id, f.path AS path, f.name AS name, f.rank AS rank, f.attempt AS attempt,
    f.world_size AS world_size, f.ranges AS ranges, f.bytes AS bytes, f.lines AS lines,
    f.first_arrived AS first_arrived, f.last_arrived AS last_arrived,
    b.newest.1 AS last_heartbeat, b.newest.2 AS ended, b.newest.3 AS error, b.newest.4 AS open_progress, b.file_id != '' AS is_known,
    -- (end of what is covered so far, bytes missing before it): a sweep over the ranges in order of their starts
    arrayFold(
        (acc, r) -> (greatest(acc.1, r.2), acc.2 + toUInt64(greatest(acc.1, r.1) - acc.1)),
        f.ranges, (CAST(f.parent_end, 'UInt64'), toUInt64(0))).2 AS missing_inside
FROM {database}.files AS f
LEFT JOIN
(
    SELECT task_id, file_id, max(h.newest) AS newest FROM {database}.newest_heartbeats AS h GROUP BY task_id, file_id
) AS b ON f.task_id = b.task_id AND f.file_id = b.file_id;

-- As before, told from the newest words only. A word counts where its line is stored by the extraction that read it, and by no
-- newer one; so the words that a killed worker left half done are silent until it is done again. Of each extraction the last word
-- is known, and no earlier one: where a newer extraction takes just that line back, what the newer one read counts.
CREATE OR REPLACE VIEW {database}.fleet {on_cluster} AS
SELECT
    task_id, name, owner, project, framework, status, message, attempts, ranks, world_size, started, last_seen, last_heartbeat, bytes, lines,
    furthest.2 AS progress_done, if(empty(furthest.3), NULL, furthest.3[1]) AS progress_total,
    if(progress_total > 0, least(progress_done / progress_total, 1), NULL) AS progress,
    moved AS progress_moved, rate,
    if(status = 'running' AND rate > 0 AND progress_total > progress_done, (progress_total - progress_done) / rate, NULL) AS seconds_left,
    quiet_seconds, unheard_seconds,
    multiIf(
        status != 'running', status,
        unheard_seconds > 120, 'silent',
        quiet_seconds > 600, 'stalled',
        'running') AS health
FROM
(
    SELECT
        *,
        CAST(if(header_name != '', header_name, file_name), 'String') AS name,
        multiIf(
            failed > 0, 'failed',
            speaking > 0 AND succeeded = speaking AND speaking >= world_size, 'succeeded',
            speaking > 0 AND speaking >= world_size AND running = 0, any_status,
            open_files = 0 AND known_files > 0, 'ended',
            'running') AS status,
        CAST(if(before = 0, first_seen, fromUnixTimestamp64Milli(toInt64(1e15 - before), 'UTC')), 'DateTime64(3, \'UTC\')') AS started,
        CAST(last_line, 'DateTime64(3, \'UTC\')') AS last_seen, CAST(all_bytes, 'UInt64') AS bytes, CAST(all_lines, 'UInt64') AS lines,
        dateDiff('second', last_line, now64(3)) AS quiet_seconds,
        dateDiff('second', greatest(last_heartbeat, last_line), now64(3)) AS unheard_seconds,
        -- the further of what lines said and what the open line says
        arraySort(arrayConcat([(toUInt32(0), CAST(NULL, 'Nullable(Float64)'), CAST([], 'Array(Float64)'))],
            arrayMap(s -> (s.1, s.2, s.4), said), opened))[-1] AS furthest,
        -- of the last attempt that a line spoke of: when the furthest was reached, and units a second until then
        arraySort(s -> (s.1, s.2, s.3), said)[-1] AS last_said,
        arrayFilter(s -> s.1 = last_said.1, said) AS lately,
        if(empty(said), toDateTime64(0, 3, 'UTC'), fromUnixTimestamp64Milli(toInt64(1e15 - last_said.3), 'UTC')) AS moved,
        (last_said.2 - arrayMin(s -> s.5, lately)) / nullIf(dateDiff('millisecond', arrayMin(s -> s.6, lately), moved) / 1000, 0) AS rate
    FROM
    (
        SELECT
            task_id, count() AS ranks, max(r.attempt) AS attempts, max(r.world_size) AS world_size, min(r.first_arrived) AS first_seen,
            max(r.last_arrived) AS last_line, max(r.last_heartbeat) AS last_heartbeat, sum(r.known) AS known_files, sum(r.open) AS open_files,
            sum(r.bytes) AS all_bytes, sum(r.lines) AS all_lines, max(r.file_name) AS file_name, max(r.header_name) AS header_name,
            max(r.owner) AS owner, max(r.project) AS project, max(r.framework) AS framework, max(r.before) AS before,
            countIf(r.status.4 != '') AS speaking, countIf(r.status.4 = 'failed') AS failed, countIf(r.status.4 = 'succeeded') AS succeeded,
            countIf(r.status.4 NOT IN ('', 'failed', 'succeeded', 'stopped', 'ended')) AS running,
            argMaxIf(r.status.4, r.status.3, r.status.4 != '') AS any_status,
            argMaxIf(r.status.5, r.status.4 = 'failed', r.status.4 != '') AS message,
            groupArrayArray(r.said) AS said, groupArrayArray(r.opened) AS opened
        FROM
        (
            -- a rank; its status is that of its last start: (attempt, is it an end, time, status, message)
            SELECT
                task_id, rank, max(w.attempt) AS attempt, greatest(ifNull(max(w.world_size), 1), 1) AS world_size,
                min(w.first_arrived) AS first_arrived, max(w.last_arrived) AS last_arrived, max(w.last_heartbeat) AS last_heartbeat,
                countIf(w.is_known) AS known, countIf(w.is_known AND w.ended = '') AS open, sum(w.bytes) AS bytes, sum(w.lines) AS lines,
                max(w.name) AS file_name, max(w.header.1) AS before, max(w.header.3) AS header_name, max(w.header.4) AS owner,
                max(w.header.5) AS project, max(w.header.6) AS framework,
                max((w.attempt, w.status.1, w.status.2, w.status.5, w.status.6)) AS status,
                -- (attempt, done, before, total, nearest, began)
                groupArrayIf(
                    (w.attempt, CAST(w.progress.1, 'Nullable(Float64)'), w.progress.2, w.progress.4, w.nearest, w.began),
                    w.progress.2 != 0) AS said,
                groupArrayIf(
                    (w.attempt, CAST(w.open_progress[1], 'Nullable(Float64)'), arraySlice(w.open_progress, 2)),
                    notEmpty(w.open_progress)) AS opened
            FROM
            (
                SELECT
                    f.task_id AS task_id, f.file_id AS file_id, f.rank AS rank, any(f.attempt) AS attempt, any(f.world_size) AS world_size,
                    any(f.first_arrived) AS first_arrived, any(f.last_arrived) AS last_arrived, any(f.last_heartbeat) AS last_heartbeat,
                    any(f.is_known) AS is_known, any(f.ended) AS ended, any(f.open_progress) AS open_progress, any(f.bytes) AS bytes,
                    any(f.lines) AS lines, any(f.name) AS name,
                    maxIf(n.header, n.revision = arrayMax(r -> if(r.1 <= n.header.2 AND n.header.2 < r.2, r.3, 0), f.ranges)) AS header,
                    maxIf(n.status, n.revision = arrayMax(r -> if(r.1 <= n.status.3 AND n.status.3 < r.2, r.3, 0), f.ranges)) AS status,
                    maxIf(
                        n.progress,
                        n.revision = arrayMax(r -> if(r.1 <= n.progress.3 AND n.progress.3 < r.2, r.3, 0), f.ranges) AS stands) AS progress,
                    assumeNotNull(minIf(n.nearest, stands)) AS nearest, assumeNotNull(minIf(n.began, stands)) AS began
                FROM {database}.watched_files AS f
                LEFT JOIN
                (
                    SELECT
                        task_id, file_id, revision, max(m.header) AS header, max(m.status) AS status, max(m.progress) AS progress,
                        min(m.nearest) AS nearest, min(m.began) AS began
                    FROM {database}.newest_words AS m
                    GROUP BY task_id, file_id, revision
                ) AS n ON f.task_id = n.task_id AND f.file_id = n.file_id
                GROUP BY task_id, file_id, rank
            ) AS w
            GROUP BY task_id, rank
        ) AS r
        GROUP BY task_id
    )
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
                -- grouped by three small numbers, not by texts: these are all points
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
