"""From bytes to events: server-sent events, protobuf frames, and one JSON value a line.

A reader takes the bytes in whatever pieces they come and holds no more of them than the event that is not whole yet.
Whether an event is a good one is not its business: only what its framing owes is.

Source: basic/transports/http-sse, basic/transports/http-protobuf
"""

import json
from bisect import bisect_right
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from operator import itemgetter
from typing import Any, Protocol

import orjson

from conformance.events import Event
from conformance.exchange import Exchange
from conformance.order import Breach
from conformance.protobuf import (
    CONTENT_TYPE,
    Frames,
    FrameTooLong,
    MalformedMessage,
    Unencodable,
    UnknownArm,
    decode,
    encode,
)
from conformance.rules import Fact
from conformance.shapes import describe

MAX_EVENT = 64 * 1024 * 1024
"""Bytes that one event may take."""


class Unreadable(Exception):  # noqa: N818 - a sentence about the bytes
    """The bytes are not what the reader was told they are. The message says where, and what was expected."""


@dataclass(frozen=True, slots=True)
class Misframed:
    """A breach of the framing: before which document of its batch, and on which line."""

    index: int
    breach: Breach
    line: int | None = None


@dataclass(slots=True)
class Batch:
    """What one piece of the stream held."""

    documents: list[Any] = field(default_factory=list)
    breaches: list[Misframed] = field(default_factory=list)
    """What the framing broke, in order."""
    line_of: Callable[[int], int | None] = lambda _: None
    """The line, from 1, on which a document of this batch begins, where the stream has lines."""
    framing: Fact | None = None
    """What the bytes were, where their framing is to be judged."""
    known: dict[str, Any] = field(default_factory=dict)
    """What was told of the exchange: fields of `Exchange`."""


class Reader(Protocol):
    """Reads one stream."""

    def feed(self, chunk: bytes) -> Batch:
        """Take the next bytes.

        Raises:
            Unreadable: They cannot be read on.
        """

    def close(self) -> Batch:
        """Take the end of the stream.

        Raises:
            Unreadable: It ended where it must not.
        """


def parse_json(text: bytes) -> Any:
    """Read JSON, escaped lone surrogates included, which orjson refuses.

    Raises:
        ValueError: It is none.
    """
    try:
        return orjson.loads(text)
    except ValueError:
        try:
            return json.loads(text, parse_constant=_refuse)
        except RecursionError:
            message = "it nests too deep"
            raise ValueError(message) from None


def _refuse(name: str) -> Any:
    message = f"{name} has no place in JSON"
    raise ValueError(message)


_BOM = b"\xef\xbb\xbf"


