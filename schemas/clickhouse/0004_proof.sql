-- Files in the order in which they began, to the message: rotations faster than the reader arrive within one millisecond.

ALTER TABLE {database}.file_ranges {on_cluster}
    ADD COLUMN IF NOT EXISTS first_offset SimpleAggregateFunction(min, UInt64) DEFAULT 18446744073709551615
    COMMENT 'of its first message in the topic: files of one task arrive in one partition';

-- As before, and files that arrived in the same millisecond in the order of their messages; lines counted once, though bytes
-- that came out of order are several runs, and healed ones lie over what they heal.
CREATE OR REPLACE VIEW {database}.files {on_cluster} AS
SELECT
    task_id, file_id, path, start_id, rank, world_size, name, container, source, parent, parent_end,
    ranges, bytes, lines, first_arrived, last_arrived, last_stored,
    coalesce(
        given_attempt,
        if(start_id != '',
            toUInt32(dense_rank() OVER (PARTITION BY task_id, rank, start_id = '' ORDER BY start_first, start_id)),
            toUInt32(row_number() OVER (PARTITION BY task_id, rank, start_id = '', path ORDER BY first_arrived, first_offset, file_id)))
    ) AS attempt
FROM
(
    SELECT *, min((first_arrived, first_offset)) OVER (PARTITION BY task_id, rank, start_id) AS start_first
    FROM
    (
        SELECT
            task_id, file_id,
            min(run.path) AS path, max(run.start_id) AS start_id, max(run.attempt) AS given_attempt, max(run.rank) AS rank,
            max(run.world_size) AS world_size, max(run.name) AS name, max(run.container) AS container,
            max(run.source) AS source, max(run.parent) AS parent, max(run.parent_end) AS parent_end,
            arraySort(groupArray((run.start, run.end, run.revision))) AS ranges,
            max(run.end) AS bytes,
            -- (end of what is counted so far, lines in it): of runs that begin together the longest
            arrayFold(
                (acc, r) -> if(r.2 > acc.1, (r.2, acc.2 + r.3), acc),
                arraySort(r -> (r.1, -toInt64(r.2)), groupArray((run.start, run.end, run.lines))),
                (toUInt64(0), toUInt64(0))).2 AS lines,
            min(run.first_arrived) AS first_arrived, min(run.first_offset) AS first_offset,
            max(run.last_arrived) AS last_arrived, max(run.last_stored) AS last_stored
        FROM {database}.file_ranges AS run FINAL
        GROUP BY task_id, file_id
    )
);
