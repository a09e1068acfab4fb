"""What extraction remembers of a file between two calls: small, a value, and made of JSON."""

from __future__ import annotations

import copy
import json
from dataclasses import dataclass, field, fields
from typing import Any

from stream_jobs.extract.tables import Table

STATE_VERSION = 1
STATE_LIMIT = 64 * 1024  # bytes of a dump; the ledger keeps one a file and batch
STREAMS = 64  # writers of one file (ranks) whose place is remembered
NON_FINITE_NAMES = 500


@dataclass(slots=True)
class Context:
    """Where one writer of the file stands: what the lines above said."""

    epoch: float | None = None
    step: int | None = None
    table: Table | None = None
    misses: int = 0  # lines since the table's last row
    section: str = ""  # of a box
    box_step: int | None = None
    depth: int = 0  # of a dump over several lines that is no metric
    dump_lines: int = 0
    trace: tuple[str, ...] = ()  # lines of an open traceback
    percent: int = -1  # of the last progress told
    total: int | None = None
    started: bool = False
    within: bool = False  # epochs are counted in words, so that bars are within an epoch
    listed: bool = False  # in a list of objects, each over several lines: Chainer's log, a Trainer's `log_history`

    def members(self) -> list[Any]:
        values = [getattr(self, f.name) for f in fields(self)]
        return [[value.kind, value.columns] if isinstance(value, Table) else value for value in values]


@dataclass(slots=True)
class State:
    """The empty state is `State()`. `extract` never changes the one it is given."""

    contexts: dict[str, Context] = field(default_factory=dict)
    non_finite: dict[str, None] = field(default_factory=dict)  # metrics whose first NaN or infinity is told already
    damaged: bool = False  # an event file whose rest cannot be trusted
    elided: int = 0  # records too long to be read
    warned: dict[int, None] = field(default_factory=dict)  # checksums of the forms of warnings told already
    given: tuple[str, ...] = ()  # the task's own patterns, as its shipper sends them: tried before everything but records …
    patterns: tuple[str, ...] = ()  # … and as the file's header says them: tried next
    hints: list[Any] = field(default_factory=list, compare=False, repr=False)  # forms worth a guess; they change no row

    def copy(self) -> State:
        contexts = {key: copy.copy(context) for key, context in self.contexts.items()}
        told = self.non_finite.copy(), self.damaged, self.elided, self.warned.copy()
        return State(contexts, *told, self.given, self.patterns, self.hints)

    def taught(self, given: tuple[str, ...]) -> State:
        """This state with other patterns of the task's own; the same one where they are the same."""
        if given == self.given:
            return self
        state = self.copy()
        state.given = given
        return state

    def context(self, stream: str) -> Context:
        """Where this writer stands; the one longest unseen is forgotten when there are too many."""
        context = self.contexts.get(stream)
        if context is None:
            if len(self.contexts) >= STREAMS:
                del self.contexts[next(iter(self.contexts))]
            context = self.contexts[stream] = Context()
        return context

    def dump(self) -> bytes:
        """At most `STATE_LIMIT` bytes of JSON; what does not fit is forgotten, the oldest writer first."""
        contexts = {key: context.members() for key, context in self.contexts.items()}
        members = {"v": STATE_VERSION, "contexts": contexts, "non_finite": list(self.non_finite), "warned": list(self.warned)}
        members |= {"damaged": self.damaged, "elided": self.elided, "given": self.given, "patterns": self.patterns}
        while True:
            data = json.dumps(members, separators=(",", ":"), ensure_ascii=False).encode()
            if len(data) <= STATE_LIMIT:
                return data
            if contexts:
                del contexts[next(iter(contexts))]
            else:
                members["non_finite"] = []

    @classmethod
    def load(cls, data: bytes) -> State:
        """The state that `dump` wrote; the empty state where it is of another version or damaged."""
        try:
            members = json.loads(data)
            if members["v"] != STATE_VERSION:
                return cls()
            contexts = {str(key): _context(values) for key, values in members["contexts"].items()}
            non_finite, warned = dict.fromkeys(members["non_finite"]), dict.fromkeys(members["warned"])
            given, patterns = (tuple(map(str, members.get(key, ()))) for key in ("given", "patterns"))
            return cls(contexts, non_finite, members["damaged"], members["elided"], warned, given, patterns)
        except (ValueError, TypeError, KeyError, AttributeError, IndexError):
            return cls()


def _context(values: list[Any]) -> Context:
    context = Context(*values)
    if context.table is not None:
        context.table = Table(context.table[0], tuple(context.table[1]))  # type: ignore[index]  # a list, as JSON has it
    context.trace = tuple(context.trace)
    return context
