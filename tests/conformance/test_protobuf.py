"""The binary binding gives the reference's bytes, and reads any bytes without harm."""

import json
import math
import struct
from functools import cache

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.corpus import corpus
from support.events import EVENT_MODELS, events_of

from conformance.json_values import MAX_DEPTH
from conformance.protobuf import (
    CONTENT_TYPE,
    Frames,
    FrameTooLong,
    MalformedMessage,
    ProtobufError,
    Unencodable,
    UnknownArm,
    decode,
    encode,
    frame,
)
from conformance.protobuf.wire_schema import EVENTS, MESSAGES, UNIONS, fields
from conformance.schema import EVENTS as DESCRIBED
from conformance.schema import objects

TEXT = {"type": "TEXT_MESSAGE_CONTENT", "messageId": "m", "delta": "x"}
TEXT_BYTES = bytes.fromhex("120a0a02080112016d1a0178")


def varint(number):
    """Written otherwise than the codec writes it."""
    digits = [number >> shift & 127 for shift in range(0, max(number.bit_length(), 1), 7)]
    return bytes([*(digit | 128 for digit in digits[:-1]), digits[-1]])


def put(number, *parts):
    """A sized field."""
    data = b"".join(part.encode() if isinstance(part, str) else part for part in parts)
    return varint(number << 3 | 2) + varint(len(data)) + data


def scalar(number, value):
    return varint(number << 3) + varint(value)


def event(kind, *parts):
    """A message of an event by its arm's name, with a plain base event."""
    arm, number = next((arm, number) for arm, number, name in EVENTS if name == kind)
    return put(arm, put(1, scalar(1, number)), *parts)


def snapshot(*parts):
    return decode(event("MESSAGES_SNAPSHOT", put(2, *parts)))["messages"]


def state(*parts):
    return decode(event("STATE_SNAPSHOT", put(2, *parts))).get("snapshot", "absent")


# --- the reference's bytes ---


@cache
def vectors():
    return [json.loads(line) for line in (corpus() / "proto" / "vectors.jsonl").read_text().splitlines()]


def parity():
    return [vector for vector in vectors() if not vector["name"].startswith("edge/")]


def edges():
    return {vector["name"].removeprefix("edge/"): vector for vector in vectors() if vector["name"].startswith("edge/")}


def test_every_vector_is_written_byte_for_byte():
    assert len(parity()) > 700
    assert [v["name"] for v in parity() if encode(v["event"]).hex() != v["hex"]] == []


def test_every_vector_is_read_as_the_reference_reads_it():
    read = {v["name"]: (decode(bytes.fromhex(v["hex"])), v.get("decoded", v["event"])) for v in parity()}
    assert [name for name, (found, expected) in read.items() if found != expected] == []


def test_what_is_read_is_written_again_byte_for_byte():
    assert [v["name"] for v in parity() if encode(decode(bytes.fromhex(v["hex"]))).hex() != v["hex"]] == []


REFUSED = {
    "timestamp-float",
    "timestamp-string",
    "metadata-array",
    "patch-unknown-op",
    "usage-float",
    "unknown-event-type",
    "thinking-event",
    "legacy-binary-part",
    "unknown-part",
}
"""The reference writes some of these all the same: nothing, or less than it was given."""

OTHERWISE = {
    # A JSON key like any other; the reference loses it to JavaScript's prototypes.
    "proto-key": {"type": "STATE_SNAPSHOT", "snapshot": {"a": 1, "__proto__": {"b": 2}}},
    # Python reads the text -0 as the integer 0.
    "negative-zero": {"type": "STATE_SNAPSHOT", "snapshot": 0},
    # The reference writes the text "undefined".
    "missing-required-string": {"type": "TEXT_MESSAGE_CONTENT", "messageId": "", "delta": "x"},
}
"""What the codec reads back of the edges where its bytes are others, for a reason."""


def test_at_the_edges_it_writes_the_reference_s_bytes_or_refuses():
    for name, vector in edges().items():
        if name in REFUSED:
            with pytest.raises(Unencodable):
                encode(vector["event"])
        elif name in OTHERWISE:
            assert encode(vector["event"]).hex() != vector["hex"], name
            assert decode(encode(vector["event"])) == OTHERWISE[name]
        else:
            assert encode(vector["event"]).hex() == vector["hex"], name


