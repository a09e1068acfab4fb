"""Inserts and queries that end only when the store has answered: a retry loop of our own around a client a thread.

Failures are told apart by ClickHouse's error code:
  rows       the store refuses what is in the rows: the batch is split until the row stands alone
  for good   schema or rights are not what this worker needs: `PermanentError`, the message says what to do
  for now    everything else, broken connections included (they have no code): wait and try again, for ever
"""

from __future__ import annotations

import logging
import struct
import threading
import time
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from clickhouse_connect.driver.client import Client
from clickhouse_connect.driver.exceptions import ClickHouseError, DataError
from urllib3.exceptions import HTTPError

from runtime.errors import PermanentError, TemporaryError
from runtime.metrics import Metrics
from runtime.retry import Backoff, LogLimiter
from runtime.settings import StoreSettings
from runtime.store import connect
from schemas.columns import TABLES

log = logging.getLogger("worker")
T = TypeVar("T")

Columns = list[list[Any]]  # one list a column, in the order of schemas.columns, all of the same length

# Names as in ClickHouse's ErrorCodes.cpp.
SCHEMA_CODES = {
    10: "NOT_FOUND_COLUMN_IN_BLOCK",
    16: "NO_SUCH_COLUMN_IN_TABLE",
    20: "NUMBER_OF_COLUMNS_DOESNT_MATCH",
    47: "UNKNOWN_IDENTIFIER",
    60: "UNKNOWN_TABLE",
    81: "UNKNOWN_DATABASE",
}
RIGHTS_CODES = {
    192: "UNKNOWN_USER",
    193: "WRONG_PASSWORD",
    194: "REQUIRED_PASSWORD",
    497: "ACCESS_DENIED",
    516: "AUTHENTICATION_FAILED",
}
ROW_CODES = {
    6: "CANNOT_PARSE_TEXT",
    26: "CANNOT_PARSE_QUOTED_STRING",
    27: "CANNOT_PARSE_INPUT_ASSERTION_FAILED",
    38: "CANNOT_PARSE_DATE",
    41: "CANNOT_PARSE_DATETIME",
    53: "TYPE_MISMATCH",
    69: "ARGUMENT_OUT_OF_BOUND",
    70: "CANNOT_CONVERT_TYPE",
    72: "CANNOT_PARSE_NUMBER",
    117: "INCORRECT_DATA",
    131: "TOO_LARGE_STRING_SIZE",
    321: "VALUE_IS_OUT_OF_RANGE_OF_DATA_TYPE",
    349: "CANNOT_INSERT_NULL_IN_ORDINARY_COLUMN",
    395: "FUNCTION_THROW_IF_VALUE_IS_NON_ZERO",
    469: "VIOLATED_CONSTRAINT",
    691: "UNKNOWN_ELEMENT_OF_ENUM",
}
# What the client raises itself when a value does not fit its column: nothing was sent.
CLIENT_ROW_ERRORS = (DataError, struct.error, OverflowError, TypeError, ValueError, AttributeError)


UNREADABLE_TRIES = 5  # answers to a query that were cut off in the middle; more are a fault of this program
REFUSED_MOST = 100  # rows of one insert: beyond that the fault is not a row's, and putting all aside would hide it


class RowsRefused(Exception):
    """The store, or the client on its behalf, refuses what is in the rows; trying again is useless."""


