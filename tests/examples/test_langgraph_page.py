"""The page about LangGraph is true: its code runs, it names what there is, and its limits are the ones there are."""

import dataclasses
import inspect
import re

import pytest
from langchain.agents import create_agent
from langchain.agents.middleware import HumanInTheLoopMiddleware
from langchain.agents.structured_output import ToolStrategy
from langchain_core.messages import AIMessage
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.config import get_config
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.types import interrupt
from pydantic import BaseModel
from support.agents import run_input
from support.blocks import blocks
from support.command import ROOT
from support.pages import codes_raised, dead_links, rows
from support.scripted import Scripted
from support.server import serving as serving_adapters
from support.session import session
from support.shop import PICK_TEA

from adapters.langgraph import LangGraph
from adapters.langgraph.adapter import WAIT_FOR_THREAD
from adapters.media import Trust
from conformance.consumer import Ending

PAGE = "docs/langgraph.md"
TEXT = (ROOT / PAGE).read_text()
SERVED, *FRONTEND = blocks(PAGE, "python")


# ---- it names what there is -------------------------------------------------------------------------


def test_every_argument_has_a_row_with_its_default_and_no_other():
    head = TEXT.partition("## What the graph does")[0]
    shown = dict(re.findall(r"^\| `(\w+)` \| (.+?) \|", head, re.MULTILINE))
    parameters = [one for one in inspect.signature(LangGraph).parameters.values() if one.name != "graph"]
    assert shown.keys() == {one.name for one in parameters}
    for one in parameters:
        if isinstance(one.default, str | bool):
            assert shown[one.name].strip("`").strip('"') == str(one.default)


def test_every_kind_of_trust_has_a_row_with_its_default():
    shown = {cells[0].strip("`"): cells[1] for cells in rows(TEXT, "What a client may do") if cells[0].startswith("`")}
    defaults = {one.name: one.default for one in dataclasses.fields(Trust)}
    assert shown.keys() == defaults.keys()
    for name, default in defaults.items():
        expected = ", ".join(f"`{scheme}`" for scheme in sorted(default)) if name == "url_schemes" else f"`{default}`"
        assert shown[name] == expected


def test_every_code_has_a_row_and_no_other():
    table = [cells for cells in rows(TEXT, "Errors") if cells[1] != "when"]
    refused = {cells[0].removeprefix("422 ").strip("`") for cells in table if len(cells) == 2}
    failed = {cells[0].strip("`") for cells in table if len(cells) == 3}
    assert refused == codes_raised("langgraph", "InputRefused")
    assert failed == {*codes_raised("langgraph", "AdapterError", "ResumeRefused"), "internal_error"}


def test_its_links_lead_somewhere():
    assert dead_links(PAGE) == []


def test_numbers_are_those_of_the_code():
    assert WAIT_FOR_THREAD == 5
    assert "waits for five seconds" in TEXT
    limit = create_agent(Scripted()).config["recursion_limit"]
    assert f"a limit of {limit:,} steps" in TEXT


# ---- its code runs ----------------------------------------------------------------------------------


@pytest.mark.anyio
async def test_the_object_that_it_makes_is_served(execute, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    async with execute(SERVED.text)["served"]() as adapter, serving_adapters({"shop": adapter}) as served:
        document = run_input(messages=[{"id": "u1", "role": "user", "content": "What does it cost?"}])
        _, events = await served.run(document, **{"x-customer": "Ada"})
    (result,) = [event["content"] for event in events if event["type"] == "TOOL_CALL_RESULT"]
    assert result == "4.50 euros for Ada"


@pytest.mark.anyio
@pytest.mark.parametrize("block", FRONTEND, ids=["agent", "graph"])
async def test_its_graphs_have_frontend_tools(block, execute):
    async with session(LangGraph(execute(block.text)["graph"]), tools=[PICK_TEA]) as client:
        (call,) = (await client.say("Let me pick.")).pending
        assert (await client.answer({call: "oolong"})).text == "pick_tea: oolong"


# ---- what it says of interrupts is so ---------------------------------------------------------------


class Day(BaseModel):
    day: str


class Consent(BaseModel):
    approved: bool


def asking(*values, **options):
    """A graph whose node asks."""

    async def node(state):
        return {"messages": [AIMessage(str(interrupt(*values, **options)))]}

    return graph_of(node, checkpointer=InMemorySaver())


def reviewed(calls, **options):
    """An agent whose calls are reviewed."""

    @tool
    def pay() -> str:
        """Pay."""
        return "paid"

    model = Scripted(turns=[[("pay", {}, f"c{number}") for number in range(calls)]])
    middleware = [HumanInTheLoopMiddleware({"pay": True}, **options)]
    return create_agent(model, [pay], middleware=middleware, checkpointer=InMemorySaver())


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("make", "reason", "payload", "said"),
    [
        (lambda: reviewed(1, interrupt_mode="per_call"), "tool_call", {"approved": True}, "paid"),
        (lambda: reviewed(1, interrupt_mode="per_call"), "tool_call", {"type": "respond", "message": "5"}, "5"),
        (lambda: reviewed(1), "tool_call", {"approved": True}, "paid"),
        (lambda: reviewed(1), "tool_call", {"decisions": [{"type": "approve"}]}, "paid"),
        (lambda: reviewed(2), "input_required", {"decisions": [{"type": "approve"}] * 2}, "paid"),
        (lambda: asking("Which?"), "langgraph:interrupt", ["any", 1], "['any', 1]"),
        (lambda: asking({"reason": "example:why"}), "example:why", 1, "1"),
        (lambda: asking({"type": "why"}), "why", 1, "1"),
        (lambda: asking({"toolCallId": "c1"}), "tool_call", 1, "1"),
        (lambda: asking("Which?", response_schema=Day), "input_required", {"day": "Friday"}, "Friday"),
        (lambda: asking("Well?", response_schema=Consent), "confirmation", {"approved": True}, "True"),
    ],
)
async def test_what_a_graph_asks_has_the_reason_and_the_answer_of_its_row(make, reason, payload, said):
    async with session(LangGraph(make())) as client:
        (asked,) = (await client.say("go")).asked
        run = await client.resume({asked["id"]: payload})
    assert (asked["reason"], run.ending) == (reason, Ending.SUCCEEDED)
    assert said in run.text


