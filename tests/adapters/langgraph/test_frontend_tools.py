"""The application's tools in a graph: announced, left to the application, answered by it."""

import asyncio
import json
import subprocess
import sys
from typing import Annotated

import pytest
from langchain.agents import create_agent
from langchain.agents.middleware import HumanInTheLoopMiddleware
from langchain_core.messages import AIMessage, AnyMessage
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.graph.message import add_messages
from langgraph.prebuilt import ToolNode, tools_condition
from pydantic import BaseModel, Field
from support.agents import run_input
from support.scripted import Scripted
from support.server import serving
from support.session import session

from adapters.langgraph import LangGraph
from adapters.langgraph.frontend import FrontendTools, await_frontend, each_call, frontend_tools, tool_names
from conformance.consumer import Ending

pytestmark = pytest.mark.anyio

CONFIRM = {
    "name": "confirm",
    "description": "Ask the user.",
    "parameters": {"type": "object", "properties": {"what": {"type": "string"}}},
}
MOVE = {"name": "move", "description": "Move the map."}


class Assistant:
    """An agent, of LangChain's or of one's own nodes, that makes calls and tells what it sees as results."""

    def __init__(self, kind, *turns, gated=()):
        self.done = []
        self.model = Scripted(turns=list(turns))

        @tool
        def look(what: str) -> str:
            """Look."""
            self.done.append(what)
            return f"{what} is fine"

        self.graph = GRAPHS[kind](self.model, [look], gated)
        self.adapter = LangGraph(self.graph)

    async def checkpoint(self, thread="t1"):
        """The messages of a thread, as `(id, status or type, content)`."""
        snapshot = await self.graph.aget_state({"configurable": {"thread_id": thread}})
        return [(one.id, getattr(one, "status", one.type), one.content) for one in snapshot.values["messages"]]


def agent_of_langchain(model, tools, gated=()):
    middleware = [FrontendTools()]
    if gated:
        middleware.append(HumanInTheLoopMiddleware(dict.fromkeys(gated, True), interrupt_mode="per_call"))
    return create_agent(model, tools, middleware=middleware, checkpointer=InMemorySaver())


def graph_of_own_nodes(model, tools, gated=()):
    async def ask(state):
        offered = [*tools, *frontend_tools(tools)]
        return {"messages": [await model.bind_tools(offered).ainvoke(state["messages"])]}

    builder = StateGraph(MessagesState)
    builder.add_node("model", ask)
    builder.add_node("tools", ToolNode(tools, awrap_tool_call=await_frontend))
    builder.add_edge(START, "model")
    builder.add_conditional_edges("model", each_call("tools"), ["tools", END])
    builder.add_edge("tools", "model")
    return builder.compile(checkpointer=InMemorySaver())


def agent_within(model, tools, gated=()):
    builder = StateGraph(MessagesState)
    builder.add_node("helper", agent_of_langchain(model, tools, gated).copy(update={"checkpointer": None}))
    builder.add_edge(START, "helper")
    return builder.compile(checkpointer=InMemorySaver())


def named(what: str) -> str:
    """A plain function as a tool."""
    return what


GRAPHS = {"agent": agent_of_langchain, "graph": graph_of_own_nodes, "within": agent_within}
every_kind = pytest.mark.parametrize("kind", GRAPHS)
on_the_thread = pytest.mark.parametrize("kind", ["agent", "graph"])
"""The thread itself holds the calls, not a graph within its graph."""


@every_kind
async def test_a_frontend_tool_is_offered_and_its_call_left_to_the_application(kind):
    """B15."""
    assistant = Assistant(kind, [("confirm", {"what": "pay"}, "f1")])
    async with session(assistant.adapter, tools=[CONFIRM]) as client:
        run = await client.say("pay")
        assert [one["name"] for one in assistant.model.offered[0]] == ["look", "confirm"]
        assert assistant.model.offered[0][1] == CONFIRM
        assert (run.ending, run.pending, run.results) == (Ending.SUCCEEDED, ["f1"], {})
        assert [event["delta"] for event in run.of("TOOL_CALL_ARGS")] == ['{"what": "pay"}']
        run = await client.answer({"f1": "yes"})
    assert run.ending is Ending.SUCCEEDED
    assert json.loads(run.text) == ["pay", ["f1", "success", "yes"]]
    assert run.of("TOOL_CALL_START") == run.of("TOOL_CALL_RESULT") == []


