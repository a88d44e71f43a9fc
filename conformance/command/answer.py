"""The answer to a run input, from its bytes: a stream of events, or a refusal.

A refusal is an answer whose body is no stream, whatever its status: what a stream is was declared by its Content-Type,
or shows by its beginning, so that a stream under a wrong Content-Type is read, and judged for it.

Source: basic/transports/http-sse, basic/transports/http-protobuf
"""

from collections.abc import Callable, Mapping

from conformance.command.recognise import ENOUGH, recognised
from conformance.reading import Batch, ProtobufReader, Reader, SseReader
from conformance.rules.http_sse import PROTOBUF_TYPE, SSE_TYPE

MAX_REFUSAL = 64 * 1024
"""Bytes of a refusal that are kept."""

_DECLARED: Mapping[str, Callable[[], Reader]] = {SSE_TYPE: SseReader, PROTOBUF_TYPE: ProtobufReader}
_UNDECLARED: Mapping[str | None, Callable[[], Reader]] = {"sse": SseReader, "protobuf": ProtobufReader}


class AnswerReader:
    """Reads one answer."""

    def __init__(self, headers: Mapping[str, str]) -> None:
        content_type = headers.get("content-type", "").partition(";")[0].strip().lower()
        declared = _DECLARED.get(content_type)
        self._reader = None if declared is None else declared()
        self._held = b""
        """What came while it is not clear to be a stream."""

    @property
    def is_stream(self) -> bool:
        """Whether it is a stream, as far as it came."""
        return self._reader is not None

    @property
    def is_told(self) -> bool:
        """Whether it is a refusal of which enough came."""
        return self._reader is None and len(self._held) >= MAX_REFUSAL

    def feed(self, chunk: bytes) -> Batch:
        """Take the next bytes.

        Raises:
            Unreadable: The stream cannot be read on.
        """
        if self._reader is not None:
            return self._reader.feed(chunk)
        is_beginning = len(self._held) < ENOUGH
        self._held += chunk
        if is_beginning and len(self._held) >= ENOUGH:
            shown = _UNDECLARED.get(recognised(self._held))
            if shown is not None:
                self._reader = shown()
                return self._reader.feed(self._held)
        return Batch()

    def close(self) -> Batch:
        """Take the end of the body.

        Raises:
            Unreadable: The stream ended where it must not.
        """
        return Batch(known={"refusal": self._held[:MAX_REFUSAL]}) if self._reader is None else self._reader.close()
