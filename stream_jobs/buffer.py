"""The application's buffer between broker and agent, bounded in bytes: Faust's own counts messages, whatever their size.

5,000 messages are 25 MB from tasks that write slowly, and 640 MB of a backlog cut at 128 KiB a delta.
"""

from __future__ import annotations

from typing import Any

import faust
from mode.utils.queues import ThrowableQueue


class ByteQueue(ThrowableQueue[Any]):
    """A queue that says it is as full as its bytes are, where they fill it more than its messages do."""

    def __init__(self, maxsize: int, limit: int, **options: Any) -> None:
        super().__init__(maxsize, **options)
        self._limit = limit
        self._bytes = 0

    def _put(self, item: Any) -> None:
        self._bytes += _size(item)
        super()._put(item)

    def _get(self) -> Any:
        item = super()._get()
        self._bytes -= _size(item)
        return item

    def clear(self) -> None:
        super().clear()
        self._bytes = 0

    def qsize(self) -> int:
        return max(super().qsize(), self._bytes * self.maxsize // self._limit)


class App(faust.App):
    """A Faust application with that buffer, and without a folder of its own: it keeps no tables."""

    buffer_bytes = 32 * 1024 * 1024

    def FlowControlQueue(self, maxsize: int | None = None, *, clear_on_resume: bool = False) -> ByteQueue:  # Faust's name
        return ByteQueue(
            maxsize or self.conf.stream_buffer_maxsize,
            self.buffer_bytes,
            flow_control=self.flow_control,
            clear_on_resume=clear_on_resume,
        )

    def _create_directories(self) -> None:
        """Faust would make `<group>-data` where the worker was started."""


def _size(event: Any) -> int:
    message = getattr(event, "message", None)
    return len(message.value or b"") if message is not None else 0
