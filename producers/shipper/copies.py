"""Is this file a copy of another one? A copy is not read twice: it waits until it differs, or takes its original's place.

Looked at are files without an id whose name says that rotation or a person made them of another one (`x.log.1`, `x.log.bak`),
and any file that appears while one with the same content is away (a move between volumes is a copy and a deletion).
Equal means: as far as the first and last 4 KiB of what there is tell.

The limit: a rotated file that no shipper has read before, and that equals the present file byte for byte as long as both
stand there, is taken for its copy, although another start may have written it.
"""

from __future__ import annotations

import logging
import os

from producers.shipper import discovery, identity, locate
from producers.shipper.care import Care
from producers.shipper.discovery import Found
from producers.shipper.followed import Followed
from producers.shipper.identity import Read
from runtime.errors import TemporaryError

log = logging.getLogger("trainwire-shipper.copies")

WAIT = 10.0  # s in which a file with a weak likeness in name (`x-1.log` to `x.log`) waits for its content to differ


class Copies:
    """Answers for `pump` and `follow`; remembers in `Followed.held_by` and `held_since`."""

    def __init__(self, care: Care) -> None:
        self._care = care

    def must_wait(self, item: Followed, now: float) -> bool:
        """Whether a file without an id has the content of another one so far, and must wait.

        Raises `OSError`, `TemporaryError`, as reading does.
        """
        read = self._care.read(item)
        original, likely = None, False
        if read is not None and item.tail.size:
            original, likely = self._original(item, read)
        if original is None:
            item.held_by = item.held_since = None
            return False
        if item.held_since is None:
            item.held_since = now
            log.info("%s has the same content as %s so far: taken for a copy, not read", item.place, original)
        return likely or now - item.held_since < WAIT

    def heir(self, item: Followed) -> Followed | None:
        """A file that waits as a copy of `item`, and still is one."""
        for other in self._care.fresh:
            if other.held_by is item and other.tail.size:
                read = self._care.read(other)
                if read is not None and self._equal_so_far(item, read, other.tail.size):
                    return other
        return None

    def goes_on_in(self, item: Followed, newcomer: Found, fd: int | None) -> bool:
        """Whether the newcomer at a file's path is its content, gone on, so that nothing is lost by going over to it.

        `fd` is the handle on the old file, where it is open: then its unread rest is compared too.
        """
        tail = item.tail
        if self._care.is_claimed(newcomer.inode) or newcomer.size < tail.sent.offset:
            return False
        if tail.named and not locate.holds(newcomer.real, tail):
            return False
        if fd is None:
            return tail.named
        try:
            read, size, handle = locate.opened(newcomer.real)
        except OSError:  # gone again, or without rights
            return False
        try:
            offset, end = tail.sent.offset, os.fstat(fd).st_size
            while offset < end <= size:
                ours = os.pread(fd, min(1 << 20, end - offset), offset)
                if not ours or ours != read(offset, len(ours)):
                    return False
                offset += len(ours)
            return end <= size
        finally:
            os.close(handle)

    def _original(self, item: Followed, read: Read) -> tuple[str | None, bool]:
        """(path of what `item` is a copy of so far, whether that is likely); None where it is no copy."""
        size = item.tail.size
        before = [item.held_by] if item.held_by is not None and not item.held_by.dropped else []
        for other in (*before, *self._care.away):
            if other is not item and other.tail.named and self._equal_so_far(other, read, size):
                item.held_by = other
                return other.place, True
        folder, name = os.path.split(item.place)
        for base in identity.bases(name):
            place = os.path.join(folder, base)
            beside = self._care.places.get(place)
            if beside is item:
                continue
            if beside is not None and self._equal_so_far(beside, read, size):
                item.held_by = beside
                return place, name.startswith(base)
            if locate.begins_with(place, read, size):
                return place, name.startswith(base)
        return None, False

    def _equal_so_far(self, original: Followed, read: Read, size: int) -> bool:
        """Whether a file's content is in `original` too, as far as it can still be seen there.

        A file that holds all that was read of an original is its copy if that is away or has lost it since. While the
        original stands there unchanged, a longer file is no copy any more: somebody writes to it.
        """
        try:
            theirs = self._care.read(original)
        except (OSError, TemporaryError):  # it is away, or in trouble of its own: what was read of it must do
            theirs = None
        fd = self._care.handles.held(original)
        whole = os.fstat(fd).st_size if fd is not None else 0
        if theirs is not None and locate.equal(theirs, whole, read, size):
            return True
        there = discovery.look(original.place)  # it may have left a moment ago, and nobody has noticed yet
        stays = there is not None and there.inode == original.tail.inode and original not in self._care.away
        standing = theirs is not None and stays and original.tail.intact(theirs, whole)
        return not standing and original.tail.matches(read, size)
