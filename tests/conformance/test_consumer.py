"""The consumer: what an application gets of a stream, what is kept from it, and when the stream is refused."""

import contextlib
import doctest
from copy import deepcopy

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.documents import broken, events
from support.near_valid import RUN_INPUT, near_valid

from conformance import consumer as module
from conformance.consumer import Consumer, Ending, StreamRejected
from conformance.enforce import Enforcement
from conformance.request import request

RS = {"type": "RUN_STARTED", "threadId": "t", "runId": "r", "protocolVersion": "1.0"}
RF = {"type": "RUN_FINISHED", "threadId": "t", "runId": "r"}
USER = {"id": "u", "role": "user", "content": "hi"}
INPUT = {"threadId": "t", "runId": "r", "messages": [USER], "state": {"n": 1}}


def text(kind, message="m", **more):
    return {"type": f"TEXT_MESSAGE_{kind}", "messageId": message, **more}


def call(kind, key="c", **more):
    return {"type": f"TOOL_CALL_{kind}", "toolCallId": key, **more}


def thought(kind, message="z", **more):
    return {"type": f"REASONING_{kind}", "messageId": message, **more}


def whole(message="m", delta="x"):
    return [text("START", message), text("CONTENT", message, delta=delta), text("END", message)]


def whole_call(key="c", name="f"):
    return [call("START", key, toolCallName=name), call("ARGS", key, delta="{}"), call("END", key)]


def result(key, message):
    return {"type": "TOOL_CALL_RESULT", "messageId": message, "toolCallId": key, "content": "ok"}


def artefact(**more):
    kind = "REASONING_ENCRYPTED_VALUE"
    return {"type": kind, "subtype": "message", "entityId": "m", "encryptedValue": "V", **more}


def finished(**outcome):
    return {**RF, "outcome": outcome}


def read(*stream, **options):
    consumer = Consumer(options.pop("run_input", None), **options)
    return consumer, list(consumer.read(stream))


def refused(*stream, **options):
    """Why a stream is refused, and at which event."""
    with pytest.raises(StreamRejected) as caught:
        read(*stream, **options)
    return caught.value.rules, caught.value.index


def accepted(stream, **options):
    """A consumer, and what it delivered up to the end or to where it refused the stream."""
    consumer, delivered = Consumer(**options), []
    with contextlib.suppress(StreamRejected):
        delivered += consumer.read(stream)
    return consumer, delivered


def types(delivered):
    return [event["type"] for event in delivered]


def test_the_example_holds():
    assert doctest.testmod(module).failed == 0


# ---- the pipeline --------------------------------------------------------------------------------


def test_clean_events_are_delivered_as_they_came():
    """Without a copy."""
    stream = [RS, *whole(), RF]
    _, delivered = read(*stream)
    assert all(one is other for one, other in zip(delivered, stream, strict=True))


def test_the_stages_stand_in_their_order():
    """read-order: middleware sees what the boundary made, chunks, and unknown material; the application sees none."""
    seen = []

    def watch(event):
        seen.append(event)
        return (event,)

    consumer, delivered = read(
        RS,
        {"type": "THINKING_START"},
        {"type": "THINKING_END"},
        {"type": "TEXT_MESSAGE_CHUNK", "messageId": "m", "delta": "x", "shiny": 1},
        {"type": "FUTURE_EVENT"},
        RF,
        middleware=[watch],
    )
    assert types(seen) == [
        *("RUN_STARTED", "REASONING_START", "REASONING_END", "TEXT_MESSAGE_CHUNK", "FUTURE_EVENT", "RUN_FINISHED")
    ]
    assert seen[3]["shiny"] == 1
    assert types(delivered) == [
        *("RUN_STARTED", "REASONING_START", "REASONING_END"),
        *("TEXT_MESSAGE_START", "TEXT_MESSAGE_CONTENT", "TEXT_MESSAGE_END", "RUN_FINISHED"),
    ]
    assert "shiny" not in delivered[4]
    assert len(consumer.warnings) == 4


