"""Whatever steps an adapter yields or raises, in any order, cut anywhere: the stream is conformant and ends once."""

import json

from ag_ui.core import (
    ActivityDeltaEvent,
    ActivitySnapshotEvent,
    BaseEvent,
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
    RunAgentInput,
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
    ToolCallArgsEvent,
    ToolCallChunkEvent,
    ToolCallEndEvent,
    ToolCallResultEvent,
    ToolCallStartEvent,
    UserMessage,
)
from hypothesis import given, settings
from hypothesis import strategies as st
from support.agents import make_pipeline, run_input
from support.streams import judge, parse_sse, types

from adapters.base import AdapterError, Cancelled, Interrupted, ModelUsage, Reasoning, Success, Text, ToolCall
from conformance.order import content_event
from conformance.reduce import Conversation
from sidecar.runs.failure import describe_failure
from sidecar.wire.sse import Encoder
from sidecar.wire.view import OlderPeer

ID = st.sampled_from(["a", "b", "u1", "old", ""])
"""Few, so that they collide: with each other, and with the history's."""
SOME_ID = st.none() | ID
OWNER = st.sampled_from([None, None, "s1", "s2"])
DELTA = st.sampled_from(["x", "", "é", "\ud83d", "\ude00", "\u2028", '{"a":1}'])
ANY = st.sampled_from(
    [None, 1, "x", [1], {"a": 1}, {"a": {"b": [1, 2]}}, float("nan"), b"\xff", {1: 2, "1": 3}, object(), "\ud800"]
)
PATCH = st.sampled_from(
    [
        [],
        [{"op": "add", "path": "/a", "value": 1}],
        [{"op": "remove", "path": "/zz"}],
        [{"op": "replace", "path": "", "value": 3}],
    ]
)
COUNT = st.sampled_from([None, 0, 1, 7, -1, 2**60])


def event(model: type[BaseEvent], **fields):
    """Events of one model with fields of some strategies; those that the model itself refuses are let through raw."""
    return st.fixed_dictionaries(fields).map(
        lambda values: _made(model, {k: v for k, v in values.items() if v is not None})
    )


def _made(model, values):
    try:
        return model(**values)
    except ValueError:
        return model.model_construct(**values)


def owned(model, **fields):
    return event(model, subagent_run_id=OWNER, **fields)


