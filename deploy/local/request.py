"""A request of ClickHouse's HTTP interface, decoded: who asks, what for, and in which form the answer is wanted."""

from __future__ import annotations

import base64
import binascii
import dataclasses
import email.parser
import email.policy
import hmac
import secrets
from collections.abc import Iterator, Mapping
from email.message import Message
from io import BufferedIOBase

from deploy.local import blocks, codecs
from deploy.local.engine import SESSION_TIMEOUT, Query
from deploy.local.errors import AUTHENTICATION_FAILED, BAD_ARGUMENTS, NOT_IMPLEMENTED, EngineError
from deploy.local.lexer import names

BODY_MOST = 1 << 30  # bytes of a request's body: an insert is held whole before it is decompressed
YES = ("1", "true")
# Names in a URL that speak to the interface; all others are settings of the engine.
INTERFACE = names(
    "query database default_format session_id session_timeout session_check query_id user password compress decompress "
    "client_protocol_version wait_end_of_query buffer_size quota_key stacktrace role enable_http_compression "
    "http_response_headers"
)
# How clickhouse-go opens each connection. The engine in a process writes Native at revision 0 only, so that is the revision that
# it is told, and all blocks behind this answer are read as such. The answer itself is read at the client's own revision.
GREETING = b"SELECT displayName(), version(), revision(), timezone()"
GREETING_AT_REVISION_0 = GREETING.replace(b"revision()", b"toUInt32(0) AS `revision()`")
CUSTOM_SERIALIZATION = 54_454  # the revision from which on each column says whether it is serialized in a way of its own


@dataclasses.dataclass(frozen=True)
class Form:
    """How an answer is wanted."""

    encoding: str | None  # of HTTP
    blocks: bool  # in ClickHouse's own compressed blocks
    whole: bool  # only when it is complete: then a failure is always told by the status

    @classmethod
    def of(cls, arguments: Mapping[str, str], headers: Message) -> Form:
        asked = arguments.get("enable_http_compression") in YES
        return cls(
            encoding=codecs.negotiate(headers.get("Accept-Encoding", "")) if asked else None,
            blocks=arguments.get("compress") in YES,
            whole=arguments.get("wait_end_of_query") in YES,
        )


def read_body(headers: Message, stream: BufferedIOBase) -> bytes:
    """The whole body. Raises `EngineError` for one that is too large or not framed as HTTP says."""
    try:
        if "chunked" in headers.get("Transfer-Encoding", "").lower():
            return b"".join(_chunks(stream))
        length = int(headers.get("Content-Length") or 0)
    except ValueError as error:
        raise EngineError(BAD_ARGUMENTS, "BAD_ARGUMENTS", f"The body's length is not understood: {error}") from error
    if length > BODY_MOST:
        raise _too_large()
    return stream.read(length) if length else b""


def _chunks(stream: BufferedIOBase) -> Iterator[bytes]:
    left = BODY_MOST
    while size := int(stream.readline(100).partition(b";")[0], 16):
        left -= size
        if left < 0:
            raise _too_large()
        yield stream.read(size)
        stream.readline(100)
    while stream.readline(10_000) not in (b"\r\n", b"\n", b""):  # trailers
        pass


def _too_large() -> EngineError:
    return EngineError(BAD_ARGUMENTS, "BAD_ARGUMENTS", f"The body is larger than {BODY_MOST} bytes: send smaller inserts")


def authenticate(arguments: Mapping[str, str], headers: Message, passwords: Mapping[str, str]) -> str:
    """The user's name, by header, Basic authentication or URL, as a server takes them."""
    user = headers.get("X-ClickHouse-User") or arguments.get("user") or ""
    password = headers.get("X-ClickHouse-Key") or arguments.get("password") or ""
    scheme, _, credentials = headers.get("Authorization", "").partition(" ")
    if scheme.lower() == "basic":
        try:
            user, _, password = base64.b64decode(credentials, validate=True).decode().partition(":")
        except (binascii.Error, UnicodeDecodeError):
            user, password = "", ""
    known = passwords.get(user)
    # Compared even for an unknown user, so that the time does not tell which users exist.
    same = hmac.compare_digest((known or secrets.token_hex()).encode(), password.encode())
    if known is None or not same:
        reason = f"{user or 'default'}: Authentication failed: password is incorrect, or there is no user with such name"
        raise EngineError(AUTHENTICATION_FAILED, "AUTHENTICATION_FAILED", reason)
    return user


