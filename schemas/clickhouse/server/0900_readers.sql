-- People and Grafana on a ClickHouse server: a role that can only read, within limits. Give it to users:
--   CREATE USER grafana IDENTIFIED BY '…' DEFAULT ROLE trainwire_reader;
-- The local stack has no users of its own making: there, `viewer` is this role.

-- readonly = 2: reads, and settings may be sent along, as Grafana's data source does with max_execution_time; the limits
-- here are the most that they may be set to. 200 million rows are a curve of 10^6 points 200 times over, or the whole
-- of 10^8 points twice; 4 GiB is what sorting 10^7 points for drawing takes, four times over.
CREATE SETTINGS PROFILE IF NOT EXISTS trainwire_reader {on_cluster}
SETTINGS
    readonly = 2 CONST,
    max_execution_time = 30 MIN 1 MAX 60,
    max_rows_to_read = 200000000 MAX 200000000,
    max_memory_usage = 4294967296 MAX 4294967296,
    max_result_rows = 1000000 MAX 1000000,
    result_overflow_mode = 'throw' CONST,
    do_not_merge_across_partitions_select_final = 0 CONST;

CREATE ROLE IF NOT EXISTS trainwire_reader {on_cluster} SETTINGS PROFILE 'trainwire_reader';

-- Views read tables with the rights of who asks, so that row policies on tables reach through them.
GRANT {on_cluster} SELECT ON {database}.* TO trainwire_reader;
GRANT {on_cluster} SELECT(database, table, active, rows, bytes_on_disk, modification_time) ON system.parts TO trainwire_reader;

-- A dashboard of 30 panels refreshed every 10 s asks 180 times a minute: ten such screens for each user.
CREATE QUOTA IF NOT EXISTS trainwire_reader {on_cluster} KEYED BY user_name
    FOR INTERVAL 1 minute MAX queries = 2000, errors = 500, read_rows = 20000000000, execution_time = 1200
    TO trainwire_reader;
