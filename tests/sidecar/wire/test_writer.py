"""Who writes: what is ready is joined, and sent when the source suspends."""

import asyncio

import pytest
from support.agents import make_pipeline
from support.streams import parse_sse, types

from adapters.base import Text
from sidecar.wire.keepalive import KeepAlive
from sidecar.wire.writer import AT_MOST, Stream, pump

pytestmark = pytest.mark.anyio


class Wire:
    """Stands for the server's side of one response."""

    def __init__(self):
        self.sent = []
        self.fails = False

    async def __call__(self, message):
        if self.fails:
            raise OSError
        self.sent.append(message)

    @property
    def bodies(self):
        return [message["body"] for message in self.sent if message["type"] == "http.response.body"]


async def opened(keep_alive=None, wire=None):
    wire = wire or Wire()
    stream = Stream(wire, keep_alive or KeepAlive(15))
    await stream.open([])
    pipeline, _ = make_pipeline()
    pipeline.start()
    return wire, stream, pipeline


async def test_events_that_are_ready_together_are_one_send():
    wire, stream, pipeline = await opened()

    async def source():
        yield Text("a")
        yield Text("b")
        await asyncio.sleep(0)
        yield Text("c")

    await pump(source(), pipeline, stream)
    assert [types(parse_sse(body)) for body in wire.bodies] == [
        ["TEXT_MESSAGE_START", "TEXT_MESSAGE_CONTENT", "TEXT_MESSAGE_CONTENT"],
    ]
    await stream.close()
    assert types(parse_sse(wire.bodies[1])) == ["TEXT_MESSAGE_CONTENT"]
    assert [message["more_body"] for message in wire.sent[1:]] == [True, False]
    assert stream.events == 4
    assert stream.bytes == sum(map(len, wire.bodies))


async def test_a_source_that_never_suspends_is_sent_in_pieces_and_starves_nobody():
    wire, stream, pipeline = await opened()
    turns = []

    async def other():
        while True:
            turns.append(len(wire.sent))
            await asyncio.sleep(0)

    async def source():
        for number in range(AT_MOST * 5):
            yield Text(str(number))

    beside = asyncio.create_task(other())
    await pump(source(), pipeline, stream)
    beside.cancel()
    assert len(wire.bodies) == 5
    assert len(set(turns)) >= 5


async def test_what_the_source_raises_comes_out():
    _, stream, pipeline = await opened()

    async def source():
        yield Text("a")
        raise KeyError("x")

    with pytest.raises(KeyError):
        await pump(source(), pipeline, stream)
    assert len(stream.ready) == 2


async def test_a_cancellation_reaches_the_source_where_it_waits():
    _, stream, pipeline = await opened()
    seen = []

    async def source():
        try:
            yield Text("a")
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            seen.append("cancelled")
            raise

    task = asyncio.ensure_future(_awaited(pump(source(), pipeline, stream)))
    await asyncio.sleep(0.01)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert seen == ["cancelled"]


async def test_a_cancellation_reaches_the_source_even_while_the_reader_is_slow():
    release = asyncio.Event()

    class Slow(Wire):
        async def __call__(self, message):
            if message["type"] == "http.response.body":
                await release.wait()
            await super().__call__(message)

    _, stream, pipeline = await opened(wire=Slow())
    seen = []

    async def source():
        try:
            yield Text("a")
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            seen.append("cancelled")
            raise

    task = asyncio.ensure_future(_awaited(pump(source(), pipeline, stream)))
    await asyncio.sleep(0.01)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert seen == ["cancelled"]


async def test_a_source_may_catch_what_is_thrown_and_go_on():
    wire, stream, pipeline = await opened()

    async def source():
        try:
            await asyncio.wait_for(asyncio.sleep(60), 0.01)
        except TimeoutError:
            yield Text("timed out")

    await pump(source(), pipeline, stream)
    await stream.close()
    assert b"timed out" in wire.bodies[-1]


async def test_a_reader_that_is_gone_costs_no_more_sends():
    wire, stream, pipeline = await opened()
    wire.fails = True

    async def source():
        for _ in range(3):
            yield Text("a")
            await asyncio.sleep(0)

    await pump(source(), pipeline, stream)
    await stream.close()
    assert stream.gone
    assert wire.bodies == []


async def test_nothing_is_written_after_the_end():
    wire, stream, _ = await opened()
    await stream.close()
    stream.ping()
    await asyncio.sleep(0)
    await stream.close()
    assert wire.bodies == [b""]


class Quiet:
    def __init__(self):
        self.quiet = False
        self.pings = 0

    def ping(self):
        self.pings += 1
        self.quiet = False


async def test_only_quiet_streams_are_pinged_and_the_timer_goes_with_the_last_one():
    keep_alive, silent, busy = KeepAlive(0.04), Quiet(), Quiet()
    keep_alive.add(silent)
    keep_alive.add(busy)
    for _ in range(30):
        busy.quiet = False
        await asyncio.sleep(0.005)
    assert silent.pings >= 2
    assert busy.pings == 0
    keep_alive.remove(silent)
    keep_alive.remove(busy)
    assert keep_alive._timer is None
    keep_alive.remove(busy)


async def test_a_comment_stands_between_events_never_in_one():
    wire, stream, pipeline = await opened(KeepAlive(0.02))

    async def source():
        yield Text("a")
        await asyncio.sleep(0.1)
        yield Text("b")

    await pump(source(), pipeline, stream)
    await stream.close()
    comments = [body for body in wire.bodies if body.startswith(b":")]
    assert len(comments) >= 2
    assert len(parse_sse(b"".join(wire.bodies))) == 3


async def test_a_ping_that_waits_for_its_reader_is_not_doubled_and_ends_with_the_stream():
    release = asyncio.Event()

    class Stuck(Wire):
        async def __call__(self, message):
            if message.get("body") == b": keep-alive\n\n":
                await release.wait()
            await super().__call__(message)

    wire, stream, _ = await opened(wire=Stuck())
    stream.ping()
    first = stream._ping
    await asyncio.sleep(0)
    stream.ping()
    assert stream._ping is first
    await stream.close()
    await asyncio.sleep(0)
    assert first.cancelled()
    assert wire.bodies == [b""]


async def _awaited(awaitable):
    return await awaitable
