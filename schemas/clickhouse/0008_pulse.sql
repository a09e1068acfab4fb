-- The pulse again, from one day's batches and one hour's heartbeats: a page asks for it every few seconds.

ALTER TABLE {database}.heartbeats {on_cluster} ADD INDEX IF NOT EXISTS lately arrived TYPE minmax GRANULARITY 1;

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
