"""`trainwire-gateway`: serve the page and the API until a signal."""

from __future__ import annotations

import os
import socket
import sys

import uvicorn

from gateway.app import build
from gateway.settings import Settings
from gateway.viewers.app import router as viewers
from runtime import logs
from runtime.errors import EXIT_SETTING, PermanentError
from runtime.settings import load, tell_use


class Server(uvicorn.Server):
    """Ends its live streams first when it is told to stop: uvicorn waits for open answers, and they have no end."""

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        self.config.app.state.closing.set()  # type: ignore[union-attr]  # our own FastAPI
        await super().shutdown(sockets)


def listen(host: str, port: int) -> socket.socket:
    """A bound socket, so that a port in use is told before anything starts. Raises `PermanentError`."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # The protocol is named, because asyncio sends at once (TCP_NODELAY) only where it is: each answer took 40 ms more without.
    bound = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        bound.bind((host, port))
        bound.listen(2048)  # uvicorn's own backlog: who reads the address in the log may call at once
    except OSError as error:
        bound.close()
        raise PermanentError(
            f"cannot listen on {host}:{port} ({error.strerror}): choose another TRAINWIRE_GATEWAY_PORT (0: a free one) or _HOST"
        ) from error
    return bound


def main() -> None:
    """Exit codes: 0 stopped by a signal, 2 a setting is wrong or the port is in use."""
    tell_use(
        "trainwire-gateway",
        "Serve the page, the API and the viewers until a signal. Settings come from the environment.",
        Settings,
    )
    log = logs.setup("trainwire-gateway")
    try:
        settings = load(Settings, os.environ)
        app = build(settings, further=[viewers(settings.viewers)])
        bound = listen(settings.web.host, settings.web.port)
    except PermanentError as error:
        log.error("%s", error)
        sys.exit(EXIT_SETTING)
    host = f"[{settings.web.host}]" if ":" in settings.web.host else settings.web.host
    log.info("listening on http://%s:%d%s/tasks", host, bound.getsockname()[1], settings.web.base_path)
    config = uvicorn.Config(
        app,
        log_config=None,
        access_log=False,  # requests are counted on /metrics
        server_header=False,
        timeout_graceful_shutdown=5,
        h11_max_incomplete_event_size=256 * 1024,  # a live stream's place in a header: 64 kB is some 2,500 files
    )
    Server(config).run([bound])


if __name__ == "__main__":
    main()