@every_kind
async def test_no_frontend_tools_are_as_none_at_all(kind):
    """B15."""
    assistant = Assistant(kind)
    async with session(assistant.adapter) as client:
        await client.run(messages=[{"id": "u1", "role": "user", "content": "x"}], tools=[])
    assert [one["name"] for one in assistant.model.offered[0]] == ["look"]


@every_kind
async def test_calls_of_both_sides_in_one_message(kind):
    """B16: the agent's own tools run at once, and once."""
    calls = [("look", {"what": "a"}, "c1"), ("confirm", {"what": "b"}, "f1"), ("look", {"what": "c"}, "c2")]
    assistant = Assistant(kind, calls)
    async with session(assistant.adapter, tools=[CONFIRM]) as client:
        run = await client.say("go")
        assert (run.results, run.pending) == ({"c1": "a is fine", "c2": "c is fine"}, ["f1"])
        run = await client.answer({"f1": "yes"})
    assert sorted(assistant.done) == ["a", "c"]
    assert run.of("TOOL_CALL_START") == run.of("TOOL_CALL_RESULT") == []
    last = assistant.model.seen[-1]
    (place,) = (place for place, message in enumerate(last) if isinstance(message, AIMessage))
    assert {message.tool_call_id for message in last[place + 1 :]} == {"c1", "f1", "c2"}


@every_kind
async def test_answers_that_come_over_several_runs(kind):
    """B17: each call waits for its own, also where a run does not name the tool any more."""
    assistant = Assistant(kind, [("confirm", {"what": name}, name) for name in ("f1", "f2", "f3")])
    async with session(assistant.adapter, tools=[CONFIRM]) as client:
        run = await client.say("go")
        assert run.pending == ["f1", "f2", "f3"]
        run = await client.answer({"f2": "two"}, tools=[])
        assert (run.ending, run.text, len(assistant.model.seen)) == (Ending.SUCCEEDED, "", 1)
        run = await client.run(tools=[])
        assert (run.ending, run.text, len(assistant.model.seen)) == (Ending.SUCCEEDED, "", 1)
        run = await client.answer({"f1": "one", "f3": "three"})
    results = [["f1", "success", "one"], ["f2", "success", "two"], ["f3", "success", "three"]]
    assert sorted(json.loads(run.text)[1:]) == results


@every_kind
async def test_the_checkpoint_holds_the_clients_own_message(kind):
    assistant = Assistant(kind, [("confirm", {}, "f1")])
    async with session(assistant.adapter, tools=[CONFIRM]) as client:
        await client.say("go")
        await client.answer({"f1": "yes"})
        assert ("r3", "success", "yes") in await assistant.checkpoint()
        await client.say("and now?")
    held = await assistant.checkpoint()
    assert len({one[0] for one in held}) == len(held) == 6


@every_kind
async def test_a_failed_frontend_call_reaches_the_model_as_failed(kind):
    """Pitfall 10, and fault 12 of PydanticAI's own adapter."""
    assistant = Assistant(kind, [("confirm", {}, "f1")])
    async with session(assistant.adapter, tools=[CONFIRM]) as client:
        await client.say("go")
        run = await client.answer({"f1": {"content": "", "error": "declined"}})
    assert json.loads(run.text)[1] == ["f1", "error", "declined"]


@every_kind
async def test_parts_of_an_answer_reach_the_model(kind):
    assistant = Assistant(kind, [("confirm", {}, "f1")])
    image = {"type": "image", "source": {"type": "data", "value": "AAAA", "mimeType": "image/png"}}
    async with session(assistant.adapter, tools=[CONFIRM]) as client:
        await client.say("go")
        run = await client.answer({"f1": {"content": [{"type": "text", "text": "this"}, image]}})
    (text, picture) = json.loads(run.text)[1][2]
    assert (text["text"], picture["type"], picture["base64"]) == ("this", "image", "AAAA")


@on_the_thread
async def test_a_call_that_the_user_goes_past_has_failed(kind):
    """B18: the model sees so, and the user's words after it, in one turn; the client is told."""
    assistant = Assistant(kind, [("look", {"what": "a"}, "c1"), ("confirm", {}, "f1"), ("confirm", {}, "f2")])
    async with session(assistant.adapter, tools=[CONFIRM]) as client:
        await client.say("go")
        run = await client.answer({"f2": "yes"}, tools=[])
        client.messages.append({"id": "u9", "role": "user", "content": "never mind"})
        run = await client.run()
        assert run.ending is Ending.SUCCEEDED
        seen = json.loads(run.text)
        assert seen[0] == "go"
        assert seen[-1] == "never mind"
        assert sorted(seen[1:-1])[1:] == [
            ["f1", "error", "The application gave no result for this call."],
            ["f2", "success", "yes"],
        ]
        assert len(assistant.model.seen) == 2
        assert [one["toolCallId"] for one in client.messages if one["role"] == "tool"].count("f1") == 1
        run = await client.say("thanks")
        assert (run.ending, run.of("MESSAGES_SNAPSHOT")) == (Ending.SUCCEEDED, [])
    assert assistant.done == ["a"]


