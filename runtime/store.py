"""The one way to a ClickHouse client. Imports `clickhouse_connect`: programs without a store never import this module."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlsplit

import clickhouse_connect
from clickhouse_connect.driver.client import Client

from runtime.settings import ReaderSettings, StoreSettings


def connect(settings: StoreSettings, /, *, timeout: float = 30.0, database: str | None = None, **options: Any) -> Client:
    """A synchronous client without a session, so that it may be used again after an error; not to be shared by threads.

    Connects at once: raises clickhouse-connect's own errors when the store is away. `timeout` is seconds for one query.
    With `ReaderSettings` the store refuses whatever would change something, also when their user might.
    """
    url = urlsplit(settings.url)
    client = clickhouse_connect.get_client(
        interface=url.scheme,
        host=url.hostname,
        port=url.port or (8443 if url.scheme == "https" else 8123),
        username=settings.user,
        password=settings.password.value,
        database=settings.database if database is None else database,
        autogenerate_session_id=False,
        connect_timeout=5,
        send_receive_timeout=timeout,
        compress="lz4",
        **options,
    )
    if isinstance(settings, ReaderSettings):
        _read_only(client)
    return client


def _read_only(client: Client) -> None:
    """Level 2, at which limits can still be set. A user that is held to a level already may not set it, and need not."""
    held = client.server_settings.get("readonly")
    if held is None or held.value == "0":
        client.set_client_setting("readonly", "2")