STEPS = st.one_of(
    st.builds(Text, DELTA, SOME_ID, OWNER),
    st.builds(Reasoning, DELTA, SOME_ID, OWNER),
    st.builds(ToolCall, DELTA, SOME_ID, st.sampled_from([None, "f", "pick"]), SOME_ID, OWNER),
    st.builds(
        ModelUsage, st.sampled_from([None, "p"]), st.sampled_from([None, "m"]), COUNT, COUNT, COUNT, COUNT, COUNT
    ),
    owned(TextMessageStartEvent, message_id=ID, role=st.sampled_from([None, "user", "assistant"]), name=SOME_ID),
    owned(TextMessageContentEvent, message_id=ID, delta=DELTA, metadata=st.sampled_from([None, {"k": 1}])),
    owned(TextMessageEndEvent, message_id=ID),
    owned(TextMessageChunkEvent, message_id=SOME_ID, delta=DELTA, role=st.sampled_from([None, "user"])),
    owned(
        ToolCallStartEvent, tool_call_id=ID, tool_call_name=st.sampled_from(["f", "pick"]), parent_message_id=SOME_ID
    ),
    owned(ToolCallArgsEvent, tool_call_id=ID, delta=DELTA),
    owned(ToolCallEndEvent, tool_call_id=ID),
    owned(ToolCallChunkEvent, tool_call_id=SOME_ID, tool_call_name=st.sampled_from([None, "f"]), delta=DELTA),
    owned(ToolCallResultEvent, message_id=ID, tool_call_id=ID, content=st.sampled_from(["ok", "\ud800", [], {"a": 1}])),
    owned(ReasoningStartEvent, message_id=ID),
    owned(ReasoningEndEvent, message_id=ID),
    owned(ReasoningMessageStartEvent, message_id=ID),
    owned(ReasoningMessageContentEvent, message_id=ID, delta=DELTA),
    owned(ReasoningMessageEndEvent, message_id=ID),
    owned(ReasoningMessageChunkEvent, message_id=SOME_ID, delta=DELTA),
    owned(
        ReasoningEncryptedValueEvent,
        subtype=st.sampled_from(["message", "tool-call", "dream"]),
        entity_id=ID,
        encrypted_value=DELTA,
    ),
    owned(StateSnapshotEvent, snapshot=ANY),
    owned(StateDeltaEvent, delta=PATCH),
    event(MessagesSnapshotEvent, messages=st.lists(st.builds(UserMessage, id=ID, content=st.just("x")), max_size=2)),
    owned(
        ActivitySnapshotEvent,
        message_id=ID,
        activity_type=ID,
        content=st.sampled_from([{}, {"n": 1}]),
        replace=st.sampled_from([None, False]),
    ),
    owned(ActivityDeltaEvent, message_id=ID, activity_type=ID, patch=PATCH),
    owned(StepStartedEvent, step_name=ID),
    owned(StepFinishedEvent, step_name=ID),
    event(SubagentStartedEvent, subagent_run_id=st.sampled_from(["s1", "s2"]), name=ID, parent_subagent_run_id=OWNER),
    event(SubagentFinishedEvent, subagent_run_id=st.sampled_from(["s1", "s2"])),
    event(SubagentErrorEvent, subagent_run_id=st.sampled_from(["s1", "s2"]), message=ID),
    owned(CustomEvent, name=ID, value=ANY),
    owned(RawEvent, event=ANY),
    event(RunStartedEvent, thread_id=ID, run_id=ID),
    event(RunFinishedEvent, thread_id=ID, run_id=ID),
    event(RunErrorEvent, message=ID),
    st.builds(Success, ANY),
    st.builds(Cancelled, st.sampled_from(["stop", "\ud800"])),
    st.lists(st.builds(Interrupt, id=ID, reason=ID, tool_call_id=SOME_ID), max_size=2).map(Interrupted),
    st.sampled_from([None, 5, "text", {"type": "CUSTOM"}]),
    st.sampled_from([AdapterError("told", "told"), KeyError("secret"), RecursionError()]),
)

SENSIBLE = st.one_of(
    st.builds(Text, DELTA, st.sampled_from([None, "m1", "m2"]), st.just(None)),
    st.builds(Text, DELTA, st.sampled_from([None, "n1"]), st.just("s1")),
    st.builds(Reasoning, DELTA, st.sampled_from([None, "z1"]), st.just(None)),
    st.builds(ToolCall, DELTA, st.sampled_from([None, "c1", "c2"]), st.sampled_from(["f", "pick"])),
    st.builds(ModelUsage, st.just("p"), st.sampled_from(["m", "n"]), COUNT, COUNT, COUNT, COUNT, COUNT),
    event(TextMessageEndEvent, message_id=st.sampled_from(["m1", "m2", "n1"])),
    event(ToolCallEndEvent, tool_call_id=st.sampled_from(["c1", "c2"])),
    event(
        ToolCallResultEvent,
        message_id=st.sampled_from(["t1", "t2", "t3"]),
        tool_call_id=st.sampled_from(["c1", "c2", "old"]),
        content=st.just("ok"),
    ),
    event(
        ReasoningEncryptedValueEvent,
        subtype=st.just("message"),
        entity_id=st.sampled_from(["z1", "z2"]),
        encrypted_value=DELTA,
    ),
    event(ReasoningMessageEndEvent, message_id=st.just("z1")),
    event(StateSnapshotEvent, snapshot=ANY),
    event(ActivitySnapshotEvent, message_id=st.just("act"), activity_type=ID, content=st.sampled_from([{}, {"n": 1}])),
    event(CustomEvent, name=st.just("a.b"), value=ANY),
)
"""Steps that fit together in nearly any order."""

NEARLY = st.tuples(
    st.lists(SENSIBLE, min_size=5, max_size=40), st.lists(st.tuples(st.integers(0, 40), STEPS), max_size=2)
).map(
    lambda drawn: _with(drawn[0], drawn[1]),
)
"""Sensible steps with up to two of any kind among them: random ones alone rarely get beyond the third."""


