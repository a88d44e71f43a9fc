"""Shapes: what one position of a document admits, and how a JSON value is held to it.

Two deviations look alike and are kept apart: material that the protocol does not describe is removed and named
(`Report.stripped`), a described field with a value that the schema rejects is malformed (`Report.malformed`).
Nothing is coerced. A value that needs no change is returned as it is, without a copy.

Source: basic/processing
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, Final, Protocol

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
            return f"the number {value}" if abs(value) < 1e60 else "a huge number"  # noqa: PLR2004
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

    @property
    def expected(self) -> str:
        """It, in words."""

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
            found = describe(named) if self.tag in value else "nothing"
            report.malformed.append(Malformed((*path, self.tag), f"one of {', '.join(sorted(self.options))}", found))
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


def is_integer(value: Any) -> bool:
    """Say whether a value is an integer: JSON knows one kind of number: 5.0 is an integer, true is none."""
    return type(value) is int or (type(value) is float and value.is_integer())


STRING = Leaf("a string", lambda value: type(value) is str)
BOOLEAN = Leaf("true or false", lambda value: type(value) is bool)
MAPPING = Leaf("an object", lambda value: type(value) is dict)
ANYTHING = Anything()
