"""Whether a payload fits the JSON Schema that an interrupt declares. Pure.

LangGraph holds an answer to the Python type behind a schema, but only when the node that asked runs again: by then the
other nodes that were answered have run too. So the answers of an input are all looked at before any is given.

What is looked at: the keywords that a schema made from a Python type has. Any other keyword admits everything, and is
left to LangGraph.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple, TypeAlias

Schema: TypeAlias = Mapping[str, Any]


class Misfit(NamedTuple):
    """Where a value does not fit, from `payload`, and what was expected there."""

    where: str
    expected: str


def misfit(
    value: Any, schema: Any, root: Schema | None = None, where: str = "payload", depth: int = 0
) -> Misfit | None:
    """Say where a value does not fit its schema; None if it fits.

    Args:
        value: Plain JSON.
        schema: A JSON Schema, or the part of one that the value is held to.
        root: The whole schema, for references within it.
        where: The place of the value.
        depth: How many references and alternatives lead to the schema: one that leads to itself admits everything.
    """
    if schema is False:
        return Misfit(where, "nothing")
    if not isinstance(schema, Mapping) or depth > _DEPTH:
        return None
    root = schema if root is None else root
    schema = resolved(schema, root)
    own = next((Misfit(where, expected) for expected in _own(value, schema)), None)
    return own or _within(value, schema, root, where) or _combined(value, schema, root, where, depth)


def resolved(schema: Any, root: Schema) -> Schema:
    """Follow the references of a schema into its root; where one leads nowhere, there is a schema that admits all."""
    for _ in range(_DEPTH):
        reference = schema.get("$ref") if isinstance(schema, Mapping) else None
        if not isinstance(reference, str):
            break
        found: Any = root
        for name in reference.removeprefix("#").split("/")[1:]:
            name = name.replace("~1", "/").replace("~0", "~")  # noqa: PLW2901 - the same name, unescaped
            found = found.get(name) if isinstance(found, Mapping) else None
        schema = {**(found if isinstance(found, Mapping) else {}), **_without_reference(schema)}
    return schema if isinstance(schema, Mapping) else {}


_DEPTH = 32


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


_TYPES: dict[str, Callable[[Any], bool]] = {
    "object": lambda value: isinstance(value, dict),
    "array": lambda value: isinstance(value, list),
    "string": lambda value: isinstance(value, str),
    "boolean": lambda value: isinstance(value, bool),
    "null": lambda value: value is None,
    "number": _is_number,
    "integer": lambda value: _is_number(value) and value == value // 1,
}

_LIMITS: dict[str, tuple[Callable[[Any], bool], Callable[[Any, Any], bool], str]] = {
    "minimum": (_is_number, lambda value, limit: value >= limit, "at least {}"),
    "maximum": (_is_number, lambda value, limit: value <= limit, "at most {}"),
    "exclusiveMinimum": (_is_number, lambda value, limit: value > limit, "more than {}"),
    "exclusiveMaximum": (_is_number, lambda value, limit: value < limit, "less than {}"),
    "minLength": (_TYPES["string"], lambda value, limit: len(value) >= limit, "at least {} characters"),
    "maxLength": (_TYPES["string"], lambda value, limit: len(value) <= limit, "at most {} characters"),
    "minItems": (_TYPES["array"], lambda value, limit: len(value) >= limit, "at least {} members"),
    "maxItems": (_TYPES["array"], lambda value, limit: len(value) <= limit, "at most {} members"),
}
"""Per keyword: which values it limits, when one is within it, and what it says."""


def _own(value: Any, schema: Schema) -> Iterator[str]:
    """What the value itself should have been, by each keyword that it breaks."""
    kinds = schema.get("type")
    kinds = [kinds] if isinstance(kinds, str) else kinds
    if isinstance(kinds, list) and not any(_TYPES.get(kind, lambda _: True)(value) for kind in kinds):
        yield " or ".join(f"{'an' if kind[0] in 'aeio' else 'a'} {kind}" if kind != "null" else kind for kind in kinds)
    if "const" in schema and not _equal(value, schema["const"]):
        yield repr(schema["const"])
    if isinstance(schema.get("enum"), list) and not any(_equal(value, one) for one in schema["enum"]):
        yield f"one of {schema['enum']}"
    for keyword, (concerns, within, said) in _LIMITS.items():
        limit = schema.get(keyword)
        if _is_number(limit) and concerns(value) and not within(value, limit):
            yield said.format(limit)


def _within(value: Any, schema: Schema, root: Schema, where: str) -> Misfit | None:
    """The first misfit among the members of an object or a list."""
    held: Iterator[tuple[str, Any, Any]] = iter(())
    missing: list[Any] = []
    if isinstance(value, dict):
        missing = [name for name in _listed(schema, "required") if name not in value]
        fields, others = schema.get("properties"), schema.get("additionalProperties")
        fields = fields if isinstance(fields, Mapping) else {}
        held = ((f"{where}/{name}", one, fields.get(name, others)) for name, one in value.items())
    elif isinstance(value, list):
        first, others = _listed(schema, "prefixItems"), schema.get("items")
        rules = (first[place] if place < len(first) else others for place in range(len(value)))
        held = ((f"{where}/{place}", one, rule) for place, (one, rule) in enumerate(zip(value, rules, strict=True)))
    found = next((found for at, one, rule in held if (found := misfit(one, rule, root, at)) is not None), None)
    return found or (Misfit(f"{where}/{missing[0]}", "a value") if missing else None)


def _combined(value: Any, schema: Schema, root: Schema, where: str, depth: int) -> Misfit | None:
    """The misfit with schemas that all have to admit the value, or one of which has to."""
    for one in _listed(schema, "allOf"):
        found = misfit(value, one, root, where, depth + 1)
        if found is not None:
            return found
    for keyword in ("anyOf", "oneOf"):
        misfits = [misfit(value, one, root, where, depth + 1) for one in _meant(value, schema, keyword)]
        told = [one for one in misfits if one is not None]
        if told and len(told) == len(misfits):
            # the alternative that the value came furthest into is the one that it was meant for
            deepest = max(told, key=lambda one: one.where.count("/")).where
            expected = dict.fromkeys(one.expected for one in told if one.where == deepest)
            return Misfit(deepest, " or ".join(expected))
    return None


def _meant(value: Any, schema: Schema, keyword: str) -> list[Any]:
    """The alternatives that a value may be: the one that it names, where it has to name one."""
    choices, told_by = _listed(schema, keyword), schema.get("discriminator")
    if choices and isinstance(value, dict) and isinstance(told_by, Mapping):
        mapping, name = told_by.get("mapping"), value.get(told_by.get("propertyName"))
        if isinstance(mapping, Mapping) and isinstance(name, str) and name in mapping:
            return [{"$ref": mapping[name]}]
    return choices


def _listed(schema: Schema, keyword: str) -> list[Any]:
    """What a keyword lists; nothing where it is none of this version of JSON Schema."""
    found = schema.get(keyword)
    return found if isinstance(found, list) else []


def _equal(value: Any, other: Any) -> bool:
    """JSON's equality: true is not 1."""
    return bool(value == other) and isinstance(value, bool) == isinstance(other, bool)


def _without_reference(schema: Schema) -> Schema:
    return {name: value for name, value in schema.items() if name != "$ref"}