def test_at_the_edges_it_reads_what_the_reference_reads():
    for name, vector in edges().items():
        message = bytes.fromhex(vector.get("hex", ""))
        if "decodeError" in vector:
            with pytest.raises(MalformedMessage):
                decode(message)
        elif message and not name.startswith("int-"):
            assert decode(message) == vector.get("decoded", vector["event"]), name


@pytest.mark.parametrize(("edge", "nearest"), [("int-above-2-53", 2**53), ("int-64-bit", 2**64)])
def test_an_integer_that_no_double_holds_comes_back_as_the_nearest(edge, nearest):
    assert decode(bytes.fromhex(edges()[edge]["hex"]))["snapshot"] == nearest


# --- the table ---


@pytest.mark.parametrize("kind", [kind for _, _, kind in EVENTS])
def test_the_table_has_each_event_as_the_protocol_describes_it(kind):
    described = DESCRIBED["1.1"].options[kind].members
    row = next(row for (_, _, name), row in EVENTS.items() if name == kind)
    split = {"contentParts", "interrupts", "pendingToolCallIds", "interruptIds"}
    table = {field.name: field for field in (*fields(MESSAGES["BaseEvent"]), *fields(row)) if field.name not in split}
    assert set(table) == set(described)
    for name, field in table.items():
        if name not in ("outcome", "content"):
            assert field.optional is not described[name].required, name


MADE_OF = {
    "FunctionCall": "Function",
    "TokenUsage": "Usage",
    **{f"{name}Part": name.lower() for name in ("Text", "Image", "Audio", "Video", "Document")},
    **{f"{name}Source": name.lower() for name in ("Data", "Url", "File")},
    **dict.fromkeys(("RunFinishedSuccessOutcome", "RunFinishedInterruptOutcome"), "RUN_FINISHED"),
    **dict.fromkeys(("RunFinishedCancelledOutcome",), "RUN_FINISHED"),
    **dict.fromkeys(("SubagentFinishedSuccessOutcome", "SubagentFinishedSuspendedOutcome"), "SUBAGENT_FINISHED"),
}


def test_the_table_has_every_member_that_the_protocol_describes():
    rows = {
        **MESSAGES,
        **{kind: row for (_, _, kind), row in EVENTS.items()},
        **{kind: row for union in UNIONS.values() for (_, kind), row in union.items()},
    }
    for shape in objects(DESCRIBED["1.1"]):
        name = shape.name
        if name.endswith("Event"):
            continue
        if name.endswith(("Message", "Operation")):
            name = "Message" if name.endswith("Message") else "Operation"
        row = MADE_OF.get(name, name)
        assert shape.members.keys() <= {"type"} | {field.name for field in fields(rows[row])}, name


@pytest.mark.parametrize(
    "row", [*MESSAGES.values(), *EVENTS.values(), *(r for u in UNIONS.values() for r in u.values())]
)
def test_fields_stand_in_the_order_of_their_numbers(row):
    numbers = [field.number for field in fields(row)]
    assert numbers == list(range(numbers[0], numbers[0] + len(numbers)))


# --- there and back ---


def as_json(model):
    return model.model_dump(mode="json", by_alias=True, exclude_unset=True)


def after_the_wire(sent):
    """What comes back of a valid event: a run input has its lists."""
    if "input" in sent:
        return {**sent, "input": {"tools": [], "context": [], "resume": [], **sent["input"]}}
    return sent


@pytest.mark.parametrize("model", EVENT_MODELS, ids=lambda model: model.__name__)
@settings(max_examples=30, deadline=None)
@given(data=st.data())
def test_a_valid_event_comes_back(model, data):
    sent = as_json(data.draw(events_of(model)))
    before = json.dumps(sent)
    message = encode(sent)
    assert decode(message) == after_the_wire(sent)
    assert encode(decode(message)) == message
    assert json.dumps(sent) == before


@pytest.mark.parametrize(
    "sent",
    [
        {"type": "REASONING_ENCRYPTED_VALUE", "subtype": "message", "entityId": "m", "encryptedValue": "e"},
        {"id": "m", "role": "assistant", "encryptedValue": "e"},
        {"id": "c", "type": "function", "function": {"name": "f", "arguments": ""}, "encryptedValue": "e"},
    ],
)
def test_the_artefact_types_of_1_1_come_back(sent):
    sent = {**sent, "encryptedValueType": "signature"}
    if sent.get("type") == "function":
        sent = {"id": "m", "role": "assistant", "toolCalls": [sent]}
    if "role" in sent:
        sent = {"type": "MESSAGES_SNAPSHOT", "messages": [sent]}
    assert decode(encode(sent)) == sent


