r"""How the bytes of a log file become deltas, and how a delta becomes lines. One rule, used at both ends.

The shipper asks `next_delta` where the next delta ends; the worker asks `frame` for the lines in it. Both look at the
bytes alone, so that a file is cut into the same lines however and how often it is read.

- Only ``\n`` ends a line. A line is named by the byte offset of its first byte.
- A line longer than `LINE_LIMIT` is cut there, at the last ``\r`` within the limit where it has one. The rest goes on
  as further lines marked as continuation: stored and counted, never read for points.
- Of several ``\r`` segments the last visible one is the line's text: what a terminal would show in the end.
- Container ``cri`` (the log format of containerd and CRI-O: ``TIME STREAM P|F TEXT``): parts marked P are joined, a
  stream at a time, up to the part marked F; the joined line is named by the offset of its last part.
- Container ``tfevents`` (TFRecord: u64 length, u32 CRC, data, u32 CRC): a record takes the place of a line.
"""

from __future__ import annotations

import dataclasses
import datetime
import itertools
import re
import struct
from typing import Literal

Container = Literal["plain", "cri", "tfevents"]
CONTAINERS: tuple[Container, ...] = ("plain", "cri", "tfevents")

DELTA_LIMIT = 128 * 1024  # a delta ends at the last line end within it, or holds exactly one longer line
LINE_LIMIT = 256 * 1024  # without the "\n"
RECORD_LIMIT = 1024 * 1024  # a longer TFRecord travels as its 12 bytes of header alone
RECORD_HEADER = 12
RECORD_OVERHEAD = 16

# A segment is visible when something is left after white space and terminal control sequences (ECMA-48 CSI, OSC).
_INVISIBLE = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|[@-Z\\-_])|[\s\x00]")
_CRI = re.compile(rb"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(\.\d{1,9})?(Z|[+-]\d\d:\d\d) (stdout|stderr) ([PF])(?::\S*)? ?")


@dataclasses.dataclass(slots=True)
class Lines:
    """The lines of one delta, in columns of equal length, in file order."""

    offsets: list[int]  # byte offset of the line's first byte in its file
    ends: list[int]  # byte offset behind the line's last byte, its "\n" included
    texts: list[str]  # decoded, wrong bytes as U+FFFD, last visible "\r" segment, no "\n"
    continuations: set[int] = dataclasses.field(default_factory=set)  # indexes of lines that continue a cut one
    streams: list[str] | None = None  # "stdout" or "stderr", where the container says
    times: list[int | None] | None = None  # milliseconds since the epoch, UTC, where the container says
    records: list[bytes] | None = None  # container tfevents: whole records; their texts are empty


@dataclasses.dataclass(frozen=True, slots=True)
class Cut:
    """Where a delta ends, and what its successor has to know."""

    length: int  # bytes of the buffer that belong to the delta
    continuation: str  # of the NEXT delta: "" | "1" (plain) | open streams, comma separated (cri)
    elided: bool = False  # a record over `RECORD_LIMIT`: `length` goes beyond the buffer, only its header is sent


def visible(line: str) -> str:
    r"""The last segment between ``\r`` that a terminal would leave to see; "" where there is none."""
    for segment in reversed(line.split("\r")):
        if segment and _INVISIBLE.sub("", segment):
            return segment
    return ""


def next_delta(buffer: bytes, container: Container, *, continuation: str = "", final: bool = False) -> Cut | None:
    r"""Where the delta at the buffer's start ends; None when more bytes are needed to know.

    `final`: nothing will follow, so a tail without ``\n`` is a line. Whether a record's checksums are right is not asked
    here: the shipper looks at lengths, the extraction at data.
    """
    if not buffer:
        return None
    if container == "tfevents":
        return _next_records(buffer)
    if container == "cri":
        return _next_cri(buffer, continuation, final)
    end = buffer.rfind(b"\n", 0, DELTA_LIMIT) + 1
    if end:
        return Cut(end, "")
    end = buffer.find(b"\n", DELTA_LIMIT, LINE_LIMIT + 1) + 1
    if end:
        return Cut(end, "")
    if len(buffer) > LINE_LIMIT:
        return Cut(buffer.rfind(b"\r", 0, LINE_LIMIT) + 1 or LINE_LIMIT, "1")
    return Cut(len(buffer), "") if final else None


def frame(block: bytes, start: int, container: Container = "plain", *, continuation: str = "") -> Lines:
    """The lines of a delta whose first byte is at offset `start` of its file."""
    if container == "tfevents":
        return _frame_records(block, start)
    if container == "cri":
        return _frame_cri(block, start, continuation)
    pieces = block.split(b"\n")
    texts = block.decode("utf-8", "replace").split("\n")
    if not pieces[-1]:
        pieces.pop()
        texts.pop()
    # An offset is the sum of the lengths before it, each with its "\n"; the last line may have none.
    bounds = list(itertools.accumulate((len(piece) + 1 for piece in pieces), initial=start))
    offsets, ends = bounds[:-1], bounds[1:]
    if ends:
        ends[-1] = start + len(block)
    if b"\r" in block:
        texts = [visible(text) if "\r" in text else text for text in texts]
    if start == 0 and texts and texts[0].startswith("\ufeff"):
        texts[0] = texts[0][1:]
    return Lines(offsets, ends, texts, {0} if continuation and pieces else set())


