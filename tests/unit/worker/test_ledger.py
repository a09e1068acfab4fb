"""Placing deltas, against a model: what each reading of a file holds is known to the test, byte by byte."""

from __future__ import annotations

import zlib
from dataclasses import dataclass, field

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from schemas.events import Delta, FileRef
from schemas.framing import frame
from stream_jobs.extract import State
from stream_jobs.ledger import COLD, WARM, FileLedger, Marks, Run, StoredLine, cut, fork_id, revision

REF = FileRef("task", "file", "/a.log")


def delta(content: bytes, start: int, end: int, reading: str = "A") -> Delta:
    return Delta(REF, start, end, reading, zlib.crc32(content[:start]), zlib.crc32(content[:end]), 0, content[start:end])


@dataclass
class Shelf:
    """The store of these tests: pieces as they were placed. `expired` forgets the marks."""

    pieces: dict[str, list[Delta]] = field(default_factory=dict)
    expired: bool = False

    def marks(self, task: str, file_id: str, start: int, end: int) -> Marks:
        if self.expired:
            return Marks()
        crcs: dict[int, int] = {}
        for piece in self.pieces.get(file_id, []):
            crcs[piece.start], crcs[piece.end] = piece.crc_start, piece.crc_end
        return Marks(crcs, tuple((piece.start, piece.end) for piece in self.pieces.get(file_id, [])))

    def lines(self, task: str, file_id: str, start: int, end: int) -> list[StoredLine]:
        rows = []
        for piece in self.pieces.get(file_id, []):
            lines = frame(piece.value, piece.start)
            rows += list(zip(lines.offsets, lines.ends, lines.texts, strict=True))
        return sorted(row for row in rows if start <= row[0] < end)


@dataclass
class Place:
    """A worker's placing of one file, without extraction; `restart` forgets all that the store can tell again."""

    shelf: Shelf = field(default_factory=Shelf)
    file: FileLedger = field(default_factory=lambda: FileLedger("task", "file"))
    forks: dict[str, FileLedger] = field(default_factory=dict)
    drops: list[str] = field(default_factory=list)

    def take(self, given: Delta, file: FileLedger | None = None) -> None:
        file = file or self.file
        placement = file.place(given, self.shelf)
        if placement.dropped:
            self.drops.append(placement.dropped)
        for piece in placement.store:
            run, state = file.open(piece.start)
            file.extend(run, piece.end, 1, piece.crc_end, piece.reading, state)
            self.shelf.pieces.setdefault(file.file_id, []).append(piece)
        if placement.fork is not None:
            name = fork_id(file.file_id, given.reading)
            fork = self.forks.setdefault(name, FileLedger("task", name))
            file.forks[given.reading] = min(placement.fork.start, file.forks.get(given.reading, placement.fork.start))
            self.take(placement.fork, fork)

    def stored(self, file_id: str = "file") -> bytes:
        """Bytes of the placed pieces in order; fails where two overlap."""
        out, at = b"", None
        for piece in sorted(self.shelf.pieces.get(file_id, []), key=lambda p: p.start):
            assert at is None or piece.start >= at, "bytes stored twice"
            out, at = out + piece.value, piece.end
        return out


LINES = st.lists(st.binary(max_size=6).map(lambda b: b.replace(b"\n", b"") + b"\n"), min_size=1, max_size=12)
# Lines whose text shows every byte: what differs can be seen by the line.
PLAIN = st.lists(st.text("ab", max_size=3).map(lambda text: text.encode() + b"\n"), min_size=1, max_size=8)


def cuts(content: bytes, chosen: list[int]) -> list[tuple[int, int]]:
    """Cut at line ends only, as every shipper does; `chosen` numbers which of them."""
    ends = [i + 1 for i, byte in enumerate(content) if byte == 10]
    kept = sorted({ends[number % len(ends)] for number in chosen} | {len(content)})
    return list(zip([0, *kept[:-1]], kept, strict=True))


@settings(max_examples=300, deadline=None)
@given(LINES, st.lists(st.integers(0, 50), max_size=6), st.lists(st.integers(0, 50), max_size=6), st.data())
def test_readings_of_the_same_bytes_are_stored_once_in_any_order(
    lines: list[bytes], first: list[int], second: list[int], data: st.DataObject
) -> None:
    content = b"".join(lines)
    sent = [delta(content, a, b, "A") for a, b in cuts(content, first)] + [
        delta(content, a, b, "B") for a, b in cuts(content, second)
    ]
    order = data.draw(st.permutations(sent)) + data.draw(st.lists(st.sampled_from(sent), max_size=5))
    place = Place()
    for given_delta in order:
        place.take(given_delta)
    assert place.stored() == content
    assert not place.forks
    assert "unverified" not in place.drops


