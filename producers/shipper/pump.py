"""From followed files to the publisher: deltas in order, a bound on what is on its way, repeats of what failed, ends.

Each file may have a quarter of the bound, so that one whose sends fail (a message that the broker refuses) never holds
up the others; a file with failed sends is read no further until they have been repeated, in order, from the first one.
"""

from __future__ import annotations

import dataclasses
import logging
from typing import Any

from producers.shipper.care import Care
from producers.shipper.copies import Copies
from producers.shipper.follow import Follower
from producers.shipper.followed import Followed
from producers.shipper.publish import Publisher
from producers.shipper.tail import Changed, Pending
from runtime.errors import TemporaryError
from runtime.retry import Backoff
from schemas.events import KNOWN_ENDS, FileEnd
from schemas.framing import DELTA_LIMIT, RECORD_LIMIT

log = logging.getLogger("trainwire-shipper.pump")

REFUSED = 60.0  # s between tries of a message that is over the topic's limit: a person has to change that …
TOO_LARGE = ("MessageSizeTooLargeError", "RecordListTooLargeError")  # … and each try costs all files a new producer
BURST = 64  # deltas in one step at most: 8 MiB, so that looking at files never waits long
DAMAGED = 1.0  # s for which a record must stay damaged: it may be seen in the middle of being written
HELD = 0.25  # s between comparisons of a copy with its original


@dataclasses.dataclass(eq=False, slots=True)
class Farewell:
    """A file end on its way."""

    item: Followed
    end: FileEnd


