"""A task that sends mostly bad messages is put aside, so that others are not held up by it. Takes `now`, has no clock."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field

from stream_jobs.settings import QuarantineSettings


@dataclass(slots=True)
class _Counts:
    since: float
    good: int = 0
    bad: int = 0


@dataclass(slots=True)
class Quarantine:
    """Which tasks are put aside now. Messages that name no task are counted for nobody."""

    policy: QuarantineSettings
    _counts: dict[str, _Counts] = field(default_factory=dict)
    _until: dict[str, float] = field(default_factory=dict)
    _news: deque[str] = field(default_factory=deque)

    def count(self, task: str, good: bool, now: float) -> None:
        """Note one message of `task`; it may put the task aside."""
        if not task or self.holds(task, now):
            return
        counts = self._counts.get(task)
        if counts is None or now - counts.since > self.policy.window:
            if good and counts is None:
                return  # nearly all tasks never send a bad message: nothing is kept of them
            counts = self._counts[task] = _Counts(now)
        if good:
            counts.good += 1
        else:
            counts.bad += 1
        total = counts.good + counts.bad
        if total >= self.policy.least and counts.bad / total > self.policy.ratio:
            del self._counts[task]
            self._until[task] = now + self.policy.seconds
            self._news.append(task)

    def holds(self, task: str, now: float) -> bool:
        until = self._until.get(task)
        if until is None:
            return False
        if now < until:
            return True
        del self._until[task]  # its time is over: it is judged anew
        return False

    def news(self) -> list[str]:
        """Tasks put aside since this was last asked."""
        told = list(self._news)
        self._news.clear()
        return told

    def held(self, now: float) -> int:
        return sum(now < until for until in self._until.values())
