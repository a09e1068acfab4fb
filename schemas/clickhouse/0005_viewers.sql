-- Who looked at which task, in which tool, when, and what it cost: views over the gateway's own events, which came by the same
-- road as every task's. The gateway may have recorded a deed twice (killed between deed and record): a life is one row.

-- Lives of viewers, one row each. Seconds of wall clock; empty `reason`: it still lives, or its end is not shipped yet.
CREATE OR REPLACE VIEW {database}.viewer_lives {on_cluster} AS
SELECT
    life, any(viewer) AS viewer, any(viewed_task) AS viewed_task, any(tool) AS tool, any(owner) AS owner,
    minIf(time, kind = 'viewer_created') AS created,
    anyIf(toFloat64OrNull(fields['seconds']), kind = 'viewer_ready') AS ready_after,
    countIf(kind = 'viewer_opened') AS opened, uniqExactIf(fields['user'], kind = 'viewer_opened') AS people,
    countIf(kind = 'viewer_warned') AS warned, countIf(kind = 'viewer_extended') AS extended,
    max(toFloat64OrZero(fields['looked_seconds'])) AS longest_look,
    anyIf(message, kind = 'viewer_failed') AS failure,
    anyIf(fields['reason'], kind = 'viewer_released') AS reason,
    minIf(fromUnixTimestamp64Milli(toInt64OrZero(fields['started_ms']), 'UTC'), kind = 'viewer_released') AS started,
    minIf(fromUnixTimestamp64Milli(toInt64OrZero(fields['ended_ms']), 'UTC'), kind = 'viewer_released') AS ended,
    maxIf(toFloat64OrZero(fields['seconds']), kind = 'viewer_released') AS seconds,
    maxIf(toFloat64OrZero(fields['cpu_seconds']), kind = 'viewer_released') AS cpu_seconds,
    maxIf(toFloat64OrZero(fields['memory_mib_seconds']), kind = 'viewer_released') AS memory_mib_seconds
FROM
(
    SELECT
        kind, time, message, fields, fields['life'] AS life, fields['viewer'] AS viewer, fields['viewed_task'] AS viewed_task,
        fields['tool'] AS tool, fields['owner'] AS owner
    FROM {database}.events
    WHERE task_id = 'trainwire-gateway' AND startsWith(kind, 'viewer_') AND fields['life'] != ''
)
GROUP BY life;

-- Who saw what and when: one row each time that a person opened a page, with how long it was in the foreground once they left.
CREATE OR REPLACE VIEW {database}.viewer_looks {on_cluster} AS
SELECT
    time, fields['user'] AS user, fields['viewed_task'] AS viewed_task, fields['tool'] AS tool, fields['device'] AS device,
    fields['method'] AS method, if(kind = 'viewer_left', 'left', 'opened') AS what, toFloat64OrNull(fields['looked_seconds']) AS looked_seconds,
    fields['life'] AS life
FROM {database}.events
WHERE task_id = 'trainwire-gateway' AND kind IN ('viewer_opened', 'viewer_left');

-- What viewers cost, by user, task and tool; `unseen`: lives that nobody ever opened.
CREATE OR REPLACE VIEW {database}.viewer_costs {on_cluster} AS
SELECT
    owner AS user, viewed_task, tool, count() AS viewers, countIf(opened = 0) AS unseen, countIf(failure != '') AS failed,
    sum(life.seconds) AS seconds, sum(life.cpu_seconds) AS cpu_seconds, sum(life.memory_mib_seconds) AS memory_mib_seconds,
    sumIf(life.seconds, opened = 0) AS unseen_seconds, quantileExact(0.5)(life.ready_after) AS ready_after_median
FROM {database}.viewer_lives AS life
GROUP BY owner, viewed_task, tool;