def query(arguments: dict[str, str], headers: Message, body: bytes, *, user: str, safe_method: bool) -> Query:
    """`safe_method`: GET and HEAD change nothing, whoever sends them."""
    if headers.get("Content-Type", "").lower().startswith("multipart/form-data"):
        arguments, body = {**arguments, **_form_fields(headers, body)}, b""
    body = codecs.decompress(headers.get("Content-Encoding", ""), body)
    if arguments.get("decompress") in YES:
        body = blocks.decode(body)
    sql = arguments.get("query", "").encode("utf-8", "surrogateescape")
    sql = sql + b"\n" + body if sql and body else sql or body
    viewer, session = user != "writer", arguments.get("session_id")
    return Query(
        sql=_greeting(arguments) if sql.strip().rstrip(b";") == GREETING else sql,
        settings={k: v for k, v in arguments.items() if k not in INTERFACE and not k.startswith("param_")},
        params={k.removeprefix("param_"): v for k, v in arguments.items() if k.startswith("param_")},
        database=arguments.get("database") or headers.get("X-ClickHouse-Database") or "",
        reader=viewer or safe_method,
        # In a writer's session the setting would stay for the next query; there the statement's kind alone decides.
        readonly=viewer or (safe_method and not session),
        default_format=arguments.get("default_format") or headers.get("X-ClickHouse-Format") or "TabSeparated",
        session=f"{user}:{session}" if session else "",
        session_timeout=_number(arguments, "session_timeout", SESSION_TIMEOUT),
        session_check=arguments.get("session_check") in YES,
    )


def _greeting(arguments: Mapping[str, str]) -> bytes:
    """The greeting's query; where Native is wanted at a revision, one that makes the bytes of that block itself.

    A block is its info (not an overflow, no bucket), the numbers of columns and rows, then name, type and data of each column;
    texts are shorter than 128 bytes, so their length is one byte.
    """
    revision = _number(arguments, "client_protocol_version", 0)
    if revision == 0 or arguments.get("default_format") != "Native":
        return GREETING_AT_REVISION_0
    custom = b"\0" if revision >= CUSTOM_SERIALIZATION else b""
    parts = ["unhex('010002ffffffff000401')"]
    for name, kind in (("displayName()", "String"), ("version()", "String"), ("revision()", "UInt32"), ("timezone()", "String")):
        head = bytes([len(name)]) + name.encode() + bytes([len(kind)]) + kind.encode() + custom
        parts.append(f"unhex('{head.hex()}')")
        parts.append(f"char(length({name})), {name}" if kind == "String" else "unhex('00000000')")
    return f"SELECT concat({', '.join(parts)}) FORMAT RawBLOB".encode()


def _form_fields(headers: Message, body: bytes) -> dict[str, str]:
    head = f"Content-Type: {headers['Content-Type']}\r\n\r\n".encode()
    message = email.parser.BytesParser(policy=email.policy.HTTP).parsebytes(head + body)
    fields: dict[str, str] = {}
    for part in message.iter_parts():
        if part.get_filename():
            raise EngineError(NOT_IMPLEMENTED, "NOT_IMPLEMENTED", "External tables are not served here: use a temporary table")
        content = part.get_payload(decode=True)
        name = str(part.get_param("name", header="content-disposition"))
        fields[name] = content.decode("utf-8", "surrogateescape") if isinstance(content, bytes) else ""
    return fields


def _number(arguments: Mapping[str, str], name: str, default: int) -> int:
    try:
        return int(arguments.get(name) or default)
    except ValueError:
        raise EngineError(BAD_ARGUMENTS, "BAD_ARGUMENTS", f"{name} must be a whole number") from None
