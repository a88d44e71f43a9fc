"""Retired shapes are translated, whoever sends them; older peers get what they can read."""

from copy import deepcopy

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.documents import broken, events

from conformance.compatibility import (
    MEDIA,
    NULLS,
    Boundary,
    declared_version,
    for_peer,
    modernised,
    pinned_version,
)
from conformance.schema import EVENTS
from conformance.shapes import Nulls, Report

RS = {"type": "RUN_STARTED", "threadId": "t", "runId": "r"}
RF = {"type": "RUN_FINISHED", "threadId": "t", "runId": "r"}
BINARY = {"type": "binary", "mimeType": "image/png", "url": "https://example.com/a.png"}
IMAGE = {"type": "image", "source": {"type": "url", "value": "https://example.com/a.png", "mimeType": "image/png"}}
TEXT = {"type": "text", "text": "look"}
FILE = {"type": "document", "source": {"type": "file", "value": "f-1"}}


def translate(*events, peer=None):
    said = []
    boundary = Boundary(lambda sentence, key: said.append((sentence, key)), peer and pinned_version(peer))
    return [after for before in events for after in boundary(before)], said


def user(*content, **more):
    return {"id": "u", "role": "user", "content": list(content), **more}


# ---- versions ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "version"),
    [("1.0", (1, 0)), ("1.10", (1, 10)), ("draft", None), ("1", None), ("1.0.0", None), ("1.0\n", None), ("", None)],
)
def test_a_declaration_is_major_and_minor(text, version):
    assert declared_version(text) == version


def test_versions_compare_by_number():
    assert declared_version("1.10") > declared_version("1.9") > pinned_version("0.0.57") > pinned_version("0.0.39")


@pytest.mark.parametrize("text", ["", "1", "v1.0", "1.0-beta", "0.0.x", "1."])
def test_a_pin_that_is_no_version_is_the_developers_mistake(text):
    with pytest.raises(ValueError, match="numbers between dots"):
        pinned_version(text)


# ---- what older producers send -------------------------------------------------------------------


def test_todays_shapes_pass_as_they_are():
    stream = [{**RS, "input": {"threadId": "t", "runId": "r", "messages": [user(IMAGE, TEXT)]}}, RF]
    after, said = translate(*stream)
    assert all(one is other for one, other in zip(after, stream, strict=True))
    assert said == []


@pytest.mark.parametrize("value", [None, 5, "RUN_STARTED", [RS], {}, {"type": 5}, {"type": ["RUN_STARTED"]}])
def test_what_is_no_event_passes_for_enforcement_to_judge(value):
    assert translate(value) == ([value], [])
    assert translate(value, peer="0.0.39") == ([value], [])


def test_thinking_became_reasoning():
    after, said = translate(
        RS,
        {"type": "THINKING_START", "title": "Working", "timestamp": 5},
        {"type": "THINKING_TEXT_MESSAGE_START"},
        {"type": "THINKING_TEXT_MESSAGE_CONTENT", "delta": "hm"},
        {"type": "THINKING_TEXT_MESSAGE_END"},
        {"type": "THINKING_TEXT_MESSAGE_START"},
        {"type": "THINKING_TEXT_MESSAGE_END"},
        {"type": "THINKING_END"},
    )
    assert after[1:] == [
        {"type": "REASONING_START", "messageId": "r:thinking:1", "timestamp": 5},
        {"type": "REASONING_MESSAGE_START", "messageId": "r:thinking:2", "role": "reasoning"},
        {"type": "REASONING_MESSAGE_CONTENT", "messageId": "r:thinking:2", "delta": "hm"},
        {"type": "REASONING_MESSAGE_END", "messageId": "r:thinking:2"},
        {"type": "REASONING_MESSAGE_START", "messageId": "r:thinking:3", "role": "reasoning"},
        {"type": "REASONING_MESSAGE_END", "messageId": "r:thinking:3"},
        {"type": "REASONING_END", "messageId": "r:thinking:1"},
    ]
    assert said[0] == ("the title 'Working' of THINKING_START is left out: REASONING_START has no place for it", None)
    assert said[1] == ("THINKING_START is retired, and read as REASONING_START", ("THINKING_START", "retired"))


