"""Events as Server-Sent Events: LF framing, one event per data payload.

The characters U+2028, U+2029 and U+0085 are escaped: some clients take them for line ends.

Source: basic/transports/http-sse
"""

import json

from orjson import dumps

from conformance.events import TRIADS, Event
from conformance.order import Item

CONTENT_TYPE = "text/event-stream"
KEEP_ALIVE = b": keep-alive\n\n"
"""A comment: clients ignore it, proxies see traffic."""

_HEAD, _END = b"data: ", b"\n\n"
_CONTENT_END = b"}" + _END
_LINE_ENDS = ((b"\xe2\x80\xa8", b"\\u2028"), (b"\xe2\x80\xa9", b"\\u2029"), (b"\xc2\x85", b"\\u0085"))


class Encoder:
    """Writes the events of one stream. What repeats in the content events of an open item is written once."""

    def __init__(self) -> None:
        self._prefixes: dict[Item, bytes] = {}

    def encode(self, event: Event) -> bytes:
        """Write one event as one SSE event."""
        return _HEAD + write_json(event) + _END

    def encode_delta(self, item: Item, delta: str) -> bytes:
        """Write the content event that extends `item` by `delta`."""
        prefix = self._prefixes.get(item) or self._prefix(item)
        if delta.isascii():
            return prefix + dumps(delta) + _CONTENT_END
        return prefix + _escaped(dumps(delta)) + _CONTENT_END

    def _prefix(self, item: Item) -> bytes:
        """Write what stands before the delta in every content event of `item`."""
        triad = TRIADS[item.family]
        head = {"type": triad.content, triad.key: item.key}
        if item.owner is not None:
            head["subagentRunId"] = item.owner
        prefix = self._prefixes[item] = _HEAD + write_json(head)[:-1] + b',"delta":'
        return prefix


def write_json(event: Event) -> bytes:
    """Write an event as one line of JSON."""
    try:
        written = dumps(event)
    except TypeError:  # an integer beyond 64 bits, or nesting beyond orjson's: rare, and legal JSON
        written = json.dumps(event, ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode()
    return _escaped(written)


def _escaped(written: bytes) -> bytes:
    for raw, escaped in _LINE_ENDS:
        if raw in written:
            written = written.replace(raw, escaped)
    return written
