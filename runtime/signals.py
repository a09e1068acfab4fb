"""Ending on SIGTERM and SIGINT: the first asks, the second insists."""

from __future__ import annotations

import os
import signal
import threading
from types import FrameType


def stop_event() -> threading.Event:
    """An event that the first SIGTERM or SIGINT sets; a second one ends the process at once (exit 128 + signal).

    Call it from the main thread.
    """
    event = threading.Event()

    def handle(number: int, _: FrameType | None) -> None:
        if event.is_set():
            os._exit(128 + number)
        event.set()

    signal.signal(signal.SIGTERM, handle)
    signal.signal(signal.SIGINT, handle)
    return event