def test_thinking_that_nothing_opened_stays_unopened():
    after, _ = translate(
        RS,
        {"type": "THINKING_TEXT_MESSAGE_CONTENT", "delta": "hm"},
        {"type": "THINKING_TEXT_MESSAGE_END"},
        {"type": "THINKING_END"},
    )
    assert [event["messageId"] for event in after[1:]] == ["r:thinking:1", "r:thinking:2", "r:thinking:3"]


def test_a_new_run_thinks_anew():
    after, _ = translate(RS, {"type": "THINKING_START"}, {**RS, "runId": "q"}, {"type": "THINKING_END"})
    assert after[-1] == {"type": "REASONING_END", "messageId": "q:thinking:2"}


@pytest.mark.parametrize(("kind", "steps"), [(kind, steps) for kind, paths in NULLS.items() for steps in paths])
def test_each_retired_null_is_read_as_absent(kind, steps):
    inner = None
    for depth in range(len(steps), 0, -1):
        inner = {steps[depth - 1]: inner} if isinstance(steps[depth - 1], str) else [inner, {"kept": None}]
    (after,), said = translate({"type": kind, **inner})
    assert steps[-1] not in str(after)
    assert len(said) == 1
    assert kind in said[0][0]


@pytest.mark.parametrize("name", ["rawEvent", "subagentRunId"])
def test_two_nulls_are_retired_on_any_event(name):
    event = {"type": "STEP_STARTED", "stepName": "s"}
    assert translate({**event, name: None})[0] == [event]


def test_every_other_null_is_left_for_enforcement():
    """B52: a null is data inside state and metadata, and malformed in a field that never tolerated it."""
    stream = [
        {**RS, "metadata": None},
        {"type": "TEXT_MESSAGE_START", "messageId": "m", "name": None},
        {"type": "STATE_SNAPSHOT", "snapshot": {"rawEvent": None}},
        {**RF, "usage": None},
        {"type": "CUSTOM", "name": "a.b", "value": None},
    ]
    assert translate(*stream) == (stream, [])


@pytest.mark.parametrize(
    ("mime_type", "media"),
    [("image/png", "image"), ("audio/mp3", "audio"), ("video/mp4", "video"), ("application/pdf", "document")],
)
def test_a_binary_part_became_media(mime_type, media):
    after = modernised({"messages": [user(TEXT, {"type": "binary", "mimeType": mime_type, "data": "AA", "url": "u"})]})
    source = {"type": "data", "value": "AA", "mimeType": mime_type}
    assert after == {"messages": [user(TEXT, {"type": media, "source": source})]}


def test_a_binary_part_keeps_its_file_name():
    after = modernised({"messages": [user({**BINARY, "data": "", "filename": "a.png"})]})
    assert after == {"messages": [user({**IMAGE, "metadata": {"filename": "a.png"}})]}


@pytest.mark.parametrize(
    "part",
    [{"type": "binary", "mimeType": "image/png", "id": "a-1"}, {"type": "binary", "data": "AA"}, TEXT, "x", None],
)
def test_a_part_without_a_modern_form_stays_as_it_is(part):
    run_input = {"messages": [user(part)]}
    assert modernised(run_input) is run_input


def test_a_malformed_payload_is_not_repaired():
    after = modernised({"messages": [user({**BINARY, "data": 42})]})
    assert after["messages"][0]["content"][0]["source"]["value"] == 42


@pytest.mark.parametrize("value", [None, [], {"messages": 5}, {"messages": [5, {"content": "x"}, {"content": {}}]}])
def test_what_has_no_parts_has_none_to_translate(value):
    assert modernised(value) is value


def test_whole_messages_in_events_are_translated_with_a_warning():
    snapshot = {"type": "MESSAGES_SNAPSHOT", "messages": [user(BINARY, {**IMAGE, "metadata": None}, {"type": []})]}
    (after,), said = translate(snapshot)
    assert after == {"type": "MESSAGES_SNAPSHOT", "messages": [user(IMAGE, IMAGE, {"type": []})]}
    assert len(said) == 2
    (after,), _ = translate({**RS, "input": {"messages": [user(BINARY)]}})
    assert after == {**RS, "input": {"messages": [user(IMAGE)]}}