class SseReader:
    """Reads `text/event-stream`."""

    def __init__(self) -> None:
        self._rest = b""
        self._line = 1
        self._told_line_ends = False
        self._at_start = True

    def feed(self, chunk: bytes) -> Batch:
        """Take the next bytes."""
        text = self._rest + chunk if self._rest else chunk
        batch = Batch(framing=Fact.SSE)
        if self._at_start:
            self._rest = text
            if len(text) < len(_BOM) and _BOM.startswith(text):
                return batch
            text = text.removeprefix(_BOM)
            self._at_start = False
        if b"\r" in text:
            text = self._line_feeds(text, batch)
        whole, blank, self._rest = text.rpartition(b"\n\n")
        if len(self._rest) > MAX_EVENT:
            raise Unreadable(f"line {self._line}: an event of over {MAX_EVENT} bytes; is it text/event-stream?")
        if blank:
            self._blocks(whole.split(b"\n\n"), batch)
        return batch

    def _line_feeds(self, text: bytes, batch: Batch) -> bytes:
        """Read CR and CRLF as the line ends that they are in SSE; a CR at the end may be half of one."""
        held = b"\r" if text.endswith(b"\r") else b""
        if not self._told_line_ends:
            self._told_line_ends = True
            line = self._line + text.partition(b"\r")[0].count(b"\n")
            batch.breaches.append(Misframed(0, Breach("sse-lf", "lines that end with LF", "CR"), line))
        return text.removesuffix(b"\r").replace(b"\r\n", b"\n").replace(b"\r", b"\n") + held

    def _blocks(self, blocks: list[bytes], batch: Batch) -> None:
        begin, documents = self._line, batch.documents
        anchors = [(0, 0)]  # the index of a document and the place of its block, as far as both go on together
        for place, block in enumerate(blocks):
            if block.startswith(b"data: {") and b"\n" not in block:
                try:
                    documents.append(orjson.loads(block[6:]))
                except ValueError:
                    pass
                else:
                    continue
            for document in self._event(block, batch, begin + _lines_before(blocks, place)):
                anchors.append((len(documents), place))
                documents.append(document)
            anchors.append((len(documents), place + 1))

        def line_of(index: int) -> int:
            first, place = anchors[bisect_right(anchors, index, key=itemgetter(0)) - 1]
            return begin + _lines_before(blocks, place + index - first)

        batch.line_of = line_of
        self._line = begin + _lines_before(blocks, len(blocks))

    def _event(self, block: bytes, batch: Batch, line: int) -> list[Event]:
        """Read one event with all its fields; comments and fields other than data say nothing."""
        data, expected = _data(block), "one event as a JSON object"
        if data is None:
            if not block.lstrip().startswith(b"{"):
                return []
            data, expected, found = block, "an event in a data field", f"{_excerpt(block.strip())} without one"
        else:
            try:
                document = parse_json(data)
            except ValueError as error:
                found = f"{_excerpt(data)}, which is no JSON ({error})"
            else:
                if type(document) is dict:
                    return [document]
                found = describe(document)
        breach = Breach("sse-one-event-per-data", expected, found)
        batch.breaches.append(Misframed(len(batch.documents), breach, line))
        return _meant(data)

    def close(self) -> Batch:
        """Take the end of the stream: an event without its blank line is not whole, and clients drop it."""
        batch = self.feed(b"\n") if self._rest.endswith(b"\r") else Batch()  # the half of a line end was a whole one
        rest, begin, self._rest = self._rest, self._line + _blank_lines(self._rest), b""
        data = _data(rest)
        if data is not None:
            breach = Breach("transport-ordered", "a blank line after the last event", "the end of the stream")
            batch = Batch(_meant(data), [Misframed(0, breach, begin)])
        elif rest:
            batch = Batch()
            batch.documents += self._event(rest, batch, begin)
        else:
            return batch
        batch.line_of = lambda _: begin
        return batch


def _meant(text: bytes) -> list[Event]:
    """Read what stands in the place of one event: the events of a list, or one event a line, or none."""
    try:
        read = parse_json(text)
    except ValueError:
        try:
            read = [parse_json(line) for line in text.split(b"\n") if line]
        except ValueError:
            return []
    return [one for one in (read if type(read) is list else [read]) if type(one) is dict]


def _data(block: bytes) -> bytes | None:
    """The data of one SSE event: its data fields, joined; None where it has none."""
    lines = [line[5:].removeprefix(b" ") for line in block.split(b"\n") if line.startswith(b"data:") or line == b"data"]
    return b"\n".join(lines) if lines else None


def _lines_before(blocks: list[bytes], place: int) -> int:
    """How many lines stand before the first of an event that is not blank."""
    before = sum(block.count(b"\n") + 2 for block in blocks[:place])
    return before + (_blank_lines(blocks[place]) if place < len(blocks) else 0)


def _blank_lines(block: bytes) -> int:
    return len(block) - len(block.lstrip(b"\n"))


def _excerpt(data: bytes, limit: int = 80) -> str:
    text = data.decode(errors="replace")
    return repr(text if len(text) <= limit else text[:limit] + "...")


