"""A model's provider with OpenAI's interface: chat completions over SSE.

It gives the answers of its test, one per request, and keeps what it was asked.
"""

import asyncio
import json
from collections.abc import AsyncGenerator, Iterable, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from typing import Any

MODEL = "test-model-2"
"""The model that answers; a provider's name for it need not be the one that was asked for."""

CUT = object()
"""A piece of an answer: the connection breaks."""
HOLD = object()
"""A piece of an answer: nothing more comes, until the client closes the connection."""

Piece = Any
"""A delta (see below), bytes that are sent as they are, an `asyncio.Event` to wait for, CUT, or HOLD."""


@dataclass(frozen=True)
class Answer:
    """What one request gets. Without a status it gets no head either."""

    pieces: Sequence[Piece] = ()
    status: int | None = 200
    headers: dict[str, str] = field(default_factory=dict)
    finish: str | None = None
    """Why the model stopped: the stream's last words follow the pieces. None where it just stops."""
    usage: dict[str, Any] | None = None


@dataclass(frozen=True)
class Asked:
    """What one request asked."""

    path: str
    headers: dict[str, str]
    body: dict[str, Any]

    @property
    def messages(self) -> list[dict[str, Any]]:
        """The conversation that the model reads."""
        return self.body["messages"]

    @property
    def tools(self) -> list[str]:
        """The names of the tools that the model may call."""
        return [tool["function"]["name"] for tool in self.body.get("tools", ())]


@dataclass
class Provider:
    """A provider that runs. Its `url` is the base that a client is given."""

    url: str = ""
    asked: list[Asked] = field(default_factory=list)
    holding: asyncio.Event = field(default_factory=asyncio.Event)
    """Set when an answer has come to HOLD."""
    left: asyncio.Event = field(default_factory=asyncio.Event)
    """Set when a client has closed its connection in the middle of an answer."""


# ---- answers --------------------------------------------------------------------------------------


def completion(*pieces: Piece, finish: str = "stop", usage: dict[str, Any] | None = None) -> Answer:
    """A whole answer of the model."""
    return Answer(pieces, finish=finish, usage=usage)


def calling(*pieces: Piece, usage: dict[str, Any] | None = None) -> Answer:
    """A whole answer that ends in tool calls."""
    return completion(*pieces, finish="tool_calls", usage=usage)


def refusal(status: int, message: str, **headers: str) -> Answer:
    """No answer but a status, with the provider's reason. Names of headers have underscores for hyphens."""
    error = {"error": {"message": message, "type": "error", "code": None}}
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return Answer([json.dumps(error).encode()], status, {"content-type": "application/json", **named})


def text(delta: str) -> Piece:
    """A piece of the answer's text."""
    return {"content": delta}


def reasoning(delta: str) -> Piece:
    """A piece of reasoning, as DeepSeek and those after it send it."""
    return {"content": None, "reasoning_content": delta}


def call(index: int, key: str, name: str, arguments: str = "") -> Piece:
    """The begin of a tool call."""
    function = {"name": name, "arguments": arguments}
    return {"tool_calls": [{"index": index, "id": key, "type": "function", "function": function}]}


def arguments(index: int, delta: str) -> Piece:
    """More of a tool call's arguments."""
    return {"tool_calls": [{"index": index, "function": {"arguments": delta}}]}


def data(payload: Any) -> bytes:
    """A payload of the stream."""
    return b"data: " + json.dumps(payload).encode() + b"\n\n"


def tokens(read: int, written: int, *, cached: int | None = None, reasoned: int | None = None) -> dict[str, Any]:
    """A usage report; a part that is not given is not reported."""
    report: dict[str, Any] = {"prompt_tokens": read, "completion_tokens": written, "total_tokens": read + written}
    if cached is not None:
        report["prompt_tokens_details"] = {"cached_tokens": cached}
    if reasoned is not None:
        report["completion_tokens_details"] = {"reasoning_tokens": reasoned}
    return report


# ---- the server -----------------------------------------------------------------------------------


@asynccontextmanager
async def providing(*answers: Answer, then: Answer | None = None) -> AsyncGenerator[Provider, None]:
    """Serve until the block ends: each request its answer, and `then` whatever comes after them."""
    provider, connections, script = Provider(), set(), iter(answers)
    rest = then or refusal(400, "the test has no answer to this request")

    async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        connections.add(asyncio.current_task())
        try:
            with suppress(ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
                while not writer.is_closing():
                    provider.asked.append(await _read(reader))
                    await _Answering(provider, reader, writer).give(next(script, rest))
        finally:
            writer.close()

    server = await asyncio.start_server(connected, "127.0.0.1", 0)
    provider.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1"
    try:
        yield provider
    finally:
        server.close()
        for connection in connections:
            connection.cancel()
        await asyncio.gather(*connections, return_exceptions=True)


async def _read(reader: asyncio.StreamReader) -> Asked:
    head = (await reader.readuntil(b"\r\n\r\n")).decode().split("\r\n")
    _, path, _ = head[0].split(" ")
    headers = {name.lower(): value for name, value in (line.split(": ", 1) for line in head[1:] if line)}
    body = await reader.readexactly(int(headers["content-length"]))
    return Asked(path, headers, json.loads(body))


@dataclass
class _Answering:
    """One answer on its way."""

    provider: Provider
    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter

    async def give(self, answer: Answer) -> None:
        if answer.status is not None:
            self._head(answer)
        for piece in answer.pieces:
            if piece is CUT:
                self.writer.close()
                return
            if piece is HOLD:
                await self._hold()
                return
            if isinstance(piece, asyncio.Event):
                await self.writer.drain()
                await piece.wait()
            else:
                self._send(piece if isinstance(piece, bytes) else self._chunk({"delta": piece}))
        for payload in self._last_words(answer):
            self._send(payload)
        self.writer.write(b"0\r\n\r\n")
        await self.writer.drain()

    def _head(self, answer: Answer) -> None:
        named = {"content-type": "text/event-stream", "transfer-encoding": "chunked", **answer.headers}
        lines = [f"HTTP/1.1 {answer.status} X", *(f"{name}: {value}" for name, value in named.items())]
        self.writer.write("\r\n".join([*lines, "", ""]).encode())

    def _last_words(self, answer: Answer) -> Iterable[bytes]:
        if answer.finish is None:
            return
        yield self._chunk({"delta": {}, "finish_reason": answer.finish})
        wants_usage = self.provider.asked[-1].body.get("stream_options", {}).get("include_usage")
        if answer.usage is not None and wants_usage:
            yield self._chunk(usage=answer.usage)
        yield b"data: [DONE]\n\n"

    def _chunk(self, *choices: dict[str, Any], **more: Any) -> bytes:
        number = len(self.provider.asked)
        chunk = {"id": f"completion-{number}", "object": "chat.completion.chunk", "created": 1767225600, "model": MODEL}
        return data({**chunk, "choices": [{"index": 0, "finish_reason": None, **choice} for choice in choices], **more})

    def _send(self, payload: bytes) -> None:
        self.writer.write(f"{len(payload):x}\r\n".encode() + payload + b"\r\n")

    async def _hold(self) -> None:
        await self.writer.drain()
        self.provider.holding.set()
        with suppress(ConnectionError):
            await self.reader.read()
        self.writer.close()
        self.provider.left.set()
