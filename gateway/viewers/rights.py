"""Who may see which tasks: one policy file. The first rule that fits a task decides; where none fits, only admins may.

    admins = ["ops"]                 # groups whose people may all, also stop others' viewers

    [[rule]]
    tasks = "public-*"               # pattern over the task id
    view = ["*"]                     # anybody signed in

    [[rule]]
    tasks = "*"
    project = "vision"               # what the task itself said in its header
    view = ["owner", "group:vision", "user:ada"]

Without a file everybody who is signed in may see all tasks, and stop only viewers that they asked for.
"""

from __future__ import annotations

import dataclasses
import fnmatch
import tomllib
from pathlib import Path
from typing import Any

from gateway.viewers.words import Person
from runtime.errors import PermanentError


@dataclasses.dataclass(frozen=True)
class TaskFacts:
    """What rules and tool choice ask of a task."""

    task_id: str
    owner: str = ""
    project: str = ""
    points: bool = False
    lines: bool = False


@dataclasses.dataclass(frozen=True)
class Rule:
    tasks: str
    view: tuple[str, ...]
    project: str | None = None

    def fits(self, task: TaskFacts) -> bool:
        return fnmatch.fnmatchcase(task.task_id, self.tasks) and self.project in (None, task.project)

    def allows(self, person: Person, task: TaskFacts) -> bool:
        return any(
            who == "*"
            or (who == "owner" and bool(task.owner) and task.owner == person.user)
            or who == f"user:{person.user}"
            or (who.startswith("group:") and who[6:] in person.groups)
            for who in self.view
        )


@dataclasses.dataclass(frozen=True)
class Rights:
    """The policy."""

    rules: tuple[Rule, ...] = (Rule("*", ("*",)),)
    admins: frozenset[str] = frozenset()

    def may_view(self, person: Person, task: TaskFacts) -> bool:
        if self.is_admin(person):
            return True
        rule = next((rule for rule in self.rules if rule.fits(task)), None)
        return rule is not None and rule.allows(person, task)

    def may_end(self, person: Person, owner: str) -> bool:
        """Stop a viewer, or prolong it: who asked for it, and admins."""
        return person.user == owner or self.is_admin(person)

    def is_admin(self, person: Person) -> bool:
        return bool(self.admins & person.groups)

    @classmethod
    def load(cls, file: str) -> Rights:
        """Raises `PermanentError` naming file and rule."""
        if not file:
            return cls()
        try:
            raw: dict[str, Any] = tomllib.loads(Path(file).read_text(encoding="utf-8"))
        except (OSError, ValueError) as error:  # no file, no UTF-8 or no TOML
            raise PermanentError(f"TRAINWIRE_GATEWAY_RIGHTS={file}: {error}") from None
        rules = []
        for number, entry in enumerate(raw.get("rule", []), 1):
            who = tuple(str(one) for one in entry.get("view", ()))
            if set(entry) - {"tasks", "project", "view"} or "tasks" not in entry:
                raise PermanentError(f"{file}: rule {number} needs `tasks` and `view`, may have `project`, and nothing else")
            if wrong := [one for one in who if one not in ("*", "owner") and not one.startswith(("user:", "group:"))]:
                raise PermanentError(f"{file}: rule {number}: {wrong[0]!r}: use *, owner, user:NAME or group:NAME")
            rules.append(Rule(str(entry["tasks"]), who, entry.get("project")))
        return cls(tuple(rules), frozenset(str(one) for one in raw.get("admins", ())))
