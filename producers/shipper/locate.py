"""Where has a file's content gone? To another name (rename), or into a copy (copytruncate, a move between volumes)."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator

from producers.shipper.discovery import Found, excluded, look, siblings
from producers.shipper.identity import SPAN, Read, derived, unrotated
from producers.shipper.tail import Tail

Claimed = Callable[[tuple[int, int]], bool]


def reader(path: str) -> tuple[Read, int, int]:
    """(read function, size, handle) of the file at `path`; the caller closes the handle. Raises `OSError`."""
    fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    return (lambda offset, length: os.pread(fd, length, offset)), os.fstat(fd).st_size, fd


def holds(path: str, tail: Tail) -> bool:
    """Whether the file at `path` begins with what was read of `tail`."""
    try:
        read, size, fd = reader(path)
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


def begins_with(path: str, read: Read, size: int) -> bool:
    """Whether the file at `path` begins with the `size` bytes that `read` gives."""
    try:
        theirs, whole, fd = reader(path)
    except OSError:  # not there, or without rights: then it shows nothing
        return False
    try:
        return equal(theirs, whole, read, size)
    finally:
        os.close(fd)


def renamed(tail: Tail, known: dict[tuple[int, int], Found]) -> str | None:
    """The path at which the very file (inode) stands now: beside its old path, or anywhere a pattern matches."""
    assert tail.real is not None  # noqa: S101  # asked only for a file that had a place
    assert tail.inode is not None  # noqa: S101  # as above
    folder = os.path.dirname(tail.real)
    for name, number in siblings(tail.real):
        if number == tail.inode[1]:
            found = look(os.path.join(folder, name))
            if found is not None and found.inode == tail.inode and found.path != tail.real:
                return found.path
    other = known.get(tail.inode)
    if other is not None and other.real != tail.real:
        found = look(other.path)
        if found is not None and found.inode == tail.inode:
            return found.real
    return None


def copied(tail: Tail, known: dict[tuple[int, int], Found], claimed: Claimed, exclude: tuple[str, ...]) -> Found | None:
    """A file that nobody follows, and that holds what was read of `tail`: names that rotation makes come first.

    Files that no pattern matches count only with such a name: a folder may hold thousands of others.
    """
    assert tail.real is not None  # noqa: S101  # as above
    for found in _candidates(tail.real, known, exclude):
        if found.inode != tail.inode and not claimed(found.inode) and holds(found.real, tail):
            return found
    return None


def _candidates(real: str, known: dict[tuple[int, int], Found], exclude: tuple[str, ...]) -> Iterator[Found]:
    folder, name = os.path.split(real)
    for original in {name, unrotated(name)}:  # a copy of what is `x.log.1` by now may be `x.log.2`
        yield from sorted(rotated(os.path.join(folder, original), exclude), key=lambda found: -found.mtime)
    for found in known.values():
        fresh = look(found.path) if found.real != real else None
        if fresh is not None:
            yield fresh


def rotated(real: str, exclude: tuple[str, ...]) -> list[Found]:
    """The files beside `real` whose names look as if rotation had made them of it, the oldest first."""
    folder, original = os.path.split(real)
    out = []
    for name, _ in siblings(real):
        path = os.path.join(folder, name)
        if derived(name, original) and not excluded(path, exclude):
            found = look(path)
            if found is not None:
                out.append(found)
    return sorted(out, key=lambda found: (found.mtime, found.path))