async def test_a_call_within_that_the_user_goes_past_has_failed():
    """B18: the graph within goes on with what it has, and its turn is not lost."""
    assistant = Assistant("within", [("look", {"what": "a"}, "c1"), ("confirm", {}, "f1"), ("confirm", {}, "f2")])
    async with session(assistant.adapter, tools=[CONFIRM]) as client:
        await client.say("go")
        client.messages.append({"id": "u9", "role": "user", "content": "never mind"})
        run = await client.answer({"f2": "yes"})
    assert run.ending is Ending.SUCCEEDED
    seen, end = json.JSONDecoder().raw_decode(run.text)
    results = {one[0]: one[1] for one in seen if isinstance(one, list)}
    assert results == {"c1": "success", "f1": "error", "f2": "success"}
    assert json.loads(run.text[end:])[-1] == "never mind"
    assert assistant.done == ["a"]


@on_the_thread
async def test_an_answer_and_the_users_next_words_in_one_input(kind):
    """B18: results stand before what was said after them, whatever their order in the history."""
    assistant = Assistant(kind, [("confirm", {}, "f1")])
    async with session(assistant.adapter, tools=[CONFIRM]) as client:
        await client.say("go")
        client.messages.append({"id": "u9", "role": "user", "content": "well?"})
        run = await client.answer({"f1": "yes"})
    assert json.loads(run.text) == ["go", ["f1", "success", "yes"], "well?"]


@on_the_thread
async def test_a_client_that_sends_only_what_is_new(kind):
    assistant = Assistant(kind, [("confirm", {}, "f1")], [("confirm", {}, "f2")])
    async with session(assistant.adapter, tools=[CONFIRM]) as client:
        await client.say("go")
        client.messages = []
        run = await client.answer({"f1": "yes"})
        assert run.pending == ["f2"]
        client.messages = []
        run = await client.say("never mind")
    assert json.loads(run.text)[-1] == "never mind"
    assert [one[:2] for one in json.loads(run.text)[1:-1]] == [["f1", "success"], ["f2", "error"]]


async def test_a_provider_that_gives_one_id_to_the_calls_of_two_turns():
    """An answer of the first turn is none of the second."""
    assistant = Assistant("agent", [("confirm", {}, "f1")], [("confirm", {}, "f1")])
    async with session(assistant.adapter, tools=[CONFIRM]) as client:
        await client.say("go")
        run = await client.answer({"f1": "yes"})
        (again,) = run.pending
        run = await client.run()
        assert (run.ending, run.text, len(assistant.model.seen)) == (Ending.SUCCEEDED, "", 2)
        run = await client.answer({again: "no"})
    assert json.loads(run.text) == ["go", ["f1", "success", "yes"], ["f1", "success", "no"]]


@every_kind
@pytest.mark.parametrize(
    ("tools", "path", "holder"),
    [
        ([MOVE, {"name": "look", "description": "x"}], "/tools/1/name", "the agent"),
        ([MOVE, CONFIRM, MOVE], "/tools/2/name", "another tool of the input"),
    ],
)
async def test_a_name_that_is_taken_is_refused_before_the_stream(kind, tools, path, holder):
    """B20."""
    assistant = Assistant(kind)
    async with serving({"agent": assistant.adapter}) as served:
        response, _ = await served.run(run_input(tools=tools))
    assert (response.status_code, response.json()["code"]) == (422, "tool_name_taken")
    assert path in response.text
    assert holder in response.text
    assert assistant.model.seen == []


async def test_a_name_that_only_the_models_node_knows_is_refused_when_it_is_asked():
    """B20."""
    model = Scripted()

    @tool
    def look(what: str) -> str:
        """Look."""
        return what

    async def ask(state):
        return {"messages": [await model.bind_tools([look, *frontend_tools([look])]).ainvoke(state["messages"])]}

    builder = StateGraph(MessagesState)
    builder.add_node("model", ask)
    builder.add_edge(START, "model")
    graph = builder.compile(checkpointer=InMemorySaver())
    assert tool_names(graph) is None
    async with session(LangGraph(graph), tools=[{"name": "look", "description": "x"}]) as client:
        run = await client.say("hi")
    assert run.error == ("tool_name_taken", "The run input's tool 'look' has the name of a tool of the agent.")
    assert model.seen == []


