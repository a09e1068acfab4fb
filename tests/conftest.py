"""Fixtures of all tests."""

import signal
from pathlib import Path

import pytest

from tests.services.fixtures import broker, database, local_stack, make_topic, services, store, topic

__all__ = ["broker", "database", "local_stack", "make_topic", "services", "store", "topic"]

# A shell starts what it puts into the background with SIGINT and SIGQUIT ignored, and every child inherits that: programs under
# test would not know Ctrl-C.
signal.signal(signal.SIGINT, signal.default_int_handler)
signal.signal(signal.SIGQUIT, signal.SIG_DFL)

# What waits longest for brokers, sessions and limits, longest first. `make test` has three processes take one file after the
# other, in the order of their collection: a long one that begins last ends alone, while the many short ones fill any gap.
LONG = (
    "integration/test_worker_process.py",
    "integration/test_viewers.py",
    "integration/test_local_stack.py",
    "integration/test_shipper_broker.py",
    "browser/test_presence.py",
    "browser/test_viewers.py",
    "chaos/test_chaos.py",
    "browser/test_task_page.py",
    "browser/test_tabs.py",
    "integration/test_demo.py",
    "browser/test_viewer_links.py",
    "integration/test_worker_exactly_once.py",
)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    here = Path(__file__).parent
    place = {here / name: number for number, name in enumerate(LONG)}
    items.sort(key=lambda item: place.get(item.path, len(LONG)))
