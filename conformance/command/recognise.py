"""What a stream of bytes is, by its beginning.

Source: basic/transports
"""

from collections.abc import Callable, Mapping

from conformance.reading import ProtobufReader, Reader, SseReader
from conformance.recording import RecordingReader

ENOUGH = 16
"""Bytes after which the beginning of every kind of stream tells which it is."""

READERS: Mapping[str, Callable[[], Reader]] = {
    "sse": SseReader,
    "jsonl": RecordingReader,
    "protobuf": ProtobufReader,
}
"""What reads each kind of stream."""

_FIELDS = (b"data:", b"event:", b"id:", b"retry:", b":")


def recognised(beginning: bytes) -> str | None:
    """Say of which kind of `READERS` a stream is; None where it is of none."""
    if beginning.startswith(b"\0"):  # the length of a frame; one of over 16 MiB is none that anybody sends first
        return "protobuf"
    text = beginning.removeprefix(b"\xef\xbb\xbf").lstrip()
    if text.startswith((b"{", b"[")):
        return "jsonl"
    return "sse" if text.startswith(_FIELDS) else None
