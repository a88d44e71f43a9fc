"""Documents made from the shapes, and broken in one or two places."""

import ast
import re
from collections.abc import Iterable, Iterator
from functools import cache
from typing import Any

from hypothesis import strategies as st

from conformance.schema import EVENTS
from conformance.shapes import BOOLEAN, MAPPING, STRING, Anything, Choice, Items, Leaf, Object, Shape, TextOr, Union_
from support.events import POINTER, SMALL_JSON, TEXT

MAP = st.dictionaries(TEXT, SMALL_JSON, max_size=2)
NOT_NULL = SMALL_JSON.filter(lambda value: value is not None)
INTEGER = re.compile(r"an integer from (-?\d+) to (-?\d+)")

OTHERS: list[Any] = [None, True, 0, 5.0, 1.5, -1, 2**53, -(2**53), "", "zzz", "success", "/a", "a", [], [1], {}]
"""What may stand where something else stood."""

LEAVES: dict[Leaf, Any] = {STRING: "text", BOOLEAN: False, MAPPING: {"k": None}}


def valid(shape: Shape) -> st.SearchStrategy[Any]:
    """JSON values that a shape admits, with each optional field present or absent."""
    match shape:
        case Object():
            return _object(shape)
        case Union_():
            return st.one_of([_object(option) for option in shape.options.values()])
        case Items():
            return st.lists(st.deferred(lambda: valid(shape.item)), min_size=shape.at_least, max_size=2)
        case TextOr():
            return TEXT | valid(shape.items)
        case Choice():
            return st.sampled_from(shape.values)
        case Anything():
            return SMALL_JSON
    assert isinstance(shape, Leaf)
    return _leaf(shape)


@cache
def events(*kinds: str) -> st.SearchStrategy[dict[str, Any]]:
    """Valid events of some types, or of any."""
    options = EVENTS["1.1"].options
    return st.one_of([_object(options[kind]) for kind in kinds or options])


def _object(shape: Object) -> st.SearchStrategy[dict[str, Any]]:
    required = {name: valid(member.shape) for name, member in shape.members.items() if member.required}
    optional = {
        name: NOT_NULL if isinstance(member.shape, Anything) else valid(member.shape)
        for name, member in shape.members.items()
        if not member.required
    }
    return st.fixed_dictionaries(required, optional=optional)


def _leaf(shape: Leaf) -> st.SearchStrategy[Any]:
    if shape in (STRING, BOOLEAN, MAPPING):
        return {STRING: TEXT, BOOLEAN: st.booleans(), MAPPING: MAP}[shape]
    if shape.expected == "a JSON Pointer":
        return POINTER
    limits = INTEGER.fullmatch(shape.expected)
    if limits is None:
        return st.just(ast.literal_eval(shape.expected))
    low, high = map(int, limits.groups())
    return st.sampled_from([low, high]) | st.integers(max(low, -100), 100) | st.just(7.0)


def fullest(shape: Object) -> dict[str, Any]:
    """One value with every optional field, and in a list every option; what is inside has only required fields."""
    return {name: _least(member.shape) for name, member in shape.members.items()}


def _least(shape: Shape) -> Any:
    match shape:
        case Object():
            return {name: _least(member.shape) for name, member in shape.members.items() if member.required}
        case Union_():
            return _least(next(iter(shape.options.values())))
        case Items(item=Union_(options=options)):
            return [_least(option) for option in options.values()]
        case Items():
            return [_least(shape.item)]
        case TextOr():
            return _least(shape.items)
        case Choice():
            return shape.values[0]
        case Anything():
            return {"k": [None]}
    assert isinstance(shape, Leaf)
    if shape.expected == "a JSON Pointer":
        return "/a~0"
    if shape in LEAVES:
        return LEAVES[shape]
    return 7 if INTEGER.fullmatch(shape.expected) else ast.literal_eval(shape.expected)


def variants(value: Any, names: Iterable[str], depth: int = 2) -> Iterator[Any]:
    """The value changed in each one place down to a depth: replaced, without a member, or with another of `names`."""
    yield from OTHERS
    if isinstance(value, str):
        yield value + "?"
    if isinstance(value, dict):
        yield from ({**value, name: "more"} for name in names if name not in value)
    if depth and isinstance(value, dict | list):
        for step in value if isinstance(value, dict) else range(len(value)):
            less = value.copy()
            del less[step]
            yield less
            for inner in variants(value[step], ["shiny"], depth - 1):
                other = value.copy()
                other[step] = inner
                yield other


def places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """The path of every value inside a JSON value, its own included."""
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [path, *(place for step, part in inner for place in places(part, (*path, step)))]


@st.composite
def broken(draw: st.DrawFn, document: Any) -> Any:
    """The document with one value dropped, replaced by one of another kind, or given a member more."""
    path = draw(st.sampled_from(places(document)))
    return _changed(draw, document, path)


def _changed(draw: st.DrawFn, value: Any, path: tuple[Any, ...]) -> Any:
    if path:
        step, rest = path[0], path[1:]
        copy = value.copy()
        if not rest and draw(st.booleans()):
            del copy[step]
        else:
            copy[step] = _changed(draw, value[step], rest)
        return copy
    if isinstance(value, dict) and draw(st.booleans()):
        return {**value, "shiny": draw(st.sampled_from(OTHERS))}
    if isinstance(value, str) and draw(st.booleans()):
        return value + "?"
    return draw(st.sampled_from(OTHERS))
