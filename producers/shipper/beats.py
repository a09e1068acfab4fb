"""Heartbeats: this shipper lives, and how far it is with each task's files. Every 10 s, soon after a start or a change."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable

from producers.shipper.followed import Followed
from producers.shipper.publish import Publisher
from producers.shipper.settings import Settings, host
from runtime.metrics import Metrics
from schemas.events import Heartbeat

FILES = 500  # in one heartbeat: with paths of 1 KiB and open lines of 1 KiB it stays below the message limit of 2 MiB
SOON = 1.0  # s at least between two heartbeats of a task, however often its state changes


@dataclasses.dataclass(frozen=True, slots=True)
class Beat:
    """The token of a heartbeat on its way."""

    task: str


class Beats:
    """When which task's heartbeat is due. At most one set a task is on its way, so that an absent broker costs no memory."""

    def __init__(self, settings: Settings, publisher: Publisher, metrics: Metrics, stamp: Callable[[], float]) -> None:
        self._settings = settings
        self._publisher = publisher
        self._metrics = metrics
        self._stamp = stamp
        self._host = host()
        self._last: dict[str, float] = {}
        self._on_way: dict[str, int] = {}
        own = settings.task.task_id
        self._always = (own,) if own else ()  # says that it lives even before there is a file

    def step(self, now: float, files: Iterable[Followed], changed: set[str]) -> None:
        """Send what is due; takes tasks out of `changed`."""
        interval = self._settings.shipper.heartbeat
        due = {
            task
            for task in {*self._last, *changed, *self._always}
            if now - self._last.get(task, -interval) >= (SOON if task in changed else interval) and not self._on_way.get(task)
        }
        if not due:
            return
        by_task: dict[str, list[Followed]] = {task: [] for task in due}
        for item in files:
            task = item.tail.ref.task
            if task in due and item.tail.named and item.end_sent_at is None:  # the end is a file's last word, and says as much
                by_task[task].append(item)
        for task, items in by_task.items():
            changed.discard(task)
            if not items and task not in self._always:
                self._last.pop(task, None)  # all its files are over
                continue
            self._last[task] = now
            for first in range(0, max(len(items), 1), FILES):
                states = tuple(item.tail.state() for item in items[first : first + FILES])
                time = round(self._stamp() * 1000)
                beat = Heartbeat(task, self._settings.source, self._host, time, round(interval * 1000), states)
                self._on_way[task] = self._on_way.get(task, 0) + 1
                self._publisher.send(beat, Beat(task))

    def result(self, token: Beat, error: str) -> None:
        self._on_way[token.task] -= 1
        if not self._on_way[token.task]:
            del self._on_way[token.task]
        if error:
            self._metrics.inc("shipper_send_failures_total", reason=error)
        else:
            self._metrics.inc("shipper_heartbeats_total")
