"""The shipper's settings, from `TRAINWIRE_*`, grouped by concern."""

from __future__ import annotations

import dataclasses
import os
import re
import socket
from typing import Literal

from runtime.settings import KafkaSettings, address, setting
from schemas.framing import LINE_LIMIT, RECORD_LIMIT
from schemas.patterns import sifted
from schemas.topic import TASK_ID_RULE, is_task_id

ContainerSetting = Literal["auto", "plain", "cri", "tfevents"]

# Compressed copies of rotated logs: their bytes are in the log that they were made of.
COMPRESSED = ("*.gz", "*.bz2", "*.xz", "*.zst", "*.lz4", "*.zip", "*.Z", "*.br")


def _pattern(text: str) -> re.Pattern[str]:
    try:
        pattern = re.compile(text)
    except re.error as error:
        raise ValueError(f"not a regular expression: {error}") from None
    if "task" not in pattern.groupindex:
        raise ValueError("the pattern needs the group (?P<task>…)")
    if unknown := sorted(set(pattern.groupindex) - {"task", "rank", "attempt"}):
        raise ValueError(f"groups may be task, rank and attempt, not {', '.join(unknown)}")
    return pattern


def _patterns(text: str) -> tuple[str, ...]:
    given = tuple(line.strip() for line in text.splitlines() if line.strip())
    _, refused = sifted(given)
    if refused:
        raise ValueError(f"{refused[0][0]!r}: {refused[0][1]}")
    return given


def _container(text: str) -> ContainerSetting:
    for kind in ("auto", "plain", "cri", "tfevents"):
        if text == kind:
            return kind
    raise ValueError("use auto, plain, cri or tfevents")


def _natural(text: str) -> int:
    if not (text.isascii() and text.isdigit()) or int(text) >= 2**31:
        raise ValueError("a whole number from 0 to 2147483647")
    return int(text)


@dataclasses.dataclass(frozen=True)
class TaskSettings:
    """Who the files belong to. The content of a file never decides this."""

    task_id: str = setting("TASK_ID", "", why="the task of every file; or give TRAINWIRE_TASK_FROM")
    task_from: re.Pattern[str] | None = setting(
        "TASK_FROM", None, parse=_pattern, why="pattern searched in a file's path, with the group `task` (also rank, attempt)"
    )
    name: str = setting("TASK_NAME", "", why="people's own name of the task, any script")
    start_id: str = setting("START_ID", "", why="id of this start of the process, for files that do not say it in their header")
    attempt: int | None = setting("ATTEMPT", None, parse=_natural, why="attempt number, from 1, where the environment has one")
    rank: int = setting("RANK", 0, parse=_natural, why="rank of the process that writes, for files that do not say it")
    patterns: tuple[str, ...] = setting(
        "TASK_PATTERNS",
        (),
        parse=_patterns,
        why="how to read lines that the rules cannot, one pattern a line: `loss~(?P<loss>[0-9.]+)`; see `trainwirectl parse`",
    )
    world_size: int | None = setting("WORLD_SIZE", None, least=1, parse=_natural, why="number of ranks of the task")

    def __post_init__(self) -> None:
        if not self.task_id and self.task_from is None:
            raise ValueError("TRAINWIRE_TASK_ID is missing: set it, or TRAINWIRE_TASK_FROM to take the task from the path")
        if self.task_id and not is_task_id(self.task_id):
            raise ValueError(f"TRAINWIRE_TASK_ID={self.task_id!r} is not a task id: {TASK_ID_RULE}")