def test_the_type_is_the_first_member():
    assert list(decode(TEXT_BYTES)) == ["type", "messageId", "delta"]


@pytest.mark.parametrize(
    ("sent", "back"),
    [
        ({"rawEvent": None, "metadata": None, "timestamp": None, "subagentRunId": None}, {}),
        ({"unknown": 1}, {}),
        ({"metadata": {"a": None}}, {"metadata": {"a": None}}),
        ({"timestamp": 5.0}, {"timestamp": 5}),
        ({"timestamp": -(2**63)}, {"timestamp": -(2**63)}),
        ({"timestamp": 2**63 - 1}, {"timestamp": 2**63 - 1}),
        ({"delta": None}, {"delta": ""}),
    ],
)
def test_what_the_wire_cannot_tell_apart(sent, back):
    assert decode(encode({**TEXT, **sent})) == {**TEXT, **back}


@pytest.mark.parametrize(
    ("outcome", "back"),
    [
        ({"type": "interrupt", "interrupts": []}, {"type": "interrupt", "interrupts": []}),
        ({"type": "success", "pendingToolCallIds": []}, {"type": "success"}),
        ({"type": "later", "pendingToolCallIds": ["c"]}, {"type": "later", "pendingToolCallIds": ["c"]}),
        ({"type": "later", "other": 1}, {"type": "later"}),
        (None, None),
    ],
)
def test_an_outcome_of_any_type_comes_back(outcome, back):
    sent = {"type": "RUN_FINISHED", "threadId": "t", "runId": "r", "outcome": outcome}
    assert decode(encode(sent)).get("outcome") == back


def test_members_beside_an_outcome_are_no_part_of_it():
    sent = {"type": "RUN_FINISHED", "threadId": "t", "runId": "r", "interrupts": [{"id": "i", "reason": "x"}]}
    assert decode(encode(sent)) == {"type": "RUN_FINISHED", "threadId": "t", "runId": "r"}
    outcome = {"type": "success"}
    assert decode(encode({**sent, "outcome": outcome}))["outcome"] == outcome


def test_members_named_as_the_wire_s_fields_are_no_content():
    message = {"id": "1", "role": "user", "content": "x", "contentParts": [{"type": "text", "text": "y"}]}
    sent = {"type": "MESSAGES_SNAPSHOT", "messages": [{**message, "activityContent": {"a": 1}}]}
    assert decode(encode(sent))["messages"] == [{"id": "1", "role": "user", "content": "x"}]


# --- opaque JSON ---

NUMBERS = [
    (5.0, 5, int),
    (5, 5, int),
    (0.1, 0.1, float),
    (-3.0, -3, int),
    (1e20, 10**20, int),
    (1e21, 1e21, float),
    (-1e21, -1e21, float),
    (1e300, 1e300, float),
    (5e-324, 5e-324, float),
    (2**53 + 1, 2**53, int),
    (10**400, None, type(None)),
    (-(10**400), None, type(None)),
    (math.nan, None, type(None)),
    (math.inf, None, type(None)),
]


@pytest.mark.parametrize(("sent", "back", "kind"), NUMBERS)
def test_a_number_comes_back_as_javascript_writes_it(sent, back, kind):
    found = decode(encode({"type": "STATE_SNAPSHOT", "snapshot": sent}))["snapshot"]
    assert (found, type(found)) == (back, kind)


@pytest.mark.parametrize("number", [math.nan, math.inf, -math.inf])
def test_a_number_that_json_has_not_is_read_as_null(number):
    assert state(b"\x11", struct.pack("<d", number)) is None


def test_negative_zero_keeps_its_sign():
    found = decode(encode({"type": "STATE_SNAPSHOT", "snapshot": -0.0}))["snapshot"]
    assert math.copysign(1, found) == -1


def test_array_indexes_stand_first_as_javascript_has_them():
    keys = ["b", "10", "2", "01", "", "-1", str(2**32 - 2), str(2**32 - 1), "0", "1.5", "٣", "1\n"]
    back = decode(encode({"type": "STATE_SNAPSHOT", "snapshot": dict.fromkeys(keys, True)}))["snapshot"]
    first = ["0", "2", "10", str(2**32 - 2)]
    assert list(back) == first + [key for key in keys if key not in first]


