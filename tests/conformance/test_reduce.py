"""The fold: what a consumer holds after it has read some events."""

from copy import deepcopy

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.documents import events

from conformance.enforce import run_input_shape
from conformance.reduce import Conversation
from conformance.schema import EVENTS
from conformance.shapes import Report


def fold(events, messages=(), state=None):
    conversation = Conversation(messages, state)
    for event in events:
        conversation.apply(event)
    return conversation


def text(kind, message="m", **more):
    return {"type": f"TEXT_MESSAGE_{kind}", "messageId": message, **more}


def call(kind, key="c", **more):
    return {"type": f"TOOL_CALL_{kind}", "toolCallId": key, **more}


def result(key, message, content="ok"):
    return {"type": "TOOL_CALL_RESULT", "messageId": message, "toolCallId": key, "content": content}


def activity(**more):
    return {"type": "ACTIVITY_SNAPSHOT", "messageId": "a", "activityType": "x", "content": {"n": 1}, **more}


def patched(patch, **more):
    return {"type": "ACTIVITY_DELTA", "messageId": "a", "activityType": "y", "patch": patch, **more}


USER = {"id": "u", "role": "user", "content": "hi"}


def test_a_message_grows_by_its_deltas():
    conversation = fold(
        [text("START", role="assistant"), text("CONTENT", delta="He"), text("CONTENT", delta="y"), text("END")]
    )
    assert conversation.messages == [{"id": "m", "role": "assistant", "content": "Hey"}]
    conversation.apply(text("START"))
    conversation.apply(text("CONTENT", delta="!"))
    assert conversation.messages[0]["content"] == "Hey!"


def test_role_name_and_owner_come_from_the_start():
    (message,) = fold([text("START", role="user", name="Ann", subagentRunId="s")]).messages
    assert message == {"id": "m", "role": "user", "content": "", "name": "Ann", "subagentRunId": "s"}


def test_a_call_is_part_of_its_parent_message():
    conversation = fold(
        [
            *(text("START"), text("CONTENT", delta="look"), text("END")),
            call("START", toolCallName="f", parentMessageId="m"),
            *(call("ARGS", delta='{"a":'), call("ARGS", delta="1}"), call("END")),
            result("c", "r"),
        ]
    )
    assistant, tool = conversation.messages
    assert assistant["content"] == "look"
    assert assistant["toolCalls"] == [
        {"id": "c", "type": "function", "function": {"name": "f", "arguments": '{"a":1}'}}
    ]
    assert tool == {"id": "r", "role": "tool", "content": "ok", "toolCallId": "c"}


def test_a_call_makes_the_message_that_text_joins_later():
    conversation = fold(
        [call("START", toolCallName="f", parentMessageId="m"), text("START"), text("CONTENT", delta="x")]
    )
    (message,) = conversation.messages
    assert (message["id"], message["content"], len(message["toolCalls"])) == ("m", "x", 1)


def test_a_call_without_a_usable_parent_makes_its_own_message():
    conversation = fold(
        [call("START", toolCallName="f"), call("START", "d", toolCallName="f", parentMessageId="u")], [USER]
    )
    assert [message["id"] for message in conversation.messages] == ["u", "c", "d"]


def test_a_reopened_call_goes_on():
    start = call("START", toolCallName="f")
    (message,) = fold([start, call("ARGS", delta="{"), call("END"), start, call("ARGS", delta="}")]).messages
    assert [one["function"]["arguments"] for one in message["toolCalls"]] == ["{}"]


def test_results_follow_their_call_in_order_whatever_came_between():
    conversation = fold(
        [
            call("START", "c", toolCallName="f", parentMessageId="m"),
            call("START", "d", toolCallName="f", parentMessageId="m"),
            *(text("START", "later"), result("d", "r1"), result("c", "r2"), result("zz", "r3")),
        ]
    )
    assert [message["id"] for message in conversation.messages] == ["m", "r1", "r2", "later", "r3"]


def test_metadata_merges_key_by_key_onto_what_the_event_builds():
    """read-metadata-merges."""
    conversation = fold(
        [
            text("START", metadata={"a": 1, "b": {"x": 1}}),
            text("END", metadata={"b": {"y": 2}}),
            call("START", toolCallName="f", parentMessageId="m", metadata={"c": 1}),
            call("END", metadata={"c": 2}),
        ]
    )
    assert conversation.messages[0]["metadata"] == {"a": 1, "b": {"y": 2}}
    assert conversation.messages[0]["toolCalls"][0]["metadata"] == {"c": 2}


