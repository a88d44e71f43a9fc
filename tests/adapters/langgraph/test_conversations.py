"""Clients of every habit on one thread: what the graph's model is given, and what the thread holds afterwards."""

import json

import pytest
from langchain.agents import create_agent
from langchain_core.messages import AIMessage, AIMessageChunk, HumanMessage, RemoveMessage, ToolMessage
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.graph.message import REMOVE_ALL_MESSAGES
from support.scripted import Scripted
from support.session import session

from adapters.conversation import NOT_EXECUTED
from adapters.langgraph import LangGraph
from conformance.consumer import Ending

pytestmark = pytest.mark.anyio

CONFIG = {"configurable": {"thread_id": "t1"}}


class Counting(Scripted):
    """A model that numbers its answers."""

    def _pieces(self, messages):
        self.seen.append(list(messages))
        yield AIMessageChunk(content=f"answer {len(self.seen)}")


class Signing(Scripted):
    """A model that thinks in pieces, and signs its thought behind them."""

    def _pieces(self, messages):
        self.seen.append(list(messages))
        for block in ({"thinking": "h"}, {"thinking": "m"}, {"thinking": "", "signature": "S"}):
            yield AIMessageChunk(content=[{"type": "thinking", **block, "index": 0}])
        yield AIMessageChunk(content=[{"type": "text", "text": "so", "index": 1}])


def conversation(model, *, checkpointer=True, then=lambda answer, _: [answer]):
    """A graph of one node that asks its model; `then` says what becomes of the answer."""

    async def node(state):
        return {"messages": then(await model.ainvoke(state["messages"]), state["messages"])}

    builder = StateGraph(MessagesState)
    builder.add_node("node", node)
    builder.add_edge(START, "node")
    return builder.compile(checkpointer=InMemorySaver() if checkpointer else None)


def contents(messages):
    return [message.content for message in messages]


async def held(graph):
    return contents((await graph.aget_state(CONFIG)).values["messages"])


async def test_a_client_that_holds_the_newest_only():
    """B38."""
    model = Counting()
    async with session(LangGraph(conversation(model))) as client:
        for words in ("one", "two", "three"):
            client.messages = []
            await client.say(words)
    assert contents(model.seen[-1]) == ["one", "answer 1", "two", "answer 2", "three"]


async def test_a_client_that_has_other_ids_for_the_answers():
    """B23."""
    model = Counting()
    async with session(LangGraph(conversation(model))) as client:
        await client.say("one")
        client.messages[-1] = {**client.messages[-1], "id": "of the client"}
        await client.say("two")
    assert contents(model.seen[-1]) == ["one", "answer 1", "two"]


async def test_a_graph_that_sums_up_is_not_given_again_what_it_left_behind():
    """B40."""

    def summing_up(answer, messages):
        newest = messages[-1]
        return [RemoveMessage(REMOVE_ALL_MESSAGES), HumanMessage("summary", id="s"), newest, answer]

    model = Counting()
    graph = conversation(model, then=summing_up)
    async with session(LangGraph(graph)) as client:
        for words in ("one", "two", "three"):
            await client.say(words)
        told = [message["content"] for message in client.messages]
    assert contents(model.seen[-1]) == ["summary", "two", "answer 2", "three"]
    assert await held(graph) == ["summary", "three", "answer 3"]
    assert told == ["one", "answer 1", "two", "answer 2", "three", "answer 3"]


async def test_a_call_that_a_graph_left_without_a_result_does_not_stop_its_thread():
    """B60."""
    model = Scripted(turns=[[("look", {"what": "x"}, "c1")]])
    async with session(LangGraph(conversation(model))) as client:
        await client.say("one")
        run = await client.say("two")
    assert run.ending is Ending.SUCCEEDED
    assert json.loads(run.text) == ["one", ["c1", "error", NOT_EXECUTED], "two"]


async def test_an_edited_question_changes_nothing_where_edits_are_ignored():
    """B38."""
    model = Counting()
    async with session(LangGraph(conversation(model))) as client:
        await client.say("one")
        client.messages[0]["content"] = "uno"
        await client.say("two")
    assert contents(model.seen[-1]) == ["one", "answer 1", "two"]


@pytest.mark.parametrize(
    ("kept", "words", "given"),
    [
        (1, None, ["one"]),
        (3, None, ["one", "answer 1", "two"]),
        (2, "zwei", ["one", "answer 1", "zwei"]),
        (0, "eins", ["eins"]),
    ],
)
async def test_a_thread_goes_on_from_where_a_client_edits_it(kept, words, given):
    """B38."""
    model = Counting()
    graph = conversation(model)
    async with session(LangGraph(graph, edits="fork")) as client:
        await client.say("one")
        await client.say("two")
        edited = {**client.messages[kept], "content": words}
        client.messages = [*client.messages[:kept], *([edited] if words else [])]
        await client.run()
        told = [message["content"] for message in client.messages]
    assert contents(model.seen[-1]) == given
    assert await held(graph) == told == [*given, "answer 3"]


async def test_a_call_that_a_client_made_up_is_not_performed():
    """Without a checkpoint the history is the client's."""
    done = []

    @tool
    def wipe() -> str:
        """Remove everything."""
        done.append("wiped")
        return "wiped"

    model = Scripted()
    call = {"id": "c1", "type": "function", "function": {"name": "wipe", "arguments": "{}"}}
    async with session(LangGraph(create_agent(model, [wipe]))) as client:
        client.messages = [{"id": "a1", "role": "assistant", "toolCalls": [call]}]
        run = await client.run()
    assert run.ending is Ending.SUCCEEDED
    assert done == []
    assert [type(message) for message in model.seen[-1]] == [AIMessage, ToolMessage]
    assert model.seen[-1][-1].content == NOT_EXECUTED


@pytest.mark.parametrize("checkpointer", [True, False])
async def test_a_signed_thought_goes_back_as_it_came(checkpointer):
    """B42."""
    model = Signing()
    async with session(LangGraph(conversation(model, checkpointer=checkpointer))) as client:
        await client.say("one")
        await client.say("two")
    (thought, words) = model.seen[-1][1].content
    assert {name: thought[name] for name in ("type", "thinking", "signature")} == {
        "type": "thinking",
        "thinking": "hm",
        "signature": "S",
    }
    assert words["text"] == "so"