def test_an_object_whose_keys_only_look_like_indexes_keeps_its_order():
    assert list(decode(encode({"type": "RAW", "event": {"b": 1, "01": 2, "a": 3}}))["event"]) == ["b", "01", "a"]


@pytest.mark.parametrize(("sent", "back"), [("a\ud800b", "a\ufffdb"), ("\ud83d\ude42", "🙂"), ("\ufeff", "\ufeff")])
def test_a_lone_surrogate_is_replaced(sent, back):
    assert decode(encode({**TEXT, "delta": sent, "metadata": {sent: sent}})) == {
        **TEXT,
        "delta": back,
        "metadata": {back: back},
    }


def nested(depth, wrap):
    value = 1
    for _ in range(depth):
        value = wrap(value)
    return {"type": "STATE_SNAPSHOT", "snapshot": value}


@pytest.mark.parametrize("wrap", [lambda value: {"a": value}, lambda value: [value]])
def test_nesting_ends_at_a_limit(wrap):
    whole = nested(MAX_DEPTH, wrap)
    assert decode(encode(whole)) == whole
    for depth in (MAX_DEPTH + 1, 20_000):
        with pytest.raises(Unencodable, match=f"deeper than {MAX_DEPTH}"):
            encode(nested(depth, wrap))


@pytest.mark.parametrize("shell", [lambda inner: put(6, put(1, inner)), lambda inner: put(5, put(1, put(2, inner)))])
def test_nesting_that_is_read_ends_at_a_limit(shell):
    value = b"\x08\x00"
    for depth in range(1, 1001):
        value = shell(value)
        if depth == MAX_DEPTH:
            state(value)
    with pytest.raises(MalformedMessage, match=f"deeper than {MAX_DEPTH}"):
        state(value)


VALUES = [
    ("nothing is no value", b"", "absent"),
    ("the last kind counts", put(3, "a") + scalar(4, 1), True),
    ("a kind of another wire type is unknown", scalar(3, 1), "absent"),
    ("unknown fields are skipped", scalar(9, 1) + put(3, "a") + put(8, "b"), "a"),
    ("any varint but 0 is true", scalar(4, 2), True),
    ("null is null, whatever its number", scalar(1, 7), None),
    ("a tag may be longer than it needs", b"\x9a\x00\x01a", "a"),
    ("an entry without a key", put(5, put(1, put(2, put(3, "a")))), {"": "a"}),
    ("an entry without a value is none", put(5, put(1, put(1, "k"))), {}),
    ("an entry without a kind is none", put(5, put(1, put(1, "k"), put(2))), {}),
    ("an entry in another order", put(5, put(1, put(2, put(3, "a")), put(1, "k"), put(3, "x"))), {"k": "a"}),
    ("an entry with two values", put(5, put(1, put(2, put(3, "a")), put(2, put(3, "b")))), {"": "b"}),
    (
        "of one key the later entry counts",
        put(5, *(put(1, put(1, "k"), put(2, scalar(4, n))) for n in (0, 1))),
        {"k": True},
    ),
    ("objects merge", b"".join(put(5, put(1, put(1, k), put(2, put(3, k)))) for k in "ab"), {"a": "a", "b": "b"}),
    ("lists merge", put(6, put(1, put(3, "a"))) + put(6, put(1, put(3, "b"))), ["a", "b"]),
    ("another kind between two objects ends the first", put(5, put(1, put(2, put(6)))) + put(6) + put(5), {}),
    ("an item without a kind is null", put(6, put(1), put(1, put(3, "a"))), [None, "a"]),
    ("an unknown field of an object is skipped", put(5, put(2, "x"), scalar(1, 5)), {}),
    ("an unknown field of a list is skipped", put(6, put(2, "x"), b"\x8a\x00\x00"), [None]),
]


@pytest.mark.parametrize(("data", "value"), [row[1:] for row in VALUES], ids=[row[0] for row in VALUES])
def test_a_value_is_read_as_protobuf_has_it(data, value):
    assert state(data) == value


def test_a_value_in_two_parts_is_merged():
    parts = [put(2, put(5, put(1, put(1, key), put(2, put(3, key))))) for key in "ab"]
    assert decode(event("STATE_SNAPSHOT", *parts))["snapshot"] == {"a": "a", "b": "b"}
    base = [put(1, put(4, put(1, put(1, key), put(2, scalar(4, 1))))) for key in "ab"]
    assert decode(event("RUN_ERROR", *base))["metadata"] == {"a": True, "b": True}


