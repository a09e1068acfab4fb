"""Fixtures of all tests."""

from tests.services.fixtures import broker, database, local_stack, make_topic, services, store, topic

__all__ = ["broker", "database", "local_stack", "make_topic", "services", "store", "topic"]
