"""What happens in a graph, as a client reads it: tokens, calls, results, steps, subagents, costs, ends."""

import asyncio
import itertools
import json
import operator
from contextlib import asynccontextmanager
from typing import Annotated

import pytest
from langchain_core.messages import AIMessage, AIMessageChunk, HumanMessage, ToolMessage
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.postgres.aio import AsyncPostgresSaver
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver
from langgraph.config import get_stream_writer
from langgraph.func import entrypoint
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.types import Send
from pydantic import BaseModel
from support.graphs import Script, agent, asks, call, cost, graph_of, more, redacted, says, thinking, together, written
from support.postgres import database
from support.server import serving
from support.session import Session, session

from adapters.langgraph import LangGraph
from conformance.consumer import Ending

pytestmark = pytest.mark.anyio


def deltas(run):
    """The text of each message, by id."""
    said = {}
    for event in run.of("TEXT_MESSAGE_CONTENT"):
        said.setdefault(event["messageId"], []).append(event["delta"])
    return list(said.values())


@tool
async def look(what: str) -> str:
    """Look."""
    return f"{what} is fine"


# ---- tokens -----------------------------------------------------------------------------------------


async def test_every_token_of_every_node_comes_as_it_is_written():
    last = AIMessageChunk("!", response_metadata={"finish_reason": "stop"})
    graph = graph_of(says(Script(["Hel", "lo", last]), "one"), says(Script(["by", "e"]), "two"))
    async with session(LangGraph(graph)) as client:
        run = await client.say("hi")
        assert deltas(run) == [["Hel", "lo", "!"], ["by", "e"]]
        kept = (await graph.aget_state({"configurable": {"thread_id": "t1"}})).values["messages"]
    assert [one.id for one in kept[1:]] == [one["id"] for one in client.messages[1:]]


async def test_parallel_nodes_do_not_mix():
    gates = [asyncio.Event(), asyncio.Event()]

    async def pass_on():
        gates[1].set()
        await gates[0].wait()

    async def wait():
        await gates[1].wait()
        gates[0].set()

    one, two = says(Script(["a", pass_on, "b"]), "one"), says(Script([wait, "c", "d"]), "two")
    async with session(LangGraph(graph_of(one, two, side_by_side=True))) as client:
        run = await client.say("hi")
    assert sorted(map("".join, deltas(run))) == ["ab", "cd"]


async def test_a_message_that_does_not_stream_comes_once():
    def fixed(state):
        return {"messages": [AIMessage("static", tool_calls=[])]}

    async with session(LangGraph(graph_of(fixed))) as client:
        run = await client.say("hi")
        assert deltas(run) == [["static"]]
        assert (await client.say("again")).text == "static"


async def test_what_is_not_for_the_consumer_is_silent():
    class Route(BaseModel):
        to: str

    router = Script([call("Route", '{"to":"x"}')])
    quiet = Script(["secret"]).with_config(tags=["nostream"])
    chosen = []

    async def route(state):
        chosen.append(await router.with_structured_output(Route).ainvoke(state["messages"]))
        await quiet.ainvoke(state["messages"])
        return {}

    async with session(LangGraph(graph_of(route, says(Script(["hello"]))))) as client:
        run = await client.say("hi")
    assert chosen == [Route(to="x")]
    assert deltas(run) == [["hello"]]
    assert run.of("TOOL_CALL_START") == []


async def test_text_behind_a_call_and_calls_in_every_form():
    turn = [
        "Let me ",
        call("look", '{"wh', "c1", 0),
        call("look", '{"what":"b"}', "c2", 1),
        more('at":"a"}', 0),
        together(call("look", '{"what":"c"}', "c3", 2), call("look", '{"what":"d"}', "c4", 3)),
        "see.",
    ]
    async with session(LangGraph(agent(Script(turn), [look]))) as client:
        run = await client.say("hi")
        assert run.results == {f"c{n}": f"{name} is fine" for n, name in enumerate("abcd", 1)}
        first = client.messages[1]
    assert first["content"] == "Let me see."
    assert [json.loads(one["function"]["arguments"])["what"] for one in first["toolCalls"]] == list("abcd")
    assert [event["delta"] for event in run.of("TOOL_CALL_ARGS")][:3] == ['{"wh', '{"what":"b"}', 'at":"a"}']