# --- messages ---


def test_a_message_is_read_as_protobuf_has_it():
    assert decode(TEXT_BYTES) == TEXT
    assert decode(event("TEXT_MESSAGE_CONTENT")) == {"type": "TEXT_MESSAGE_CONTENT", "messageId": "", "delta": ""}
    assert decode(put(1, put(1))) == {"type": "TEXT_MESSAGE_START", "messageId": ""}, "TEXT_MESSAGE_START is 0"
    assert decode(event("TEXT_MESSAGE_CONTENT", put(2, "m"), put(3, "a"), put(3, "x"))) == TEXT, "the last one counts"
    assert decode(event("TEXT_MESSAGE_CONTENT", put(3, "x"), put(2, "m"))) == TEXT, "any order"
    assert decode(TEXT_BYTES + put(2, put(4, "s"))) == {**TEXT, "subagentRunId": "s"}, "an arm in two parts is merged"
    assert decode(b"\x92\x80\x00" + TEXT_BYTES[1:]) == TEXT, "a tag may be longer than it needs"
    assert decode(b"\x12\x8a\x00" + TEXT_BYTES[2:]) == TEXT, "so may a size"


UNKNOWN = [
    scalar(15, 2**64 - 1),
    b"\x79" + bytes(8),
    put(15, "anything \xff"),
    b"\x7d" + bytes(4),
    b"\x7b" + scalar(1, 1) + b"\x83\x01" + put(2, "x") + b"\x84\x01" + b"\x7c",
    put(1000, "x"),
    b"\x10\x05",  # messageId as an integer
    b"\x1d" + bytes(4),  # delta as a fixed32
]


@pytest.mark.parametrize("unknown", UNKNOWN)
@pytest.mark.parametrize("first", [True, False])
def test_an_unknown_field_is_skipped(unknown, first):
    known = put(2, "m") + put(3, "x")
    assert decode(event("TEXT_MESSAGE_CONTENT", *((unknown, known) if first else (known, unknown)))) == TEXT


@pytest.mark.parametrize("unknown", [*UNKNOWN[:1], put(32, "x"), put(33)])
def test_an_unknown_field_beside_an_arm_is_skipped(unknown):
    assert decode(TEXT_BYTES + unknown) == decode(unknown + TEXT_BYTES) == TEXT


MALFORMED = {
    "nothing": b"",
    "no base event": put(2, put(2, "m")),
    "a base event of another type": put(2, put(1, scalar(1, 2)), put(2, "m")),
    "a base event of an unknown type": put(2, put(1, scalar(1, 99))),
    "a base event that says nothing is TEXT_MESSAGE_START's": put(2, put(1)),
    "two arms": event("RUN_ERROR") + event("TEXT_MESSAGE_END"),
    "an arm of another wire type": scalar(2, 1),
    "an arm of another wire type beside an unknown one": put(99) + scalar(2, 1),
    "only a number": scalar(99, 1),
    "an unknown arm that is no message": put(99, b"\x08"),
    "an unknown arm with field 0": put(99, b"\x02\x00"),
    "field 0": event("RUN_ERROR", b"\x00\x00"),
    "wire type 6": event("RUN_ERROR", b"\x7e"),
    "wire type 7": event("RUN_ERROR", b"\x7f"),
    "a group that does not end": event("RUN_ERROR", b"\x7b\x08\x01"),
    "a group that ends another": event("RUN_ERROR", b"\x7b\x84\x01"),
    "a group that only ends": event("RUN_ERROR", b"\x7c"),
    "a tag of more than 32 bits": event("RUN_ERROR", b"\xff\xff\xff\xff\x1f\x00"),
    "a tag that is too long": event("RUN_ERROR", b"\xf8\x80\x80\x80\x80\x00\x00"),
    "a varint of more than 64 bits": event("RUN_ERROR", b"\x78" + b"\xff" * 9 + b"\x02"),
    "a varint that is too long": event("RUN_ERROR", b"\x78" + b"\x80" * 10 + b"\x00"),
    "a size beyond its message": event("RUN_ERROR", b"\x1a\x05ab"),
    "a size beyond the bytes": event("RUN_ERROR", b"\x1a\xff\xff\xff\xff\x0f"),
    "a size that the next field would fill": put(14, put(1, scalar(1, 13), b"\x12"), put(3, "abc")),
    "a varint that ends in the next field": put(14, put(1, scalar(1, 13), b"\x10\x80"), b"\x01"),
    "a fixed64 that ends in the next field": put(14, put(1, scalar(1, 13), b"\x79"), put(3, "0123456789")),
    "a string that is no UTF-8": event("RUN_ERROR", put(3, b"\xff")),
    "a key that is no UTF-8": event("RAW", put(2, put(5, put(1, put(1, b"\xed\xa0\x80"))))),
    "a double of 7 bytes": event("STATE_SNAPSHOT", put(2, b"\x11" + bytes(7)), put(3, "s")),
    "a truth value that ends in the next field": event("STATE_SNAPSHOT", put(2, b"\x20\x80"), put(3, "s")),
    "a value's tag that has no end": event("STATE_SNAPSHOT", put(2, b"\x9a")),
}


