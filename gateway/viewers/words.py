"""The nouns of viewers: what was asked for, and how one is named and addressed."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import secrets
import time
from typing import Any, Literal

from runtime.errors import PermanentError

State = Literal["loading", "ready", "releasing", "failed"]
PolicyKind = Literal["offline", "threshold", "kept"]
KEY_SIGN = "~"


def viewer_id(task_id: str, tool: str) -> str:
    """The name of the viewer of a task in a tool, everywhere: in folders, pods and labels.

    A hash, because task ids differ in case, in signs that Kubernetes forbids, and beyond 63 letters; 100 bits of it, so that two
    tasks never share a viewer by chance (one in 10¹⁸ at a million of them). Begins with a letter, lower case, 22 letters.
    """
    digest = hashlib.sha256(f"{task_id}\0{tool}".encode()).digest()
    return "v-" + "".join("abcdefghijklmnopqrstuvwxyz234567"[byte & 31] for byte in digest[:20])


def address(task_id: str, tool: str) -> str:
    """The stable path of that viewer, below the gateway's own prefix: its page; the tool is below it, under `app/`."""
    return f"/view/{task_id}/{tool}/"


def inner(spec: Spec) -> str:
    """The path of the tool itself, below the gateway's own prefix, without a slash at its end.

    The key in it is the right to ask there: a tool's page runs without an origin (see proxy.py), so that browsers send no cookie
    of the gateway's along with its requests.
    """
    return f"{address(spec.task_id, spec.tool)}app/{KEY_SIGN}{spec.key}"


@dataclasses.dataclass(frozen=True)
class Spec:
    """What was asked for: all that a restarted gateway needs to know of a viewer. Kept with the viewer's own resources."""

    id: str
    life: str  # one life of it: a viewer loaded again has another
    key: str  # in the tool's own address: whoever has it may look, as long as this life lasts
    task_id: str
    tool: str
    owner: str  # the user who asked first
    policy: PolicyKind
    created_ms: int  # wall clock, for people and records; decisions use no wall clock
    cpu: float  # cores reserved, for the cost
    memory_mib: int

    @classmethod
    def new(cls, task_id: str, tool: str, owner: str, policy: PolicyKind, cpu: float, memory_mib: int) -> Spec:
        made = time.time_ns() // 1_000_000
        life, key = secrets.token_hex(8), secrets.token_urlsafe(18)
        return cls(viewer_id(task_id, tool), life, key, task_id, tool, owner, policy, made, cpu, memory_mib)

    def text(self) -> str:
        return json.dumps(dataclasses.asdict(self), ensure_ascii=True, separators=(",", ":"))

    @classmethod
    def from_text(cls, text: str) -> Spec:
        """Raises `ValueError` for a text that is no spec."""
        try:
            found: dict[str, Any] = json.loads(text)
            return cls(**{field.name: found[field.name] for field in dataclasses.fields(cls)})
        except (KeyError, TypeError, ValueError) as error:
            raise ValueError(f"not a viewer's spec: {error}") from None


@dataclasses.dataclass(frozen=True)
class Person:
    """Who asks, from what device, and by what method."""

    user: str
    groups: frozenset[str] = frozenset()
    device: str = ""  # remote address and program
    method: str = ""  # page, api, cli


NOBODY = Person("")


class Refused(PermanentError):
    """The person may not have this. `status` as HTTP has it."""

    def __init__(self, status: int, detail: str, wait: float = 0.0) -> None:
        super().__init__(detail)
        self.status, self.wait = status, wait
