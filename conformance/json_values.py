"""Any Python value as JSON that every client can read: what replaces what JSON cannot hold.

The policy, documented for users in docs/json.md:

| value | on the wire | warned |
|---|---|---|
| date, time, datetime, UUID, path | its ISO 8601 or plain text | |
| timedelta | ISO 8601 duration | |
| Decimal | its text | |
| Enum | its value | |
| dataclass, pydantic model | an object; a pydantic model by its aliases | |
| tuple, set, frozenset, deque | a list; sets in a fixed order | |
| bytes | base64 text | yes |
| NaN, Infinity | null | yes |
| lone surrogate | U+FFFD | yes |
| a value inside itself, or nested over 200 deep | null | yes |
| a key that is no string | the text JSON would write; of two that collide the later one | on collision |
| an integer of over 4,000 digits | null | yes |
| anything else | null | yes |

Integers beyond 2**53 are sent as given: JavaScript clients round them.

Source: basic/processing, events/state
"""

import dataclasses
import math
from base64 import b64encode
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from datetime import date, time, timedelta
from decimal import Decimal
from enum import Enum
from pathlib import PurePath
from typing import Any, TypeAlias
from uuid import UUID

import orjson
from pydantic import BaseModel
from pydantic_core import to_json, to_jsonable_python

MAX_DEPTH = 200
"""How deep a value may nest; orjson writes at most 254 levels, and an event adds some around a value."""

LONGEST = 13_300
"""Bits of the longest integer that is sent: Python writes no longer one as text."""

Warn = Callable[[str], None]
"""Told of each replacement that loses something, in one sentence."""


