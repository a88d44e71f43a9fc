"""A live endpoint: one POST of a run input, and its answer as it comes. The only importer of httpx.

Source: basic/transports, basic/transports/http-sse
"""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import httpx

from conformance.command.answer import AnswerReader
from conformance.command.cannot import CannotCheck
from conformance.command.report.text import visible
from conformance.command.sources import source
from conformance.exchange import Ending, Exchange
from conformance.reading import Batch, Unreadable
from conformance.rules.lifecycle import TERMINAL

Record = Callable[[Exchange], None]
"""Takes each further part of the exchange."""


@dataclass(frozen=True, slots=True)
class Endpoint:
    """Where to send run inputs, and how long to wait."""

    url: str
    headers: Mapping[str, str] = field(default_factory=dict)
    """Beside Content-Type and Accept, or instead of them."""
    timeout: float = 60
    """Seconds to wait for the connection, and for each next piece of the answer."""
    end_within: float = 3
    """Seconds that the body has to end in after the terminal event."""
    transport: httpx.AsyncBaseTransport | None = None
    """What carries the requests, instead of a connection."""

    @property
    def name(self) -> str:
        """The URL, safe to show."""
        return source(self.url).name

    def all_headers(self, accept: str) -> dict[str, str]:
        """The headers of a request, by lower-case name."""
        ordinary = {"content-type": "application/json", "accept": accept}
        return ordinary | {name.lower(): value for name, value in self.headers.items()}

    async def ask(self, body: bytes, accept: str, record: Record = lambda _: None) -> AsyncGenerator[Batch, None]:
        """Send a run input; give what comes, batch by batch, until the body has ended or should have.

        Raises:
            CannotCheck: There is no answer, or it cannot be read.
        """
        headers = self.all_headers(accept)
        try:
            async with (
                httpx.AsyncClient(timeout=self.timeout, transport=self.transport) as client,
                client.stream("POST", self.url, content=body, headers=headers) as response,
            ):
                # A session is nobody's business but the two peers'.
                told = {name: value for name, value in response.headers.items() if name != "set-cookie"}
                known: dict[str, Any] = {"accept": headers["accept"], "status": response.status_code, "headers": told}
                record(Exchange(**known))
                yield Batch(known=known)
                async for batch in self._body(response, AnswerReader(told), record):
                    yield batch
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            raise CannotCheck(f"{self.name}: {_why(error, self.timeout)}") from None
        except Unreadable as error:
            raise CannotCheck(f"{self.name}: the answer cannot be read: {visible(str(error))}") from None

    async def _body(self, response: httpx.Response, reader: AnswerReader, record: Record) -> AsyncIterator[Batch]:
        pieces, deadline = response.aiter_bytes(), None
        held: list[bytes] = []
        while not isinstance(piece := await _next(pieces, deadline), Ending):
            batch = reader.feed(piece)
            held.append(piece)
            if reader.is_stream:
                record(Exchange(body=held))
                held = []
            if batch.documents:
                deadline = asyncio.get_running_loop().time() + self.end_within if _ends(batch.documents[-1]) else None
            yield batch
            if reader.is_told:
                piece = Ending.OPEN
                break
        last = reader.close()
        last.known["ending"] = piece
        record(Exchange(**last.known))
        yield last


def in_process(app: Any) -> httpx.AsyncBaseTransport:
    """Carry requests to an ASGI application without a server; its answer comes whole, once it has ended."""
    return httpx.ASGITransport(app)


async def _next(pieces: AsyncIterator[bytes], deadline: float | None) -> bytes | Ending:
    """Wait for the next piece of a body, or its end; after the terminal event, until a deadline."""
    try:
        async with asyncio.timeout_at(deadline):
            return await anext(pieces, Ending.CLOSED)
    except TimeoutError:
        return Ending.OPEN
    except httpx.ReadTimeout:
        if deadline is None:
            raise
        return Ending.OPEN
    except (httpx.ReadError, httpx.RemoteProtocolError):
        return Ending.BROKEN


def _ends(document: Any) -> bool:
    return isinstance(document, dict) and document.get("type") in TERMINAL


def _why(error: Exception, timeout: float) -> str:
    match error:
        case httpx.ConnectTimeout() | httpx.ConnectError():
            return f"no connection ({error or 'it took too long'}); is the server running?"
        case httpx.TimeoutException():
            return f"nothing came for {timeout:g} seconds before the run ended; raise --timeout"
    return visible(str(error) or type(error).__name__)


async def capabilities(url: str, headers: Mapping[str, str], timeout: float) -> Any:  # noqa: ASYNC109 - httpx keeps it
    """Fetch the capabilities that a server declares.

    Raises:
        CannotCheck: They are not there, or no JSON.
    """
    name = source(url).name
    try:
        async with httpx.AsyncClient(timeout=timeout) as client:
            response = await client.get(url, headers=dict(headers))
            response.raise_for_status()
            return response.json()
    except httpx.HTTPStatusError as error:
        raise CannotCheck(f"{name}: it answers {error.response.status_code}, not capabilities") from None
    except (httpx.HTTPError, httpx.InvalidURL) as error:
        raise CannotCheck(f"{name}: {_why(error, timeout)}") from None
    except ValueError as error:
        raise CannotCheck(f"{name}: it answers with no JSON ({visible(str(error))})") from None
