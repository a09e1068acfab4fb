"""Where has a file's content gone? To another name (rename), or into a copy (copytruncate, a move between volumes)."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator

from producers.shipper.care import Care, reading
from producers.shipper.discovery import Found, excluded, look, siblings
from producers.shipper.followed import Followed
from producers.shipper.identity import SPAN, Inode, Read, bases, unrotated
from producers.shipper.tail import Tail

FRESH = 200  # files without an id that are compared with each other: 40,000 names at most, in 40 ms
TICK = 50_000_000  # ns for which a folder's time stamp may stand still though names in it change


class Listing:
    """One folder's names, by inode number and by what rotation could have made them of."""

    def __init__(self, folder: str) -> None:
        self._folder, self._at, self._changed = folder, time.time_ns(), _changed(folder)
        self.by_number: dict[int, list[str]] = {}
        self.by_base: dict[str, list[str]] = {}
        for name, number in siblings(folder):
            self.by_number.setdefault(number, []).append(name)
            for base in bases(name):
                self.by_base.setdefault(base, []).append(name)

    @property
    def stands(self) -> bool:
        """Whether nothing was renamed in the folder since."""
        changed = _changed(self._folder)
        return changed == self._changed and changed < self._at - TICK


class Locator:
    """Searches in folders: one listing each, for all questions until something was renamed in it."""

    def __init__(self, care: Care) -> None:
        self._care = care
        self._exclude = care.settings.files.exclude
        self._listings: dict[str, Listing] = {}
        self.known: dict[Inode, Found] = {}  # every file that a pattern matched at the last scan

    def refresh(self) -> None:
        self._listings.clear()

    def renamed(self, tail: Tail, *, held: bool = False) -> Found | None:
        """The place where the very file (inode) stands now: beside its old path, or anywhere a pattern matches.

        Unless its handle is `held`, the number may have been given to another file: one with the content of what stands at
        the old path is a copy of that, not the file renamed.
        """
        if tail.inode is None or tail.real is None:
            return None
        folder = os.path.dirname(tail.real)
        paths = [os.path.join(folder, name) for name in self._listing(folder).by_number.get(tail.inode[1], [])]
        if tail.inode in self.known:
            paths.append(self.known[tail.inode].path)
        for path in paths:
            found = look(path)
            if found is not None and found.inode == tail.inode and found.real != tail.real:
                return None if not held and is_copy(found.real, tail.real) else found
        return None

    def copied(self, tail: Tail, real: str) -> Found | None:
        """A file that nobody follows, and that holds what was read of `tail`, last seen at `real`.

        Names that rotation makes come first; of the others, only those that a pattern matches.
        """
        for found in self._candidates(real):
            if found.inode != tail.inode and not self._care.is_claimed(found.inode) and holds(found.real, tail):
                return found
        return None

    def rotated(self, real: str) -> list[Found]:
        """The files beside `real` whose names look as if rotation had made them of it, the oldest first."""
        folder, original = os.path.split(real)
        paths = [os.path.join(folder, name) for name in self._listing(folder).by_base.get(original, [])]
        found = [item for path in paths if not excluded(path, self._exclude) and (item := look(path)) is not None]
        return sorted(found, key=lambda item: _age(item.mtime, item.path))

    def elders(self, item: Followed) -> list[Followed]:
        """Files without an id that began before this one at the same place; of very many new ones at once it is not asked."""
        if len(self._care.fresh) > FRESH:
            return []
        folder, name = os.path.split(item.place)
        own, found = _age(item.tail.mtime, item.place), []
        for other in self._care.fresh:
            there, known = os.path.split(other.place)
            if there == folder and unrotated(known) == unrotated(name) and _age(other.tail.mtime, other.place) < own:
                found.append(other)
        return found

    def _candidates(self, real: str) -> Iterator[Found]:
        folder, name = os.path.split(real)
        for original in {name, unrotated(name)}:  # a copy of what is `x.log.1` by now may be `x.log.2`
            yield from reversed(self.rotated(os.path.join(folder, original)))
        for item in list(self._care.fresh):  # whatever a pattern matches and nobody has begun to read
            found = look(item.place) if item.tail.real is not None else None
            if found is not None:
                yield found

    def _listing(self, folder: str) -> Listing:
        """Rotation goes on while it is looked at: of names that were listed before it, a file that left in between is none."""
        known = self._listings.get(folder)
        if known is None or not known.stands:
            known = self._listings[folder] = Listing(folder)
        return known


def _changed(folder: str) -> int:
    try:
        return os.stat(folder).st_mtime_ns
    except OSError:  # gone, or without rights: nothing is listed either
        return 0


def _age(mtime: int, path: str) -> tuple[int, int, str]:
    """Sorts rotated files by when they were last written; of `x.2` and `x.1` of one tick the former comes first."""
    number = path.rpartition(".")[2]
    return mtime, -int(number) if number.isdecimal() and len(number) < 6 else 0, path


def opened(path: str) -> tuple[Read, int, int]:
    """(read function, size, handle) of the file at `path`; the caller closes the handle. Raises `OSError`."""
    fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    return reading(fd), os.fstat(fd).st_size, fd


def holds(path: str, tail: Tail) -> bool:
    """Whether the file at `path` begins with what was read of `tail`."""
    try:
        read, size, fd = opened(path)
    except OSError:  # gone or without rights: then it cannot be read on there
        return False
    try:
        return tail.matches(read, size)
    finally:
        os.close(fd)


def equal(theirs: Read, whole: int, read: Read, size: int) -> bool:
    """Whether a file of `size` bytes begins one of `whole` bytes, as far as its first and last 4 KiB tell."""
    edge, first = max(0, size - SPAN), min(size, SPAN)
    return 0 < size <= whole and read(0, first) == theirs(0, first) and read(edge, size - edge) == theirs(edge, size - edge)


def is_copy(path: str, original: str) -> bool:
    """Whether one of two files is the beginning of the other, as far as can be told."""
    try:
        read, size, fd = opened(original)
    except OSError:  # nothing stands there
        return False
    try:
        _, whole, other = opened(path)
    except OSError:  # gone again
        return False
    else:
        common = min(size, whole)
        same_file = os.path.samestat(os.fstat(fd), os.fstat(other))
        os.close(other)
        return not same_file and begins_with(path, read, common)
    finally:
        os.close(fd)


def begins_with(path: str, read: Read, size: int) -> bool:
    """Whether the file at `path` begins with the `size` bytes that `read` gives."""
    try:
        theirs, whole, fd = opened(path)
    except OSError:  # not there, or without rights: then it shows nothing
        return False
    try:
        return equal(theirs, whole, read, size)
    finally:
        os.close(fd)
