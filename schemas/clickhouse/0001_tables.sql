-- The tables. People and programs read the views of later migrations, never these: rows here may be repeated, belong to
-- an older extraction, or to a batch whose byte range was never confirmed.
--
-- Common to all: partition by month of ARRIVAL (the broker's time stamp: a redelivered message lands in the same
-- partition, and no clock of a training machine can make partitions); times are UTC with milliseconds; a window for
-- insert tokens, so that an insert repeated in place is not stored twice (it saves work; no proof rests on it: 1,000
-- inserts are a worker's last 100 s at the narrowest batch window of 0.1 s).

-- One metric value that a line said. A revision is one extraction of bytes: extractor version × 2^32 + replay number.
-- It is in the key, so that merges never remove the old row before the new one's byte range is confirmed.
CREATE TABLE IF NOT EXISTS {database}.points {on_cluster}
(
    task_id     String,
    name        LowCardinality(String),
    file_id     String,
    offset      UInt64                 COMMENT 'byte offset of the line in its file',
    place       UInt32                 COMMENT 'place of the point within its line, from 0',
    revision    UInt64,
    value       Float64                COMMENT 'as the line said it, NaN and infinities included',
    step        Nullable(Int64),
    epoch       Nullable(Float64),
    time        DateTime64(3, 'UTC')   COMMENT 'from the line, else when the broker had it',
    time_known  Bool                   COMMENT 'the line itself told the time',
    rank        UInt32,
    source      LowCardinality(String) COMMENT 'which form of line: record, json, pairs, table, tfevents, …',
    arrived     DateTime64(3, 'UTC')   COMMENT 'the broker''s time stamp'
)
ENGINE = ReplacingMergeTree
PARTITION BY toYYYYMM(arrived)
ORDER BY (task_id, name, file_id, offset, place, revision)
TTL toDateTime(arrived) + INTERVAL {data_days} DAY
SETTINGS non_replicated_deduplication_window = 1000;

-- A line as a terminal would have shown it in the end. It does not depend on the extractor: no revision in its key.
CREATE TABLE IF NOT EXISTS {database}.log_lines {on_cluster}
(
    task_id      String,
    file_id      String,
    offset       UInt64,
    end          UInt64                COMMENT 'byte offset behind the line, its line feed included',
    text         String                COMMENT 'wrong UTF-8 as U+FFFD; of several carriage-return segments the last visible',
    kind         Enum8('text' = 0, 'record' = 1, 'continuation' = 2),
    stream       LowCardinality(String) COMMENT 'stdout or stderr where the container runtime says',
    time         DateTime64(3, 'UTC'),
    time_known   Bool,
    rank         UInt32,
    arrived      DateTime64(3, 'UTC'),
    INDEX words text TYPE tokenbf_v1(32768, 2, 0) GRANULARITY 1
)
ENGINE = ReplacingMergeTree
PARTITION BY toYYYYMM(arrived)
ORDER BY (task_id, file_id, offset)
TTL toDateTime(arrived) + INTERVAL {data_days} DAY
SETTINGS non_replicated_deduplication_window = 1000;

-- Something that happened to a task. `origin` line: read from a line, shown like a point; pipeline: said by shipper,
-- worker or gateway about a file, with a key that a repeat gives again, shown always (revision 0).
CREATE TABLE IF NOT EXISTS {database}.task_events {on_cluster}
(
    task_id     String,
    kind        LowCardinality(String),
    file_id     String,
    offset      UInt64,
    place       UInt32,
    revision    UInt64,
    origin      Enum8('line' = 0, 'pipeline' = 1),
    time        DateTime64(3, 'UTC'),
    time_known  Bool,
    rank        UInt32,
    step        Nullable(Int64),
    epoch       Nullable(Float64),
    message     String,
    fields      Map(String, String),
    arrived     DateTime64(3, 'UTC')
)
ENGINE = ReplacingMergeTree
PARTITION BY toYYYYMM(arrived)
ORDER BY (task_id, kind, file_id, offset, place, revision)
TTL toDateTime(arrived) + INTERVAL {data_days} DAY
SETTINGS non_replicated_deduplication_window = 1000;

-- One row a file and batch, written after the rows that it speaks of, never updated. `marks`: the file's running CRC-32
-- at each delta's end, so that another reading of the same bytes is recognised however it is cut.
CREATE TABLE IF NOT EXISTS {database}.ledger {on_cluster}
(
    task_id      String,
    file_id      String,
    start        UInt64,
    end          UInt64,
    revision     UInt64,
    reading      String,
    crc_start    UInt32                COMMENT 'running CRC-32 of the file before start',
    marks        Array(Tuple(offset UInt64, crc UInt32)),
    state        String                COMMENT 'the extractor''s state behind end, at most 64 KiB',
    cold         Bool                  COMMENT 'extracted before the bytes in front of it had come',
    container    LowCardinality(String),
    lines        UInt32,
    points       UInt32,
    events       UInt32,
    source       LowCardinality(String) COMMENT 'which shipper',
    worker       LowCardinality(String),
    written      DateTime64(3, 'UTC')  COMMENT 'newest time that a line of the batch told, else when the shipper read it',
    shipped      DateTime64(3, 'UTC')  COMMENT 'when the shipper read the last of the bytes',
    arrived      DateTime64(3, 'UTC')  COMMENT 'when the broker had the last of them',
    stored       DateTime64(3, 'UTC')  COMMENT 'when the inserts of its rows were acknowledged'
)
ENGINE = MergeTree
PARTITION BY toYYYYMM(arrived)
ORDER BY (task_id, file_id, end)
TTL toDateTime(arrived) + INTERVAL {ledger_days} DAY
SETTINGS non_replicated_deduplication_window = 1000;

-- Which bytes of a file are stored, by which revision: the proof. One row a contiguous run, its end a maximum, so that
-- a late smaller end changes nothing. No TTL: it outlives the broker's retention and the data, and is small.
CREATE TABLE IF NOT EXISTS {database}.file_ranges {on_cluster}
(
    task_id     String,
    file_id     String,
    revision    UInt64,
    start       UInt64                                      COMMENT 'of the contiguous run',
    end         SimpleAggregateFunction(max, UInt64),
    cold        SimpleAggregateFunction(max, UInt8)         COMMENT 'the run began with a gap in front of it',
    path        SimpleAggregateFunction(min, String)        COMMENT 'as the task sees it',
    start_id    SimpleAggregateFunction(max, String),
    attempt     SimpleAggregateFunction(max, Nullable(UInt32)) COMMENT '1-based, where the environment has one',
    rank        SimpleAggregateFunction(max, UInt32),
    world_size  SimpleAggregateFunction(max, Nullable(UInt32)),
    name        SimpleAggregateFunction(max, String)        COMMENT 'people''s own name of the task',
    container   SimpleAggregateFunction(max, String),
    source      SimpleAggregateFunction(max, String)        COMMENT 'which shipper',
    lines       SimpleAggregateFunction(max, UInt64)        COMMENT 'in the run so far',
    parent      SimpleAggregateFunction(max, String)        COMMENT 'the file that a forked reading began as',
    parent_end  SimpleAggregateFunction(max, UInt64)        COMMENT 'the offset up to which the bytes were equal',
    first_arrived SimpleAggregateFunction(min, DateTime64(3, 'UTC')),
    last_arrived  SimpleAggregateFunction(max, DateTime64(3, 'UTC')),
    last_stored   SimpleAggregateFunction(max, DateTime64(3, 'UTC'))
)
ENGINE = AggregatingMergeTree
ORDER BY (task_id, file_id, revision, start)
SETTINGS non_replicated_deduplication_window = 1000;

-- What shippers say every few seconds: a file's size, how far it was sent, and the line still open.
CREATE TABLE IF NOT EXISTS {database}.heartbeats {on_cluster}
(
    task_id        String,
    file_id        String,
    sent           DateTime64(3, 'UTC')   COMMENT 'the shipper''s clock',
    source         LowCardinality(String),
    host           LowCardinality(String),
    interval_ms    UInt32,
    path           String,
    start_id       String,
    attempt        Nullable(UInt32),
    rank           UInt32,
    world_size     Nullable(UInt32),
    name           String,
    reading        String,
    size           UInt64                 COMMENT 'of the file, bytes',
    offset         UInt64                 COMMENT 'acknowledged by the broker, bytes',
    ended          LowCardinality(String) COMMENT 'empty while the file may grow, else why it ended',
    open_line      String                 COMMENT 'newest visible segment of a line without a line feed',
    progress_done  Nullable(Float64)      COMMENT 'read from the open line',
    progress_total Nullable(Float64),
    error          String                 COMMENT 'why the shipper cannot read it',
    arrived        DateTime64(3, 'UTC')
)
ENGINE = ReplacingMergeTree
PARTITION BY toYYYYMM(arrived)
ORDER BY (task_id, file_id, source, sent)
TTL toDateTime(arrived) + INTERVAL {heartbeat_days} DAY
SETTINGS non_replicated_deduplication_window = 1000;

-- Messages that are no event of ours, put aside whole, so that they can be read, mended and sent again.
CREATE TABLE IF NOT EXISTS {database}.dead_letters {on_cluster}
(
    topic       LowCardinality(String),
    partition   UInt32,
    offset      UInt64                    COMMENT 'of the message in its partition',
    reason      LowCardinality(String)    COMMENT 'a word for counting',
    message     String                    COMMENT 'what was wrong, in a sentence',
    task_id     String                    COMMENT 'as far as it could be told',
    key         String,
    headers     Array(Tuple(name String, value String)),
    value       String                    COMMENT 'the bytes as they came',
    arrived     DateTime64(3, 'UTC'),
    stored      DateTime64(3, 'UTC')
)
ENGINE = ReplacingMergeTree
PARTITION BY toYYYYMM(arrived)
ORDER BY (topic, partition, offset, reason)
TTL toDateTime(arrived) + INTERVAL {dead_letter_days} DAY
SETTINGS non_replicated_deduplication_window = 1000;
