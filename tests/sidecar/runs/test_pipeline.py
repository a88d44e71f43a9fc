"""Steps become finished events."""

from datetime import UTC, datetime

import pytest
from ag_ui.core import (
    ActivityDeltaEvent,
    ActivitySnapshotEvent,
    CustomEvent,
    Interrupt,
    MessagesSnapshotEvent,
    RawEvent,
    ReasoningEncryptedValueEvent,
    ReasoningEndEvent,
    ReasoningMessageChunkEvent,
    ReasoningMessageContentEvent,
    ReasoningMessageEndEvent,
    ReasoningMessageStartEvent,
    ReasoningStartEvent,
    RunErrorEvent,
    RunFinishedEvent,
    RunStartedEvent,
    StateDeltaEvent,
    StateSnapshotEvent,
    StepFinishedEvent,
    StepStartedEvent,
    SubagentErrorEvent,
    SubagentFinishedEvent,
    SubagentStartedEvent,
    TextMessageChunkEvent,
    TextMessageContentEvent,
    TextMessageEndEvent,
    TextMessageStartEvent,
    TextPart,
    ToolCallArgsEvent,
    ToolCallChunkEvent,
    ToolCallEndEvent,
    ToolCallResultEvent,
    ToolCallStartEvent,
    UserMessage,
)
from support.agents import make_pipeline, play
from support.streams import judge, types

from adapters.base import Cancelled, Interrupted, ModelUsage, Reasoning, Success, Text, ToolCall
from conformance.reduce import Conversation
from sidecar.runs.pipeline import OrderBroken, RunOver
from sidecar.runs.values import StepRefused

TOOL = {"name": "pick", "description": "", "parameters": {}}


def answer(call, message="tm", content="ok", **more):
    return ToolCallResultEvent(message_id=message, tool_call_id=call, content=content, **more)


def messages(events, **start):
    conversation = Conversation(**start)
    for event in events:
        conversation.apply(event)
    assert conversation.warnings == []
    return conversation.messages


def short(events):
    """Events as `KIND name delta`, the run's bracket left out."""
    names = {"TEXT_MESSAGE": "T", "TOOL_CALL": "C", "REASONING_MESSAGE": "R", "REASONING": "SPAN", "SUBAGENT": "SUB"}
    lines = []
    for event in events:
        kind = event["type"]
        if kind.startswith("RUN_"):
            continue
        for long, brief in names.items():
            if kind.startswith(long):
                kind = kind.replace(long, brief)
                break
        name = event.get("messageId") or event.get("toolCallId") or event.get("stepName") or event.get("subagentRunId")
        delta = event["delta"] if isinstance(event.get("delta"), str) else ""
        lines.append(" ".join(filter(None, [kind, name, delta])))
    return lines


def clean(steps, **fields):
    """Play, and check that the stream is conformant."""
    events, warnings = play(steps, **fields)
    assert judge(events, thread_id="t1") == []
    return events, warnings


# ---- the bracket ------------------------------------------------------------------------------------


def test_a_run_is_opened_with_its_ids_and_our_version():
    events, _ = clean([], parentRunId="p", protocolVersion="1.9")
    assert events == [
        {"type": "RUN_STARTED", "threadId": "t1", "runId": "r1", "protocolVersion": "1.0", "parentRunId": "p"},
        {"type": "RUN_FINISHED", "threadId": "t1", "runId": "r1", "outcome": {"type": "success"}},
    ]


def test_a_result_travels_with_the_success():
    events, _ = clean([Success({"answer": {42}})])
    assert events[-1]["result"] == {"answer": [42]}
    assert "result" not in clean([Success()])[0][-1]


def test_interrupts_end_the_run_and_name_their_call():
    interrupt = Interrupt(id="int-1", reason="tool_call", tool_call_id="c1", response_schema={"type": "object"})
    events, _ = clean([ToolCall("{}", "c1", "transfer"), Interrupted([interrupt])])
    assert types(events)[-2:] == ["TOOL_CALL_END", "RUN_FINISHED"]
    assert events[-1]["outcome"] == {
        "type": "interrupt",
        "interrupts": [
            {"id": "int-1", "reason": "tool_call", "toolCallId": "c1", "responseSchema": {"type": "object"}}
        ],
    }


def test_an_interrupt_outcome_without_interrupts_is_refused():
    with pytest.raises(StepRefused, match="at least one interrupt"):
        play([Interrupted([])])


