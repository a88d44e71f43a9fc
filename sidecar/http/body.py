"""Reading a request's head and body: what may be refused before anything is parsed.

Source: basic/transports/http-sse#request
"""

import asyncio
from contextlib import suppress

from starlette.requests import ClientDisconnect
from starlette.responses import Response
from starlette.types import Message, Receive, Send

from sidecar.errors import BodyTooLarge, NothingAcceptable, WrongContentType

STREAM = ("text", "event-stream")

LINGER = 2.0
"""How long the rest of a body that is too large is thrown away, in seconds."""


async def read_body(headers: dict[str, str], receive: Receive, limit: int) -> bytes:
    """Read a body of at most `limit` bytes, and no further.

    Raises:
        BodyTooLarge: It is larger, or says so.
        ClientDisconnect: The client left in the middle of it.
    """
    declared = headers.get("content-length", "")
    if declared.isdecimal() and int(declared) > limit:
        raise BodyTooLarge(limit)
    chunks: list[bytes] = []
    size, more = 0, True
    while more:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise ClientDisconnect
        chunks.append(message.get("body", b""))
        size += len(chunks[-1])
        if size > limit:
            raise BodyTooLarge(limit)
        more = message.get("more_body", False)
    return b"".join(chunks)


async def answer_unread(answer: Response, receive: Receive, send: Send, limit: int) -> None:
    """Answer a request whose body goes on, then close the connection.

    Most clients look for the answer when they have sent all, and a connection that is closed while they send takes the
    answer along. So what comes is thrown away for a moment: at most four times `limit` bytes, and `LINGER` seconds.
    """
    answer.headers["Connection"] = "close"
    await send({"type": "http.response.start", "status": answer.status_code, "headers": answer.raw_headers})
    await send({"type": "http.response.body", "body": answer.body, "more_body": True})
    with suppress(TimeoutError):
        await asyncio.wait_for(_throw_away(receive, 4 * limit), LINGER)
    await send({"type": "http.response.body", "body": b"", "more_body": False})


async def _throw_away(receive: Receive, limit: int) -> None:
    message: Message = {"type": "http.request", "more_body": True}
    while message.get("more_body") and limit > 0:
        message = await receive()
        limit -= len(message.get("body", b""))


def check_content_type(headers: dict[str, str]) -> None:
    """Check that the body is declared as JSON.

    Raises:
        WrongContentType: It is not.
    """
    declared = headers.get("content-type")
    media_type = (declared or "").partition(";")[0].strip().lower()
    if media_type != "application/json":
        raise WrongContentType(declared)


def check_accept(headers: dict[str, str]) -> None:
    """Check that the client accepts an event stream; a client that says nothing accepts everything.

    Raises:
        NothingAcceptable: It does not.
    """
    accept = headers.get("accept", "").strip()
    if accept and _quality(accept, STREAM) <= 0:
        raise NothingAcceptable(accept)


def _quality(accept: str, wanted: tuple[str, str]) -> float:
    """The quality that an Accept header gives a media type: its most specific range counts. (RFC 9110 12.5.1)"""
    best = (-1, 0.0)
    for item in accept.split(","):
        media_range, *parameters = [part.strip().lower() for part in item.split(";")]
        kind, _, subtype = media_range.partition("/")
        if kind not in ("*", wanted[0]) or subtype not in ("*", wanted[1]):
            continue
        specificity = (kind != "*") + (subtype != "*")
        best = max(best, (specificity, _q(parameters)))
    return best[1]


def _q(parameters: list[str]) -> float:
    for parameter in parameters:
        if parameter.startswith("q="):
            try:
                return float(parameter[2:])
            except ValueError:
                return 0.0
    return 1.0
