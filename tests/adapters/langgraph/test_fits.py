"""A payload against the schema that an interrupt declares, beside jsonschema."""

from typing import Annotated, Literal

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, Field, TypeAdapter

from adapters.langgraph.fits import misfit


class Address(BaseModel):
    street: str = Field(min_length=1)
    number: int = Field(gt=0, le=9999)


class Tree(BaseModel):
    name: Literal["leaf", "branch"]
    children: list["Tree"] = Field(default_factory=list, max_length=2)


class Yes(BaseModel):
    kind: Literal["yes"]
    address: Address


class No(BaseModel):
    kind: Literal["no"]
    why: str | None = None


TYPES = {
    "model": Address,
    "recursive": Tree,
    "one of two": Annotated[Yes | No, Field(discriminator="kind")],
    "text or nothing": str | None,
    "numbers": list[float],
    "pair": tuple[int, str],
    "map": dict[str, bool],
    "anything": object,
}
SCHEMAS = {
    **{name: TypeAdapter(one).json_schema() for name, one in TYPES.items()},
    "closed": {"type": "object", "properties": {"a": {"const": 1}}, "additionalProperties": False},
    "all of": {"allOf": [{"type": "integer"}, {"minimum": 3}, {"exclusiveMaximum": 5}]},
    "several types": {"type": ["string", "null", "array"], "minItems": 1, "maxLength": 2},
    "listed": {"enum": [1, "a", None, {"b": []}]},
    "escaped": {"$defs": {"a/b~c": {"type": "string"}}, "$ref": "#/$defs/a~1b~0c"},
}
NAMES = st.sampled_from(["street", "number", "kind", "why", "address", "name", "children", "a", "b"])
SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-2, 10000),
    st.sampled_from([1.0, 4.5]),
    st.sampled_from(["", "a", "yes", "no", "leaf", "branch", "long"]),
)
VALUES = st.recursive(SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=3))


@pytest.mark.parametrize("name", SCHEMAS)
@given(value=VALUES)
def test_what_fits_is_what_jsonschema_says(name, value):
    valid = jsonschema.Draft202012Validator(SCHEMAS[name]).is_valid(value)
    assert (misfit(value, SCHEMAS[name]) is None) == valid


@pytest.mark.parametrize(
    ("name", "value", "where", "expected"),
    [
        ("model", {"street": "s"}, "payload/number", "a value"),
        ("model", {"street": "s", "number": "5"}, "payload/number", "an integer"),
        ("model", {"street": "s", "number": True}, "payload/number", "an integer"),
        ("model", {"street": "", "number": 5}, "payload/street", "at least 1 characters"),
        ("model", [], "payload", "an object"),
        ("one of two", {"kind": "maybe"}, "payload/kind", "'yes' or 'no'"),
        (
            "one of two",
            {"kind": "yes", "address": {"street": "s", "number": 0}},
            "payload/address/number",
            "more than 0",
        ),
        (
            "recursive",
            {"name": "leaf", "children": [{"name": "x"}]},
            "payload/children/0/name",
            "one of ['leaf', 'branch']",
        ),
        ("one of two", {"kind": "yes"}, "payload/address", "a value"),
        ("closed", {"b": 1}, "payload/b", "nothing"),
        ("several types", 5, "payload", "a string or null or an array"),
    ],
)
def test_a_misfit_says_where_and_what_was_expected(name, value, where, expected):
    assert misfit(value, SCHEMAS[name]) == (where, expected)


def test_what_has_to_fit_everything_may_fit_everything():
    assert misfit(4, SCHEMAS["all of"]) is None


@pytest.mark.parametrize(
    "schema",
    [
        {"$ref": "#"},
        {"anyOf": [{"$ref": "#"}]},
        {"$ref": "#/$defs/nowhere"},
        {"required": True, "properties": [], "anyOf": {}, "type": "whatever", "minimum": "1"},
        {"format": "date", "pattern": "^x"},
        {},
        True,
        None,
    ],
)
def test_what_is_not_understood_admits_everything(schema):
    for value in (None, 1, "a", [1], {"a": 1}):
        assert misfit(value, schema) is None
