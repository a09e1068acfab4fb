"""One answer for all who ask the same at the same time, and for a moment after."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Hashable
from typing import Any, TypeVar

T = TypeVar("T")

MOST = 500  # answers kept; a page of tasks is some 50 kB: 25 MB at the worst


class Shared:
    """Answers by key. Of one event loop; a failure is told to all who wait, and not kept."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._answers: dict[Hashable, tuple[float, Any]] = {}  # until when, and what
        self._asked: dict[Hashable, asyncio.Task[Any]] = {}

    async def get(self, key: Hashable, seconds: float, ask: Callable[[], Awaitable[T]]) -> T:
        """The answer that is at most `seconds` old, else a new one. A reader who leaves ends nothing for the others."""
        until, answer = self._answers.get(key, (0.0, None))
        if self._clock() < until:
            kept: T = answer
            return kept
        task = self._asked.get(key)
        if task is None:
            task = asyncio.ensure_future(self._ask(key, seconds, ask))
            self._asked[key] = task
            task.add_done_callback(lambda _: self._asked.pop(key, None))
        result: T = await asyncio.shield(task)
        return result

    async def _ask(self, key: Hashable, seconds: float, ask: Callable[[], Awaitable[T]]) -> T:
        answer = await ask()
        if len(self._answers) >= MOST:
            now = self._clock()
            self._answers = {key: kept for key, kept in self._answers.items() if kept[0] > now}
            if len(self._answers) >= MOST:
                self._answers.clear()
        self._answers[key] = (self._clock() + seconds, answer)
        return answer
