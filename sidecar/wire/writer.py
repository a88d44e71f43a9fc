"""Who writes: one stream of one reader, and the pump that drives an adapter's generator into it.

A queue or a second task between the agent and the client would cost more per token than all the rest, so the run's own
task writes. The pump drives the generator by hand: what it yields without suspending is joined, and sent when it
suspends, or at `AT_MOST` events; then the loop gets a turn, so that a source that never suspends starves nobody.
"""

import asyncio
from collections.abc import AsyncGenerator, Callable, Generator, Iterable, MutableMapping
from types import coroutine
from typing import Any, TypeAlias, TypeVar

from conformance.events import Event
from conformance.order import Delta
from sidecar.wire import sse
from sidecar.wire.keepalive import KeepAlive
from sidecar.wire.view import View, as_written

Send: TypeAlias = Callable[[MutableMapping[str, Any]], Any]
"""ASGI's send."""

AT_MOST = 64
"""How many events one send carries."""

T = TypeVar("T")


class Stream:
    """The body of one response: events become bytes, bytes are gathered, `flush` sends them."""

    __slots__ = ("_encode", "_keep_alive", "_open", "_ping", "_send", "_view", "bytes", "events", "gone", "quiet", "ready")

    def __init__(self, send: Send, keep_alive: KeepAlive, view: View = as_written) -> None:
        self._send = send
        self._keep_alive = keep_alive
        self._view = view
        self._encode = sse.Encoder().encode
        self._open = False
        self._ping: asyncio.Task[None] | None = None
        self.ready: list[bytes] = []
        """Encoded events that wait for the next flush."""
        self.quiet = False
        self.gone = False
        """The reader went away: nothing is sent any more."""
        self.events = 0
        self.bytes = 0

    async def open(self, headers: list[tuple[bytes, bytes]]) -> None:
        """Send the head of the response."""
        await self._send({"type": "http.response.start", "status": 200, "headers": headers})
        self._open = True
        self._keep_alive.add(self)

    def add(self, events: Iterable[Event | Delta]) -> None:
        """Encode what this reader gets of some events."""
        if self._view is as_written:
            self.ready += map(self._encode, events)
        else:
            self.ready += [self._encode(seen) for event in events for seen in self._view(event)]

    async def flush(self) -> None:
        """Send what is ready, in one piece."""
        ready = self.ready
        body = b"".join(ready) if len(ready) > 1 else ready[0]
        self.events += len(ready)
        ready.clear()
        await self._write(body, more=True)

    async def close(self) -> None:
        """Send what is left and end the response. Nothing comes after."""
        self.events += len(self.ready)
        body = b"".join(self.ready)
        self.ready.clear()
        self._keep_alive.remove(self)
        if self._ping is not None:
            self._ping.cancel()
        await self._write(body, more=False)
        self._open = False

    def ping(self) -> None:
        """Send a comment, unless the last one still waits for a reader that does not read."""
        if self._ping is None or self._ping.done():
            self._ping = asyncio.get_running_loop().create_task(self._write(sse.KEEP_ALIVE, more=True))

    async def _write(self, body: bytes, *, more: bool) -> None:
        if self.gone or not self._open:
            return
        self.quiet = False
        self.bytes += len(body)
        try:
            await self._send({"type": "http.response.body", "body": body, "more_body": more})
        except OSError:  # how a server may say that the reader went away; ours says so on `receive`
            self.gone = True


@coroutine
def pump(
    source: AsyncGenerator[T, None],
    feed: Callable[[T], Iterable[Event | Delta]],
    stream: Stream,
) -> Generator[Any, Any, None]:
    """Drive `source` to its end: feed what it yields, flush when it suspends.

    Whatever is thrown into this task is thrown into the source, wherever either of them waits; what the source raises
    comes out of here.
    """
    ready = stream.ready
    while True:
        step = source.__anext__()
        resume: Callable[[Any], Any] = step.send  # type: ignore[attr-defined]  # an async generator's awaitable
        value: Any = None
        try:
            while True:
                trap = resume(value)
                try:
                    if ready:
                        yield from stream.flush().__await__()
                    value = yield trap
                    resume = step.send  # type: ignore[attr-defined]
                except BaseException as thrown:  # noqa: BLE001 - it is the source's to see
                    resume, value = step.throw, thrown  # type: ignore[attr-defined]
        except StopIteration as done:
            stream.add(feed(done.value))
        except StopAsyncIteration:
            return
        if len(ready) >= AT_MOST:
            yield from stream.flush().__await__()
            yield
