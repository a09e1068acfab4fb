"""Record what a training task does, in a local file. Nothing else: no network, no dependency, no exception in your training.

    import trainwire

    with trainwire.init("resnet-7", params={"lr": 0.1}) as run:
        for step in range(1000):
            run.log({"loss": loss, "acc": {"top1": top1}}, step=step)

`trainwire.log(...)` and its kin speak for the newest run of the process.
"""

from __future__ import annotations

from typing import Any, Mapping, Optional, Sequence

from trainwire.run import BUFFER_BYTES, FLUSH_SECONDS, MAX_FILE_BYTES, Run, start, tell
from trainwire.version import __version__

__all__ = ["Run", "__version__", "current", "event", "finish", "flush", "init", "log", "params", "progress", "status"]

_current: Optional[Run] = None
_told = False


def init(
    task_id: Optional[str] = None,
    *,
    name: Optional[str] = None,
    dir: Optional[str] = None,
    rank: Optional[int] = None,
    world_size: Optional[int] = None,
    attempt: Optional[int] = None,
    start_id: Optional[str] = None,
    owner: Optional[str] = None,
    project: Optional[str] = None,
    framework: Optional[str] = None,
    patterns: Optional[Sequence[str]] = None,
    params: Any = None,
    flush_seconds: float = FLUSH_SECONDS,
    max_file_bytes: int = MAX_FILE_BYTES,
    buffer_bytes: int = BUFFER_BYTES,
) -> Run:
    """Begin to record this process as a rank of a task.

    What is not given comes from TRAINWIRE_TASK_ID, _NAME, _LOG_DIR, _RANK, _WORLD_SIZE, _ATTEMPT, _START_ID, _OWNER, _PROJECT,
    _FRAMEWORK, then (rank, world size, attempt) from torchrun, Slurm or JobSet. The framework is else the one that was imported
    before. `patterns` (TRAINWIRE_TASK_PATTERNS, one a line) say how to read what other programs append to the file. `name` is
    free text; `dir` defaults to ./trainwire-logs; attempts count from 1. A file ends at `max_file_bytes` and
    the next begins; `buffer_bytes` is the most that is held while the disk takes nothing.

    Raises ValueError for a task id or another argument that is not allowed. A disk that cannot be written raises nothing, here
    or later: stderr says it once, and the training goes on.
    """
    global _current
    _current = start(
        task_id,
        name=name,
        dir=dir,
        rank=rank,
        world_size=world_size,
        attempt=attempt,
        start_id=start_id,
        owner=owner,
        project=project,
        framework=framework,
        patterns=patterns,
        params=params,
        flush_seconds=flush_seconds,
        max_file_bytes=max_file_bytes,
        buffer_bytes=buffer_bytes,
    )
    return _current


def current() -> Optional[Run]:
    """The newest run of this process, if `init` was called."""
    return _current


def log(metrics: Mapping[str, Any], step: Optional[int] = None, epoch: Optional[float] = None) -> None:
    """`Run.log` of the current run."""
    run = _the_run()
    if run is not None:
        run.log(metrics, step, epoch)


def progress(done: float, total: Optional[float] = None, unit: Optional[str] = None) -> None:
    """`Run.progress` of the current run."""
    run = _the_run()
    if run is not None:
        run.progress(done, total, unit)


def status(word: str, message: Optional[str] = None) -> None:
    """`Run.status` of the current run."""
    run = _the_run()
    if run is not None:
        run.status(word, message)


def params(values: Any) -> None:
    """`Run.params` of the current run."""
    run = _the_run()
    if run is not None:
        run.params(values)


def event(kind: str, message: Optional[str] = None, **fields: Any) -> None:
    """`Run.event` of the current run."""
    run = _the_run()
    if run is not None:
        run.event(kind, message, **fields)


def flush(timeout: float = 5.0) -> bool:
    """`Run.flush` of the current run."""
    run = _the_run()
    return run is not None and run.flush(timeout)


def finish(status: str = "succeeded", message: Optional[str] = None) -> None:
    """`Run.finish` of the current run."""
    run = _the_run()
    if run is not None:
        run.finish(status, message)


def _the_run() -> Optional[Run]:
    global _told
    if _current is None and not _told:
        _told = True
        tell("trainwire: nothing is recorded before trainwire.init(task_id) was called")
    return _current
