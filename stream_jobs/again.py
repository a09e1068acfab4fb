"""Extracting stored lines once more: to heal a cold run whose gap has closed, and to replay a task with newer extraction.

Rows first, ledger and byte range last, under a revision that no view shows before that range stands. Cut off anywhere,
the next try writes the same rows under the same number.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Executor
from dataclasses import dataclass

from schemas.events import Delta, FileRef
from schemas.framing import Container
from stream_jobs.archive import Archive
from stream_jobs.batch import Batch, Inserts
from stream_jobs.entry import Entry
from stream_jobs.extract import Options, State, extract
from stream_jobs.ledger import COLD, FileLedger, Run, revision


@dataclass(frozen=True, slots=True)
class About:
    """What byte ranges say of their file."""

    ref: FileRef
    container: Container
    source: str
    first_arrived: int
    last_arrived: int


def next_number(file: FileLedger) -> int:
    """The next replay number of this extractor version for a file."""
    used = [run.revision & 0xFFFFFFFF for run in file.runs if run.revision >= revision(0)]
    return max([COLD, *used]) + 1


def about(archive: Archive, file: FileLedger) -> About:
    row = archive.about(file.task, file.file_id)
    path, start_id, attempt, rank, world_size, name, container, source, first, last = row
    ref = FileRef(file.task, file.file_id, path, start_id, attempt, rank, world_size, name)
    return About(ref, container, source, first, last)


class Again:
    """`new_batch` gives an empty batch; `sink` and `pool` insert it."""

    def __init__(self, archive: Archive, sink: Inserts, pool: Executor, new_batch: Callable[[], Batch]) -> None:
        self._archive, self._sink, self._pool, self._new_batch = archive, sink, pool, new_batch

    def heal(self, file: FileLedger) -> int:
        """Extract again every cold run whose gap has closed. Returns how many were."""
        done = 0
        while (cold := file.cold_to_heal()) is not None:
            known = about(self._archive, file)
            state = self._archive.state_at(file.task, file.file_id, cold.start, known.container)
            spans = (
                list(self._archive.readable(file.task, file.file_id, cold.start, cold.end, known.container))
                if state is not None
                else []
            )
            if spans != [(cold.start, cold.end)] or state is None:
                file.unhealable.add(cold.start)
                continue
            after, run = self.span(file, known, cold.start, cold.end, state, revision(next_number(file)))
            file.healed(cold, run, after)
            done += 1
        return done

    def replay(self, file: FileLedger) -> tuple[int, int]:
        """Extract a whole file again, as far as its lines exist. Returns (bytes extracted, bytes stored)."""
        known = about(self._archive, file)
        number = revision(next_number(file))
        stored = sum(end - start for start, end in file.covered())
        extracted = 0
        for low, high in file.covered():
            for start, end in self._archive.readable(file.task, file.file_id, low, high, known.container):
                begin = self._archive.state_from(file.task, file.file_id, start, end, known.container)
                if begin is not None:  # else what was known at these lines has expired: they keep their revision
                    self.span(file, known, begin[0], end, begin[1], number)
                    extracted += end - begin[0]
        return extracted, stored

    def span(self, file: FileLedger, known: About, start: int, end: int, state: State, number: int) -> tuple[State, Run]:
        """Extract the stored lines of [start, end) under revision `number`, by the patterns that the task brings now."""
        state = state.taught(self._archive.given(file.task, file.file_id))
        run = Run(start, end, number)
        delta = Delta(
            known.ref, start, end, file.reading or "-", 0, 0, known.last_arrived, b"", known.container, source=known.source
        )
        marks = self._archive.marks(file.task, file.file_id, start, end).crcs
        entry = Entry(
            file,
            delta,
            run,
            start,
            end,
            marks.get(start, 0),
            state.dump(),
            state,
            sorted((offset, crc) for offset, crc in marks.items() if start < offset <= end),
            known.last_arrived,
            known.last_arrived,
            known.first_arrived,
        )
        for stored in self._archive.texts(file.task, file.file_id, start, end):
            batch = self._new_batch()
            before = entry.state
            entry.state, points, events = extract(before, stored.lines, Options(container=known.container))
            batch.add_again(file, stored.rank, run, stored.lines, points, events, stored.arrived)
            batch.said.append(f"again\0{file.task}\0{file.file_id}\0{number}\0{stored.lines.offsets[0]}\0{stored.lines.ends[-1]}")
            batch.said.append(before.dump().decode())
            batch.insert(self._sink, self._pool)
            run.lines += len(stored.lines.offsets)
            entry.lines += len(stored.lines.offsets)
            entry.points += len(points)
            entry.events += len(events)
        last = self._new_batch()
        if not entry.marks or entry.marks[-1][0] != end:  # the ledger's rows have expired: there is no checksum to go on from
            last.ranges_only = True
        last.entries[file.task, file.file_id, number, start, "again"] = entry
        last.insert(self._sink, self._pool)
        return entry.state, run