def open_segment(tail: bytes) -> str:
    r"""The newest visible ``\r`` segment of a line that has no ``\n`` yet, as heartbeats carry it; at most 1,024 characters."""
    return visible(tail[-8192:].decode("utf-8", "replace"))[:1024]


def _next_cri(buffer: bytes, continuation: str, final: bool) -> Cut | None:
    open_streams: set[bytes] = set(continuation.encode().split(b",")) - {b""}
    position = closed = 0  # `closed`: the last place where no stream had an open part
    while True:
        end = buffer.find(b"\n", position) + 1
        if not end:
            break
        if end > DELTA_LIMIT and closed:
            return Cut(closed, "")
        if end > LINE_LIMIT and position:  # parts that nobody closes: let go what is there
            return Cut(position, _names(open_streams))
        part = _CRI.match(buffer, position)
        if part:
            (open_streams.add if part[5] == b"P" else open_streams.discard)(part[4])
        position = end
        if not open_streams:
            closed = position
    if closed:
        return Cut(closed, "")
    if final:
        return Cut(len(buffer), _names(open_streams))
    if len(buffer) > 2 * LINE_LIMIT:  # one physical line without end: not CRI any more, but never a reason to stop
        return Cut(position or LINE_LIMIT, _names(open_streams))
    return None


def _frame_cri(block: bytes, start: int, continuation: str) -> Lines:
    rows: list[tuple[int, int, str, bool, str, int | None]] = []  # the columns of Lines, a row at a time
    parts: dict[str, list[bytes]] = {}
    last: dict[str, tuple[int, int, int | None]] = {}
    continued = set(continuation.split(",")) - {""}

    def close(stream: str, offset: int, end: int, time: int | None) -> None:
        text = b"".join(parts.pop(stream)).decode("utf-8", "replace")
        rows.append((offset, end, visible(text) if "\r" in text else text, stream in continued, stream, time))
        continued.discard(stream)

    position = 0
    while position < len(block):
        end = block.find(b"\n", position) + 1 or len(block)
        body_end = end - 1 if block[end - 1 : end] == b"\n" else end
        part = _CRI.match(block, position, body_end)
        if part is None:  # a line that the runtime did not write: kept as it is
            parts[""] = [block[position:body_end]]
            close("", start + position, start + end, None)
        else:
            stream = part[4].decode()
            parts.setdefault(stream, []).append(block[part.end() : body_end])
            last[stream] = (start + position, start + end, _cri_time(part))
            if part[5] == b"F":
                close(stream, *last.pop(stream))
        position = end
    for stream in list(last):  # parts whose F is not in this delta
        close(stream, *last[stream])
    rows.sort()
    return Lines(
        offsets=[row[0] for row in rows],
        ends=[row[1] for row in rows],
        texts=[row[2] for row in rows],
        continuations={i for i, row in enumerate(rows) if row[3]},
        streams=[row[4] for row in rows],
        times=[row[5] for row in rows],
    )


def _cri_time(part: re.Match[bytes]) -> int | None:
    try:
        seconds = datetime.datetime.fromisoformat((part[1] + part[3]).decode()).timestamp()
    except ValueError:
        return None
    return int(seconds) * 1000 + int((part[2] or b".0")[1:4].ljust(3, b"0"))


def _names(streams: set[bytes]) -> str:
    return ",".join(sorted(stream.decode() for stream in streams))


def _next_records(buffer: bytes) -> Cut | None:
    position = 0
    while len(buffer) - position >= RECORD_HEADER:
        (length,) = struct.unpack_from("<Q", buffer, position)
        size = length + RECORD_OVERHEAD
        if length > RECORD_LIMIT:
            return Cut(position, "") if position else Cut(size, "", elided=True)
        if position and position + size > DELTA_LIMIT:
            break
        if position + size > len(buffer):
            break
        position += size
    return Cut(position, "") if position else None


def _frame_records(block: bytes, start: int) -> Lines:
    records: list[bytes] = []
    lines = Lines([], [], [], records=records)
    position = 0
    while position < len(block):
        size = len(block) - position
        if size >= RECORD_HEADER:
            size = min(size, struct.unpack_from("<Q", block, position)[0] + RECORD_OVERHEAD)
        lines.offsets.append(start + position)
        position += size
        lines.ends.append(start + position)
        lines.texts.append("")
        records.append(block[position - size : position])
    return lines
