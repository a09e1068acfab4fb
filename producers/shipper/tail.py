"""One log file being read: where we are, what is on its way, and the next delta.

A `Tail` owns no handle and knows no clock: bytes come from a `Read` function, times are arguments. `sent` is how far the
file was read and handed to the publisher, `acked` how far the broker has acknowledged without a gap; only `acked` goes
into the checkpoint. What lies between them stays in `pending`, in order, so that a failed send is repeated from there even
when the file has been truncated or deleted since (kafka-python fails batches in flight when its producer epoch changes).
"""

from __future__ import annotations

import collections
import dataclasses
import zlib

from producers.shipper import records
from producers.shipper.identity import END_PREFIX, SPAN, Head, Position, Read, digest, same
from producers.shipper.settings import ContainerSetting
from schemas.events import Delta, FileEnd, FileRef, FileState
from schemas.framing import DELTA_LIMIT, LINE_LIMIT, RECORD_HEADER, RECORD_LIMIT, Container, Cut, frame, next_delta, open_segment

# The most that `next_delta` may want to see before it knows where a delta ends.
LONGEST: dict[Container, int] = {"plain": LINE_LIMIT + 1, "cri": 2 * LINE_LIMIT + 1, "tfevents": RECORD_LIMIT + 16}
CHUNK = 1024 * 1024  # for the checksum of a record whose bytes are not sent
MARKS = 64  # at 128 KiB each: a copy that lacks up to the last 8 MiB is still known as a copy


class Changed(Exception):
    """The bytes before the offset are not those that were read: the file is another one now."""


@dataclasses.dataclass(eq=False, slots=True)
class Pending:
    """A delta that the broker has not acknowledged, or whose predecessor it has not."""

    delta: Delta
    after: Position
    lines: int
    outstanding: bool = False  # handed to the publisher, no result yet
    done: bool = False


