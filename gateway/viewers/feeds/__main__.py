"""Feeds a tool in a pod, beside it: `python -m gateway.viewers.feeds FORM TASK FOLDER STATE`, until a signal."""

from __future__ import annotations

import asyncio
import os
import sys
import time
from pathlib import Path

from gateway.settings import QuerySettings
from gateway.store import Store
from gateway.viewers.feeds.feed import open_feed
from runtime import logs
from runtime.errors import EXIT_SETTING, PermanentError, TemporaryError
from runtime.retry import Backoff
from runtime.settings import ReaderSettings, load
from runtime.signals import stop_event

EVERY = 1.0  # seconds between two looks


def main() -> None:
    """Never gives up on a store that is away. Exits 2 for wrong settings."""
    log = logs.setup("trainwire-feeder")
    stopped = stop_event()
    try:
        form, task_id, folder, state = sys.argv[1:]
        feed = open_feed(form, task_id, Path(folder), Path(state))
        store = Store(load(ReaderSettings, os.environ), QuerySettings(threads=1))
    except (PermanentError, ValueError) as error:
        log.error("%s", error)
        sys.exit(EXIT_SETTING)
    feed.resume()
    backoff, failures = Backoff(first=0.5, most=15), 0
    while not stopped.is_set():
        try:
            asyncio.run(store.run(feed.look, time.monotonic()))
            failures = 0
        except TemporaryError as error:
            failures += 1
            log.warning("%s", error)
        stopped.wait(backoff.wait(failures) if failures else EVERY)


if __name__ == "__main__":
    main()