def test_middleware_translates_drops_and_multiplies_one_after_the_other():
    def shout(event):
        return [{**event, "delta": event["delta"].upper()} if "delta" in event else event]

    def twice(event):
        return [event, event] if event["type"] == "TEXT_MESSAGE_CONTENT" else [event]

    def no_steps(event):
        return [] if event["type"].startswith("STEP") else [event]

    step = {"type": "STEP_STARTED", "stepName": "s"}
    consumer, delivered = read(RS, step, *whole(), RF, middleware=[shout, twice, no_steps])
    assert consumer.messages[0]["content"] == "XX"
    assert "STEP_STARTED" not in types(delivered)


def test_what_middleware_makes_is_enforced_like_what_came():
    def spoil(event):
        return [{**event, "messageId": 5} if "messageId" in event else event]

    assert refused(RS, *whole(), RF, middleware=[spoil]) == (("event-described",), 1)


def test_chunks_and_whole_items_come_to_the_same():
    chunks = [
        {"type": "TEXT_MESSAGE_CHUNK", "messageId": "m", "delta": "a", "metadata": {"k": 1}},
        {"type": "TEXT_MESSAGE_CHUNK", "delta": "b", "metadata": {"k": 2}},
        {"type": "TOOL_CALL_CHUNK", "toolCallId": "c", "toolCallName": "f", "parentMessageId": "m", "delta": "{}"},
        {"type": "REASONING_MESSAGE_CHUNK", "messageId": "z", "delta": "hm"},
    ]
    triads = [
        text("START", metadata={"k": 1}),
        text("CONTENT", delta="a"),
        text("CONTENT", delta="b", metadata={"k": 2}),
        text("END"),
        call("START", toolCallName="f", parentMessageId="m"),
        *(call("ARGS", delta="{}"), call("END")),
        *(thought("MESSAGE_START", role="reasoning"), thought("MESSAGE_CONTENT", delta="hm"), thought("MESSAGE_END")),
    ]
    assert read(RS, *chunks, RF)[0].messages == read(RS, *triads, RF)[0].messages


# ---- unknown and malformed -----------------------------------------------------------------------


def test_unknown_material_is_named_once_where_it_may_come_with_every_token():
    """read-unknown-member, read-unknown-event."""
    consumer, delivered = read(
        RS,
        text("START", role="oracle"),
        *[text("CONTENT", delta="x", shiny=1)] * 3,
        text("END"),
        *[{"type": "FUTURE_EVENT"}] * 2,
        artefact(subtype="dream"),
        RF,
    )
    assert consumer.warnings == [
        "event 1: /role of TEXT_MESSAGE_START was removed as unknown to AG-UI 1.1",
        "event 2: /shiny of TEXT_MESSAGE_CONTENT was removed as unknown to AG-UI 1.1",
        "event 6: FUTURE_EVENT was dropped as unknown to AG-UI 1.1",
        "event 8: REASONING_ENCRYPTED_VALUE was dropped for its /subtype, 'dream', as unknown to AG-UI 1.1",
    ]
    assert types(delivered) == [
        "RUN_STARTED",
        *types(whole())[:2],
        *types(whole())[1:2] * 2,
        *types(whole())[2:],
        RF["type"],
    ]
    assert consumer.messages == [{"id": "m", "role": "assistant", "content": "xxx"}]


def test_each_unknown_operation_of_a_patch_is_warned_about():
    """read-unknown-op: the rest of the patch applies."""
    merge = {"op": "merge", "path": "/n", "value": 1}
    add = {"op": "add", "path": "/n", "value": 5, "note": "kept"}
    consumer, delivered = read(RS, *[{"type": "STATE_DELTA", "delta": [merge, add]}] * 2, RF, run_input=INPUT)
    assert consumer.state == {"n": 5}
    assert delivered[1] == {"type": "STATE_DELTA", "delta": [add]}
    assert [warning.split()[2] for warning in consumer.warnings] == ["/delta/0"] * 2


