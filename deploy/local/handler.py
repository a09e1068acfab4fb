"""One connection of ClickHouse's HTTP interface: requests in, answers and failures out.

Source of the protocol: ClickHouse's documentation of its HTTP interface, and what clickhouse-connect and clickhouse-go send.
"""

from __future__ import annotations

import http.server
import itertools
import json
import logging
import secrets
import urllib.parse
import uuid
from collections.abc import Iterator, Mapping

from deploy.local import blocks, codecs, request
from deploy.local.engine import Answer, Engine, Summary
from deploy.local.errors import UNKNOWN_EXCEPTION, EngineError
from deploy.local.request import Form

log = logging.getLogger("front")


class Handler(http.server.BaseHTTPRequestHandler):
    """A subclass gives it the engine and the users' passwords."""

    engine: Engine
    passwords: Mapping[str, str]

    protocol_version = "HTTP/1.1"
    wbufsize = 1 << 20  # one write an answer: head and body in two packets cost 40 ms with delayed acknowledgements
    disable_nagle_algorithm = True
    timeout = 600  # seconds an idle connection is kept

    def do_GET(self) -> None:
        url = urllib.parse.urlsplit(self.path)
        self._query_id = str(uuid.uuid4())
        try:
            body = request.read_body(self.headers, self.rfile)
        except EngineError as error:
            self.close_connection = True  # where the next request would begin is not known
            self._fail(error)
            return
        if url.path in ("/ping", "/replicas_status"):
            self._send(200, {"Content-Type": "text/html; charset=UTF-8"}, b"Ok.\n")
        elif url.path not in ("/", ""):
            self._send(404, {"Content-Type": "text/plain"}, f"There is no handle {url.path}; use / or /ping\n".encode())
        else:
            self._query(dict(urllib.parse.parse_qsl(url.query, keep_blank_values=True)), body)

    do_POST = do_HEAD = do_GET

    def _query(self, arguments: dict[str, str], body: bytes) -> None:
        self._query_id = arguments.get("query_id") or self._query_id
        in_blocks = False
        try:
            user = request.authenticate(arguments, self.headers, self.passwords)
            form = Form.of(arguments, self.headers)
            in_blocks = form.blocks
            safe = self.command in ("GET", "HEAD")
            query = request.query(arguments, self.headers, body, user=user, safe_method=safe)
            with self.engine.run(query) as answer:
                self._answer(answer, form)
        except EngineError as error:
            self._fail(error, in_blocks=in_blocks)
        except (ConnectionError, TimeoutError):
            self.close_connection = True  # the client is gone: nobody is left to tell
        except Exception:
            # A fault of this front. The client gets a failure and the log the reason; the other connections go on.
            log.exception("a request failed")
            self.close_connection = True
            self._fail(EngineError(UNKNOWN_EXCEPTION, "UNKNOWN_EXCEPTION", "The front failed; its log has the reason"))

    def _answer(self, answer: Answer, form: Form) -> None:
        """Send it whole when it is short or waited for, else as chunks: bounded memory, however large the result."""
        chunks = (blocks.encode(chunk) for chunk in answer.chunks) if form.blocks else answer.chunks
        first = next(chunks, b"")
        second = None if form.whole else next(chunks, None)
        if second is None:
            body = first + b"".join(chunks)
            encoding = form.encoding if body else None
            self._send(200, self._headers(answer, encoding), codecs.compress(encoding, body) if encoding else body)
            return
        tag = secrets.token_hex(8)
        headers = self._headers(answer, form.encoding)
        self._head(200, headers | {"X-ClickHouse-Exception-Tag": tag, "Transfer-Encoding": "chunked"})
        if self.command == "HEAD":
            return
        compressor = codecs.Stream(form.encoding)
        for chunk in self._with_failure(itertools.chain((first, second), chunks), tag):
            self._chunk(compressor.add(chunk))
        self._chunk(compressor.end())
        self.wfile.write(b"0\r\n\r\n")

    def _with_failure(self, chunks: Iterator[bytes], tag: str) -> Iterator[bytes]:
        """The status is sent already: a late failure goes into the body, in the form that clients look for there."""
        try:
            yield from chunks
        except EngineError as error:
            text = error.render(self.engine.version)
            yield f"\r\n__exception__\r\n{tag}\r\n{text}{len(text)} {tag}\r\n__exception__\r\n".encode()

    def _headers(self, answer: Answer, encoding: str | None) -> dict[str, str]:
        headers = {
            "Content-Type": content_type(answer.format),
            "X-ClickHouse-Server-Display-Name": self.engine.display_name,
            "X-ClickHouse-Query-Id": self._query_id,
            "X-ClickHouse-Format": answer.format,
            "X-ClickHouse-Timezone": self.engine.timezone,
            "X-ClickHouse-Summary": summary_text(answer.summary),
        }
        return headers | {"Content-Encoding": encoding} if encoding else headers

    def _fail(self, error: EngineError, *, in_blocks: bool = False) -> None:
        """`in_blocks`: the client said so, and reads failures as it reads answers."""
        headers = {
            "Content-Type": "text/plain; charset=UTF-8",
            "X-ClickHouse-Exception-Code": str(error.code),
            "X-ClickHouse-Query-Id": self._query_id,
        }
        text = error.render(self.engine.version).encode("utf-8", "replace")
        self._send(error.status, headers, blocks.encode(text) if in_blocks else text)

    def _send(self, status: int, headers: Mapping[str, str], body: bytes) -> None:
        self._head(status, {**headers, "Content-Length": str(len(body))})
        if self.command != "HEAD":
            self.wfile.write(body)

    def _head(self, status: int, headers: Mapping[str, str]) -> None:
        self.send_response(status)
        for name, value in headers.items():
            # Query ids come from the client: a line end in one would begin a header of its choice.
            self.send_header(name, "".join(c for c in value if c.isprintable() and c.isascii()))
        self.end_headers()

    def _chunk(self, data: bytes) -> None:
        if data:  # an empty chunk would end the answer
            self.wfile.write(b"%x\r\n" % len(data) + data + b"\r\n")

    def log_message(self, format: str, *args: object) -> None:
        """Hundreds of queries a second are not worth a line each; failures go to whoever asked."""


def content_type(output: str) -> str:
    """As a server names the formats that clients look at."""
    lower = output.lower()
    if "json" in lower:
        return "application/x-ndjson; charset=UTF-8" if "eachrow" in lower else "application/json; charset=UTF-8"
    if lower.startswith("csv"):
        return "text/csv; charset=UTF-8; header=" + ("present" if "withnames" in lower else "absent")
    if lower.startswith(("tabseparated", "tsv")):
        return "text/tab-separated-values; charset=UTF-8"
    return (
        "application/octet-stream"
        if lower in ("native", "rowbinary", "parquet", "arrow", "null")
        else "text/plain; charset=UTF-8"
    )


def summary_text(summary: Summary) -> str:
    """X-ClickHouse-Summary: a JSON object of figures as strings."""
    figures = {
        "read_rows": summary.read_rows,
        "read_bytes": summary.read_bytes,
        "written_rows": summary.written_rows,
        "written_bytes": summary.written_bytes,
        "total_rows_to_read": summary.read_rows,
        "result_rows": summary.result_rows or summary.written_rows,
        "elapsed_ns": int(summary.elapsed * 1e9),
    }
    return json.dumps({name: str(value) for name, value in figures.items()})
