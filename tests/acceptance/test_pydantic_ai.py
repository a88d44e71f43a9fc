"""A newcomer's path: the example is served as its docstring says, and the public clients talk to it.

A tool, an approval that is given or denied, the state that both sides change, a tool of the page.
"""

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from acceptance.conftest import CURRENT, OLDER, Client, Server, playing
from support.agents import run_input
from support.command import serving
from support.shop import PICK_TEA, call_of, resume, texts

EXAMPLE = "examples.pydantic_ai_agent:agent"

NOTE = "for the office"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """Serve the example."""
    with serving(tmp_path_factory.mktemp("example"), EXAMPLE) as served:
        yield served


@pytest.fixture(scope="module", params=[CURRENT, OLDER])
def client(request: pytest.FixtureRequest, server: Server, node: dict[str, str]) -> Iterator[Client]:
    """Run each of the clients."""
    with playing(request.param, f"{server.url}/", node) as client:
        yield client


def test_a_tool_is_called_and_its_result_told(conversation):
    heard = conversation.say("What does it cost?")

    assert heard.outcome == "success"
    assert texts(heard.new_messages) == [("assistant", None), ("tool", "4.5"), ("assistant", "price: 4.5")]
    assert call_of(heard.new_messages[0]) == ("price", {"tea": "green"})
    assert heard.events[-1]["usage"][0]["model"] == "script"


def test_both_sides_change_the_state(conversation):
    first = conversation.say("Add some.")
    assert first.state == {"packets": {"green": 2}}
    assert conversation.say("Add more.").state == {"packets": {"green": 4}}
    edited = {"packets": {"oolong": 1}}
    assert conversation.say("Add some.", state=edited).state == {"packets": {"oolong": 1, "green": 2}}


def test_a_state_that_is_none_of_the_agents_is_refused_with_its_field(conversation):
    refused = conversation.attempt(state={"packets": {"coffee": 1}})

    assert refused.error.startswith("Error: HTTP 422: ")
    assert "/state/packets/coffee" in refused.error


def test_nothing_is_ordered_before_the_customer_agrees(conversation):
    before = conversation.say("Add some.").state
    asked = conversation.say("Order it, please.")

    assert asked.outcome == "interrupt"
    (interrupt,) = asked.pending_interrupts
    assert interrupt["message"] == f'Approve order({{"note": "{NOTE}"}})?'
    assert call_of(asked.new_messages[0]) == ("order", {"note": NOTE})
    assert asked.of("TOOL_CALL_RESULT") == []
    assert asked.state == before


@pytest.mark.parametrize(
    ("status", "payload", "result", "left"),
    [
        ("resolved", {"approved": True}, f"ordered for 9.00 euros, with the note '{NOTE}'", {}),
        ("resolved", {"approved": True, "editedArgs": {"note": ""}}, "ordered for 9.00 euros", {}),
        ("resolved", {"approved": False}, "The tool call was denied.", {"green": 2}),
        ("resolved", {"approved": False, "reason": "too dear"}, "too dear", {"green": 2}),
        ("cancelled", None, "The user dismissed the request; the action was not performed.", {"green": 2}),
    ],
    ids=["approved", "edited", "denied", "denied with a reason", "dismissed"],
)
def test_what_the_customer_answers_is_done(conversation, status, payload, result, left):
    conversation.say("Add some.")
    asked = conversation.say("Order it, please.")
    heard = conversation.run(run=resume(asked, status, payload))

    assert heard.outcome == "success"
    assert heard.pending_interrupts == []
    assert texts(heard.new_messages) == [("tool", result), ("assistant", f"order: {result}")]
    assert heard.of("TOOL_CALL_START") == []
    assert heard.state == {"packets": left}