def test_open_objects_keep_their_members():
    """read-open-objects, read-custom-ignored."""
    stream = [
        {**RS, "metadata": {"a": None}, "rawEvent": {"type": 5, "x": [None]}},
        {"type": "CUSTOM", "name": "nobody.knows", "value": {"y": None}},
        {"type": "RAW", "event": {"type": "RUN_ERROR"}},
        RF,
    ]
    consumer, delivered = read(*stream)
    assert delivered == stream
    assert consumer.warnings == []
    assert consumer.ending is Ending.SUCCEEDED


@pytest.mark.parametrize(
    ("event", "rule", "words"),
    [
        (text("CONTENT", delta=42), "event-described", "a string at /delta, found the number 42"),
        (text("START", name=None), "absent-not-null", "a string, or no such field at /name, found null"),
        (text("START", metadata=None), "absent-not-null", "an object, or no such field at /metadata, found null"),
        ({"type": "TEXT_MESSAGE_START"}, "event-described", "a string at /messageId, found nothing"),
        (thought("MESSAGE_START", role="assistant"), "event-described", "'reasoning' at /role, found 'assistant'"),
        ({**RF, "usage": [{"inputTokens": 1.5}]}, "event-described", "at /usage/0/inputTokens, found the number 1.5"),
        ({"type": "STATE_DELTA", "delta": [{"op": "add"}]}, "event-described", "a JSON Pointer at /delta/0/path"),
        ({"type": "STEP_STARTED", "stepName": "s", "timestamp": 1e300}, "event-described", "/timestamp"),
        ("RUN_FINISHED", "event-described", "an object at the root, found 'RUN_FINISHED'"),
        ({"type": None}, "event-described", "at /type, found null"),
    ],
)
def test_a_malformed_known_field_is_fatal(event, rule, words):
    """B52, read-malformed-fatal: nothing is coerced, and the message says where."""
    with pytest.raises(StreamRejected) as caught:
        read(RS, event)
    assert caught.value.rules[0] == rule
    assert caught.value.index == 1
    assert words in str(caught.value)


def test_what_older_producers_always_sent_is_no_malformed_value():
    """B52: these nulls, an empty delta, a required null and whole numbers in any spelling."""
    consumer, delivered = read(
        {**RS, "parentRunId": None, "input": None, "timestamp": 1.7e12},
        text("START", rawEvent=None, subagentRunId=None),
        text("CONTENT", delta=""),
        text("END"),
        {"type": "STATE_SNAPSHOT", "snapshot": None},
        {**RF, "result": None, "outcome": None},
    )
    assert consumer.ending is Ending.SUCCEEDED
    assert all(None not in event.values() for event in delivered if event["type"] != "STATE_SNAPSHOT")
    assert len(consumer.warnings) == 6


def test_a_consumer_of_1_0_does_not_know_what_1_1_added():
    stream = [RS, *whole(), artefact(encryptedValueType="x.y"), RF]
    consumer, _ = read(*stream)
    assert consumer.messages[0]["encryptedValueType"] == "x.y"
    assert consumer.warnings == []
    older, _ = read(*stream, protocol="1.0")
    assert older.messages[0] == {"id": "m", "role": "assistant", "content": "x", "encryptedValue": "V"}
    assert [warning.split()[2] for warning in older.warnings] == ["/encryptedValueType"]


# ---- order ---------------------------------------------------------------------------------------

