"""`/metrics`, `/healthz` and `/readyz` of a program without a web server of its own, from a thread.

Healthy says: restarting me would not help. Ready says: I can do my work now. So a store that is away makes a worker
unready and leaves it healthy: a restart would only lose its place.
"""

from __future__ import annotations

import http.server
import threading
from collections.abc import Callable

from runtime.errors import PermanentError
from runtime.metrics import Metrics

Check = Callable[[], "str | None"]  # None: fine; else what is wrong, in a sentence


class HealthServer:
    """Serve until `close()`. Raises `PermanentError` when the port is taken."""

    def __init__(self, address: tuple[str, int], metrics: Metrics, healthy: Check, ready: Check) -> None:
        checks = {"/healthz": healthy, "/readyz": ready}

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self) -> None:  # the name that http.server calls
                path = self.path.partition("?")[0]
                if path == "/metrics":
                    self._answer(200, metrics.render(), "text/plain; version=0.0.4; charset=utf-8")
                elif path in checks:
                    wrong = checks[path]()
                    self._answer(503 if wrong else 200, f"{wrong or 'ok'}\n".encode(), "text/plain; charset=utf-8")
                else:
                    self._answer(404, b"try /metrics, /healthz or /readyz\n", "text/plain; charset=utf-8")

            def _answer(self, status: int, body: bytes, kind: str) -> None:
                self.send_response(status)
                self.send_header("Content-Type", kind)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, format: str, *args: object) -> None:
                """Probes come every few seconds; they are not worth a line."""

        try:
            self._server = http.server.ThreadingHTTPServer(address, Handler)
        except OSError as error:
            raise PermanentError(
                f"cannot listen on {address[0]}:{address[1]} ({error.strerror}); choose another port, 0 for a free one"
            ) from error
        self._thread = threading.Thread(target=self._server.serve_forever, name="health", daemon=True)
        self._thread.start()

    @property
    def port(self) -> int:
        return int(self._server.server_address[1])

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()
