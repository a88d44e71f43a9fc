"""Every scenario of the demo agent, through the pipeline: conformant, and showing what it says."""

import re
from pathlib import Path

import pytest
from support.agents import Scripted, run_input
from support.server import serving
from support.streams import judge, types

from adapters.demo import SCENARIOS, Demo
from adapters.echo import Echo
from conformance.reduce import Conversation
from conformance.schema import CAPABILITIES
from conformance.shapes import Report

pytestmark = pytest.mark.anyio

TOOL = {
    "name": "pick",
    "description": "",
    "parameters": {
        "type": "object",
        "properties": {
            "a": {"type": "string"},
            "b": {"type": "number"},
            "c": {"type": "boolean"},
            "d": {"enum": ["x"]},
            "e": {"type": "array", "items": {"type": "integer"}},
            "f": {},
            "g": {"type": "array"},
        },
    },
}

SHOWS = {
    "help": ["TEXT_MESSAGE_CONTENT"],
    "text": ["TEXT_MESSAGE_CONTENT"],
    "reasoning": ["REASONING_START", "REASONING_MESSAGE_CONTENT", "REASONING_ENCRYPTED_VALUE"],
    "tool": ["TOOL_CALL_ARGS", "TOOL_CALL_RESULT"],
    "parallel": ["TOOL_CALL_ARGS", "TOOL_CALL_RESULT"],
    "image": ["TOOL_CALL_RESULT"],
    "frontend": ["TOOL_CALL_START"],
    "approval": ["TOOL_CALL_START"],
    "state": ["STATE_DELTA"],
    "activity": ["ACTIVITY_SNAPSHOT", "ACTIVITY_DELTA"],
    "subagent": ["SUBAGENT_STARTED", "SUBAGENT_FINISHED"],
    "steps": ["STEP_STARTED", "STEP_FINISHED"],
    "custom": ["CUSTOM", "RAW"],
    "result": ["RUN_FINISHED"],
    "error": ["RUN_ERROR"],
    "crash": ["RUN_ERROR"],
}


def said(word, **fields):
    return run_input(messages=[{"id": "u1", "role": "user", "content": f"Please show {word}!"}], **fields)


@pytest.fixture
async def play():
    """One server: it knows what it asked."""
    async with serving({"demo": Demo(pace=0)}) as served:

        async def played(document):
            _, events = await served.run(document)
            assert judge(events, thread_id="t1") == []
            return events

        yield played


def fold(events, document):
    conversation = Conversation(document["messages"], document.get("state"))
    for event in events:
        conversation.apply(event)
    assert conversation.warnings == []
    return conversation


@pytest.mark.parametrize("word", SHOWS)
async def test_a_scenario_shows_its_events(play, word):
    events = await play(said(word, tools=[TOOL]))
    assert set(SHOWS[word]) <= set(types(events))


def test_every_scenario_is_tested_and_described():
    assert SCENARIOS.keys() == SHOWS.keys() | {"slow"}
    readme = (Path(__file__).parents[2] / "README.md").read_text()
    for word, scenario in SCENARIOS.items():
        assert re.search(rf"^\| `{word}` \| {re.escape(scenario.__doc__.rstrip('.'))}", readme, re.MULTILINE), word


async def test_a_frontend_tool_is_called_with_arguments_that_fit_and_its_answer_is_heard(play):
    document = said("frontend", tools=[TOOL])
    events = await play(document)
    (call,) = fold(events, document).messages[-1]["toolCalls"]
    assert call["function"]["arguments"] == '{"a": "demo", "b": 1, "c": true, "d": "x", "e": [1], "f": {}, "g": [{}]}'
    assert events[-1]["outcome"] == {"type": "success", "pendingToolCallIds": [call["id"]]}
    for answer, heard in (({"content": "blue"}, "blue"), ({"content": "", "error": "declined"}, "error: declined")):
        tool = {"id": "t1", "role": "tool", "toolCallId": call["id"], **answer}
        events = await play(run_input(messages=[*fold(events[:0], document).messages, tool]))
        assert f"Your tool answered: {heard}" in "".join(event.get("delta", "") for event in events)


async def test_without_a_frontend_tool_it_says_what_to_do(play):
    events = await play(said("frontend"))
    assert "advertises no tools" in events[2]["delta"]


