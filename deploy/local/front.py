"""ClickHouse's HTTP interface over the engine in this process: `python -m deploy.local.front DATA PORT CREDENTIALS`.

Source of the protocol: ClickHouse's documentation of its HTTP interface, and what clickhouse-connect and clickhouse-go send.
"""

from __future__ import annotations

import base64
import binascii
import email.parser
import email.policy
import hmac
import http.server
import itertools
import json
import logging
import secrets
import sys
import threading
import time
import urllib.parse
import uuid
from collections.abc import Iterator, Mapping
from pathlib import Path

from deploy.local import codecs
from deploy.local.engine import SESSION_TIMEOUT, Answer, Engine, Query, Summary
from deploy.local.errors import AUTHENTICATION_FAILED, BAD_ARGUMENTS, NOT_IMPLEMENTED, EngineError
from deploy.local.lexer import names
from runtime import logs, signals

log = logging.getLogger("front")

BODY_MOST = 1 << 30  # bytes of a request's body: an insert is held whole before it is decompressed
# Names in a URL that speak to the interface; all others are settings of the engine.
INTERFACE = names(
    "query database default_format session_id session_timeout session_check query_id user password compress decompress "
    "client_protocol_version wait_end_of_query buffer_size quota_key stacktrace role enable_http_compression "
    "http_response_headers"
)
# How clickhouse-go opens each connection. The engine in a process writes Native at revision 0 only, and a client that is
# told a higher one expects blocks with more in them.
GREETING = "SELECT displayName(), version(), revision(), timezone()"


class Front(http.server.ThreadingHTTPServer):
    """Serves one engine to the users of `passwords`."""

    daemon_threads = True
    request_queue_size = 128

    def __init__(self, port: int, engine: Engine, passwords: Mapping[str, str]) -> None:
        self.engine, self.passwords = engine, dict(passwords)
        super().__init__(("127.0.0.1", port), Handler)


