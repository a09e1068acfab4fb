"""The events on the topic: CloudEvents 1.0, Kafka protocol binding, binary mode. Key = task id.

A delta's value is the log file's own bytes; everything said about them is in headers. `schemas/examples/events` holds
golden examples of each type and version; tests decode every one.
"""

from __future__ import annotations

import dataclasses
import datetime
import json
from collections.abc import Iterable
from typing import Any

from schemas.framing import CONTAINERS, Container
from schemas.topic import TASK_ID_RULE, is_task_id

DELTA = "dev.trainwire.delta.v1"
FILE_END = "dev.trainwire.file-end.v1"
HEARTBEAT = "dev.trainwire.heartbeat.v1"

Headers = list[tuple[str, bytes]]

# Why a file's reading ended. The first row is a known end: nothing will follow, so its tail without "\n" was a line.
KNOWN_ENDS = ("end-record", "shutdown", "container-ended", "replaced", "truncated", "deleted")
OTHER_ENDS = ("farewell", "damaged")  # the shipper leaves while the writer may live; bytes that cannot be read on


class Undecodable(Exception):
    """A message that is no event of ours. `reason` is a word for counting, the text says what was wrong."""

    def __init__(self, reason: str, message: str) -> None:
        super().__init__(message)
        self.reason = reason


@dataclasses.dataclass(frozen=True, slots=True)
class FileRef:
    """Which file of which start of which rank of which task."""

    task: str
    file_id: str
    path: str  # as the task sees it
    start_id: str = ""
    attempt: int | None = None  # 1-based, where the environment has one
    rank: int = 0
    world_size: int | None = None
    name: str = ""  # people's own name of the task


@dataclasses.dataclass(frozen=True, slots=True)
class Delta:
    """Bytes [start, end) of a file, cut by `schemas.framing`."""

    file: FileRef
    start: int
    end: int
    reading: str  # id of the shipper's pass over the file
    crc_start: int  # zlib.crc32 of all bytes of the file before `start` …
    crc_end: int  # … and before `end`
    time: int  # milliseconds since the epoch: when the shipper read them
    value: bytes
    container: Container = "plain"
    continuation: str = ""  # as `schemas.framing.Cut`
    elided: bool = False  # value holds only the header of one record over the limit
    source: str = ""  # which shipper
    token: str = ""  # reserved: proof of who may write to the task
    patterns: tuple[str, ...] = ()  # the task's own, by its operator's setting: `schemas.patterns`


@dataclasses.dataclass(frozen=True, slots=True)
class FileEnd:
    """A file will not grow any more, or its shipper leaves. `tail` holds bytes behind the last line of a farewell."""

    file: FileRef
    reading: str
    offset: int  # everything before it was sent
    size: int  # of the file, as last seen
    reason: str
    time: int
    tail: bytes = b""
    source: str = ""
    token: str = ""

    @property
    def known(self) -> bool:
        return self.reason in KNOWN_ENDS


@dataclasses.dataclass(frozen=True, slots=True)
class FileState:
    """One file as its shipper sees it now."""

    file: FileRef
    reading: str
    size: int
    offset: int  # acknowledged by the broker
    open_line: str = ""  # newest visible segment of a line without "\n"
    error: str = ""


@dataclasses.dataclass(frozen=True, slots=True)
class Heartbeat:
    """A shipper lives, and this is how far it is with a task's files."""

    task: str
    source: str
    host: str
    time: int
    interval: int  # milliseconds until the next one is due
    files: tuple[FileState, ...] = ()
    token: str = ""


Event = Delta | FileEnd | Heartbeat