@settings(max_examples=300, deadline=None)
@given(PLAIN, PLAIN, PLAIN, st.lists(st.integers(0, 50), max_size=6), st.lists(st.integers(0, 50), max_size=6), st.data())
def test_a_rewritten_file_is_kept_whole_and_lines_before_the_difference_once(
    common: list[bytes], old: list[bytes], new: list[bytes], first: list[int], second: list[int], data: st.DataObject
) -> None:
    a = b"".join(common + old)
    b = b"".join(common + new)
    if a.startswith(b) or b.startswith(a):
        return  # nothing differs: the test above
    place = Place()
    for start, end in cuts(a, first):
        place.take(delta(a, start, end, "A"))
    second_reading = [delta(b, start, end, "B") for start, end in cuts(b, second)]
    for given_delta in second_reading + data.draw(st.lists(st.sampled_from(second_reading), max_size=4)):
        place.take(given_delta)
    fork = place.stored(fork_id("file", "B"))
    assert place.stored() == a
    begin = len(b) - len(fork)
    assert fork
    assert b.endswith(fork)
    assert a[:begin] == b[:begin]
    line = b.find(b"\n", begin) + 1
    assert a[begin:line] != b[begin:line], "a line that is equal was stored again"


def test_bytes_that_differ_where_no_text_shows_it_fork_at_the_last_equal_mark() -> None:
    old, new = b"a\nb\n\x80\n", b"a\nb\n\x81\n"
    place = Place()
    place.take(delta(old, 0, 2, "A"))
    place.take(delta(old, 2, 6, "A"))
    place.take(delta(new, 0, 6, "B"))
    assert place.stored() == old
    assert place.stored("file~B") == b"b\n\x81\n"


def test_bytes_after_a_gap_are_cold_and_healed_ones_go_on_warm() -> None:
    content = b"a\nb\nc\nd\n"
    place = Place()
    place.take(delta(content, 0, 2))
    place.take(delta(content, 4, 6))
    assert [(run.start, run.end, run.revision, run.cold) for run in place.file.runs] == [
        (0, 2, revision(WARM), False),
        (4, 6, revision(COLD), True),
    ]
    assert place.file.cold_to_heal() is None
    place.take(delta(content, 2, 4))
    cold = place.file.cold_to_heal()
    assert cold is not None
    assert (cold.start, cold.end) == (4, 6)
    place.file.healed(cold, Run(4, 6, revision(2)), State())
    assert place.file.cold_to_heal() is None
    place.take(delta(content, 6, 8))
    assert place.file.top(6) == Run(6, 8, revision(WARM), False, 1)


def test_expired_marks_drop_what_is_covered_and_say_that_nobody_compared() -> None:
    content = b"a\nb\nc\n"
    place = Place()
    place.take(delta(content, 0, 4))
    place.file = FileLedger("task", "file", runs=place.file.runs)  # a new worker, after the ledger's rows expired
    place.shelf.expired = True
    place.take(delta(content, 0, 6, "B"))
    assert place.drops == ["unverified"]
    assert place.stored() == content
    assert place.file.top(4) == Run(4, 6, revision(COLD), True, 1)


def test_of_a_reading_that_forked_only_what_lies_behind_the_fork_goes_there() -> None:
    old, new = b"same\nold1\nold2\n", b"same\nnew1\nnew2\n"
    place = Place()
    place.take(delta(old, 0, 15, "A"))
    place.take(delta(new, 0, 10, "B"))
    place.take(delta(new, 0, 15, "B"))
    assert place.stored() == old
    assert place.stored("file~B") == b"new1\nnew2\n"
    assert place.drops == ["reread", "reread", "redelivered"]


def test_a_different_beginning_is_seen_where_the_reading_goes_on_behind_it() -> None:
    old, new = b"old1\n", b"new1\nnew2\n"
    place = Place()
    place.take(delta(old, 0, 5, "A"))
    place.take(delta(new, 5, 10, "B"))
    assert place.stored() == old
    assert place.stored("file~B") == b"new2\n"


@pytest.mark.parametrize("size", [1, 4])
def test_a_record_that_was_elided_is_compared_at_its_end_only(size: int) -> None:
    content = bytes(range(40))
    elided = Delta(REF, 0, 40, "A", 0, zlib.crc32(content), 0, content[:12], container="tfevents", elided=True)
    again = Delta(REF, 0, 40, "B", 0, zlib.crc32(content), 0, content[:12], container="tfevents", elided=True)
    other = Delta(REF, 0, 40, "C", 0, zlib.crc32(content[::-1]), 0, content[:12], container="tfevents", elided=True)
    place = Place()
    for given_delta in [elided, again, other][:size]:
        place.take(given_delta)
    assert len(place.shelf.pieces["file"]) == 1
    assert ("file~C" in place.shelf.pieces) == (size > 2)


def test_a_cut_delta_carries_the_checksums_of_its_part() -> None:
    content = b"one\ntwo\nthree\n"
    part = cut(delta(content, 0, 14), 4, 8)
    assert part == delta(content, 4, 8)
