"""Which bytes of a file are stored, and what to do with a delta: pure, no store, no clock.

A file's stored bytes are runs, each of one revision. A delta is placed by three questions, in this order:

1. Are its bytes stored already? The running checksum is compared at every mark inside it (a mark is the checksum at the
   end of a delta that was stored). An equal checksum proves that ALL bytes before it are equal, however they were cut.
2. Are they other bytes than the stored ones? Then the reading is another file from there on: a fork.
3. What stands in front of the rest? With the bytes before it stored, extraction goes on from their state; with a gap
   in front it begins anew, and the run is cold until the gap closes.

Replay numbers (the low half of a revision): live workers write 0, and `COLD` for bytes with a gap in front of them, so
that rows of a cold extraction that was cut off by a kill can never be taken for rows of the warm one; healing a cold
run and every replay take the next number.
"""

from __future__ import annotations

import bisect
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Protocol

from schemas.events import Delta
from schemas.framing import frame
from stream_jobs.extract import EXTRACTOR_VERSION, State

WARM = 0
COLD = 1
MARKS_KEPT = 256  # a file; older ones are asked from the store when a delta needs them


def revision(replay: int) -> int:
    """An extraction by this version, as the store keeps it: (version, replay number) in one ordered number."""
    return EXTRACTOR_VERSION << 32 | replay


@dataclass(slots=True)
class Run:
    """Contiguous stored bytes [start, end) of one revision."""

    start: int
    end: int
    revision: int
    cold: bool = False
    lines: int = 0


@dataclass(frozen=True, slots=True)
class End:
    """What is known where stored bytes end."""

    crc: int
    reading: str
    state: State
    cold: bool


@dataclass(frozen=True, slots=True)
class Marks:
    """What the store says of a span: marks (offset to checksum) and the spans whose marks still exist."""

    crcs: dict[int, int] = field(default_factory=dict)
    spans: tuple[tuple[int, int], ...] = ()


StoredLine = tuple[int, int, str]  # offset, end, text


class Evidence(Protocol):
    """What can be asked of the store while placing."""

    def marks(self, task: str, file_id: str, start: int, end: int) -> Marks: ...

    def lines(self, task: str, file_id: str, start: int, end: int) -> list[StoredLine]: ...


@dataclass(frozen=True, slots=True)
class Placement:
    """What becomes of a delta: pieces to store, why the rest is dropped, and the piece that is another file."""

    store: tuple[Delta, ...] = ()
    dropped: str = ""  # "" | redelivered | reread | unverified
    fork: Delta | None = None  # belongs to the reading's own file
    equal_to: int = 0  # with a fork: up to here the bytes were equal


