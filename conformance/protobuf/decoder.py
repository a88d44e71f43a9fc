"""From the bytes of a message to the event: the wire schema's tables, made into one reader per field.

A reader reads into an object that may hold something already, because protobuf merges a message that occurs twice. A
known field of another wire type is as unknown as one that no table has.

Source: basic/transports/http-protobuf#the-wire-schema
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

from conformance.events import Event
from conformance.protobuf.errors import MalformedMessage, UnknownArm
from conformance.protobuf.forms import FROM_WIRE, Form, Members
from conformance.protobuf.opaque import ABSENT, read_struct, read_value
from conformance.protobuf.varints import SIZED, VARINT, read_span, read_varint, sized_fields, skip
from conformance.protobuf.wire_schema import ENUMS, EVENTS, MESSAGES, UNIONS, Field, fields

Read: TypeAlias = Callable[[bytes, int, int, Members], None]
"""Reads a sized field's bytes from one position to another into its object."""


def decode(message: bytes) -> Event:
    """Read one event from a message, without a frame.

    The event is not judged: it is what the bytes say, for the pipeline that takes events from any binding.

    Args:
        message: The bytes of one message.

    Returns:
        The event, a JSON object.

    Raises:
        UnknownArm: It is an event of a later protocol. Drop it with a warning.
        MalformedMessage: The bytes do not decode as an event. The stream is broken.
    """
    try:
        return _event(message)
    except IndexError as past_the_end:
        raise MalformedMessage(f"the message ends within a field, at byte {len(message)}") from past_the_end
    except UnicodeDecodeError as no_text:
        raise MalformedMessage(f"a string is no UTF-8: {no_text.reason}") from no_text


def _event(message: bytes) -> Event:
    event: Event = {}
    _read_union(_ARMS, message, 0, len(message), event)
    if not event:
        raise UnknownArm(_unknown_arm(message))
    base = event.pop("baseEvent", None)
    if base is None or base["type"] != event["type"]:
        declared = "none" if base is None else base["type"]
        raise MalformedMessage(f"the envelope's arm is {event['type']}, the base event's type {declared}")
    event.update(base)
    form = FROM_WIRE.get(event["type"])
    return event if form is None else form(event)


def _unknown_arm(message: bytes) -> int:
    """The number of the arm in an envelope without a known one.

    Raises:
        MalformedMessage: It is nothing that a later protocol would send: there is no arm, or it holds no message, or a
            known one is of another wire type.
    """
    pos = arm = 0
    while pos < len(message):
        tag, pos = read_varint(message, pos, 32)
        if tag >> 3 in _ARM_NUMBERS:
            raise MalformedMessage(f"arm {tag >> 3} of the envelope has the wire type {tag & 7}")
        if tag & 7 == SIZED:
            start, pos = read_span(message, pos, len(message))
            for _ in sized_fields(message, start, pos):
                pass  # it raises where this is no message
            arm = arm or tag >> 3
        else:
            pos = skip(message, pos, len(message), tag)
    if not arm:
        raise MalformedMessage("the envelope has no arm")
    return arm


@dataclass(frozen=True, slots=True)
class _Object:
    """How one object is read."""

    members: Members
    """What it holds before anything is read: its type, and the strings that are always there."""
    lists: tuple[str, ...]
    """The lists that are always there."""
    sized: dict[int, tuple[str, Read | None]]
    """By tag, a member's name and its reader; without one it is a string."""
    numbers: dict[int, tuple[str, Callable[[int], Any]]]
    """By tag, a member's name and what a varint stands for."""
    form: Form | None

    def new(self) -> Members:
        """An object of which nothing is read yet."""
        members = self.members.copy()
        for name in self.lists:
            members[name] = []
        return members

    def read(self, data: bytes, pos: int, end: int, into: Members) -> None:
        """Read fields into an object."""
        while pos < end:
            tag = data[pos]
            pos += 1
            if tag > 127:  # noqa: PLR2004 - seven bits a byte
                tag, pos = read_varint(data, pos - 1, 32)
            if (field := self.sized.get(tag)) is not None:
                name, read = field
                start, pos = read_span(data, pos, end)
                if read is None:
                    into[name] = data[start:pos].decode()
                else:
                    read(data, start, pos, into)
            elif (scalar := self.numbers.get(tag)) is not None:
                name, meaning = scalar
                number, pos = read_varint(data, pos, 64)
                into[name] = meaning(number)
            else:
                pos = skip(data, pos, end, tag)
        if pos > end:
            raise MalformedMessage(f"a message ends at byte {pos}, its field at {end}")


_Arms: TypeAlias = dict[int, tuple[str, _Object]]
"""By tag, the type that an arm stands for, and how it is read."""


