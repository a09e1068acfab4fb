"""A tool that speaks WebSocket: `stub_socket.py HOST PORT PREFIX`. Echoes; says its headers; ends with the code asked for."""

from __future__ import annotations

import asyncio
import http
import json
import sys

from websockets.asyncio.server import ServerConnection, serve
from websockets.http11 import Request, Response

HOST, PORT, PREFIX = sys.argv[1], int(sys.argv[2]), sys.argv[3]


async def talk(socket: ServerConnection) -> None:
    assert socket.request is not None
    await socket.send(
        json.dumps({"path": socket.request.path, "headers": [[n.lower(), v] for n, v in socket.request.headers.raw_items()]})
    )
    async for message in socket:
        if message == "end":
            await socket.close(4321, "as asked")
        elif message == "flood":  # far more than may wait
            for _ in range(2000):
                await socket.send(b"y" * 65536)
        else:
            await socket.send(message)


def ready(connection: ServerConnection, request: Request) -> Response | None:
    return connection.respond(http.HTTPStatus.OK, "ready") if request.path.endswith("/ready") else None


async def main() -> None:
    async with serve(talk, HOST, PORT, process_request=ready, subprotocols=["echo.v1"], max_size=None) as server:  # type: ignore[list-item]
        await server.serve_forever()


asyncio.run(main())
