"""The parts that every protobuf message is made of: varints, tags, sized fields, and what is skipped.

A tag is a field number and a wire type in one varint. What runs past the end of the bytes raises IndexError, which
`decode` reports: a check at every byte would cost more than the reading.

Source: https://protobuf.dev/programming-guides/encoding
"""

from collections.abc import Iterator

from conformance.protobuf.errors import MalformedMessage

VARINT, SIZED = 0, 2
"""The wire types that the wire schema uses outside of opaque JSON."""

_FIXED = {1: 8, 5: 4}
"""Bytes of a field of each wire type that has a fixed size."""

SHORT = tuple(bytes((number,)) for number in range(128))
"""The varints of one byte."""


def varint(number: int) -> bytes:
    """Write an unsigned integer; 0 to 2**64 - 1."""
    written = bytearray()
    while number > 127:  # noqa: PLR2004 - seven bits a byte
        written.append(number & 127 | 128)
        number >>= 7
    written.append(number)
    return bytes(written)


def sized(tag: bytes, data: bytes) -> bytes:
    """Write a sized field."""
    size = len(data)
    return tag + (SHORT[size] if size < 128 else varint(size)) + data  # noqa: PLR2004


def read_varint(data: bytes, pos: int, bits: int) -> tuple[int, int]:
    """Read an unsigned integer of at most `bits`.

    Returns:
        It, and the position after it.

    Raises:
        MalformedMessage: It is longer.
        IndexError: It has no end.
    """
    number = shift = 0
    while True:
        byte = data[pos]
        pos += 1
        number |= (byte & 127) << shift
        shift += 7
        if byte < 128:  # noqa: PLR2004
            break
        if shift >= bits:
            raise MalformedMessage(f"a varint at byte {pos} has more than {bits} bits")
    if number >> bits:
        raise MalformedMessage(f"a varint at byte {pos} has more than {bits} bits")
    return number, pos


def read_span(data: bytes, pos: int, end: int) -> tuple[int, int]:
    """Read the size before a sized field's bytes.

    Returns:
        The positions where these begin, and where they stop, `end` at most.

    Raises:
        MalformedMessage: It says more than there is.
        IndexError: There is no size.
    """
    size = data[pos]
    pos += 1
    if size > 127:  # noqa: PLR2004
        size, pos = read_varint(data, pos - 1, 32)
    if pos + size > end:
        raise MalformedMessage(f"a field at byte {pos} says {size} bytes, {max(end - pos, 0)} are left")
    return pos, pos + size


def sized_fields(data: bytes, pos: int, end: int) -> Iterator[tuple[int, int, int]]:
    """Go through the sized fields of a message that has no others; what it has besides is stepped over.

    Yields:
        Each one's tag, and the positions where its bytes begin and stop.

    Raises:
        MalformedMessage: It is no message.
        IndexError: It has no end.
    """
    while pos < end:
        tag = data[pos]
        pos += 1
        if tag > 127:  # noqa: PLR2004
            tag, pos = read_varint(data, pos - 1, 32)
        if tag & 7 == SIZED and tag > SIZED:
            start, pos = read_span(data, pos, end)
            yield tag, start, pos
        else:
            pos = skip(data, pos, end, tag)


def skip(data: bytes, pos: int, end: int, tag: int) -> int:
    """Step over the field that `tag` begins, with the groups in it.

    Returns:
        The position after it, `end` at most.

    Raises:
        MalformedMessage: There is no such field in protobuf, or it says more than there is.
        IndexError: It has no end.
    """
    groups: list[int] = []
    while True:
        number, wire_type = tag >> 3, tag & 7
        if number == 0:
            raise MalformedMessage(f"a field at byte {pos} has the number 0")
        match wire_type:
            case 0:
                _, pos = read_varint(data, pos, 64)
            case 1 | 5:
                pos += _FIXED[wire_type]
            case 2:
                _, pos = read_span(data, pos, end)
            case 3:
                groups.append(number)
            case 4 if groups and groups[-1] == number:
                groups.pop()
            case _:
                raise MalformedMessage(f"a field at byte {pos} has the wire type {wire_type}")
        if pos > end:
            raise MalformedMessage(f"a field ends at byte {pos}, its message at {end}")
        if not groups:
            return pos
        tag, pos = read_varint(data, pos, 32)