def test_interrupts_of_one_id_break_the_order():
    with pytest.raises(OrderBroken, match="interrupt-ids-unique"):
        play([Interrupted([Interrupt(id="i", reason="x")] * 2)])


@pytest.mark.parametrize("interrupt", [{"id": "i"}, {"id": 5, "reason": "x"}, None, "i"])
def test_an_interrupt_that_the_schema_rejects_is_refused(interrupt):
    """outcome-described."""
    with pytest.raises(StepRefused, match=r"an interrupt.*: expected "):
        play([Interrupted([interrupt])])


def test_the_interrupts_of_the_end_are_known_after_it():
    pipeline, _ = make_pipeline()
    pipeline.start()
    pipeline.feed(Interrupted([Interrupt(id="i", reason="x", metadata={"acme/at": datetime(2026, 1, 2, tzinfo=UTC)})]))
    assert dict(pipeline.asked) == {}
    pipeline.finish()
    assert pipeline.asked == {"i": Interrupt(id="i", reason="x", metadata={"acme/at": "2026-01-02T00:00:00Z"})}


def test_an_adapter_may_end_its_run_as_cancelled():
    events, _ = clean([Text("par"), Cancelled("step limit")])
    assert events[-1]["outcome"] == {"type": "cancelled"}
    assert events[-1]["metadata"] == {"agui-sidecar": {"reason": "step limit"}}


def test_nothing_follows_the_outcome():
    with pytest.raises(StepRefused, match="came after the outcome"):
        play([Success(), Text("late")])


def test_cancelling_closes_what_is_open_the_latest_first():
    pipeline, _ = make_pipeline()
    events = [*pipeline.start()]
    for step in (
        StepStartedEvent(step_name="s"),
        SubagentStartedEvent(subagent_run_id="a", name="n"),
        StepStartedEvent(step_name="inner", subagent_run_id="a"),
        Text("half", subagent="a"),
        Reasoning("hm"),
    ):
        events += pipeline.feed(step)
    events = [*events, *pipeline.cancel("stopped")]
    assert judge(events) == []
    assert short(events)[-6:] == [
        "R_END i2",
        "SPAN_END i3",
        "T_END i1",
        "STEP_FINISHED inner",
        "SUB_ERROR a",
        "STEP_FINISHED s",
    ]
    assert events[-1]["outcome"] == {"type": "cancelled"}
    assert "result" not in events[-1]


def test_a_run_ends_once():
    pipeline, _ = make_pipeline()
    pipeline.start()
    assert len(pipeline.cancel("x")) == 1
    assert pipeline.cancel("x") == []
    assert pipeline.finish() == []
    with pytest.raises(RunOver):
        pipeline.feed(Text("late"))


def test_a_failure_needs_nothing_closed_and_carries_the_usage():
    pipeline, _ = make_pipeline()
    events = [*pipeline.start(), *pipeline.feed(Text("half"))]
    pipeline.spent(ModelUsage("p", "m", 3))
    events += pipeline.fail("It broke.", "broken", "id-7")
    assert judge(events) == []
    assert events[-1] == {
        "type": "RUN_ERROR",
        "message": "It broke.",
        "code": "broken",
        "metadata": {"agui-sidecar": {"correlationId": "id-7"}},
        "usage": [{"provider": "p", "model": "m", "inputTokens": 3}],
    }
    assert pipeline.fail("again", "x", "y") == []


def test_a_failure_may_come_after_the_finish():
    pipeline, _ = make_pipeline()
    events = [*pipeline.start(), *pipeline.finish(), *pipeline.fail("late", "late", "i")]
    assert judge(events) == []
    assert types(events) == ["RUN_STARTED", "RUN_FINISHED", "RUN_ERROR"]


def test_a_subagent_left_open_is_closed_by_how_the_run_ended():
    start = SubagentStartedEvent(subagent_run_id="a", name="n")
    assert clean([start])[0][-2] == {"type": "SUBAGENT_FINISHED", "subagentRunId": "a"}
    own = Interrupt(id="i1", reason="x", subagent_run_id="a")
    events, _ = clean([start, Interrupted([own, Interrupt(id="i2", reason="x")])])
    assert events[-2]["outcome"] == {"type": "suspended", "interruptIds": ["i1"]}
    events, _ = clean([start, Interrupted([Interrupt(id="i2", reason="x")])])
    assert events[-2]["outcome"] == {"type": "suspended"}


