"""When a worker that runs does no work, and when it fights with another: policy and state, given `now`, no clock."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field


@dataclass(slots=True)
class Stall:
    """Messages wait, and the committed offset has not moved for `seconds`, with no temporary error being retried.

    Consumers of this kind were seen to stop after days without an error; a restart is the cure, and loses nothing.
    """

    seconds: float
    _committed: int | None = None
    _since: float | None = None

    def stalled(self, now: float, lag: int, committed: int, excused: bool) -> bool:
        """`lag`: messages behind; `committed`: sum of committed offsets; `excused`: work goes on, or a store is waited for."""
        if lag <= 0 or excused or committed != self._committed or self._since is None:
            self._committed, self._since = committed, now
        return now - self._since >= self.seconds


@dataclass(slots=True)
class Steps:
    """A batch that is slow, and goes on: nothing is committed before its end, and a restart would begin it anew.

    Only a batch that was there at the last look already counts: one that begins says nothing of what becomes of batches.
    """

    _last: tuple[int, int] = (0, 0)

    def go_on(self, step: tuple[int, int]) -> bool:
        """`step`: (which batch, how much of it is done); asked once a second."""
        last, self._last = self._last, step
        return step[0] == last[0] and step[1] > last[1]


@dataclass(slots=True)
class Twin:
    """Two live processes with one member id throw each other out without end: rebalances in quick succession.

    12 in 30 s: a rolling start of workers makes one or two every few seconds for a while, a fight several a second.
    """

    most: int = 12
    seconds: float = 30.0
    _times: deque[float] = field(default_factory=deque)

    def fights(self, now: float) -> bool:
        """Note one rebalance; True where there were too many."""
        self._times.append(now)
        while now - self._times[0] > self.seconds:
            self._times.popleft()
        return len(self._times) > self.most


@dataclass(slots=True)
class Gaps:
    """Offsets that never came, a partition: what retention removed before it was read."""

    _next: dict[int, int] = field(default_factory=dict)

    def forget(self) -> None:
        """Partitions were revoked: another worker may have gone on with them."""
        self._next.clear()

    def seen(self, partition: int, offset: int, committed: int | None) -> int:
        """Note a message; how many are missing in front of it. `committed`: of the group, where this is the first one."""
        expected = self._next.get(partition, committed)
        self._next[partition] = max(offset + 1, self._next.get(partition, 0))
        return max(offset - expected, 0) if expected is not None else 0
