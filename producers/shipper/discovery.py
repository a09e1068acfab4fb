"""Finding log files: globs, expanded again and again.

There is no inotify here, on purpose: network file systems do not report, instances and watches run out, and queues
overflow; a reader built on it needs polling as well, and then has two ways to be wrong. One `scandir` for each folder
twice a second costs 1 ms for 1,000 files.
"""

from __future__ import annotations

import dataclasses
import fnmatch
import os
import re
import stat
from collections.abc import Iterator

from producers.shipper.checkpoint import FOLDER

_WILD = re.compile(r"[*?\[]")


@dataclasses.dataclass(frozen=True, slots=True)
class Found:
    """A file that a pattern matches. `real` differs from `path` where a symbolic link leads to it."""

    path: str
    real: str
    inode: tuple[int, int]
    size: int
    mtime: int  # nanoseconds


@dataclasses.dataclass(frozen=True)
class Pattern:
    """A glob: the folder that it names without a wildcard, and the parts below; one may be `**`."""

    base: str
    parts: tuple[str, ...]

    @classmethod
    def parse(cls, text: str) -> Pattern:
        parts = os.path.abspath(text).split(os.sep)[1:]
        fixed = 0
        while fixed < len(parts) - 1 and not _WILD.search(parts[fixed]):
            fixed += 1
        return cls(os.sep + os.sep.join(parts[:fixed]), tuple(parts[fixed:]))


def excluded(path: str, patterns: tuple[str, ...]) -> bool:
    name = os.path.basename(path)
    return any(fnmatch.fnmatchcase(path if "/" in pattern else name, pattern) for pattern in patterns)


def scan(patterns: tuple[Pattern, ...], exclude: tuple[str, ...], problems: dict[str, str]) -> list[Found]:
    """Every regular file that a pattern matches, once each, the oldest first.

    `problems` takes folders that could not be read, and why. Of several paths to one file (links), the one that is no
    symbolic link is given, else the first by name.
    """
    found: dict[tuple[int, int], Found] = {}
    seen: set[str] = set()
    for pattern in patterns:
        for path in _walk(pattern.base, pattern.parts, problems):
            if path in seen or excluded(path, exclude):
                continue
            seen.add(path)
            item = look(path)
            if item is None:
                continue
            other = found.get(item.inode)
            if other is None or (item.path != item.real, item.path) < (other.path != other.real, other.path):
                found[item.inode] = item
    return sorted(found.values(), key=lambda item: (item.mtime, item.path))


def look(path: str) -> Found | None:
    """The file at `path`; None where none is, or something else than a regular file."""
    try:
        status = os.stat(path)
    except OSError:  # gone since the folder was read, a link to nowhere, a folder without rights: seen again next time
        return None
    if not stat.S_ISREG(status.st_mode):
        return None
    return Found(path, os.path.realpath(path), (status.st_dev, status.st_ino), status.st_size, status.st_mtime_ns)


def siblings(folder: str) -> Iterator[tuple[str, int]]:
    """(name, inode number) of the files in a folder; nothing where it cannot be read."""
    try:
        with os.scandir(folder) as entries:
            for item in entries:
                if item.is_file(follow_symlinks=False):
                    yield item.name, item.inode()
    except OSError:
        return


def _walk(folder: str, parts: tuple[str, ...], problems: dict[str, str]) -> Iterator[str]:
    part, rest = parts[0], parts[1:]
    if part == "**":
        if rest:
            yield from _walk(folder, rest, problems)
        for name, is_folder, is_link in _entries(folder, problems):
            if is_folder and not is_link and name != FOLDER:  # like a shell's **: links are not followed, so it ends
                yield from _walk(os.path.join(folder, name), parts, problems)
            elif not rest and not is_folder:
                yield os.path.join(folder, name)
        return
    if not _WILD.search(part):
        path = os.path.join(folder, part)
        if rest:
            yield from _walk(path, rest, problems)
        elif os.path.lexists(path):
            yield path
        return
    for name, is_folder, _ in _entries(folder, problems):
        if not fnmatch.fnmatchcase(name, part) or (name.startswith(".") and not part.startswith(".")):
            continue
        if rest and is_folder:
            yield from _walk(os.path.join(folder, name), rest, problems)
        elif not rest and not is_folder:
            yield os.path.join(folder, name)


def _entries(folder: str, problems: dict[str, str]) -> list[tuple[str, bool, bool]]:
    """(name, is a folder or a link to one, is a link) of everything in `folder`."""
    try:
        with os.scandir(folder) as entries:
            return sorted((item.name, item.is_dir(), item.is_symlink()) for item in entries)
    except (FileNotFoundError, NotADirectoryError):
        return []  # it may appear later
    except OSError as error:
        problems[folder] = f"the folder cannot be read ({error.strerror})"
        return []
