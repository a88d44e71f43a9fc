"""Opaque JSON as google.protobuf's Value, Struct and ListValue: `state`, `metadata`, `rawEvent`, `result` and so on.

JSON knows one kind of number, and a Value holds a double. A whole one below 1e21 comes back as an integer, as JavaScript
writes it, any other as a float; so does -0.0, because no integer has its sign. What JSON has no number for is null.

Source: basic/transports/http-protobuf#the-wire-schema
"""

import math
import re
import struct
from collections.abc import Iterable
from typing import Any, Final

from conformance.json_values import MAX_DEPTH, whole_text
from conformance.protobuf.errors import MalformedMessage, Unencodable
from conformance.protobuf.varints import read_span, read_varint, sized, sized_fields, skip
from conformance.shapes import describe

ABSENT: Final = object()
"""What a Value without any kind holds."""

_NULL, _NUMBER, _STRING, _BOOL, _STRUCT, _LIST = 0x08, 0x11, 0x1A, 0x20, 0x2A, 0x32
_SIZED_KINDS = frozenset({_STRING, _STRUCT, _LIST})
"""The tags of a Value's kinds."""

_ENTRY, _KEY, _ENTRY_VALUE, _ITEM = 0x0A, 0x0A, 0x12, 0x0A
"""The tags of a Struct's entries, of an entry's key and value, of a list's items."""

_DOUBLE = struct.Struct("<d")
_NULL_VALUE = bytes((_NULL, 0))
_BOOLS = (bytes((_BOOL, 0)), bytes((_BOOL, 1)))
_ITEM_TAG, _KEY_TAG, _ENTRY_VALUE_TAG = b"\x0a", b"\x0a", b"\x12"
_STRING_TAG, _NUMBER_TAG, _STRUCT_TAG, _LIST_TAG = b"\x1a", b"\x11", b"\x2a", b"\x32"

_WHOLE = 1e21
"""From here on JavaScript writes an exponent."""

_INDEX = re.compile(r"(?:0|[1-9][0-9]{0,9})\Z")
_LAST_INDEX = 2**32 - 2


def write_text(text: str) -> bytes:
    """Write a text as UTF-8; a lone surrogate becomes U+FFFD."""
    try:
        return text.encode()
    except UnicodeEncodeError:
        return whole_text(text).encode()


def write_value(value: Any, depth: int = 0) -> bytes:
    """Write a JSON value as the content of a Value.

    Raises:
        Unencodable: It is no JSON value, or nests over 200 deep.
    """
    kind = type(value)
    if kind is str:
        return sized(_STRING_TAG, write_text(value))
    if kind is int or kind is float:
        return _write_number(value)
    if kind is dict:
        return sized(_STRUCT_TAG, write_struct(value, depth))
    if kind is list:
        return sized(_LIST_TAG, _write_list(value, depth))
    if kind is bool:
        return _BOOLS[value]
    if value is None:
        return _NULL_VALUE
    raise Unencodable(f"expected a JSON value, found {describe(value)}")


def write_struct(value: Any, depth: int = 0) -> bytes:
    """Write a JSON object as the content of a Struct, its entries in the order in which JavaScript holds them.

    Raises:
        Unencodable: It is no object, or as `write_value` does.
    """
    if type(value) is not dict:
        raise Unencodable(f"expected an object, found {describe(value)}")
    if depth >= MAX_DEPTH:
        raise Unencodable(f"a value nests deeper than {MAX_DEPTH}")
    written = []
    for key, inner in _in_order(value):
        entry = sized(_ENTRY_VALUE_TAG, write_value(inner, depth + 1))
        written.append(sized(_ITEM_TAG, sized(_KEY_TAG, write_text(key)) + entry if key else entry))
    return b"".join(written)


def _write_list(value: list[Any], depth: int) -> bytes:
    if depth >= MAX_DEPTH:
        raise Unencodable(f"a value nests deeper than {MAX_DEPTH}")
    written = []
    for item in value:
        written.append(sized(_ITEM_TAG, write_value(item, depth + 1)))  # noqa: PERF401 - one frame less a level
    return b"".join(written)