# ---- items ------------------------------------------------------------------------------------------


def test_text_opens_at_its_first_piece_and_closes_at_the_end():
    events, _ = clean([Text("He"), Text("y"), Text("")])
    assert short(events) == ["T_START i1", "T_CONTENT i1 He", "T_CONTENT i1 y", "T_END i1"]


def test_an_empty_piece_opens_nothing():
    events, _ = clean([Text(""), Reasoning("")])
    assert types(events) == ["RUN_STARTED", "RUN_FINISHED"]


def test_text_call_result_text_is_two_messages_around_a_result():
    """B02, B35: the text is closed when the call begins, and the next text is a message after the result."""
    events, _ = clean([Text("Let me "), Text("look"), ToolCall("{}", "c1", "look"), answer("c1"), Text("done")])
    assert short(events) == [
        *("T_START i1", "T_CONTENT i1 Let me ", "T_CONTENT i1 look", "T_END i1"),
        *("C_START c1", "C_ARGS c1 {}", "C_END c1", "C_RESULT tm", "T_START i2", "T_CONTENT i2 done", "T_END i2"),
    ]
    assert events[5]["parentMessageId"] == "i1"
    assert [message["role"] for message in messages(events)] == ["assistant", "tool", "assistant"]


def test_a_call_without_text_belongs_to_a_message_of_its_own():
    """B35: never to the tool message before it."""
    events, _ = clean(
        [ToolCall("{}", "c1", "f"), answer("c1", "t1"), ToolCall("{}", "c2", "f"), answer("c2", "t2"), Text("x")]
    )
    parents = [event["parentMessageId"] for event in events if event["type"] == "TOOL_CALL_START"]
    assert parents == ["i1", "i2"]
    assert [(m["role"], m["id"]) for m in messages(events)] == [
        *(("assistant", "i1"), ("tool", "t1"), ("assistant", "i2"), ("tool", "t2"), ("assistant", "i3")),
    ]


def test_text_after_a_call_of_the_same_message_reopens_it():
    events, _ = clean([Text("a", "m"), ToolCall("{}", "c", "f", "m"), Text("b", "m"), Text("c")])
    assert short(events) == [
        *("T_START m", "T_CONTENT m a", "T_END m", "C_START c", "C_ARGS c {}"),
        *("T_START m", "T_CONTENT m b", "T_CONTENT m c", "T_END m", "C_END c"),
    ]
    (message,) = messages(events)
    assert message["content"] == "abc"


def test_parallel_calls_interleave():
    """B10, fault 1 of the PydanticAI peer: each call's arguments arrive whole."""
    steps = [ToolCall('{"q":', "cA", "search"), ToolCall('{"q":', "cB", "search")]
    steps += [ToolCall('"alpha"}', "cA"), ToolCall('"beta"}', "cB", "search"), answer("cB", "t1"), answer("cA", "t2")]
    events, _ = clean(steps)
    (message, first, second) = messages(events)
    assert [call["function"]["arguments"] for call in message["toolCalls"]] == ['{"q":"alpha"}', '{"q":"beta"}']
    assert (first["id"], second["id"]) == ("t1", "t2")


def test_a_call_that_follows_another_without_an_end_is_a_call_of_its_own():
    """B10: two calls one after the other, no terminator between them."""
    events, _ = clean([ToolCall('{"q":', "cA", "s"), ToolCall('"alpha"}'), ToolCall('{"q":"beta"}', "cB", "s")])
    (message,) = messages(events)
    assert [call["function"]["arguments"] for call in message["toolCalls"]] == ['{"q":"alpha"}', '{"q":"beta"}']


@pytest.mark.parametrize(
    ("steps", "arguments"),
    [
        ([ToolCall('{"city":"Paris"}', "c", "f")], '{"city":"Paris"}'),
        ([ToolCall('{"a":', "c", "f"), ToolCall("1}", "c")], '{"a":1}'),
        ([ToolCall("", "c", "f")], ""),
        ([ToolCall(id="c", name="f"), ToolCall("{}", "c")], "{}"),
    ],
)
def test_arguments_arrive_as_the_provider_cut_them(steps, arguments):
    """B12."""
    events, _ = clean(steps)
    assert [e["delta"] for e in events if e["type"] == "TOOL_CALL_ARGS"] == [s.delta for s in steps if s.delta]
    assert messages(events)[0]["toolCalls"][0]["function"]["arguments"] == arguments


