"""One shipper, one step at a time: results, looking, moving bytes, heartbeats, checkpoint.

`step(now)` never sleeps and never waits for the network; `now` is any clock that only goes forward, in seconds, so that
tests drive it as they like. `wall` gives seconds since the epoch.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable

from producers.shipper.beats import Beat, Beats
from producers.shipper.care import Care
from producers.shipper.checkpoint import Saved, entry
from producers.shipper.copies import Copies
from producers.shipper.finder import Finder
from producers.shipper.follow import Follower
from producers.shipper.locate import Locator
from producers.shipper.publish import Publisher
from producers.shipper.pump import Pump
from producers.shipper.settings import Settings
from runtime.metrics import Metrics
from runtime.retry import LogLimiter

log = logging.getLogger("trainwire-shipper")

BUSY = 0.01  # s to the next step while reading waits for acknowledgements
MEASURE = 1.0  # s between counts of what is not delivered
SAVE_MOST = 0.5  # s that a save counts for at most, also when the clock was set meanwhile
SAVE_SHARE = 20  # a checkpoint that takes t seconds is written at most each 20 t: 5 % of the time


class Shipper:
    """Everything but the clock, the process and the network."""

    def __init__(
        self,
        settings: Settings,
        publisher: Publisher,
        metrics: Metrics,
        *,
        wall: Callable[[], float] = time.time,
        write: Callable[..., None] | None = None,
    ) -> None:
        self.settings = settings
        self.metrics = metrics
        self.care = Care(settings, metrics, wall)
        locator, copies = Locator(self.care), Copies(self.care)
        self._finder = Finder(self.care, locator, write)
        self.follower = Follower(self.care, self._finder, locator, copies)
        self.pump = Pump(self.care, self.follower, copies, publisher)
        self._beats = Beats(settings, publisher, metrics, self.care.stamp)
        self._publisher = publisher
        self._wall = wall
        self._next_measure = 0.0
        self._saved_at, self._save_took = -1e9, 0.0
        self._save_complaint = LogLimiter()

    def step(self, now: float) -> float:
        """Do what is due at `now`; returns when the next step is."""
        for token, error in self._publisher.results():
            if isinstance(token, Beat):
                self._beats.result(token, error)
            else:
                self.pump.result(token, error, now)
        self.follower.look(now)
        self.pump.step(now)
        if self.care.unsaved and now >= self._saved_at + SAVE_SHARE * self._save_took:
            self.save(now)
            self.pump.step(now)
        self._beats.step(now, self.care.all, self.pump.changed)
        if now >= self._next_measure:  # it visits every file
            self._next_measure = now + MEASURE
            if self.care.register.forget(int(self._wall() - self.settings.files.forget)):
                self.care.dirty = True
            self.metrics.set("shipper_lag_bytes", self.lag())
            self.metrics.set("shipper_files", len(self.care.all))
            self.metrics.set("shipper_open_files", len(self.care.handles))
        if self.care.dirty and now >= self._saved_at + max(self.settings.shipper.checkpoint, SAVE_SHARE * self._save_took):
            self.save(now)
        if self.pump.leaving or self.pump.in_flight > self.settings.shipper.in_flight // 2:
            return now + BUSY
        if self.pump.in_flight or self.care.unsaved:
            return now + self.settings.files.poll
        return max(now + 0.001, min(self.follower.due(), self.pump.due(now), now + self.settings.shipper.heartbeat))

    def leave(self, reason: str, now: float) -> None:
        """The training ended, or this process has to: look once more, then deliver what is there."""
        self.follower.look_again(now)
        self.pump.leave(reason)

    def finished(self) -> bool:
        return self.pump.finished()

    def all_ended(self) -> bool:
        """Whether there are files, and each has said that it has ended."""
        named = [item for item in self.care.all if item.tail.named]
        unread = any(not item.tail.named and item.tail.size for item in self.care.all)
        return bool(named) and not unread and all(item.end_done_at is not None for item in named)

    def lag(self) -> int:
        """Bytes in followed files that the broker has not acknowledged."""
        return sum(max(0, item.tail.size - item.tail.acked.offset) for item in self.care.all if not item.tail.complete)

    def save(self, now: float) -> None:
        """Write the checkpoint of every folder. A full disk is counted, said, and tried again."""
        began = self._wall()
        self.care.dirty = False
        for folder in self._finder.folders.values():
            if not folder.owned:
                continue
            entries = [entry(item.tail, item.place) for item in self.care.all if item.folder is folder]
            saved = Saved([item for item in entries if item is not None], self.care.register.gone)
            try:
                folder.store.save(saved)
            except OSError as error:
                self.care.dirty = True
                self.metrics.inc("shipper_checkpoint_failures_total")
                if self._save_complaint.due(now):
                    log.error(
                        "checkpoint %s cannot be written (%s): shipping goes on; make room or make it writable,"
                        " else a restart reads these files again",
                        folder.store.path,
                        error,
                    )
            else:
                self._save_complaint.reset()
        self.care.unsaved.clear()  # even if it failed: lines go on, and a repeat after a crash is told apart by the worker
        self._saved_at, self._save_took = now, min(max(0.0, self._wall() - began), SAVE_MOST)

    def close(self) -> None:
        """Let go of handles and locks, without saving."""
        self.care.handles.close_all()
        for folder in self._finder.folders.values():
            folder.close()
