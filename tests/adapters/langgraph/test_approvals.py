"""Calls that need consent: asked for once each, performed only as answered, whoever's client answers."""

import json

import pytest
from langchain.agents import create_agent
from langchain.agents.middleware import HumanInTheLoopMiddleware
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import interrupt
from support.scripted import Scripted
from support.session import session

from adapters.langgraph import LangGraph
from conformance.consumer import Ending

pytestmark = pytest.mark.anyio


class Bank:
    """An agent whose payments need consent, its model told which calls to make."""

    def __init__(self, *turns, mode="per_call", allowed=True):
        self.done: list[str] = []
        self.model = Scripted(turns=list(turns))

        @tool
        def pay(amount: int) -> str:
            """Pay."""
            self.done.append(f"pay {amount}")
            return f"paid {amount}"

        @tool
        def look(what: str) -> str:
            """Look."""
            self.done.append(f"look {what}")
            return f"{what} is fine"

        @tool
        def delete(name: str) -> str:
            """Delete, once its own question is answered."""
            self.done.append(f"ask {name}")
            if interrupt({"message": f"Delete {name}?", "toolCallId": "d1"}) is not True:
                return "kept"
            self.done.append(f"delete {name}")
            return f"{name} is gone"

        consent = HumanInTheLoopMiddleware({"pay": allowed}, interrupt_mode=mode)
        agent = create_agent(self.model, [pay, look, delete], middleware=[consent], checkpointer=InMemorySaver())
        self.adapter = LangGraph(agent)


PAY = ("pay", {"amount": 100}, "c1")


@pytest.mark.parametrize("mode", ["per_call", "batched"])
@pytest.mark.parametrize(
    ("payload", "done", "told"),
    [
        ({"approved": True}, ["pay 100"], "paid 100"),
        ({"approved": True, "editedArgs": {"amount": 50}}, ["pay 50"], "paid 50"),
        ({"approved": False}, [], "rejected"),
        ({"approved": False, "reason": "too much"}, [], "too much"),
        ("cancelled", [], "dismissed"),
    ],
)
async def test_an_approval_is_what_is_performed(mode, payload, done, told):
    """B30, B31 (a): the same from any client, in both modes of LangChain's middleware."""
    bank = Bank([PAY], mode=mode)
    async with session(bank.adapter) as client:
        run = await client.say("pay")
        assert (run.ending, bank.done, run.results) == (Ending.INTERRUPTED, [], {})
        (asked,) = run.asked
        assert (asked["reason"], asked["toolCallId"]) == ("tool_call", "c1")
        assert [event["toolCallId"] for event in run.of("TOOL_CALL_END")] == ["c1"]
        run = await client.resume({asked["id"]: payload})
        assert (run.ending, bank.done) == (Ending.SUCCEEDED, done)
        assert told in run.results["c1"]
        assert run.of("TOOL_CALL_START") == run.of("TOOL_CALL_ARGS") == []
        assert [message["role"] for message in client.messages] == ["user", "assistant", "tool", "assistant"]
        run = await client.say("thanks")
        assert (run.ending, bank.done, run.results) == (Ending.SUCCEEDED, done, {})


async def test_langchains_own_decisions_are_taken_too():
    bank = Bank([PAY])
    async with session(bank.adapter) as client:
        (asked,) = (await client.say("pay")).asked
        run = await client.resume({asked["id"]: {"type": "respond", "message": "paid by hand"}})
    assert (run.results, bank.done) == ({"c1": "paid by hand"}, [])


async def test_one_gated_call_among_others():
    """B11: the others run at once and once, and nothing is invented."""
    bank = Bank([("look", {"what": "a"}, "c1"), ("pay", {"amount": 1}, "c2"), ("look", {"what": "b"}, "c3")])
    async with session(bank.adapter) as client:
        run = await client.say("pay")
        assert run.results == {"c1": "a is fine", "c3": "b is fine"}
        assert [one["toolCallId"] for one in run.asked] == ["c2"]
        run = await client.resume({run.asked[0]["id"]: {"approved": True}})
    assert (run.ending, run.results) == (Ending.SUCCEEDED, {"c2": "paid 1"})
    assert sorted(bank.done) == ["look a", "look b", "pay 1"]


async def test_edited_arguments_that_do_not_fit_perform_nothing():
    bank = Bank([PAY, ("pay", {"amount": 7}, "c2")])
    async with session(bank.adapter) as client:
        one, other = (await client.say("pay")).asked
        edited = {"approved": True, "editedArgs": {"amount": "a lot"}}
        run = await client.resume({one["id"]: {"approved": True}, other["id"]: edited})
        assert (run.error[0], bank.done) == ("invalid_resume", [])
        run = await client.resume({one["id"]: {"approved": True}, other["id"]: {"approved": False}})
    assert (run.ending, bank.done) == (Ending.SUCCEEDED, ["pay 100"])