async def test_a_call_that_shares_its_task_is_refused_before_it_is_awaited():
    """The task would run its other calls again when it goes on."""
    model = Scripted(turns=[[("confirm", {}, "f1")]])

    async def ask(state):
        return {"messages": [await model.bind_tools(frontend_tools()).ainvoke(state["messages"])]}

    builder = StateGraph(MessagesState)
    builder.add_node("model", ask)
    builder.add_node("tools", ToolNode([], awrap_tool_call=await_frontend))
    builder.add_edge(START, "model")
    builder.add_conditional_edges("model", tools_condition)
    async with session(LangGraph(builder.compile(checkpointer=InMemorySaver())), tools=[CONFIRM]) as client:
        run = await client.say("hi")
    assert run.error == ("agent_error", "The call of 'confirm' needs a task of its own: lead to it by each_call().")


async def test_a_call_without_an_id_is_one_that_nobody_could_answer():
    assistant = Assistant("agent", [("confirm", {}, None)])
    async with session(assistant.adapter, tools=[CONFIRM]) as client:
        run = await client.say("hi")
    message = "The model's call of 'confirm' has no id, so that nothing could answer it."
    assert run.error == ("agent_error", message)


@pytest.mark.parametrize("beside", [named, {"name": "named"}, {"type": "function", "function": {"name": "named"}}])
async def test_a_name_is_taken_whatever_form_its_tool_has(beside):
    """B20."""

    async def ask(state):
        frontend_tools([{"type": "some_search"}, beside])

    builder = StateGraph(MessagesState)
    builder.add_node("model", ask)
    builder.add_edge(START, "model")
    tools = [CONFIRM, {"name": "named", "description": "x"}]
    async with session(LangGraph(builder.compile()), tools=tools) as client:
        run = await client.say("hi")
    assert run.error[0] == "tool_name_taken"


class Typed(BaseModel):
    messages: Annotated[list[AnyMessage], add_messages] = Field(default_factory=list)


@pytest.mark.parametrize("schema", [MessagesState, Typed])
async def test_a_graph_whose_state_is_of_its_own_type(schema):
    model = Scripted(turns=[[("confirm", {}, "f1")]])

    async def ask(state):
        messages = state["messages"] if isinstance(state, dict) else state.messages
        return {"messages": [await model.bind_tools(frontend_tools()).ainvoke(messages)]}

    async def end(state):
        return {"messages": [AIMessage("the end", id="end")]}

    builder = StateGraph(schema)
    builder.add_node("model", ask)
    builder.add_node("tools", ToolNode([], awrap_tool_call=await_frontend))
    builder.add_node("end", end)
    builder.add_edge(START, "model")
    builder.add_conditional_edges("model", each_call("tools", otherwise="end"), ["tools", "end"])
    builder.add_edge("tools", "model")
    async with session(LangGraph(builder.compile(checkpointer=InMemorySaver())), tools=[CONFIRM]) as client:
        assert (await client.say("hi")).pending == ["f1"]
        run = await client.answer({"f1": "yes"})
    assert run.text == '["hi", ["f1", "success", "yes"]]the end'


async def test_an_approval_and_a_frontend_call_wait_beside_each_other():
    """B11, B16: each is answered in its own way, in any order, and each goes on at once."""
    assistant = Assistant("agent", [("look", {"what": "a"}, "c1"), ("confirm", {}, "f1")], gated=["look"])
    async with session(assistant.adapter, tools=[CONFIRM]) as client:
        run = await client.say("go")
        assert (run.ending, [one["toolCallId"] for one in run.asked]) == (Ending.INTERRUPTED, ["c1"])
        (asked,) = run.asked
        run = await client.answer({"f1": "yes"})
        assert (run.ending, [one["id"] for one in run.asked]) == (Ending.INTERRUPTED, [asked["id"]])
        assert (assistant.done, len(assistant.model.seen)) == ([], 1)
        run = await client.resume({asked["id"]: {"approved": True}})
    assert (run.ending, run.results, assistant.done) == (Ending.SUCCEEDED, {"c1": "a is fine"}, ["a"])
    assert sorted(json.loads(run.text)[1:]) == [["c1", "success", "a is fine"], ["f1", "success", "yes"]]


