"""The shapes say the same as the protocol's JSON Schema, of valid documents and of broken ones.

The schema knows one verdict; the shapes know why. What they call malformed and what they call unknown, it rejects.
"""

from functools import cache
from itertools import permutations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator
from support.corpus import schema_1_1
from support.documents import broken, fullest, valid, variants

from conformance.enforce import run_input_shape
from conformance.schema import CAPABILITIES, EVENTS, objects
from conformance.shapes import Report

OPTIONS = EVENTS["1.1"].options
SHAPES = {**OPTIONS, "RunAgentInput": run_input_shape("1.1"), "AgentCapabilities": CAPABILITIES}
SLOW = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much])


@cache
def validator(definition):
    schema = schema_1_1()
    return Draft202012Validator(
        {"$schema": schema["$schema"], "$ref": f"#/$defs/{definition}", "$defs": schema["$defs"]}
    )


def is_in_schema(name, document):
    """An event is held to the definition that its type names, which is what the union of all of them comes to."""
    if name in OPTIONS and isinstance(document, dict) and isinstance(document.get("type"), str):
        named = OPTIONS.get(document["type"])
        return named is not None and validator(named.name).is_valid(document)
    return validator(SHAPES[name].name).is_valid(document)


OBJECTS = {one.name: one for shape in SHAPES.values() for one in objects(shape)}


@cache
def names():
    """Every field name of the schema, and one that is none."""
    return sorted({name for one in schema_1_1()["$defs"].values() for name in one.get("properties", ())} | {"shiny"})


@pytest.mark.parametrize("definition", OBJECTS)
def test_every_definition_is_held_alike_with_one_place_changed(definition):
    shape, held = OBJECTS[definition], validator(definition)
    assert held.is_valid(fullest(shape))
    for document in [fullest(shape), *variants(fullest(shape), names())]:
        report = Report()
        shape.hold(document, (), report)
        assert (report.deviations == []) == held.is_valid(document), document


def deviations(name, document):
    report = Report()
    shape = EVENTS["1.1"] if name in OPTIONS else SHAPES[name]
    shape.hold(document, (), report)
    return report.deviations


@pytest.mark.parametrize("name", SHAPES)
@settings(SLOW, max_examples=20)
@given(data=st.data())
def test_what_the_shapes_admit_the_schema_admits(name, data):
    document = data.draw(valid(SHAPES[name]))
    assert deviations(name, document) == []
    assert is_in_schema(name, document)


@pytest.mark.parametrize("name", SHAPES)
@settings(SLOW, max_examples=30)
@given(data=st.data())
def test_the_shapes_find_fault_with_exactly_what_the_schema_rejects(name, data):
    document = data.draw(valid(SHAPES[name]))
    for _ in range(data.draw(st.integers(1, 2))):
        document = data.draw(broken(document))
    assert (deviations(name, document) == []) == is_in_schema(name, document)


def test_the_union_of_events_is_what_each_type_names():
    """What `is_in_schema` takes for granted, on a document that two definitions could fight over."""
    event = {"type": "TEXT_MESSAGE_END", "messageId": "m"}
    assert validator("Event").is_valid(event)
    assert not validator("Event").is_valid({**event, "type": "TEXT_MESSAGE_CONTENT"})
    assert not validator("Event").is_valid({**event, "type": "FUTURE_EVENT"})


def test_the_verdict_does_not_depend_on_the_order_of_the_fields():
    """An unknown value takes its container along; a malformed one beside it is fatal, wherever it stands."""
    fields = {"entityId": 5, "subtype": "dream", "encryptedValue": "v"}
    for order in permutations(fields):
        event = {"type": "REASONING_ENCRYPTED_VALUE", **{name: fields[name] for name in order}}
        report = Report()
        EVENTS["1.1"].hold(event, (), report)
        assert [one.path for one in report.malformed] == [("entityId",)]