class Handler(http.server.BaseHTTPRequestHandler):
    server: Front
    protocol_version = "HTTP/1.1"
    wbufsize = 1 << 20  # one write an answer: head and body in two packets cost 40 ms with delayed acknowledgements
    disable_nagle_algorithm = True
    timeout = 600  # seconds an idle connection is kept

    def do_GET(self) -> None:
        self._handle()

    do_POST = do_HEAD = do_GET

    def _handle(self) -> None:
        url = urllib.parse.urlsplit(self.path)
        if url.path in ("/ping", "/replicas_status"):
            self._simple(200, b"Ok.\n")
            return
        if url.path not in ("/", ""):
            self._body()
            self._simple(404, f"There is no handle {url.path}\nUse / or /ping for health checks.\n".encode())
            return
        self._query_id = str(uuid.uuid4())
        try:
            arguments = dict(urllib.parse.parse_qsl(url.query, keep_blank_values=True))
            self._query_id = arguments.get("query_id") or self._query_id
            body = self._body()
            user = self._authenticate(arguments)
            self._run(user, arguments, body)
        except EngineError as error:
            self._fail(error)

    # What came

    def _body(self) -> bytes:
        if "chunked" in self.headers.get("Transfer-Encoding", "").lower():
            return b"".join(self._chunks())
        length = int(self.headers.get("Content-Length") or 0)
        if length > BODY_MOST:
            self.close_connection = True
            raise EngineError(BAD_ARGUMENTS, "BAD_ARGUMENTS", f"The body is larger than {BODY_MOST} bytes: send smaller inserts")
        return self.rfile.read(length) if length else b""

    def _chunks(self) -> Iterator[bytes]:
        left = BODY_MOST
        while size := int(self.rfile.readline(100).partition(b";")[0], 16):
            left -= size
            if left < 0:
                self.close_connection = True
                raise EngineError(
                    BAD_ARGUMENTS, "BAD_ARGUMENTS", f"The body is larger than {BODY_MOST} bytes: send smaller inserts"
                )
            yield self.rfile.read(size)
            self.rfile.readline(100)
        while self.rfile.readline(10_000) not in (b"\r\n", b"\n", b""):  # trailers
            pass

    def _authenticate(self, arguments: Mapping[str, str]) -> str:
        user = self.headers.get("X-ClickHouse-User") or arguments.get("user") or ""
        password = self.headers.get("X-ClickHouse-Key") or arguments.get("password") or ""
        scheme, _, credentials = self.headers.get("Authorization", "").partition(" ")
        if scheme.lower() == "basic":
            try:
                user, _, password = base64.b64decode(credentials, validate=True).decode().partition(":")
            except (binascii.Error, UnicodeDecodeError):
                user, password = "", ""
        known = self.server.passwords.get(user)
        # Compared even for an unknown user, so that the time does not tell which users exist.
        same = hmac.compare_digest((known or secrets.token_hex()).encode(), password.encode())
        if known is None or not same:
            reason = f"{user or 'default'}: Authentication failed: password is incorrect, or there is no user with such name"
            raise EngineError(AUTHENTICATION_FAILED, "AUTHENTICATION_FAILED", reason)
        return user

    def _run(self, user: str, arguments: dict[str, str], body: bytes) -> None:
        if self.headers.get("Content-Type", "").lower().startswith("multipart/form-data"):
            arguments |= self._form(body)
            body = b""
        body = codecs.decompress(self.headers.get("Content-Encoding", ""), body)
        sql = arguments.get("query", "").encode("utf-8", "surrogateescape")
        sql = sql + b"\n" + body if sql and body else sql or body
        if sql.strip().rstrip(b";") == GREETING.encode():
            sql = GREETING.replace("revision()", "toUInt64(0) AS `revision()`").encode()
        settings = {k: v for k, v in arguments.items() if k not in INTERFACE and not k.startswith("param_")}
        query = Query(
            sql=sql,
            settings=settings,
            params={k[len("param_") :]: v for k, v in arguments.items() if k.startswith("param_")},
            database=arguments.get("database") or self.headers.get("X-ClickHouse-Database") or "",
            reader=user != "writer" or self.command in ("GET", "HEAD"),
            default_format=arguments.get("default_format") or self.headers.get("X-ClickHouse-Format") or "TabSeparated",
            session=f"{user}:{arguments['session_id']}" if arguments.get("session_id") else "",
            session_timeout=_number(arguments, "session_timeout", SESSION_TIMEOUT),
            session_check=arguments.get("session_check") == "1",
        )
        encoding = None
        if arguments.get("enable_http_compression") in ("1", "true"):
            encoding = codecs.negotiate(self.headers.get("Accept-Encoding", ""))
        with self.server.engine.run(query) as answer:
            self._answer(answer, encoding, wait=arguments.get("wait_end_of_query") in ("1", "true"))

    def _form(self, body: bytes) -> dict[str, str]:
        head = f"Content-Type: {self.headers['Content-Type']}\r\n\r\n".encode()
        message = email.parser.BytesParser(policy=email.policy.HTTP).parsebytes(head + body)
        fields: dict[str, str] = {}
        for part in message.iter_parts():
            if part.get_filename():
                raise EngineError(
                    NOT_IMPLEMENTED, "NOT_IMPLEMENTED", "External tables are not served here: use a temporary table"
                )
            name = part.get_param("name", header="content-disposition")
            content = part.get_payload(decode=True)
            fields[str(name)] = content.decode("utf-8", "surrogateescape") if isinstance(content, bytes) else ""
        return fields

    # What goes

    def _answer(self, answer: Answer, encoding: str | None, *, wait: bool) -> None:
        """Send it whole when it is short or waited for, else as chunks: bounded memory, however large the result."""
        first = next(answer.chunks, b"")
        second = None if wait else next(answer.chunks, None)
        if second is None:
            whole = first + b"".join(answer.chunks)
            self._head(200, answer.format, encoding, answer.summary)
            body = codecs.compress(encoding, whole) if encoding and whole else whole
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(body)
            return
        self._head(200, answer.format, None, answer.summary)
        tag = secrets.token_hex(8)
        self.send_header("X-ClickHouse-Exception-Tag", tag)
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        try:
            for chunk in itertools.chain((first, second), answer.chunks):
                self._chunk(chunk)
        except EngineError as error:
            # The status is sent already: the reason goes into the body, in the form that clients look for there.
            text = error.render(self.server.engine.version)
            self._chunk(f"\r\n__exception__\r\n{tag}\r\n{text}{len(text)} {tag}\r\n__exception__\r\n".encode())
        self.wfile.write(b"0\r\n\r\n")

    def _chunk(self, data: bytes) -> None:
        self.wfile.write(b"%x\r\n" % len(data) + data + b"\r\n")

    def _head(self, status: int, output: str, encoding: str | None, summary: Summary) -> None:
        engine = self.server.engine
        self.send_response(status)
        self.send_header("Content-Type", _content_type(output))
        self.send_header("X-ClickHouse-Server-Display-Name", engine.display_name)
        self.send_header("X-ClickHouse-Query-Id", self._query_id)
        self.send_header("X-ClickHouse-Format", output)
        self.send_header("X-ClickHouse-Timezone", engine.timezone)
        self.send_header("X-ClickHouse-Summary", _summary(summary))
        if encoding:
            self.send_header("Content-Encoding", encoding)

    def _fail(self, error: EngineError) -> None:
        self.send_response(error.status)
        self.send_header("X-ClickHouse-Exception-Code", str(error.code))
        self.send_header("X-ClickHouse-Query-Id", self._query_id)
        body = error.render(self.server.engine.version).encode("utf-8", "replace")
        self.send_header("Content-Type", "text/plain; charset=UTF-8")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def _simple(self, status: int, body: bytes) -> None:
        self.send_response(status)
        self.send_header("Content-Type", "text/html; charset=UTF-8")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        """Hundreds of queries a second are not worth a line each; failures go to whoever asked."""