def test_metadata_of_media_alone_may_be_null():
    """A text part has had metadata for no longer than nulls have been malformed."""
    assert {"image", "audio", "video", "document"} == MEDIA
    snapshot = {"type": "MESSAGES_SNAPSHOT", "messages": [user({**TEXT, "metadata": None})]}
    assert translate(snapshot) == ([snapshot], [])


def test_a_peer_pinned_before_subagents_has_none():
    tagged = {"subagentRunId": "s"}
    message = {"id": "m", "role": "assistant", "content": "x"}
    stream = [
        {**RS, "input": {"messages": [{**message, **tagged}]}},
        {"type": "SUBAGENT_STARTED", "name": "n", **tagged},
        {"type": "TEXT_MESSAGE_START", "messageId": "m", **tagged},
        {"type": "MESSAGES_SNAPSHOT", "messages": [{**message, **tagged}, 5]},
        {"type": "SUBAGENT_ERROR", "message": "no", **tagged},
        {**RF, "outcome": {"type": "interrupt", "interrupts": [{"id": "i", "reason": "x", **tagged}]}},
    ]
    after, said = translate(*stream, peer="0.0.57")
    assert after == [
        {**RS, "input": {"messages": [message]}},
        {"type": "TEXT_MESSAGE_START", "messageId": "m"},
        {"type": "MESSAGES_SNAPSHOT", "messages": [message, 5]},
        {**RF, "outcome": {"type": "interrupt", "interrupts": [{"id": "i", "reason": "x"}]}},
    ]
    assert [sentence.split()[0] for sentence, _ in said] == ["SUBAGENT_STARTED", "SUBAGENT_ERROR"]
    assert translate(*stream, peer="0.0.58") == (stream, [])


# ---- what older producers are sent ---------------------------------------------------------------

INPUT = {
    "threadId": "t",
    "runId": "r",
    "protocolVersion": "1.1",
    "parentRunId": "p",
    "messages": [
        {"id": "a", "role": "assistant", "subagentRunId": "s"},
        user(TEXT, IMAGE, {"type": "text", "text": "!"}),
        user(FILE),
        {"id": "t", "role": "tool", "toolCallId": "c", "content": [TEXT, IMAGE]},
    ],
}


def sent(peer):
    said = []
    before = deepcopy(INPUT)
    document = for_peer(INPUT, pinned_version(peer), said.append)
    assert before == INPUT
    return document, said


def test_a_current_peer_gets_everything():
    document, said = sent("1.0")
    assert document is INPUT
    assert said == []


def test_a_peer_from_before_1_0_gets_no_version_no_handles_and_results_as_text():
    document, said = sent("0.0.59")
    assert "protocolVersion" not in document
    assert document["parentRunId"] == "p"
    assert document["messages"] == [
        INPUT["messages"][0],
        INPUT["messages"][1],
        user(),
        {"id": "t", "role": "tool", "toolCallId": "c", "content": "look"},
    ]
    assert said == [
        "message 'u' is sent without its document part: the peer, AG-UI 0.0.59, reads no provider's file handles",
        "message 't' is sent without its image part: the peer, AG-UI 0.0.59, reads text only",
    ]


def test_a_peer_from_before_subagents_gets_no_attribution():
    assert sent("0.0.57")[0]["messages"][0] == {"id": "a", "role": "assistant"}


def test_a_peer_from_before_parts_gets_text():
    document, said = sent("0.0.39")
    assert "parentRunId" not in document
    assert [message["content"] for message in document["messages"]] == ["", "look!", "", "look"]
    assert [sentence.partition(":")[0] for sentence in said] == [
        "message 'u' is sent without its image part",
        "message 'u' is sent without its document part",
        "message 't' is sent without its image part",
    ]


@settings(max_examples=300, deadline=None)
@given(st.data(), st.sampled_from([None, "0.0.39", "1.0"]))
def test_a_translation_repairs_nothing_but_retired_nulls(data, peer):
    event = data.draw(broken(data.draw(events())))
    before = deepcopy(event)
    after, _ = translate(event, peer=peer)
    assert event == before
    for one in after:
        assert malformed(one) == malformed(event)


def malformed(event):
    report = Report(nulls=Nulls.ABSENT)
    EVENTS["1.1"].hold(event, (), report)
    return [one.path for one in report.malformed]