def test_a_call_without_an_id_is_given_one():
    """B14."""
    events, _ = clean([ToolCall("{}", name="f"), ToolCall("[]", name="g")])
    starts = [event for event in events if event["type"] == "TOOL_CALL_START"]
    assert [start["toolCallId"] for start in starts] == ["i2", "i3"]
    assert {start["parentMessageId"] for start in starts} == {"i1"}


def test_a_call_id_that_the_provider_repeats_gets_another_and_its_result_finds_it():
    """B14, fault 10 of the PydanticAI peer."""
    old = [
        {
            "id": "a0",
            "role": "assistant",
            "toolCalls": [{"id": "call_0", "type": "function", "function": {"name": "f", "arguments": "{}"}}],
        },
        {"id": "t0", "role": "tool", "toolCallId": "call_0", "content": "old"},
    ]
    steps = [
        ToolCall("{}", "call_0", "f"),
        answer("call_0", "t1"),
        ToolCall("[]", "call_0", "f"),
        answer("call_0", "t2"),
    ]
    events, warnings = clean(steps, messages=old)
    starts = [event["toolCallId"] for event in events if event["type"] == "TOOL_CALL_START"]
    results = [event["toolCallId"] for event in events if event["type"] == "TOOL_CALL_RESULT"]
    assert len(set(starts)) == 2
    assert "call_0" not in starts
    assert results == starts
    assert len(warnings) == 2


def test_a_name_for_a_call_falls_back_to_the_one_in_the_history():
    """B14: a call always has a name."""
    old = [
        {
            "id": "a0",
            "role": "assistant",
            "toolCalls": [{"id": "c", "type": "function", "function": {"name": "f", "arguments": ""}}],
        }
    ]
    events, _ = clean([ToolCall("{}", "c")], messages=old)
    assert events[1]["toolCallName"] == "f"
    with pytest.raises(StepRefused, match="without the name"):
        play([ToolCall("{}", "c")])
    with pytest.raises(StepRefused, match="no call is open"):
        play([ToolCall("{}")])


def test_reasoning_is_bracketed_and_ends_when_the_answer_begins():
    events, _ = clean([Reasoning("hm"), Reasoning("m"), Text("x"), Reasoning("again"), Text("y")])
    assert short(events) == [
        *("SPAN_START i2", "R_START i1", "R_CONTENT i1 hm", "R_CONTENT i1 m", "R_END i1", "SPAN_END i2"),
        *("T_START i3", "T_CONTENT i3 x", "T_END i3"),
        *("SPAN_START i5", "R_START i4", "R_CONTENT i4 again", "R_END i4", "SPAN_END i5"),
        *("T_START i6", "T_CONTENT i6 y", "T_END i6"),
    ]
    assert [message["role"] for message in messages(events)] == ["reasoning", "assistant", "reasoning", "assistant"]


def test_a_run_that_only_thinks_closes_its_thought():
    """B44: and an empty block in between sends nothing."""
    events, _ = clean([Reasoning("a"), Text("x"), Reasoning(""), Text("y"), Reasoning("b")])
    assert [m["content"] for m in messages(events)] == ["a", "xy", "b"]
    opened = [event["messageId"] for event in events if event["type"] == "REASONING_START"]
    named = {event["messageId"] for event in events if event["type"].startswith("REASONING_MESSAGE")}
    assert not named & set(opened)


def test_a_named_thought_stays_open_until_the_adapter_ends_it():
    steps = [Reasoning("a", "z"), Text("x", "m"), Reasoning("b", "z")]
    steps += [
        ReasoningEncryptedValueEvent(subtype="message", entity_id="z", encrypted_value="V"),
        ReasoningMessageEndEvent(message_id="z"),
    ]
    events, _ = clean(steps)
    assert short(events) == [
        *("SPAN_START i1", "R_START z", "R_CONTENT z a", "T_START m", "T_CONTENT m x", "R_CONTENT z b"),
        *("SPAN_ENCRYPTED_VALUE", "R_END z", "SPAN_END i1", "T_END m"),
    ]
    assert messages(events)[0] == {"id": "z", "role": "reasoning", "content": "ab", "encryptedValue": "V"}