def test_state_is_replaced_and_patched():
    conversation = fold([{"type": "STATE_DELTA", "delta": [{"op": "add", "path": "/a", "value": 1}]}])
    assert conversation.state == {"a": 1}
    conversation.apply({"type": "STATE_SNAPSHOT", "snapshot": None})
    assert conversation.state is None
    conversation.apply({"type": "STATE_DELTA", "delta": [{"op": "remove", "path": "/zz"}]})
    assert conversation.state is None
    assert conversation.warnings[0].startswith("STATE_DELTA: the patch does not apply")


def test_a_snapshot_of_messages_reconciles_by_id():
    """read-snapshot-reconciles."""
    kept = {"id": "z", "role": "reasoning", "content": "hm"}
    gone = {"id": "g", "role": "assistant", "content": "gone"}
    conversation = fold([activity()], [USER, kept, gone])
    new = {"id": "n", "role": "assistant", "content": "new"}
    changed = {"id": "u", "role": "user", "content": "changed"}
    conversation.apply({"type": "MESSAGES_SNAPSHOT", "messages": [new, changed]})
    assert [message["id"] for message in conversation.messages] == ["u", "z", "a", "n"]
    assert conversation.messages[0]["content"] == "changed"
    other = {"id": "z2", "role": "reasoning", "content": ""}
    conversation.apply({"type": "MESSAGES_SNAPSHOT", "messages": [changed, other]})
    assert [message["id"] for message in conversation.messages] == ["u", "a", "z2"]


def test_text_goes_on_after_a_snapshot():
    conversation = fold([text("START"), text("CONTENT", delta="a")])
    restated = {"id": "m", "role": "assistant", "content": "A"}
    conversation.apply({"type": "MESSAGES_SNAPSHOT", "messages": [restated]})
    conversation.apply(text("CONTENT", delta="b"))
    assert conversation.messages == [{"id": "m", "role": "assistant", "content": "Ab"}]


def test_an_activity_is_replaced_kept_or_patched():
    """read-activity-replace."""
    conversation = fold([activity(metadata={"k": 1}, subagentRunId="s"), activity(content={"n": 9}, replace=False)])
    (message,) = conversation.messages
    assert message == {
        "id": "a",
        "role": "activity",
        "activityType": "x",
        "content": {"n": 1},
        "subagentRunId": "s",
        "metadata": {"k": 1},
    }
    conversation.apply(activity(content={"n": 2}))
    assert message == {"id": "a", "role": "activity", "activityType": "x", "content": {"n": 2}, "metadata": {"k": 1}}
    conversation.apply(patched([{"op": "replace", "path": "/n", "value": 3}], metadata={"l": 2}))
    assert (message["content"], message["activityType"], message["metadata"]) == ({"n": 3}, "y", {"k": 1, "l": 2})
    conversation.apply(patched([{"op": "remove", "path": "/zz"}]))
    assert message["content"] == {"n": 3}
    assert len(conversation.warnings) == 1


def test_an_activity_snapshot_takes_the_place_of_another_message():
    conversation = fold([activity()], [{"id": "a", "role": "assistant", "content": "x", "metadata": {"z": 1}}])
    assert conversation.messages == [{"id": "a", "role": "activity", "activityType": "x", "content": {"n": 1}}]


def test_an_encrypted_value_is_kept_with_what_it_names():
    """read-artefact-stored."""
    conversation = fold(
        [
            {"type": "REASONING_MESSAGE_START", "messageId": "z", "role": "reasoning"},
            {"type": "REASONING_MESSAGE_CONTENT", "messageId": "z", "delta": "hm"},
            {"type": "REASONING_MESSAGE_END", "messageId": "z"},
            call("START", toolCallName="f"),
            {"type": "REASONING_ENCRYPTED_VALUE", "subtype": "message", "entityId": "z", "encryptedValue": "V"},
            {"type": "REASONING_ENCRYPTED_VALUE", "subtype": "tool-call", "entityId": "c", "encryptedValue": "W"},
        ]
    )
    assert conversation.messages[0] == {"id": "z", "role": "reasoning", "content": "hm", "encryptedValue": "V"}
    assert conversation.messages[1]["toolCalls"][0]["encryptedValue"] == "W"