@pytest.mark.anyio
@pytest.mark.parametrize(("payload", "said"), [({"approved": True}, '["go"]'), ({"approved": False}, "")])
async def test_a_breakpoint_is_passed_or_what_is_next_is_given_up(payload, said):
    graph = create_agent(Scripted(), checkpointer=InMemorySaver(), interrupt_before=["model"])
    async with session(LangGraph(graph)) as client:
        (asked,) = (await client.say("go")).asked
        run = await client.resume({asked["id"]: payload})
    assert (asked["reason"], run.ending, run.text) == ("confirmation", Ending.SUCCEEDED, said)


@pytest.mark.anyio
@pytest.mark.parametrize(("options", "said"), [({}, "None"), ({"response_schema": Day}, "")])
async def test_a_node_is_told_of_a_dismissal_if_its_schema_admits_it(options, said):
    async with session(LangGraph(asking("Which?", **options))) as client:
        (asked,) = (await client.say("go")).asked
        run = await client.resume({asked["id"]: "cancelled"})
        assert (run.ending, run.text) == (Ending.SUCCEEDED, said)
        assert (await client.say("again")).asked != []


@pytest.mark.anyio
async def test_a_subagent_that_asks_goes_on_under_its_id():
    inner = asking("Which?").copy(update={"checkpointer": None, "name": "helper"})
    async with session(LangGraph(graph_of(inner, checkpointer=InMemorySaver())), version="1.0") as client:
        first = await client.say("go")
        second = await client.resume({first.asked[0]["id"]: "this"})
    ids = [[event["subagentRunId"] for event in run.of("SUBAGENT_STARTED")] for run in (first, second)]
    assert ids[0] == ids[1] != []


@pytest.mark.anyio
async def test_frontend_tools_need_a_checkpointer(execute):
    graph = execute(FRONTEND[0].text)["graph"].copy(update={"checkpointer": None})
    async with session(LangGraph(graph), tools=[PICK_TEA]) as client:
        run = await client.say("Let me pick.")
    assert run.error[0] == "no_checkpointer"


# ---- what it says of clients and limits is so -------------------------------------------------------


def graph_of(node, **options):
    builder = StateGraph(MessagesState)
    builder.add_node("node", node)
    builder.add_edge(START, "node")
    return builder.compile(**options)


@pytest.mark.anyio
async def test_a_node_is_given_what_the_client_sent():
    seen = []

    async def look(state):
        seen.append(get_config()["configurable"]["agui"])
        return {}

    context = [{"description": "place", "value": "Rome"}]
    async with session(LangGraph(graph_of(look)), tools=[PICK_TEA], more={"context": context}) as client:
        await client.say("hi", forwardedProps={"a": 1})
    (given,) = seen
    assert (given["tools"], given["context"], given["forwardedProps"]) == ([PICK_TEA], context, {"a": 1})


@pytest.mark.anyio
@pytest.mark.parametrize(("steps", "subagents"), [(True, True), (True, False), (False, True), (False, False)])
async def test_steps_and_subagents_can_be_left_out(steps, subagents):
    graph = graph_of(create_agent(Scripted(), name="helper"))
    async with session(LangGraph(graph, steps=steps, subagents=subagents)) as client:
        run = await client.say("hi")
    assert (bool(run.of("STEP_STARTED")), bool(run.of("SUBAGENT_STARTED"))) == (steps, subagents)
    assert run.text == '["hi"]'


@pytest.mark.anyio
async def test_structured_output_by_a_tool_is_on_the_stream_twice():
    class Answer(BaseModel):
        value: int

    model = Scripted(turns=[[("Answer", {"value": 7}, "c1")]])
    async with session(LangGraph(create_agent(model, response_format=ToolStrategy(Answer)))) as client:
        run = await client.say("hi")
    assert run.consumer.result == {"value": 7}
    assert [event["toolCallName"] for event in run.of("TOOL_CALL_START")] == ["Answer"]


@pytest.mark.anyio
async def test_a_checkpointer_without_asynchronous_methods_fails_each_run():
    with SqliteSaver.from_conn_string(":memory:") as threads:
        async with session(LangGraph(create_agent(Scripted(), checkpointer=threads))) as client:
            run = await client.say("hi")
    assert (run.ending, run.error[0]) == (Ending.FAILED, "internal_error")


@pytest.mark.anyio
async def test_without_a_checkpointer_a_run_begins_with_the_clients_state():
    class Counting(MessagesState):
        count: int

    builder = StateGraph(Counting)
    builder.add_node("more", lambda state: {"count": state.get("count", 0) + 1})
    builder.add_edge(START, "more")
    async with session(LangGraph(builder.compile()), state={"count": 4}) as client:
        await client.say("hi")
        await client.say("hi")
    assert client.state == {"count": 6}