def encode(event: Event) -> tuple[bytes, bytes, Headers]:
    """The Kafka message of an event: (key, value, headers)."""
    if isinstance(event, Heartbeat):
        headers = _headers(HEARTBEAT, f"{event.source}:{event.time}", "", event.time, event.source, event.token)
        headers += [("content-type", b"application/json"), ("ce_task", event.task.encode())]
        files = [_file_state(state) for state in event.files]
        body = {"host": event.host, "interval": event.interval, "files": files}
        return event.task.encode(), json.dumps(body, ensure_ascii=False, separators=(",", ":")).encode(), headers
    file = event.file
    if isinstance(event, Delta):
        headers = _headers(DELTA, f"{file.file_id}:{event.start}-{event.end}", file.path, event.time, event.source, event.token)
        extra: dict[str, Any] = {
            "start": event.start,
            "end": event.end,
            "crcstart": event.crc_start,
            "crcend": event.crc_end,
            "container": event.container,
            "continuation": event.continuation,
            "elided": "1" if event.elided else "",
            "patterns": json.dumps(event.patterns, ensure_ascii=False) if event.patterns else "",
        }
        value = event.value
    else:
        headers = _headers(FILE_END, f"{file.file_id}:end-{event.offset}", file.path, event.time, event.source, event.token)
        extra = {"offset": event.offset, "size": event.size, "reason": event.reason}
        value = event.tail
    extra |= {
        "task": file.task,
        "fileid": file.file_id,
        "reading": event.reading,
        "startid": file.start_id,
        "attempt": file.attempt,
        "rank": file.rank,
        "worldsize": file.world_size,
        "taskname": file.name,
    }
    headers.append(("content-type", b"application/octet-stream"))
    headers += [(f"ce_{name}", _bytes(str(v))) for name, v in extra.items() if v is not None and v != ""]
    return file.task.encode(), value, headers


def decode(key: bytes | None, value: bytes | None, headers: Iterable[tuple[str, bytes]] | dict[str, bytes]) -> Event:
    """The event of a Kafka message. Raises `Undecodable`, never anything else, for whatever bytes."""
    try:
        return _decode(key, value, dict(headers))
    except Undecodable:
        raise
    except (ValueError, TypeError, KeyError, AttributeError, OverflowError, RecursionError) as error:
        raise Undecodable("malformed", f"{type(error).__name__}: {str(error)[:200]}") from None


def _decode(key: bytes | None, value: bytes | None, raw: dict[str, bytes]) -> Event:
    kind = raw.get("ce_type", b"").decode("utf-8", "replace")
    if not kind:
        raise Undecodable("no-type", "no ce_type header: not a CloudEvent in binary mode")
    if kind not in (DELTA, FILE_END, HEARTBEAT):
        known = kind.rpartition(".")[0] in (DELTA[:-3], FILE_END[:-3], HEARTBEAT[:-3])
        raise Undecodable("unknown-version" if known else "unknown-type", f"ce_type {kind[:100]!r} is not known to this worker")
    text = {name: data.decode("utf-8") for name, data in raw.items()}
    task = text.get("ce_task", "")
    if not is_task_id(task):
        raise Undecodable("bad-task", f"task id {task[:140]!r} is not allowed: {TASK_ID_RULE}")
    if key != task.encode():
        raise Undecodable("wrong-key", f"message key {(key or b'')[:140]!r} is not the task id {task!r}")
    if value is None:
        raise Undecodable("no-value", "a message without a value (a tombstone) says nothing")
    time, source, token = (
        _time(text["ce_time"]),
        text.get("ce_source", "").removeprefix("/shipper/"),
        text.get("ce_tasktoken", ""),
    )
    if kind == HEARTBEAT:
        body = json.loads(value)
        files = tuple(_read_file_state(task, item) for item in body["files"])
        return Heartbeat(task, source, str(body["host"]), time, int(body["interval"]), files, token)
    file = FileRef(
        task=task,
        file_id=_nonempty(text, "ce_fileid"),
        path=text.get("ce_subject", ""),
        start_id=text.get("ce_startid", ""),
        attempt=_natural(text, "ce_attempt"),
        rank=_natural(text, "ce_rank") or 0,
        world_size=_natural(text, "ce_worldsize"),
        name=text.get("ce_taskname", ""),
    )
    reading = _nonempty(text, "ce_reading")
    if kind == FILE_END:
        reason = _nonempty(text, "ce_reason")
        return FileEnd(
            file, reading, _required(text, "ce_offset"), _required(text, "ce_size"), reason, time, value, source, token
        )
    container = text.get("ce_container", "plain")
    if container not in CONTAINERS:
        raise Undecodable("unknown-container", f"container {container[:40]!r} is not known to this worker")
    delta = Delta(
        file=file,
        start=_required(text, "ce_start"),
        end=_required(text, "ce_end"),
        reading=reading,
        crc_start=_required(text, "ce_crcstart"),
        crc_end=_required(text, "ce_crcend"),
        time=time,
        value=value,
        container=container,
        continuation=text.get("ce_continuation", ""),
        elided=text.get("ce_elided") == "1",
        source=source,
        token=token,
        patterns=_texts(text, "ce_patterns"),
    )
    if delta.end <= delta.start or (not delta.elided and delta.end - delta.start != len(value)):
        raise Undecodable("wrong-length", f"bytes {delta.start} to {delta.end} were announced, {len(value)} came")
    return delta