@pytest.mark.parametrize(
    "event",
    [
        text("CONTENT", delta="x"),
        call("ARGS", delta="x"),
        patched([]),
        {"type": "REASONING_ENCRYPTED_VALUE", "subtype": "message", "entityId": "?", "encryptedValue": "V"},
        {"type": "REASONING_ENCRYPTED_VALUE", "subtype": "tool-call", "entityId": "?", "encryptedValue": "V"},
    ],
)
def test_what_names_nothing_known_is_warned_about_and_skipped(event):
    conversation = fold([event], [USER])
    assert conversation.messages == [USER]
    assert len(conversation.warnings) == 1


def test_text_and_patches_cannot_touch_a_message_of_another_kind():
    conversation = fold([activity(), text("CONTENT", "a", delta="x"), patched([], messageId="u")], [USER])
    artefact = {"type": "REASONING_ENCRYPTED_VALUE", "subtype": "message", "entityId": "a", "encryptedValue": "V"}
    conversation.apply(artefact)
    assert len(conversation.warnings) == 3


def test_an_echoed_input_adds_the_messages_that_are_not_held():
    conversation = fold([{"type": "RUN_STARTED", "input": {"messages": [USER, {**USER, "id": "v"}]}}], [USER])
    assert [message["id"] for message in conversation.messages] == ["u", "v"]


def test_events_that_build_nothing_change_nothing():
    conversation = fold(
        [{"type": "CUSTOM", "name": "a.b", "value": 1}, {"type": "STEP_STARTED", "stepName": "s"}], [USER]
    )
    assert conversation.messages == [USER]
    assert conversation.warnings == []


def test_a_growing_message_is_not_copied_at_each_delta():
    conversation = fold([text("START"), *[text("CONTENT", delta="ab")] * 1000])
    (growing,) = conversation._messages
    assert growing["content"] == ""
    assert conversation.messages[0]["content"] == "ab" * 1000


# ---- what names something else than it should ---------------------------------------------------


def test_a_name_comes_with_the_start_that_follows_a_call():
    conversation = fold([call("START", toolCallName="f", parentMessageId="m"), text("START", name="Ann")])
    assert conversation.messages[0]["name"] == "Ann"
    conversation.apply(text("START", name="Bob"))
    assert conversation.messages[0]["name"] == "Ann"


def test_a_message_stays_what_it_is():
    thought = {"id": "m", "role": "reasoning", "content": "hm"}
    conversation = fold([text("START"), text("CONTENT", delta="!")], [thought])
    assert conversation.messages == [{**thought, "content": "hm!"}]
    assert conversation.warnings == [
        "TEXT_MESSAGE_START: 'm' is held as a message of role 'reasoning', and stays one",
    ]


def test_a_text_cannot_open_an_activity():
    conversation = fold([activity(), text("START", "a", metadata={"k": 1}), text("CONTENT", "a", delta="x")])
    assert conversation.messages == [{"id": "a", "role": "activity", "activityType": "x", "content": {"n": 1}}]
    assert len(conversation.warnings) == 2


def test_text_appends_to_what_was_there_where_it_was_a_list_of_parts():
    image = {"type": "image", "source": {"type": "url", "value": "u"}}
    parts = [{"type": "text", "text": "look"}, image]
    conversation = fold(
        [text("START", "u", role="user"), text("CONTENT", "u", delta=" a")], [{**USER, "content": parts}]
    )
    assert conversation.messages[0]["content"] == [*parts, {"type": "text", "text": " a"}]
    conversation.apply(text("CONTENT", "u", delta="b"))
    assert conversation.messages[0]["content"] == [*parts, {"type": "text", "text": " ab"}]
    assert len(parts) == 2
    assert fold([text("CONTENT", "u", delta="x")], [{**USER, "content": []}]).messages[0]["content"] == [
        {"type": "text", "text": "x"}
    ]


def test_an_activity_that_takes_a_growing_messages_place_takes_it_whole():
    conversation = fold([text("START", "a"), text("CONTENT", "a", delta="x"), activity()])
    assert conversation.messages == [{"id": "a", "role": "activity", "activityType": "x", "content": {"n": 1}}]
    kept = fold([text("START", "a"), activity(replace=False, metadata={"k": 1})]).messages
    assert kept == [{"id": "a", "role": "assistant", "content": ""}]


