"""Following files through everything that happens to them: grown, renamed, copied, truncated, replaced, deleted.

`Follower` looks at each file with `stat` when it is due; it never reads content for sending (`pump` does) but compares
content wherever a file might be another one. Rules, in the words of `identity`:

- the same inode at its path, not smaller, the bytes before the offset unchanged: the same file;
- smaller or changed: its content is searched in a copy (copytruncate), which the old tail then follows; the path begins a
  new generation. Where no copy is found and the file is just smaller, it gets `SETTLE` seconds to come back: a metrics file
  that is rewritten whole at each save is the same file as long as its old rows are;
- another inode at its path: the file is followed to where the inode went (rename); if that is gone, and the newcomer begins
  with the same bytes, the newcomer is the same file (`os.replace`, a folder copied, a volume mounted again);
- nothing at its path: as above, else it is read to its end through the open handle.
"""

from __future__ import annotations

import logging
import os

from producers.shipper import discovery
from producers.shipper.care import Care, new_reading, reading
from producers.shipper.copies import Copies
from producers.shipper.discovery import Found
from producers.shipper.finder import Finder
from producers.shipper.followed import Followed
from producers.shipper.locate import Locator, holds
from producers.shipper.tail import Changed, Tail
from runtime.errors import TemporaryError

log = logging.getLogger("trainwire-shipper.follow")

IDLE = 0.9  # s between looks at a file that has not changed for long
SETTLE = 1.0  # s in which a file that shrank may come back with its old content
AWAY = 2.0  # s without growth after which a deleted file has no writer any more …
MOVED = 60.0  # … and one that was moved out of sight
MISSING = 5.0  # s in which a file of the checkpoint may be found
ELDERS = 2.0  # s that a file waits for those that were rotated before it, which may have no whole line
TICK = 0.05  # s for which a modification time may stand still