def test_an_encrypted_value_alone_gets_a_thought_to_belong_to():
    """Redacted reasoning: nothing to read, but the value comes back on the next turn."""
    events, _ = clean([ReasoningEncryptedValueEvent(subtype="message", entity_id="z", encrypted_value="V"), Text("x")])
    assert messages(events)[0] == {"id": "z", "role": "reasoning", "content": "", "encryptedValue": "V"}


def test_an_encrypted_value_for_what_the_history_holds_opens_nothing():
    held = ReasoningEncryptedValueEvent(subtype="message", entity_id="u1", encrypted_value="V")
    call = ReasoningEncryptedValueEvent(subtype="tool-call", entity_id="c1", encrypted_value="W")
    events, _ = clean([held, ToolCall("", "c1", "f"), call])
    assert short(events)[0] == "SPAN_ENCRYPTED_VALUE"


def test_spans_of_the_adapter_are_kept():
    steps = [ReasoningStartEvent(message_id="s"), Reasoning("a", "z1"), ReasoningMessageEndEvent(message_id="z1")]
    steps += [Reasoning("b", "z2"), ReasoningMessageEndEvent(message_id="z2"), ReasoningEndEvent(message_id="s")]
    events, _ = clean(steps)
    assert short(events) == [
        *("SPAN_START s", "R_START z1", "R_CONTENT z1 a", "R_END z1"),
        *("R_START z2", "R_CONTENT z2 b", "R_END z2", "SPAN_END s"),
    ]


def test_subagents_stream_side_by_side_and_close_what_is_theirs():
    steps = [SubagentStartedEvent(subagent_run_id=name, name="n") for name in "ab"]
    steps += [
        Text("1", subagent="a"),
        Text("2", subagent="b"),
        Text("3", subagent="a"),
        ToolCall("{}", "c", "f", subagent="b"),
    ]
    steps += [StepStartedEvent(step_name="s", subagent_run_id="a"), SubagentFinishedEvent(subagent_run_id="a")]
    steps += [SubagentErrorEvent(subagent_run_id="b", message="no"), Text("parent")]
    events, _ = clean(steps)
    by_owner = {message.get("subagentRunId"): message for message in messages(events)}
    assert by_owner["a"]["content"] == "13"
    assert by_owner["b"]["content"] == "2"
    assert by_owner["b"]["toolCalls"][0]["id"] == "c"
    assert by_owner[None]["content"] == "parent"
    kinds = short(events)
    assert kinds.index("STEP_FINISHED s") < kinds.index("SUB_FINISHED a")
    assert kinds.index("C_END c") < kinds.index("SUB_ERROR b")


def test_an_item_cannot_be_continued_by_another_owner():
    with pytest.raises(StepRefused, match="belongs to the agent, not to subagent 'a'"):
        play([Text("x", "m"), Text("y", "m", subagent="a")])
    with pytest.raises(StepRefused, match="belongs to subagent 'a', not to subagent 'b'"):
        play([Text("x", "m", subagent="a"), Text("y", "m", subagent="b")])


def test_text_of_an_owner_may_be_continued_without_its_tag():
    events, _ = clean([Text("x", "m", subagent="a"), Text("y", "m")])
    assert all(event["subagentRunId"] == "a" for event in events[1:-1])


def test_new_material_never_goes_under_an_id_of_the_history():
    """history-as-snapshots, B31: what runs again does not append to what the client holds."""
    old = [{"id": "m", "role": "assistant", "content": "old"}]
    events, warnings = clean([Text("new", "m"), Text("er", "m"), TextMessageEndEvent(message_id="m")], messages=old)
    assert short(events) == ["T_START i1", "T_CONTENT i1 new", "T_CONTENT i1 er", "T_END i1"]
    assert len(warnings) == 1


# ---- explicit events --------------------------------------------------------------------------------