REFUSED = {
    "content of the span's id (B44)": (
        "reasoning-message-pairs",
        [thought("START"), thought("MESSAGE_CONTENT", delta="x")],
    ),
    "an end without a start (B44)": ("reasoning-span-pairs", [thought("END")]),
    "a span left open (B44)": ("run-items-closed", [thought("START"), RF]),
    "a message left open (B44)": ("run-items-closed", [text("START"), thought("START"), thought("END"), RF]),
    "a start, then a chunk (B01)": (
        "chunk-not-mixed",
        [text("START"), {"type": "TEXT_MESSAGE_CHUNK", "messageId": "m", "delta": "a"}],
    ),
    "a nested run": ("run-not-nested", [RS]),
    "another thread": ("run-thread-echoed", [{**RF, "threadId": "x"}]),
    "two interrupts of one id": (
        "interrupt-ids-unique",
        [finished(type="interrupt", interrupts=[{"id": "i", "reason": "x"}] * 2)],
    ),
    "a continuation of another's": ("owner-agrees", [text("START"), text("CONTENT", delta="x", subagentRunId="s")]),
    "an artefact of another's": ("owner-agrees", [*whole(), artefact(subagentRunId="s")]),
    "a message reopened by another": ("reopen-agrees", [*whole(), text("START", subagentRunId="s")]),
    "a call reopened under another's message": (
        "reopen-agrees",
        [
            *(text("START", "o", subagentRunId="s"), text("END", "o"), *whole(), *whole_call()),
            call("START", toolCallName="f", parentMessageId="o"),
        ],
    ),
    "an unknown parent of a subagent": (
        "subagent-parent-known",
        [{"type": "SUBAGENT_STARTED", "subagentRunId": "s", "name": "n", "parentSubagentRunId": "z"}],
    ),
}


@pytest.mark.parametrize(("rule", "stream"), REFUSED.values(), ids=REFUSED)
def test_a_stream_that_breaks_the_order_is_refused_at_its_last_event(rule, stream):
    (first, *_), index = refused(RS, *stream)
    assert (first, index) == (rule, len(stream))


def test_reasoning_that_is_balanced_is_read():
    """B44: an empty block too, and an error closes everything."""
    block = [thought("START"), thought("MESSAGE_START", role="reasoning"), thought("MESSAGE_END"), thought("END")]
    consumer, _ = read(RS, *block, thought("START"), {"type": "RUN_ERROR", "message": "no"})
    assert consumer.ending is Ending.FAILED
    assert consumer.messages == [{"id": "z", "role": "reasoning", "content": ""}]


ACTIVITY = {"type": "ACTIVITY_SNAPSHOT", "messageId": "a", "activityType": "x", "content": {"n": 1}}

TOLERATED = {
    "a delta for no activity": {"type": "ACTIVITY_DELTA", "messageId": "x", "activityType": "y", "patch": []},
    "another role at a reopening": text("START", role="user"),
    "another tool at a reopening": call("START", toolCallName="g"),
    "an announcement that comes late": {"type": "SUBAGENT_STARTED", "subagentRunId": "s", "name": "n"},
    "another owner of an activity that stays": {**ACTIVITY, "content": {}, "replace": False, "subagentRunId": "s"},
    "a wrong list of pending calls": finished(type="success", pendingToolCallIds=["z"]),
}


@pytest.mark.parametrize("event", TOLERATED.values(), ids=TOLERATED)
def test_what_a_consumer_need_not_reject_is_warned_about_and_read(event):
    custom = {"type": "CUSTOM", "name": "a.b", "value": 1, "subagentRunId": "s"}
    consumer = Consumer()
    for one in [RS, *whole(), *whole_call(), ACTIVITY, custom, event]:
        consumer.feed(one)
    assert len(consumer.warnings) == 1
    assert [message["id"] for message in consumer.messages] == ["m", "c", "a"]
    assert (consumer.messages[0]["role"], consumer.messages[2]["content"]) == ("assistant", {"n": 1})
    assert consumer.messages[1]["toolCalls"][0]["function"]["name"] == "f"


def test_a_reopening_without_a_tag_is_no_disagreement():
    stream = [
        *(text("START", subagentRunId="s"), text("END"), text("START"), text("END")),
        *(
            call("START", toolCallName="f", subagentRunId="s"),
            call("END"),
            call("START", toolCallName="f"),
            call("END"),
        ),
    ]
    consumer, _ = read(RS, *stream, RF)
    assert consumer.warnings == []