async def test_a_call_in_one_piece_of_a_model_that_does_not_stream():
    """B12a."""

    async def ask(state):
        if isinstance(state["messages"][-1], ToolMessage):
            return {"messages": [AIMessage("done")]}
        made = {"name": "look", "args": {"what": "a"}, "id": "c1", "type": "tool_call"}
        return {"messages": [AIMessage("", tool_calls=[made])]}

    async def tools(state):
        return {"messages": [ToolMessage("fine", tool_call_id="c1", id="t1")]}

    async with session(LangGraph(graph_of(ask, tools))) as client:
        run = await client.say("hi")
    assert [event["delta"] for event in run.of("TOOL_CALL_ARGS")] == ['{"what": "a"}']
    assert (run.results, run.of("TOOL_CALL_RESULT")[0]["messageId"]) == ({"c1": "fine"}, "t1")


async def test_failing_and_unknown_tools_answer():
    @tool
    async def fails(what: str) -> str:
        """Fail."""
        raise ValueError("no luck")

    turn = [call("nothing", "{}", "c1", 0), call("look", '{"wrong":1}', "c2", 1)]
    async with session(LangGraph(agent(Script(turn), [look, fails]))) as client:
        run = await client.say("hi")
    assert "nothing" in run.results["c1"]
    assert "what" in run.results["c2"]
    assert run.ending is Ending.SUCCEEDED


async def test_thoughts_with_their_signatures_and_hidden_ones():
    """B42, B44: each comes to the client, and once back to its provider."""
    turn = [thinking("h"), thinking("m"), thinking(signature="S"), redacted("R", 1), written("yes", 2)]
    model = Script(turn)
    graph = agent(model, checkpointer=None)
    async with session(LangGraph(graph)) as client:
        run = await client.say("hi")
        thoughts = [one for one in client.messages if one["role"] == "reasoning"]
        assert [one["content"] for one in thoughts] == ["hm", ""]
        sealed = [json.loads(one["encryptedValue"]) for one in thoughts]
        assert (sealed[0]["signature"], sealed[1]["data"]) == ("S", "R")
        assert run.text == "yes"
        await client.say("and?")
    (answer,) = [one for one in model.seen[-1] if isinstance(one, AIMessage)]
    kinds = [block["type"] for block in answer.content if isinstance(block, dict)]
    assert kinds.count("thinking") + kinds.count("redacted_thinking") == 2


async def test_what_a_node_writes_is_a_custom_event():
    async def write(state):
        get_stream_writer()({"done": 1})
        return {}

    async with session(LangGraph(graph_of(write))) as client:
        run = await client.say("hi")
    assert [(event["name"], event["value"]) for event in run.of("CUSTOM")] == [("langgraph.custom", {"done": 1})]


# ---- steps and graphs within --------------------------------------------------------------------------


async def test_nodes_are_steps_also_when_one_runs_several_times_at_once():
    class State(MessagesState):
        seen: Annotated[list[int], operator.add]

    async def work(state):
        return {"seen": [state["n"]]}

    build = StateGraph(State)
    build.add_node("work", work)
    build.add_conditional_edges(START, lambda _: [Send("work", {"n": n}) for n in range(3)])
    build.add_edge("work", END)
    async with session(LangGraph(build.compile())) as client:
        run = await client.say("hi")
        assert sorted(event["stepName"] for event in run.of("STEP_STARTED")) == ["work", "work 2", "work 3"]
        assert len(run.of("STEP_FINISHED")) == 3
        assert sorted(client.state["seen"]) == [0, 1, 2]
    async with session(LangGraph(build.compile(), steps=False)) as client:
        assert (await client.say("hi")).of("STEP_STARTED") == []


def inner(*turns, name="helper", tools=(), **options):
    return agent(Script(*turns), tools, name=name, checkpointer=None, **options)


async def test_a_graph_within_is_a_subagent():
    graph = graph_of(inner(["inside"]), says(Script(["outside"])))
    async with session(LangGraph(graph)) as client:
        run = await client.say("hi")
        (start,) = run.of("SUBAGENT_STARTED")
        assert start["name"] == "helper"
        owners = [event.get("subagentRunId") for event in run.of("TEXT_MESSAGE_CONTENT")]
        assert owners == [start["subagentRunId"], None]
        assert [event["subagentRunId"] for event in run.of("SUBAGENT_FINISHED")] == [start["subagentRunId"]]
    async with session(LangGraph(graph, subagents=False), thread="t2") as client:
        run = await client.say("hi")
        assert [event for event in run.events if "subagentRunId" in event] == []


