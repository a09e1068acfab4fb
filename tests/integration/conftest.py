"""Fixtures of tests that read what the worker would have written."""

from tests.services.viewing import tasks

__all__ = ["tasks"]