def test_an_activity_of_the_input_may_be_amended():
    held = {"id": "a", "role": "activity", "activityType": "x", "content": {"n": 1}}
    delta = {"type": "ACTIVITY_DELTA", "messageId": "a", "activityType": "x", "patch": [{"op": "remove", "path": "/n"}]}
    consumer, _ = read(RS, delta, RF, run_input={**INPUT, "messages": [held]})
    assert consumer.messages == [{**held, "content": {}}]
    assert consumer.warnings == []


def test_a_refused_stream_is_read_no_further():
    consumer = Consumer()
    consumer.feed(RS)
    consumer.feed(text("START"))
    with pytest.raises(StreamRejected) as first:
        consumer.feed(text("START"))
    with pytest.raises(StreamRejected) as second:
        consumer.feed(RF)
    assert second.value is first.value
    assert first.value.breaches[0].expected == "text message 'm' closed before it is opened again"
    assert first.value.event == text("START")
    assert consumer.close() is Ending.REJECTED
    assert consumer.messages == [{"id": "m", "role": "assistant", "content": ""}]


def test_an_event_is_taken_as_a_whole_or_not_at_all():
    """What ends with a refused event has not ended."""
    consumer = Consumer()
    for event in [RS, {"type": "TEXT_MESSAGE_CHUNK", "messageId": "m", "delta": "x"}]:
        consumer.feed(event)
    with pytest.raises(StreamRejected):
        consumer.feed({"type": "STEP_FINISHED", "stepName": "s"})
    assert consumer.messages == [{"id": "m", "role": "assistant", "content": "x"}]


# ---- endings -------------------------------------------------------------------------------------

INTERRUPTS = [{"id": "i", "reason": "approval", "toolCallId": "c"}]
USAGE = [{"provider": "a", "model": "b", "inputTokens": 5}]
ERROR = {"type": "RUN_ERROR", "message": "no", "code": "X"}

ENDINGS = {
    "nothing yet": ([], Ending.NOT_STARTED, Ending.TRUNCATED),
    "a run": ([RS], Ending.RUNNING, Ending.TRUNCATED),
    "no outcome": ([RS, RF], Ending.SUCCEEDED, Ending.SUCCEEDED),
    "success": ([RS, finished(type="success")], Ending.SUCCEEDED, Ending.SUCCEEDED),
    "interrupt": ([RS, finished(type="interrupt", interrupts=INTERRUPTS)], Ending.INTERRUPTED, Ending.INTERRUPTED),
    "cancelled": ([RS, finished(type="cancelled")], Ending.CANCELLED, Ending.CANCELLED),
    "an unknown outcome": ([RS, finished(type="paused")], Ending.SUCCEEDED, Ending.SUCCEEDED),
    "an error": ([RS, ERROR], Ending.FAILED, Ending.FAILED),
    "an error first": ([ERROR], Ending.FAILED, Ending.FAILED),
    "a late error": ([RS, RF, ERROR], Ending.FAILED, Ending.FAILED),
    "a second run": ([RS, RF, {**RS, "runId": "q"}], Ending.RUNNING, Ending.TRUNCATED),
    "a run after an error": ([RS, ERROR, RS, RF], Ending.SUCCEEDED, Ending.SUCCEEDED),
}


@pytest.mark.parametrize(("stream", "before", "after"), ENDINGS.values(), ids=ENDINGS)
def test_a_run_ends_in_one_way(stream, before, after):
    """read-cancelled-apart, read-truncated."""
    consumer = Consumer()
    delivered = [one for event in stream for one in consumer.feed(event)]
    assert consumer.ending is before
    assert consumer.close() is after
    assert consumer.close() is after
    assert types(delivered) == types(stream)


def test_a_closed_stream_takes_nothing_more():
    consumer, _ = read(RS, RF)
    with pytest.raises(RuntimeError, match="a Consumer of its own"):
        consumer.feed(RS)


def test_a_reader_that_leaves_has_a_truncated_run():
    consumer = Consumer()
    reading = consumer.read([RS, *whole(), RF])
    assert next(reading) == RS
    reading.close()
    assert consumer.ending is Ending.TRUNCATED


