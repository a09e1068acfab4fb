"""Finding log files: globs, expanded again and again.

There is no inotify here, on purpose: network file systems do not report, instances and watches run out, and queues
overflow; a reader built on it needs polling as well, and then has two ways to be wrong. One `scandir` for each folder
twice a second costs 1 ms for 1,000 files.
"""

from __future__ import annotations

import dataclasses
import fnmatch
import functools
import os
import re
import stat
from collections.abc import Callable, Iterator

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
    """A glob: the folder that it names without a wildcard, and the parts below; one may be `**`.

    A path that ends in `/`, or is a folder when it is parsed, stands for every file below it.
    """

    base: str
    parts: tuple[str, ...]

    @classmethod
    def parse(cls, text: str) -> Pattern:
        below = ["**", "*"] if text.endswith(os.sep) or os.path.isdir(text) else []
        parts = os.path.abspath(text).split(os.sep)[1:] + below
        fixed = 0
        while fixed < len(parts) - 1 and not _WILD.search(parts[fixed]):
            fixed += 1
        return cls(os.sep + os.sep.join(parts[:fixed]), tuple(parts[fixed:]))


@functools.lru_cache(maxsize=8)  # the settings hold one list, tests a few
def _excluding(patterns: tuple[str, ...]) -> tuple[re.Pattern[str], re.Pattern[str]]:
    """One expression for names and one for paths: asking each pattern costs 10 µs a file."""
    none = "(?!)"
    names = "|".join(fnmatch.translate(pattern) for pattern in patterns if "/" not in pattern)
    paths = "|".join(fnmatch.translate(pattern) for pattern in patterns if "/" in pattern)
    return re.compile(names or none), re.compile(paths or none)


def excluded(path: str, patterns: tuple[str, ...]) -> bool:
    names, paths = _excluding(patterns)
    return names.match(os.path.basename(path)) is not None or paths.match(path) is not None


def scan(
    patterns: tuple[Pattern, ...],
    exclude: tuple[str, ...],
    problems: dict[str, str],
    known: Callable[[str, int], bool] = lambda _real, _number: False,
) -> list[Found]:
    """Every regular file that a pattern matches, once each, the oldest first.

    `problems` takes folders that could not be read, and why. `known(real path, inode number)` says which files need no
    `stat`, because somebody looks at them anyway; they are left out. Of several paths to one file (links), the one that is
    no symbolic link is given, else the first by name.
    """
    found: dict[tuple[int, int], Found] = {}
    seen: set[str] = set()
    for pattern in patterns:
        for path, real, number in _walk(pattern.base, os.path.realpath(pattern.base), pattern.parts, problems):
            if path in seen or (real is not None and known(real, number)) or excluded(path, exclude):
                continue
            seen.add(path)
            item = look(path, real)
            if item is None:
                continue
            other = found.get(item.inode)
            if other is None or (item.path != item.real, item.path) < (other.path != other.real, other.path):
                found[item.inode] = item
    return sorted(found.values(), key=lambda item: (item.mtime, item.path))


def look(path: str, real: str | None = None) -> Found | None:
    """The file at `path`; None where none is, or something else than a regular file. `real`: if its real path is known."""
    try:
        status = os.stat(path)
    except OSError:  # gone since the folder was read, a link to nowhere, a folder without rights: seen again next time
        return None
    if not stat.S_ISREG(status.st_mode):
        return None
    return Found(path, real or os.path.realpath(path), (status.st_dev, status.st_ino), status.st_size, status.st_mtime_ns)


def siblings(folder: str) -> Iterator[tuple[str, int]]:
    """(name, inode number) of the files in a folder; nothing where it cannot be read."""
    try:
        with os.scandir(folder) as entries:
            for item in entries:
                if item.is_file(follow_symlinks=False):
                    yield item.name, item.inode()
    except OSError:
        return


def _walk(folder: str, real: str, parts: tuple[str, ...], problems: dict[str, str]) -> Iterator[tuple[str, str | None, int]]:
    """(path, real path or None where it is a link, inode number of the entry) of what the parts of a pattern match below."""
    part, rest = parts[0], parts[1:]
    if part == "**":
        if rest:
            yield from _walk(folder, real, rest, problems)
        for item, is_folder in _entries(folder, problems):
            if is_folder and not item.is_symlink() and item.name != FOLDER:  # like a shell's **: no links, so it ends
                yield from _walk(os.path.join(folder, item.name), os.path.join(real, item.name), parts, problems)
            elif not rest and not is_folder:
                yield _file(folder, real, item)
        return
    if not _WILD.search(part):
        path = os.path.join(folder, part)
        if rest:
            yield from _walk(path, os.path.realpath(path), rest, problems)
        elif os.path.isdir(path):
            problems[path] = (
                "it is a folder, which it was not at the start: write its path with a / at the end to follow its files"
            )
        elif os.path.lexists(path):
            yield path, None, 0
        return
    for item, is_folder in _entries(folder, problems):
        if not fnmatch.fnmatchcase(item.name, part) or (item.name.startswith(".") and not part.startswith(".")):
            continue
        if rest and is_folder:
            path = os.path.join(folder, item.name)
            below = os.path.realpath(path) if item.is_symlink() else os.path.join(real, item.name)
            yield from _walk(path, below, rest, problems)
        elif not rest and not is_folder:
            yield _file(folder, real, item)


def _file(folder: str, real: str, item: os.DirEntry[str]) -> tuple[str, str | None, int]:
    link = item.is_symlink()
    return os.path.join(folder, item.name), None if link else os.path.join(real, item.name), item.inode()


def _entries(folder: str, problems: dict[str, str]) -> list[tuple[os.DirEntry[str], bool]]:
    """(entry, whether it is a folder or a link to one) of everything in `folder`, by name."""
    try:
        with os.scandir(folder) as entries:
            return [(item, _is_folder(item, problems)) for item in sorted(entries, key=lambda item: item.name)]
    except (FileNotFoundError, NotADirectoryError):
        return []  # it may appear later
    except OSError as error:
        problems[folder] = f"the folder cannot be read ({error.strerror})"
        return []


def _is_folder(item: os.DirEntry[str], problems: dict[str, str]) -> bool:
    """Whether it is a folder or a link to one. A link in a circle or to a place without rights is its own fault only."""
    try:
        return item.is_dir()
    except OSError as error:
        problems[item.path] = f"it cannot be read ({error.strerror})"
        return False