@dataclasses.dataclass(frozen=True)
class FileSettings:
    """Which files, and how they are read."""

    logs: tuple[str, ...] = setting(
        "LOGS", why="log files: paths, globs (** for any depth) or folders with a / at the end, comma or newline separated"
    )
    exclude: tuple[str, ...] = setting(
        "SHIPPER_EXCLUDE", COMPRESSED, why="names (or, with a /, paths) left alone; by default compressed copies"
    )
    container: ContainerSetting = setting(
        "SHIPPER_CONTAINER", "auto", parse=_container, why="form of the files: auto, plain, cri or tfevents"
    )
    state_dir: str = setting(
        "SHIPPER_STATE_DIR",
        "",
        why="folder of the checkpoint; empty: .trainwire beside the logs, so that it lives as long as they",
    )
    poll: float = setting("SHIPPER_POLL_SECONDS", 0.04, unit="s", why="between looks at an active file; an idle one: up to 0.9 s")
    gather: float = setting(
        "SHIPPER_GATHER_SECONDS",
        0.15,
        unit="s",
        why="least time between two deltas of a file; messages are what the worker pays for",
    )
    max_open: int = setting(
        "SHIPPER_MAX_OPEN_FILES", 512, parse=_natural, why="log files held open; lowered to fit the process's own limit"
    )
    deleted: float = setting(
        "SHIPPER_DELETED_SECONDS",
        3600.0,
        unit="s",
        why="how long a deleted file is held to deliver its rest; then it is counted lost",
    )
    forget: float = setting(
        "SHIPPER_FORGET_SECONDS", 3600.0, unit="s", why="how long the checkpoint remembers a file that is gone"
    )

    def __post_init__(self) -> None:
        if not self.logs:
            raise ValueError("TRAINWIRE_LOGS is empty: give at least one path or glob")
        if not 0.005 <= self.poll <= 0.9:
            raise ValueError(f"TRAINWIRE_SHIPPER_POLL_SECONDS={self.poll}: from 0.005 to 0.9")
        if not 0 <= self.gather <= 5:
            raise ValueError(f"TRAINWIRE_SHIPPER_GATHER_SECONDS={self.gather}: from 0 to 5")
        if self.max_open < 8:
            raise ValueError(f"TRAINWIRE_SHIPPER_MAX_OPEN_FILES={self.max_open}: at least 8")


@dataclasses.dataclass(frozen=True)
class ShipperSettings:
    """The shipper as a program."""

    id: str = setting("SHIPPER_ID", "", why="this shipper's name in heartbeats; empty: the host's name")
    in_flight: int = setting(
        "SHIPPER_IN_FLIGHT_BYTES",
        8 * 1024 * 1024,
        parse=_natural,
        unit="bytes",
        why="read and not acknowledged; reading stops beyond",
    )
    heartbeat: float = setting("SHIPPER_HEARTBEAT_SECONDS", 10.0, unit="s", why="between heartbeats of a task")
    health: tuple[str, int] | None = setting(
        "SHIPPER_HEALTH", None, parse=address, why="host:port of /metrics, /healthz and /readyz; empty: none"
    )
    sigterm_ends: bool = setting(
        "SHIPPER_SIGTERM_ENDS",
        False,
        why="SIGTERM means that the training has ended (a native sidecar is stopped last): half lines become lines",
    )
    drain: float = setting(
        "SHIPPER_DRAIN_SECONDS", 20.0, unit="s", why="for delivering the rest after SIGTERM; Kubernetes kills at 30"
    )
    checkpoint: float = setting("SHIPPER_CHECKPOINT_SECONDS", 1.0, unit="s", why="least time between two checkpoints")

    def __post_init__(self) -> None:
        least = max(LINE_LIMIT, RECORD_LIMIT + 16)
        if self.in_flight < least:
            raise ValueError(f"TRAINWIRE_SHIPPER_IN_FLIGHT_BYTES={self.in_flight}: at least {least}, one record")
        if self.heartbeat < 0.1:
            raise ValueError(f"TRAINWIRE_SHIPPER_HEARTBEAT_SECONDS={self.heartbeat}: at least 0.1")


@dataclasses.dataclass(frozen=True)
class Settings:
    """Everything that `trainwire-shipper` reads from its environment."""

    kafka: KafkaSettings
    task: TaskSettings
    files: FileSettings
    shipper: ShipperSettings

    @property
    def source(self) -> str:
        return self.shipper.id or host()


def host() -> str:
    """The machine's name, as heartbeats carry it."""
    return socket.gethostname() or os.uname().nodename