def test_a_connection_that_dies_leaves_a_truncated_run():
    def dying():
        yield RS
        raise ConnectionResetError

    consumer = Consumer()
    with pytest.raises(ConnectionResetError):
        list(consumer.read(dying()))
    assert consumer.ending is Ending.TRUNCATED


def test_what_a_run_says_of_itself_is_that_runs_alone():
    """B79: usage is the run's own, an absent count is not zero, and every ending may carry it."""
    consumer = Consumer()
    assert (consumer.run_id, consumer.result, consumer.usage, consumer.error) == (None, None, [], None)
    for event in [RS, {**finished(type="interrupt", interrupts=INTERRUPTS), "usage": USAGE}]:
        consumer.feed(event)
    assert (consumer.run_id, consumer.interrupts, consumer.usage) == ("r", INTERRUPTS, USAGE)
    assert "outputTokens" not in consumer.usage[0]
    consumer.feed({**RS, "runId": "q"})
    assert (consumer.run_id, consumer.interrupts, consumer.usage) == ("q", [], [])
    consumer.feed({**RF, "runId": "q", "result": [1], "usage": [{"model": "c"}]})
    assert (consumer.result, consumer.usage) == ([1], [{"model": "c"}])
    consumer.feed(ERROR)
    assert (consumer.error, consumer.usage) == (ERROR, [{"model": "c"}])
    consumer.feed(RS)
    assert consumer.error is None
    consumer.feed({**ERROR, "usage": USAGE})
    assert consumer.usage == USAGE


@pytest.mark.parametrize(
    "outcome",
    [
        {},
        {"outcome": {"type": "success"}},
        {"outcome": {"type": "success", "pendingToolCallIds": ["c", "e"]}},
        {"outcome": {"type": "success", "pendingToolCallIds": []}},
        {"outcome": {"type": "interrupt", "interrupts": INTERRUPTS}},
    ],
)
def test_pending_calls_follow_from_the_stream(outcome):
    """B17: in call order, listed or not; no list does not mean that nothing is pending."""
    consumer, _ = read(RS, *whole_call("c"), *whole_call("d"), *whole_call("e"), result("d", "t1"), {**RF, **outcome})
    assert consumer.pending_tool_calls == ["c", "e"]
    assert consumer.warnings == []


@pytest.mark.parametrize("listed", [["c"], ["e", "c"], ["c", "d", "e"], ["c", "e", "z"]])
def test_a_wrong_list_of_pending_calls_is_not_believed(listed):
    """B17: missing, out of order, answered, never made."""
    outcome = finished(type="success", pendingToolCallIds=listed)
    consumer, _ = read(RS, *whole_call("c"), *whole_call("d"), *whole_call("e"), result("d", "t1"), outcome)
    assert consumer.pending_tool_calls == ["c", "e"]
    assert "pending-exact" in consumer.warnings[0]


# ---- versions and inputs -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("declared", "words"),
    [
        ("1.2", "event 0: the producer speaks AG-UI 1.2; what it adds to 1.1 is left out"),
        ("1.10", "event 0: the producer speaks AG-UI 1.10; what it adds to 1.1 is left out"),
        ("2.0", "event 0: the producer speaks AG-UI 2.0; what it adds to 1.1 is left out"),
        ("draft", "event 0: protocolVersion 'draft' is not MAJOR.MINOR; read as AG-UI 1.1"),
    ],
)
def test_a_newer_or_unreadable_declaration_is_read_with_a_warning(declared, words):
    consumer, _ = read({**RS, "protocolVersion": declared}, RF)
    assert consumer.warnings == [words]
    assert consumer.protocol_version == declared
    assert consumer.ending is Ending.SUCCEEDED


def test_an_older_declaration_and_none_are_quiet():
    older = {name: value for name, value in RS.items() if name != "protocolVersion"}
    consumer, _ = read(RS, RF, older, RF)
    assert consumer.warnings == []
    assert consumer.protocol_version is None


def test_a_consumer_says_what_it_cannot_be():
    with pytest.raises(ValueError, match=r"one of 1.0, 1.1, not '1.7'"):
        Consumer(protocol="1.7")
    with pytest.raises(ValueError, match="numbers between dots"):
        Consumer(peer="old")


