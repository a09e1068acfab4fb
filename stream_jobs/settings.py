"""Settings of the worker."""

from __future__ import annotations

import dataclasses

from runtime.settings import KafkaSettings, StoreSettings, address, setting


@dataclasses.dataclass(frozen=True)
class BatchSettings:
    """How much is gathered before it is inserted."""

    window: float = setting(
        "WORKER_BATCH_WINDOW", 0.1, unit="s", why="shortest time to gather; latency is half of it and an insert on average"
    )
    workers: int = setting(
        "WORKER_COUNT", 1, why="workers on this store: each gathers for at least count / 20 s, so that parts stay mergeable"
    )
    messages: int = setting(
        "WORKER_BATCH_MESSAGES", 5000, why="most messages gathered; must exceed the arrivals of a cycle (512 fell behind)"
    )
    size: int = setting(
        "WORKER_BATCH_BYTES",
        4 * 1024 * 1024,
        unit="bytes",
        why="most log bytes in one insert; its columns take about 20 times that, up to 50 for lines of 60 bytes with two points",
    )

    def __post_init__(self) -> None:
        if self.window <= 0 or self.workers < 1 or self.messages < 1 or self.size < 1:
            raise ValueError("TRAINWIRE_WORKER_BATCH_* and TRAINWIRE_WORKER_COUNT must be above zero")

    @property
    def seconds(self) -> float:
        """The batch window. 20 inserts a second and table, over all workers, is what merges keep up with."""
        return max(self.window, self.workers / 20)


@dataclasses.dataclass(frozen=True)
class QuarantineSettings:
    """When a task that sends mostly bad messages is put aside."""

    ratio: float = setting("WORKER_QUARANTINE_RATIO", 0.5, why="share of bad messages above which a task is put aside")
    least: int = setting("WORKER_QUARANTINE_LEAST", 20, least=1, why="messages to have seen before judging")
    window: float = setting("WORKER_QUARANTINE_WINDOW", 60.0, unit="s", why="over which messages are counted")
    seconds: float = setting(
        "WORKER_QUARANTINE_SECONDS", 600.0, unit="s", why="how long all messages of the task become dead letters"
    )
    tasks: int = setting(
        "WORKER_QUARANTINE_TASKS", 20, least=1, why="tasks put aside at once that stop the worker: then the fault is not a task's"
    )


@dataclasses.dataclass(frozen=True)
class WorkerSettings:
    """The process."""

    group: str = setting("WORKER_GROUP", "trainwire-worker", why="consumer group; workers of one group share the partitions")
    partitions: int = setting("WORKER_TOPIC_PARTITIONS", 8, least=1, why="of the topic where the worker has to create it")
    replicas: int = setting("WORKER_TOPIC_REPLICAS", 1, least=1, why="of the topic where the worker has to create it")
    health: tuple[str, int] = setting(
        "WORKER_HEALTH",
        ("127.0.0.1", 9482),
        parse=address,
        why="host:port of /metrics, /healthz and /readyz; port 0 takes a free one",
    )
    stall: float = setting(
        "WORKER_STALL_SECONDS",
        60.0,
        unit="s",
        why="with messages waiting and no commit for so long, the worker exits to be restarted",
    )
    names: int = setting(
        "WORKER_METRIC_NAMES", 2000, why="metric names of a task above which an event shows examples; nothing is dropped"
    )
    stop: float = setting("WORKER_STOP_SECONDS", 10.0, unit="s", why="after SIGTERM the process ends by then, whatever hangs")


@dataclasses.dataclass(frozen=True)
class Settings:
    kafka: KafkaSettings
    store: StoreSettings
    worker: WorkerSettings
    batch: BatchSettings
    quarantine: QuarantineSettings
