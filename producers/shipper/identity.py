"""Which file is this? Content says it; path and inode only say where to look.

Every log of one codebase begins with the same bytes, inodes are used again within milliseconds, and rotation moves
content to other names. So a file is the same as long as the bytes before the offset that we read up to are the same:
a `Position` holds a hash of the 4 KiB before it, a `Head` one of the file's first 4 KiB.

**File id.** The uuid of the header record, where the SDK or `trainwire run` wrote one. Else a hash of task, start, rank,
first path and first line, fixed when the first whole line is there, and a generation. Nothing in it is random: a lost
checkpoint leads to the same id again, and then the worker finds equal bytes at equal offsets and drops them.

**Generation.** Counts the files with an equal hash: the same start of the same rank began again, at the same path, with the
same first line. A first line with a time in it therefore always has generation 0, which needs no memory. For the others
the number comes from the checkpoint; without one, files with equal hashes are counted from the oldest (modification
time), which gives the same numbers as long as the oldest of them still exists. Where it does not, an id is used twice
for different bytes; the worker sees that (equal offsets, other checksum) and stores the newcomer as `<id>~<reading>`.

**First path.** The path at which a file was first seen, without a rotation suffix (`.1`, `-20260131`) where the file that it
was rotated from stands beside it: so a lost checkpoint does not make another file of one that was rotated long ago.

The limit: with the checkpoint lost, a file without a header that was renamed in the same outage to a name that is no rotation of
a file beside it is another file. An id that only the checkpoint knows is saved before it is first used.

**Header uuids** get a generation only when the very file was seen truncated and begun again with the same uuid. A copy of
such a file that goes on elsewhere keeps the id under its own reading: the common part is stored once.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
import os
import re
from collections.abc import Callable

from producers.shipper.settings import TaskSettings
from schemas.events import FileRef
from schemas.topic import is_task_id

SPAN = 4096
Inode = tuple[int, int]  # (st_dev, st_ino)
Read = Callable[[int, int], bytes]  # (offset, length) → bytes, fewer at the end of the file

_UUID = re.compile(r"[0-9A-Za-z][0-9A-Za-z._-]{7,63}", re.ASCII)
_ROTATED = re.compile(r"(?P<base>.+?)[.\-_](?:\d{1,4}|\d{8}(?:[-_T]?\d{1,10})?|\d{4}-\d\d-\d\d(?:[-_T.:0-9]*)|\d{10})")
HEADER_PREFIX = b'{"tw":"header"'
END_PREFIX = b'{"tw":"end"'


def digest(data: bytes) -> str:
    return hashlib.blake2b(data, digest_size=12).hexdigest()


@dataclasses.dataclass(frozen=True, slots=True)
class Position:
    """A place in a file's content: everything that is needed to go on from there, and to know the content again."""

    offset: int = 0
    crc: int = 0  # zlib.crc32 of all bytes before it
    before: str = ""  # digest of the up to 4 KiB before it
    continuation: str = ""  # as `schemas.framing.Cut`


@dataclasses.dataclass(frozen=True, slots=True)
class Head:
    """The first bytes of a file, at most 4 KiB."""

    length: int = 0
    digest: str = ""

    def grown(self, data: bytes) -> Head | None:
        """This head with what `data` (the file's first bytes, now) adds to it; None when the file has changed."""
        if len(data) < self.length or (self.length and digest(data[: self.length]) != self.digest):
            return None
        return self if len(data) == self.length else Head(len(data), digest(data))


def same(head: Head, position: Position, read: Read, size: int) -> bool:
    """Whether a file of `size` bytes has the content that was read up to `position`. An empty past is no proof."""
    if size < max(position.offset, head.length) or not head.length:
        return False
    if head.grown(read(0, head.length)) is None:
        return False
    start = max(0, position.offset - SPAN)
    return not position.offset or digest(read(start, position.offset - start)) == position.before


@dataclasses.dataclass(frozen=True, slots=True)
class Header:
    """What a header record says about its file. Never the task: that is the operator's to say."""

    uuid: str
    start: str
    attempt: int | None
    rank: int | None
    world: int | None


def header(line: bytes) -> Header | None:
    """The header record in a file's first line; None where there is none that can be used."""
    if not line.startswith(HEADER_PREFIX):
        return None
    try:
        record = json.loads(line)
        uuid = record["uuid"]
    except (ValueError, KeyError, RecursionError):
        return None
    if not isinstance(uuid, str) or not _UUID.fullmatch(uuid):
        return None
    start = record.get("start")
    return Header(
        uuid,
        start[:256] if isinstance(start, str) else "",
        _natural(record.get("attempt")),
        _natural(record.get("rank")),
        _natural(record.get("world")),
    )


def _natural(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**31 else None


def owner(settings: TaskSettings, path: str) -> FileRef | None:
    """Task, rank and attempt of the file at `path`, without a file id yet; None when no task can be told from the path."""
    task, rank, attempt = settings.task_id, settings.rank, settings.attempt
    if settings.task_from is not None and (match := settings.task_from.search(path)):
        found = match.groupdict()
        task = task or found["task"] or ""
        if found.get("rank") is not None and found["rank"].isdigit():
            rank = int(found["rank"])
        if found.get("attempt") is not None and found["attempt"].isdigit():
            attempt = int(found["attempt"])
    if not is_task_id(task):
        return None
    return FileRef(task, "", path, settings.start_id, attempt, rank, settings.world_size, settings.name)


def name_file(ref: FileRef, first_line: bytes) -> tuple[FileRef, str, bool]:
    """Complete `ref` by the file's first line: (ref without file id, key of the id, whether the key is a header's uuid)."""
    record = header(first_line)
    if record is not None:
        named = dataclasses.replace(
            ref,
            start_id=record.start or ref.start_id,
            attempt=ref.attempt if record.attempt is None else record.attempt,
            rank=ref.rank if record.rank is None else record.rank,
            world_size=ref.world_size if record.world is None else record.world,
        )
        return named, record.uuid, True
    parts = (ref.task, ref.start_id, str(ref.rank), ref.path)
    hashed = hashlib.blake2b(digest_size=15)
    for part in (*(text.encode("utf-8", "surrogateescape") for text in parts), first_line):
        hashed.update(len(part).to_bytes(8, "little") + part)
    return ref, f"h-{hashed.hexdigest()}", False


def file_id(key: str, generation: int) -> str:
    return f"{key}.g{generation}" if generation else key


def unrotated(name: str) -> str:
    """A file's name without its rotation suffix, where it has one."""
    match = _ROTATED.fullmatch(name)
    return match["base"] if match is not None else name


def first_path(path: str) -> str:
    """`path` without its rotation suffix, where the file that it was rotated from stands beside it."""
    folder, name = os.path.split(path)
    base = os.path.join(folder, unrotated(name))
    return base if os.path.isfile(base) else path


def bases(name: str) -> list[str]:
    """The names that a file of this name could have been made of, by rotation or as a copy; likely ones first.

    `x.log.1` may come from `x.log` (or `x`), `x-20260131.log` from `x.log`.
    """
    out = [name[:at] for at in range(len(name) - 1, 0, -1) if name[at] in ".-_~"]
    stem, extension = os.path.splitext(name)
    match = _ROTATED.fullmatch(stem) if extension else None
    if match is not None:
        out.append(match["base"] + extension)
    return out


def derived(name: str, original: str) -> bool:
    """Whether a file of this name could have been made of `original`."""
    return original in bases(name)
