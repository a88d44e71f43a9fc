"""Events as Server-Sent Events: LF framing, one event per data payload.

The characters U+2028, U+2029 and U+0085 are escaped: some clients take them for line ends.

Source: basic/transports/http-sse
"""

import json

import orjson

from conformance.events import TRIADS, Event
from conformance.order import Delta, Item

CONTENT_TYPE = "text/event-stream"
KEEP_ALIVE = b": keep-alive\n\n"
"""A comment: clients ignore it, proxies see traffic."""

_HEAD, _END = b"data: ", b"\n\n"
_LINE_ENDS = ((b"\xe2\x80\xa8", b"\\u2028"), (b"\xe2\x80\xa9", b"\\u2029"), (b"\xc2\x85", b"\\u0085"))


class Encoder:
    """Writes the events of one stream. What repeats in the content events of an open item is written once."""

    def __init__(self) -> None:
        self._prefixes: dict[Item, tuple[bytes, bytes]] = {}

    def encode(self, event: Event | Delta) -> bytes:
        """Write one event as one SSE event."""
        if type(event) is Delta:
            around = self._prefixes.get(event.item)
            if around is None:
                around = self._prefixes[event.item] = _around(event.item)
            if event.delta.isascii():
                return around[0] + orjson.dumps(event.delta) + around[1]
            return around[0] + _escaped(orjson.dumps(event.delta)) + around[1]
        return _HEAD + write_json(event) + _END


def write_json(event: Event) -> bytes:
    """Write an event as one line of JSON."""
    try:
        written = orjson.dumps(event)
    except TypeError:  # an integer beyond 64 bits, or nesting beyond orjson's: rare, and legal JSON
        written = json.dumps(event, ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode()
    return _escaped(written)


def _escaped(written: bytes) -> bytes:
    for raw, escaped in _LINE_ENDS:
        if raw in written:
            written = written.replace(raw, escaped)
    return written


def _around(item: Item) -> tuple[bytes, bytes]:
    """What stands before and behind the delta in every content event of `item`."""
    triad = TRIADS[item.family]
    head = {"type": triad.content, triad.key: item.key}
    if item.owner is not None:
        head["subagentRunId"] = item.owner
    return _HEAD + write_json(head)[:-1] + b',"delta":', b"}" + _END