def _with(steps, others):
    steps = list(steps)
    for place, step in others:
        steps.insert(min(place, len(steps)), step)
    return steps


RUNS = NEARLY | st.lists(STEPS, max_size=25)
CUT = st.just(1000) | st.integers(0, 30)

HISTORY = [
    {"id": "u1", "role": "user", "content": "hi"},
    {
        "id": "old",
        "role": "assistant",
        "toolCalls": [{"id": "old", "type": "function", "function": {"name": "pick", "arguments": ""}}],
    },
]
FIELDS = {
    "messages": HISTORY,
    "state": {"a": {"b": [1]}},
    "tools": [{"name": "pick", "description": ""}],
}


def run(steps, cut):
    """Run the pipeline as the runtime does: a step that raises fails the run, a cut cancels it."""
    pipeline, _ = make_pipeline(**FIELDS)
    events = [*pipeline.start()]
    try:
        for number, step in enumerate(steps):
            if number == cut:
                return [*events, *pipeline.cancel("stopped")]
            if isinstance(step, BaseException):
                raise step  # noqa: TRY301 - as an adapter does
            if isinstance(step, ModelUsage):
                pipeline.spent(step)
            else:
                events += pipeline.feed(step)
        return [*events, *pipeline.finish()]
    except Exception as error:  # noqa: BLE001 - as the run's boundary does
        failure = describe_failure(error, debug=False)
        return [*events, *pipeline.fail(failure.message, failure.code, "id")]


def written(events):
    encoder = Encoder()
    return parse_sse(b"".join(map(encoder.encode, events)))


@settings(max_examples=1500, deadline=None)
@given(RUNS, CUT)
def test_any_run_is_a_conformant_stream_that_ends_once(steps, cut):
    events = written(run(steps, cut))
    assert judge(events, thread_id="t1") == []
    assert types(events)[0] == "RUN_STARTED"
    assert sum(kind in ("RUN_FINISHED", "RUN_ERROR") for kind in types(events)) == 1
    assert types(events)[-1] in ("RUN_FINISHED", "RUN_ERROR")
    assert "secret" not in json.dumps(events)


@settings(max_examples=500, deadline=None)
@given(RUNS)
def test_the_short_way_of_a_token_makes_the_event_of_the_long_way(steps):
    pipeline, _ = make_pipeline(**FIELDS)
    pipeline.start()
    for step in steps:
        if isinstance(step, ModelUsage):
            pipeline.spent(step)
            continue
        item = pipeline.continued(step)
        try:
            events = pipeline.feed(step)
        except Exception:  # noqa: BLE001 - as the run's boundary does
            assert item is None
            return
        if item is not None:
            assert events == [content_event(item, step.delta)]


@settings(max_examples=500, deadline=None)
@given(RUNS, CUT)
def test_every_patch_of_any_run_applies_to_what_the_consumer_holds(steps, cut):
    """patch-applies."""
    conversation = Conversation(HISTORY, FIELDS["state"])
    for one in written(run(steps, cut)):
        conversation.apply(one)
    assert not [warning for warning in conversation.warnings if "STATE" in warning]


@settings(max_examples=500, deadline=None)
@given(RUNS, CUT)
def test_the_copy_of_an_older_peer_keeps_the_order_too(steps, cut):
    given_input = RunAgentInput.model_validate(run_input(**FIELDS))
    view = OlderPeer(given_input, lambda _: None)
    events = written(one for event in run(steps, cut) for one in view(event))
    assert judge(events) == []
    text = json.dumps(events)
    for unknown in ("pendingToolCallIds", '"cancelled"}', "subagentRunId", "SUBAGENT_"):
        assert unknown not in text
    for one in events:
        if one["type"] == "TOOL_CALL_RESULT":
            assert isinstance(one["content"], str)
    first = next((one["type"] for one in events if one["type"].startswith("STATE_")), "STATE_SNAPSHOT")
    assert first == "STATE_SNAPSHOT"


@settings(max_examples=300, deadline=None)
@given(st.lists(SENSIBLE, max_size=40))
def test_sensible_steps_end_well(steps):
    """The property above would hold for a pipeline that refuses everything."""
    assert types(written(run(steps, 1000)))[-1] == "RUN_FINISHED"
