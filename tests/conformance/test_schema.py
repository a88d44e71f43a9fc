"""The shapes read from the SDK are those of the schema, and hold values strictly."""

import pytest
from support.corpus import schema_1_1

from conformance import schema
from conformance.schema import EVENT, objects
from conformance.shapes import DROP, Nulls, Report, describe, pointer

RS = {"type": "RUN_STARTED", "threadId": "t", "runId": "r"}
NEW_IN_1_1 = {"encryptedValueType"}


def held(event, **options):
    report = Report(**options)
    value = EVENT.hold(event, (), report)
    return value, [str(one) for one in report.malformed], [pointer(path) for path in report.stripped]


def fields_of(name, definitions):
    """The properties and the required names of a definition, those of what it is composed of included."""
    definition = definitions[name]
    properties, required = set(definition.get("properties", {})), set(definition.get("required", []))
    for part in definition.get("allOf", []):
        inherited, also = fields_of(part["$ref"].rpartition("/")[2], definitions)
        properties, required = properties | inherited, required | also
    return properties, required


def test_every_object_has_the_schemas_fields_and_required_ones():
    definitions = schema_1_1()["$defs"]
    checked = 0
    for root in (schema.EVENT, schema.RUN_INPUT, schema.CAPABILITIES):
        for shape in objects(root):
            properties, required = fields_of(shape.name, definitions)
            assert set(shape.members) == properties - NEW_IN_1_1, shape.name
            assert {name for name, member in shape.members.items() if member.required} == required, shape.name
            assert shape.is_open == ("unevaluatedProperties" not in definitions[shape.name]), shape.name
            checked += 1
    assert checked > 80


def test_a_value_that_needs_no_change_is_not_copied():
    event = {**RS, "input": {"threadId": "t", "runId": "r", "messages": []}}
    value, malformed, stripped = held(event)
    assert value is event
    assert malformed == stripped == []


MALFORMED = [
    ({**RS, "threadId": 1}, "/threadId: expected a string, found the number 1"),
    ({**RS, "threadId": None}, "/threadId: expected a string, found null"),
    ({**RS, "parentRunId": None}, "/parentRunId: expected a string, or no such field, found null"),
    (
        {**RS, "timestamp": 1.5},
        "/timestamp: expected an integer from -9007199254740991 to 9007199254740991, found the number 1.5",
    ),
    (
        {**RS, "timestamp": True},
        "/timestamp: expected an integer from -9007199254740991 to 9007199254740991, found true",
    ),
    ({**RS, "metadata": []}, "/metadata: expected an object, found a list of 0"),
    ({"type": "RUN_STARTED", "runId": "r"}, "/threadId: expected a string, found nothing"),
    ([], "the document: expected an object, found a list of 0"),
    ({"type": 5}, "/type: expected one of ACTIVITY_DELTA, "),
    ({}, "/type: expected one of ACTIVITY_DELTA, "),
    (
        {"type": "REASONING_MESSAGE_START", "messageId": "m", "role": "user"},
        "/role: expected 'reasoning', found 'user'",
    ),
    (
        {"type": "STATE_DELTA", "delta": [{"op": "add", "path": "a", "value": 1}]},
        "/delta/0/path: expected a JSON Pointer, found 'a'",
    ),
    (
        {"type": "STATE_DELTA", "delta": [{"op": "remove", "path": "/a\n~"}]},
        "/delta/0/path: expected a JSON Pointer, found",
    ),
    ({"type": "STATE_DELTA", "delta": {}}, "/delta: expected a list, found an object"),
    (
        {"type": "RUN_FINISHED", "threadId": "t", "runId": "r", "outcome": {"type": "interrupt", "interrupts": []}},
        "/outcome/interrupts: expected a list of at least 1, found a list of 0",
    ),
    (
        {"type": "ACTIVITY_SNAPSHOT", "messageId": "a", "activityType": "x", "content": {}, "replace": "no"},
        "/replace: expected true or false, found 'no'",
    ),
    (
        {"type": "TEXT_MESSAGE_START", "messageId": "m", "role": 5},
        "/role: expected one of 'developer', 'system', 'assistant', 'user', found the number 5",
    ),
    (
        {"type": "RUN_FINISHED", "threadId": "t", "runId": "r", "outcome": ["success"]},
        "/outcome: expected an object, found a list of 1",
    ),
    (
        {"type": "TOOL_CALL_RESULT", "messageId": "m", "toolCallId": "c", "content": {}},
        "/content: expected a string or a list of content parts, found an object",
    ),
]


