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


class Kind(Enum):
    """How a document deviates from its shape."""

    MALFORMED = "a described field holds a value that the schema rejects"
    NULL = "an optional field without a value is written as null"
    UNKNOWN_FIELD = "the protocol describes no such field"
    UNKNOWN_VALUE = "the protocol describes no such member of a closed set"


@dataclass(frozen=True, slots=True)
class Deviation:
    """One place where a document deviates from its shape."""

    kind: Kind
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
    salvage: bool = False
    """Take malformed values out in the way of unrecognised ones, so that what is left of a document is well-formed."""
    deviations: list[Deviation] = field(default_factory=list)
    """Each where it stands, unrecognised material included."""
    stripped: list[Path] = field(default_factory=list)
    """What was taken out because it, or something that it cannot be without, is unrecognised."""

    @property
    def malformed(self) -> list[Deviation]:
        """The deviations that are fatal to a document."""
        return [one for one in self.deviations if one.kind in (Kind.MALFORMED, Kind.NULL)]

    def reject(self, path: Path, expected: str, value: Any, kind: Kind = Kind.MALFORMED) -> Any:
        """Note that `value` at `path` is malformed, and return what stands there from now on."""
        self.deviations.append(Deviation(kind, path, expected, describe(value)))
        return DROP if self.salvage else value

    def miss(self, path: Path, expected: str) -> None:
        """Note that a required field is not there."""
        self.deviations.append(Deviation(Kind.MALFORMED, path, expected, "nothing"))

    def unknown(self, path: Path, expected: str, value: Any, kind: Kind = Kind.UNKNOWN_VALUE) -> None:
        """Note that `value` at `path` is unrecognised."""
        self.deviations.append(Deviation(kind, path, expected, describe(value)))


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
        return value if self.admits(value) else report.reject(path, self.expected, value)


@dataclass(frozen=True, slots=True)
class Choice:
    """A closed set of strings. One that is not in it is a later version's, hence unrecognised, not malformed."""

    values: tuple[str, ...]
    expected: str

    def hold(self, value: Any, path: Path, report: Report) -> Any:
        """Take a member, drop an unknown string, refuse the rest."""
        if type(value) is not str:
            return report.reject(path, self.expected, value)
        if value in self.values:
            return value
        report.unknown(path, self.expected, value)
        return DROP


@dataclass(frozen=True, slots=True)
class Items:
    """A list of one shape."""

    item: Shape
    at_least: int = 0
    expected: str = "a list"

    def hold(self, value: Any, path: Path, report: Report) -> Any:
        """Hold every element; an unrecognisable one is left out."""
        if type(value) is not list or len(value) < self.at_least:
            return report.reject(path, self.expected, value)
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
            return report.reject(path, self.expected, value)
        kept: dict[str, Any] | None = None
        recognised = complete = True
        for name, inner in value.items():
            held = self._member(name, inner, path, report)
            if held is DROP and name in self.members and self.members[name].required:
                recognised = False  # go on: the verdict on the rest must not depend on the order of the fields
            if held is not inner and kept is None:
                kept = dict(value)
            if kept is not None:
                if held is DROP:
                    del kept[name]
                else:
                    kept[name] = held
        for name, member in self.members.items():
            if member.required and name not in value:
                report.miss((*path, name), member.shape.expected)
                complete = False
        if not recognised or (report.salvage and not complete):
            return DROP
        return value if kept is None else kept

    def remains(self, value: dict[str, Any]) -> dict[str, Any]:
        """Return the well-formed members of a malformed object; required ones may be missing."""
        report = Report(salvage=True)
        held = {name: self._member(name, inner, (), report) for name, inner in value.items()}
        return {name: inner for name, inner in held.items() if inner is not DROP}

    def _member(self, name: str, value: Any, path: Path, report: Report) -> Any:
        member = self.members.get(name)
        if member is None:
            if self.is_open:
                return value
            report.unknown((*path, name), "no such field", value, Kind.UNKNOWN_FIELD)
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
        return report.reject((*path, name), f"{member.shape.expected}, or no such field", None, Kind.NULL)


@dataclass(frozen=True, slots=True)
class Union_:  # noqa: N801 - `Union` is typing's
    """One of several objects, told apart by a field. An unknown tag makes the whole unrecognisable."""

    tag: str
    options: dict[str, Object]
    expected: str = "an object"

    def hold(self, value: Any, path: Path, report: Report) -> Any:
        """Hold the option that the tag names."""
        if type(value) is not dict:
            return report.reject(path, self.expected, value)
        named = value.get(self.tag)
        expected = f"one of {', '.join(sorted(self.options))}"
        if self.tag not in value:
            report.miss((*path, self.tag), expected)
            return DROP if report.salvage else value
        if type(named) is not str:
            report.reject((*path, self.tag), expected, named)
            return DROP if report.salvage else value
        option = self.options.get(named)
        if option is not None:
            return option.hold(value, path, report)
        report.unknown((*path, self.tag), expected, named)
        return DROP


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
        return report.reject(path, self.expected, value)


def is_integer(value: Any) -> bool:
    """Say whether a value is an integer: JSON knows one kind of number: 5.0 is an integer, true is none."""
    return type(value) is int or (type(value) is float and value.is_integer())


STRING = Leaf("a string", lambda value: type(value) is str)
BOOLEAN = Leaf("true or false", lambda value: type(value) is bool)
MAPPING = Leaf("an object", lambda value: type(value) is dict)
ANYTHING = Anything()
