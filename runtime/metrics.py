"""Every metric that any program exposes: a closed list, the meaning beside each name, in Prometheus form.

A program takes its own part with `Metrics("shipper")` and can only count what stands here::

    metrics = Metrics("shipper")
    metrics.inc("shipper_lines_total", 20)
    metrics.set("shipper_lag_bytes", 0)
"""

from __future__ import annotations

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

# name: (kind, labels, meaning). Units are in the name's end, as Prometheus asks. Kinds: counter, gauge, histogram.
SHIPPER = {
    "shipper_files": ("gauge", (), "log files followed now"),
    "shipper_open_files": ("gauge", (), "file handles held on log files now"),
    "shipper_lag_bytes": ("gauge", (), "bytes in followed files that the broker has not acknowledged"),
    "shipper_in_flight_bytes": ("gauge", (), "bytes handed to the producer and not acknowledged"),
    "shipper_lines_total": ("counter", (), "lines acknowledged by the broker"),
    "shipper_bytes_total": ("counter", (), "bytes of log files acknowledged by the broker"),
    "shipper_deltas_total": ("counter", (), "deltas acknowledged by the broker"),
    "shipper_heartbeats_total": ("counter", (), "heartbeats acknowledged by the broker"),
    "shipper_send_failures_total": ("counter", ("reason",), "sends that failed and are tried again, by error"),
    "shipper_long_lines_total": ("counter", (), "lines cut at the line limit"),
    "shipper_generations_total": ("counter", ("reason",), "files begun again from byte 0, by reason"),
    "shipper_file_errors_total": ("counter", ("reason",), "files that could not be read, by reason"),
    "shipper_checkpoint_failures_total": ("counter", (), "checkpoints that could not be written, tried again"),
    "shipper_lost_bytes_total": ("counter", ("reason",), "bytes that the file system no longer held when they could be read"),
}
WORKER = {
    "worker_messages_total": ("counter", ("type",), "messages taken from the broker, by event type"),
    "worker_lines_total": ("counter", (), "lines stored"),
    "worker_points_total": ("counter", (), "points stored"),
    "worker_bytes_total": ("counter", (), "bytes of log files stored"),
    "worker_repeats_total": (
        "counter",
        ("kind",),
        "deltas not stored again because their bytes are: redelivered, reread, unverified",
    ),
    "worker_forks_total": ("counter", (), "readings that turned out to be another file"),
    "worker_cold_ranges_total": ("counter", (), "byte ranges extracted before the bytes in front of them came"),
    "worker_dead_letters_total": ("counter", ("reason",), "messages put aside, by reason"),
    "worker_quarantined_tasks": ("gauge", (), "tasks put aside because most of their messages are bad"),
    "worker_insert_seconds": ("histogram", ("table",), "time of one insert"),
    "worker_batch_seconds": ("histogram", (), "time from taking a batch to its acknowledgement"),
    "worker_hop_seconds": ("histogram", (), "time from the broker's time stamp to the acknowledged insert"),
    "worker_store_failures_total": (
        "counter",
        ("reason",),
        "inserts and queries that failed for now and are tried again, by error",
    ),
    "worker_rejected_rows_total": ("counter", ("table",), "rows that the store refused for good, isolated from their batch"),
    "worker_unfit_values_total": ("counter", (), "steps and values that fit no column, stored as absent"),
    "worker_clamped_times_total": ("counter", (), "times out of range, replaced by the time of arrival"),
    "worker_extract_seconds_total": ("counter", (), "time spent in extraction"),
    "worker_lag_messages": ("gauge", ("partition",), "messages in the topic behind the committed offset"),
    "worker_topic_gap_messages_total": ("counter", ("partition",), "messages that retention removed before they were read"),
}
GATEWAY = {
    "gateway_requests_total": ("counter", ("route", "status"), "requests answered, by route and status"),
    "gateway_request_seconds": ("histogram", ("route",), "time of one request"),
    "gateway_streams": ("gauge", (), "live streams open now"),
    "gateway_viewers": ("gauge", ("tool", "state"), "viewers by tool and state"),
    "gateway_viewer_start_seconds": ("histogram", ("tool",), "time from request to a viewer that answers"),
    "gateway_releases_total": ("counter", ("tool", "reason"), "viewers deleted, by tool and reason"),
}
PROGRAMS = {"shipper": SHIPPER, "worker": WORKER, "gateway": GATEWAY}

# 5 ms to 30 s: an insert takes 5 to 50 ms, the promise is 300 ms, a retry seconds.
BUCKETS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.2, 0.3, 0.5, 1, 2, 5, 10, 30)


class Metrics:
    """One program's metrics in a registry of their own. Thread-safe, as prometheus_client is."""

    def __init__(self, program: str) -> None:
        self.registry = CollectorRegistry()
        self._metrics: dict[str, Counter | Gauge | Histogram] = {}
        for name, (kind, labels, meaning) in PROGRAMS[program].items():
            full = f"trainwire_{name}"
            if kind == "counter":
                self._metrics[name] = Counter(full, meaning, labels, registry=self.registry)
            elif kind == "gauge":
                self._metrics[name] = Gauge(full, meaning, labels, registry=self.registry)
            else:
                self._metrics[name] = Histogram(full, meaning, labels, registry=self.registry, buckets=BUCKETS)

    def inc(self, name: str, amount: float = 1, **labels: str) -> None:
        metric = self._metrics[name]
        assert isinstance(metric, Counter)  # noqa: S101  # a wrong kind is a bug of the caller's
        (metric.labels(**labels) if labels else metric).inc(amount)

    def set(self, name: str, value: float, **labels: str) -> None:
        metric = self._metrics[name]
        assert isinstance(metric, Gauge)  # noqa: S101  # as above
        (metric.labels(**labels) if labels else metric).set(value)

    def observe(self, name: str, value: float, **labels: str) -> None:
        metric = self._metrics[name]
        assert isinstance(metric, Histogram)  # noqa: S101  # as above
        (metric.labels(**labels) if labels else metric).observe(value)

    def value(self, name: str, **labels: str) -> float:
        """The present value of a counter or gauge, 0 where it was never touched."""
        suffix = "_total" if isinstance(self._metrics[name], Counter) and not name.endswith("_total") else ""
        return self.registry.get_sample_value(f"trainwire_{name}{suffix}", labels) or 0.0

    def render(self) -> bytes:
        """The text exposition format."""
        return generate_latest(self.registry)
