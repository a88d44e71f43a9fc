"""The schema's shapes, read from the SDK's generated models, and how a JSON value is held to them.

Two deviations look alike and are kept apart: material that the protocol does not describe is removed and named
(`Report.stripped`), a described field with a value that the schema rejects is malformed (`Report.malformed`).
Nothing is coerced. A value that needs no change is returned as it is, without a copy.

Source: basic/processing
"""

from __future__ import annotations

import re
import types
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from enum import Enum
from functools import cache
from typing import Annotated, Any, Final, Literal, Protocol, Union, get_args, get_origin

from annotated_types import Ge, Le, MinLen
from pydantic import BaseModel
from pydantic.fields import FieldInfo

from ag_ui._generated import models  # the only home of JsonPointer and of the operations

Path = tuple["str | int", ...]
"""Where a value stands: member names and list indexes from the root."""

DROP: Final = object()
"""What a shape answers for a value that is unrecognisable as a whole: its container decides what goes."""


def pointer(path: Path) -> str:
    """Write a path as a JSON Pointer: `/messages/0/role`."""
    return "".join("/" + str(part).replace("~", "~0").replace("/", "~1") for part in path)


def describe(value: Any) -> str:
    """Say what came, in JSON's words and at most 60 characters of it."""
    match value:
        case None:
            return "null"
        case bool():
            return "true" if value else "false"
        case int() | float():
            return f"the number {value}" if len(str(value)) <= 60 else "a number"  # noqa: PLR2004
        case str():
            return repr(value) if len(value) <= 60 else f"a string of {len(value)} characters"  # noqa: PLR2004
        case list():
            return f"a list of {len(value)}"
        case dict():
            return "an object"
    return type(value).__name__


@dataclass(frozen=True, slots=True)
class Malformed:
    """A described field with a value that the schema rejects."""

    path: Path
    expected: str
    found: str

    def __str__(self) -> str:
        return f"{pointer(self.path) or 'the document'}: expected {self.expected}, found {self.found}"


class Nulls(Enum):
    """How a null on an optional field is read."""

    MALFORMED = "as the schema says: an absent field is left out, never null"
    ABSENT_WHERE_OPAQUE = "as no field where the field takes any JSON value, else as malformed"
    ABSENT = "as no field"


@dataclass(slots=True)
class Report:
    """What was found in one document."""

    nulls: Nulls = Nulls.MALFORMED
    malformed: list[Malformed] = field(default_factory=list)
    stripped: list[Path] = field(default_factory=list)

    def reject(self, path: Path, expected: str, value: Any) -> None:
        """Note that `value` at `path` is malformed."""
        self.malformed.append(Malformed(path, expected, describe(value)))


class Shape(Protocol):
    """What one position of a document admits."""

    expected: str

    def hold(self, value: Any, path: Path, report: Report) -> Any:
        """Return the value without unrecognised material, or `DROP`; note what was found in `report`."""


@dataclass(frozen=True, slots=True)
class Anything:
    """Any JSON value, opaque."""

    expected: str = "any JSON value"

    def hold(self, value: Any, path: Path, report: Report) -> Any:  # noqa: ARG002
        """Take it."""
        return value


@dataclass(frozen=True, slots=True)
class Leaf:
    """One value without inner structure that must pass a test."""

    expected: str
    admits: Callable[[Any], bool]

    def hold(self, value: Any, path: Path, report: Report) -> Any:
        """Take what the test admits."""
        if not self.admits(value):
            report.reject(path, self.expected, value)
        return value


@dataclass(frozen=True, slots=True)
class Choice:
    """A closed set of strings. One that is not in it is a later version's, hence unrecognised, not malformed."""

    values: tuple[str, ...]
    expected: str

    def hold(self, value: Any, path: Path, report: Report) -> Any:
        """Take a member, drop an unknown string, refuse the rest."""
        if type(value) is not str:
            report.reject(path, self.expected, value)
        elif value not in self.values:
            return DROP
        return value