@dataclass(slots=True)
class FileLedger:
    """What is known of one file. `forks` says from which offset on a reading is a file of its own."""

    task: str
    file_id: str
    runs: list[Run] = field(default_factory=list)  # in order of start, then revision
    ends: dict[int, End] = field(default_factory=dict)
    recent: dict[int, int] = field(default_factory=dict)  # marks of what was placed since the file was loaded
    reading: str = ""
    forks: dict[str, int] = field(default_factory=dict)
    looked: set[str] = field(default_factory=set)  # readings whose fork was looked for
    parent: str = ""
    parent_end: int = 0
    refused: bool = False  # its header names another task
    patterns: tuple[str, ...] = ()  # as its shipper sent them last
    pending: bool = False  # holds placements that are not inserted yet
    unhealable: set[int] = field(default_factory=set)  # starts of cold runs whose lines cannot be read again

    # --- what is stored

    def covered(self) -> list[tuple[int, int]]:
        """Stored bytes whatever their revision, as sorted spans that do not touch."""
        spans: list[tuple[int, int]] = []
        for run in self.runs:
            if spans and run.start <= spans[-1][1]:
                spans[-1] = (spans[-1][0], max(spans[-1][1], run.end))
            else:
                spans.append((run.start, run.end))
        return spans

    def touches(self, start: int, end: int) -> bool:
        return any(run.start < end and start < run.end for run in self.runs)

    def top(self, offset: int) -> Run | None:
        """The run that shows the byte at `offset`: of those covering it, the newest revision."""
        over = [run for run in self.runs if run.start <= offset < run.end]
        return max(over, key=lambda run: run.revision) if over else None

    def cold_to_heal(self) -> Run | None:
        """A cold run whose gap has closed: bytes in front of it are stored, and not cold themselves."""
        for run in self.runs:
            if run.cold and run.start not in self.unhealable and self.top(run.start) is run:
                before = self.top(run.start - 1)
                if before is not None and not before.cold:
                    return run
        return None

    # --- storing

    def open(self, start: int) -> tuple[Run, State]:
        """The run that bytes from `start` on extend, or a new empty one, and the state that extraction goes on from."""
        known = self.ends.get(start)
        cold = start > 0 and (known is None or known.cold)
        number = revision(COLD if cold else WARM)
        state = known.state if known is not None else State()
        for run in self.runs:
            if run.end == start and run.revision == number and run.cold == cold:
                return run, state
        return Run(start, start, number, cold), state

    def extend(self, run: Run, end: int, lines: int, crc: int, reading: str, state: State) -> None:
        """Bytes up to `end` join `run`."""
        self.ends.pop(run.end, None)
        if run.start == run.end:
            bisect.insort(self.runs, run, key=lambda r: (r.start, r.revision))
        run.end = end
        run.lines += lines
        self.ends[end] = End(crc, reading, state, run.cold)
        if end == max(other.end for other in self.runs):
            self.reading = reading
        self.recent[end] = crc
        while len(self.recent) > MARKS_KEPT:
            del self.recent[next(iter(self.recent))]

    def healed(self, cold: Run, run: Run, state: State) -> None:
        """A cold run was extracted again, as `run`; the state behind it is `state`."""
        bisect.insort(self.runs, run, key=lambda r: (r.start, r.revision))
        end = self.ends.get(cold.end)
        if end is not None:
            self.ends[cold.end] = replace(end, state=state, cold=False)

    # --- placing

    def place(self, delta: Delta, evidence: Evidence) -> Placement:
        """Where the bytes of `delta` belong. The caller sends a `fork` to `<file id>~<reading>`."""
        at = self.forks.get(delta.reading)
        if at is not None and delta.end > at:
            return self._place_forked(delta, at, evidence)
        if not self.touches(delta.start, delta.end):
            return self._place_new(delta)
        return self._place_over(delta, evidence)

    def _place_forked(self, delta: Delta, at: int, evidence: Evidence) -> Placement:
        """Of a reading known as a file of its own. What the file holds with an equal checksum is a repeat from before."""
        if self.touches(delta.start, delta.end) and self._covers(delta.start, delta.end):
            crcs = self.recent if delta.end in self.recent else self._marks(delta, evidence).crcs
            if crcs.get(delta.end) == delta.crc_end:
                return Placement(dropped="redelivered")
        if delta.start >= at:
            return Placement(fork=delta, equal_to=at)
        front = self.place(cut(delta, delta.start, at), evidence)
        return replace(front, fork=cut(delta, at, delta.end), equal_to=at)

    def _place_new(self, delta: Delta) -> Placement:
        known = self.ends.get(delta.start)
        if known is not None and known.crc != delta.crc_start:
            return Placement(fork=delta, equal_to=0)  # something before it differs, and nobody saw where
        return Placement(store=(delta,))

    def _place_over(self, delta: Delta, evidence: Evidence) -> Placement:
        same = "redelivered" if delta.reading == self.reading else "reread"
        whole = self._covers(delta.start, delta.end)
        if whole and self.recent.get(delta.end) == delta.crc_end:
            return Placement(dropped=same)
        marks = self._marks(delta, evidence)
        if whole and marks.crcs.get(delta.end) == delta.crc_end:
            return Placement(dropped=same)
        equal, differs = _compare(delta, marks.crcs)
        inside = [(max(a, equal), min(b, delta.end)) for a, b in self.covered() if max(a, equal) < min(b, delta.end)]
        unverified = False
        for a, b in inside:
            found = self._differing_line(delta, a, b, marks, evidence)
            if isinstance(found, int):
                return self._forked(delta, found, same)
            unverified = unverified or found == "unknown"
        if differs:  # and no line shows it: the bytes differ where nothing is seen
            return self._forked(delta, equal, same)
        kept = tuple(cut(delta, a, b) for a, b in self._gaps(delta.start, delta.end))
        dropped = same if not unverified or same == "redelivered" else "unverified"
        return Placement(store=kept, dropped=dropped)

    def _forked(self, delta: Delta, at: int, same: str) -> Placement:
        front = tuple(cut(delta, a, b) for a, b in self._gaps(delta.start, at)) if at > delta.start else ()
        return Placement(front, same if at > delta.start else "", cut(delta, at, delta.end), at)

    def _differing_line(self, delta: Delta, a: int, b: int, marks: Marks, evidence: Evidence) -> int | str:
        """Compare stored lines in [a, b) with the delta's: offset of the first that differs, "equal", or "unknown".

        Unknown: the span's marks have expired, or it has no text that could be compared.
        """
        if delta.container == "tfevents" or not any(start < b and a < end for start, end in marks.spans):
            return "unknown"
        stored = evidence.lines(self.task, self.file_id, a, b)
        if not stored:
            return "unknown"
        piece = cut(delta, a, delta.end)
        lines = frame(piece.value, a, piece.container, continuation=piece.continuation)
        ours = dict(zip(lines.offsets, zip(lines.ends, lines.texts, strict=True), strict=True))
        for offset, end, text in stored:
            if ours.get(offset) != (end, text):
                if piece.value[-1:] != b"\n" and offset == lines.offsets[-1] and text.startswith(lines.texts[-1]):
                    continue  # the delta ends within that line, with a tail that was no line yet
                at = bisect.bisect_right(lines.offsets, offset) - 1
                return lines.offsets[at] if at >= 0 else a
        return "equal"

    def _marks(self, delta: Delta, evidence: Evidence) -> Marks:
        known = evidence.marks(self.task, self.file_id, delta.start, delta.end)
        crcs = {offset: crc for offset, crc in known.crcs.items() if delta.start <= offset <= delta.end}
        crcs |= {offset: end.crc for offset, end in self.ends.items() if delta.start <= offset <= delta.end}
        crcs |= {offset: crc for offset, crc in self.recent.items() if delta.start <= offset <= delta.end}
        return Marks(crcs, known.spans)

    def _covers(self, start: int, end: int) -> bool:
        return any(a <= start and end <= b for a, b in self.covered())

    def _gaps(self, start: int, end: int) -> Iterator[tuple[int, int]]:
        """Parts of [start, end) that no run covers."""
        for a, b in self.covered():
            if b <= start or a >= end:
                continue
            if a > start:
                yield start, a
            start = max(start, b)
        if start < end:
            yield start, end


