"""Reading a request's head and body: what may be refused before anything is parsed.

Source: basic/transports/http-sse#request
"""

from starlette.requests import ClientDisconnect
from starlette.types import Receive

from sidecar.errors import BodyTooLarge, NothingAcceptable, WrongContentType

STREAM = ("text", "event-stream")


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
