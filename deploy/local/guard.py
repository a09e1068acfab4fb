"""What users of the front may say. The engine in a process has no users: their rights are decided here, by tokens.

Both users are bound to the database: nothing may read or write this machine's files or network. `viewer` may read only.
"""

from __future__ import annotations

from collections.abc import Iterable

from deploy.local.errors import ACCESS_DENIED, SYNTAX_ERROR, EngineError
from deploy.local.lexer import Kind, Token, names

# Table functions that stay inside the database; every other name of `system.table_functions` is refused.
INNER_TABLE_FUNCTIONS = names(
    "numbers numbers_mt zeros zeros_mt primes generate_series generateSeries generateRandom values SQLStandardValues null "
    "view viewIfPermitted viewExplain merge mergeTreeIndex mergeTreeProjection mergeTreeTextIndex mergeTreeCodecBlockCounts "
    "mergeTreeAnalyzeIndexes format input loop fuzzQuery timeSeriesData timeSeriesTags timeSeriesMetrics"
)
# Functions inside expressions that reach files, programs or models, and `disk(…)`, which names storage by settings.
LEAVING_FUNCTIONS = names(
    "file catboostevaluate disk executable python aiclassify aiembed aiextract aifilter aigenerate airedact aisimilarity "
    "aitranslate"
)
ENGINES = names(
    "MergeTree ReplacingMergeTree SummingMergeTree AggregatingMergeTree CollapsingMergeTree VersionedCollapsingMergeTree "
    "GraphiteMergeTree CoalescingMergeTree Memory Null Log TinyLog StripeLog Set Join Buffer Merge View MaterializedView "
    "Dictionary GenerateRandom Alias Atomic"
)
# Not listed by the engine, yet made by it: the file system laid over a database.
LEAVING_ENGINES = names("Overlay Filesystem Kafka")
# What each of these settings names is a file.
FILE_SETTINGS = ("format_template", "format_schema")
READING = frozenset(("SELECT", "WITH", "FROM", "SHOW", "DESCRIBE", "DESC", "EXPLAIN", "EXISTS", "SET", "USE", "("))


class Guard:
    """The rights of the two users, for one engine."""

    def __init__(self, table_functions: Iterable[str], engines: Iterable[str]) -> None:
        """Every table function, and every engine of tables and databases, that the engine knows."""
        self._leaving = ({name.lower() for name in table_functions} | LEAVING_FUNCTIONS) - INNER_TABLE_FUNCTIONS
        self._leaving_engines = ({name.lower() for name in engines} | LEAVING_ENGINES) - ENGINES

    def check(self, found: list[Token], *, reader: bool) -> None:
        """Raise `EngineError` when the statement is not allowed; `found` is the statement up to an INSERT's data."""
        if not found:
            raise EngineError(SYNTAX_ERROR, "SYNTAX_ERROR", "Empty query")
        first = "(" if found[0].text == "(" else found[0].word()
        if reader and first not in READING:
            raise _denied(f"this user may only read: {found[0].text} is not allowed")
        if first in ("BACKUP", "RESTORE"):
            raise _denied(f"{first} leaves the database")
        if first == "SYSTEM" and len(found) > 1 and found[1].word() in ("SHUTDOWN", "KILL"):
            raise _denied("stop the service with `trainwirectl down`")
        makes = any(token.word() in ("CREATE", "ATTACH", "REPLACE") for token in found)
        for index, token in enumerate(found):
            following = found[index + 1] if index + 1 < len(found) else None
            self._check_one(token, following, found, index, makes)

    def check_setting(self, name: str) -> None:
        if name.lower().startswith(FILE_SETTINGS):
            raise _denied(f"the setting {name} reads files")

    def _check_one(self, token: Token, following: Token | None, found: list[Token], index: int, makes: bool) -> None:
        word = token.word()
        if token.kind is Kind.ODD:
            raise EngineError(SYNTAX_ERROR, "SYNTAX_ERROR", f"Syntax error: {token.text!r} is not allowed here: use plain quotes")
        if token.text == ";" and following is not None:
            raise EngineError(SYNTAX_ERROR, "SYNTAX_ERROR", "Syntax error (Multi-statements are not allowed)")
        if token.kind in (Kind.WORD, Kind.NAME):
            if following is not None and following.text == "(" and following.kind is Kind.SYMBOL:
                self._check_call(token)
            self.check_setting(token.text)
        if following is None:
            return
        if (word, following.word()) in (("INTO", "OUTFILE"), ("FROM", "INFILE")):
            raise _denied(f"{word} {following.word()} leaves the database")
        if makes and word == "ENGINE":
            named = found[index + 2] if following.text == "=" and index + 2 < len(found) else following
            # A column may be called `engine` too: then no engine's name stands behind it.
            if named.text.lower() in self._leaving_engines or "\\" in named.text:
                raise _denied(f"the engine {named.text} leaves the database, or does not work on one machine")
        if makes and word == "SOURCE" and following.text == "(" and index + 2 < len(found):
            if found[index + 2].text.upper() not in ("CLICKHOUSE", "NULL"):
                raise _denied(f"the dictionary source {found[index + 2].text} leaves the database")
            if any(later.word() in ("HOST", "PORT") for later in found[index:]):
                raise _denied("a dictionary's source must be this database: leave HOST and PORT out")
        if word == "FROM" and found[0].word() == "ATTACH" and following.kind is Kind.STRING:
            raise _denied("ATTACH … FROM a path leaves the database")

    def _check_call(self, token: Token) -> None:
        if token.kind is Kind.NAME and "\\" in token.text:
            raise _denied("a function's name must be written without escapes")
        if token.text.lower() in self._leaving:
            raise _denied(f"the function {token.text} leaves the database")


def _denied(reason: str) -> EngineError:
    return EngineError(ACCESS_DENIED, "ACCESS_DENIED", f"Not enough privileges: {reason}")