class LinesReader:
    """Reads one JSON value a line."""

    def __init__(self) -> None:
        self._rest = b""
        self._line = 1

    def feed(self, chunk: bytes) -> Batch:
        """Take the next bytes."""
        whole, end, rest = chunk.rpartition(b"\n")
        if not end:
            self._rest += chunk
            if len(self._rest) > MAX_EVENT:
                raise Unreadable(f"line {self._line}: over {MAX_EVENT} bytes; is it one JSON value a line?")
            return Batch()
        whole, self._rest = self._rest + whole, rest
        return self._lines(whole.split(b"\n"))

    def _lines(self, lines: list[bytes]) -> Batch:
        begin, origins = self._line, []
        documents: list[Any] = []
        for place, line in enumerate(lines):
            if line.strip():
                documents.append(_json_line(line, begin + place))
                origins.append(begin + place)
        self._line = begin + len(lines)
        return Batch(documents, line_of=origins.__getitem__)

    def close(self) -> Batch:
        """Take the end of the stream; the last line may lack its end."""
        rest, self._rest = self._rest, b""
        return self._lines([rest])


def _json_line(line: bytes, number: int) -> Any:
    try:
        return parse_json(line)
    except ValueError as error:
        expected = "expected one JSON value a line"
        if line.strip() in (b"[", b"{"):
            expected += " (jq -c '.[]' writes a JSON list so)"
        raise Unreadable(f"line {number}: {expected}, found {_excerpt(line)} ({error})") from None


class ProtobufReader:
    """Reads `application/vnd.ag-ui.event+proto`."""

    def __init__(self) -> None:
        self._frames = Frames()
        self._count = 0

    def feed(self, chunk: bytes) -> Batch:
        """Take the next bytes."""
        batch = Batch(framing=Fact.PROTOBUF)
        try:
            messages = self._frames.feed(chunk)
        except FrameTooLong as error:
            raise Unreadable(f"frame {self._count + 1}: {error}") from None
        for message in messages:
            self._count += 1
            try:
                document = decode(message)
            except UnknownArm as error:  # read-unknown-event: the frame carries no type to hand on
                unknown = Breach("event-described", "an event of the protocol", str(error))
                batch.breaches.append(Misframed(len(batch.documents), unknown))
                continue
            except MalformedMessage as error:
                raise Unreadable(f"frame {self._count}: {error}") from None
            if not _same_bytes(document, message):
                found = f"other bytes for {document['type']}"
                parity = Breach("proto-parity", "the reference encoder's bytes", found)
                batch.breaches.append(Misframed(len(batch.documents), parity))
            batch.documents.append(document)
        return batch

    def close(self) -> Batch:
        """Take the end of the stream."""
        batch = Batch()
        if self._frames.close():
            cut = Breach("proto-framing", "the whole of the last frame", "the end of the stream")
            batch.breaches.append(Misframed(0, cut))
        return batch


def _same_bytes(document: Event, message: bytes) -> bool:
    """Compare with what the reference writes; it has no bytes for what the protocol does not know.

    An open object's members may stand in another order. Decoding keeps that order but for keys that are array indexes.
    """
    try:
        written = encode(document)
    except Unencodable:
        return True
    return written == message or (len(written) == len(message) and _has_index_key(document))


def _has_index_key(value: Any) -> bool:
    if type(value) is dict:
        return any(key.isdecimal() or _has_index_key(inner) for key, inner in value.items())
    return type(value) is list and any(map(_has_index_key, value))


def batches(exchange: Exchange) -> Iterator[Batch]:
    """Read a whole exchange: its body by what its Content-Type says, or its events where it has none.

    Raises:
        Unreadable: The body cannot be read.
    """
    if exchange.body is None:
        yield Batch(list(exchange.events or ()))
        return
    reader = ProtobufReader() if exchange.content_type == CONTENT_TYPE else SseReader()
    for chunk in exchange.body:
        yield reader.feed(chunk)
    yield reader.close()
