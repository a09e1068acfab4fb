-- The tables that alerts ask are of tasks too.

CREATE ROW POLICY IF NOT EXISTS trainwire_limited {on_cluster}
    ON {database}.newest_heartbeats, {database}.newest_words, {database}.metric_quarters
    FOR SELECT USING task_id IN (SELECT task_id FROM {database}.task_rights WHERE user = currentUser())
    AS RESTRICTIVE TO trainwire_limited;

CREATE ROW POLICY IF NOT EXISTS trainwire_everybody {on_cluster}
    ON {database}.newest_heartbeats, {database}.newest_words, {database}.metric_quarters
    FOR SELECT USING 1 AS PERMISSIVE TO ALL;
