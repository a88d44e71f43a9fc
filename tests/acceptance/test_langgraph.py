"""A newcomer's path: the example is served as its docstring says, and the public clients talk to it.

A tool, an approval that is given or denied, a question, the state that both sides change, a tool of the page, an agent
within the agent; and a server that is started anew in the middle of each.
"""

import json
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path

import pytest
from acceptance.conftest import CURRENT, OLDER, Client, Conversation, Server, playing
from support.command import serving
from support.shop import PICK_TEA, call_of, resume, texts

EXAMPLE = "examples.langgraph_agent:graph"

TOOLS = {"tools": [PICK_TEA]}
NOTE = "for the office"


@pytest.fixture(scope="module")
def start(tmp_path_factory: pytest.TempPathFactory) -> Callable[[], AbstractContextManager[Server]]:
    """Start the example; each server has the threads of all before it."""
    threads = tmp_path_factory.mktemp("threads") / "tea-shop.db"
    return lambda: serving(tmp_path_factory.mktemp("example"), EXAMPLE, env={"TEA_SHOP": str(threads)})


@pytest.fixture(scope="module")
def server(start) -> Iterator[Server]:
    """Serve the example."""
    with start() as served:
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
    steps = [event["stepName"] for event in heard.of("STEP_STARTED")]
    assert [step for step in steps if "." not in step] == ["model", "tools", "model"]


def test_both_sides_change_the_state(conversation):
    assert conversation.say("Add some.").state == {"packets": {"green": 2}}
    assert conversation.say("Add more.").state == {"packets": {"green": 4}}
    edited = {"packets": {"oolong": 1}}
    assert conversation.say("Add some.", state=edited).state == {"packets": {"oolong": 1, "green": 2}}


def test_a_state_that_is_none_of_the_graphs_is_refused_with_its_field(conversation):
    refused = conversation.attempt(state={"packets": {"coffee": 1}})

    assert refused.error.startswith("Error: HTTP 422: ")
    assert "/state/packets/coffee" in refused.error


def test_nothing_is_ordered_before_the_customer_agrees(conversation):
    before = conversation.say("Add some.").state
    asked = conversation.say("Order it, please.")

    assert asked.outcome == "interrupt"
    (interrupt,) = asked.pending_interrupts
    assert interrupt["message"] == "Order what is in the cart?"
    (call,) = asked.new_messages[0]["toolCalls"]
    assert (interrupt["reason"], interrupt["toolCallId"]) == ("tool_call", call["id"])
    assert call_of(asked.new_messages[0]) == ("order", {"note": NOTE})
    assert asked.of("TOOL_CALL_RESULT") == []
    assert asked.state == before


DENIED = "User rejected the tool call for `order` with "


@pytest.mark.parametrize(
    ("status", "payload", "result", "left"),
    [
        ("resolved", {"approved": True}, f"ordered for 9.00 euros, with the note '{NOTE}'$", {}),
        ("resolved", {"approved": True, "editedArgs": {"note": ""}}, "(?s).*ordered for 9.00 euros$", {}),
        ("resolved", {"approved": False}, f"{DENIED}id .+ was not executed", {"green": 2}),
        ("resolved", {"approved": False, "reason": "too dear"}, f"{DENIED}reason: too dear$", {"green": 2}),
        ("resolved", {"type": "reject", "message": "too dear"}, f"{DENIED}reason: too dear$", {"green": 2}),
        ("cancelled", None, f"{DENIED}reason: The user dismissed the request", {"green": 2}),
    ],
    ids=["approved", "edited", "denied", "denied with a reason", "denied in LangChain's words", "dismissed"],
)
def test_what_the_customer_answers_is_done(conversation, status, payload, result, left):
    conversation.say("Add some.")
    asked = conversation.say("Order it, please.")
    heard = conversation.run(run=resume(asked, status, payload))

    assert heard.outcome == "success"
    assert heard.pending_interrupts == []
    (_, told), (_, said) = texts(heard.new_messages)
    assert re.match(result, told), told
    assert said.split() == f"order: {told}".split()
    assert heard.of("TOOL_CALL_START") == []
    assert heard.state == {"packets": left}


def test_an_answer_works_once(conversation):
    conversation.say("Add some.")
    asked = conversation.say("Order it, please.")
    answer = resume(asked, "resolved", {"approved": True})
    conversation.run(run=answer)
    again = conversation.say("Add some.", run=answer)

    assert again.state == {"packets": {"green": 2}}
    assert [event["content"] for event in again.of("TOOL_CALL_RESULT")] == ["2 packets of green tea were added"]


def test_a_tool_asks_the_customer(conversation):
    asked = conversation.say("Deliver it, please.")
    (question,) = asked.pending_interrupts
    assert question["message"] == "On which day shall it come?"
    assert question["responseSchema"]["anyOf"][0]["enum"] == ["Monday", "Friday"]

    refused = conversation.run(run=resume(asked, "resolved", "Sunday"))
    assert refused.outcome == "invalid_resume"
    heard = conversation.run(run=resume(asked, "resolved", "Friday"))
    assert texts(heard.new_messages) == [("tool", "it comes on Friday"), ("assistant", "deliver: it comes on Friday")]


