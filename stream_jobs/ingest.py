"""From messages to stored rows: decoded, placed, extracted, inserted. Called with one batch at a time, from one thread.

It returns when everything in the batch is stored or put aside, however long the store is away. It raises only what must
end the worker: `PermanentError` (a person has to act), `TemporaryError` (the worker was told to stop while it waited).
"""

from __future__ import annotations

import logging
import time
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor

from runtime.errors import PermanentError
from runtime.metrics import Metrics
from schemas.events import Delta, FileEnd, FileRef, FileState, Heartbeat, Undecodable, decode
from schemas.framing import frame
from schemas.patterns import sifted
from stream_jobs.again import Again
from stream_jobs.archive import Archive
from stream_jobs.batch import Batch
from stream_jobs.extract import Options, State, extract
from stream_jobs.files import Files
from stream_jobs.ledger import End, FileLedger
from stream_jobs.message import Message
from stream_jobs.names import Names
from stream_jobs.quarantine import Quarantine
from stream_jobs.recall import Recall
from stream_jobs.settings import QuarantineSettings
from stream_jobs.sink import Sink

log = logging.getLogger("worker")

PIPELINE = "trainwire"  # the task of events that belong to no task of anybody's
Arrived = tuple[Message, Delta]


class Ingest:
    """One worker's road from the broker to the store."""

    def __init__(
        self, sink: Sink, metrics: Metrics, *, worker: str, size: int, quarantine: QuarantineSettings, names: int
    ) -> None:
        self._sink, self._metrics, self._worker, self._size = sink, metrics, worker, size
        self._quarantine = Quarantine(quarantine)
        self._loud = quarantine.tasks
        self._reports: list[tuple[str, Message, str, dict[str, str]]] = []
        self._pool = ThreadPoolExecutor(3, thread_name_prefix="insert")
        self.archive = Archive(sink)
        self._recall = Recall(self.archive)
        self.step = (0, 0)  # which batch is the last that was begun, and how many of its deltas are placed
        self._names = Names(names, self.archive.names)
        self._again = Again(self.archive, sink, self._pool, self._new_batch)

    def assignment(self) -> Files:
        """What is known of files, for one assignment of partitions: drop it when they are revoked."""
        return Files(self.archive)

    def close(self) -> None:
        self._pool.shutdown(wait=False, cancel_futures=True)

    def process(self, messages: Sequence[Message], files: Files) -> None:
        """Store a batch. What is acknowledged to the broker afterwards is in the store, whole."""
        began = time.monotonic()
        self.step = (self.step[0] + 1, 0)
        batch = self._new_batch()
        deltas: dict[tuple[str, str], list[Arrived]] = {}
        ends: list[tuple[Message, FileEnd]] = []
        beats: list[tuple[Message, Heartbeat]] = []
        for message in messages:
            event = self._decode(message, batch)
            if isinstance(event, Delta):
                deltas.setdefault((event.file.task, event.file.file_id), []).append((message, event))
            elif isinstance(event, FileEnd):
                ends.append((message, event))
            elif event is not None:
                beats.append((message, event))
        while self._reports:
            kind, at, text, fields = self._reports.pop()
            source = f"{at.topic}/{at.partition}"
            batch.add_event(PIPELINE, kind, source, at.offset, at.arrived, at.arrived, message=text, fields=fields)
        self._tell_quarantined(batch)
        wanted = [(d.file.task, d.file.file_id, d.reading) for group in deltas.values() for _, d in group]
        wanted += [(end.file.task, end.file.file_id, end.reading) for _, end in ends]
        wanted += [(beat.task, state.file.file_id, state.reading) for _, beat in beats for state in beat.files]
        touched = {id(file): file for file in files.load(wanted)}
        for key, group in deltas.items():
            file = files.get(*key)
            touched[id(file)] = file
            self._recall.expect(delta for _, delta in group)
            for message, delta in _in_order(group):
                batch = self._place(file, delta, message, files, batch)
                self.step = (self.step[0], self.step[1] + 1)
                if batch.size >= self._size:
                    batch = self._flush(batch)
        for message, end in ends:
            batch.add_file_end(end, files.routed(end.file.task, end.file.file_id, end.reading), message.arrived)
        for message, beat in beats:
            ids = [files.routed(beat.task, state.file.file_id, state.reading) for state in beat.files]
            batch.add_heartbeat(beat, ids, message.arrived)
        self._flush(batch)
        for file in touched.values():
            healed = self._again.heal(file)
            if healed:
                log.info(
                    "file %s of task %s: %d cold ranges extracted again, their gaps have closed", file.file_id, file.task, healed
                )
        self._metrics.observe("worker_batch_seconds", time.monotonic() - began)

    def report(self, kind: str, at: Message, text: str, fields: dict[str, str]) -> None:
        """Note an event of the pipeline itself, to be stored with the next batch. Its key is its place in the topic."""
        self._reports.append((kind, at, text, fields))

    def beat(self, topic: str, high: int, committed: int, interval: int) -> None:
        """Say that this worker lives and how far it is: messages in its partitions, and those committed. May be called from
        another thread than `process`; `interval` is milliseconds."""
        state = FileState(FileRef(PIPELINE, f"worker/{self._worker}", topic), "-", high, committed)
        said = Heartbeat(PIPELINE, self._worker, self._worker.partition(":")[0], _now(), interval, (state,))
        batch = self._new_batch()
        batch.add_heartbeat(said, [state.file.file_id], said.time)
        batch.insert(self._sink, self._pool)

    # --- one message

    def _decode(self, message: Message, batch: Batch) -> Delta | FileEnd | Heartbeat | None:
        now = time.monotonic()
        try:
            event = decode(message.key, message.value, message.headers)
            if isinstance(event, Heartbeat):
                _check_text(event)
        except Undecodable as error:
            self._metrics.inc("worker_messages_total", type="undecodable")
            self._put_aside(batch, message, error.reason, str(error))
            return None
        self._metrics.inc("worker_messages_total", type=type(event).__name__.lower())
        if self._quarantine.holds(message.task, now):
            batch.add_dead_letter(
                message, "quarantined", "the task sends mostly bad messages and is put aside for a while", _now()
            )
            return None
        self._quarantine.count(message.task, True, now)
        return event

    def _put_aside(self, batch: Batch, message: Message, reason: str, text: str) -> None:
        log.warning(
            "message %s/%d/%d is put aside (%s): %s", message.topic, message.partition, message.offset, reason, text[:300]
        )
        batch.add_dead_letter(message, reason, text, _now())
        self._quarantine.count(message.task, False, time.monotonic())

    def _tell_quarantined(self, batch: Batch) -> None:
        now = _now()
        for task in self._quarantine.news():
            log.error("task %s sends mostly bad messages: all of its messages become dead letters for a while", task)
            batch.add_event(task, "quarantined", "", now, now, now, message="most of its messages are bad; see dead-letters")
        held = self._quarantine.held(time.monotonic())
        self._metrics.set("worker_quarantined_tasks", held)
        if held >= self._loud:
            self._flush(batch)
            raise PermanentError(
                f"{held} tasks at once send mostly bad messages: the fault is not theirs. Look at "
                "`trainwirectl dead-letters list`; shippers may be newer than this worker"
            )

    # --- one delta

    def _place(self, file: FileLedger, delta: Delta, message: Message, files: Files, batch: Batch) -> Batch:
        if self._is_refused(file, delta):
            self._put_aside(batch, message, "wrong-task", "the file's header names another task than the shipper")
            return batch
        if file.pending and file.touches(delta.start, delta.end) and file.recent.get(delta.end) != delta.crc_end:
            batch = self._flush(batch)  # the store is asked about lines that are in this very batch
        placement = file.place(delta, self._recall)
        if placement.dropped:
            self._metrics.inc("worker_repeats_total", kind=placement.dropped)
            kept = [*placement.store, *([placement.fork] if placement.fork else [])]
            dropped = delta.end - delta.start - sum(piece.end - piece.start for piece in kept)
            batch.add_repeat(file, delta, dropped, placement.dropped, message)
        for piece in placement.store:
            self._store(file, piece, message, batch)
        if placement.fork is not None:
            if file.parent:  # a fork holds one reading: what it contradicts itself with is no third file
                self._metrics.inc("worker_repeats_total", kind="unverified")
                return batch
            batch = self._fork(file, placement.fork, placement.equal_to, message, files, batch)
        return batch

    def _fork(self, file: FileLedger, delta: Delta, equal_to: int, message: Message, files: Files, batch: Batch) -> Batch:
        fork, new = files.fork(file, delta.reading, delta.start, equal_to)
        if new:
            if file.pending:
                batch = self._flush(batch)
            state = self.archive.state_at(file.task, file.file_id, delta.start, delta.container) if equal_to else None
            fork.ends[delta.start] = End(delta.crc_start, delta.reading, state or State(), state is None and delta.start > 0)
            self._metrics.inc("worker_forks_total")
            log.warning(
                "task %s: reading %s of file %s has other bytes from %d on: stored as %s",
                file.task,
                delta.reading,
                file.file_id,
                delta.start,
                fork.file_id,
            )
            batch.add_event(
                file.task,
                "file_forked",
                fork.file_id,
                delta.start,
                delta.time,
                message.arrived,
                rank=delta.file.rank,
                message=f"another reading of {delta.file.path} has other bytes: it is stored as a file of its own",
                fields={"parent": file.file_id, "equal_to": str(equal_to), "reading": delta.reading, "path": delta.file.path},
            )
        return self._place(fork, delta, message, files, batch)

    def _store(self, file: FileLedger, delta: Delta, message: Message, batch: Batch) -> None:
        began = time.monotonic()
        run, before = file.open(delta.start)
        before = before.taught(self._patterns(file, delta, message, batch))
        try:
            lines = frame(delta.value, delta.start, delta.container, continuation=delta.continuation)
            if delta.elided and lines.ends:
                lines.ends[-1] = delta.end
            after, points, events = extract(before, lines, Options(container=delta.container))
            after.dump()  # a state that cannot be kept is found here, and not when the rows before it are stored
        except Exception as error:  # a bug of ours must cost these bytes' points for now, not everybody's
            log.exception("bytes %d to %d of file %s could not be extracted", delta.start, delta.end, file.file_id)
            self._put_aside(batch, message, "not-extracted", f"{type(error).__name__}: {error}")
            return
        self._metrics.inc("worker_extract_seconds_total", time.monotonic() - began)
        if delta.start == 0 and events.kind[:1] == ["header"] and events.line[0] == 0:
            named = events.fields[0].get("task", file.task)
            if named != file.task:
                file.refused = True
                self._put_aside(
                    batch, message, "wrong-task", f"the file's header names task {named[:140]!r}, its shipper {file.task!r}"
                )
                return
        if run.cold and run.start == run.end:
            self._metrics.inc("worker_cold_ranges_total")
        batch.add(file, delta, run, (before, after), lines, points, events, message)
        if examples := self._names.too_many(file.task, points.names):
            shown = ", ".join(name[:60] for name in examples)
            text = f"more than {self._names.limit} metric names, such as {shown}: a name should not change from line to line"
            where = ("too_many_names", "", 0, delta.time, message.arrived)
            batch.add_event(file.task, *where, message=text, fields={"limit": str(self._names.limit)})
        file.extend(run, delta.end, len(lines.offsets), delta.crc_end, delta.reading, after)
        file.pending = True

    def _patterns(self, file: FileLedger, delta: Delta, message: Message, batch: Batch) -> tuple[str, ...]:
        """The patterns that came with a delta and can be used; the others are told, once for a file that this worker holds."""
        if not delta.patterns:
            return ()
        good, refused = sifted(delta.patterns)
        if refused and delta.patterns != file.patterns:
            text = "; ".join(f"{pattern!r}: {why}" for pattern, why in refused)
            log.warning("task %s: patterns of its shipper are refused: %s", file.task, text[:300])
            where = (file.file_id, delta.start, delta.time, message.arrived)
            batch.add_event(file.task, "pattern_refused", *where, rank=delta.file.rank, message=text[:1000])
        file.patterns = delta.patterns
        return good

    def _is_refused(self, file: FileLedger, delta: Delta) -> bool:
        if not file.refused and not file.runs and delta.start > 0 and not file.parent:
            file.refused = self.archive.refused(delta)
        return file.refused

    # --- batches

    def _new_batch(self) -> Batch:
        return Batch(self._worker, self._metrics)

    def _flush(self, batch: Batch) -> Batch:
        """Insert what was gathered; a new, empty batch."""
        if not batch.empty:
            batch.insert(self._sink, self._pool)
            self._recall.forget()
        return self._new_batch()


def _check_text(beat: Heartbeat) -> None:
    """JSON can write halves of characters, which no column and no query takes. Raises `Undecodable`."""
    try:
        for state in beat.files:
            file = state.file
            "".join((file.file_id, file.path, file.start_id, file.name, state.reading, state.open_line, state.error)).encode()
        beat.host.encode()
    except UnicodeEncodeError as error:
        raise Undecodable("malformed", f"text that is no UTF-8: {error.reason}") from None


def _in_order(group: list[Arrived]) -> Iterable[Arrived]:
    """Deltas of one file as they came; of one reading, in the file's order, which leaves the fewest gaps."""
    if len({delta.reading for _, delta in group}) > 1:
        return group
    return sorted(group, key=lambda item: (item[1].start, item[1].end))


def _now() -> int:
    return time.time_ns() // 1_000_000
