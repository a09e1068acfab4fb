"""What `/readyz` and `/healthz` of the worker say. A store or broker that is away makes it unready, never unhealthy."""

from __future__ import annotations

from dataclasses import dataclass

from stream_jobs.sink import Sink


@dataclass(slots=True)
class Health:
    """Written by the worker's parts, read by the health server's threads."""

    sink: Sink
    broker: str | None = "the broker was not reached yet"
    store: str | None = "the store was not reached yet"
    assigned: bool = False

    def ready(self) -> str | None:
        """None when messages can be stored now."""
        if self.broker or self.store or self.sink.trouble:
            return self.broker or self.store or self.sink.trouble
        return None if self.assigned else "waiting for partitions"

    def healthy(self) -> str | None:
        """None always while the process answers: a worker that does no work ends itself (see watchdog)."""
        return None