@pytest.mark.parametrize(("event", "message"), MALFORMED, ids=[message[:40] for _, message in MALFORMED])
def test_a_malformed_value_is_refused_by_its_path(event, message):
    _, malformed, stripped = held(event)
    assert malformed[0].startswith(message)
    assert stripped == []


STRIPPED = [
    ({**RS, "shiny": 1}, RS, ["/shiny"]),
    (
        {"type": "TEXT_MESSAGE_START", "messageId": "m", "role": "oracle"},
        {"type": "TEXT_MESSAGE_START", "messageId": "m"},
        ["/role"],
    ),
    (
        {"type": "RUN_FINISHED", "threadId": "t", "runId": "r", "outcome": {"type": "banana", "x": 1}},
        {"type": "RUN_FINISHED", "threadId": "t", "runId": "r"},
        ["/outcome"],
    ),
    (
        {"type": "STATE_DELTA", "delta": [{"op": "merge", "path": "/a"}, {"op": "remove", "path": "/a", "value": 1}]},
        {"type": "STATE_DELTA", "delta": [{"op": "remove", "path": "/a", "value": 1}]},
        ["/delta/0"],
    ),
    (
        {
            "type": "MESSAGES_SNAPSHOT",
            "messages": [{"id": "1", "role": "oracle"}, {"id": "2", "role": "user", "content": "x", "y": 1}],
        },
        {"type": "MESSAGES_SNAPSHOT", "messages": [{"id": "2", "role": "user", "content": "x"}]},
        ["/messages/0", "/messages/1/y"],
    ),
]


@pytest.mark.parametrize(("event", "expected", "paths"), STRIPPED, ids=[paths[0] for _, _, paths in STRIPPED])
def test_unknown_material_is_left_out_where_it_stands(event, expected, paths):
    value, malformed, stripped = held(event)
    assert (value, malformed, stripped) == (expected, [], paths)


def test_an_unknown_member_in_a_required_place_takes_its_container_along():
    value, malformed, _ = held(
        {"type": "REASONING_ENCRYPTED_VALUE", "subtype": "dream", "entityId": "m", "encryptedValue": "v"}
    )
    assert value is DROP
    assert malformed == []
    assert held({"type": "FUTURE_EVENT"})[0] is DROP


def test_what_was_named_inside_a_dropped_value_goes_with_it():
    part = {"type": "image", "shiny": 1, "source": {"type": "beam"}}
    result = {"type": "TOOL_CALL_RESULT", "messageId": "m", "toolCallId": "c", "content": [part]}
    assert held(result)[2] == ["/content/0"]
    usage = {
        "type": "RUN_STARTED",
        "threadId": "t",
        "runId": "r",
        "input": {"threadId": "t", "runId": "r", "messages": []},
    }
    assert held(usage)[2] == []


def test_open_objects_keep_everything():
    event = {**RS, "metadata": {"anything": None, "ag-ui": 1}, "rawEvent": {"x": [None]}}
    assert held(event) == (event, [], [])


def test_nulls_are_read_as_asked():
    event = {**RS, "parentRunId": None, "rawEvent": None}
    assert len(held(event)[1]) == 2
    assert held(event, nulls=Nulls.ABSENT) == (RS, [], [])
    value, malformed, _ = held(event, nulls=Nulls.ABSENT_WHERE_OPAQUE)
    assert "rawEvent" not in value
    assert len(malformed) == 1


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (None, "null"),
        (True, "true"),
        (False, "false"),
        (1, "the number 1"),
        (1e300, "a huge number"),
        ("x", "'x'"),
        ("x" * 100, "a string of 100 characters"),
        ([1], "a list of 1"),
        ({}, "an object"),
        (b"x", "bytes"),
    ],
)
def test_a_value_is_described_in_a_few_words(value, words):
    assert describe(value) == words


def test_a_path_is_written_as_a_pointer():
    assert pointer(("a/b", 0, "~")) == "/a~1b/0/~0"
