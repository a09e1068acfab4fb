-- Is everything there, and if not, what lacks? A file, a rank, a task; and of a quiet task, which hop is quiet.

-- Who was heard lately is asked every few seconds.
ALTER TABLE {database}.heartbeats {on_cluster} ADD INDEX IF NOT EXISTS lately arrived TYPE minmax GRANULARITY 1;

-- Deltas that were not stored, because their bytes are. A message that is delivered again and again is one row.
CREATE TABLE IF NOT EXISTS {database}.repeats {on_cluster}
(
    task_id    String,
    file_id    String,
    start      UInt64                 COMMENT 'of the delta',
    end        UInt64,
    bytes      UInt64                 COMMENT 'of the delta that were dropped',
    kind       LowCardinality(String) COMMENT 'redelivered, reread, or unverified: no checksum was left to compare with',
    reading    String,
    partition  UInt32,
    message    UInt64                 COMMENT 'offset of the message in its partition',
    arrived    DateTime64(3, 'UTC')
)
ENGINE = ReplacingMergeTree
PARTITION BY toYYYYMM(arrived)
ORDER BY (task_id, file_id, partition, message)
TTL toDateTime(arrived) + INTERVAL {ledger_days} DAY
SETTINGS non_replicated_deduplication_window = 1000;

-- Is every byte that a task wrote stored? One row a file, also of files of which nothing is stored yet; `missing` are byte
-- ranges that nothing covers. A fork begins where it differs from its parent: the bytes before that are the parent's.
-- Silent: for three heartbeats and 30 s its shipper said nothing of it.
CREATE OR REPLACE VIEW {database}.completeness {on_cluster} AS
SELECT
    task_id, file_id, path, rank, attempt,
    greatest(size, covered.1) AS written, greatest(acknowledged, covered.1) AS shipped,
    arraySum(g -> g.2 - g.1, gaps) AS missing_inside, covered.1 - parent_end - missing_inside AS stored,
    arrayFilter(g -> g.2 > g.1, arrayPushBack(gaps, (covered.1, greatest(size, covered.1)))) AS missing,
    ended, last_heartbeat, error,
    multiIf(
        error != '', concat('the shipper cannot read it: ', error),
        empty(missing) AND ended NOT IN ('', 'farewell', 'damaged'), 'complete',
        empty(missing) AND ended = 'damaged', 'stored up to damaged bytes',
        empty(missing), 'stored so far',
        shipped < written, concat('shipper at byte ', toString(shipped), ' of ', toString(written)),
        concat(toString(arraySum(g -> g.2 - g.1, missing)), ' bytes shipped and not stored yet')) AS verdict,
    parent, parent_end, world_size, start_id,
    ended = '' AND dateDiff('millisecond', heard, now64(3)) > 3 * greatest(interval_ms, 1000) + 30000 AS silent
FROM
(
    SELECT
        task_id, file_id,
        argMax(side.path, side.ranges != []) AS path, max(side.rank) AS rank, max(side.attempt) AS attempt,
        max(side.world_size) AS world_size, max(side.start_id) AS start_id, max(side.parent) AS parent, max(side.parent_end) AS parent_end,
        max(side.size) AS size, max(side.offset) AS acknowledged, max(side.ended) AS ended, max(side.sent) AS last_heartbeat,
        max(side.arrived) AS heard, max(side.interval_ms) AS interval_ms, max(side.error) AS error,
        arraySort(groupArrayArray(side.ranges)) AS ranges,
        -- (end of what is covered so far, gaps found): a sweep over the ranges in order of their starts
        arrayFold(
            (acc, r) -> (greatest(acc.1, r.2), if(r.1 > acc.1, arrayPushBack(acc.2, (acc.1, r.1)), acc.2)),
            ranges, (parent_end, CAST([], 'Array(Tuple(UInt64, UInt64))'))) AS covered,
        covered.2 AS gaps
    FROM
    (
        SELECT
            task_id, file_id, path, rank, CAST(attempt, 'Nullable(UInt32)') AS attempt, world_size, start_id, parent, parent_end,
            ranges,
            toUInt64(0) AS size, toUInt64(0) AS offset, '' AS ended, toDateTime64(0, 3, 'UTC') AS sent,
            last_arrived AS arrived, toUInt32(0) AS interval_ms, '' AS error
        FROM {database}.files
        UNION ALL
        SELECT
            task_id, file_id, path, rank, NULL, world_size, '', '', 0, [],
            size, offset, ended, sent, arrived, interval_ms, error
        FROM {database}.file_heartbeats
        WHERE file_id != '' AND task_id != 'trainwire'
    ) AS side
    GROUP BY task_id, file_id
);