def test_a_result_that_comes_again_restates_its_message():
    conversation = fold([call("START", toolCallName="f"), result("c", "r", "one"), result("c", "r", "two")])
    assert [message["id"] for message in conversation.messages] == ["c", "r"]
    assert conversation.messages[1]["content"] == "two"


def test_a_result_may_have_its_calls_id():
    """The message that was made for the call has no id of its own, so it gives way."""
    conversation = fold([call("START", toolCallName="f"), result("c", "c"), call("START"), call("ARGS", delta="{}")])
    assert [(message["id"], message["role"]) for message in conversation.messages] == [
        ("c:call", "assistant"),
        ("c", "tool"),
    ]
    assert conversation.messages[0]["toolCalls"][0]["function"]["arguments"] == "{}"
    assert conversation.warnings == []


def test_a_result_with_the_id_of_another_message_is_kept_and_warned_about():
    conversation = fold([result("c", "u")], [USER])
    assert [message["role"] for message in conversation.messages] == ["user", "tool"]
    assert conversation.warnings == ["TOOL_CALL_RESULT: 'u' names a message of role 'user' already"]


def test_a_call_whose_parent_is_a_tool_message_gets_a_message_of_its_own():
    """B35: what is held can be sent back, with each call directly followed by its result."""
    conversation = fold(
        [
            *(text("START"), text("CONTENT", delta="look"), text("END")),
            *(call("START", toolCallName="f", parentMessageId="m"), call("END"), result("c", "t1")),
            *(call("START", "d", toolCallName="g", parentMessageId="t1"), call("END", "d"), result("d", "t2")),
            *(text("START", "n"), text("CONTENT", "n", delta="done"), text("END", "n")),
        ],
        [USER],
    )
    assert [(message["id"], message["role"]) for message in conversation.messages] == [
        ("u", "user"),
        *(("m", "assistant"), ("t1", "tool"), ("d", "assistant"), ("t2", "tool"), ("n", "assistant")),
    ]
    assert conversation.warnings == [
        "TOOL_CALL_START: the parent 't1' is a message of role 'tool'; the call gets its own",
    ]
    assert is_sendable(conversation)


def test_a_snapshot_with_the_streamed_ids_leaves_the_order_alone():
    """B36: a result that is restated under another id is a new message, and new messages come last."""
    streamed = [
        *(text("START"), text("END"), call("START", toolCallName="f", parentMessageId="m"), call("END")),
        *(result("c", "t1"), text("START", "n"), text("END", "n")),
    ]
    held = fold(streamed, [USER]).messages
    same = fold([*streamed, {"type": "MESSAGES_SNAPSHOT", "messages": deepcopy(held)}], [USER])
    assert [message["id"] for message in same.messages] == ["u", "m", "t1", "n"]
    renamed = [{**message, "id": "t9"} if message["id"] == "t1" else message for message in held]
    other = fold([*streamed, {"type": "MESSAGES_SNAPSHOT", "messages": renamed}], [USER])
    assert [message["id"] for message in other.messages] == ["u", "m", "n", "t9"]


def test_a_snapshot_with_one_id_twice_keeps_the_last_and_says_so():
    twice = [USER, {**USER, "content": "again"}]
    conversation = fold([{"type": "MESSAGES_SNAPSHOT", "messages": twice}], [USER])
    assert conversation.messages == [{**USER, "content": "again"}]
    assert len(conversation.warnings) == 1


# ---- values --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("state", "patch", "expected"),
    [
        (None, [{"op": "add", "path": "/ns", "value": {"query": "x"}}], {"ns": {"query": "x"}}),
        ({"ns": {}}, [{"op": "add", "path": "/ns/query", "value": "x"}], {"ns": {"query": "x"}}),
        ([1], [{"op": "add", "path": "/-", "value": 2}], [1, 2]),
    ],
)
def test_a_patch_amends_exactly_the_state_of_the_input(state, patch, expected):
    """B47: absent means the empty object."""
    before = deepcopy(state)
    conversation = fold([{"type": "STATE_DELTA", "delta": patch}], state=state)
    assert conversation.state == expected
    assert conversation.warnings == []
    assert state == before


def test_a_patch_of_what_the_consumer_does_not_hold_is_named_with_its_reason():
    """B47."""
    replace = [{"op": "add", "path": "/a", "value": 1}, {"op": "replace", "path": "/ns/query", "value": "x"}]
    conversation = fold([{"type": "STATE_DELTA", "delta": replace}] * 2, state={"b": 1})
    assert conversation.state == {"b": 1}
    assert len(conversation.warnings) == 2
    assert "ns" in conversation.warnings[0]