def fork_id(file_id: str, reading: str) -> str:
    return f"{file_id}~{reading}"


def cut(delta: Delta, start: int, end: int) -> Delta:
    """The part [start, end) of a delta, with its own checksums. A record that was elided cannot be cut."""
    if (start, end) == (delta.start, delta.end) or delta.elided:
        return delta
    crc_start = zlib.crc32(delta.value[: start - delta.start], delta.crc_start)
    value = delta.value[start - delta.start : end - delta.start]
    return replace(
        delta,
        start=start,
        end=end,
        value=value,
        crc_start=crc_start,
        crc_end=delta.crc_end if end == delta.end else zlib.crc32(value, crc_start),
        continuation=delta.continuation if start == delta.start else "",
    )


def _compare(delta: Delta, crcs: dict[int, int]) -> tuple[int, bool]:
    """(Offset up to which the delta's bytes are proven equal, whether a mark behind it differs)."""
    equal, crc, at = delta.start, delta.crc_start, 0
    for offset in sorted(crcs):
        if offset < delta.end:
            if delta.elided and offset > delta.start:
                continue
            crc = zlib.crc32(delta.value[at : offset - delta.start], crc)
            at = offset - delta.start
        else:
            crc = delta.crc_end
        if crc != crcs[offset]:
            return equal, True
        equal = offset
    return equal, False