@pytest.mark.parametrize("message", MALFORMED.values(), ids=MALFORMED)
def test_bytes_that_are_no_message_are_malformed(message):
    with pytest.raises(MalformedMessage):
        decode(message)


@pytest.mark.parametrize(
    "message",
    [put(32), put(99, scalar(1, 5), put(2, "x")), scalar(40, 1) + put(99) + put(100), b"\xa3\x02\xa4\x02" + put(99)],
)
def test_an_event_of_a_later_protocol_is_told_apart(message):
    with pytest.raises(UnknownArm, match="later protocol") as unknown:
        decode(message)
    assert unknown.value.number in (32, 99)


def test_no_part_of_a_message_is_a_message():
    sent = {
        "type": "RUN_STARTED",
        "threadId": "t",
        "runId": "r",
        "timestamp": 300,
        "rawEvent": {"a": [1, "b", None]},
        "input": {"threadId": "t", "runId": "r", "messages": [{"id": "1", "role": "user", "content": []}]},
    }
    message = encode(sent)
    for end in range(len(message)):
        with pytest.raises(MalformedMessage):
            decode(message[:end])


@pytest.mark.parametrize(("number", "op"), [(0, "add"), (5, "test"), (6, "6"), (2**64 - 1, "-1")])
def test_an_operation_that_is_unknown_has_its_number_for_a_name(number, op):
    (operation,) = decode(event("STATE_DELTA", put(2, scalar(1, number))))["delta"]
    assert operation == {"op": op, "path": ""}


# --- content ---

TEXT_PART = put(8, put(1, put(1, "t")))
CONTENT = [
    ("user", put(3, "x"), "x"),
    ("user", TEXT_PART, [{"type": "text", "text": "t"}]),
    ("user", b"", []),
    ("tool", b"", []),
    ("assistant", b"", "absent"),
    ("activity", put(13), {}),
    ("activity", b"", "absent"),
    ("critic", b"", "absent"),
    ("critic", put(3, "x"), "x"),
    ("critic", TEXT_PART, [{"type": "text", "text": "t"}]),
    ("critic", put(13), {}),
    ("user", put(8, put(9, "hologram")) + TEXT_PART, [{"type": "text", "text": "t"}]),
    ("user", put(8, put(2, put(1, put(9)))), []),
    ("user", put(8, put(2, put(3, "i"))), [{"type": "image", "id": "i"}]),
    (
        "user",
        put(8, put(2, put(1, put(2, put(1, "u"))), put(1, put(2, put(2, "a/b"))))),
        [{"type": "image", "source": {"type": "url", "value": "u", "mimeType": "a/b"}}],
    ),
]


@pytest.mark.parametrize(("role", "carried", "content"), CONTENT)
def test_content_stands_where_its_role_has_it(role, carried, content):
    (message,) = snapshot(put(2, role), carried)
    assert message.get("content", "absent") == content


@pytest.mark.parametrize(
    ("role", "carried"),
    [
        ("user", put(3, "x") + TEXT_PART),
        ("user", put(13)),
        ("assistant", TEXT_PART),
        ("activity", put(3, "x")),
        ("activity", TEXT_PART + put(13)),
        ("critic", put(3, "x") + put(13)),
        ("user", put(8, put(1), put(2))),
        ("user", put(8, put(2, put(1, put(1), put(2))))),
    ],
)
def test_content_in_two_places_or_in_a_wrong_one_is_malformed(role, carried):
    with pytest.raises(MalformedMessage):
        snapshot(put(2, role), carried)