class Pump:
    """Moves bytes. `leaving` is the reason once everything has to end; "" before."""

    def __init__(self, care: Care, follower: Follower, copies: Copies, publisher: Publisher) -> None:
        settings = care.settings
        self._settings = settings
        self._care = care
        self._follower = follower
        self._copies = copies
        self._publisher = publisher
        self._metrics = care.metrics
        self._stamp = care.stamp
        self._backoff = Backoff(first=0.1, most=5.0)
        self._failed: dict[Followed, None] = {}
        self._share = max(settings.shipper.in_flight // 4, RECORD_LIMIT + DELTA_LIMIT)
        self.in_flight = 0  # bytes read and not acknowledged
        self.leaving = ""
        self.changed: set[str] = set()  # tasks whose files changed state: a heartbeat is due

    def step(self, now: float) -> None:
        self._repeat(now)
        self._read(now)
        self._end(now)
        self._metrics.set("shipper_in_flight_bytes", self.in_flight)

    def due(self, now: float) -> float:
        """When `step` has something to do that can be foreseen."""
        times = [item.next_read for item in self._care.active if self._may_read(item)]
        times += [item.retry_at for item in self._failed if item.retry_at is not None]
        return min(times, default=now + 3600)

    def result(self, token: Any, error: str, now: float) -> None:
        """Take the publisher's result for a delta or a file end."""
        if isinstance(token, Farewell):
            self._end_result(token, error, now)
            return
        item, pending = token
        assert isinstance(item, Followed)  # noqa: S101  # tokens are ours
        assert isinstance(pending, Pending)  # noqa: S101  # as above
        item.outstanding -= 1
        pending.outstanding = False
        if error:
            self._failure(item, error, now)
            return
        pending.done = True
        item.failures = 0
        for done in item.tail.acknowledge():
            self.in_flight -= len(done.delta.value)
            self._metrics.inc("shipper_deltas_total")
            self._metrics.inc("shipper_bytes_total", done.delta.end - done.delta.start)
            self._metrics.inc("shipper_lines_total", done.lines)
            self._care.dirty = True

    # Reading

    def _may_read(self, item: Followed) -> bool:
        held = sum(len(pending.delta.value) for pending in item.tail.pending) if len(item.tail.pending) > 4 else 0
        return item.retry_at is None and held < self._share and self.in_flight + DELTA_LIMIT <= self._settings.shipper.in_flight

    def _read(self, now: float) -> None:
        left = BURST
        while left > 0:
            served = 0
            for item in list(self._care.active):
                if left <= 0 or self.in_flight + DELTA_LIMIT > self._settings.shipper.in_flight:
                    return
                if not item.tail.backlog():
                    self._care.active.pop(item, None)
                elif self._is_due(item, now) and self._read_one(item, now, final=False):
                    served += 1
                    left -= 1
                    if item in self._care.active:  # to the end of the queue: everybody gets a turn
                        del self._care.active[item]
                        self._care.active[item] = None
            if not served:
                return

    def _is_due(self, item: Followed, now: float) -> bool:
        gathered = now >= item.next_read or item.tail.backlog() >= DELTA_LIMIT or bool(self.leaving)
        return gathered and self._may_read(item)

    def _read_one(self, item: Followed, now: float, *, final: bool) -> bool:
        """Send one delta; False if there is none now."""
        tail, care, follower = item.tail, self._care, self._follower
        item.next_read = now + self._settings.files.gather
        try:
            read = care.read(item)
            if read is None:  # another file stands at its path: see what happened, at once
                care.active.pop(item, None)
                care.schedule(item, now)
                return False
            if not tail.named and self._copies.must_wait(item, now):
                item.next_read = now + HELD
                return False
            if not tail.named and follower.must_wait(item, now):
                item.next_read = now
                return False
            now_ms, task = round(self._stamp() * 1000), self._settings.task
            got = tail.next(read, final=final, time=now_ms, source=self._settings.source, patterns=task.patterns)
        except Changed:
            follower.begin_again(item, "rewritten", now)
            return False
        except ValueError as error:
            self._damaged(item, error, now)
            return False
        except (OSError, TemporaryError) as error:
            care.trouble(item, error, now)
            return False
        if got is None:
            return False
        pending, first_line = got
        if not tail.named:
            care.name(item, first_line)
            self.changed.add(tail.ref.task)
        if item in care.unsaved:
            item.next_read = now
            return False
        if pending.after.continuation == "1" or pending.delta.elided:
            self._long(item, pending)
        tail.accept(pending)
        item.held_by = item.held_since = item.damaged_since = None
        if item.end_reason == "end-record":  # it goes on after all
            item.end_reason, item.end_sent_at, item.end_done_at = "", None, None
            care.ending.pop(item, None)
            if self.leaving:
                care.end(item, self.leaving)
        self.in_flight += len(pending.delta.value)
        self._send(item, pending)
        return True

    def _send(self, item: Followed, pending: Pending) -> None:
        pending.outstanding = True
        item.outstanding += 1
        self._publisher.send(pending.delta, (item, pending))

    def _long(self, item: Followed, pending: Pending) -> None:
        self._metrics.inc("shipper_long_lines_total")
        if not pending.delta.continuation:  # said once for each line, and without the line itself
            log.warning("%s: the line at byte %d is over the limit and is cut", item.place, pending.delta.start)

    def _damaged(self, item: Followed, error: ValueError, now: float) -> None:
        tail = item.tail
        if item.damaged_since is None:
            item.damaged_since = now
        item.next_read = now + HELD
        if now - item.damaged_since < DAMAGED:
            return
        tail.damaged = True
        tail.error = f"damaged at byte {tail.sent.offset}: {error}"
        self._care.active.pop(item, None)
        self._metrics.inc("shipper_file_errors_total", reason="damaged")
        log.error("%s is %s; what came before is delivered", item.place, tail.error)
        self._care.end(item, "damaged")

    # Failures

    def _failure(self, item: Followed, error: str, now: float) -> None:
        self._metrics.inc("shipper_send_failures_total", reason=error)
        if item.retry_at is None:
            item.failures += 1
            item.retry_at = now + (REFUSED if error in TOO_LARGE else self._backoff.wait(item.failures))
            self._failed[item] = None

    def _repeat(self, now: float) -> None:
        for item in list(self._failed):
            if item.retry_at is None or item.retry_at > now or item.outstanding:
                continue  # results of later sends are still to come: repeating before them would change the order
            del self._failed[item]
            item.retry_at = None
            for pending in item.tail.pending:
                if not pending.done:
                    self._send(item, pending)

    # Ends

    def leave(self, reason: str) -> None:
        """Deliver what is there and end every file. `reason` as in `schemas.events`: shutdown, container-ended, farewell."""
        self.leaving = reason

    def finished(self) -> bool:
        """Whether everything was delivered after `leave`."""
        return bool(self.leaving) and all(self._is_over(item) for item in self._care.all)

    def _is_over(self, item: Followed) -> bool:
        tail = item.tail
        if tail.restored:  # not found again: it stays in the checkpoint
            return True
        if not tail.named:  # a copy, or nothing that could be a line
            return item.held_since is not None or not tail.size or item.end_reason not in KNOWN_ENDS
        return item.end_done_at is not None and tail.settled and not tail.backlog()

    def _end(self, now: float) -> None:
        if self.leaving:  # also for a file that appears, or is found elsewhere, while we leave
            for item in self._care.all:
                if not item.end_reason:
                    self._care.end(item, self.leaving)
        for item in list(self._care.ending):
            tail = item.tail
            if tail.pending or tail.backlog() or item.retry_at is not None or tail.restored:
                continue
            known = item.end_reason in KNOWN_ENDS
            if (
                known
                and not (tail.complete or tail.damaged)
                and tail.size > tail.sent.offset
                and self._read_one(item, now, final=True)
            ):
                continue
            if item in self._care.unsaved or item.told_error or item.held_since is not None:
                continue  # later
            if item.end_done_at is not None and item.end_done_at == tail.acked.offset and tail.real is not None:
                self._care.ending.pop(item, None)
                continue
            if item.dropped or item not in self._care.ending:  # that reading found another file there
                continue
            if not tail.named:
                if tail.real is None:
                    self._care.drop(item, "ended before its first line")
                continue
            if item.end_sent_at is None and item.outstanding == 0:
                rest = b"" if known else self._rest(item)
                end = tail.end(item.end_reason, round(self._stamp() * 1000), self._settings.source, rest)
                item.end_sent_at = end.offset
                item.outstanding += 1
                self._publisher.send(end, Farewell(item, end))

    def _rest(self, item: Followed) -> bytes:
        try:
            read = self._care.read(item)
            return item.tail.rest(read) if read is not None else b""
        except (OSError, TemporaryError):  # the farewell goes without it; the bytes stay in the file
            return b""

    def _end_result(self, farewell: Farewell, error: str, now: float) -> None:
        item = farewell.item
        item.outstanding -= 1
        if error:
            self._failure(item, error, now)
            item.end_sent_at = None
            return
        item.end_done_at = farewell.end.offset
        self.changed.add(item.tail.ref.task)
        if item.tail.real is None and not item.dropped:
            self._follower.ended_away(item, now)