def test_an_answer_works_once(conversation):
    conversation.say("Add some.")
    asked = conversation.say("Order it, please.")
    answer = resume(asked, "resolved", {"approved": True})
    conversation.run(run=answer)
    again = conversation.say("Add some.", run=answer)

    assert again.state == {"packets": {"green": 2}}
    assert [event["content"] for event in again.of("TOOL_CALL_RESULT")] == ["2 packets of green tea are in the cart"]


@pytest.mark.parametrize(
    ("answer", "told"),
    [({"content": "oolong"}, "oolong"), ({"content": "", "error": "no tea picked"}, '{"error":"no tea picked"}')],
    ids=["answered", "declined"],
)
def test_a_tool_of_the_page_is_answered_by_the_page(conversation, answer, told):
    tools = {"tools": [PICK_TEA]}
    asked = conversation.say("Let me pick.", run=tools)
    (caller,) = asked.new_messages
    (call,) = [call["id"] for call in caller["toolCalls"]]

    assert call_of(caller) == ("pick_tea", {"question": "Which tea would you like?"})
    assert asked.outcome == "success"
    if conversation.is_current:  # the older client has to find out by itself
        assert asked.finished["pendingToolCallIds"] == [call]

    heard = conversation.run(messages=[{"id": "a1", "role": "tool", "toolCallId": call, **answer}], run=tools)
    assert heard.outcome == "success"
    assert texts(heard.new_messages) == [("assistant", f"pick_tea: {told}")]
    assert heard.of("TOOL_CALL_START", "TOOL_CALL_RESULT") == []


def test_without_such_a_tool_the_agent_does_not_call_it(conversation):
    (message,) = conversation.say("Let me pick.").new_messages

    assert message["content"] == "Ask me with one of the words cost, add, order, pick."


def test_a_thread_through_all_of_it(conversation, server):
    tools = {"tools": [PICK_TEA]}
    runs = [conversation.say("What does it cost?", run=tools), conversation.say("Let me pick.", run=tools)]
    (call,) = [call["id"] for call in runs[-1].new_messages[0]["toolCalls"]]
    runs.append(
        conversation.run(messages=[{"id": "a1", "role": "tool", "toolCallId": call, "content": "green"}], run=tools)
    )
    runs.append(conversation.say("Add it.", run=tools))
    runs.append(conversation.say("Order it.", run=tools))
    runs.append(conversation.run(run={**resume(runs[-1], "resolved", {"approved": False}), **tools}))
    runs.append(conversation.say("Then order it later.", run=tools))
    runs.append(conversation.run(run={**resume(runs[-1], "resolved", {"approved": True}), **tools}))

    outcomes = ["success", "success", "success", "success", "interrupt", "success", "interrupt", "success"]
    assert [run.outcome for run in runs] == outcomes
    assert runs[-2].state == {"packets": {"green": 2}}
    assert runs[-1].state == {"packets": {}}
    messages = runs[-1].messages
    assert len({message["id"] for message in messages}) == len(messages)
    calls = [call["id"] for message in messages for call in message.get("toolCalls", ())]
    assert [message["toolCallId"] for message in messages if message["role"] == "tool"] == calls
    assert [server.lines(run.run_id, "run warning") for run in runs] == [[]] * len(runs)


def test_the_conformance_suite_finds_nothing(server):
    command = [Path(sys.executable).with_name("agui-conformance"), "check", server.url, "--probe", "--format", "json"]
    done = subprocess.run(command, capture_output=True, check=False, encoding="utf-8", timeout=60)
    assert done.returncode == 0, done.stdout + done.stderr
    assert json.loads(done.stdout)["findings"] == []


def test_another_model_answers_where_the_server_is_told_so(tmp_path):
    with serving(tmp_path, EXAMPLE, "--model", "test") as served:
        body = httpx.post(served.url, json=run_input(messages=[{"id": "u", "role": "user", "content": "cost"}])).text
    assert '"toolCallName":"add"' in body  # PydanticAI's own test model calls every tool that there is
    assert '"model":"test"' in body