def test_explicit_triads_are_taken_with_their_metadata():
    steps = [
        TextMessageStartEvent(message_id="m", role="user", name="Ann", metadata={"a": 1}),
        TextMessageContentEvent(message_id="m", delta="x", raw_event={"p": 1}),
        TextMessageContentEvent(message_id="m", delta="y"),
        TextMessageEndEvent(message_id="m", metadata={"b": 2}),
        ToolCallStartEvent(tool_call_id="c", tool_call_name="f", parent_message_id="p", metadata={"c": 3}),
        ToolCallArgsEvent(tool_call_id="c", delta="{}"),
        ToolCallEndEvent(tool_call_id="c"),
        ReasoningMessageStartEvent(message_id="z"),
        ReasoningMessageContentEvent(message_id="z", delta="hm"),
        ReasoningMessageEndEvent(message_id="z"),
    ]
    events, _ = clean(steps)
    assert events[1] == {
        "type": "TEXT_MESSAGE_START",
        "messageId": "m",
        "role": "user",
        "name": "Ann",
        "metadata": {"a": 1},
    }
    assert events[2]["rawEvent"] == {"p": 1}
    user, assistant, thought = messages(events)
    assert (user["role"], user["content"], user["metadata"]) == ("user", "xy", {"a": 1, "b": 2})
    assert assistant["toolCalls"][0]["metadata"] == {"c": 3}
    assert thought["content"] == "hm"


def test_an_explicit_start_opens_even_an_empty_message():
    events, _ = clean([TextMessageStartEvent(message_id="m")])
    assert short(events) == ["T_START m", "T_END m"]


def test_chunks_are_taken_too():
    steps = [
        TextMessageChunkEvent(message_id="m", role="assistant", delta="a", metadata={"k": 1}, raw_event=1),
        TextMessageChunkEvent(delta="b"),
        TextMessageChunkEvent(metadata={"k": 2}),
        TextMessageChunkEvent(role="assistant"),
        ToolCallChunkEvent(tool_call_id="c", tool_call_name="f", parent_message_id="m", delta="{"),
        ToolCallChunkEvent(delta="}"),
        ReasoningMessageChunkEvent(message_id="z", delta="hm"),
    ]
    events, _ = clean(steps)
    assert "rawEvent" not in events[1]
    assistant, thought = messages(events)
    assert (assistant["content"], assistant["metadata"]) == ("ab", {"k": 2})
    assert assistant["toolCalls"][0]["function"]["arguments"] == "{}"
    assert thought["content"] == "hm"


def test_an_end_for_what_never_opened_is_nothing():
    steps = [
        TextMessageEndEvent(message_id="m"),
        ToolCallEndEvent(tool_call_id="c"),
        ReasoningMessageEndEvent(message_id="z"),
    ]
    assert types(clean(steps)[0]) == ["RUN_STARTED", "RUN_FINISHED"]


@pytest.mark.parametrize(
    "event",
    [
        RunStartedEvent(thread_id="t", run_id="r"),
        RunFinishedEvent(thread_id="t", run_id="r"),
        RunErrorEvent(message="x"),
    ],
)
def test_the_runs_bracket_is_the_servers_to_send(event):
    """B07: an adapter cannot end a run twice, or in two ways."""
    with pytest.raises(StepRefused, match="is the server's to send"):
        play([event])


@pytest.mark.parametrize("step", [None, "text", {"type": "CUSTOM"}, 5, TextMessageStartEvent])
def test_what_is_no_step_is_refused(step):
    with pytest.raises(StepRefused, match="is no step"):
        play([step])


@pytest.mark.parametrize(
    ("event", "complaint"),
    [
        (CustomEvent.model_construct(type="CUSTOM", name=None, value=1), "CUSTOM/name: expected a string"),
        (ToolCallResultEvent.model_construct(message_id="m", tool_call_id="c", content={"a": 1}), "content"),
        (CustomEvent.model_construct(type="BANANA", name="x", value=1), "BANANA is no event of the protocol"),
    ],
)
def test_a_malformed_event_is_refused_by_its_field(event, complaint):
    """event-described."""
    with pytest.raises(StepRefused, match=complaint):
        play([event])


def test_unknown_fields_are_left_out_with_a_warning():
    """no-unknown-fields, absent-not-null."""
    event = CustomEvent(name="demo.x", value=None, shiny=1, metadata={"a": None})
    events, warnings = clean([event])
    assert events[1] == {"type": "CUSTOM", "name": "demo.x", "value": None, "metadata": {"a": None}}
    assert warnings == ["CUSTOM/shiny is not part of the protocol and was left out"]