def test_what_is_well_formed_of_the_input_is_where_reading_starts():
    run_input = {
        **INPUT,
        "messages": [
            USER,
            {"id": 5},
            {**USER, "id": "v", "content": [{"type": "binary", "mimeType": "a/b", "data": "x"}]},
        ],
        "state": {"n": 1},
        "tools": 5,
    }
    before = deepcopy(run_input)
    consumer, _ = read(
        RS, *whole(), {"type": "STATE_DELTA", "delta": [{"op": "remove", "path": "/n"}]}, RF, run_input=run_input
    )
    assert [message["id"] for message in consumer.messages] == ["u", "v", "m"]
    assert consumer.messages[1]["content"][0]["type"] == "document"
    assert consumer.state == {}
    assert run_input == before
    assert Consumer({}).state == {}


def test_a_stream_about_another_thread_than_was_asked_for_is_refused():
    assert refused({**RS, "threadId": "x"}, run_input=INPUT) == (("run-thread-echoed",), 0)


def test_a_recording_starts_from_the_input_that_it_echoes():
    echo = {"threadId": "t", "runId": "r", "messages": [USER], "state": {"n": 1}}
    consumer, _ = read(
        {**RS, "input": echo}, {"type": "STATE_DELTA", "delta": [{"op": "test", "path": "/n", "value": 1}]}, RF
    )
    assert consumer.messages == [USER]
    assert consumer.state == {"n": 1}
    assert consumer.warnings == []


def test_history_that_the_input_carried_is_restated_not_repeated():
    """A replay: snapshots reconcile, so the same thing comes out twice."""
    answer = {"id": "m", "role": "assistant", "content": "x"}
    replay = [RS, {"type": "MESSAGES_SNAPSHOT", "messages": [USER, answer]}, RF]
    consumer, _ = read(*replay, *replay, run_input={**INPUT, "messages": [USER, answer]})
    assert consumer.messages == [USER, answer]


def test_warnings_are_told_as_they_arise():
    said = []
    consumer = Consumer(warn=said.append)
    consumer.feed({**RS, "shiny": 1})
    assert said == consumer.warnings == ["event 0: /shiny of RUN_STARTED was removed as unknown to AG-UI 1.1"]


def test_a_conversation_goes_on_over_several_runs():
    """B17, B79: a frontend call, its answer, an interrupt, its answer."""
    tools = [{"name": "f", "description": "a frontend tool"}]
    run_input = {**INPUT, "tools": tools}
    consumer = Consumer(run_input)
    for event in [RS, *whole_call(), RF]:
        consumer.feed(event)
    answers = [{"id": "t1", "role": "tool", "toolCallId": key, "content": "ok"} for key in consumer.pending_tool_calls]
    run_input = {**run_input, "runId": "q", "messages": [*consumer.messages, *answers], "state": consumer.state}
    document, _ = request(run_input)
    consumer = Consumer(document)
    assert consumer.pending_tool_calls == []
    list(consumer.read([{**RS, "runId": "q"}, {**finished(type="interrupt", interrupts=INTERRUPTS), "runId": "q"}]))
    resume = [{"interruptId": one["id"], "status": "resolved", "payload": True} for one in consumer.interrupts]
    run_input = {**run_input, "runId": "p", "messages": consumer.messages, "resume": resume}
    document, warnings = request(run_input, interrupts=consumer.interrupts)
    assert document["resume"] == resume
    assert warnings == []


CURRENT = [
    RS,
    *(thought("START"), thought("MESSAGE_START", role="reasoning"), thought("MESSAGE_CONTENT", delta="hm")),
    *(thought("MESSAGE_END"), thought("END"), *whole(), RF),
]
OLDER = [
    {"type": "RUN_STARTED", "threadId": "t", "runId": "r", "parentRunId": None},
    *({"type": "THINKING_START"}, {"type": "THINKING_TEXT_MESSAGE_START"}),
    *({"type": "THINKING_TEXT_MESSAGE_CONTENT", "delta": "hm"}, {"type": "THINKING_TEXT_MESSAGE_END"}),
    *({"type": "THINKING_END"}, *whole(), {**RF, "result": None}),
]


