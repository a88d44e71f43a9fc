"""A real server in the test's own loop: real sockets, real uvicorn."""

import asyncio
import json
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import httpx
import uvicorn

from sidecar.agents import Agents
from sidecar.app import create_app, create_runtime
from sidecar.runs.runtime import Runtime
from sidecar.settings import Settings
from support.streams import parse_sse


@dataclass
class Served:
    """A server that runs, and a client for it."""

    url: str
    port: int
    runtime: Runtime
    client: httpx.AsyncClient

    async def run(self, document: Any, path: str = "/", **headers: str) -> tuple[httpx.Response, list[dict[str, Any]]]:
        """POST a run input, read the answer to its end."""
        response = await self.client.post(path, json=document, headers=headers)
        is_stream = response.headers["content-type"].startswith("text/event-stream")
        return response, parse_sse(response.content) if is_stream else []

    async def open(self, document: Any, path: str = "/") -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        """POST a run input over a bare socket, to leave whenever the test wants to."""
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
        body = json.dumps(document).encode()
        head = (
            f"POST {path} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
        )
        writer.write(head.encode() + body)
        await writer.drain()
        return reader, writer


@asynccontextmanager
async def serving(adapters: Mapping[str, Any], **settings: Any) -> AsyncGenerator[Served, None]:
    """Serve adapters until the block ends."""
    chosen = Settings(**settings)
    runtime = create_runtime(chosen)
    async with serving_app(create_app(Agents(adapters), chosen, runtime), runtime) as served:
        yield served


@asynccontextmanager
async def serving_app(app: Any, runtime: Runtime) -> AsyncGenerator[Served, None]:
    """Serve an application until the block ends."""
    config = uvicorn.Config(app, port=0, log_config=None, access_log=False, ws="none", lifespan="off")
    server = uvicorn.Server(config)
    server.capture_signals = _no_signals  # the test's process keeps its own
    task = asyncio.create_task(server.serve())
    while not server.started:  # noqa: ASYNC110 - uvicorn has a flag, no event
        await asyncio.sleep(0.005)
    port = server.servers[0].sockets[0].getsockname()[1]
    url = f"http://127.0.0.1:{port}"
    try:
        async with httpx.AsyncClient(base_url=url, timeout=20) as client:
            yield Served(url, port, runtime, client)
    finally:
        server.should_exit = True
        await task


class _no_signals:  # noqa: N801 - it stands in for a method
    def __enter__(self) -> None:
        pass

    def __exit__(self, *_: object) -> None:
        pass


async def until(condition, seconds=3.0):
    """Wait until `condition()` holds; fail when it does not in time."""
    for _ in range(int(seconds / 0.01)):
        if condition():
            return
        await asyncio.sleep(0.01)
    assert condition()
