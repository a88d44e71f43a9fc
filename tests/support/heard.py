"""What the clients of a test hear from our server: whole streams, as their bytes came, with the run inputs they answer."""

import json
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import httpx
import pytest

from conformance.consumer import Consumer
from support import server
from support.streams import parse_sse


@dataclass(frozen=True)
class Heard:
    """One stream that was read to its end."""

    test: str
    run_input: dict[str, Any]
    body: str

    @property
    def name(self) -> str:
        """The test's name, without its parameters."""
        return self.test.partition("[")[0].rpartition("::")[2]

    @cached_property
    def consumer(self) -> Consumer:
        """What our own consumer made of it."""
        consumer = Consumer(self.run_input)
        list(consumer.read(parse_sse(self.body.encode())))
        return consumer

    def __str__(self) -> str:
        return f"{self.run_input['runId']} of {self.test}"


class _Tap(httpx.AsyncByteStream):
    """An answer on its way to its client, and what has passed."""

    def __init__(self, response: httpx.Response) -> None:
        self.run_input = response.request.content
        self.passed = b""
        self.is_whole = False
        """The client did not leave before the end."""
        self._stream: Any = response.stream

    async def __aiter__(self) -> AsyncIterator[bytes]:
        async for piece in self._stream:
            self.passed += piece
            yield piece
        self.is_whole = True

    async def aclose(self) -> None:
        await self._stream.aclose()


@contextmanager
def listening(test: str, heard: list[Heard]) -> Iterator[None]:
    """Keep what the clients of every server hear that `support.server.serving` starts in the block."""
    taps: list[_Tap] = []

    async def tap(response: httpx.Response) -> None:
        if response.headers.get("content-type", "").startswith("text/event-stream"):
            taps.append(_Tap(response))
            response.stream = taps[-1]

    def served(url: str, port: int, runtime: Any, client: httpx.AsyncClient) -> server.Served:
        if runtime is not None:  # else it is an application that is not ours
            client.event_hooks["response"].append(tap)
        return kind(url, port, runtime, client)

    kind = server.Served
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(server, "Served", served)
        yield
    heard += (Heard(test, json.loads(one.run_input), one.passed.decode()) for one in taps if one.is_whole)