def _headers(kind: str, identity: str, subject: str, time: int, source: str, token: str) -> Headers:
    stamp = datetime.datetime.fromtimestamp(time / 1000, datetime.UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    headers = [
        ("ce_specversion", b"1.0"),
        ("ce_type", kind.encode()),
        ("ce_source", _bytes(f"/shipper/{source}")),
        ("ce_id", _bytes(identity)),
        ("ce_time", stamp.encode()),
    ]
    if subject:
        headers.append(("ce_subject", _bytes(subject)))
    if token:
        headers.append(("ce_tasktoken", _bytes(token)))
    return headers


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "replace")  # a path may hold bytes that are no UTF-8, as lone surrogates


def _time(text: str) -> int:
    moment = datetime.datetime.fromisoformat(text)
    if moment.tzinfo is None:
        raise Undecodable("malformed", f"ce_time {text!r} has no zone")
    return round(moment.timestamp() * 1000)


def _nonempty(text: dict[str, str], name: str) -> str:
    if not text.get(name):
        raise Undecodable("malformed", f"header {name} is missing")
    return text[name]


def _natural(text: dict[str, str], name: str) -> int | None:
    raw = text.get(name, "")
    if raw == "":
        return None
    if not (raw.isascii() and raw.isdigit()) or int(raw) >= 2**63:
        raise Undecodable("malformed", f"header {name}={raw[:40]!r} is not a whole number below 2^63")
    return int(raw)


def _texts(text: dict[str, str], name: str) -> tuple[str, ...]:
    found = json.loads(text.get(name) or "[]")
    if not isinstance(found, list) or not all(isinstance(item, str) for item in found):
        raise Undecodable("malformed", f"header {name}={text[name][:40]!r} is not a JSON list of texts")
    "".join(found).encode()  # JSON can write halves of characters, which no column takes
    return tuple(found)


def _required(text: dict[str, str], name: str) -> int:
    number = _natural(text, name)
    if number is None:
        raise Undecodable("malformed", f"header {name} is missing")
    return number


def _file_state(state: FileState) -> dict[str, Any]:
    file = state.file
    out = {
        "file_id": file.file_id,
        "path": _bytes(file.path).decode(),
        "start_id": file.start_id,
        "attempt": file.attempt,
        "rank": file.rank,
        "world_size": file.world_size,
        "name": file.name,
        "reading": state.reading,
        "size": state.size,
        "offset": state.offset,
        "open_line": state.open_line,
        "error": state.error,
    }
    return {name: v for name, v in out.items() if v not in (None, "")}


def _read_file_state(task: str, item: dict[str, Any]) -> FileState:
    file = FileRef(
        task,
        str(item["file_id"]),
        str(item["path"]),
        str(item.get("start_id", "")),
        None if item.get("attempt") is None else int(item["attempt"]),
        int(item.get("rank", 0)),
        None if item.get("world_size") is None else int(item["world_size"]),
        str(item.get("name", "")),
    )
    reading, open_line, error = (str(item.get(name, "")) for name in ("reading", "open_line", "error"))
    return FileState(file, reading, int(item["size"]), int(item["offset"]), open_line, error)
