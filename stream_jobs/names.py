"""How many metric names a task has: a name that holds a step, a file or a number makes a new one with each line.

Nothing is dropped for it; the task is told, with examples. Names are remembered until a task has too many. One whose names
were counted by a worker before is asked about in the store, once, when it has a tenth of the limit here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

TASKS = 10_000  # remembered; then it is counted anew, and an event that is told again is the same event
EXAMPLES = 8
ASK = 10  # a tenth of the limit


class Names:
    """`stored` gives the names of a task in the store, at most so many."""

    def __init__(self, limit: int, stored: Callable[[str, int], Iterable[str]]) -> None:
        self.limit, self._stored = limit, stored
        self._known: dict[str, set[str]] = {}
        self._asked: set[str] = set()
        self._told: set[str] = set()

    def too_many(self, task: str, names: Iterable[tuple[str, ...]]) -> list[str]:
        """Examples of the task's names at the moment when they are more than the limit; else none."""
        if task in self._told:
            return []
        if len(self._known) >= TASKS:
            self._known.clear()
            self._asked.clear()
        known = self._known.setdefault(task, set())
        known.update(*set(names))
        if len(known) > self.limit // ASK and task not in self._asked:
            self._asked.add(task)
            known.update(self._stored(task, self.limit + 1))
        if len(known) <= self.limit:
            return []
        self._told.add(task)
        del self._known[task]
        return sorted(known)[:: len(known) // EXAMPLES][:EXAMPLES]
