"""The rules of the page on HTTP with protobuf.

Source: basic/transports/http-protobuf
"""

from collections.abc import Iterator

from conformance.rules.http_sse import PROTOBUF_TYPE, SSE_TYPE
from conformance.rules.rule import BY_READING, AtEnd, By, Case, Fact, Fault, Level, Rule, See, on_page


def admits(accept: str, media_type: str) -> bool:
    """Say whether an Accept header admits a media type with a positive quality: the most specific range decides."""
    best, quality = -1, 0.0
    family = media_type.partition("/")[0]
    for entry in accept.split(","):
        name, *parameters = (part.strip().lower() for part in entry.split(";"))
        specific = {media_type: 2, f"{family}/*": 1, "*/*": 0}.get(name, -1)
        if specific > best:
            best, quality = specific, _quality(parameters)
    return quality > 0


def _quality(parameters: list[str]) -> float:
    for parameter in parameters:
        name, _, value = parameter.partition("=")
        if name.strip() == "q":
            try:
                return float(value)
            except ValueError:
                return 0.0
    return 1.0


def _negotiated(case: Case) -> Iterator[Fault]:
    accept = case.exchange.accept or ""
    sent, admitted = (case.exchange.headers or {}).get("content-type", ""), admits(accept, PROTOBUF_TYPE)
    if case.exchange.content_type == SSE_TYPE:
        declared = (case.exchange.capabilities or {}).get("transport", {}).get("httpBinary")
        if admitted and declared is True:
            yield Fault(f"{PROTOBUF_TYPE}, which the capabilities declare", f"SSE for Accept {accept!r}")
    elif case.exchange.content_type == PROTOBUF_TYPE:
        if not admitted:
            yield Fault("SSE for an Accept that does not admit protobuf", f"protobuf for Accept {accept!r}")
        elif sent != PROTOBUF_TYPE:
            yield Fault(f"Content-Type exactly {PROTOBUF_TYPE}", repr(sent))


RULES = on_page(
    "basic/transports/http-protobuf",
    Rule(
        "proto-negotiated",
        See.EXCHANGE,
        "A server with the protobuf binding uses it whenever Accept admits application/vnd.ag-ui.event+proto with a "
        "positive quality, and SSE otherwise; Content-Type is exactly that type.",
        "Read the quality of the media type in Accept, and add no parameter to the Content-Type.",
        AtEnd(_negotiated),
        needs=(Fact.ACCEPT, Fact.RESPONSE),
        by=By.SERVER,
        level=Level.SHOULD,
    ),
    Rule(
        "proto-framing",
        See.EXCHANGE,
        "Each frame is a 4-byte big-endian length and that many bytes of one event.",
        "Write the length of the encoded event as an unsigned 32-bit big-endian integer before it.",
        BY_READING,
        needs=(Fact.PROTOBUF,),
        by=By.SERVER,
    ),
    Rule(
        "proto-parity",
        See.EXCHANGE,
        "Both bindings carry the same events; canonical events encode to the reference encoder's bytes.",
        "Write fields in the order of their numbers and leave out what has no presence, as the reference encoder does.",
        BY_READING,
        needs=(Fact.PROTOBUF,),
        by=By.SERVER,
    ),
)
