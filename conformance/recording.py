"""Recordings: an exchange in a file, one JSON value a line.

Each line is an event as it came, or one of these:

- `{"exchange": {...}}`: what is known besides the events, in the members of `MEMBERS`. The run input stands before the
  first event; how the body ended may stand after the last. Several lines add up.
- `{"bytes": "data: ..."}` or `{"base64": "..."}`: a piece of the response's body, where its framing is to be judged.

A file of events alone is a recording, too, and so is one JSON list of them on one line.

Source: basic/transports
"""

import json
from base64 import b64decode, b64encode
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from conformance.exchange import Ending, Exchange
from conformance.reading import Batch, LinesReader, ProtobufReader, Reader, SseReader, Unreadable
from conformance.rules.http_sse import PROTOBUF_TYPE


def _as_given(value: Any) -> Any:
    return value


def _is(kind: type) -> Callable[[Any], Any]:
    def read(value: Any) -> Any:
        if type(value) is not kind:
            raise TypeError
        return value

    return read


def _headers(value: Any) -> Mapping[str, str]:
    return {name.lower(): _is(str)(text) for name, text in value.items()}


def _text(value: str) -> bytes:
    return value.encode()


def _ending(value: str) -> Ending:
    return Ending[value.upper()]


MEMBERS: dict[str, tuple[str, Callable[[Any], Any]]] = {
    "runInput": ("run_input", _as_given),
    "requestBody": ("request_body", _text),
    "accept": ("accept", _is(str)),
    "status": ("status", _is(int)),
    "headers": ("headers", _headers),
    "ending": ("ending", _ending),
    "stopped": ("stopped", _is(bool)),
    "controlStatus": ("control_status", _is(int)),
    "reference": ("reference", _is(list)),
    "capabilities": ("capabilities", _as_given),
    "refusal": ("refusal", _text),
}
"""The members of an exchange line, the fields of `Exchange` that they are, and how they are read."""


class RecordingReader:
    """Reads a recording."""

    def __init__(self) -> None:
        self._lines = LinesReader()
        self._inner: Reader | None = None
        self._headers: Mapping[str, str] = {}
        self._begun = False

    def feed(self, chunk: bytes) -> Batch:
        """Take the next bytes.

        Raises:
            Unreadable: A line is no JSON, or tells of an exchange what cannot be told of one.
        """
        return self._recorded(self._lines.feed(chunk))

    def close(self) -> Batch:
        """Take the end of the file.

        Raises:
            Unreadable: As `feed`.
        """
        batch = self._recorded(self._lines.close())
        if self._inner is not None:
            lines: list[int | None] = [batch.line_of(index) for index in range(len(batch.documents))]
            _append(batch, self._inner.close(), None)
            batch.line_of = [*lines, *[None] * (len(batch.documents) - len(lines))].__getitem__
        return batch

    def _recorded(self, read: Batch) -> Batch:
        if all(type(line) is dict and "type" in line for line in read.documents):
            self._begun |= bool(read.documents)
            return read
        batch = Batch()
        lines: list[int | None] = []
        for index, line in enumerate(read.documents):
            number = read.line_of(index)
            match line:
                case {"exchange": dict(told), **rest} if not rest:
                    if self._begun and "runInput" in told:
                        raise Unreadable(f"line {number}: the run input stands before the first event")
                    batch.known |= self._told(told, number)
                case list(events):
                    batch.documents += events
                case {"bytes": str(text), **rest} if not rest:
                    _append(batch, self._body().feed(_encoded(text, number)), number)
                case {"base64": str(text), **rest} if not rest:
                    _append(batch, self._body().feed(_decoded(text, number)), number)
                case _:
                    batch.documents.append(line)
            lines += [number] * (len(batch.documents) - len(lines))
            self._begun |= bool(lines)
        batch.line_of = lines.__getitem__
        return batch

    def _told(self, told: dict[str, Any], line: int | None) -> dict[str, Any]:
        known: dict[str, Any] = {}
        for name, value in told.items():
            if name not in MEMBERS:
                raise Unreadable(f"line {line}: an exchange has no {name!r}; it has {', '.join(MEMBERS)}")
            field, read = MEMBERS[name]
            try:
                known[field] = read(value)
            except (AttributeError, KeyError, TypeError, UnicodeEncodeError):
                raise Unreadable(f"line {line}: an exchange cannot have {name} {json.dumps(value)[:80]}") from None
        self._headers = known.get("headers", self._headers)
        return known

    def _body(self) -> Reader:
        if self._inner is None:
            protobuf = self._headers.get("content-type", "").lower().startswith(PROTOBUF_TYPE)
            self._inner = ProtobufReader() if protobuf else SseReader()
        return self._inner


def _encoded(text: str, line: int | None) -> bytes:
    try:
        return text.encode()
    except UnicodeEncodeError as error:
        raise Unreadable(f"line {line}: bytes as text expected ({error})") from None


def _decoded(text: str, line: int | None) -> bytes:
    try:
        return b64decode(text, validate=True)
    except ValueError as error:
        raise Unreadable(f"line {line}: base64 expected, found {text[:80]!r} ({error})") from None


def _append(batch: Batch, more: Batch, line: int | None) -> None:
    """Add what one piece of the body held."""
    begin = len(batch.documents)
    batch.breaches += [replace(one, index=begin + one.index, line=line) for one in more.breaches]
    batch.documents += more.documents
    batch.framing = more.framing or batch.framing


def written(exchange: Exchange) -> Iterator[str]:
    """Write an exchange as the lines of a recording: its body where it has one, else its events."""
    told = {name: _plain(getattr(exchange, field)) for name, (field, _) in MEMBERS.items()}
    known = {name: value for name, value in told.items() if value not in (None, False, "")}
    if known:
        yield json.dumps({"exchange": known}, ensure_ascii=False)
    if exchange.body is None:
        for event in exchange.events or ():
            yield json.dumps(event, ensure_ascii=False)
        return
    for chunk in exchange.body:
        try:
            yield json.dumps({"bytes": chunk.decode()}, ensure_ascii=False)
        except UnicodeDecodeError:
            yield json.dumps({"base64": b64encode(chunk).decode()})


def _plain(value: Any) -> Any:
    match value:
        case bytes():
            return value.decode(errors="replace")
        case Ending():
            return value.name.lower()
        case Mapping():
            return dict(value)
    return value