def test_a_tool_result_has_its_content_in_one_place():
    assert decode(event("TOOL_CALL_RESULT", put(5, "x")))["content"] == "x"
    assert decode(event("TOOL_CALL_RESULT"))["content"] == []
    with pytest.raises(MalformedMessage, match="content and contentParts"):
        decode(event("TOOL_CALL_RESULT", put(5, "x"), put(7, put(1))))


# --- what has no form on this wire ---

MESSAGE = {"type": "MESSAGES_SNAPSHOT"}
RESULT = {"type": "TOOL_CALL_RESULT", "messageId": "m", "toolCallId": "c"}
UNENCODABLE = [
    ({}, "expected the type of an event, found null"),
    ({"type": []}, "expected the type of an event, found a list of 0"),
    ({**TEXT, "delta": 1}, "TEXT_MESSAGE_CONTENT.delta: expected a string, found the number 1"),
    ({**TEXT, "timestamp": True}, "BaseEvent.timestamp: expected an integer of 64 bits, found true"),
    ({**TEXT, "timestamp": 2**63}, "BaseEvent.timestamp: expected an integer of 64 bits, found the number 9223"),
    ({**TEXT, "timestamp": math.inf}, "BaseEvent.timestamp: expected an integer of 64 bits, found a huge number"),
    ({**TEXT, "metadata": "x"}, "BaseEvent.metadata: expected an object, found 'x'"),
    ({**TEXT, "metadata": {1: 2}}, "BaseEvent.metadata: expected strings as an object's keys"),
    ({**TEXT, "rawEvent": {"a": {1: 2, "b": 3}}}, "BaseEvent.rawEvent: expected strings as an object's keys"),
    ({**TEXT, "rawEvent": [b""]}, "BaseEvent.rawEvent: expected a JSON value, found bytes"),
    (
        {"type": "ACTIVITY_SNAPSHOT", "replace": 1},
        "ACTIVITY_SNAPSHOT.replace: expected true or false, found the number",
    ),
    ({"type": "STATE_DELTA", "delta": {}}, "STATE_DELTA.delta: expected a list, found an object"),
    ({"type": "STATE_DELTA", "delta": [1]}, "Operation: expected an object, found the number 1"),
    ({"type": "STATE_DELTA", "delta": [{"op": ["add"]}]}, "Operation.op: expected add or remove or "),
    ({"type": "RUN_STARTED", "input": []}, "RunAgentInput: expected an object, found a list of 0"),
    (
        {"type": "RUN_FINISHED", "outcome": "success"},
        "RUN_FINISHED.outcome: expected an object with a type, found 'succ",
    ),
    (
        {"type": "SUBAGENT_FINISHED", "outcome": {}},
        "SUBAGENT_FINISHED.outcome: expected an object with a type, found an",
    ),
    ({**MESSAGE, "messages": [{"role": []}]}, "Message.role: expected a string, found a list of 0"),
    (
        {**MESSAGE, "messages": [{"role": "assistant", "content": []}]},
        "content of a message of role 'assistant': a list",
    ),
    (
        {**MESSAGE, "messages": [{"role": "activity", "content": "x"}]},
        "content of a message of role 'activity': 'x' has",
    ),
    ({**RESULT, "content": {}}, "content of a message of role 'tool': an object has no form on this wire"),
    ({**RESULT, "content": 1}, "TOOL_CALL_RESULT.content: expected a string, found the number 1"),
    (
        {**RESULT, "content": ["x"]},
        "ContentPart: expected an object of type text or image or audio or video or document",
    ),
    ({**RESULT, "content": [{"type": []}]}, "ContentPart: expected an object of type text or"),
    (
        {**RESULT, "content": [{"type": "image", "source": {"type": "x"}}]},
        "Source: expected an object of type data or ",
    ),
]


@pytest.mark.parametrize(("sent", "says"), UNENCODABLE, ids=[says for _, says in UNENCODABLE])
def test_what_has_no_form_on_this_wire_is_named(sent, says):
    with pytest.raises(Unencodable) as refused:
        encode(sent)
    assert str(refused.value).startswith(says)


# --- any bytes ---

PIECES = st.sampled_from(
    [
        b"",
        b"\x00",
        b"\x08\x01",
        b"\x0a\x00",
        b"\x12\x01a",
        b"\x2a\x00",
        b"\x80",
        b"\xff" * 10,
        b"\x0b\x0c",
        b"\xed\xa0\x80",
    ]
)