async def test_an_agent_as_a_tool_is_a_subagent_and_so_is_one_within_it():
    deepest = inner(["deepest"], name="deepest")

    @tool
    async def delegate(what: str) -> str:
        """Delegate."""
        said = await middle.ainvoke({"messages": [HumanMessage(what)]})
        return said["messages"][-1].content

    middle = graph_of(deepest, says(Script(["middle"], ["middle"])), checkpointer=False, name="middle")
    calls = [call("delegate", '{"what":"a"}', "c1", 0), call("delegate", '{"what":"b"}', "c2", 1)]
    async with session(LangGraph(agent(Script(calls), [delegate], name="outer"))) as client:
        run = await client.say("hi")
    assert run.results == {"c1": "middle", "c2": "middle"}
    started = {event["subagentRunId"]: event for event in run.of("SUBAGENT_STARTED")}
    parents = [one.get("parentSubagentRunId") for one in started.values()]
    assert sorted(one["name"] for one in started.values()).count("deepest") == 2
    assert len(started) == 4
    assert sum(parent in started for parent in parents) == 2


async def test_two_graphs_in_one_node_are_two_subagents():
    first, second = inner(["one"], name="first"), inner(["two"], name="second")

    async def both(state):
        await first.ainvoke({"messages": [HumanMessage("1")]})
        await second.ainvoke({"messages": [HumanMessage("2")]})
        return {}

    async with session(LangGraph(graph_of(both))) as client:
        run = await client.say("hi")
    started = run.of("SUBAGENT_STARTED")
    assert [event["name"] for event in started] == ["first", "second"]
    assert len({event["subagentRunId"] for event in started}) == 2


async def test_a_failure_that_is_handled_fails_its_subagent_and_not_the_run():
    failing = inner([ValueError("secret")])

    async def careful(state):
        try:
            await failing.ainvoke({"messages": [HumanMessage("x")]})
        except ValueError:
            return {"messages": [AIMessage("it failed")]}

    async with session(LangGraph(graph_of(careful))) as client:
        run = await client.say("hi")
    (failed,) = run.of("SUBAGENT_ERROR")
    assert (failed["code"], "secret" in json.dumps(run.events)) == ("subagent_error", False)
    assert (run.ending, run.text) == (Ending.SUCCEEDED, "it failed")


async def test_a_subagent_that_asks_is_suspended_and_goes_on():
    heard = []
    build = StateGraph(MessagesState)
    build.add_node("ask", asks(heard))
    build.add_node("talk", says(Script(["thanks"])))
    build.add_edge(START, "ask")
    build.add_edge("ask", "talk")
    async with session(LangGraph(graph_of(build.compile(name="within")))) as client:
        run = await client.say("hi")
        (asked,) = run.asked
        (finished,) = run.of("SUBAGENT_FINISHED")
        assert finished["outcome"] == {"type": "suspended", "interruptIds": [asked["id"]]}
        run = await client.resume({asked["id"]: "yes"})
        assert (heard, run.text, run.ending) == ([("ask", "yes")], "thanks", Ending.SUCCEEDED)


# ---- costs and ends -----------------------------------------------------------------------------------


async def test_every_model_call_counts_and_unknown_counts_are_absent():
    """B79."""
    detailed = cost(100, 20, input_token_details={"cache_read": 80}, output_token_details={"reasoning": 5})
    quiet = Script(["x", cost(7, 3)], model="quiet").with_config(tags=["nostream"])

    async def silent(state):
        await quiet.ainvoke(state["messages"])
        return {}

    graph = graph_of(says(Script(["a", detailed])), silent, says(Script(["b"], model="unknown"), "last"))
    async with session(LangGraph(graph)) as client:
        run = await client.say("hi")
    counted = {"inputTokens": 100, "outputTokens": 20, "cachedInputTokens": 80, "reasoningTokens": 5}
    assert run.usage == [
        {"provider": "house", "model": "script", **counted, "totalTokens": 120},
        {"provider": "house", "model": "quiet", "inputTokens": 7, "outputTokens": 3, "totalTokens": 10},
    ]


async def test_a_failing_node_is_an_error_that_tells_nothing_and_its_cost():
    async def fails(state):
        raise ValueError("secret")

    graph = graph_of(says(Script(["a", cost(1, 2)])), fails)
    async with session(LangGraph(graph)) as client:
        run = await client.say("hi")
        assert run.error == ("internal_error", "The agent failed.")
        assert run.of("RUN_ERROR")[0]["usage"][0]["outputTokens"] == 2
        assert (await client.say("again")).error[0] == "internal_error"