def test_standalone_events_pass_as_they_are():
    steps = [
        RawEvent(event={"x": b"\xff"}, source="s"),
        StepStartedEvent(step_name="s", timestamp=7),
        StepFinishedEvent(step_name="s"),
        ActivitySnapshotEvent(message_id="a", activity_type="t", content={"n": 1}),
        ActivityDeltaEvent.model_validate(
            {"messageId": "a", "activityType": "t", "patch": [{"op": "move", "from": "/n", "path": "/m"}]}
        ),
        MessagesSnapshotEvent(messages=[UserMessage(id="u1", content=[TextPart(text="x")])]),
    ]
    events, warnings = clean(steps)
    assert events[1]["event"] == {"x": "/w=="}
    assert events[2]["timestamp"] == 7
    assert events[5]["patch"] == [{"op": "move", "from": "/n", "path": "/m"}]
    assert events[6]["messages"] == [{"id": "u1", "role": "user", "content": [{"type": "text", "text": "x"}]}]
    assert len(warnings) == 1


def test_a_delta_of_an_activity_that_nobody_opened_breaks_the_order():
    with pytest.raises(OrderBroken, match="activity-baseline"):
        play([ActivityDeltaEvent(message_id="a", activity_type="t", patch=[])])


# ---- calls that somebody else answers ---------------------------------------------------------------


def test_frontend_calls_stay_pending_in_the_order_they_were_made():
    """B17: all of them, exactly, and no result."""
    steps = [ToolCall("{}", f"f{n}", "pick") for n in (1, 2, 3)]
    events, _ = clean([ToolCall("{}", "s1", "server"), *steps, answer("s1")], tools=[TOOL])
    assert events[-1]["outcome"] == {"type": "success", "pendingToolCallIds": ["f1", "f2", "f3"]}


def test_a_result_for_a_frontend_call_is_left_out():
    """frontend-call-unanswered."""
    events, warnings = clean([ToolCall("{}", "f1", "pick"), answer("f1")], tools=[TOOL])
    assert "TOOL_CALL_RESULT" not in types(events)
    assert events[-1]["outcome"]["pendingToolCallIds"] == ["f1"]
    assert "frontend tool" in warnings[0]


def test_a_second_result_of_a_call_is_left_out():
    events, warnings = clean([ToolCall("{}", "c", "f"), answer("c", "t1"), answer("c", "t2")])
    assert types(events).count("TOOL_CALL_RESULT") == 1
    assert "second result" in warnings[0]