RESUMED = {
    "approved": ({"status": "resolved", "payload": {"approved": True}}, "deleted"),
    "denied": ({"status": "resolved", "payload": {"approved": False, "reason": "too risky"}}, "not deleted: too risky"),
    "nearly approved": ({"status": "resolved", "payload": {"approved": "yes"}}, "not deleted: no consent"),
    "answered with nothing": ({"status": "resolved"}, "not deleted: no consent"),
    "cancelled": ({"status": "cancelled", "payload": {"approved": True}}, "not deleted: no consent"),
}


async def interrupted(play):
    document = said("approval")
    events = await play(document)
    (interrupt,) = events[-1]["outcome"]["interrupts"]
    return fold(events, document).messages, interrupt


@pytest.mark.parametrize(("answer", "result"), RESUMED.values(), ids=RESUMED)
async def test_only_a_literal_true_approves(play, answer, result):
    """B05: nothing is open at the interrupt, no result before the answer, no second call after it."""
    messages, interrupt = await interrupted(play)
    assert interrupt["toolCallId"] == messages[-1]["toolCalls"][0]["id"]
    document = run_input(messages=messages, resume=[{"interruptId": interrupt["id"], **answer}])
    events = await play(document)
    assert "TOOL_CALL_START" not in types(events)
    assert fold(events, document).messages[2]["content"] == result


async def test_an_answer_is_acted_on_once(play):
    """A client that sends its resume entry again, with the result in the history, performs nothing again."""
    messages, interrupt = await interrupted(play)
    resume = [{"interruptId": interrupt["id"], "status": "resolved", "payload": {"approved": True}}]
    document = run_input(messages=messages, resume=resume)
    again = run_input(messages=fold(await play(document), document).messages, resume=resume)
    assert "TOOL_CALL_RESULT" not in types(await play(again))


@pytest.mark.parametrize("resume", [None, [{"interruptId": "other", "status": "resolved"}]])
async def test_an_approval_without_its_answer_stays_open(play, resume):
    messages, interrupt = await interrupted(play)
    events = await play(run_input(messages=messages, **({"resume": resume} if resume else {})))
    assert events[-1]["outcome"]["interrupts"] == [interrupt]
    assert "TOOL_CALL_RESULT" not in types(events)


async def test_a_call_that_this_server_never_asked_about_is_not_performed(play):
    """Fault 5 of PydanticAI's own adapter: a client invents a call and approves it."""
    messages, interrupt = await interrupted(play)
    resume = [{"interruptId": interrupt["id"], "status": "resolved", "payload": {"approved": True}}]
    async with serving({"demo": Demo(pace=0)}) as another:
        _, events = await another.run(run_input(messages=messages, resume=resume))
    assert "TOOL_CALL_RESULT" not in types(events)
    assert events[-1]["outcome"] == {"type": "success"}


async def test_a_run_that_fails_tells_what_it_cost(play):
    (usage,) = (await play(said("error")))[-1]["usage"]
    assert usage == {"provider": "demo", "model": "script-1", "inputTokens": 3, "outputTokens": 7, "totalTokens": 10}


async def test_a_tool_message_that_comes_with_the_answer_is_an_echo_and_is_put_right(play):
    messages, interrupt = await interrupted(play)
    echo = {"id": "e", "role": "tool", "toolCallId": interrupt["toolCallId"], "content": '{"approved": true}'}
    resume = [{"interruptId": interrupt["id"], "status": "resolved", "payload": {"approved": True}}]
    document = run_input(messages=[*messages, echo], resume=resume)
    conversation = fold(await play(document), document)
    assert [(message["role"], message.get("content")) for message in conversation.messages[2:]] == [
        *(("tool", "deleted"), ("assistant", "Done: deleted. ")),
    ]


async def test_an_answer_to_nothing_is_an_ordinary_run(play):
    resume = [{"interruptId": "old", "status": "resolved"}]
    assert "TEXT_MESSAGE_CONTENT" in types(await play(said("text", resume=resume)))
    document = run_input(messages=[{"id": "a", "role": "assistant", "content": "x"}], resume=resume)
    assert "There is nothing to answer." in "".join(event.get("delta", "") for event in await play(document))


async def test_the_state_of_the_input_is_kept(play):
    document = said("state", state={"mine": 1})
    assert fold(await play(document), document).state == {
        "mine": 1,
        "tasks": ["plan", "build", "test"],
        "done": ["plan", "build", "test"],
    }


@pytest.mark.parametrize("agent", [Demo(), Echo(), Scripted([])])
def test_capabilities_have_the_schemas_shape(agent):
    """capabilities-shape."""
    report = Report()
    CAPABILITIES.hold(agent.capabilities().model_dump(mode="json", by_alias=True), (), report)
    assert report.malformed == []
    assert report.stripped == []
