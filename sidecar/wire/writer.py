"""Who writes: one stream of one reader, and the pump that drives an adapter's generator into it.

A queue or a second task between the agent and the client would cost more per token than all the rest, so the run's own
task writes. What the generator yields without suspending is joined, and sent when it suspends, or at `AT_MOST` events;
then the loop gets a turn, so that a source that never suspends starves nobody.
"""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Coroutine, Generator, Iterable, MutableMapping
from contextlib import suppress
from types import coroutine
from typing import Any, Protocol, TypeAlias

from adapters.base import Step
from conformance.events import Event
from conformance.order import Item, content_event
from sidecar.wire import sse
from sidecar.wire.keepalive import KeepAlive
from sidecar.wire.view import View, as_written

Send: TypeAlias = Callable[[MutableMapping[str, Any]], Any]
"""ASGI's send."""

AT_MOST = 64
"""How many events one send carries."""


class Steps(Protocol):
    """What turns steps into events: the pipeline, as far as this module needs it."""

    def continued(self, step: Step) -> Item | None:
        """The open item that a step only extends by its `delta`."""

    def feed(self, step: Step) -> Iterable[Event]:
        """The events of any step."""


class Stream:
    """The body of one response: events become bytes, bytes are gathered, `flush` sends them."""

    __slots__ = (
        "_keep_alive",
        "_open",
        "_ping",
        "_send",
        "bytes",
        "encode",
        "encode_delta",
        "events",
        "gone",
        "quiet",
        "ready",
    )

    def __init__(self, send: Send, keep_alive: KeepAlive, view: View = as_written) -> None:
        self._send = send
        self._keep_alive = keep_alive
        self.encode, self.encode_delta = _encoders(view)
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

    def add(self, events: Iterable[Event]) -> None:
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
            self.quiet = False
            self.bytes += len(body)
            try:
                yield from self._send({"type": "http.response.body", "body": body, "more_body": True}).__await__()
            except OSError:  # how a server may say that the reader went away; ours says so on `receive`
                self.gone = True

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
            await self._write(body, more=False)

    def ping(self) -> None:
        """Send a comment, unless the last one still waits for a reader that does not read."""
        if self._ping is None and self._open:
            self._ping = asyncio.get_running_loop().create_task(self._write(sse.KEEP_ALIVE, more=True))
            self._ping.add_done_callback(self._pinged)

    def _pinged(self, _: asyncio.Task[None]) -> None:
        self._ping = None

    async def _write(self, body: bytes, *, more: bool) -> None:
        if self.gone:
            return
        self.quiet = False
        self.bytes += len(body)
        with suppress(OSError):
            await self._send({"type": "http.response.body", "body": body, "more_body": more})


def _encoders(view: View) -> tuple[Callable[[Event], bytes], Callable[[Item, str], bytes]]:
    """From what the pipeline makes to the bytes of what this reader gets: of an event, and of an item and its delta."""
    encoder = sse.Encoder()
    if view is as_written:
        return encoder.encode, encoder.encode_delta

    def encode(event: Event) -> bytes:
        return b"".join(map(encoder.encode, view(event)))

    def encode_delta(item: Item, delta: str) -> bytes:
        return encoder.encode_delta(item, delta) if item.owner is None else encode(content_event(item, delta))

    return encode, encode_delta


def pump(source: AsyncGenerator[Step, None], steps: Steps, stream: Stream) -> Awaitable[None]:
    """Drive `source` to its end: feed what it yields, send what is ready whenever it suspends.

    What is thrown into this task, a cancellation above all, is thrown into the source. What the source raises comes
    out of here.
    """
    return _watched(_gather(source, steps, stream), stream)


async def _gather(source: AsyncGenerator[Step, None], steps: Steps, stream: Stream) -> None:
    ready, continued, encode_delta = stream.ready, steps.continued, stream.encode_delta
    async for step in source:
        item = continued(step)
        if item is not None:
            ready.append(encode_delta(item, step.delta))  # type: ignore[union-attr]  # such a step has one
        else:
            stream.add(steps.feed(step))
        if len(ready) >= AT_MOST:
            await stream.flush()
            await asyncio.sleep(0)


@coroutine
def _watched(gathering: Coroutine[Any, Any, None], stream: Stream) -> Generator[Any, Any, None]:
    """Await `gathering`, but whenever it suspends, send what is ready before the loop gets its turn."""
    go_on, ready, flush = gathering.send, stream.ready, stream.flush
    resume: Callable[[Any], Any] = go_on
    value: Any = None
    try:
        while True:
            try:
                trap = resume(value)
            except StopIteration:
                return
            try:
                if ready:
                    yield from flush()
                value = yield trap
                resume = go_on
            except BaseException as thrown:  # noqa: BLE001 - it is the source's to see
                resume, value = gathering.throw, thrown
    finally:
        value = None  # a thrown error's traceback holds this frame: together they would wait for the collector
