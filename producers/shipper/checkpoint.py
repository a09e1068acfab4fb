"""The checkpoint: how far the broker has acknowledged each file, in a folder on the log's own volume.

`.trainwire/<name>.json`, where `name` stands for what a shipper follows (globs, task), so that its successor finds it
whatever it is called, and two shippers of one folder do not overwrite each other. Written to a temporary file, fsynced,
renamed; never updated in place. Form (version 1)::

    {"version": 1, "files": [{…Entry…}], "gone": {"<key>": [generation, seconds since the epoch]}, "sum": crc32 of both}

A file that cannot be understood is set aside beside it and treated as lost: the files are read again from byte 0, and the
worker drops what it has.
"""

from __future__ import annotations

import contextlib
import dataclasses
import hashlib
import json
import logging
import os
import pathlib
import zlib
from collections.abc import Callable, Iterable
from typing import Any

from producers.shipper.identity import Head, Position
from producers.shipper.tail import Tail
from schemas.events import FileRef
from schemas.framing import CONTAINERS

VERSION = 1
FOLDER = ".trainwire"
log = logging.getLogger("trainwire-shipper.checkpoint")


@dataclasses.dataclass(frozen=True, slots=True)
class Entry:
    """One file: who it is, where it was, and how far it is delivered."""

    ref: FileRef
    key: str
    generation: int
    real: str
    inode: tuple[int, int]
    reading: str
    container: str
    head: Head
    position: Position
    size: int
    mtime: int
    complete: bool


@dataclasses.dataclass(slots=True)
class Saved:
    """What a checkpoint file holds. `gone`: keys of files that are no more → (highest generation, when; seconds)."""

    entries: list[Entry] = dataclasses.field(default_factory=list)
    gone: dict[str, tuple[int, int]] = dataclasses.field(default_factory=dict)


def entry(tail: Tail, place: str) -> Entry | None:
    """The checkpoint entry of a file last seen at `place`; None while it has no id.

    A file that no path leads to has one too: its content may turn up in a copy, and its id must not be given again.
    """
    if not tail.named or tail.container is None:
        return None
    position = tail.acked
    if tail.complete:  # a copy that ends before what was read: known again by the last mark inside it
        position = next((m for m in (tail.acked, *reversed(tail.marks)) if m.offset <= tail.size), tail.acked)
    return Entry(
        tail.ref,
        tail.key,
        tail.generation,
        place,
        tail.inode or (0, 0),
        tail.reading,
        tail.container,
        tail.head,
        position,
        tail.size,
        tail.mtime,
        tail.complete,
    )


def revive(saved: Entry) -> Tail:
    """The tail that an entry speaks of, as if it had just been read up to there."""
    tail = Tail(saved.ref, saved.real, saved.inode, _container(saved.container), saved.reading)
    tail.key, tail.generation = saved.key, saved.generation
    tail.head = saved.head
    tail.sent = tail.acked = saved.position
    tail.size, tail.mtime = saved.size, saved.mtime
    tail.complete = saved.complete
    tail.restored = True
    return tail


class Store:
    """The checkpoint file of one folder. `write` is a seam: tests inject a full disk."""

    def __init__(self, folder: pathlib.Path, name: str, write: Callable[[pathlib.Path, bytes], None] | None = None) -> None:
        self.folder = folder
        self.path = folder / f"{name}.json"
        self._write = write or write_file
        self._last: bytes | None = None

    def load(self) -> Saved:
        """What was saved; empty where nothing was, or where it cannot be understood."""
        return self._read(self.path, set_aside=True)

    def others(self) -> Iterable[Saved]:
        """What shippers of other files saved in the same folder."""
        for path in sorted(self.folder.glob("*.json")):
            if path != self.path:
                yield self._read(path, set_aside=False)

    def save(self, saved: Saved) -> bool:
        """Write if something changed; False if nothing had. Raises `OSError`."""
        data = encode(saved)
        if data == self._last:
            return False
        self._write(self.path, data)
        self._last = data
        return True

    def _read(self, path: pathlib.Path, *, set_aside: bool) -> Saved:
        try:
            data = path.read_bytes()
        except FileNotFoundError:
            return Saved()
        except OSError as error:
            log.error("checkpoint %s cannot be read (%s): files are read again from their start", path, error)
            return Saved()
        try:
            return decode(data)
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            if set_aside:
                aside = path.with_name(f"{path.name}.damaged-{zlib.crc32(data):08x}")
                with contextlib.suppress(OSError):  # it is only kept for people to look at
                    path.rename(aside)
                log.error(
                    "checkpoint %s is damaged (%s), set aside as %s: files are read again from their start", path, error, aside
                )
            return Saved()


def store_name(*parts: object) -> str:
    """A file name for the checkpoint of a shipper that follows what `parts` say."""
    return "checkpoint-" + hashlib.blake2b(repr(parts).encode("utf-8", "surrogateescape"), digest_size=6).hexdigest()


def encode(saved: Saved) -> bytes:
    files = [_entry_to_json(item) for item in saved.entries]
    gone = {key: list(value) for key, value in sorted(saved.gone.items())}
    body = json.dumps({"version": VERSION, "files": files, "gone": gone, "sum": _sum(files, gone)}, separators=(",", ":"))
    return body.encode() + b"\n"


def decode(data: bytes) -> Saved:
    """Raises `ValueError`, `KeyError` or `TypeError` for anything but an intact checkpoint of this version."""
    body = json.loads(data)
    if body["version"] != VERSION:
        raise ValueError(f"version {body['version']!r}, this program knows {VERSION}")
    if body["sum"] != _sum(body["files"], body["gone"]):
        raise ValueError("the checksum does not fit")
    return Saved(
        [_entry_from_json(item) for item in body["files"]], {key: (int(g), int(t)) for key, (g, t) in body["gone"].items()}
    )


def write_file(path: pathlib.Path, data: bytes) -> None:
    """Replace `path` by `data`, so that a crash at any moment leaves the old or the new whole."""
    temporary = path.with_name(f"{path.name}.tmp")
    try:
        with temporary.open("wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        temporary.rename(path)
    except OSError:
        with contextlib.suppress(OSError):  # leave the space to others; the error itself is the caller's
            temporary.unlink()
        raise
    folder = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


def _sum(files: list[Any], gone: dict[str, Any]) -> int:
    return zlib.crc32(json.dumps([files, gone], separators=(",", ":")).encode())


def _container(text: str) -> Any:
    if text not in CONTAINERS:
        raise ValueError(f"container {text!r}")
    return text


def _entry_to_json(item: Entry) -> dict[str, Any]:
    # By hand: dataclasses.asdict takes ten times as long, and a save of thousands of files must not hold up the reading.
    return _fields(item) | {"ref": _fields(item.ref), "head": _fields(item.head), "position": _fields(item.position)}


def _fields(item: Any) -> dict[str, Any]:
    return {name: getattr(item, name) for name in item.__slots__}


def _entry_from_json(item: dict[str, Any]) -> Entry:
    return Entry(
        **{
            **item,
            "ref": FileRef(**item["ref"]),
            "inode": (int(item["inode"][0]), int(item["inode"][1])),
            "container": _container(item["container"]),
            "head": Head(**item["head"]),
            "position": Position(**item["position"]),
        }
    )
