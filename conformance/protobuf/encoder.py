"""From an event to the bytes of its message: the wire schema's tables, made into one writer per field.

Source: basic/transports/http-protobuf#the-wire-schema
"""

from collections.abc import Callable
from functools import partial
from typing import Any, TypeAlias

from conformance.events import Event
from conformance.protobuf.errors import Unencodable
from conformance.protobuf.forms import TO_WIRE
from conformance.protobuf.opaque import write_struct, write_text, write_value
from conformance.protobuf.varints import SHORT, SIZED, VARINT, sized, varint
from conformance.protobuf.wire_schema import ENUMS, EVENTS, MESSAGES, UNIONS, Field, fields
from conformance.shapes import describe, is_integer

Write: TypeAlias = Callable[[Any], bytes]
"""Writes a value: the content of a field, or the field with its tag."""


def encode(event: Event) -> bytes:
    """Write one event as a message, without a frame.

    The event is not judged: a field that it lacks is written as none, and what the wire schema has no field for is
    left out.

    Args:
        event: An event of the protocol, a JSON object.

    Returns:
        The bytes that the reference encoder gives for a valid event.

    Raises:
        Unencodable: The type is none of the protocol's, or a field holds what has no form on this wire.
    """
    kind = event.get("type")
    arm = _ARMS.get(kind) if type(kind) is str else None
    if arm is None:
        raise Unencodable(f"expected the type of an event, found {describe(kind)}")
    tag, base, write_rest = arm
    if not _BASE_MEMBERS.isdisjoint(event):
        base = sized(_BASE_TAG, _write_base(event))
    return sized(tag, base + write_rest(event))


def _object(name: str, rows: str) -> Write:
    """A writer of an object's fields."""
    to_wire = TO_WIRE.get(name)
    writers = [(field.name, *_field(field, f"{name}.{field.name}")) for field in fields(rows)]

    def write(value: Any) -> bytes:
        if type(value) is not dict:
            raise Unencodable(f"{name}: expected an object, found {describe(value)}")
        members = value if to_wire is None else to_wire(value)
        written = []
        for member, write_field, null in writers:
            inner = members.get(member)
            if inner is not None:
                written.append(write_field(inner))
            elif null and member in members:
                written.append(null)
        return b"".join(written)

    return write


def _union(name: str) -> Write:
    """A writer of an object as the one arm that its type names."""
    arms = {kind: (_tag(number, SIZED), _object(kind, rows)) for (number, kind), rows in UNIONS[name].items()}

    def write(value: Any) -> bytes:
        kind = value.get("type") if type(value) is dict else value
        arm = arms.get(kind) if type(kind) is str else None
        if arm is None:
            raise Unencodable(f"{name}: expected an object of type {' or '.join(arms)}, found {describe(kind)}")
        return sized(arm[0], arm[1](value))

    return write


def _field(field: Field, where: str) -> tuple[Write, bytes]:
    """A writer of one field, list or not, and what a null is written as: no bytes where it is no field."""
    write_content, wire_type, default = _content(field.kind, where)
    omitted = None if field.optional or field.many else default
    tag = _tag(field.number, wire_type)

    def write(value: Any) -> bytes:
        content = write_content(value)
        return b"" if content == omitted else sized(tag, content)

    def write_varint(value: Any) -> bytes:
        content = write_content(value)
        return b"" if content == omitted else tag + content

    def write_list(values: Any) -> bytes:
        if type(values) is not list:
            raise Unencodable(f"{where}: expected a list, found {describe(values)}")
        return b"".join([write(value) for value in values])

    if field.many:
        return write_list, b""
    null = write(None) if field.kind == "Value" and not field.optional else b""
    return (write if wire_type == SIZED else write_varint), null


def _content(kind: str, where: str) -> tuple[Write, int, bytes | None]:
    """A writer of a kind's content, its wire type, and the content that a field which is always there omits."""
    if kind in ENUMS:
        return partial(_enum, ENUMS[kind], where), VARINT, SHORT[0]
    if kind in UNIONS:
        return _union(kind), SIZED, None
    if kind in MESSAGES:
        return _object(kind, MESSAGES[kind]), SIZED, None
    write, wire_type, default = _PLAIN[kind]
    return partial(write, where), wire_type, default


def _string(where: str, value: Any) -> bytes:
    if type(value) is not str:
        raise Unencodable(f"{where}: expected a string, found {describe(value)}")
    return write_text(value)


def _integer(where: str, value: Any) -> bytes:
    if not is_integer(value) or not -(2**63) <= value < 2**63:
        raise Unencodable(f"{where}: expected an integer of 64 bits, found {describe(value)}")
    return varint(int(value) % 2**64)


def _boolean(where: str, value: Any) -> bytes:
    if type(value) is not bool:
        raise Unencodable(f"{where}: expected true or false, found {describe(value)}")
    return SHORT[value]


def _opaque(write: Write, where: str, value: Any) -> bytes:
    try:
        return write(value)
    except Unencodable as found:
        raise Unencodable(f"{where}: {found}") from None


def _enum(numbers: dict[str, int], where: str, value: Any) -> bytes:
    number = numbers.get(value) if type(value) is str else None
    if number is None:
        raise Unencodable(f"{where}: expected {' or '.join(numbers)}, found {describe(value)}")
    return varint(number)


def _tag(number: int, wire_type: int) -> bytes:
    return varint(number << 3 | wire_type)


_PLAIN: dict[str, tuple[Callable[[str, Any], bytes], int, bytes | None]] = {
    "string": (_string, SIZED, b""),
    "int64": (_integer, VARINT, None),
    "bool": (_boolean, VARINT, None),
    "Struct": (partial(_opaque, write_struct), SIZED, None),
    "Value": (partial(_opaque, write_value), SIZED, None),
}

_BASE_TAG = _tag(1, SIZED)
_BASE_MEMBERS = frozenset(field.name for field in fields(MESSAGES["BaseEvent"]) if field.name != "type")
_write_base = _object("BaseEvent", MESSAGES["BaseEvent"])

_ARMS = {
    kind: (
        _tag(number, SIZED),
        sized(_BASE_TAG, _write_base({"type": kind})),
        _object(kind, rows),
    )
    for (number, _, kind), rows in EVENTS.items()
}
"""By an event's type: the tag of its arm, its base event where there is nothing but the type in it, its other fields."""