@dataclass(frozen=True, slots=True)
class Items:
    """A list of one shape."""

    item: Shape
    at_least: int = 0
    expected: str = "a list"

    def hold(self, value: Any, path: Path, report: Report) -> Any:
        """Hold every element; an unrecognisable one is left out."""
        if type(value) is not list or len(value) < self.at_least:
            report.reject(path, self.expected, value)
            return value
        kept: list[Any] | None = None
        for index, element in enumerate(value):
            mark = len(report.stripped)
            held = self.item.hold(element, (*path, index), report)
            if held is DROP:
                del report.stripped[mark:]
                report.stripped.append((*path, index))
            if held is not element and kept is None:
                kept = value[:index]
            if kept is not None and held is not DROP:
                kept.append(held)
        return value if kept is None else kept


@dataclass(frozen=True, slots=True)
class Member:
    """One described field of an object."""

    shape: Shape
    required: bool


@dataclass(frozen=True, slots=True)
class Object:
    """An object of the protocol. `is_open` leaves members alone that it does not describe (RFC 6902 operations)."""

    name: str
    members: dict[str, Member]
    is_open: bool = False
    expected: str = "an object"

    def hold(self, value: Any, path: Path, report: Report) -> Any:
        """Hold every described field, leave out the others."""
        if type(value) is not dict:
            report.reject(path, self.expected, value)
            return value
        kept: dict[str, Any] | None = None
        for name, inner in value.items():
            held = self._member(name, inner, path, report)
            if held is DROP and name in self.members and self.members[name].required:
                return DROP
            if held is not inner and kept is None:
                kept = dict(value)
            if kept is not None:
                if held is DROP:
                    del kept[name]
                else:
                    kept[name] = held
        for name, member in self.members.items():
            if member.required and name not in value:
                report.malformed.append(Malformed((*path, name), member.shape.expected, "nothing"))
        return value if kept is None else kept

    def _member(self, name: str, value: Any, path: Path, report: Report) -> Any:
        member = self.members.get(name)
        if member is None:
            if self.is_open:
                return value
            report.stripped.append((*path, name))
            return DROP
        if value is None and not member.required:
            return self._null(name, member, path, report)
        mark = len(report.stripped)
        held = member.shape.hold(value, (*path, name), report)
        if held is DROP:
            del report.stripped[mark:]  # what was named inside goes with the whole
            if not member.required:
                report.stripped.append((*path, name))
        return held

    def _null(self, name: str, member: Member, path: Path, report: Report) -> Any:
        opaque = member.shape is ANYTHING
        if report.nulls is Nulls.ABSENT or (opaque and report.nulls is Nulls.ABSENT_WHERE_OPAQUE):
            return DROP
        report.reject((*path, name), f"{member.shape.expected}, or no such field", None)
        return None


@dataclass(frozen=True, slots=True)
class Union_:  # noqa: N801 - `Union` is typing's
    """One of several objects, told apart by a field. An unknown tag makes the whole unrecognisable."""

    tag: str
    options: dict[str, Object]
    expected: str = "an object"

    def hold(self, value: Any, path: Path, report: Report) -> Any:
        """Hold the option that the tag names."""
        if type(value) is not dict:
            report.reject(path, self.expected, value)
            return value
        named = value.get(self.tag)
        if type(named) is not str:
            known = ", ".join(sorted(self.options))
            report.reject((*path, self.tag), f"one of {known}", named if self.tag in value else "nothing")
            return value
        option = self.options.get(named)
        return DROP if option is None else option.hold(value, path, report)


@dataclass(frozen=True, slots=True)
class TextOr:
    """A string, or a list."""

    items: Items
    expected: str = "a string or a list of content parts"

    def hold(self, value: Any, path: Path, report: Report) -> Any:
        """Take a string as it is, hold a list."""
        if type(value) is str:
            return value
        if type(value) is list:
            return self.items.hold(value, path, report)
        report.reject(path, self.expected, value)
        return value


# ---- reading the SDK's models ---------------------------------------------------------------------


def _is_integer(value: Any) -> bool:
    """JSON knows one kind of number: 5.0 is an integer, true is none."""
    return type(value) is int or (type(value) is float and value.is_integer())


STRING = Leaf("a string", lambda value: type(value) is str)
BOOLEAN = Leaf("true or false", lambda value: type(value) is bool)
MAPPING = Leaf("an object", lambda value: type(value) is dict)
ANYTHING = Anything()