def _read_union(arms: _Arms, data: bytes, pos: int, end: int, into: Members) -> None:
    """Read the one arm that is there into an object; leave the object empty where there is none that is known."""
    for tag, start, stop in sized_fields(data, pos, end):
        arm = arms.get(tag)
        if arm is None:
            continue
        kind, shape = arm
        if not into:
            into.update(shape.new())
        elif into["type"] != kind:
            raise MalformedMessage(f"one of {into['type']} and {kind} is expected, both are there")
        shape.read(data, start, stop, into)


def _object(rows: str, kind: str | None = None, form: Form | None = None) -> _Object:
    """How an object is read."""
    columns = fields(rows)
    members: Members = {} if kind is None else {"type": kind}
    for field in columns:
        if not (field.optional or field.many) and field.kind in _DEFAULTS:
            members[field.name] = _DEFAULTS[field.kind]
    return _Object(
        members,
        tuple(field.name for field in columns if field.many and not field.optional),
        {field.number << 3 | SIZED: (field.name, _reader(field)) for field in columns if field.kind not in _NUMBERS},
        {field.number << 3 | VARINT: (field.name, _NUMBERS[field.kind]) for field in columns if field.kind in _NUMBERS},
        form,
    )


def _union(name: str) -> _Arms:
    return {number << 3 | SIZED: (kind, _object(rows, kind)) for (number, kind), rows in UNIONS[name].items()}


def _reader(field: Field) -> Read | None:
    match field.kind:
        case "string":
            return _strings(field.name) if field.many else None
        case "Value":
            return _value(field.name)
        case "Struct":
            return _struct(field.name)
    if field.kind in UNIONS:
        arms = _union(field.kind)
        return _parts(field.name, arms) if field.many else _tagged(field.name, arms)
    shape = _object(MESSAGES[field.kind], form=FROM_WIRE.get(field.kind))
    return _messages(field.name, shape) if field.many else _message(field.name, shape)


def _strings(name: str) -> Read:
    def read(data: bytes, pos: int, end: int, into: Members) -> None:
        into.setdefault(name, []).append(data[pos:end].decode())

    return read


def _value(name: str) -> Read:
    def read(data: bytes, pos: int, end: int, into: Members) -> None:
        value = read_value(data, pos, end, into.get(name, ABSENT))
        if value is not ABSENT:
            into[name] = value

    return read


def _struct(name: str) -> Read:
    def read(data: bytes, pos: int, end: int, into: Members) -> None:
        read_struct(data, pos, end, into.setdefault(name, {}))

    return read


def _message(name: str, shape: _Object) -> Read:
    def read(data: bytes, pos: int, end: int, into: Members) -> None:
        if name not in into:
            into[name] = shape.new()
        shape.read(data, pos, end, into[name])

    return read


def _messages(name: str, shape: _Object) -> Read:
    def read(data: bytes, pos: int, end: int, into: Members) -> None:
        item = shape.new()
        shape.read(data, pos, end, item)
        into.setdefault(name, []).append(item if shape.form is None else shape.form(item))

    return read


def _tagged(name: str, arms: _Arms) -> Read:
    def read(data: bytes, pos: int, end: int, into: Members) -> None:
        _read_union(arms, data, pos, end, into.setdefault(name, {}))

    return read


def _parts(name: str, arms: _Arms) -> Read:
    def read(data: bytes, pos: int, end: int, into: Members) -> None:
        part: Members = {}
        _read_union(arms, data, pos, end, part)
        if part and part.get("source") != {}:  # a part of an unknown variant, or with such a source, has no name
            into.setdefault(name, []).append(part)

    return read


def _signed(number: int) -> int:
    return number - 2**64 if number >> 63 else number


def _named(names: dict[int, str]) -> Callable[[int], str]:
    """The name of an enumeration's number: of an unknown one its digits, which no name is."""

    def meaning(number: int) -> str:
        number &= 2**32 - 1
        return names.get(number) or str(number - 2**32 if number >> 31 else number)

    return meaning


_NUMBERS: dict[str, Callable[[int], Any]] = {
    "int64": _signed,
    "bool": bool,
    **{kind: _named({number: name for name, number in numbers.items()}) for kind, numbers in ENUMS.items()},
}
"""By kind, what a varint stands for."""

_DEFAULTS = {"string": "", **{kind: meaning(0) for kind, meaning in _NUMBERS.items() if kind in ENUMS}}
"""By kind, what is there where the wire has no field."""

_ARMS: _Arms = {
    number << 3 | SIZED: (kind, _object(f"1 baseEvent BaseEvent, {rows}", kind))
    for (number, _, kind), rows in EVENTS.items()
}
_ARM_NUMBERS = frozenset(number for number, _, _ in EVENTS)