async def test_the_recursion_limit_ends_the_run_as_cancelled():
    build = StateGraph(MessagesState)
    build.add_node("again", lambda _: {})
    build.add_edge(START, "again")
    build.add_edge("again", "again")
    async with session(LangGraph(build.compile(), config=lambda _: {"recursion_limit": 3})) as client:
        run = await client.say("hi")
    assert run.ending is Ending.CANCELLED


async def stop(client, reached):
    client.messages.append({"id": "stop", "role": "user", "content": "hi"})
    document = client.document()
    running = asyncio.create_task(client.served.run(document))
    await asyncio.wait_for(reached.wait(), 10)
    await client.served.client.post(f"/v1/runs/{document['runId']}/cancel")
    return client.read(document, (await running)[1])


async def test_a_stop_reaches_nodes_tools_and_graphs_within_and_nothing_is_kept_of_them():
    """B57, B60: and the next run works."""
    reached, left = asyncio.Event(), []

    @tool
    async def hang(what: str) -> str:
        """Hang."""
        try:
            reached.set()
            await asyncio.Event().wait()
        finally:
            left.append(what)

    turns = [call("hang", '{"what":"a"}', "c1", 0), call("hang", '{"what":"b"}', "c2", 1)], ["fine"]
    within = agent(Script(*turns), [hang], name="within", checkpointer=None)
    graph = graph_of(within)
    async with session(LangGraph(graph)) as client:
        run = await stop(client, reached)
        assert (run.ending, sorted(left), run.results) == (Ending.CANCELLED, ["a", "b"], {})
        kept = (await graph.aget_state({"configurable": {"thread_id": "t1"}})).values["messages"]
        assert [type(one) for one in kept] == [HumanMessage]
        run = await client.say("again")
        assert (run.ending, run.text) == (Ending.SUCCEEDED, "fine")


async def test_one_run_at_a_time_has_a_thread(monkeypatch):
    """B73: the second is told, and nothing of the first is lost."""
    monkeypatch.setattr("adapters.langgraph.adapter.WAIT_FOR_THREAD", 0.01)
    reached, goes_on = asyncio.Event(), asyncio.Event()

    async def hold():
        reached.set()
        await goes_on.wait()

    graph = graph_of(says(Script(["a", hold, "b"], ["c"])))
    async with serving({"agent": LangGraph(graph)}) as served:
        first, second = Session(served), Session(served, numbers=itertools.count(100))
        running = asyncio.create_task(first.say("one"))
        await asyncio.wait_for(reached.wait(), 10)
        assert (await second.say("two")).error[0] == "thread_is_busy"
        goes_on.set()
        assert (await running).text == "ab"
        assert (await first.say("three")).text == "c"


async def test_many_threads_of_one_graph_do_not_mix():
    """50 at once."""

    async def echo(state):
        await asyncio.sleep(0)
        return {"messages": [AIMessage(f"you said {state['messages'][-1].content}")]}

    async with serving({"agent": LangGraph(graph_of(echo))}) as served:
        clients = [Session(served, thread=f"t{n}", numbers=itertools.count(1000 * n)) for n in range(50)]
        runs = await asyncio.gather(*(client.say(f"word {n}") for n, client in enumerate(clients)))
    assert [run.text for run in runs] == [f"you said word {n}" for n in range(50)]


# ---- kinds of graphs ------------------------------------------------------------------------------------


async def test_a_graph_without_a_checkpointer_gets_the_whole_history():
    model = Script(["one"], ["two"])
    async with session(LangGraph(graph_of(says(model), checkpointer=False))) as client:
        await client.say("hi")
        await client.say("again")
    assert [one.content for one in model.seen[-1]] == ["hi", "one", "again"]


async def test_a_graph_without_a_checkpointer_cannot_ask():
    graph = graph_of(asks([]), checkpointer=False)
    async with session(LangGraph(graph)) as client:
        assert (await client.say("hi")).error[0] == "no_checkpointer"
        answers = [{"interruptId": "x", "status": "resolved", "payload": 1}]
        response, _ = await client.served.run(client.document(resume=answers))
    assert (response.status_code, response.json()["code"], response.json()["field"]) == (
        422,
        "no_checkpointer",
        "/resume",
    )


