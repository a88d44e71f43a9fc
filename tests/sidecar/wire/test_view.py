"""The copy of a peer from before 1.0."""

import pytest
from ag_ui.core import RunAgentInput
from support.agents import run_input

from sidecar.wire.view import OlderPeer, as_written


def seen(*events, state=None):
    warnings = []
    view = OlderPeer(RunAgentInput.model_validate(run_input(state=state)), warnings.append)
    return [one for event in events for one in view(event)], warnings


def finished(**fields):
    return {"type": "RUN_FINISHED", "threadId": "t", "runId": "r", **fields}


def test_a_current_peer_gets_what_was_written():
    event = finished(outcome={"type": "cancelled"})
    assert list(as_written(event)) == [event]


def test_pending_calls_are_left_out_without_a_word():
    events, warnings = seen(finished(outcome={"type": "success", "pendingToolCallIds": ["c"]}, result=1))
    assert events == [finished(outcome={"type": "success"}, result=1)]
    assert warnings == []


def test_a_run_without_an_outcome_stays_one():
    events, _ = seen(finished())
    assert events == [finished()]


def test_a_stopped_run_ends_as_an_error_because_success_would_lie():
    usage = [{"inputTokens": 1}]
    events, _ = seen(finished(outcome={"type": "cancelled"}, usage=usage, metadata={"k": 1}))
    assert events == [
        {
            "type": "RUN_ERROR",
            "message": "The run was stopped.",
            "code": "cancelled",
            "usage": usage,
            "metadata": {"k": 1},
        }
    ]


def test_interrupts_stay_but_for_their_attribution():
    interrupt = {"id": "i", "reason": "x", "subagentRunId": "a"}
    events, _ = seen(finished(outcome={"type": "interrupt", "interrupts": [interrupt]}))
    assert events[0]["outcome"]["interrupts"] == [{"id": "i", "reason": "x"}]


def test_lists_in_results_become_their_text():
    picture = {"type": "image", "source": {"type": "url", "value": "http://x"}}
    parts = [{"type": "text", "text": "a"}, picture, {"type": "text", "text": "b"}]
    result = {"type": "TOOL_CALL_RESULT", "messageId": "m", "toolCallId": "c", "content": parts}
    events, warnings = seen(result, {**result, "content": [picture]}, {**result, "content": "plain"})
    assert [event["content"] for event in events] == ["ab", "", "plain"]
    assert len(warnings) == 1
    assert "image" in warnings[0]


def test_messages_are_downgraded_one_by_one():
    tool = {
        "id": "1",
        "role": "tool",
        "toolCallId": "c",
        "content": [{"type": "text", "text": "a"}],
        "subagentRunId": "s",
    }
    handle = {"type": "document", "source": {"type": "file", "value": "f-1"}}
    user = {"id": "2", "role": "user", "content": [{"type": "text", "text": "b"}, handle]}
    plain = {"id": "4", "role": "user", "content": [{"type": "text", "text": "c"}]}
    snapshot = {"type": "MESSAGES_SNAPSHOT", "messages": [tool, user, {"id": "3", "role": "assistant"}, plain]}
    events, warnings = seen(snapshot)
    assert events[0]["messages"] == [
        {"id": "1", "role": "tool", "toolCallId": "c", "content": "a"},
        {"id": "2", "role": "user", "content": [{"type": "text", "text": "b"}]},
        {"id": "3", "role": "assistant"},
        plain,
    ]
    assert len(warnings) == 1


def test_subagents_and_their_steps_are_left_out_and_their_text_joins_the_conversation():
    events, warnings = seen(
        {"type": "SUBAGENT_STARTED", "subagentRunId": "a", "name": "n"},
        {"type": "STEP_STARTED", "stepName": "s", "subagentRunId": "a"},
        {"type": "STEP_STARTED", "stepName": "s"},
        {"type": "TEXT_MESSAGE_START", "messageId": "m", "subagentRunId": "a"},
        {"type": "TEXT_MESSAGE_CONTENT", "messageId": "m", "delta": "x", "subagentRunId": "a"},
        {"type": "SUBAGENT_ERROR", "subagentRunId": "a", "message": "no"},
        {"type": "SUBAGENT_FINISHED", "subagentRunId": "a"},
    )
    assert events[:3] == [
        {"type": "STEP_STARTED", "stepName": "s"},
        {"type": "TEXT_MESSAGE_START", "messageId": "m"},
        {"type": "TEXT_MESSAGE_CONTENT", "messageId": "m", "delta": "x"},
    ]
    assert len(events) == 3
    assert len(warnings) == 4
    assert all("upgrade its client" in warning for warning in warnings)


@pytest.mark.parametrize(("given", "expected"), [(None, {"a": 1}), ({"b": 2}, {"b": 2, "a": 1})])
def test_the_first_delta_of_a_run_comes_as_the_whole_state(given, expected):
    delta = {"type": "STATE_DELTA", "delta": [{"op": "add", "path": "/a", "value": 1}], "metadata": {"k": 1}}
    events, _ = seen(delta, delta, state=given)
    assert events == [{"type": "STATE_SNAPSHOT", "snapshot": expected, "metadata": {"k": 1}}, delta]


def test_a_delta_after_a_snapshot_stays_a_delta():
    snapshot = {"type": "STATE_SNAPSHOT", "snapshot": {}}
    delta = {"type": "STATE_DELTA", "delta": []}
    assert seen(snapshot, delta)[0] == [snapshot, delta]
