"""What every feed can do, and which there are."""

from __future__ import annotations

from pathlib import Path
from typing import Protocol

from gateway.store import Query
from gateway.viewers.feeds.sqlite import SqliteFeed
from gateway.viewers.feeds.tensorboard import TensorBoardFeed
from runtime.errors import PermanentError


class Feed(Protocol):
    """Synchronous, over any `Query`: in the gateway's threads, or in a program beside a tool's container."""

    def fill(self, query: Query) -> int: ...

    def resume(self) -> bool: ...

    def look(self, query: Query, now: float) -> bool: ...


def open_feed(form: str, task_id: str, folder: Path, state: Path) -> Feed:
    """Raises `PermanentError` for a form that nobody writes."""
    if form == "tensorboard":
        return TensorBoardFeed(task_id, folder, state)
    if form == "sqlite":
        return SqliteFeed(task_id, folder, state)
    raise PermanentError(f"feed {form!r} is not known: use tensorboard or sqlite")
