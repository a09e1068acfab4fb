"""What is known of tasks: whether there is one, who owns it, what it has. Rights and the choice of a tool ask that."""

from __future__ import annotations

import time
from collections.abc import Callable

from gateway.store import Query, Store
from gateway.viewers.audit import Audit
from gateway.viewers.rights import Rights, TaskFacts
from gateway.viewers.words import Person, Refused

FACTS_FOR = 30.0  # seconds that a task's owner and project are taken as known: a tool's page makes hundreds of requests


class Facts:
    """Asks the store, and remembers for a while."""

    def __init__(
        self, store: Callable[[], Store], rights: Rights, audit: Audit, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._store, self._rights, self._audit, self._clock = store, rights, audit, clock
        self._known: dict[str, tuple[TaskFacts, float]] = {}  # and when it was asked

    async def allowed(self, person: Person, task_id: str, fresh: bool = False) -> TaskFacts:
        """What is known of a task that the person may see; asked again every half minute, and at once where `fresh`.

        Raises `Refused` where there is none, or the person may not see it, in the same words: who may not see a task is not told
        that it exists.
        """
        now = self._clock()
        known = self._known.get(task_id)
        if known is None or fresh or now - known[1] > FACTS_FOR:
            found = await self._store().run(task_facts, task_id)
            self._known = {task: fact for task, fact in self._known.items() if now - fact[1] < FACTS_FOR}
            if found is not None:
                self._known[task_id] = (found, now)
        else:
            found = known[0]
        if found is None or not self._rights.may_view(person, found):
            if found is not None:
                self._audit.say("refused", person=person, message="no right to see this task", viewed_task=task_id)
            raise Refused(404, f"no task {task_id!r}, or none that you may see")
        return found


def task_facts(query: Query, task_id: str) -> TaskFacts | None:
    """What is asked of a task before it is shown; None where nobody knows it."""
    found = query("SELECT owner, project, lines FROM tasks WHERE task_id = {task:String}", task=task_id)
    if not found["owner"]:
        return None
    points = query("SELECT 1 AS one FROM all_points WHERE task_id = {task:String} LIMIT 1", task=task_id)
    return TaskFacts(task_id, found["owner"][0], found["project"][0], bool(points["one"]), bool(found["lines"][0]))