async def test_consent_to_a_frontend_call_is_the_applications_to_ask_for():
    """A run that stops on a frontend call ends as success, whatever the agent's reviews name. (frontend-call-is-success)"""
    model = Scripted(turns=[[("confirm", {}, "f1")]])
    consent = HumanInTheLoopMiddleware({"confirm": True}, interrupt_mode="per_call")
    agent = create_agent(model, [], middleware=[FrontendTools(), consent], checkpointer=InMemorySaver())
    async with session(LangGraph(agent), tools=[CONFIRM]) as client:
        run = await client.say("go")
        assert (run.ending, run.pending) == (Ending.SUCCEEDED, ["f1"])
        run = await client.answer({"f1": "yes"})
    assert json.loads(run.text) == ["go", ["f1", "success", "yes"]]


async def test_an_approval_that_is_answered_before_the_application_answers():
    assistant = Assistant("agent", [("look", {"what": "a"}, "c1"), ("confirm", {}, "f1")], gated=["look"])
    async with session(assistant.adapter, tools=[CONFIRM]) as client:
        (asked,) = (await client.say("go")).asked
        run = await client.resume({asked["id"]: {"approved": True}})
        assert (run.ending, run.results, run.text) == (Ending.SUCCEEDED, {"c1": "a is fine"}, "")
        run = await client.answer({"f1": "yes"})
    assert (run.ending, assistant.done) == (Ending.SUCCEEDED, ["a"])
    assert sorted(json.loads(run.text)[1:]) == [["c1", "success", "a is fine"], ["f1", "success", "yes"]]


async def test_a_call_waits_in_a_database_too(tmp_path):
    """Another process, with the same agent and no memory, takes the answer, whatever is in it."""
    image = {"type": "image", "source": {"type": "data", "value": "AAAA", "mimeType": "image/png"}}
    async with AsyncSqliteSaver.from_conn_string(str(tmp_path / "threads")) as kept:
        first = create_agent(
            Scripted(turns=[[("confirm", {}, "f1")]]), [], middleware=[FrontendTools()], checkpointer=kept
        )
        async with session(LangGraph(first), tools=[CONFIRM]) as client:
            assert (await client.say("go")).pending == ["f1"]
            held = client.messages
    async with AsyncSqliteSaver.from_conn_string(str(tmp_path / "threads")) as kept:
        other = create_agent(Scripted(), [], middleware=[FrontendTools()], checkpointer=kept)
        async with session(LangGraph(other), messages=held) as client:
            run = await client.answer({"f1": {"content": [{"type": "text", "text": "this"}, image]}})
    assert json.loads(run.text)[1][:2] == ["f1", "success"]
    assert [block["type"] for block in json.loads(run.text)[1][2]] == ["text", "image"]


@every_kind
async def test_many_runs_at_once_on_one_graph(kind):
    """B69: each thread is offered its own tools."""
    assistant = Assistant(kind)
    async with serving({"agent": assistant.adapter}) as served:

        async def one(number):
            tools = [{"name": f"tool_{number}", "description": "x"}]
            messages = [{"id": f"u{number}", "role": "user", "content": f"hi {number}"}]
            document = run_input(threadId=f"t{number}", runId=f"r{number}", messages=messages, tools=tools)
            _, events = await served.run(document)
            return json.loads("".join(event["delta"] for event in events if event["type"] == "TEXT_MESSAGE_CONTENT"))

        assert await asyncio.gather(*map(one, range(20))) == [[f"hi {number}"] for number in range(20)]
    pairs = {
        (seen[0].content, offered[1]["name"])
        for seen, offered in zip(assistant.model.seen, assistant.model.offered, strict=True)
    }
    assert pairs == {(f"hi {number}", f"tool_{number}") for number in range(20)}


@every_kind
def test_the_tools_of_a_graph_are_known_from_its_nodes(kind):
    assert tool_names(Assistant(kind).graph) == {"look"}


async def test_outside_of_a_served_run_there_are_no_frontend_tools():
    assistant = Assistant("agent", [("confirm", {}, "f1")])
    config = {"configurable": {"thread_id": "1", "agui": "something else"}}
    result = await assistant.graph.ainvoke({"messages": ["hi"]}, config)
    assert "not a valid tool" in result["messages"][2].content
    assert [one["name"] for one in assistant.model.offered[0]] == ["look"]


def test_an_agent_may_be_run_without_a_loop():
    assistant = Assistant("agent", [("look", {"what": "a"}, "c1")])
    result = assistant.graph.invoke({"messages": ["hi"]}, {"configurable": {"thread_id": "1"}})
    assert result["messages"][2].content == "a is fine"


def test_only_the_middleware_needs_langchains_agents():
    code = "import sys; sys.modules['langchain'] = None; import adapters.langgraph.resume, adapters.langgraph.frontend"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
