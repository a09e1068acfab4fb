"""One message as the broker gave it: what the worker needs of it, whatever library fetched it."""

from __future__ import annotations

from dataclasses import dataclass

from schemas.topic import is_task_id


@dataclass(frozen=True, slots=True)
class Message:
    topic: str
    partition: int
    offset: int
    arrived: int  # the broker's time stamp, milliseconds since the epoch
    key: bytes | None
    value: bytes | None
    headers: tuple[tuple[str, bytes], ...]

    @property
    def task(self) -> str:
        """The task as far as it can be told of a message that may be no event: its header, else its key; "" if neither is one."""
        for raw in (dict(self.headers).get("ce_task"), self.key):
            text = (raw or b"").decode("utf-8", "replace")
            if is_task_id(text):
                return text
        return ""
