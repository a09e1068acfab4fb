-- Readers who may see some tasks only: the role trainwire_limited sees those that task_rights names for its user.
--   CREATE USER ada IDENTIFIED BY '…' DEFAULT ROLE trainwire_limited;
--   INSERT INTO task_rights VALUES ('ada', 'resnet-7');
-- Everybody else reads as before. The gateway's own rights (its policy file) do not come from here.

CREATE TABLE IF NOT EXISTS {database}.task_rights {on_cluster}
(
    user    String COMMENT 'as ClickHouse knows it',
    task_id String
)
ENGINE = ReplacingMergeTree
ORDER BY (user, task_id);

CREATE ROLE IF NOT EXISTS trainwire_limited {on_cluster};

GRANT {on_cluster} trainwire_reader TO trainwire_limited;

CREATE ROW POLICY IF NOT EXISTS trainwire_limited {on_cluster}
    ON {database}.points, {database}.log_lines, {database}.task_events, {database}.ledger, {database}.file_ranges,
        {database}.heartbeats, {database}.dead_letters, {database}.repeats
    FOR SELECT USING task_id IN (SELECT task_id FROM {database}.task_rights WHERE user = currentUser())
    AS RESTRICTIVE TO trainwire_limited;

-- A restrictive policy narrows what a permissive one gives; this one gives all, to everybody.
CREATE ROW POLICY IF NOT EXISTS trainwire_everybody {on_cluster}
    ON {database}.points, {database}.log_lines, {database}.task_events, {database}.ledger, {database}.file_ranges,
        {database}.heartbeats, {database}.dead_letters, {database}.repeats
    FOR SELECT USING 1 AS PERMISSIVE TO ALL;

-- Of the rights themselves a reader sees its own.
CREATE ROW POLICY IF NOT EXISTS trainwire_own {on_cluster} ON {database}.task_rights
    FOR SELECT USING user = currentUser() TO trainwire_limited;