def test_a_resumed_run_answers_a_call_of_the_history_without_starting_it_again():
    old = [
        {
            "id": "a0",
            "role": "assistant",
            "toolCalls": [{"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}}],
        }
    ]
    events, _ = clean([answer("c"), Text("done")], messages=old)
    assert short(events)[0] == "C_RESULT tm"
    assert [message["role"] for message in messages(events, messages=old)] == ["assistant", "tool", "assistant"]


def test_an_interrupt_names_the_call_by_the_id_that_travels():
    old = [
        {
            "id": "a0",
            "role": "assistant",
            "toolCalls": [{"id": "c", "type": "function", "function": {"name": "f", "arguments": ""}}],
        }
    ]
    events, _ = clean(
        [ToolCall("{}", "c", "f"), Interrupted([Interrupt(id="i", reason="x", tool_call_id="c")])], messages=old
    )
    started = next(event["toolCallId"] for event in events if event["type"] == "TOOL_CALL_START")
    assert events[-1]["outcome"]["interrupts"][0]["toolCallId"] == started != "c"


# ---- text that is cut in the middle of a character --------------------------------------------------


def test_surrogate_pairs_split_over_two_pieces_are_joined():
    """B53."""
    events, _ = clean([Text("ok \ud83d"), Text("\ude00 end"), ToolCall('"\ud83d', "c", "f"), ToolCall('\ude00"', "c")])
    assert messages(events)[0]["content"] == "ok \N{GRINNING FACE} end"
    assert messages(events)[0]["toolCalls"][0]["function"]["arguments"] == '"\N{GRINNING FACE}"'


def test_a_lone_surrogate_becomes_a_replacement_character():
    events, _ = clean(
        [
            Text("a\udc80"),
            Text("b\ud83d"),
            Text("c"),
            Text("\ud83d"),
            answer("x", content="\udc80"),
            CustomEvent(name="a.b", value="\udc80"),
        ]
    )
    assert messages(events)[0]["content"] == "a\ufffdb\ufffdc\ufffd"
    assert messages(events)[1]["content"] == "\ufffd"


def test_two_halves_wait_apart():
    events, _ = clean([Text("\ud83d", "m"), Text("\ud83d", "n"), Text("\ude00", "n"), Text("\ude01", "m")])
    assert [m["content"] for m in messages(events)] == ["\N{GRINNING FACE WITH SMILING EYES}", "\N{GRINNING FACE}"]


# ---- state ------------------------------------------------------------------------------------------


def state_events(steps, **fields):
    events, warnings = clean(steps, **fields)
    conversation = Conversation(state=fields.get("state"))
    for event in events:
        conversation.apply(event)
    assert conversation.warnings == []
    return [event for event in events if event["type"].startswith("STATE_")], conversation.state, warnings


def test_state_travels_as_the_smallest_of_nothing_delta_and_snapshot():
    big = {"rows": [{"id": n, "done": False} for n in range(50)]}
    changed = {"rows": [{"id": n, "done": n == 7} for n in range(50)]}
    sent, state, _ = state_events(
        [StateSnapshotEvent(snapshot=big), StateSnapshotEvent(snapshot=big), StateSnapshotEvent(snapshot=changed)]
    )
    assert types(sent) == ["STATE_SNAPSHOT", "STATE_DELTA"]
    assert sent[1]["delta"] == [{"op": "replace", "path": "/rows/7/done", "value": True}]
    assert state == changed


def test_the_first_change_is_against_the_inputs_own_state():
    """B47."""
    wanted = {"ns": {"query": "x", "entries": None}}
    for given in (None, {}, {"ns": {}}, [1], {"ns": {"query": None, "entries": None}}):
        _, state, _ = state_events([StateSnapshotEvent(snapshot=wanted)], state=given)
        assert state == wanted


def test_a_state_that_changes_in_place_is_seen():
    """B49."""
    state = {"items": ["a" * 50]}
    pipeline, _ = make_pipeline(state={"items": ["a" * 50]})
    events = [*pipeline.start(), *pipeline.feed(StateSnapshotEvent(snapshot=state))]
    state["items"].append("b")
    events += pipeline.feed(StateSnapshotEvent(snapshot=state))
    assert [event["delta"] for event in events[1:]] == [[{"op": "add", "path": "/items/1", "value": "b"}]]


def test_an_unchanged_state_sends_nothing():
    """B51: no snapshot at the start that is smaller than what was agreed."""
    sent, _, _ = state_events(
        [Text("x"), StateSnapshotEvent(snapshot={"recipe": {"a": 1}})], state={"recipe": {"a": 1}}
    )
    assert sent == []


def test_values_without_json_make_no_delta_of_their_own():
    """B46: the diff is computed on the document that was sent."""
    odd = {"x": float("nan"), "y": float("inf"), "b": b"\xff\xfe", 1: "a", "1": "b", "big": 2**63}
    odd["self"] = odd
    sent, state, warnings = state_events([StateSnapshotEvent(snapshot=odd), StateSnapshotEvent(snapshot=odd)])
    assert len(sent) == 1
    assert state == {"x": None, "y": None, "b": "//4=", "1": "b", "big": 2**63, "self": None}
    assert len(warnings) == 10


def test_a_delta_of_the_adapter_is_applied_before_it_is_sent():
    steps = [
        StateDeltaEvent.model_validate({"delta": [{"op": "add", "path": "/a", "value": 1}]}),
        StateSnapshotEvent(snapshot={"a": 1}),
    ]
    sent, state, _ = state_events(steps)
    assert types(sent) == ["STATE_DELTA"]
    assert state == {"a": 1}
    with pytest.raises(StepRefused, match="does not apply"):
        play([StateDeltaEvent.model_validate({"delta": [{"op": "remove", "path": "/zz"}]})])


def test_a_state_event_keeps_its_owner_and_metadata():
    snapshot = StateSnapshotEvent(snapshot={"a": "x" * 99, "b": 1}, subagent_run_id="s", metadata={"k": 1})
    sent, _, _ = state_events([snapshot], state={"a": "x" * 99})
    (event,) = sent
    assert (event["type"], event["subagentRunId"], event["metadata"]) == ("STATE_DELTA", "s", {"k": 1})


def test_a_state_with_an_endless_integer_is_sent():
    _, state, _ = state_events([StateSnapshotEvent(snapshot={"n": 2**70})])
    assert state == {"n": 2**70}