def test_patches_change_nothing_that_an_event_holds_too():
    snapshot = {"type": "STATE_SNAPSHOT", "snapshot": {"a": [1]}}
    restated = {"id": "a", "role": "activity", "activityType": "x", "content": {"n": 1}}
    stream = [
        snapshot,
        {"type": "STATE_DELTA", "delta": [{"op": "add", "path": "/a/-", "value": {"b": 1}}]},
        {"type": "STATE_DELTA", "delta": [{"op": "add", "path": "/a/1/b", "value": 2}]},
        activity(),
        *[patched([{"op": "add", "path": "/n", "value": 2}])] * 2,
        {"type": "MESSAGES_SNAPSHOT", "messages": [restated]},
        *[patched([{"op": "add", "path": "/n", "value": 3}])] * 2,
        activity(),
        patched([{"op": "add", "path": "/n", "value": 4}]),
    ]
    before = deepcopy(stream)
    conversation = fold(stream)
    assert conversation.state == {"a": [1, {"b": 2}]}
    assert conversation.messages[0]["content"] == {"n": 4}
    assert stream == before


def test_an_activity_stays_an_object():
    add, root = {"op": "add", "path": "/m", "value": 2}, {"op": "replace", "path": "", "value": [1]}
    conversation = fold([activity(), patched([add]), patched([{**add, "value": 3}, root])])
    assert conversation.messages[0]["content"] == {"n": 1, "m": 2}
    assert len(conversation.warnings) == 1


def test_an_encrypted_value_takes_its_type_with_it():
    """1.1: an old type left on a new value would mislabel it."""
    artefact = {"type": "REASONING_ENCRYPTED_VALUE", "subtype": "message", "entityId": "u", "encryptedValue": "V"}
    conversation = fold([{**artefact, "encryptedValueType": "x.y"}], [USER])
    assert conversation.messages == [{**USER, "encryptedValue": "V", "encryptedValueType": "x.y"}]
    conversation.apply({**artefact, "encryptedValue": "W"})
    assert conversation.messages == [{**USER, "encryptedValue": "W"}]


def test_an_echoed_input_gives_the_state_where_none_is_known():
    echo = {"type": "RUN_STARTED", "input": {"messages": [], "state": {"a": 1}}}
    assert fold([echo]).state == {"a": 1}
    assert fold([echo], state={"b": 1}).state == {"b": 1}
    assert fold([{"type": "STATE_SNAPSHOT", "snapshot": 0}, echo]).state == 0
    assert fold([{"type": "RUN_STARTED", "input": {"messages": []}}]).state == {}


def test_warnings_go_to_who_asks_for_them():
    said = []
    conversation = Conversation(warn=said.append)
    conversation.apply(text("CONTENT", delta="x"))
    assert said == ["TEXT_MESSAGE_CONTENT: no message 'm' to continue"]
    assert conversation.warnings == []


# ---- whatever comes ------------------------------------------------------------------------------

NAMES = ("messageId", "toolCallId", "parentMessageId", "entityId", "id")
WHOLE = [kind for kind in EVENTS["1.1"].options if not kind.endswith("_CHUNK")]


def with_few_names(value):
    """The same with all identifiers out of three, so that events meet."""
    if isinstance(value, dict):
        return {
            key: "abc"[len(inner) % 3] if key in NAMES and isinstance(inner, str) else with_few_names(inner)
            for key, inner in value.items()
        }
    return [with_few_names(inner) for inner in value] if isinstance(value, list) else value


def is_sendable(conversation):
    """What is held passes as the messages of a run input."""
    report = Report()
    run_input = {"threadId": "t", "runId": "r", "messages": conversation.messages}
    run_input_shape("1.1").hold(run_input, (), report)
    return report.deviations == []


@settings(max_examples=300, deadline=None)
@given(st.lists(events(*WHOLE).map(with_few_names), max_size=8), st.data())
def test_whatever_comes_what_is_held_can_be_sent_back(stream, data):
    before = deepcopy(stream)
    conversation, seldom = Conversation(), Conversation()
    for event in stream:
        conversation.apply(event)
        seldom.apply(event)
        if data.draw(st.booleans()):
            assert is_sendable(conversation)
    assert is_sendable(seldom)
    assert seldom.messages == conversation.messages
    assert stream == before
