"""A TCP proxy in front of one service, that delays, cuts, holds, and loses answers."""

from __future__ import annotations

import asyncio
import contextlib
import threading


class Proxy:
    """Listens on a free port of 127.0.0.1 from the start; connections to it reach `target` (a port of 127.0.0.1).

    Its methods may be called from any thread.
    """

    def __init__(self, target: int) -> None:
        self.target = target
        self.port = 0
        self.connections = 0  # accepted so far, refused ones too
        self._open = True  # connections pass
        self._delay = 0.0  # s, on each piece of an answer
        self._lose = False  # connections end with the first byte of an answer
        self._lost = 0
        self._writers: set[asyncio.StreamWriter] = set()
        self._tasks: set[asyncio.Task[None]] = set()
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name=f"proxy-{target}", daemon=True)
        self._thread.start()
        self._server = asyncio.run_coroutine_threadsafe(self._listen(), self._loop).result()

    def cut(self) -> None:
        """End every connection, and refuse new ones, until `heal`."""
        self._open = False
        self._loop.call_soon_threadsafe(self._end_all)

    def delay(self, seconds: float) -> None:
        """Answers come so much later, until `heal`."""
        self._delay = seconds

    def lose_answers(self) -> None:
        """A request reaches the service, and its answer is cut off, until `heal`."""
        self._lose = True

    def heal(self) -> None:
        self._open, self._delay, self._lose = True, 0.0, False

    @property
    def lost(self) -> int:
        """Answers lost so far."""
        return self._lost

    def close(self) -> None:
        asyncio.run_coroutine_threadsafe(self._close(), self._loop).result()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    # In the loop's thread

    async def _listen(self) -> asyncio.Server:
        server = await asyncio.start_server(self._connection, "127.0.0.1", 0)
        self.port = server.sockets[0].getsockname()[1]
        return server

    async def _close(self) -> None:
        self._server.close()
        self._end_all()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def _end_all(self) -> None:
        for writer in self._writers:
            writer.transport.abort()

    async def _connection(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self.connections += 1
        self._tasks.add(task)
        self._writers.add(writer)
        onward = None
        try:
            if not self._open:
                return
            back, onward = await asyncio.open_connection("127.0.0.1", self.target)
            self._writers.add(onward)
            ends = [
                asyncio.ensure_future(self._pump(reader, onward, False)),
                asyncio.ensure_future(self._pump(back, writer, True)),
            ]
            await asyncio.wait(ends, return_when=asyncio.FIRST_COMPLETED)
            for end in ends:
                end.cancel()
            await asyncio.gather(*ends, return_exceptions=True)
        except OSError:
            pass  # the service is away: the client sees a connection that ends, as it would without us
        finally:
            for each in (writer, onward):
                if each is not None:
                    self._writers.discard(each)
                    each.transport.abort()
            self._tasks.discard(task)

    async def _pump(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, is_answer: bool) -> None:
        with contextlib.suppress(OSError):
            while data := await reader.read(1 << 16):
                if is_answer and self._lose:
                    self._lost += 1
                    return
                if is_answer and self._delay:
                    await asyncio.sleep(self._delay)
                writer.write(data)
                await writer.drain()
