"""Alert rules, in the form that Grafana loads from disk: a query that gives one row a trouble, and a threshold above 0.

A rule's query knows no dashboard variable and no macro: it says its own window. No value here holds a ``$``, because Grafana
replaces those in provisioning files by environment variables; templates read ``.Labels`` instead.
"""

from __future__ import annotations

import dataclasses
from typing import Any

from deploy.grafana.house import FOLDER_TITLE, TAG
from deploy.grafana.query import DATASOURCE_UID, ClickHouseQuery, Form, dedent

GROUP = "trainwire"
CONTACT = "trainwire"

TIMES = 3  # a loss whose lowest of the last quarter or two of an hour is so many times that of the day before is no noise


@dataclasses.dataclass(frozen=True)
class Rule:
    """`sql`: string columns become labels, the one number is the value; a row is a trouble."""

    uid: str
    title: str
    sql: str
    lasting: str  # how long it must hold
    severity: str
    summary: str
    unit: str  # of the value, for the message

    def to_json(self) -> dict[str, Any]:
        query = ClickHouseQuery("A", dedent(self.sql), Form.TABLE)
        return {
            "uid": f"{TAG}-{self.uid}",
            "title": self.title,
            "condition": "B",
            "for": self.lasting,
            "noDataState": "OK",  # no row is no trouble
            "execErrState": "Error",
            "labels": {"severity": self.severity, "source": TAG},
            "annotations": {
                "summary": self.summary,
                "description": f"{{{{ .Values.A.Value }}}} {self.unit}",
                "__dashboardUid__": "trainwire-fleet",
                "__panelId__": "2",  # the list of tasks
            },
            "isPaused": False,
            "data": [
                {
                    "refId": "A",
                    "datasourceUid": DATASOURCE_UID,
                    "relativeTimeRange": {"from": 600, "to": 0},
                    "model": query.to_json() | {"intervalMs": 60_000, "maxDataPoints": 1_000},
                },
                {
                    "refId": "B",
                    "datasourceUid": "__expr__",
                    "relativeTimeRange": {"from": 0, "to": 0},
                    "model": {
                        "conditions": [{"evaluator": {"params": [0], "type": "gt"}}],
                        "datasource": {"type": "__expr__", "uid": "__expr__"},
                        "expression": "A",
                        "refId": "B",
                        "type": "threshold",
                    },
                },
            ],
        }


LABELS = "{{ .Labels.task }}"

RULES = (
    Rule(
        "stalled",
        "Task stalled",
        """
        SELECT task_id AS task, owner, health, toFloat64(greatest(quiet_seconds, 1)) AS value
        FROM fleet
        WHERE last_seen >= now64(3) - INTERVAL 2 DAY AND health IN ('stalled', 'silent')
        ORDER BY task
        """,
        "1m",
        "warning",
        f"{LABELS} is {{{{ .Labels.health }}}}",
        "seconds since its last line",
    ),
    Rule(
        "non-finite",
        "Task has NaN or infinity",
        """
        SELECT task_id AS task, name AS metric, 1.0 AS value
        FROM watched_metrics
        WHERE quarter >= toStartOfFifteenMinutes(now() - INTERVAL 15 MINUTE)
        GROUP BY task_id, name
        HAVING max(is_broken)
        ORDER BY task, metric
        """,
        "0s",
        "critical",
        f"{LABELS}: {{{{ .Labels.metric }}}} is no number",
        "metric",
    ),
    Rule(
        "failed",
        "Task failed",
        """
        SELECT task_id AS task, owner, substring(message, 1, 200) AS reason, 1.0 AS value
        FROM fleet
        WHERE last_seen >= now64(3) - INTERVAL 1 HOUR AND health = 'failed'
        ORDER BY task
        """,
        "0s",
        "critical",
        f"{LABELS} failed: {{{{ .Labels.reason }}}}",
        "failure",
    ),
    Rule(
        "diverging",
        "Loss diverges",
        f"""
        SELECT task, metric, recent / lowest AS value
        FROM
        (
            SELECT
                task_id AS task, name AS metric, minIf(lows.lowest, NOT late) AS lowest, minIf(lows.lowest, late) AS recent
            FROM
            (
                SELECT task_id, name, lowest, quarter >= toStartOfFifteenMinutes(now() - INTERVAL 15 MINUTE) AS late
                FROM watched_metrics
                WHERE quarter >= now() - INTERVAL 1 DAY AND isFinite(lowest)
            ) AS lows
            GROUP BY task, metric
        )
        WHERE lowest > 0 AND recent > {TIMES} * lowest
        ORDER BY task, metric
        """,
        "10m",
        "warning",
        f"{LABELS}: {{{{ .Labels.metric }}}} stays above three times its lowest of the day",
        "times the lowest",
    ),
    Rule(
        "no-progress",
        "No progress",
        """
        SELECT task_id AS task, owner, toFloat64(dateDiff('second', progress_moved, now64(3))) AS value
        FROM fleet
        WHERE last_seen >= now64(3) - INTERVAL 15 MINUTE AND health = 'running' AND progress < 1
            AND progress_moved > toDateTime64(0, 3) AND progress_moved < now64(3) - INTERVAL 30 MINUTE
        ORDER BY task
        """,
        "5m",
        "warning",
        f"{LABELS} still writes, but its progress stands still",
        "seconds without progress",
    ),
    Rule(
        "lag",
        "Rows come late",
        """
        SELECT 'broker to stored' AS hop, quantile(0.99)(b.arrived_to_stored_ms) / 1000 AS value
        FROM batches AS b
        WHERE b.arrived >= now64(3) - INTERVAL 10 MINUTE
        HAVING count() > 0 AND value > 10
        """,
        "5m",
        "critical",
        "Rows take more than 10 s from the broker to the store",
        "seconds (p99 of 10 minutes)",
    ),
    Rule(
        "gaps",
        "Bytes are missing",
        """
        SELECT task_id AS task, toFloat64(sum(missing_inside)) AS value
        FROM watched_files
        WHERE last_arrived >= now64(3) - INTERVAL 2 DAY AND missing_inside > 0
        GROUP BY task_id
        ORDER BY task
        """,
        "10m",
        "critical",
        f"{LABELS}: bytes in the middle of a file are not stored",
        "bytes",
    ),
    Rule(
        "unread",
        "A log file cannot be read",
        """
        SELECT task_id AS task, substring(any(error), 1, 200) AS reason, toFloat64(count()) AS value
        FROM watched_files
        WHERE last_heartbeat >= now64(3) - INTERVAL 2 DAY AND error != ''
        GROUP BY task_id
        ORDER BY task
        """,
        "2m",
        "critical",
        f"{LABELS}: the shipper cannot read a file: {{{{ .Labels.reason }}}}",
        "files",
    ),
    Rule(
        "dead-letters",
        "Messages are put aside",
        """
        SELECT m.reason AS reason, toFloat64(count()) AS value
        FROM rejected_messages AS m
        WHERE m.arrived >= now64(3) - INTERVAL 10 MINUTE
        GROUP BY m.reason
        ORDER BY reason
        """,
        "0s",
        "warning",
        "Messages are put aside: {{ .Labels.reason }}",
        "messages in 10 minutes",
    ),
)


def rules_file() -> dict[str, Any]:
    return {
        "apiVersion": 1,
        "groups": [
            {
                "orgId": 1,
                "name": GROUP,
                "folder": FOLDER_TITLE,
                "interval": "1m",
                "rules": [rule.to_json() for rule in RULES],
            }
        ],
    }
