"""The fold: what a consumer holds after it has read some events."""

import pytest

from conformance.reduce import Conversation


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