def test_a_question_may_be_dismissed(conversation):
    asked = conversation.say("Deliver it, please.")
    heard = conversation.run(run=resume(asked, "cancelled"))
    assert texts(heard.new_messages) == [("tool", "no day was chosen"), ("assistant", "deliver: no day was chosen")]


def test_an_agent_within_the_agent_is_heard(conversation):
    words = "An oolong: it lasts for many cups."
    heard = conversation.say("Advise me.")

    assert heard.outcome == "success"
    assert texts(heard.new_messages) == [
        ("assistant", None),
        ("tool", words),  # a client puts a result behind its call
        ("assistant", words),
        ("assistant", f"advise: {words}"),
    ]
    assert [one["name"] for one in heard.of("SUBAGENT_STARTED")] == (["taster"] if conversation.is_current else [])
    (usage,) = heard.events[-1]["usage"]
    assert usage["outputTokens"] == 3  # the taster's as well
    assert conversation.say("What does it cost?").new_messages[-1]["content"] == "price: 4.5"


@pytest.mark.parametrize(
    ("answer", "told"),
    [({"content": "oolong"}, "oolong"), ({"content": "", "error": "no tea picked"}, "no tea picked")],
    ids=["answered", "declined"],
)
def test_a_tool_of_the_page_is_answered_by_the_page(conversation, answer, told):
    asked = conversation.say("Let me pick.", run=TOOLS)
    (caller,) = asked.new_messages
    (call,) = [call["id"] for call in caller["toolCalls"]]

    assert call_of(caller) == ("pick_tea", {"question": "Which tea would you like?"})
    assert (asked.outcome, asked.pending_interrupts) == ("success", [])
    if conversation.is_current:  # the older client has to find out by itself
        assert asked.finished["pendingToolCallIds"] == [call]

    heard = conversation.run(messages=[{"id": "a1", "role": "tool", "toolCallId": call, **answer}], run=TOOLS)
    assert heard.outcome == "success"
    assert texts(heard.new_messages) == [("assistant", f"pick_tea: {told}")]
    assert heard.of("TOOL_CALL_START", "TOOL_CALL_RESULT") == []


def test_without_such_a_tool_the_agent_does_not_call_it(conversation):
    (message,) = conversation.say("Let me pick.").new_messages

    assert message["content"] == "Ask me with one of the words cost, add, order, deliver, advise, pick."


def picked(asked, tea):
    (call,) = asked.new_messages[-1]["toolCalls"]
    return {"messages": [{"id": "a1", "role": "tool", "toolCallId": call["id"], "content": tea}], "run": TOOLS}


@pytest.mark.parametrize("version", [CURRENT, OLDER])
def test_a_thread_outlives_the_server(version, start, node):
    """What was asked before a restart is answered behind it, and answered once."""
    with playing(version, "http://127.0.0.1/", node) as client:
        buyer, guest, picker = (Conversation(client) for _ in range(3))
        with start() as first:
            there = {"url": f"{first.url}/"}
            buyer.say("Add some.", **there)
            consent, question = buyer.say("Order it.", **there), guest.say("Deliver it.", **there)
            pick = picker.say("Let me pick.", run=TOOLS, **there)
        with start() as second:
            there = {"url": f"{second.url}/"}
            agreed = resume(consent, "resolved", {"approved": True})
            ordered = buyer.run(run=agreed, **there)
            chosen = guest.run(run=resume(question, "resolved", "Monday"), **there)
            pointed = picker.run(**picked(pick, "oolong"), **there)
        with start() as third:
            there = {"url": f"{third.url}/"}
            again = buyer.run(run=agreed, **there)
            shown = buyer.say("Add some.", **there)

    assert texts(ordered.new_messages)[0] == ("tool", f"ordered for 9.00 euros, with the note '{NOTE}'")
    assert ordered.state == {"packets": {}}
    assert texts(chosen.new_messages)[-1] == ("assistant", "deliver: it comes on Monday")
    assert texts(pointed.new_messages) == [("assistant", "pick_tea: oolong")]
    assert (again.outcome, again.of("TOOL_CALL_RESULT")) == ("success", [])
    assert shown.state == {"packets": {"green": 2}}
    messages = shown.messages
    assert len({message["id"] for message in messages}) == len(messages)


def test_a_thread_through_all_of_it(conversation, server):
    runs = [conversation.say("What does it cost?", run=TOOLS), conversation.say("Let me pick.", run=TOOLS)]
    runs.append(conversation.run(**picked(runs[-1], "green")))
    runs.append(conversation.say("Add it.", run=TOOLS))
    runs.append(conversation.say("Order it.", run=TOOLS))
    runs.append(conversation.run(run={**resume(runs[-1], "resolved", {"approved": False}), **TOOLS}))
    runs.append(conversation.say("Deliver it.", run=TOOLS))
    runs.append(conversation.run(run={**resume(runs[-1], "resolved", "Friday"), **TOOLS}))
    runs.append(conversation.say("Then order it.", run=TOOLS))
    runs.append(conversation.run(run={**resume(runs[-1], "resolved", {"approved": True}), **TOOLS}))

    outcomes = [*["success"] * 4, "interrupt", "success", "interrupt", "success", "interrupt", "success"]
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
