"""Following files through everything that happens to them: found, grown, renamed, copied, truncated, replaced, deleted.

`Follower` keeps one `Followed` a file and looks at each with `stat` when it is due; it never reads content for sending
(`pump` does) but compares content wherever a file might be another one. Rules, in the words of `identity`:

- the same inode at its path, not smaller, the bytes before the offset unchanged: the same file;
- smaller or changed: its content is searched in a copy (copytruncate), which the old tail then follows; the path begins a
  new generation. Where no copy is found and the file is just smaller, it gets `SETTLE` seconds to come back: a metrics file
  that is rewritten whole at each save is the same file as long as its old rows are;
- another inode at its path: the file is followed to where the inode went (rename); if it is gone, and the newcomer
  begins with the same bytes, the newcomer is the same file (`os.replace`, a folder copied, a volume mounted again);
- nothing at its path: as above, else it is read to its end through the open handle.

A new file whose name says that it was made of a followed one (`x.log.1`), or that appears while a file is away, and whose
content is equal so far, is a copy: it waits until it differs, or until its original is gone and it takes its place.
"""

from __future__ import annotations

import dataclasses
import heapq
import itertools
import logging
import os
import pathlib
import secrets
from collections.abc import Callable

from producers.shipper import discovery, identity, locate
from producers.shipper.checkpoint import Saved, revive, store_name
from producers.shipper.discovery import Found, Pattern
from producers.shipper.folders import StateFolder
from producers.shipper.followed import Followed
from producers.shipper.handles import Handles, fitting
from producers.shipper.register import Register
from producers.shipper.settings import Settings
from producers.shipper.tail import Changed, Tail
from runtime.errors import TemporaryError
from runtime.metrics import Metrics

log = logging.getLogger("trainwire-shipper.follow")

SCAN = 0.5  # s between looks for new files: "found within a second"
IDLE = 0.9  # s between looks at a file that has not changed for long
SETTLE = 1.0  # s in which a file that shrank may come back with its old content
AWAY = 2.0  # s without growth after which a deleted file has no writer any more …
MOVED = 60.0  # … and one that was moved out of sight
MISSING = 5.0  # s in which a file of the checkpoint may be found
COPY = 10.0  # s in which a new file with a weak likeness in name waits for its content to differ
TICK = 0.05  # s for which a modification time may stand still
TROUBLE = 5.0  # s between tries at a file that cannot be opened or read