class Follower:
    """Applies the rules to every file in care."""

    def __init__(self, care: Care, finder: Finder, locator: Locator, copies: Copies) -> None:
        self._care = care
        self._finder = finder
        self._locator = locator
        self._copies = copies

    def look(self, now: float) -> None:
        """Scan for new files and look at every file that is due."""
        self._locator.refresh()
        if now >= self._finder.next_scan:
            self._finder.restore(now)
            self._look_due(now)  # first see where known files went; what is left is new
            self._finder.scan(now)
        self._look_due(now)

    def look_again(self, now: float) -> None:
        """Look at everything at once, whenever it would have been due."""
        self._finder.next_scan = now
        for item in self._care.all:
            self._care.schedule(item, now)
        self.look(now)

    def due(self) -> float:
        return min(self._finder.next_scan, self._care.due())

    def must_wait(self, item: Followed, now: float) -> bool:
        """Whether a file without an id has elders that were not begun: files are told in the order in which they began."""
        elders = self._locator.elders(item)
        if not any(elder.tail.backlog() and elder.held_since is None for elder in elders):
            return False
        item.waits_since = now if item.waits_since is None else item.waits_since
        return now - item.waits_since < ELDERS

    def begin_again(self, item: Followed, reason: str, now: float) -> None:
        """The file at the path is another one now: its old content goes on in a copy, or is over."""
        care, tail = self._care, item.tail
        real, inode = tail.real, tail.inode
        if real is None or inode is None:  # read through a handle only: nobody else stands there
            tail.complete = True
            care.end(item, "truncated")
            return
        care.handles.close(item)
        since = tail.mtime
        if not tail.named:
            item.tail = Tail(tail.ref, real, inode, care.settings.files.container, new_reading())
            item.shrunk_since = None
            self._admit_newcomers(real, since, now)
            return
        care.metrics.inc("shipper_generations_total", reason=reason)
        copy = self._locator.copied(tail, real)
        care.leave(item)
        if copy is not None:
            care.settle(item, copy, now)
            log.info("%s was %s; its old content goes on in %s", real, reason, copy.real)
        else:
            care.lost(item, tail.size - tail.sent.offset, "truncated")
            log.info("%s was %s: followed from its start as a new generation", real, reason)
            tail.real = tail.inode = None
            tail.complete = care.dirty = True
            care.end(item, "truncated")
        self._admit_newcomers(real, since, now)

    def _admit_newcomers(self, real: str, since: int, now: float) -> None:
        """As the finder does. A rotated file that is believed to stand where a newer one stands by now is looked at first: its
        place is the newer one's, which would else be found after what was written later."""
        care = self._care
        for found in self._locator.rotated(real):
            owner = care.places.get(found.real)
            if owner is not None and owner.tail.inode != found.inode:
                try:
                    self._look(owner, now)
                except (OSError, TemporaryError) as error:
                    care.trouble(owner, error, now)
        self._finder.admit_newcomers(real, since, now)

    def ended_away(self, item: Followed, now: float) -> None:
        """All of a deleted file is read and acknowledged: a copy of it may stand somewhere (a move between volumes)."""
        care, tail = self._care, item.tail
        heir = self._copies.heir(item)
        if heir is not None:
            care.inherit(item, heir, now)
            return
        copy = self._locator.copied(tail, item.place) if tail.named else None
        if copy is None:
            care.drop(item, f"ended: {item.end_reason}")
        else:
            care.settle(item, copy, now)

    def _look_due(self, now: float) -> None:
        care = self._care
        while (item := care.next_due(now)) is not None:
            item.due = now + IDLE
            try:
                self._look(item, now)
            except (OSError, TemporaryError) as error:
                care.trouble(item, error, now)
            else:
                if item.due == now + IDLE:  # nobody has said otherwise
                    care.schedule(item, now + self._interval(item, now))

    def _interval(self, item: Followed, now: float) -> float:
        poll = self._care.settings.files.poll
        return min(max(poll, (now - item.last_change) / 10), max(IDLE, poll))

    def _look(self, item: Followed, now: float) -> None:
        tail = item.tail
        if tail.real is None:
            self._look_away(item, now)
            return
        try:
            status: os.stat_result | None = os.stat(tail.real)
        except (FileNotFoundError, NotADirectoryError):
            status = None
        if status is None or (status.st_dev, status.st_ino) != tail.inode or self._care.inodes.get(tail.inode, item) is not item:
            self._moved(item, status, now)
        elif status.st_size < max(tail.sent.offset, tail.head.length) and not tail.complete:
            self._shrunk(item, status.st_size, now)
        else:
            item.away_since = None
            self._care.away.pop(item, None)
            if item.shrunk_since is not None or tail.restored or self._written(tail, status.st_mtime_ns):
                self._check(item, now)
            if item.tail is tail and tail.inode == (status.st_dev, status.st_ino):
                self._care.grown(item, status.st_size, status.st_mtime_ns, now)
            if tail.ends_with_end_record and tail.settled and not item.end_reason and tail.size == tail.acked.offset:
                self._care.end(item, "end-record")

    def _written(self, tail: Tail, mtime: int) -> bool:
        """Whether the file may have been written to since the last look. A time stamp stands still for a tick (4 ms and more):
        one that was young then says nothing about what came after the look within the same tick."""
        return mtime != tail.mtime or mtime / 1e9 > self._care.wall() - TICK

    def _check(self, item: Followed, now: float) -> None:
        """Something was written: verify that the bytes before the offset are the same."""
        tail = item.tail
        read = self._care.read(item)
        if read is None:
            return
        try:
            if not tail.complete:
                tail.verify(read)
        except Changed:
            self.begin_again(item, "rewritten", now)
        else:
            if tail.restored:
                tail.recall(read)
            tail.restored = False
            item.shrunk_since = None
            self._care.no_trouble(item)

    def _shrunk(self, item: Followed, size: int, now: float) -> None:
        care, tail = self._care, item.tail
        care.active.pop(item, None)
        if item.shrunk_since is None:
            item.shrunk_since = now
        late = now - item.shrunk_since >= SETTLE
        if not tail.named or late or self._surely_other(item, size) or self._locator.copied(tail, item.place) is not None:
            self.begin_again(item, "truncated", now)
        else:
            care.schedule(item, now + care.settings.files.poll)

    def _surely_other(self, item: Followed, size: int) -> bool:
        """Whether the shrunk file's first bytes cannot be those of the old content."""
        head = item.tail.head
        read = self._care.read(item) if size >= head.length else None
        return read is not None and head.grown(read(0, head.length)) is None

    def _moved(self, item: Followed, status: os.stat_result | None, now: float) -> None:
        """Another file, or none, stands at the path."""
        care, tail = self._care, item.tail
        old, since = item.place, tail.mtime
        fd = care.handles.held(item)  # while it is open, its inode cannot have been given to another file
        renamed = self._locator.renamed(tail, held=fd is not None)
        if renamed is not None and (fd is not None or not tail.head.length or holds(renamed.real, tail)):
            care.settle(item, renamed, now)
            self._admit_newcomers(old, since, now)
            return
        newcomer = discovery.look(old) if status is not None else None
        if newcomer is not None and self._copies.goes_on_in(item, newcomer, fd):
            if tail.restored:
                tail.reading = new_reading()  # this may be a copied folder whose original goes on elsewhere
            care.settle(item, newcomer, now)
            return
        copy = self._locator.copied(tail, old) if tail.named else None
        if copy is not None and (fd is None or self._may_leave(tail, fd, copy)):
            care.settle(item, copy, now)
            self._admit_newcomers(old, since, now)
            return
        if fd is None and status is None and tail.restored:
            item.away_since = now if item.away_since is None else item.away_since
            care.away[item] = None
            if now - item.away_since < MISSING:
                return
        self._goes_away(item, fd, "replaced" if status is not None else "deleted", now)
        self._admit_newcomers(old, since, now)

    def _may_leave(self, tail: Tail, fd: int, copy: Found) -> bool:
        """Whether a copy has everything that the open handle could still give."""
        size = os.fstat(fd).st_size
        return copy.size >= size or not tail.intact(reading(fd), size)

    def _goes_away(self, item: Followed, fd: int | None, reason: str, now: float) -> None:
        care, tail = self._care, item.tail
        item.away_since, item.away_reason = now, reason
        care.leave(item, keep_inode=fd is not None)
        care.away[item] = None
        tail.real = None
        if fd is None:
            tail.inode = None
            care.lost(item, tail.size - tail.sent.offset, reason)
            tail.complete = True
            care.end(item, reason)
        care.schedule(item, now)

    def _look_away(self, item: Followed, now: float) -> None:
        """A file that no path leads to: read on through its handle, until it is over."""
        care, tail = self._care, item.tail
        fd = care.handles.held(item)
        if fd is None or tail.complete:
            return
        status = os.fstat(fd)
        care.grown(item, status.st_size, status.st_mtime_ns, now)
        away = now - (item.away_since if item.away_since is not None else now)
        if away > care.settings.files.deleted:
            care.lost(item, tail.size - tail.acked.offset, "deleted")
            log.error("%s: gone for %.0f s and not delivered: its last bytes are given up", item.place, away)
            care.drop(item, "given up")
            return
        quiet = AWAY if status.st_nlink == 0 else MOVED
        if not item.end_reason and now - item.last_change >= quiet and not tail.backlog():
            care.end(item, item.away_reason if status.st_nlink == 0 else "farewell")
