"""How runs end, what they cost, and what the graph declares: beside the best-known LangGraph adapter."""

import asyncio

from langchain.agents.middleware import AgentMiddleware
from langchain_core.messages import AIMessage
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.func import entrypoint
from support.graphs import APPROVE, Bank, Script, agent, asks, call, cost, graph_of, pays, says
from support.peer import entry
from support.peer_langgraph import beside

SECRET = "sk-secret"


class Broken(InMemorySaver):
    """A checkpointer whose disk is full, from its second checkpoint on."""

    async def aput(self, config, checkpoint, metadata, new_versions):
        if metadata["step"] > 0:
            raise OSError(SECRET)
        return await super().aput(config, checkpoint, metadata, new_versions)


def failing(what):
    """A graph that fails somewhere, and says something before, where it can."""

    async def node(state):
        raise KeyError(SECRET)

    @tool
    async def fail() -> str:
        """Fail."""
        raise KeyError(SECRET)

    class Before(AgentMiddleware):
        async def abefore_model(self, state, runtime):
            raise KeyError(SECRET)

    graphs = {
        "node": lambda: graph_of(says(Script(["hm"])), node),
        "model": lambda: agent(Script([KeyError(SECRET)])),
        "model, late": lambda: agent(Script(["hm", KeyError(SECRET)])),
        "tool": lambda: agent(Script(["hm", call("fail", "{}")]), [fail]),
        "middleware": lambda: agent(Script(), middleware=[Before()]),
        "checkpointer": lambda: graph_of(says(Script(["hm"])), says(Script(["more"]), "more"), checkpointer=Broken()),
        "inner graph": lambda: graph_of(graph_of(says(Script(["hm"])), node, checkpointer=None, name="inner")),
    }
    return graphs[what]()


@beside(
    tried="A node, a model, a tool, a middleware, the checkpointer and an inner graph fail",
    ours="Each run ends with one RUN_ERROR, and nothing after it",
)
async def test_something_fails(serve):
    """B07, B67."""
    for what in ("node", "model", "model, late", "tool", "middleware", "checkpointer", "inner graph"):
        async with serve(failing(what)) as thread:
            answer = await thread.say("go")
        assert (what, answer.ended) == (what, "RUN_ERROR")
        assert answer.breaches == []
        assert len(answer.of("RUN_ERROR")) == 1
        assert answer.of("RUN_FINISHED") == []


@beside(
    tried="What fails names a secret",
    peer="RUN_ERROR with the exception's text",
    ours="RUN_ERROR with a code, without the exception's text",
    fails="sk-secret",
)
async def test_what_fails_names_a_secret(serve):
    """Fault 13 of the peer."""
    for what in ("node", "model", "tool", "checkpointer"):
        async with serve(failing(what)) as thread:
            answer = await thread.say("go")
        assert answer.ended == "RUN_ERROR"
        assert SECRET not in answer.response.text
        assert answer.outcome["code"] == "internal_error"


@beside(
    tried="The model calls a tool that does not exist, and one with wrong arguments",
    peer="The results are on no event but the closing snapshot",
    ours="Each call gets a result that says so, and the run goes on",
    fails=r"\{\} == \{'c1'",
)
async def test_the_model_calls_wrongly(serve):
    """B67."""

    @tool
    async def double(number: int) -> str:
        """Double."""
        return str(2 * number)

    model = Script([call("nothing", "{}", "c1", 0), call("double", '{"number":"many"}', "c2", 1)])
    async with serve(agent(model, [double])) as thread:
        answer = await thread.say("go")
    assert answer.ended == "success"
    assert {key: one.status for key, one in model.results.items()} == {"c1": "error", "c2": "error"}
    assert answer.breaches == []
    assert answer.results == {key: one.text for key, one in model.results.items()}


@beside(
    tried="A graph without a checkpointer",
    peer="Every run of it ends as RUN_ERROR",
    ours="It is served: the client's history is its memory",
    fails=r"\('', ''\)",
)
async def test_a_graph_without_a_checkpointer(serve):
    """B38."""
    model = Script(["one"])
    async with serve(graph_of(says(model), checkpointer=None)) as thread:
        first = await thread.say("a")
        second = await thread.say("b")
    assert (first.text, second.text) == ("one", "done")
    assert first.breaches == second.breaches == []
    assert [message.text for message in model.seen[-1]] == ["a", "one", "b"]


