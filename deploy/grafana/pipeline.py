"""The Pipeline dashboard: is what tasks write stored, how late, and what stands in the way."""

from __future__ import annotations

from grafana_foundation_sdk.builders import dashboard as build
from grafana_foundation_sdk.builders import table, timeseries

from deploy.grafana import house
from deploy.grafana.fleet import to_task
from deploy.grafana.house import RECENT
from schemas.topic import PARTITIONS

UID = "trainwire-pipeline"

# The partition that a task's key falls on, as Kafka's own partitioner has it (murmur2 without the sign).
PARTITION = f"bitAnd(kafkaMurmurHash(task_id), 0x7fffffff) % {PARTITIONS}"


def dashboard() -> build.Dashboard:
    return (
        house.dashboard(UID, "Pipeline", "From written line to stored row: lag, rates, gaps, refusals, cost", "now-1h", "10s")
        .with_variable(house.SEARCH)
        .with_variable(house.gateway_variable())
        .with_panel(hops().span(12).height(8))
        .with_panel(rates().span(12).height(8))
        .with_panel(lag().span(12).height(9))
        .with_panel(insert_times().span(12).height(9))
        .with_panel(gaps().span(24).height(8))
        .with_panel(refused().span(12).height(8))
        .with_panel(refusals().span(12).height(8))
        .with_panel(parts().span(12).height(8))
        .with_panel(viewer_cost().span(12).height(8))
    )


def hops() -> timeseries.Panel:
    return house.time_curves(
        "Where time goes, by hop",
        """
        SELECT time, hop.1 AS series, hop.2 / 1000 AS value
        FROM
        (
            SELECT
                max(b.arrived) AS time,
                [('written to shipped, p50', quantile(0.5)(b.written_to_shipped_ms)),
                 ('written to shipped, p99', quantile(0.99)(b.written_to_shipped_ms)),
                 ('shipped to broker, p50', quantile(0.5)(b.shipped_to_arrived_ms)),
                 ('shipped to broker, p99', quantile(0.99)(b.shipped_to_arrived_ms)),
                 ('broker to stored, p50', quantile(0.5)(b.arrived_to_stored_ms)),
                 ('broker to stored, p99', quantile(0.99)(b.arrived_to_stored_ms))] AS hops
            FROM batches AS b
            WHERE $__timeFilter_ms(b.arrived)
            GROUP BY $__timeInterval(b.arrived)
        )
        ARRAY JOIN hops AS hop
        ORDER BY time, series
        """,
    ).unit("s")


def rates() -> timeseries.Panel:
    return house.time_curves(
        "Stored a second",
        """
        SELECT time, rate.1 AS series, rate.2 AS value
        FROM
        (
            SELECT
                max(b.arrived) AS time,
                [('lines', sum(b.lines) / $__interval_s), ('points', sum(b.points) / $__interval_s),
                 ('batches', count() / $__interval_s)] AS rates
            FROM batches AS b
            WHERE $__timeFilter_ms(b.arrived)
            GROUP BY $__timeInterval(b.arrived)
        )
        ARRAY JOIN rates AS rate
        ORDER BY time, series
        """,
    )


def lag() -> table.Panel:
    panel = house.rows(
        "Behind now, by partition of the task's key",
        f"""
        SELECT
            toString({PARTITION}) AS partition, uniqExact(task_id) AS tasks,
            sum(toFloat64(greatest(written - shipped, 0))) AS `not shipped`,
            sum(toFloat64(greatest(least(shipped, written) - stored, 0))) AS `shipped, not stored`,
            countIf(error != '') AS `files unread`, max(last_heartbeat) AS `last report`
        FROM completeness
        WHERE {RECENT}
        GROUP BY partition
        ORDER BY toUInt32(partition)
        """,
    )
    return panel.override_by_regexp("^(not shipped|shipped, not stored)$", [house.prop("unit", "bytes")])


def insert_times() -> timeseries.Panel:
    return house.time_curves(
        "From broker to acknowledged insert, by worker (p99)",
        """
        SELECT
            max(b.arrived) AS time, if(b.worker = '', 'worker', b.worker) AS series,
            quantile(0.99)(b.arrived_to_stored_ms) / 1000 AS value
        FROM batches AS b
        WHERE $__timeFilter_ms(b.arrived)
        GROUP BY $__timeInterval(b.arrived), b.worker
        ORDER BY time, series
        """,
    ).unit("s")


def gaps() -> table.Panel:
    return to_task(
        house.rows(
            "Files with bytes missing",
            f"""
            SELECT
                task_id AS task, toString(completeness.path) AS path,
                toString(rank) AS rank, verdict, toFloat64(missing_inside) AS `missing inside`,
                toString(missing) AS ranges,
                last_heartbeat AS `last report`
            FROM completeness
            WHERE {RECENT} AND (missing_inside > 0 OR error != '')
            ORDER BY missing_inside DESC, task, path
            LIMIT 200
            """,
        ).override_by_name("missing inside", [house.prop("unit", "bytes")])
    )


def refused() -> timeseries.Panel:
    return house.time_curves(
        "Messages put aside",
        """
        SELECT max(m.arrived) AS time, m.reason AS series, count() AS value
        FROM rejected_messages AS m
        WHERE $__timeFilter_ms(m.arrived)
        GROUP BY $__timeInterval(m.arrived), m.reason
        ORDER BY time, series
        """,
    )


def refusals() -> table.Panel:
    return house.rows(
        "Newest messages put aside",
        """
        SELECT
            m.arrived AS time, m.reason AS reason, m.message AS message, m.task_id AS task, m.topic AS topic,
            toString(m.partition) AS partition, toString(m.offset) AS offset
        FROM rejected_messages AS m
        WHERE $__timeFilter_ms(m.arrived)
        ORDER BY time DESC, partition, offset
        LIMIT 200
        """,
    )


def parts() -> table.Panel:
    return house.rows(
        "Parts on disk",
        """
        SELECT
            table, count() AS parts, sum(rows) AS rows, sum(toFloat64(bytes_on_disk)) AS bytes,
            max(modification_time) AS `last change`
        FROM system.parts
        WHERE active AND database = currentDatabase()
        GROUP BY table
        ORDER BY parts DESC, table
        """,
    ).override_by_name("bytes", [house.prop("unit", "bytes")])


def viewer_cost() -> table.Panel:
    return house.rows(
        "What viewers cost",
        """
        SELECT
            life.1 AS tool, if(life.2 = '', '(nobody known)', life.2) AS owner, count() AS viewers,
            sum(toFloat64OrZero(life.3)) AS seconds, sum(toFloat64OrZero(life.4)) AS `CPU seconds`,
            sum(toFloat64OrZero(life.5)) / 1024 AS `GiB seconds`
        FROM
        (
            -- a release that was cut off is recorded again: one life, one cost
            SELECT
                argMax((e.fields['tool'], e.fields['owner'], e.fields['seconds'], e.fields['cpu_seconds'],
                    e.fields['memory_mib_seconds']), (e.time, e.file_id, e.offset)) AS life
            FROM events AS e
            WHERE e.task_id = 'trainwire-gateway' AND e.kind = 'viewer_released' AND $__timeFilter_ms(e.time)
            GROUP BY e.fields['life']
        )
        GROUP BY tool, owner
        ORDER BY seconds DESC, tool, owner
        LIMIT 200
        """,
    ).override_by_regexp("^(CPU )?seconds$", [house.prop("unit", "s")])
