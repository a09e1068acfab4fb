"""The files in our care: the one place that knows which file stands where, which are active, away, held, ending.

Rules live in `follow`, `finder` and `copies`; this keeps their book. Not thread-safe.
"""

from __future__ import annotations

import dataclasses
import heapq
import itertools
import logging
import os
import secrets
from collections.abc import Callable

from producers.shipper import identity
from producers.shipper.clock import onward
from producers.shipper.discovery import Found
from producers.shipper.folders import StateFolder
from producers.shipper.followed import Followed
from producers.shipper.handles import Handles, fitting
from producers.shipper.identity import Inode, Read
from producers.shipper.register import Register
from producers.shipper.settings import Settings
from producers.shipper.tail import Tail
from runtime.metrics import Metrics
from schemas.events import FileRef

log = logging.getLogger("trainwire-shipper.care")

TROUBLE = 5.0  # s between tries at a file that cannot be opened or read


class Care:
    """Every followed file, and what is known of its state."""

    def __init__(self, settings: Settings, metrics: Metrics, wall: Callable[[], float]) -> None:
        self.settings = settings
        self.metrics = metrics
        self.wall = wall
        self.stamp = onward(wall)  # for whatever is told to others
        self.all: dict[Followed, None] = {}
        self.active: dict[Followed, None] = {}  # with bytes to read, in order of service
        self.ending: dict[Followed, None] = {}  # with an end reason
        self.away: dict[Followed, None] = {}  # that no path leads to
        self.fresh: dict[Followed, None] = {}  # without a file id: no whole line of them is read
        self.unsaved: set[Followed] = set()  # with an id that no checkpoint holds yet
        self.inodes: dict[Inode, Followed] = {}
        self.places: dict[str, Followed] = {}
        self.register = Register()
        self.dirty = False  # the checkpoint is behind
        self._heap: list[tuple[float, int, Followed]] = []
        self._order = itertools.count()
        limit = fitting(settings.files.max_open)
        if limit < settings.files.max_open:
            log.warning("holding at most %d log files open, because this process may open no more (ulimit -n)", limit)
        self.handles = Handles(limit, self._busy)

    # When to look

    def schedule(self, item: Followed, due: float) -> None:
        item.due = due
        heapq.heappush(self._heap, (due, next(self._order), item))

    def next_due(self, now: float) -> Followed | None:
        """Take the next file whose look is due."""
        while self._heap and self._heap[0][0] <= now:
            due, _, item = heapq.heappop(self._heap)
            if item.due == due and not item.dropped:
                return item
        return None

    def due(self) -> float:
        return self._heap[0][0] if self._heap else float("inf")

    # Reading

    def read(self, item: Followed) -> Read | None:
        """A function that reads the file; None when its path leads to another file now. Raises `OSError`, `TemporaryError`."""
        tail = item.tail
        fd = self.handles.held(item)
        if tail.real is not None and tail.inode is not None:
            fd = self.handles.get(item, tail.real, tail.inode)
        return None if fd is None else reading(fd)

    def is_claimed(self, inode: Inode) -> bool:
        """Whether a file is surely followed: a new one may turn out to be a copy, a restored one to be gone."""
        other = self.inodes.get(inode)
        return other is not None and other.tail.named and not other.tail.restored

    # What happens to a file

    def add(self, ref: FileRef, found: Found, folder: StateFolder, release: Callable[[], None], now: float) -> Followed:
        """Follow a new file from its start."""
        tail = Tail(ref, found.real, found.inode, self.settings.files.container, new_reading())
        item = Followed(tail, folder, release, found.real, last_change=now)
        self.all[item] = self.fresh[item] = None
        self.inodes[found.inode] = item
        self.places[found.real] = item
        self.grown(item, found.size, found.mtime, now)
        self.schedule(item, now + self.settings.files.poll)
        return item

    def name(self, item: Followed, first_line: bytes) -> None:
        """Fix the file id: the first whole line is known."""
        tail = item.tail
        tail.ref, tail.key, is_uuid = identity.name_file(tail.ref, first_line)
        tail.generation = self.register.give(tail.key, is_uuid=is_uuid)
        tail.ref = dataclasses.replace(tail.ref, file_id=identity.file_id(tail.key, tail.generation))
        self.fresh.pop(item, None)
        if not is_uuid:  # a number that only the checkpoint knows must be in it before it is used
            self.unsaved.add(item)
        self.dirty = True

    def grown(self, item: Followed, size: int, mtime: int, now: float) -> None:
        """Note what `stat` said."""
        tail = item.tail
        if size != tail.size or mtime != tail.mtime:
            item.last_change = now
            if size != tail.size:
                tail.stalled = None
        tail.size, tail.mtime = size, mtime
        if tail.backlog():
            self.active.setdefault(item)

    def settle(self, item: Followed, found: Found, now: float) -> None:
        """The file stands at `found` now. A file without an id that claimed the place is dropped."""
        tail = item.tail
        moved_inode = found.inode != tail.inode
        other = self.inodes.get(found.inode)
        if other is not None and other is not item and not other.tail.named:
            self.drop(other, "the place of a followed file")
        self.leave(item, keep_handle=not moved_inode)
        item.release = item.folder.take(found.real, found.inode)
        tail.real, tail.inode, item.place = found.real, found.inode, found.real
        tail.size, tail.mtime, tail.stalled = found.size, found.mtime, None
        tail.complete = moved_inode and tail.sent.offset > found.size  # a copy that lacks the last bytes, which we have
        item.away_since = item.shrunk_since = None
        item.away_reason = item.end_reason = ""
        self.away.pop(item, None)
        self.ending.pop(item, None)
        self.inodes[found.inode] = item
        self.places[found.real] = item
        self.dirty = True
        if tail.backlog():
            self.active.setdefault(item)
        self.schedule(item, now)

    def leave(self, item: Followed, *, keep_handle: bool = True, keep_inode: bool = False) -> None:
        """The file stands at its place no more."""
        tail = item.tail
        if self.places.get(item.place) is item:
            del self.places[item.place]
        if not keep_handle:
            self.handles.close(item)
        if tail.inode is not None and not keep_inode:
            if self.inodes.get(tail.inode) is item:
                del self.inodes[tail.inode]
            if item.release is not None:
                item.release()
                item.release = None

    def inherit(self, item: Followed, other: Followed, now: float) -> None:
        """`other` waited as a copy of `item`, which is over: it goes on with what was read of that."""
        self.leave(item)
        old, tail = other.tail, item.tail
        tail.real, tail.inode = old.real, old.inode
        tail.size, tail.mtime, tail.stalled = old.size, old.mtime, None
        tail.complete = tail.sent.offset > old.size
        other.tail, other.held_by, other.held_since = tail, None, None
        self.fresh.pop(other, None)
        self._forget(item)
        self.schedule(other, now)

    def end(self, item: Followed, reason: str) -> None:
        """Nothing will follow: `pump` delivers what is left and says so."""
        item.end_reason = reason
        self.ending.setdefault(item)

    def drop(self, item: Followed, why: str) -> None:
        """Follow it no more."""
        self.leave(item)
        self._forget(item)
        if item.tail.named:
            self.register.release(item.tail.key, item.tail.generation, int(self.wall()))
        log.debug("%s: %s", item.place, why)

    def lost(self, item: Followed, count: int, reason: str) -> None:
        """Say that bytes were gone before they could be read."""
        if count > 0 and not item.tail.complete:
            self.metrics.inc("shipper_lost_bytes_total", count, reason=reason)
            log.error("%s: %d bytes were gone before they could be read (%s)", item.place, count, reason)

    def trouble(self, item: Followed, error: Exception, now: float) -> None:
        """A file that cannot be opened or read: said once, counted, tried again; others go on."""
        item.tail.error = f"{type(error).__name__}: {error}"
        if item.told_error != item.tail.error:
            item.told_error = item.tail.error
            self.metrics.inc("shipper_file_errors_total", reason=type(error).__name__)
            log.error("%s cannot be read (%s); it is tried again, other files go on", item.place, error)
        if item.tail.real is not None:  # a handle may have gone stale (network file systems); a deleted file's is all there is
            self.handles.close(item)
        self.active.pop(item, None)
        self.schedule(item, now + TROUBLE)

    def no_trouble(self, item: Followed) -> None:
        if item.told_error:
            log.info("%s can be read again", item.place)
        item.told_error = item.tail.error = ""

    def _forget(self, item: Followed) -> None:
        self.handles.close(item)
        for group in (self.all, self.active, self.ending, self.away, self.fresh):
            group.pop(item, None)
        self.unsaved.discard(item)
        item.dropped = self.dirty = True

    def _busy(self, key: object) -> int:
        assert isinstance(key, Followed)  # noqa: S101  # handles are opened for nothing else
        if key.tail.real is None and not key.tail.complete:
            return 2
        return 1 if key.tail.backlog() else 0


def reading(fd: int) -> Read:
    return lambda offset, length: os.pread(fd, length, offset)


def new_reading() -> str:
    """A random id of one pass over a file: the only random thing here, and it names no content."""
    return secrets.token_hex(8)