@beside(
    tried="A graph without a checkpointer interrupts, or gets a resume entry",
    peer="RUN_ERROR without a code",
    ours="RUN_ERROR with the code `no_checkpointer`; the entry is refused with 422",
    fails="no_checkpointer",
)
async def test_a_graph_without_a_checkpointer_interrupts(serve):
    """B21."""
    async with serve(graph_of(asks([]), checkpointer=None)) as thread:
        answer = await thread.say("go")
        assert answer.ended == "RUN_ERROR"
        assert answer.outcome.get("code") == "no_checkpointer"
        refused = await thread.run(resume=[entry("x", True)])
    assert refused.response.status_code == 422
    assert refused.response.json()["code"] == "no_checkpointer"


@beside(
    tried="An entrypoint of LangGraph's functional API",
    ours="It is served as any graph",
)
async def test_an_entrypoint(serve):
    """B67."""

    @entrypoint(checkpointer=InMemorySaver())
    async def greet(inputs):
        return {"messages": [await Script(["hel", "lo"]).ainvoke(inputs["messages"])]}

    async with serve(greet) as thread:
        answer = await thread.say("go")
    assert answer.breaches == []
    assert (answer.text, answer.ended) == ("hello", "success")


@beside(
    tried="A frontend asks what the agent can do",
    peer="There is no such document",
    ours="The capabilities are served",
    fails="404 == 200",
)
async def test_the_agent_declares_its_capabilities(serve):
    """Fault 13 of the peer."""
    async with serve(agent(Script(), name="helper")) as thread:
        response = await thread.client.get(thread.capabilities)
    assert response.status_code == 200
    assert response.json()["identity"]["name"] == "helper"


# ---- graphs within the graph ----------------------------------------------------------------------


@beside(
    tried="An agent is a node of the graph",
    peer="What it says is the graph's own",
    ours="It is a subagent, and what it says is attributed to it",
    fails=r"\[\] == \['helper'\]",
)
async def test_an_agent_is_a_node(serve):
    """B21."""
    helper = agent(Script(["from the helper"]), checkpointer=None, name="helper")
    async with serve(graph_of(helper, says(Script(["from the graph"])))) as thread:
        answer = await thread.say("go")
    assert answer.breaches == []
    assert answer.text == "from the helperfrom the graph"
    assert [event["name"] for event in answer.of("SUBAGENT_STARTED")] == ["helper"]
    owners = {event["delta"]: event.get("subagentRunId") for event in answer.of("TEXT_MESSAGE_CONTENT")}
    assert owners["from the graph"] is None
    assert owners["from the helper"] == answer.of("SUBAGENT_STARTED")[0]["subagentRunId"]


@beside(
    tried="Two agents are nodes that run at once",
    ours="Each writes a message of its own",
)
async def test_two_agents_at_once(serve):
    """B57; fault 7 of the peer."""

    async def turn():
        await asyncio.sleep(0)

    helpers = [agent(Script([f"{name}1 ", turn, f"{name}2"]), checkpointer=None, name=name) for name in ("a", "b")]
    async with serve(graph_of(*helpers, side_by_side=True)) as thread:
        answer = await thread.say("go")
    assert (answer.breaches, answer.ended) == ([], "success")
    assert sorted(message["content"] for message in answer.messages) == ["a1 a2", "b1 b2"]


@beside(
    tried="A tool asks another agent",
    ours="What that one says is attributed to it",
)
async def test_a_tool_asks_another_agent(serve):
    """B79."""
    helper = agent(Script(["from the helper"]), checkpointer=None, name="helper")

    @tool
    async def ask() -> str:
        """Ask the helper."""
        found = await helper.ainvoke({"messages": [("user", "question")]})
        return found["messages"][-1].text

    async with serve(agent(Script([call("ask", "{}")], ["from the agent"]), [ask])) as thread:
        answer = await thread.say("go")
    assert answer.breaches == []
    assert answer.results == {"c1": "from the helper"}
    owners = {event["delta"]: event.get("subagentRunId") for event in answer.of("TEXT_MESSAGE_CONTENT")}
    assert owners["from the agent"] is None
    assert owners["from the helper"] is not None