@st.composite
def near_valid(draw):
    """A valid message with a few bytes in it that are not."""
    message = encode(as_json(draw(events_of(draw(st.sampled_from(EVENT_MODELS))))))
    for _ in range(draw(st.integers(1, 3))):
        start = draw(st.integers(0, len(message)))
        stop = draw(st.integers(start, min(len(message), start + 2)))
        message = message[:start] + draw(PIECES | st.binary(max_size=3)) + message[stop:]
    return message


@settings(max_examples=400, deadline=None)
@given(st.binary(max_size=80) | near_valid())
def test_any_bytes_give_json_or_an_error_of_ours(message):
    try:
        found = decode(message)
    except (MalformedMessage, UnknownArm):
        return
    json.dumps(found, allow_nan=False).encode()
    try:
        again = encode(found)
    except Unencodable:  # what a later protocol names
        return
    assert decode(again) == found


ANY_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["type", "content"]) | st.text(), inner)
    ),
    max_leaves=10,
)


@settings(max_examples=200, deadline=None)
@given(st.sampled_from([kind for _, _, kind in EVENTS]), st.data())
def test_any_members_are_written_or_refused(kind, data):
    row = next(row for (_, _, name), row in EVENTS.items() if name == kind)
    names = st.sampled_from([field.name for field in fields(row)])
    sent = {**data.draw(st.dictionaries(names, ANY_JSON, max_size=3)), "type": kind}
    try:
        message = encode(sent)
    except Unencodable:
        return
    decode(message)


# --- frames ---


def test_the_media_type_is_the_binding_s():
    assert CONTENT_TYPE == "application/vnd.ag-ui.event+proto"


def test_a_frame_is_a_length_and_a_message():
    assert frame(b"ab") == b"\0\0\0\2ab"
    assert frame(b"") == bytes(4)


class Huge(bytes):
    def __len__(self):
        return 2**32


def test_a_message_that_no_header_can_announce_is_refused():
    with pytest.raises(Unencodable, match="4294967296 bytes"):
        frame(Huge())


MESSAGES_OF_A_BODY = st.lists(st.binary(max_size=300), max_size=5)


@given(MESSAGES_OF_A_BODY, st.data())
def test_messages_come_out_whole_however_the_body_is_cut(messages, data):
    body = b"".join(map(frame, messages))
    frames, found = Frames(), []
    while body:
        size = data.draw(st.integers(0, len(body)))
        found += frames.feed(body[:size])
        body = body[size:]
        if not size:
            found += frames.feed(body)
            break
    assert found == messages
    assert frames.close() is False


@given(MESSAGES_OF_A_BODY)
def test_every_prefix_byte_by_byte_gives_the_messages_that_are_whole(messages):
    body = b"".join(map(frame, messages))
    ends = [len(b"".join(map(frame, messages[: count + 1]))) for count in range(len(messages))]
    frames, found = Frames(), []
    for end in range(len(body) + 1):
        found += frames.feed(body[end - 1 : end] if end else b"")
        assert found == messages[: sum(whole <= end for whole in ends)]
        assert frames.close() is (end not in [0, *ends])


@pytest.mark.parametrize("size", [1, 3, 1000])
def test_a_frame_over_the_limit_is_named_after_the_messages_before_it(size):
    body = frame(b"a") + frame(b"bc") + frame(b"def") + frame(b"g")
    chunks = [body[start : start + size] for start in range(0, len(body) + size, size)]
    frames, found = Frames(limit=2), []
    with pytest.raises(FrameTooLong, match="3 bytes is announced, at most 2") as refused:
        found.extend(message for chunk in chunks for message in frames.feed(chunk))
    assert found == [b"a", b"bc"]
    assert (refused.value.length, refused.value.limit) == (3, 2)
    for again in (frames.close, lambda: frames.feed(b"x")):
        with pytest.raises(FrameTooLong):
            again()


def test_the_default_limit_is_64_mib():
    assert Frames().feed((64 * 1024 * 1024).to_bytes(4, "big")) == []
    with pytest.raises(FrameTooLong):
        Frames().feed((64 * 1024 * 1024 + 1).to_bytes(4, "big"))


def test_no_more_than_the_unfinished_frame_is_held():
    frames = Frames()
    frames.feed(frame(bytes(1000)) * 1000 + frame(b"rest")[:-1])
    assert len(frames._held) == 7


def test_every_error_is_of_one_kind():
    assert {Unencodable, MalformedMessage, UnknownArm, FrameTooLong} == set(ProtobufError.__subclasses__())