def _number(arguments: Mapping[str, str], name: str, default: int) -> int:
    try:
        return int(arguments.get(name) or default)
    except ValueError:
        raise EngineError(BAD_ARGUMENTS, "BAD_ARGUMENTS", f"{name} must be a whole number") from None


def _content_type(output: str) -> str:
    lower = output.lower()
    if "json" in lower:
        return "application/json; charset=UTF-8" if "eachrow" not in lower else "application/x-ndjson; charset=UTF-8"
    if lower.startswith("csv"):
        return "text/csv; charset=UTF-8; header=" + ("present" if "withnames" in lower else "absent")
    if lower.startswith(("tabseparated", "tsv")):
        return "text/tab-separated-values; charset=UTF-8"
    return (
        "application/octet-stream"
        if lower in ("native", "rowbinary", "parquet", "arrow", "null")
        else "text/plain; charset=UTF-8"
    )


def _summary(summary: Summary) -> str:
    figures = {
        "read_rows": summary.read_rows,
        "read_bytes": summary.read_bytes,
        "written_rows": summary.written_rows,
        "written_bytes": summary.written_bytes,
        "total_rows_to_read": summary.read_rows,
        "result_rows": summary.result_rows or summary.written_rows,
        "result_bytes": summary.written_bytes,
        "elapsed_ns": int(summary.elapsed * 1e9),
    }
    return json.dumps({name: str(value) for name, value in figures.items()})


def main(arguments: list[str]) -> int:
    logs.setup("front")
    data, port, credentials = Path(arguments[0]), int(arguments[1]), Path(arguments[2])
    stop = signals.stop_event()
    engine = Engine(data)
    front = Front(port, engine, json.loads(credentials.read_text()))
    threading.Thread(target=front.serve_forever, name="accept", daemon=True).start()
    log.info("serving ClickHouse %s on 127.0.0.1:%s", engine.version, front.server_address[1])
    while not stop.wait(1):
        engine.expire(time.monotonic())
    front.shutdown()
    front.server_close()
    engine.close()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