class Sink:
    """May be used from several threads; each gets a client of its own. A set `stop` makes a failing loop give up."""

    def __init__(self, store: StoreSettings, metrics: Metrics, *, stop: threading.Event, backoff: Backoff | None = None) -> None:
        self._store, self._metrics, self._stop = store, metrics, stop
        self._backoff = backoff or Backoff()
        self._own = threading.local()
        self._waiting: dict[int, str] = {}  # by thread: why it waits
        self._complaints = LogLimiter()

    @property
    def trouble(self) -> str | None:
        """Why the store does not do its work now, in a sentence; None when it does."""
        return next(iter(self._waiting.copy().values()), None)

    def query(self, sql: str, parameters: dict[str, Any]) -> Sequence[Sequence[Any]]:
        """Rows of a query; waits while the store is away."""
        return self._until_answered("query", lambda client: client.query(sql, parameters=parameters).result_rows)

    def insert(self, table: str, columns: Columns, token: str) -> list[int]:
        """Insert and wait for the acknowledgement. Returns the indexes of rows that the store refuses for good."""
        if not columns[0]:
            return []
        refused: list[int] = []
        began = time.monotonic()
        self._insert_part(table, columns, token, 0, len(columns[0]), refused)
        self._metrics.observe("worker_insert_seconds", time.monotonic() - began, table=table)
        return refused

    def _insert_part(self, table: str, columns: Columns, token: str, low: int, high: int, refused: list[int]) -> None:
        whole = high - low == len(columns[0])
        part = columns if whole else [column[low:high] for column in columns]
        own = token if whole else f"{token}:{low}-{high}"
        try:
            self._until_answered(table, lambda client: _send(client, table, part, own))
        except RowsRefused as error:
            if high - low == 1:
                log.warning("a row of %s is refused and put aside: %s", table, str(error)[:300])
                self._metrics.inc("worker_rejected_rows_total", table=table)
                refused.append(low)
                if len(refused) > REFUSED_MOST:
                    raise PermanentError(
                        f"the store refuses more than {REFUSED_MOST} rows of one insert into {table}: compare its tables with "
                        f"`trainwirectl migrate status`, look for constraints on them; {_brief(error)}"
                    ) from error
                return
            middle = (low + high) // 2
            self._insert_part(table, columns, token, low, middle, refused)
            self._insert_part(table, columns, token, middle, high, refused)

    def _until_answered(self, what: str, work: Callable[[Client], T]) -> T:
        failures = 0
        me = threading.get_ident()
        while True:
            try:
                client = getattr(self._own, "client", None)
                if client is None:
                    client = self._own.client = connect(self._store)
                result = work(client)
            except CLIENT_ROW_ERRORS as error:
                if what in TABLES:
                    raise RowsRefused(f"{type(error).__name__}: {error}") from error
                failures += 1
                if failures > UNREADABLE_TRIES:
                    raise
                self._wait(what, 0, failures, error)
            except (ClickHouseError, HTTPError, OSError) as error:
                code = getattr(error, "code", None) or 0
                if code in ROW_CODES:
                    raise RowsRefused(_brief(error)) from error
                raise_permanent(code, error, self._store)
                failures += 1
                self._wait(what, code, failures, error)
            else:
                self._waiting.pop(me, None)
                return result

    def _wait(self, what: str, code: int, failures: int, error: Exception) -> None:
        self._waiting[threading.get_ident()] = f"the store does not take {what}: {_brief(error)}"
        self._metrics.inc("worker_store_failures_total", reason=str(code or "connection"))
        if self._complaints.due(time.monotonic()):
            log.warning("the store at %s does not take %s, trying until it does: %s", self._store.url, what, _brief(error))
        client = self._own.__dict__.pop("client", None)
        if client is not None:
            client.close()
        if self._stop.wait(self._backoff.wait(failures)):
            raise TemporaryError(f"gave up on the store at {self._store.url}, which does not take {what}: {_brief(error)}")


def raise_permanent(code: int, error: Exception, store: StoreSettings) -> None:
    """Raise `PermanentError` for the codes that a person must act upon; return for all others."""
    if code in SCHEMA_CODES:
        raise PermanentError(
            f"the store's schema is not this version's ({SCHEMA_CODES[code]}): run `trainwirectl migrate up` "
            f"for database {store.database}; {_brief(error)}"
        ) from error
    if code in RIGHTS_CODES:
        raise PermanentError(
            f"the store refuses user {store.user!r} ({RIGHTS_CODES[code]}): correct TRAINWIRE_CLICKHOUSE_USER and "
            f"TRAINWIRE_CLICKHOUSE_PASSWORD, or the user's rights; {_brief(error)}"
        ) from error


def _send(client: Client, table: str, columns: Columns, token: str) -> None:
    types = TABLES[table]
    context = client.create_insert_context(
        table,
        column_names=list(types),
        column_type_names=list(types.values()),
        column_oriented=True,
        data=columns,
        # We batch ourselves, and the acknowledgement must mean stored; async inserts are on by default since 26.3.
        settings={"async_insert": 0, "insert_deduplication_token": token},
    )
    try:
        client.insert(context=context)
    finally:
        context.__dict__.clear()  # it holds a method of its own: the collector would free it and all columns, some batches later


def _brief(error: Exception) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0][:300]
