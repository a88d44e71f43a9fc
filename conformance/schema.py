"""The protocol's schema, read from the SDK's generated models.

Source: schema
"""

import re
import types
from collections.abc import Iterable, Iterator
from dataclasses import replace
from enum import Enum
from functools import cache
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from ag_ui._generated import models  # the only home of JsonPointer and of the operations
from annotated_types import Ge, Le, MinLen
from pydantic import BaseModel
from pydantic.fields import FieldInfo

from conformance.shapes import (
    ANYTHING,
    BOOLEAN,
    MAPPING,
    STRING,
    Choice,
    Items,
    Leaf,
    Member,
    Object,
    Shape,
    TextOr,
    Union_,
    is_integer,
)


@cache
def shape_of(model: type[BaseModel]) -> Object:
    """Read the shape of one SDK model: its wire names, what is required, what is closed.

    A field is required exactly where its annotation does not admit None: the SDK gives some required fields a
    default, and all optional ones None.
    """
    members = {info.alias or name: Member(*_field(info, info.annotation)) for name, info in model.model_fields.items()}
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
        return Leaf(f"an integer from {low} to {high}", lambda value: is_integer(value) and low <= value <= high)
    if annotation is bool:
        return BOOLEAN
    return ANYTHING if annotation is Any else shape_of(annotation)


def _string(pattern: str | None) -> Shape:
    if pattern is None:
        return STRING
    matches = re.compile(pattern.removesuffix("$") + r"\Z").match
    return Leaf("a JSON Pointer", lambda value: type(value) is str and matches(value) is not None)


def _with_artefact_types(events: Union_) -> Union_:
    """Add what 1.1 adds: `encryptedValueType` beside every `encryptedValue`."""
    known: dict[str, Object] = {}

    def extended(shape: Shape) -> Any:
        match shape:
            case Object():
                if shape.name not in known:
                    members = {
                        name: replace(member, shape=extended(member.shape)) for name, member in shape.members.items()
                    }
                    if "encryptedValue" in members:
                        members["encryptedValueType"] = Member(STRING, required=False)
                    known[shape.name] = replace(shape, members=members)
                return known[shape.name]
            case Union_():
                return replace(shape, options={tag: extended(option) for tag, option in shape.options.items()})
            case Items():
                return replace(shape, item=extended(shape.item))
            case TextOr():
                return replace(shape, items=extended(shape.items))
        return shape

    extended_events: Union_ = extended(events)
    return extended_events


EVENT = union_of(models.Event)
"""Any of the protocol's events as of 1.0, told apart by `type`."""

EVENTS: dict[str, Union_] = {"1.0": EVENT, "1.1": _with_artefact_types(EVENT)}
"""The same of each version of the protocol that this suite knows."""

NEWEST = max(EVENTS)
"""The newest version that this suite knows; a stream of a later one is judged by it."""

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
