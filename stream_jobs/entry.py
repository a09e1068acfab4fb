"""One ledger row to be, and the byte range that makes its rows visible."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from schemas.events import Delta
from stream_jobs.extract import State
from stream_jobs.ledger import FileLedger, Run
from stream_jobs.rows import uint32

LAST_OFFSET = 2**64 - 1  # no message's own: what is written without a message leaves the smallest as it is


@dataclass(slots=True)
class Entry:
    """What a batch holds of one run of a file, from one reading."""

    file: FileLedger
    delta: Delta  # the newest of them: whose file it is, which container
    run: Run
    start: int
    end: int
    crc_start: int
    state_start: bytes
    state: State
    marks: list[tuple[int, int]]
    written: int  # ms since the epoch, as the columns of the ledger say
    arrived: int
    first_arrived: int
    first_offset: int = LAST_OFFSET  # of the messages that brought it
    lines: int = 0
    points: int = 0
    events: int = 0

    def ledger_row(self, worker: str, now: int) -> list[Any]:
        delta, file = self.delta, self.file
        whose = [file.task, file.file_id, self.start, self.end, self.run.revision, delta.reading]
        proof = [self.crc_start, self.marks, self.state.dump(), self.run.cold, delta.container]
        counts = [self.lines, self.points, self.events]
        return [*whose, *proof, *counts, delta.source, worker, self.written, delta.time, self.arrived, now]

    def range_row(self, now: int) -> list[Any]:
        ref, file, run = self.delta.file, self.file, self.run
        place = [file.task, file.file_id, run.revision, run.start, self.end, int(run.cold)]
        whose = [ref.path, ref.start_id, uint32(ref.attempt), uint32(ref.rank) or 0, uint32(ref.world_size), ref.name]
        times = [self.first_arrived, self.arrived, now, self.first_offset]
        kind = [self.delta.container, self.delta.source]
        return [*place, *whose, *kind, run.lines, file.parent, file.parent_end, *times]