def is_whole(text: str) -> bool:
    """Say whether a text is free of surrogates, so that it can be written as UTF-8."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def whole_text(text: str) -> str:
    """Replace every lone surrogate by U+FFFD and join the halves of split pairs."""
    return text if is_whole(text) else text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def json_value(value: Any, warn: Warn, where: str = "the value") -> Any:
    """Copy `value` into plain JSON types.

    Args:
        value: Anything.
        warn: Told what was lost, and where.
        where: Name of the document, the head of every path in a warning.

    Returns:
        A value of dicts with string keys, lists, strings, numbers, booleans and None that shares nothing mutable
        with `value`, so that a later change to `value` is not seen.
    """
    try:
        written = orjson.dumps(value, option=_AS_GIVEN)
    except TypeError:  # something that JSON cannot hold as it is
        return _Copy(warn).copy(value, (None, where), 0)
    if b"null" in written and _has_no_number(value):
        return _Copy(warn).copy(value, (None, where), 0)
    return orjson.loads(written)


_AS_GIVEN = orjson.OPT_PASSTHROUGH_SUBCLASS | orjson.OPT_PASSTHROUGH_DATACLASS | orjson.OPT_PASSTHROUGH_DATETIME
"""What orjson would translate by its own lights is left to the policy above; Enum and UUID it writes the same way."""


def _has_no_number(value: Any) -> bool:
    """Say whether a value that orjson could write may hold NaN or an infinity, which it writes as null unasked."""
    written = to_json(value, inf_nan_mode="constants")
    return b"NaN" in written or b"Infinity" in written


Where: TypeAlias = "tuple[Where | None, Any]"
"""A place in a document as a chain of keys, innermost first: text is made of it only when there is a warning."""

_PLAIN = frozenset({int, bool, type(None)})


class _Copy:
    """One walk over one value; `_inside` holds the containers that the walk is in, to notice a cycle."""

    def __init__(self, warn: Warn) -> None:
        self._report = warn
        self._inside: set[int] = set()

    def copy(self, value: Any, where: Where, depth: int) -> Any:
        kind = type(value)
        if kind is str:
            return value if value.isascii() else self._text(value, where)
        if kind in _PLAIN:
            return value if kind is not int or value.bit_length() < LONGEST else self._lost("it is too long", where)
        if kind is float:
            return value if math.isfinite(value) else self._lost(f"{value} has no place in JSON", where)
        if kind is dict or kind is list:
            return self._container(value, where, depth)
        return self._other(value, where, depth)

    def _warn(self, what: str, where: Where) -> None:
        keys: list[str] = []
        place: Where | None = where
        while place is not None:
            place, key = place
            keys.append(str(key))
        self._report("/".join(reversed(keys)) + ": " + what)

    def _lost(self, why: str, where: Where) -> None:
        self._warn(f"{why}; sent as null", where)

    def _text(self, text: str, where: Where) -> str:
        whole = whole_text(text)
        if whole.count("\ufffd") > text.count("\ufffd"):
            self._warn("a lone surrogate became U+FFFD", where)
        return whole

    def _container(self, value: Any, where: Where, depth: int) -> Any:
        if id(value) in self._inside:
            return self._lost("it contains itself", where)
        if depth >= MAX_DEPTH:
            return self._lost(f"it is nested deeper than {MAX_DEPTH}", where)
        self._inside.add(id(value))
        try:
            if isinstance(value, Mapping):
                return self._object(value, where, depth + 1)
            return [
                item if type(item) is bool or item is None else self.copy(item, (where, index), depth + 1)
                for index, item in enumerate(value)
            ]
        finally:
            self._inside.discard(id(value))

    def _object(self, value: Mapping[Any, Any], where: Where, depth: int) -> dict[str, Any]:
        written: dict[str, Any] = {}
        for name, inner in value.items():
            key = name if type(name) is str and name.isascii() else self._key(name, where)
            if key in written:
                self._warn(f"two keys are written {key!r}; the later one is sent", where)
            kind = type(inner)
            plain = kind is bool or inner is None or (kind is str and inner.isascii())
            written[key] = inner if plain else self.copy(inner, (where, key), depth)
        return written

    def _key(self, name: Any, where: Where) -> str:
        match name:
            case Enum():
                return self._key(name.value, where)
            case str():
                return self._text(str(name), where)
            case bool():
                return "true" if name else "false"
            case None:
                return "null"
        return self._text(str(name), where)

    def _other(self, value: Any, where: Where, depth: int) -> Any:
        match value:
            case Enum():
                return self.copy(value.value, where, depth)
            case str():
                return self._text(str(value), where)
            case int() | float():
                return self.copy(int(value) if isinstance(value, int) else float(value), where, depth)
            case Decimal() | UUID() | PurePath():
                return str(value)
            case date() | time() | timedelta():
                return to_jsonable_python(value)
            case bytes() | bytearray() | memoryview():
                self._warn("bytes are sent as base64 text", where)
                return b64encode(value).decode()
            case Mapping() | list() | tuple() | deque():
                return self._container(value, where, depth)
            case set() | frozenset():
                return self._container(_in_order(value), where, depth)
        return self._record(value, where, depth)

    def _record(self, value: Any, where: Where, depth: int) -> Any:
        if isinstance(value, BaseModel):
            fields = _model_fields(value)
        elif dataclasses.is_dataclass(value) and not isinstance(value, type):
            fields = {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
        else:
            return self._lost(f"{type(value).__name__} is no JSON value", where)
        if id(value) in self._inside:
            return self._lost("it contains itself", where)
        self._inside.add(id(value))
        try:
            return self._container(fields, where, depth)
        finally:
            self._inside.discard(id(value))


def _model_fields(model: BaseModel) -> Any:
    """Read a model as it wishes to be serialised; one that cannot be (a cycle) is read field by field."""
    try:
        return model.model_dump(by_alias=True)
    except ValueError:
        infos = type(model).model_fields
        return {info.serialization_alias or info.alias or name: getattr(model, name) for name, info in infos.items()}


def _in_order(values: Iterable[Any]) -> list[Any]:
    """A set's members in an order that is the same each time, so that an unchanged set is no change of state."""
    return sorted(values, key=lambda value: (type(value).__name__, str(value)))
