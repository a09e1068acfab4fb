"""The store as the command line reads it: one connection, as the user that can only read."""

from __future__ import annotations

import logging
import os
from typing import Any

from clickhouse_connect.driver.client import Client
from clickhouse_connect.driver.exceptions import ClickHouseError

from gateway.store import Columns, Query, columns, explained
from runtime.settings import ReaderSettings, load
from runtime.store import connect


def reader_settings() -> ReaderSettings:
    return load(ReaderSettings, os.environ)


def open_client(settings: ReaderSettings, **options: Any) -> Client:
    """A connection. Raises `TemporaryError` or `PermanentError` with what to do."""
    # Its driver logs a failure's traceback before it raises it; the sentence is what a person needs.
    logging.getLogger("clickhouse_connect").setLevel(logging.CRITICAL)
    try:
        return connect(settings, **options)
    except ClickHouseError as error:
        raise explained(error, settings) from error


def open_reader() -> Query:
    """A function that runs one SELECT with bound parameters. Raises as `open_client`, now and at each call."""
    settings = reader_settings()
    client = open_client(settings)

    def query(sql: str, /, **parameters: Any) -> Columns:
        try:
            return columns(client, sql, parameters)
        except ClickHouseError as error:
            raise explained(error, settings) from error

    return query
