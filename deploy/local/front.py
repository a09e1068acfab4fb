"""ClickHouse's HTTP interface over the engine in this process: `python -m deploy.local.front DATA PORT CREDENTIALS [HOST]`.

CREDENTIALS is a JSON file of user names and passwords; `writer` may write, everybody else may read.
"""

from __future__ import annotations

import http.server
import json
import logging
import sys
import threading
import time
from collections.abc import Mapping
from pathlib import Path

from deploy.local.engine import Engine
from deploy.local.handler import Handler
from runtime import logs, signals

log = logging.getLogger("front")


class Front(http.server.ThreadingHTTPServer):
    """Serves one engine, a thread a connection."""

    daemon_threads = True
    request_queue_size = 128

    def __init__(self, address: tuple[str, int], engine: Engine, passwords: Mapping[str, str]) -> None:
        bound = type("BoundHandler", (Handler,), {"engine": engine, "passwords": dict(passwords)})
        super().__init__(address, bound)

    def handle_error(self, request: object, client_address: object) -> None:  # noqa: ARG002  # socketserver's signature
        """What a connection's thread could not handle itself: the client went away, or sent what is no HTTP."""
        log.debug("a connection ended", exc_info=True)


def main(arguments: list[str]) -> int:
    logs.setup("front")
    data, port, credentials = Path(arguments[0]), int(arguments[1]), Path(arguments[2])
    host = arguments[3] if len(arguments) > 3 else "127.0.0.1"  # a container's own address is not the machine's
    stop = signals.stop_event()
    engine = Engine(data)
    front = Front((host, port), engine, json.loads(credentials.read_text()))
    threading.Thread(target=front.serve_forever, name="accept", daemon=True).start()
    log.info("serving ClickHouse %s on %s:%s", engine.version, host, front.server_address[1])
    while not stop.wait(1):
        engine.expire(time.monotonic())
    front.shutdown()
    front.server_close()
    engine.close()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