@asynccontextmanager
async def sqlite(folder):
    async with AsyncSqliteSaver.from_conn_string(str(folder / "threads.db")) as saver:
        yield saver


@asynccontextmanager
async def postgres(_):
    with database() as url:
        async with AsyncPostgresSaver.from_conn_string(url) as saver:
            await saver.setup()
            yield saver


@pytest.mark.parametrize("keeping", [sqlite, postgres], ids=["sqlite", "postgres"])
async def test_the_thread_lives_in_its_checkpointer(tmp_path, keeping):
    """B47: what is served anew knows what was said before, and what is open."""
    heard = []
    async with keeping(tmp_path) as saver:
        async with session(LangGraph(graph_of(says(Script(["one"])), asks([]), checkpointer=saver))) as client:
            run = await client.say("hi")
            assert (run.text, run.ending) == ("one", Ending.INTERRUPTED)
        again = LangGraph(graph_of(says(Script([])), asks(heard), checkpointer=saver))
        async with session(again, messages=client.messages, numbers=client.numbers) as client:
            run = await client.resume({run.asked[0]["id"]: "yes"})
        kept = await graph_of(asks([]), checkpointer=saver).aget_state({"configurable": {"thread_id": "t1"}})
    assert (heard, run.ending) == ([("ask", "yes")], Ending.SUCCEEDED)
    assert [one.id for one in kept.values["messages"]] == [one["id"] for one in client.messages]


async def test_a_functional_entrypoint_gives_its_value():
    @entrypoint(checkpointer=InMemorySaver())
    async def flow(given: dict) -> dict:
        return {"heard": given["messages"][-1].content}

    async with session(LangGraph(flow)) as client:
        run = await client.say("hi")
    assert run.of("RUN_FINISHED")[0]["result"] == {"heard": "hi"}


async def test_a_graph_without_messages_takes_its_state():
    class Count(BaseModel):
        n: int = 0

    async def add(state: Count):
        return {"n": state.n + 1}

    async with session(LangGraph(graph_of(add, state=Count)), state={"n": 4}) as client:
        run = await client.say("hi")
        assert (run.ending, client.state) == (Ending.SUCCEEDED, {"n": 5})


async def test_a_client_cannot_choose_its_thread_or_checkpoint():
    graph = graph_of(says(Script(["a"])))
    props = {"configurable": {"thread_id": "other", "checkpoint_id": "x"}, "config": {"recursion_limit": 1}}
    async with session(LangGraph(graph)) as client:
        assert (await client.say("hi", forwardedProps=props)).ending is Ending.SUCCEEDED
    assert (await graph.aget_state({"configurable": {"thread_id": "other"}})).values == {}


async def test_the_author_configures_each_run():
    seen = []

    class Context(BaseModel):
        tenant: str

    async def node(state, config, runtime):
        seen.append((config["configurable"]["model"], runtime.context.tenant, config["configurable"]["thread_id"]))
        return {}

    build = StateGraph(MessagesState, context_schema=Context)
    build.add_node("node", node)
    build.add_edge(START, "node")

    def config(run):
        return {"configurable": {"model": run.headers["x-model"], "thread_id": "mine", "checkpoint_id": "x"}}

    adapter = LangGraph(build.compile(), config=config, context=lambda run: Context(tenant=run.headers["x-tenant"]))
    async with serving({"agent": adapter}) as served:
        document = Session(served).document()
        document["messages"] = [{"id": "u", "role": "user", "content": "hi"}]
        await served.run(document, **{"x-model": "m", "x-tenant": "t"})
    assert seen == [("m", "t", "t1")]


async def test_one_id_for_two_calls_of_a_turn():
    """Each has an id, arguments and a result of its own, though the provider gave them one."""

    def turn():
        return [call("look", "", "c1", 0), more('{"what":"a"}', 0), call("look", "", "c1", 1), more('{"what":"b"}', 1)]

    async with session(LangGraph(agent(Script(turn(), ["done"], turn()), [look]))) as client:
        run = await client.say("hi")
        made = client.messages[1]["toolCalls"]
        assert [one["function"]["arguments"] for one in made] == ['{"what":"a"}', '{"what":"b"}']
        assert [run.results[one["id"]] for one in made] == ["a is fine", "b is fine"]
        run = await client.say("again")
        assert (run.ending, len(run.results)) == (Ending.SUCCEEDED, 2)