-- What each file of a task lacks, in a sentence; empty where nothing is lacking. Only the last attempt of a rank must
-- have ended: what was killed and started again never says its end, and a file that forked ends as its fork.
CREATE OR REPLACE VIEW {database}.file_lacks {on_cluster} AS
SELECT
    task_id, file_id, path, rank, attempt, written, shipped, stored, missing, world_size,
    ifNull(attempt, last_attempt) = last_attempt AND NOT has(forked, file_id) AS is_last,
    concat('rank ', toString(rank)) AS who,
    multiIf(
        error != '', concat('the shipper of ', who, ' cannot read ', path, ': ', error),
        notEmpty(missing) AND shipped < written, concat(
            'shipper of ', who, if(silent, ' lost at byte ', ' is at byte '), toString(shipped), ' of ', toString(written), ' of ', path),
        notEmpty(missing), concat(
            toString(arraySum(g -> g.2 - g.1, missing)), ' bytes of ', path, ' of ', who, ' from byte ', toString(missing[1].1),
            ' on were shipped and are not stored'),
        ended = 'damaged', concat(path, ' of ', who, ' is damaged at byte ', toString(shipped)),
        NOT is_last OR ended NOT IN ('', 'farewell'), '',
        silent OR ended = 'farewell', concat('shipper of ', who, ' lost at byte ', toString(shipped), ' of ', path),
        concat(who, ' has not ended: ', path, ' may grow')) AS lack
FROM
(
    SELECT
        *,
        -- without a start id the attempts of each path are counted on their own
        ifNull(max(attempt) OVER (PARTITION BY task_id, rank, start_id = '', if(start_id = '', path, '')), 1) AS last_attempt,
        groupUniqArray(parent) OVER (PARTITION BY task_id) AS forked
    FROM {database}.completeness
);

-- Is a task complete? Only when every byte of every rank is stored, and every rank's end; else `lacks` says what is missing.
CREATE OR REPLACE VIEW {database}.task_completeness {on_cluster} AS
SELECT
    task_id, log_files, world_size, ranks, written, shipped, stored,
    arrayConcat(
        said,
        if(isNull(world_size), ['how many ranks there are is not known: say it with TRAINWIRE_WORLD_SIZE'], []),
        arrayMap(
            r -> concat('rank ', toString(r), ' was never heard of'),
            arrayFilter(r -> NOT has(ranks, r), range(least(ifNull(world_size, 0), 100000))))) AS lacks,
    if(empty(lacks), 'complete', lacks[1]) AS verdict
FROM
(
    SELECT
        task_id, count() AS log_files, max(lack.world_size) AS world_size, arraySort(groupUniqArray(lack.rank)) AS ranks,
        sum(lack.written) AS written, sum(lack.shipped) AS shipped, sum(lack.stored) AS stored,
        arrayMap(l -> l.2, arraySort(groupArrayIf((lack.rank, lack.lack), lack.lack != ''))) AS said
    FROM {database}.file_lacks AS lack
    GROUP BY task_id
);