# ---- usage ----------------------------------------------------------------------------------------


def counted(answer):
    """What a run cost, by provider and model."""
    parts = ("provider", "model", "totalTokens")
    return {
        (one.get("provider"), one.get("model")): {key: value for key, value in one.items() if key not in parts}
        for one in answer.consumer.usage
    }


@beside(
    tried="Two models are asked; one reports caches and reasoning, the other nothing but its input and output",
    ours="One entry for each: parts are never added; what is unknown is absent",
)
async def test_two_models_report_what_they_cost(serve):
    """B79."""
    full = {"input_token_details": {"cache_read": 100}, "output_token_details": {"reasoning": 4}}
    one = Script(["one", cost(120, 9, **full)], provider="alpha", model="a1")
    two = Script(["two", cost(30, 1)], provider="beta", model="b1")
    async with serve(graph_of(says(one, "one"), says(two, "two"))) as thread:
        answer = await thread.say("go")
    assert answer.breaches == []
    assert answer.text == "onetwo"
    assert counted(answer) == {
        ("alpha", "a1"): {"inputTokens": 120, "outputTokens": 9, "cachedInputTokens": 100, "reasoningTokens": 4},
        ("beta", "b1"): {"inputTokens": 30, "outputTokens": 1},
    }


@beside(
    tried="A model is asked in silence, and one in a graph within the graph",
    ours="Both are counted",
)
async def test_silent_and_inner_calls_are_counted(serve):
    """B79."""
    quiet = Script(["x", cost(10, 1)], model="quiet")
    inner = Script(["y", cost(20, 2)], model="inner")

    async def route(state):
        await quiet.with_config(tags=["nostream"]).ainvoke(state["messages"])
        return {}

    within = graph_of(says(inner), checkpointer=None, name="within")
    async with serve(graph_of(route, within)) as thread:
        answer = await thread.say("go")
    assert answer.breaches == []
    assert counted(answer) == {
        ("house", "quiet"): {"inputTokens": 10, "outputTokens": 1},
        ("house", "inner"): {"inputTokens": 20, "outputTokens": 2},
    }


@beside(
    tried="A run is interrupted and resumed",
    ours="Each of the two runs reports its own model calls",
)
async def test_a_resumed_run_reports_its_own_usage(serve):
    """B79."""
    bank = Bank([pays(100), cost(10, 1)], ["done", cost(20, 2)])
    async with serve(bank.agent()) as thread:
        asked = await thread.say("pay")
        answer = await thread.resume({asked.open["c1"]: APPROVE})
    assert counted(asked) == {("house", "script"): {"inputTokens": 10, "outputTokens": 1}}
    assert counted(answer) == {("house", "script"): {"inputTokens": 20, "outputTokens": 2}}


@beside(
    tried="A run fails after a model has been asked",
    peer="RUN_ERROR says nothing of it",
    ours="RUN_ERROR carries what it cost",
    fails=r"\{\} == \{\('house'",
)
async def test_a_failed_run_reports_its_usage(serve):
    """B79."""

    async def fail(state):
        raise ValueError("no")

    async with serve(graph_of(says(Script(["hm", cost(10, 1)])), fail)) as thread:
        answer = await thread.say("go")
    assert answer.ended == "RUN_ERROR"
    assert counted(answer) == {("house", "script"): {"inputTokens": 10, "outputTokens": 1}}


@beside(
    tried="A provider reports nothing, and a node makes a message by hand",
    ours="No count is made up",
)
async def test_a_provider_reports_nothing(serve):
    """B79."""

    async def whole(state):
        return {"messages": [AIMessage("made by hand", id="m1")]}

    async with serve(graph_of(says(Script(["hm"])), whole)) as thread:
        answer = await thread.say("go")
    assert answer.breaches == []
    assert all("inputTokens" not in one and "outputTokens" not in one for one in answer.consumer.usage)