async def awaited(stream):
    for event in stream:
        yield event


@pytest.mark.anyio
@pytest.mark.parametrize("stream", [CURRENT, OLDER], ids=["1.0", "0.x"])
@pytest.mark.parametrize(("missing", "ending"), [(None, Ending.SUCCEEDED), (6, Ending.REJECTED)])
async def test_a_stream_is_judged_alike_however_it_arrives(stream, missing, ending):
    """B80: recorded, from an iterator, awaited; in the spelling of 0.x or of 1.0; whole, or without a start."""
    stream = [event for index, event in enumerate(stream) if index != missing]
    recorded, iterated, fed = accepted(stream)[0], accepted(iter(stream))[0], Consumer()
    with contextlib.suppress(StreamRejected):
        async for event in awaited(stream):
            fed.feed(event)
    for consumer in (recorded, iterated, fed):
        assert consumer.ending is ending
        assert [message["content"] for message in consumer.messages] == ["hm", "x"][: 2 if missing is None else 1]


# ---- whatever comes ------------------------------------------------------------------------------

NAMES = ("messageId", "toolCallId", "parentMessageId", "entityId", "id", "subagentRunId", "threadId", "runId")


def with_few_names(value):
    """The same with all identifiers out of two, so that events meet."""
    if isinstance(value, dict):
        return {
            key: "ab"[len(inner) % 2] if key in NAMES and isinstance(inner, str) else with_few_names(inner)
            for key, inner in value.items()
        }
    return [with_few_names(inner) for inner in value] if isinstance(value, list) else value


STREAMS = st.lists(events().map(with_few_names), max_size=12)
PEERS = st.sampled_from([None, "0.0.39", "0.0.57", "1.0"])


@settings(max_examples=300, deadline=None)
@given(STREAMS, st.data(), PEERS)
def test_whatever_comes_is_delivered_clean_or_refused_with_a_requirement(stream, data, peer):
    """B80: nothing else is raised, nothing that came is changed, and what is held can be sent back."""
    stream = [data.draw(broken(event)) if data.draw(st.booleans()) else event for event in stream]
    stream = [{**RS, "threadId": "a", "runId": "a"}, *stream]
    before = deepcopy(stream)
    consumer, delivered = accepted(stream, peer=peer)
    assert stream == before
    enforcement = Enforcement("1.1", lambda *_: None)
    assert all(enforcement.event(event) is event for event in delivered)
    request({"threadId": "a", "runId": "b", "messages": consumer.messages, "state": consumer.state})


@settings(max_examples=200, deadline=None)
@given(STREAMS)
def test_what_was_delivered_reads_the_same_when_it_is_read_again(stream):
    """A recording of what an application got is a stream of its own, with the same conversation."""
    consumer, delivered = accepted([{**RS, "threadId": "a", "runId": "a"}, *stream])
    again = Consumer()
    assert [one for event in delivered for one in again.feed(event)] == delivered
    assert again.messages == consumer.messages
    assert again.state == consumer.state


def test_near_valid_streams_are_refused_only_where_they_are_broken():
    for stream in near_valid(80, 600):
        run_input = {**RUN_INPUT, "runId": "asked"}
        consumer, delivered = accepted(stream.events, run_input=run_input)
        if not stream.ways:
            assert consumer.ending not in (Ending.REJECTED, Ending.TRUNCATED)
            # What a snapshot of messages leaves out is dropped, and what names it afterwards is skipped.
            dropping = any(event["type"] == "MESSAGES_SNAPSHOT" for event in stream.events)
            assert [warning for warning in consumer.warnings if not dropping or ": no " not in warning] == []
        request({**run_input, "messages": consumer.messages, "state": consumer.state})
        assert not [event for event in delivered if event["type"].endswith("_CHUNK")]
