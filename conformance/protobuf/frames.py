"""Frames: a 4-byte big-endian length, then exactly that many bytes of one message. Nothing between two frames.

Source: basic/transports/http-protobuf#framing
"""

from conformance.protobuf.errors import FrameTooLong, Unencodable

HEADER = 4
"""Bytes of a frame's length."""

LONGEST = 64 * 1024 * 1024
"""Bytes of the longest message that is read, unless told otherwise."""


def frame(message: bytes) -> bytes:
    """Put one message into a frame.

    Raises:
        Unencodable: It is longer than a header can say (4 GiB).
    """
    try:
        return len(message).to_bytes(HEADER, "big") + message
    except OverflowError as too_long:
        raise Unencodable(f"a message of {len(message)} bytes fits no frame") from too_long


class Frames:
    """Splits one response body into messages, however it was cut into chunks.

    It holds at most one unfinished frame and the last chunk.

    Args:
        limit: Bytes of the longest message to take.
    """

    def __init__(self, limit: int = LONGEST) -> None:
        self._limit = limit
        self._held = bytearray()
        self._wanted = HEADER
        """Bytes that must be held before anything more can be said."""

    def feed(self, chunk: bytes) -> list[bytes]:
        """Take the next bytes of the body.

        Returns:
            The messages that they complete, in order.

        Raises:
            FrameTooLong: The next frame is over the limit. Messages before it are returned first: then the next call
                raises, so that what is read does not depend on the chunks. Every later call raises it again.
        """
        self._refuse_too_long()
        self._held += chunk
        if len(self._held) < self._wanted:
            return []
        messages: list[bytes] = []
        start = 0
        while len(self._held) - start >= self._wanted:
            stop = start + HEADER
            length = int.from_bytes(self._held[start:stop], "big")
            self._wanted = HEADER + length
            if length > self._limit or len(self._held) - start < self._wanted:
                break
            messages.append(bytes(self._held[stop : stop + length]))
            start = stop + length
            self._wanted = HEADER
        del self._held[:start]
        if not messages:
            self._refuse_too_long()
        return messages

    def close(self) -> bool:
        """Say whether the body ended in mid-frame: a truncated run, not an error.

        Raises:
            FrameTooLong: As `feed` does.
        """
        self._refuse_too_long()
        return bool(self._held)

    def _refuse_too_long(self) -> None:
        if self._wanted - HEADER > self._limit:
            raise FrameTooLong(self._wanted - HEADER, self._limit)