-- The pulse of each task: is a quiet one stalled, or is it its shipper, or the way behind that? Quiet is learned: longer
-- than twice the longest pause between two batches of its last day, as its shipper read them, and at least a minute; before five
-- batches were seen, ten minutes. The words rest on what each hop last said: the task by its lines, the shipper by its
-- heartbeats, the worker by its own (task trainwire; size and offset are messages: those in the topic, those committed).
CREATE OR REPLACE VIEW {database}.pulse {on_cluster} AS
SELECT
    t.task_id AS task_id, t.status AS status,
    dateDiff('millisecond', t.last_seen, now64(3)) AS quiet_ms,
    if(c.batches < 5, 600000, greatest(60000, 2 * c.longest_pause_ms)) AS quiet_from_ms,
    dateDiff('millisecond', b.heard, now64(3)) AS shipper_quiet_ms,
    b.unshipped AS unshipped, b.unstored AS unstored, w.worker_lag AS worker_lag, w.worker_quiet_ms AS worker_quiet_ms,
    multiIf(
        t.status != 'running', t.status,
        quiet_ms <= quiet_from_ms, 'running',
        shipper_quiet_ms > b.late_ms AND w.shippers_quiet_ms > 30000 AND (w.worker_quiet_ms > 60000 OR w.worker_lag > 0), 'pipeline behind',
        shipper_quiet_ms > b.late_ms, 'shipper stalled',
        b.unshipped > 0, 'shipper stalled',
        b.unstored > 0, 'pipeline behind',
        'training stalled') AS verdict,
    multiIf(
        verdict = 'training stalled', concat(
            'no new line for ', toString(intDiv(quiet_ms, 1000)), ' s; its shipper reports, and everything written is stored'),
        verdict = 'shipper stalled' AND shipper_quiet_ms > b.late_ms, concat(
            'its shipper has said nothing for ', toString(intDiv(shipper_quiet_ms, 1000)), ' s, and the way behind it works'),
        verdict = 'shipper stalled', concat('its shipper reports, and ', toString(b.unshipped), ' bytes were not shipped'),
        verdict = 'pipeline behind' AND shipper_quiet_ms <= b.late_ms, concat(toString(b.unstored), ' bytes were shipped and are not stored'),
        verdict = 'pipeline behind', concat(
            'nobody was heard for ', toString(intDiv(w.shippers_quiet_ms, 1000)), ' s; ',
            if(w.worker_quiet_ms > 60000, 'no worker reports either', concat(toString(w.worker_lag), ' messages wait'))),
        '') AS because
FROM {database}.tasks AS t
LEFT JOIN
(
    SELECT task_id, max(pause) AS longest_pause_ms, count() AS batches
    FROM
    (
        SELECT
            task_id,
            dateDiff('millisecond', lagInFrame(shipped, 1, shipped) OVER (
                PARTITION BY task_id ORDER BY shipped ROWS BETWEEN 1 PRECEDING AND CURRENT ROW), shipped) AS pause
        FROM {database}.ledger
        WHERE arrived > now64(3) - INTERVAL 1 DAY
    )
    GROUP BY task_id
) AS c ON t.task_id = c.task_id
LEFT JOIN
(
    SELECT
        task_id, max(h.arrived) AS heard, 3 * greatest(max(h.interval_ms), 1000) + 30000 AS late_ms,
        sumIf(minus(h.size, h.offset), h.ended = '' AND h.size > h.offset) AS unshipped,
        sumIf(minus(h.offset, h.end), h.offset > h.end) AS unstored
    FROM
    (
        SELECT beat.*, file.bytes AS end
        FROM {database}.file_heartbeats AS beat
        LEFT JOIN {database}.files AS file ON beat.task_id = file.task_id AND beat.file_id = file.file_id
        WHERE beat.task_id != 'trainwire'
    ) AS h
    GROUP BY task_id
) AS b ON t.task_id = b.task_id
CROSS JOIN
(
    SELECT
        dateDiff('millisecond', maxIf(h.arrived, h.task_id != 'trainwire'), now64(3)) AS shippers_quiet_ms,
        dateDiff('millisecond', maxIf(h.arrived, h.task_id = 'trainwire'), now64(3)) AS worker_quiet_ms,
        sumIf(h.behind, h.task_id = 'trainwire' AND h.arrived > now64(3) - INTERVAL 1 MINUTE) AS worker_lag
    FROM
    (
        SELECT task_id, max(beat.arrived) AS arrived, argMax(minus(beat.size, beat.offset), beat.sent) AS behind
        FROM {database}.heartbeats AS beat
        WHERE beat.arrived > now64(3) - INTERVAL 1 HOUR
        GROUP BY task_id, file_id
    ) AS h
) AS w;

-- What was not stored again.
CREATE OR REPLACE VIEW {database}.dropped_repeats {on_cluster} AS
SELECT task_id, file_id, start, end, bytes, kind, reading, partition, message, arrived
FROM {database}.repeats FINAL;
