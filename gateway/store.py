"""The store as the gateway asks it: threads with a connection each, so that a store that hangs never holds up the loop."""

from __future__ import annotations

import asyncio
import collections
import concurrent.futures
import re
import threading
from collections.abc import Callable, Mapping
from typing import Any, Protocol, TypeVar

from clickhouse_connect.driver.client import Client
from clickhouse_connect.driver.exceptions import ClickHouseError

from gateway.settings import QuerySettings
from runtime.errors import PermanentError, TemporaryError
from runtime.settings import ReaderSettings, StoreSettings
from runtime.store import connect

T = TypeVar("T")
Columns = dict[str, list[Any]]  # column name: its values, all columns of the same length

# ClickHouse's error codes, by what a person can do about them.
TOO_MUCH = {158, 307, 396}  # TOO_MANY_ROWS, TOO_MANY_BYTES, TOO_MANY_ROWS_OR_BYTES
BUSY = {159, 160, 202, 209, 210, 241, 439}  # out of time, slots, network, memory, threads
NO_SCHEMA = {60, 81}  # UNKNOWN_TABLE, UNKNOWN_DATABASE
NO_ACCESS = {192, 193, 194, 516}  # unknown user, wrong password


class TooMuch(PermanentError):
    """The question is allowed, its answer is too large: ask for less."""


class Query(Protocol):
    """Runs one SELECT with bound parameters, and gives its columns."""

    def __call__(self, sql: str, /, **parameters: Any) -> Columns: ...


class Store:
    """Runs functions that take a `Query`, each in a thread that owns a connection."""

    def __init__(self, settings: ReaderSettings, limits: QuerySettings) -> None:
        self._settings, self._limits = settings, limits
        self._local = threading.local()
        self._threads = concurrent.futures.ThreadPoolExecutor(limits.threads, thread_name_prefix="store")

    async def run(self, function: Callable[..., T], *arguments: Any, **named: Any) -> T:
        """`function(query, *arguments, **named)` in a thread. Raises `TemporaryError` when the store gives no answer in time.

        The thread of a query that hangs is free again when the connection's own timeout ends it; until then others wait
        here no longer than this limit.
        """
        future = self._threads.submit(lambda: function(self._query, *arguments, **named))
        try:
            return await asyncio.wait_for(asyncio.wrap_future(future), self._limits.seconds + 5)
        except TimeoutError:
            raise TemporaryError(f"ClickHouse at {self._settings.url} does not answer: {_START}") from None

    def close(self) -> None:
        self._threads.shutdown(wait=False, cancel_futures=True)

    def _query(self, sql: str, /, **parameters: Any) -> Columns:
        try:
            client = getattr(self._local, "client", None) or self._connect()
            return columns(client, sql, parameters)
        except ClickHouseError as error:
            raise explained(error, self._settings) from error

    def _connect(self) -> Client:
        client = connect(
            self._settings,
            timeout=self._limits.seconds + 2,  # behind the store's own limit, which comes first and says why
            query_retries=0,  # a person asks again, a stream comes back: no need to triple a wait
            settings={
                "max_execution_time": self._limits.seconds,
                "max_result_rows": self._limits.rows,
                "result_overflow_mode": "throw",  # half an answer would be shown as the whole
            },
        )
        self._local.client = client
        return client


def columns(client: Client, sql: str, parameters: Mapping[str, Any]) -> Columns:
    """One SELECT's columns by name. Raises clickhouse-connect's errors."""
    result = client.query(sql, parameters=dict(parameters), column_oriented=True)
    if not result.result_columns:  # no rows: no block came that would tell the names
        return collections.defaultdict(list)
    return {name: list(values) for name, values in zip(result.column_names, result.result_columns, strict=True)}


def rows(found: Columns) -> list[dict[str, Any]]:
    """The same as one dict a row."""
    return [dict(zip(found, values, strict=True)) for values in zip(*found.values(), strict=True)]


def explained(error: ClickHouseError, settings: StoreSettings) -> TemporaryError | PermanentError:
    """A store's failure as a sentence that says what to do."""
    code = getattr(error, "code", None)
    if code is None and "Read timed out" in str(error):  # urllib3's words: connected, and no answer within the time limit
        return TemporaryError(f"ClickHouse at {settings.url} gave no answer in time: ask again, or for less")
    if code is None:
        return TemporaryError(f"no ClickHouse at {settings.url}: {_START}")
    if code in TOO_MUCH:
        return TooMuch("the answer would be too large: ask for fewer names, fewer points or a shorter range")
    if code in BUSY:
        return TemporaryError(f"ClickHouse is too busy to answer in time (code {code}): ask again, or for a shorter range")
    if code in NO_SCHEMA:
        return TemporaryError(f"the store lacks tables or views in {settings.database!r}: run `trainwirectl migrate up`")
    if code in NO_ACCESS:
        return TemporaryError(
            f"ClickHouse refuses the user {settings.user!r} (code {code}): correct TRAINWIRE_CLICKHOUSE_USER and _PASSWORD"
        )
    return PermanentError(f"ClickHouse refused the query: {reason(error)}")


def reason(error: ClickHouseError) -> str:
    """ClickHouse's own sentence, without what clickhouse-connect puts around it."""
    found = re.search(r"DB::Exception: (.*?)(?: \(version |\Z)", str(error), re.DOTALL)
    return (found[1] if found else str(error)).strip()[:1000]


_START = "start it (`trainwirectl up` starts one here), or correct TRAINWIRE_CLICKHOUSE_URL"