class Follower:
    """Every file in our care. Not thread-safe."""

    def __init__(
        self,
        settings: Settings,
        metrics: Metrics,
        *,
        wall: Callable[[], float],
        write: Callable[..., None] | None = None,
    ) -> None:
        self.settings = settings
        self.metrics = metrics
        self._wall = wall
        self._write = write
        files = settings.files
        self.patterns = tuple(Pattern.parse(text) for text in files.logs)
        self._name = store_name(files.logs, settings.task.task_id, settings.task.task_from and settings.task.task_from.pattern)
        self.folders: dict[str, StateFolder] = {}
        self.all: dict[Followed, None] = {}
        self.active: dict[Followed, None] = {}  # with bytes to read, in order of service
        self._inodes: dict[tuple[int, int], Followed] = {}
        self._places: dict[str, Followed] = {}
        self._known: dict[tuple[int, int], Found] = {}  # of the last scan
        self._links: dict[str, str] = {}  # real path → the symbolic link that led to it
        self.unsaved: set[Followed] = set()  # with an id that no checkpoint holds yet
        self.ending: dict[Followed, None] = {}  # those with an end reason
        self._heap: list[tuple[float, int, Followed]] = []
        self._order = itertools.count()
        self._refused: dict[str, str] = {}  # path → why it is not followed, said once
        self.register = Register()
        limit = fitting(files.max_open)
        if limit < files.max_open:
            log.warning("holding at most %d log files open, because this process may open no more (ulimit -n)", limit)
        self.handles = Handles(limit, self._busy)
        self._next_scan = 0.0
        self.dirty = False

    # What the loop calls

    def look(self, now: float) -> None:
        """Scan for new files and look at every file that is due."""
        if now >= self._next_scan:
            self._restore_all(now)
            self._look_due(now)  # first see where known files went; what is left is new
            self._scan(now)
        self._look_due(now)

    def look_again(self, now: float) -> None:
        """Look at everything at once, whenever it would have been due."""
        self._next_scan = now
        for item in self.all:
            self.schedule(item, now)
        self.look(now)

    def due(self) -> float:
        return min(self._next_scan, self._heap[0][0] if self._heap else self._next_scan)

    def close(self) -> None:
        """Let go of handles and locks. Nothing is saved here."""
        self.handles.close_all()
        for folder in self.folders.values():
            folder.close()

    def read(self, item: Followed) -> identity.Read | None:
        """A function that reads the file; None when its path leads to another file now. Raises `OSError`."""
        fd = self._handle(item)
        if fd is None:
            return None
        return lambda offset, length: os.pread(fd, length, offset)

    def name(self, item: Followed, first_line: bytes) -> None:
        """Fix the file id: the first whole line is known."""
        tail = item.tail
        tail.ref, tail.key, is_uuid = identity.name_file(tail.ref, first_line)
        tail.generation = self.register.give(tail.key, is_uuid=is_uuid)
        if not is_uuid:  # a number that only the checkpoint knows must be in it before it is used
            self.unsaved.add(item)
        tail.ref = dataclasses.replace(tail.ref, file_id=identity.file_id(tail.key, tail.generation))
        self.dirty = True

    def is_copy(self, item: Followed, now: float) -> bool:
        """Whether a file without an id yet has the content of another one, so far, and must wait."""
        folder, name = os.path.split(item.place)
        read = self.read(item)
        original, likely = None, False
        if read is not None and item.tail.size:
            original, likely = self._original(item, folder, name, read)
        if original is None:
            item.held_by = item.held_since = None
            return False
        if item.held_since is None:
            item.held_since = now
            log.info("%s has the same content as %s so far: taken for a copy, not read", item.place, original)
        return likely or now - item.held_since < COPY

    def begin_again(self, item: Followed, reason: str, now: float) -> None:
        """The file at the path is another one now: its old content goes on in a copy, or is over."""
        tail = item.tail
        real, inode = tail.real, tail.inode
        if real is None or inode is None:  # read through a handle only: nobody else stands there
            tail.complete = True
            self.end(item, "truncated")
            return
        self.handles.close(item)
        since = tail.mtime
        if not tail.named:
            fresh = Tail(tail.ref, real, inode, self.settings.files.container, _reading())
            item.tail = fresh
            item.shrunk_since = None
        else:
            self.metrics.inc("shipper_generations_total", reason=reason)
            copy = locate.copied(tail, self._known, self._is_claimed, self.settings.files.exclude)
            self._leave(item)
            if copy is not None:
                self._settle_in(item, copy, now)
                log.info("%s was %s; its old content goes on in %s", real, reason, copy.real)
            else:
                self._lost(item, tail.size - tail.sent.offset, "truncated")
                log.info("%s was %s: followed from its start as a new generation", real, reason)
                tail.real = tail.inode = None
                tail.complete = True
                self.end(item, "truncated")
            self.dirty = True
        self._newcomers(real, since, now)

    def end(self, item: Followed, reason: str) -> None:
        """Nothing will follow: `pump` delivers what is left and says so."""
        item.end_reason = reason
        self.ending.setdefault(item)

    def trouble(self, item: Followed, error: Exception, now: float) -> None:
        """A file that cannot be opened or read: said once, counted, tried again; others go on."""
        item.tail.error = f"{type(error).__name__}: {error}"
        if item.told_error != item.tail.error:
            item.told_error = item.tail.error
            self.metrics.inc("shipper_file_errors_total", reason=type(error).__name__)
            log.error("%s cannot be read (%s); it is tried again, other files go on", item.place, error)
        self.active.pop(item, None)
        self.schedule(item, now + TROUBLE)

    def give_up(self, item: Followed, reason: str, *, remember: bool = True) -> None:
        """Forget a file that is over."""
        self._leave(item)
        self.handles.close(item)
        self.active.pop(item, None)
        self.ending.pop(item, None)
        self.all.pop(item, None)
        self.unsaved.discard(item)
        item.dropped = True
        if item.tail.named:
            self.register.release(item.tail.key, item.tail.generation, int(self._wall()), remember=remember)
        self.dirty = True
        log.debug("%s: %s", item.place, reason)

    def schedule(self, item: Followed, due: float) -> None:
        item.due = due
        heapq.heappush(self._heap, (due, next(self._order), item))

    # Finding

    def _scan(self, now: float) -> None:
        found = discovery.scan(self.patterns, self.settings.files.exclude)
        self._known = {item.inode: item for item in found}
        self._links = {item.real: item.path for item in found if item.real != item.path}
        for item in found:
            owner = self._inodes.get(item.inode)
            if owner is None and item.real not in self._places:
                self._admit(item, now)
            elif owner is None:  # another file stands at a known place: see where the one that we know went
                self.schedule(self._places[item.real], now)
            elif owner.tail.real is None:  # it had been moved out of sight
                self._settle_in(owner, item, now)
        paths = {item.path for item in found}
        self._refused = {path: why for path, why in self._refused.items() if path in paths}
        self.metrics.set("shipper_files", len(self.all))
        self.metrics.set("shipper_open_files", len(self.handles))
        self._next_scan = now + SCAN

    def _admit(self, found: Found, now: float) -> None:
        path = identity.first_path(self._links.get(found.real, found.path))
        ref = identity.owner(self.settings.task, path)
        if ref is None:
            self._refuse(found.path, "no-task", "TRAINWIRE_TASK_FROM finds no task id in its path; it is left alone")
            return
        folder = self._folder(found.real)
        if folder is None:
            return
        release = folder.take(found.real, found.inode)
        if release is None:
            self._refuse(found.path, "owned", "another shipper owns it; it is left to that one")
            return
        self._refused.pop(found.path, None)
        tail = Tail(ref, found.real, found.inode, self.settings.files.container, _reading())
        item = Followed(tail, folder, release, found.real, last_change=now)
        self.all[item] = None
        self._inodes[found.inode] = item
        self._places[found.real] = item
        self._grown(item, found.size, found.mtime, now)
        self.schedule(item, now + self.settings.files.poll)
        try:
            self._handle(item)  # held from now on, so that it can be read to its end even if it is deleted at once
        except (OSError, TemporaryError) as error:
            self.trouble(item, error, now)

    def _refuse(self, path: str, reason: str, why: str) -> None:
        if self._refused.get(path) != why:
            self._refused[path] = why
            self.metrics.inc("shipper_file_errors_total", reason=reason)
            log.warning("%s: %s", path, why)

    def _restore_all(self, now: float) -> None:
        """Open the state folders of patterns whose base exists by now, and take up what their checkpoints say."""
        for pattern in self.patterns:
            base = self.settings.files.state_dir or os.path.join(pattern.base, ".trainwire")
            if base in self.folders and self.folders[base].owned:
                continue
            if not self.settings.files.state_dir and not os.path.isdir(pattern.base):
                continue
            folder = self.folders.setdefault(base, StateFolder(pathlib.Path(base), self._name, self._write))
            saved = folder.open()
            if saved is not None:
                self._restore(folder, saved, now)

    def _restore(self, folder: StateFolder, saved: Saved, now: float) -> None:
        for key, value in saved.gone.items():
            self.register.gone[key] = value
        rest = []
        for entry in saved.entries:
            self.register.restore(entry.key, entry.generation)
            item = Followed(revive(entry), folder, None, entry.real, last_change=now)
            self.all[item] = None
            self.schedule(item, now)
            rest.append(item)
        # Those that are where they were come first, then renamed ones, so that nobody takes them for a copy of another file.
        rest = [item for item in rest if not self._found_again(item, item.place, now)]
        rest = [item for item in rest if not self._found_again(item, locate.renamed(item.tail, self._known), now)]
        for item in rest:
            found = discovery.look(item.place)
            if found is not None and found.inode == item.tail.inode and found.inode not in self._inodes:
                self._inodes[found.inode] = item  # it was rewritten or truncated meanwhile: its next look will tell
                self._places[item.place] = item
                item.release = folder.take(found.real, found.inode)

    def _found_again(self, item: Followed, place: str | None, now: float) -> bool:
        """Take a restored file up at `place`, if it is there unchanged."""
        found = discovery.look(place) if place is not None else None
        if found is None or found.inode != item.tail.inode or found.inode in self._inodes:
            return False
        if not locate.holds(found.real, item.tail):
            return False
        item.tail.restored = False
        self._settle_in(item, found, now)
        return True

    def _folder(self, real: str) -> StateFolder | None:
        """The state folder for a file: the setting's, or that of the longest base above it; None while not ours."""
        fixed = self.settings.files.state_dir
        best = max(
            (base for base in self.folders if fixed or real.startswith(os.path.dirname(base).rstrip("/") + "/")),
            key=len,
            default=next(iter(self.folders), None),
        )
        return self.folders[best] if best is not None and self.folders[best].owned else None

    # Looking at one file

    def _look_due(self, now: float) -> None:
        while self._heap and self._heap[0][0] <= now:
            due, _, item = heapq.heappop(self._heap)
            if item.due == due and not item.dropped:
                item.due = now + IDLE
                try:
                    self._look(item, now)
                except (OSError, TemporaryError) as error:
                    self.trouble(item, error, now)
                else:
                    if item.due == now + IDLE:
                        self.schedule(item, now + self._interval(item, now))

    def _interval(self, item: Followed, now: float) -> float:
        poll = self.settings.files.poll
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
        if status is None or (status.st_dev, status.st_ino) != tail.inode or self._inodes.get(tail.inode, item) is not item:
            self._moved(item, status, now)
        elif status.st_size < max(tail.sent.offset, tail.head.length) and not tail.complete:
            self._shrunk(item, status.st_size, now)
        else:
            item.away_since = None
            if item.shrunk_since is not None or tail.restored or self._written(tail, status.st_mtime_ns):
                self._check(item, now)
            if item.tail is tail and tail.inode == (status.st_dev, status.st_ino):
                self._grown(item, status.st_size, status.st_mtime_ns, now)

    def _written(self, tail: Tail, mtime: int) -> bool:
        """Whether the file may have been written to since the last look. A time stamp stands still for a tick (4 ms and more):
        one that was young then says nothing about what came after the look within the same tick."""
        return mtime != tail.mtime or mtime / 1e9 > self._wall() - TICK

    def _check(self, item: Followed, now: float) -> None:
        """Something was written: verify that the bytes before the offset are the same."""
        tail = item.tail
        read = self.read(item)
        if read is None:
            return
        try:
            if not tail.complete:
                tail.verify(read)
        except Changed:
            self.begin_again(item, "rewritten", now)
        else:
            tail.restored = False
            item.shrunk_since = None
            self._no_trouble(item)

    def _grown(self, item: Followed, size: int, mtime: int, now: float) -> None:
        tail = item.tail
        if size != tail.size or mtime != tail.mtime:
            item.last_change = now
            if size != tail.size:
                tail.stalled = None
        tail.size, tail.mtime = size, mtime
        if tail.backlog():
            self.active.setdefault(item)

    def _shrunk(self, item: Followed, size: int, now: float) -> None:
        tail = item.tail
        self.active.pop(item, None)
        if item.shrunk_since is None:
            item.shrunk_since = now
        late = now - item.shrunk_since >= SETTLE
        if not tail.named or late or self._surely_other(item, size) or self._has_copy(tail):
            self.begin_again(item, "truncated", now)
        else:
            self.schedule(item, now + self.settings.files.poll)

    def _surely_other(self, item: Followed, size: int) -> bool:
        """Whether the shrunk file's first bytes cannot be those of the old content."""
        read = self.read(item) if size >= item.tail.head.length else None
        return read is not None and item.tail.head.grown(read(0, item.tail.head.length)) is None

    def _has_copy(self, tail: Tail) -> bool:
        return locate.copied(tail, self._known, self._is_claimed, self.settings.files.exclude) is not None

    def _moved(self, item: Followed, status: os.stat_result | None, now: float) -> None:
        """Another file, or none, stands at the path."""
        tail = item.tail
        old, since = tail.real, tail.mtime
        assert old is not None  # noqa: S101  # the caller looked there
        place = locate.renamed(tail, self._known) if tail.inode is not None else None
        fd = self.handles.held(item)  # while it is open, its inode cannot have been given to another file
        if place is not None and (fd is not None or not tail.head.length or locate.holds(place, tail)):
            found = discovery.look(place)
            if found is not None:
                self._settle_in(item, found, now)
                self._newcomers(old, since, now)
                return
        copy = locate.copied(tail, self._known, self._is_claimed, self.settings.files.exclude) if tail.named else None
        newcomer = discovery.look(old) if status is not None else None
        if newcomer is not None and self._same_again(item, newcomer, fd):
            if tail.restored:
                tail.reading = _reading()  # this may be a copied folder whose original goes on elsewhere
            self._settle_in(item, newcomer, now)
            return
        if copy is not None and (fd is None or copy.size >= os.fstat(fd).st_size or not self._is_intact(item, fd)):
            self._settle_in(item, copy, now)
            self._newcomers(old, since, now)
            return
        if fd is None and status is None and tail.restored:
            item.away_since = now if item.away_since is None else item.away_since
            if now - item.away_since < MISSING:
                return
        item.away_since = now
        item.away_reason = "replaced" if status is not None else "deleted"
        self._leave(item, keep_inode=fd is not None)
        tail.real = None
        if fd is None:
            tail.inode = None
            self._lost(item, tail.size - tail.sent.offset, item.away_reason)
            tail.complete = True
            self.end(item, item.away_reason)
        self.schedule(item, now)
        self._newcomers(old, since, now)

    def _look_away(self, item: Followed, now: float) -> None:
        """A file that no path leads to: read on through its handle, until it is over."""
        tail = item.tail
        fd = self.handles.held(item)
        if fd is None or tail.complete:
            return
        status = os.fstat(fd)
        self._grown(item, status.st_size, status.st_mtime_ns, now)
        away = now - (item.away_since or now)
        if away > self.settings.files.deleted:
            self._lost(item, tail.size - tail.acked.offset, "deleted")
            log.error("%s: gone for %.0f s and not delivered: its last bytes are given up", item.place, away)
            self.give_up(item, "given up")
            return
        quiet = AWAY if status.st_nlink == 0 else MOVED
        if not item.end_reason and now - item.last_change >= quiet and not tail.backlog():
            self.end(item, item.away_reason if status.st_nlink == 0 else "farewell")

    def ended_away(self, item: Followed, now: float) -> None:
        """All of a deleted file is read and acknowledged: a copy of it may stand somewhere (a move between volumes)."""
        tail = item.tail
        copy = None
        for other in self.all:
            read = self.read(other) if other.held_by is item and other.tail.size else None
            if read is not None and self._equal_so_far(item, read, other.tail.size):
                self._inherit(item, other, now)
                return
        if tail.named and tail.head.length:
            tail.real = item.place
            copy = locate.copied(tail, self._known, self._is_claimed, self.settings.files.exclude)
            tail.real = None
        if copy is None:
            self.give_up(item, f"ended: {item.end_reason}")
            return
        self.handles.close(item)
        self._leave(item)
        self._settle_in(item, copy, now)

    def _inherit(self, item: Followed, other: Followed, now: float) -> None:
        """`other` waited as a copy of `item`, which is over: it goes on with what was read of that."""
        old, tail = other.tail, item.tail
        tail.real, tail.inode = old.real, old.inode
        tail.size, tail.mtime, tail.stalled = old.size, old.mtime, None
        tail.complete = tail.sent.offset > old.size
        other.tail, other.held_by, other.held_since = tail, None, None
        self.handles.close(item)
        self.active.pop(item, None)
        self.ending.pop(item, None)
        self.all.pop(item, None)
        item.dropped = self.dirty = True
        self.schedule(other, now)

    # Places

    def _newcomers(self, real: str, since: int, now: float) -> None:
        """What stands at `real` now that its file has left, and what stood there in between."""
        self._adopt_rotated(real, since, now)
        found = discovery.look(real)
        if (
            found is not None
            and found.inode not in self._inodes
            and not discovery.excluded(found.path, self.settings.files.exclude)
        ):
            self._admit(found, now)

    def _adopt_rotated(self, real: str, since: int, now: float) -> None:
        """Files that stood at `real` between two looks and were rotated away: written to after `since`, followed by nobody."""
        for found in locate.rotated(real, self.settings.files.exclude):
            if found.mtime >= since and found.inode not in self._inodes and found.real not in self._places:
                self._admit(found, now)

    def _settle_in(self, item: Followed, found: Found, now: float) -> None:
        """The file stands at `found` now. A claim of a file without an id on it is dropped."""
        same_content = found.inode != item.tail.inode
        other = self._inodes.get(found.inode)
        if other is not None and other is not item and not other.tail.named:
            self.give_up(other, "the place of a followed file", remember=False)
        self._leave(item, keep_handle=item.tail.inode == found.inode)
        tail = item.tail
        item.release = item.folder.take(found.real, found.inode)
        tail.real, tail.inode, item.place = found.real, found.inode, found.real
        tail.size, tail.mtime, tail.stalled = found.size, found.mtime, None
        item.away_since = item.shrunk_since = None
        item.away_reason = item.end_reason = ""
        tail.complete = same_content and tail.sent.offset > found.size  # a copy that lacks the last bytes, which we have
        self._inodes[found.inode] = item
        self._places[found.real] = item
        self.ending.pop(item, None)
        self.dirty = True
        if tail.backlog():
            self.active.setdefault(item)
        self.schedule(item, now)

    def _leave(self, item: Followed, *, keep_handle: bool = True, keep_inode: bool = False) -> None:
        tail = item.tail
        if self._places.get(item.place) is item:
            del self._places[item.place]
        if not keep_handle:
            self.handles.close(item)
        if tail.inode is not None and not keep_inode:
            if self._inodes.get(tail.inode) is item:
                del self._inodes[tail.inode]
            if item.release is not None:
                item.release()
                item.release = None

    def _is_intact(self, item: Followed, fd: int) -> bool:
        return item.tail.intact(lambda offset, length: os.pread(fd, length, offset), os.fstat(fd).st_size)

    def _is_claimed(self, inode: tuple[int, int]) -> bool:
        other = self._inodes.get(inode)
        return other is not None and other.tail.named and not other.tail.restored

    def _same_again(self, item: Followed, newcomer: Found, fd: int | None) -> bool:
        """Whether the newcomer is the old file's content, gone on: then nothing of the old one is lost by going over."""
        tail = item.tail
        if self._is_claimed(newcomer.inode) or newcomer.size < tail.sent.offset:
            return False
        if tail.named and not locate.holds(newcomer.real, tail):
            return False
        if fd is None:
            return tail.named
        try:
            read, size, handle = locate.reader(newcomer.real)
        except OSError:
            return False
        try:
            offset, end = tail.sent.offset, os.fstat(fd).st_size
            if size < end:
                return False
            while offset < end:
                ours = os.pread(fd, min(1 << 20, end - offset), offset)
                if not ours or ours != read(offset, len(ours)):
                    return False
                offset += len(ours)
        finally:
            os.close(handle)
        return True

    def _original(self, item: Followed, folder: str, name: str, read: identity.Read) -> tuple[str | None, bool]:
        """(path of what `item` is a copy of so far, whether that is likely); None where it is no copy."""
        size = item.tail.size
        away = [other for other in self.all if other.away_since is not None and other.tail.named]
        for other in ([item.held_by] if item.held_by is not None and not item.held_by.dropped else []) + away:
            if other is not item and self._equal_so_far(other, read, size):
                item.held_by = other
                return other.place, True
        for base in identity.bases(name):
            place = os.path.join(folder, base)
            beside = self._places.get(place)
            if beside is item:
                continue
            if beside is not None and beside.tail.matches(read, size):
                item.held_by = beside
                return place, name.startswith(base)
            if locate.begins_with(place, read, size):
                return place, name.startswith(base)
        return None, False

    def _equal_so_far(self, original: Followed, read: identity.Read, size: int) -> bool:
        """Whether a file's content is in `original` too, as far as it can still be seen there."""
        if original.tail.matches(read, size):
            return True
        fd = self.handles.held(original)
        return fd is not None and locate.equal(
            lambda offset, length: os.pread(fd, length, offset), os.fstat(fd).st_size, read, size
        )

    # Small things

    def _handle(self, item: Followed) -> int | None:
        tail = item.tail
        held = self.handles.held(item)
        if tail.real is None or tail.inode is None:
            return held
        return self.handles.get(item, tail.real, tail.inode)

    def _busy(self, key: object) -> int:
        assert isinstance(key, Followed)  # noqa: S101  # handles are opened for nothing else
        if key.tail.real is None and not key.tail.complete:
            return 2
        return 1 if key.tail.backlog() else 0

    def _lost(self, item: Followed, count: int, reason: str) -> None:
        if count > 0 and not item.tail.complete:
            self.metrics.inc("shipper_lost_bytes_total", count, reason=reason)
            log.error("%s: %d bytes were gone before they could be read (%s)", item.place, count, reason)

    def _no_trouble(self, item: Followed) -> None:
        if item.told_error:
            log.info("%s can be read again", item.place)
        item.told_error = item.tail.error = ""


def _reading() -> str:
    """A random id of one pass over a file: the only random thing here, and it names no content."""
    return secrets.token_hex(8)
