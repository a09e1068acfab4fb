"""What extraction remembers of a file between two calls: small, a value, and made of JSON."""

from __future__ import annotations

import copy
import json
from dataclasses import asdict, dataclass, field
from typing import Any

STATE_VERSION = 1
STATE_LIMIT = 64 * 1024  # bytes of a dump; the ledger keeps one a file and batch


@dataclass(slots=True)
class State:
    """The empty state is `State()`. `extract` never changes the one it is given."""

    non_finite: dict[str, None] = field(default_factory=dict)  # metrics whose first NaN or infinity is told already

    def copy(self) -> State:
        new = copy.copy(self)
        new.non_finite = self.non_finite.copy()
        return new

    def dump(self) -> bytes:
        """At most `STATE_LIMIT` bytes of JSON."""
        members: dict[str, Any] = {"v": STATE_VERSION, **asdict(self)}
        return json.dumps(members, separators=(",", ":"), ensure_ascii=False).encode()

    @classmethod
    def load(cls, data: bytes) -> State:
        """The state that `dump` wrote; the empty state where it is of another version or damaged."""
        try:
            members = json.loads(data)
            if members.pop("v") != STATE_VERSION:
                return cls()
            return cls(**members)
        except (ValueError, TypeError, KeyError, AttributeError):
            return cls()