def _write_number(value: float) -> bytes:
    try:
        number = float(value)
    except OverflowError:
        return _NULL_VALUE
    return _NUMBER_TAG + _DOUBLE.pack(number) if math.isfinite(number) else _NULL_VALUE


def _in_order(fields: dict[str, Any]) -> Iterable[tuple[str, Any]]:
    """Order an object's members as JavaScript does: array indexes first and ascending, the others as inserted.

    The reference encoder runs there, and its bytes are what others are held to.
    """
    try:
        if not fields or min(fields) >= ":":  # no key begins with a digit
            return fields.items()
    except TypeError as no_text:
        raise Unencodable("expected strings as an object's keys") from no_text
    indexes = sorted(int(key) for key in fields if _INDEX.match(key) and int(key) <= _LAST_INDEX)
    first = {str(index): fields[str(index)] for index in indexes}
    return {**first, **fields}.items() if first else fields.items()


def read_value(data: bytes, pos: int, end: int, value: Any = ABSENT, depth: int = 0) -> Any:
    """Read the content of a Value.

    Args:
        data: The message.
        pos: Where the content begins.
        end: Where it ends.
        value: What an earlier occurrence of the same field holds: objects and lists are merged, as protobuf has it.
        depth: The containers around it.

    Returns:
        A JSON value, or `ABSENT`.

    Raises:
        MalformedMessage: It is no Value, or nests over 200 deep.
        IndexError: It has no end.
    """
    while pos < end:
        tag = data[pos]
        pos += 1
        if tag > 127:  # noqa: PLR2004 - seven bits a byte
            tag, pos = read_varint(data, pos - 1, 32)
        if tag in _SIZED_KINDS:
            start, pos = read_span(data, pos, end)
            if tag == _STRING:
                value = data[start:pos].decode()
            elif tag == _STRUCT:
                value = read_struct(data, start, pos, value if type(value) is dict else {}, depth)
            else:
                value = _read_list(data, start, pos, value if type(value) is list else [], depth)
        elif tag == _NUMBER:
            value, pos = _read_number(data, pos, end)
        elif tag in (_BOOL, _NULL):
            number, pos = read_varint(data, pos, 64)
            value = number != 0 if tag == _BOOL else None
        else:
            pos = skip(data, pos, end, tag)
    if pos > end:
        raise MalformedMessage(f"a value ends at byte {pos}, its field at {end}")
    return value


def read_struct(data: bytes, pos: int, end: int, into: dict[str, Any], depth: int = 0) -> dict[str, Any]:
    """Read the content of a Struct into an object. Of two entries with one key the later one counts.

    Raises:
        MalformedMessage: As `read_value` does.
        IndexError: It has no end.
    """
    _refuse_depth(depth)
    for tag, start, stop in sized_fields(data, pos, end):
        if tag != _ENTRY:
            continue
        key = ""
        value: Any = ABSENT
        for inner, first, last in sized_fields(data, start, stop):
            if inner == _KEY:
                key = data[first:last].decode()
            elif inner == _ENTRY_VALUE:
                value = read_value(data, first, last, value, depth + 1)
        if value is not ABSENT:
            into[key] = value
    return into


def _read_list(data: bytes, pos: int, end: int, into: list[Any], depth: int) -> list[Any]:
    _refuse_depth(depth)
    for tag, start, stop in sized_fields(data, pos, end):
        if tag == _ITEM:
            item = read_value(data, start, stop, ABSENT, depth + 1)
            into.append(None if item is ABSENT else item)
    return into


def _refuse_depth(depth: int) -> None:
    if depth >= MAX_DEPTH:
        raise MalformedMessage(f"a value nests deeper than {MAX_DEPTH}")


def _read_number(data: bytes, pos: int, end: int) -> tuple[float | None, int]:
    if pos + _DOUBLE.size > end:
        raise MalformedMessage(f"a number at byte {pos} has {end - pos} bytes of {_DOUBLE.size}")
    number: float
    (number,) = _DOUBLE.unpack_from(data, pos)
    pos += _DOUBLE.size
    if number.is_integer() and -_WHOLE < number < _WHOLE and (number or math.copysign(1, number) > 0):
        return int(number), pos
    return (number if math.isfinite(number) else None), pos
