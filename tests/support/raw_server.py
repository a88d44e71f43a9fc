"""A bare HTTP server that answers exactly what a test says, well or badly."""

import asyncio
import json
from collections.abc import AsyncGenerator, Callable, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

KEEP_OPEN = object()
"""A piece of an answer: no more comes, and the connection stays."""
CUT = object()
"""A piece of an answer: the connection breaks."""
PAUSE = object()
"""A piece of an answer: what stood before it has arrived before the rest is sent."""

NO_CONTENT = 204


@dataclass
class Request:
    """What came."""

    method: str
    path: str
    headers: dict[str, str]
    body: bytes

    @property
    def run_input(self) -> Any:
        """The body as JSON; None where it is none."""
        try:
            return json.loads(self.body)
        except ValueError:
            return None


@dataclass
class Answer:
    """What to answer."""

    pieces: Iterable[Any] = ()
    status: int = 200
    content_type: str = "text/event-stream"
    headers: dict[str, str] = field(default_factory=dict)


@dataclass
class RawServer:
    """A server that runs, and what it was asked."""

    url: str
    requests: list[Request] = field(default_factory=list)


@asynccontextmanager
async def answering(answer: Callable[[Request], Answer]) -> AsyncGenerator[RawServer, None]:
    """Serve until the block ends."""
    released = asyncio.Event()
    served = RawServer("")

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            request = await _read(reader)
            served.requests.append(request)
            await _write(writer, answer(request), released)
        except (ConnectionError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    served.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/"
    try:
        yield served
    finally:
        released.set()
        server.close()


async def _read(reader: asyncio.StreamReader) -> Request:
    head = (await reader.readuntil(b"\r\n\r\n")).decode().split("\r\n")
    method, path, _ = head[0].split(" ")
    headers = {name.lower(): value for name, value in (line.split(": ", 1) for line in head[1:] if line)}
    return Request(method, path, headers, await reader.readexactly(int(headers.get("content-length", 0))))


async def _write(writer: asyncio.StreamWriter, answer: Answer, released: asyncio.Event) -> None:
    lines = {"content-type": answer.content_type, "transfer-encoding": "chunked", "connection": "close"}
    if answer.status == NO_CONTENT:
        lines = {"connection": "close"}
    head = [f"HTTP/1.1 {answer.status} X", *(f"{name}: {value}" for name, value in {**lines, **answer.headers}.items())]
    writer.write("\r\n".join([*head, "", ""]).encode())
    for piece in answer.pieces:
        if piece is KEEP_OPEN:
            await writer.drain()
            await released.wait()
            return
        if piece is CUT:
            await writer.drain()
            return
        if piece is PAUSE:
            await writer.drain()
            await asyncio.sleep(0.02)
        else:
            writer.write(f"{len(piece):x}\r\n".encode() + piece + b"\r\n")
    writer.write(b"" if answer.status == NO_CONTENT else b"0\r\n\r\n")
    await writer.drain()


def sse(*events: Any, end: str = "\n") -> bytes:
    """Events as SSE."""
    return "".join(f"data: {json.dumps(event)}{end}{end}" for event in events).encode()


def run_of(request: Request, *inner: Any, **finished: Any) -> list[dict[str, Any]]:
    """The events of a run that answers a request."""
    sent = request.run_input if isinstance(request.run_input, dict) else {}
    ids = {"threadId": sent.get("threadId", "t1"), "runId": sent.get("runId", "r1")}
    return [
        {"type": "RUN_STARTED", **ids, "protocolVersion": "1.0"},
        *inner,
        {"type": "RUN_FINISHED", **ids, **finished},
    ]