@cache
def shape_of(model: type[BaseModel]) -> Object:
    """Read the shape of one SDK model: its wire names, what is required, what is closed.

    A field is required exactly where its annotation does not admit None: the SDK gives some required fields a
    default, and all optional ones None.
    """
    members = {
        info.alias or name: Member(*_field(info, info.annotation)) for name, info in model.model_fields.items()
    }
    return Object(model.__name__, members, is_open=model.__name__.endswith("Operation"))


def union_of(alias: Any) -> Union_:
    """Read a discriminated union such as `ag_ui.core.Event`."""
    union, info = get_args(alias)
    return _union(get_args(union), info.discriminator)


def _union(options: Iterable[type[BaseModel]], tag: str) -> Union_:
    return Union_(tag, {_tag(option, tag): shape_of(option) for option in options})


def _tag(model: type[BaseModel], tag: str) -> str:
    (value,) = get_args(model.model_fields[tag].annotation)
    return value.value if isinstance(value, Enum) else str(value)


def _field(info: FieldInfo, annotation: Any) -> tuple[Shape, bool]:
    options = [option for option in _options(annotation) if option is not types.NoneType]
    required = len(options) == len(_options(annotation))
    if isinstance(info.discriminator, str):
        return _union(options, info.discriminator), required
    shapes = [_shape(option, info.metadata) for option in options]
    if len(shapes) == 1:
        return shapes[0], required
    (items,) = [shape for shape in shapes if isinstance(shape, Items)]  # Union[str, List[ContentPart]]
    return TextOr(items), required


def _options(annotation: Any) -> tuple[Any, ...]:
    return get_args(annotation) if get_origin(annotation) in (Union, types.UnionType) else (annotation,)


def _shape(annotation: Any, constraints: list[Any]) -> Shape:
    args = get_args(annotation)
    match get_origin(annotation):
        case None:
            return _plain(annotation, constraints)
        case origin if origin is Annotated:
            return union_of(annotation)
        case origin if origin is Literal:
            return _literal(tuple(value.value if isinstance(value, Enum) else value for value in args))
        case origin if origin is list:
            at_least = next((limit.min_length for limit in constraints if isinstance(limit, MinLen)), 0)
            return Items(_shape(args[0], []), at_least, f"a list of at least {at_least}" if at_least else "a list")
    return MAPPING


def _literal(values: tuple[str, ...]) -> Shape:
    if len(values) == 1:
        return Leaf(repr(values[0]), lambda value: value == values[0])
    return Choice(values, "one of " + ", ".join(map(repr, values)))


def _plain(annotation: Any, constraints: list[Any]) -> Shape:
    if annotation is str:
        return _string(next((limit.pattern for limit in constraints if hasattr(limit, "pattern")), None))
    if annotation is int:
        low = next(limit.ge for limit in constraints if isinstance(limit, Ge))
        high = next(limit.le for limit in constraints if isinstance(limit, Le))
        return Leaf(f"an integer from {low} to {high}", lambda value: _is_integer(value) and low <= value <= high)
    known = {Any: ANYTHING, bool: BOOLEAN}
    return known[annotation] if annotation in known else shape_of(annotation)


def _string(pattern: str | None) -> Shape:
    if pattern is None:
        return STRING
    matches = re.compile(pattern.removesuffix("$") + r"\Z").match
    return Leaf("a JSON Pointer", lambda value: type(value) is str and matches(value) is not None)


EVENT = union_of(models.Event)
"""Any of the protocol's events, told apart by `type`."""

RUN_INPUT = shape_of(models.RunAgentInput)
"""The run input."""

CAPABILITIES = shape_of(models.AgentCapabilities)
"""An agent's capabilities."""


def objects(shape: Shape, seen: set[str] | None = None) -> Iterator[Object]:
    """Walk every object that `shape` is made of, each once."""
    seen = set() if seen is None else seen
    match shape:
        case Object():
            if shape.name not in seen:
                seen.add(shape.name)
                yield shape
                for member in shape.members.values():
                    yield from objects(member.shape, seen)
        case Union_():
            for option in shape.options.values():
                yield from objects(option, seen)
        case Items():
            yield from objects(shape.item, seen)
        case TextOr():
            yield from objects(shape.items, seen)