async def test_several_calls_asked_for_in_one():
    bank = Bank([PAY, ("look", {"what": "a"}, "c2"), ("pay", {"amount": 7}, "c3")], mode="batched")
    async with session(bank.adapter) as client:
        (asked,) = (await client.say("pay")).asked
        run = await client.resume({asked["id"]: {"decisions": [{"type": "approve"}]}})
        assert (run.error[0], bank.done) == ("invalid_resume", [])
        decisions = [{"type": "reject", "message": "no"}, {"type": "approve"}]
        run = await client.resume({asked["id"]: {"decisions": decisions}})
    assert (run.ending, sorted(bank.done)) == (Ending.SUCCEEDED, ["look a", "pay 7"])
    assert run.results.keys() == {"c1", "c2", "c3"}


async def test_several_calls_dismissed_in_one():
    bank = Bank([PAY, ("pay", {"amount": 7}, "c3")], mode="batched")
    async with session(bank.adapter) as client:
        (asked,) = (await client.say("pay")).asked
        run = await client.resume({asked["id"]: "cancelled"})
    assert (run.ending, bank.done) == (Ending.SUCCEEDED, [])
    assert all("dismissed" in content for content in run.results.values())


@pytest.mark.parametrize(("payload", "done"), [(True, ["delete x"]), (False, []), ("cancelled", []), ({"ok": 1}, [])])
async def test_a_tool_that_asks_itself(payload, done):
    bank = Bank([("delete", {"name": "x"}, "d1")])
    async with session(bank.adapter) as client:
        (asked,) = (await client.say("delete")).asked
        assert (asked["message"], asked["toolCallId"], asked["reason"]) == ("Delete x?", "d1", "tool_call")
        run = await client.resume({asked["id"]: payload})
    assert run.ending is Ending.SUCCEEDED
    assert run.results == {"d1": "x is gone" if done else "kept"}
    assert [one for one in bank.done if one.startswith("delete")] == done


async def test_a_tool_message_that_repeats_the_answer_is_no_result():
    """Some clients add one. The model sees what was performed, and the client is told."""
    bank = Bank([PAY])
    async with session(bank.adapter) as client:
        (asked,) = (await client.say("pay")).asked
        entries = [{"interruptId": asked["id"], "status": "resolved", "payload": {"approved": True}}]
        run = await client.answer({"c1": '{"approved": true}'}, resume=entries)
        assert (run.ending, bank.done, run.results) == (Ending.SUCCEEDED, ["pay 100"], {"c1": "paid 100"})
        assert json.loads(run.text) == ["pay", ["c1", "success", "paid 100"]]
        results = [message["content"] for message in client.messages if message["role"] == "tool"]
        assert results == ["paid 100"]


async def test_a_tool_message_is_no_consent():
    """B27: without a resume entry nothing is performed, whatever the history says."""
    bank = Bank([PAY])
    async with session(bank.adapter) as client:
        (asked,) = (await client.say("pay")).asked
        run = await client.answer({"c1": '{"approved": true}'})
        assert (run.ending, run.asked, bank.done) == (Ending.INTERRUPTED, [asked], [])


async def test_calls_of_a_later_turn_are_announced_once_each():
    """B31 (c)."""
    bank = Bank([PAY], [("look", {"what": "a"}, "c2"), ("look", {"what": "b"}, "c3")])
    async with session(bank.adapter) as client:
        (asked,) = (await client.say("pay")).asked
        run = await client.resume({asked["id"]: {"approved": True}})
    assert [event["toolCallId"] for event in run.of("TOOL_CALL_START")] == ["c2", "c3"]
    assert run.results == {"c1": "paid 100", "c2": "a is fine", "c3": "b is fine"}


async def test_what_waits_outlives_the_server():
    """B34: the checkpoint knows what is open, no memory of this process."""
    bank = Bank([PAY])
    async with session(bank.adapter) as client:
        (asked,) = (await client.say("pay")).asked
        held = client.messages
    async with session(LangGraph(bank.adapter._graph), messages=held) as client:
        assert (await client.run()).asked == [asked]
        run = await client.resume({asked["id"]: {"approved": True}})
    assert (run.ending, bank.done) == (Ending.SUCCEEDED, ["pay 100"])


async def test_an_approval_on_another_thread_is_none():
    bank = Bank([PAY], [PAY])
    async with session(bank.adapter) as client:
        (asked,) = (await client.say("pay")).asked
        client.thread, client.messages = "t2", []
        run = await client.resume(
            {asked["id"]: {"approved": True}}, messages=[{"id": "x", "role": "user", "content": "hi"}]
        )
    assert bank.done == []
    assert run.ending is Ending.INTERRUPTED
