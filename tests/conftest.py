"""Fixtures of all tests."""

import signal

from tests.services.fixtures import broker, database, local_stack, make_topic, services, store, topic

__all__ = ["broker", "database", "local_stack", "make_topic", "services", "store", "topic"]

# A shell starts what it puts into the background with SIGINT and SIGQUIT ignored, and every child inherits that: programs under
# test would not know Ctrl-C.
signal.signal(signal.SIGINT, signal.default_int_handler)
signal.signal(signal.SIGQUIT, signal.SIG_DFL)