class Tail:
    """The state of one file's reading; see the module's text."""

    def __init__(self, ref: FileRef, real: str, inode: tuple[int, int], container: ContainerSetting, reading: str) -> None:
        self.ref = ref  # without a file id until the first line is known
        self.key = ""  # of the file id, without the generation
        self.generation = 0
        self.real: str | None = real  # where to look; None: no path leads to it any more
        self.inode: tuple[int, int] | None = inode
        self.reading = reading
        self.container: Container | None = None if container == "auto" else container
        self.head = Head()
        self.sent = Position()
        self.acked = Position()
        self.marks: collections.deque[Position] = collections.deque(maxlen=MARKS)
        self.pending: collections.deque[Pending] = collections.deque()
        self.size = 0  # as last seen
        self.mtime = 0  # nanoseconds, as last seen
        self.stalled: int | None = None  # the size at which no further delta could be cut
        self.open_line = ""
        self.ends_with_end_record = False
        self.error = ""
        self.damaged = False  # the form of its bytes is broken: nothing behind them can be read
        self.complete = False  # nothing more can be read; waiting for acknowledgements
        self.restored = False  # comes from a checkpoint and has not been found since

    @property
    def named(self) -> bool:
        return bool(self.ref.file_id)

    @property
    def settled(self) -> bool:
        """Whether everything that was read has been acknowledged."""
        return not self.pending

    def backlog(self) -> int:
        """Bytes that could be read now, as far as is known."""
        if self.complete or self.damaged or self.size <= self.sent.offset or self.size == self.stalled:
            return 0
        return self.size - self.sent.offset

    def matches(self, read: Read, size: int) -> bool:
        """Whether another file of `size` bytes holds what was read of this one."""
        return any(same(self.head, mark, read, size) for mark in self._marks_within(size))

    def intact(self, read: Read, size: int) -> bool:
        """Whether its own file still holds what was read of it."""
        return same(self.head, self.sent, read, size)

    def _marks_within(self, size: int) -> list[Position]:
        """The latest known position that a file of `size` bytes could reach, if any."""
        for mark in (self.sent, *reversed(self.marks), self.acked):
            if mark.offset <= size:
                return [mark]
        return []

    def verify(self, read: Read) -> None:
        """Raise `Changed` unless the bytes before `sent` are still those that were read."""
        back = min(self.sent.offset, SPAN)
        if back and digest(read(self.sent.offset - back, back)) != self.sent.before:
            raise Changed
        self._verify_head(read)

    def _verify_head(self, read: Read) -> None:
        head = self.head.grown(read(0, SPAN))
        if head is None:
            raise Changed
        self.head = head

    def next(
        self, read: Read, *, final: bool, time: int, source: str, patterns: tuple[str, ...] = ()
    ) -> tuple[Pending, bytes] | None:
        """The next delta and its first line, not yet part of `sent`; None when no line is complete.

        `final`: no more bytes will come. Raises `Changed`, `ValueError` for a damaged container, `OSError`.
        """
        start = self.sent.offset
        back = min(start, SPAN)
        limit = DELTA_LIMIT
        while True:
            block = read(start - back, back + limit)
            if back and digest(block[:back]) != self.sent.before:
                raise Changed
            data = block[back:]
            if not data:
                break
            self._verify_head(read)
            container = self._container(data, final)
            cut = next_delta(data, container, continuation=self.sent.continuation, final=final and len(data) < limit)
            if container == "tfevents":
                cut = self._sound(data, cut)
            if cut is not None:
                break
            if len(data) < limit or limit == LONGEST[container]:
                break
            limit = LONGEST[container]
        if not data or cut is None:
            self.stalled = self.size
            self.open_line = open_segment(data) if data and container == "plain" else ""
            return None
        if cut.elided:
            after = self._skip(read, start, cut.length)
            if after is None:
                self.stalled = self.size
                return None
            value, lines = data[:RECORD_HEADER], 1
        else:
            value = data[: cut.length]
            edge = back + cut.length
            after = Position(
                start + cut.length,
                zlib.crc32(value, self.sent.crc),
                digest(block[max(0, edge - SPAN) : edge]),
                cut.continuation,
            )
            lines = _count(value, container)
        delta = Delta(
            file=self.ref,
            start=start,
            end=after.offset,
            reading=self.reading,
            crc_start=self.sent.crc,
            crc_end=after.crc,
            time=time,
            value=value,
            container=container,
            continuation=self.sent.continuation,
            elided=cut.elided,
            source=source,
            patterns=patterns,
        )
        self.container = container
        first_line = value if container == "tfevents" else value.partition(b"\n")[0]
        return Pending(delta, after, lines), first_line

    def accept(self, pending: Pending) -> None:
        """Take over what `next` gave: it is on its way now."""
        if pending.delta.file is not self.ref:
            pending.delta = dataclasses.replace(pending.delta, file=self.ref)
        self.pending.append(pending)
        self.sent = pending.after
        self.marks.append(pending.after)
        self.stalled = None
        self.open_line = ""
        self.ends_with_end_record = _ends(pending.delta.value)

    def recall(self, read: Read) -> None:
        """After a restart: look again at what the last acknowledged line says."""
        back = min(self.sent.offset, SPAN)
        self.ends_with_end_record = self.container == "plain" and _ends(read(self.sent.offset - back, back))

    def acknowledge(self) -> list[Pending]:
        """Move `acked` over what is done without a gap, and return that."""
        done = []
        while self.pending and self.pending[0].done:
            done.append(self.pending.popleft())
        if done:
            self.acked = done[-1].after
        return done

    def rest(self, read: Read) -> bytes:
        """The bytes behind the last line, as a farewell carries them."""
        return read(self.sent.offset, LINE_LIMIT) if not self.complete else b""

    def end(self, reason: str, time: int, source: str, tail: bytes = b"") -> FileEnd:
        return FileEnd(self.ref, self.reading, self.acked.offset, max(self.size, self.acked.offset), reason, time, tail, source)

    def state(self) -> FileState:
        return FileState(self.ref, self.reading, self.size, self.acked.offset, self.open_line, self.error)

    def _container(self, data: bytes, final: bool) -> Container:
        """The file's form, told from its name or its first line; not kept before that line is complete."""
        if self.container is not None:
            return self.container
        if "tfevents" in (self.real or self.ref.path).rpartition("/")[2]:
            return "tfevents"
        line, newline, _ = data[:LINE_LIMIT].partition(b"\n")
        if (newline or final) and frame(line, 0, "cri").streams != [""]:
            return "cri"
        return "plain"

    def _sound(self, data: bytes, cut: Cut | None) -> Cut | None:
        """`cut`, without what comes behind a damaged record; `ValueError` where the first one is damaged."""
        end = min(len(data), RECORD_HEADER) if cut is None or cut.elided else cut.length
        good = records.intact(data, end)
        if good == end:
            return cut
        if good == 0:
            raise ValueError("the length of the record there has a wrong checksum")
        return Cut(good, "")

    def _skip(self, read: Read, start: int, length: int) -> Position | None:
        """The position behind a record that is not sent; None while the file does not hold it whole."""
        if self.size < start + length:
            return None
        crc, offset, end = self.sent.crc, start, start + length
        while offset < end:
            chunk = read(offset, min(CHUNK, end - offset))
            if not chunk:
                return None
            crc = zlib.crc32(chunk, crc)
            offset += len(chunk)
        return Position(end, crc, digest(read(max(0, end - SPAN), min(SPAN, end))))


def _ends(value: bytes) -> bool:
    """Whether the last line is the end record that the SDK and `trainwire run` write."""
    return value.startswith(END_PREFIX, value.rfind(b"\n", 0, len(value) - 1) + 1)


def _count(value: bytes, container: Container) -> int:
    if container == "tfevents":
        return len(frame(value, 0, container).offsets)
    return value.count(b"\n") + (not value.endswith(b"\n"))
