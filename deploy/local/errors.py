"""Failures of a query: ClickHouse's code and name, and the HTTP status that a server answers with."""

from __future__ import annotations

import re

SYNTAX_ERROR = 62
NOT_IMPLEMENTED = 48
READONLY = 164
SESSION_NOT_FOUND = 372
SESSION_IS_LOCKED = 373
ACCESS_DENIED = 497
AUTHENTICATION_FAILED = 516
UNKNOWN_EXCEPTION = 1002
BAD_ARGUMENTS = 36
UNKNOWN_FORMAT = 73
CANNOT_DECOMPRESS = 271

# `exceptionCodeToHTTPStatus` of ClickHouse; what is not here answers 500.
_STATUS = {
    400: (6, 26, 27, 33, 36, 38, 41, 53, 62, 69, 70, 72, 131, 179, 457, 456, 321, 271),
    401: (194,),
    403: (164, 192, 193, 497, 516),
    404: (46, 47, 50, 56, 60, 63, 73, 81, 107, 115, 372),
    408: (159,),
    413: (65,),
    501: (48,),
    503: (209, 210, 439),
}
_BY_CODE = {code: status for status, codes in _STATUS.items() for code in codes}
_MESSAGE = re.compile(r"Code: (\d+)\. DB::\w+: (.*)", re.DOTALL)
_NAME = re.compile(r"\(([A-Z][A-Z0-9_]+)\)(?: \(version [\d.]+\))?\.?\s*$")
_VERSION = re.compile(r" \(version [\d.]+(?: \([^)]*\))?\)")


class EngineError(Exception):
    """A query failed. `code` and `name` are ClickHouse's."""

    def __init__(self, code: int, name: str, message: str) -> None:
        super().__init__(message)
        self.code, self.name, self.message = code, name, message

    @classmethod
    def parse(cls, text: str) -> EngineError:
        """From the engine's own words: `Code: 60. DB::Exception: … (UNKNOWN_TABLE)`, some of them nested."""
        message = text
        code = UNKNOWN_EXCEPTION
        while found := _MESSAGE.search(message):  # the innermost is the reason, the outer ones repeat it
            code, message = int(found[1]), found[2]
        message = _VERSION.sub("", message)
        name = "UNKNOWN_EXCEPTION"
        while named := _NAME.search(message):
            name, message = named[1], message[: named.start()].rstrip(". ")
        return cls(code, name, message)

    @property
    def status(self) -> int:
        return _BY_CODE.get(self.code, 500)

    def render(self, version: str) -> str:
        return f"Code: {self.code}. DB::Exception: {self.message}. ({self.name}) (version {version} (official build))\n"
