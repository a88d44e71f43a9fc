"""Who writes: one stream of one reader, and the pump that drives an adapter's generator into it.

A queue or a second task between the agent and the client would cost more per token than all the rest, so the run's own
task writes. What the generator yields without suspending is joined, and sent when it suspends, or at `AT_MOST` events;
then the loop gets a turn, so that a source that never suspends starves nobody.
"""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Coroutine, Generator, Iterable, MutableMapping
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

    __slots__ = (
        "_keep_alive",
        "_open",
        "_ping",
        "_send",
        "bytes",
        "encode",
        "events",
        "gone",
        "quiet",
        "ready",
    )

    def __init__(self, send: Send, keep_alive: KeepAlive, view: View = as_written) -> None:
        self._send = send
        self._keep_alive = keep_alive
        self.encode = _encoder(view)
        """From one event of the run to the bytes of what this reader gets of it."""
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
        """Encode some events."""
        self.ready += map(self.encode, events)

    @coroutine
    def flush(self) -> Generator[Any, Any, None]:
        """Send what is ready, in one piece."""
        ready = self.ready
        body = ready[0] if len(ready) == 1 else b"".join(ready)
        self.events += len(ready)
        ready.clear()
        if self._open and not self.gone:
            yield from self._write({"type": "http.response.body", "body": body, "more_body": True})

    async def close(self) -> None:
        """Send what is left and end the response. Nothing comes after."""
        self.events += len(self.ready)
        body = b"".join(self.ready)
        self.ready.clear()
        self._keep_alive.remove(self)
        if self._ping is not None:
            self._ping.cancel()
        if self._open:
            self._open = False
            if not self.gone:
                await self._write({"type": "http.response.body", "body": body, "more_body": False})

    def ping(self) -> None:
        """Send a comment, unless the last one still waits for a reader that does not read."""
        if self._ping is None or self._ping.done():
            self._ping = asyncio.get_running_loop().create_task(self._comment())

    async def _comment(self) -> None:
        if self._open and not self.gone:
            await self._write({"type": "http.response.body", "body": sse.KEEP_ALIVE, "more_body": True})

    @coroutine
    def _write(self, message: dict[str, Any]) -> Generator[Any, Any, None]:
        self.quiet = False
        self.bytes += len(message["body"])
        try:
            yield from self._send(message).__await__()
        except OSError:  # how a server may say that the reader went away; ours says so on `receive`
            self.gone = True


def _encoder(view: View) -> Callable[[Event | Delta], bytes]:
    encode = sse.Encoder().encode
    if view is as_written:
        return encode

    def encode_seen(event: Event | Delta) -> bytes:
        if type(event) is Delta and event.item.owner is None:
            return encode(event)  # every view leaves these as they are
        return b"".join(map(encode, view(event)))

    return encode_seen


def pump(
    source: AsyncGenerator[T, None],
    feed: Callable[[T], Iterable[Event | Delta]],
    stream: Stream,
) -> Awaitable[None]:
    """Drive `source` to its end: feed what it yields, send what is ready whenever it suspends.

    What is thrown into this task, a cancellation above all, is thrown into the source. What the source raises comes
    out of here.
    """
    return _watched(_gather(source, feed, stream), stream)


async def _gather(
    source: AsyncGenerator[T, None],
    feed: Callable[[T], Iterable[Event | Delta]],
    stream: Stream,
) -> None:
    ready, encode = stream.ready, stream.encode
    async for step in source:
        for event in feed(step):
            ready.append(encode(event))
        if len(ready) >= AT_MOST:
            await stream.flush()
            await asyncio.sleep(0)


@coroutine
def _watched(gathering: Coroutine[Any, Any, None], stream: Stream) -> Generator[Any, Any, None]:
    """Await `gathering`, but whenever it suspends, send what is ready before the loop gets its turn."""
    go_on = gathering.send
    resume: Callable[[Any], Any] = go_on
    value: Any = None
    while True:
        try:
            trap = resume(value)
        except StopIteration:
            return
        try:
            if stream.ready:
                yield from stream.flush()
            value = yield trap
            resume = go_on
        except BaseException as thrown:  # noqa: BLE001 - it is the source's to see
            resume, value = gathering.throw, thrown
