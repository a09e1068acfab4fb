"""A worker's place in its consumer group: which partitions it has, how far it is in them, and whether it will ever have any.

Faust has no public way to ask; what is read here is its consumer, and aiokafka's inside that.
"""

from __future__ import annotations

import asyncio
import logging
from typing import Any

from aiokafka.errors import KafkaError

log = logging.getLogger("worker")

ASK_EVERY = 10.0  # s between questions to the broker where partitions begin and end
PATIENCE = 5.0  # s for its answer


class Group:
    """`app` is a Faust application; before and while it starts, it has no partitions."""

    def __init__(self, app: Any) -> None:
        self._app = app
        self._firsts: dict[Any, int] = {}
        self._ends: dict[Any, int] = {}
        self._next = 0.0

    def trouble(self) -> BaseException | None:
        """Why no partition will be given any more; None while all is well.

        An error that aiokafka knows no cure for waits where the caller of its consumer would meet it. Faust does not call
        that part of it: the coordinator would wait for ever, and the worker with it.
        """
        coordinator = getattr(self._kafka, "_coordinator", None)
        if coordinator is None:
            return None
        task = coordinator._coordination_task
        error: BaseException | None = task.exception() if task.done() and not task.cancelled() else coordinator._pending_exception
        return error

    def committed(self) -> dict[Any, int]:
        """Committed offsets by partition, as far as there are any."""
        offsets = self._app.consumer._committed_offset.copy() if self._kafka else {}
        return {tp: offset for tp, offset in offsets.items() if offset is not None}

    async def lag(self, now: float) -> tuple[dict[int, int], int]:
        """Messages that wait, by partition; and the sum of committed offsets. What retention removed waits no more."""
        kafka = self._kafka
        partitions = kafka.assignment() if kafka else set()
        if partitions and (now >= self._next or not partitions <= self._ends.keys()):
            self._next = now + ASK_EVERY
            await self._ask(partitions)
        known, behind, total = self.committed(), {}, 0
        for tp in partitions:
            high = max(highwater(kafka, tp) or 0, self._ends.get(tp, 0))
            done = max(known.get(tp, 0), self._firsts.get(tp, 0)) if tp in known or tp in self._firsts else high
            behind[tp.partition] = max(high - done, 0)
            total += done
        return behind, total

    async def _ask(self, partitions: set[Any]) -> None:
        """Ask the broker: what was fetched last says nothing of messages behind a consumer that fetches no more."""

        async def answers() -> tuple[dict[Any, int], dict[Any, int]]:
            return await self._kafka.beginning_offsets(partitions), await self._kafka.end_offsets(partitions)

        asked = asyncio.run_coroutine_threadsafe(asyncio.wait_for(answers(), PATIENCE), self._app.consumer._thread.thread_loop)
        try:
            firsts, ends = await asyncio.wrap_future(asked)
        except (KafkaError, TimeoutError) as error:  # a broker that is away; the next question follows soon
            log.debug("where partitions end was not answered: %r", error)
        else:
            self._firsts, self._ends = firsts, ends

    @property
    def _kafka(self) -> Any:
        """aiokafka's consumer; None before Faust has made it."""
        thread = getattr(self._app._consumer, "_thread", None)
        return thread._consumer if thread else None


def highwater(consumer: Any, tp: Any) -> int | None:
    """The end of a partition as last fetched; None where it is not known, or the partition was taken away this moment."""
    try:
        end: int | None = consumer.highwater(tp)
    except AssertionError:  # aiokafka's word for the latter
        return None
    return end
