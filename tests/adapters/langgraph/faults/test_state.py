"""State: beside the best-known LangGraph adapter."""

import operator
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from enum import Enum
from itertools import pairwise
from typing import Annotated, Any
from uuid import UUID

from langchain.agents import AgentState
from langchain.tools import ToolRuntime
from langchain_core.messages import ToolMessage
from langchain_core.tools import InjectedToolCallId, tool
from langgraph.graph import MessagesState
from langgraph.types import Command
from pydantic import BaseModel
from support.graphs import Script, agent, call, graph_of, more, says
from support.peer_langgraph import beside


def held(answer):
    """The state that the client holds after a run, without the messages and tools that the peer puts into it."""
    kept = answer.consumer.state or {}
    return {key: value for key, value in kept.items() if key not in ("messages", "tools", "ag-ui", "copilotkit")}


class Notes(MessagesState):
    notes: list[Any]


class Cooking(Notes):
    recipe: dict[str, Any]


def notes(what, name="note"):
    """A node that writes down what it is given."""

    async def node(state):
        return {"notes": [*state.get("notes", []), what]}

    node.__name__ = name
    return node


@beside(
    tried="Two nodes change the state, one after the other",
    peer="The whole state comes with each node, changed or not, with all messages",
    ours="Each change is sent, once; the messages are no part of it",
    fails="4 == 2",
)
async def test_nodes_change_the_state(serve):
    """Fault 9 of the peer; B49."""
    graph = graph_of(notes("a", "one"), says(Script(["hm"])), notes("b", "two"), state=Notes)
    async with serve(graph) as thread:
        answer = await thread.say("go")
    assert answer.breaches == []
    assert held(answer) == {"notes": ["a", "b"]}
    states = [event for event in answer.events if event["type"] in ("STATE_SNAPSHOT", "STATE_DELTA")]
    assert len(states) == 2
    assert "messages" not in answer.consumer.state


@beside(
    tried="Tools run in the middle of a run, one after the other",
    peer="Each has the last tool's result for its only message",
    ours="No state that the client is shown lacks what an earlier one had",
    fails=r"== \[\]",
)
async def test_the_state_never_goes_backwards(serve):
    """Fault 9 of the peer; B51."""

    @tool
    async def look(what: str) -> str:
        """Look."""
        return f"saw {what}"

    class Titled(AgentState):
        title: str

    model = Script([call("look", ""), more('{"what":"a"}')], [call("look", "", "c2"), more('{"what":"b"}')])
    async with serve(agent(model, [look], state_schema=Titled)) as thread:
        answer = await thread.say("go", state={"title": "list"})
    assert answer.breaches == []
    assert held(answer) == {"title": "list"}
    shown = [event["snapshot"] for event in answer.of("STATE_SNAPSHOT")]
    assert [state.get("title") for state in shown] == ["list"] * len(shown)
    kept = [{message["id"] for message in state.get("messages", ())} for state in shown]
    assert [before - after for before, after in pairwise(kept) if before - after] == []


@beside(
    tried="A tool changes the state with a Command",
    ours="The change is sent after its result",
)
async def test_a_tool_changes_the_state(serve):
    """B49."""

    @tool
    async def note(what: str, key: Annotated[str, InjectedToolCallId]) -> Command:
        """Write down."""
        return Command(update={"notes": [what], "messages": [ToolMessage("noted", tool_call_id=key)]})

    class Kept(AgentState):
        notes: Annotated[list[str], operator.add]

    model = Script([call("note", ""), more('{"what":"a"}')], [call("note", "", "c2"), more('{"what":"b"}')])
    async with serve(agent(model, [note], state_schema=Kept)) as thread:
        answer = await thread.say("go")
    assert answer.breaches == []
    assert answer.results == {"c1": "noted", "c2": "noted"}
    assert held(answer) == {"notes": ["a", "b"]}


@beside(
    tried="The client sends a state, and the first node streams without touching it",
    ours="Nothing is sent that is smaller than the client's state",
)
async def test_a_node_streams_without_touching_the_state(serve):
    """B51."""
    graph = graph_of(says(Script(["one ", "two"])), notes("x"), state=Cooking)
    async with serve(graph) as thread:
        answer = await thread.say("go", state={"recipe": {"title": "soup"}})
    assert answer.breaches == []
    assert held(answer)["recipe"] == {"title": "soup"}
    assert all(event["snapshot"].get("recipe") == {"title": "soup"} for event in answer.of("STATE_SNAPSHOT"))


class Colour(Enum):
    RED = "red"


class Place(BaseModel):
    city: str


@dataclass
class Size:
    width: int


VALUES = {
    "place": (Place(city="Oslo"), {"city": "Oslo"}),
    "size": (Size(3), {"width": 3}),
    "at": (datetime(2026, 1, 2, tzinfo=UTC), "2026-01-02T00:00:00Z"),
    "key": (UUID(int=1), "00000000-0000-0000-0000-000000000001"),
    "price": (Decimal("1.50"), "1.50"),
    "colour": (Colour.RED, "red"),
    "pair": ((1, 2), [1, 2]),
    "set": ({1}, [1]),
}


@beside(
    tried="A node puts models, data classes, dates, decimals, enumerations and sets into the state",
    ours="They come as JSON, with dates as ISO 8601",
)
async def test_values_of_pythons_in_the_state(serve):
    """B45."""
    graph = graph_of(notes({name: value for name, (value, _) in VALUES.items()}), state=Notes)
    async with serve(graph) as thread:
        answer = await thread.say("go")
    assert answer.breaches == []
    assert answer.ended == "success"
    assert held(answer) == {"notes": [{name: wire for name, (_, wire) in VALUES.items()}]}


@beside(
    tried="A node puts bytes that are no text into the state",
    peer="The stream ends without a terminal event",
    ours="They are replaced, with a warning, and the run goes on",
    fails="'STEP_STARTED' == 'success'",
)
async def test_bytes_in_the_state(serve):
    """Fault 11 of the peer; B46."""
    async with serve(graph_of(notes(b"\xff\xfe"), says(Script(["hm"])), state=Notes)) as thread:
        answer = await thread.say("go")
    assert answer.ended == "success"
    assert answer.breaches == []
    assert answer.text == "hm"
    assert len(held(answer)["notes"]) == 1
    assert len(answer.warnings) == 1


@beside(
    tried="A node puts infinity, a large number, and a key that is no text into the state",
    ours="What JSON does not have is null, and the run goes on",
)
async def test_what_json_does_not_have_in_the_state(serve):
    """B46."""
    value = {"x": float("nan"), "y": float("inf"), 1: "a", "big": 2**63}
    async with serve(graph_of(notes(value), says(Script(["hm"])), state=Notes)) as thread:
        answer = await thread.say("go")
    assert answer.ended == "success"
    assert answer.breaches == []
    assert answer.text == "hm"
    assert held(answer)["notes"] == [{"x": None, "y": None, "1": "a", "big": 2**63}]


@beside(
    tried="A tool takes its runtime and the state, which the framework injects",
    ours="Neither is an argument of the call",
)
async def test_injected_arguments_are_no_arguments(serve):
    """B45."""

    @tool
    async def look(what: str, runtime: ToolRuntime) -> str:
        """Look."""
        return f"{what} of {len(runtime.state['messages'])}"

    async with serve(agent(Script([call("look", ""), more('{"what":"sky"}')]), [look])) as thread:
        answer = await thread.say("go")
    assert answer.breaches == []
    assert answer.results == {"c1": "sky of 2"}
    assert answer.calls == {"c1": '{"what":"sky"}'}


@beside(
    tried="The state that the client sends is a list, or a text",
    peer="RUN_ERROR in the stream, with an error of Python's",
    ours="Refused with 422 before the stream",
    fails="200 == 422",
)
async def test_the_state_is_no_object(serve):
    """Fault 11 of the peer."""
    for state in ([1], "text"):
        model = Script()
        async with serve(graph_of(says(model), state=Notes)) as thread:
            answer = await thread.say("go", state=state)
        assert answer.response.status_code == 422
        assert model.seen == []


@beside(
    tried="State comes that does not fit the graph's",
    peer="RUN_ERROR in the stream, with an error of Pydantic's",
    ours="Refused with 422 before the stream, with the key",
    fails="200 == 422",
)
async def test_the_state_does_not_fit(serve):
    """B47."""

    class Counting(BaseModel):
        messages: list[Any] = []
        count: int = 0

    seen = []

    async def node(state):
        seen.append(state.count)
        return {"count": state.count + 1}

    async with serve(graph_of(node, state=Counting)) as thread:
        answer = await thread.say("go", state={"count": "many"})
    assert seen == []
    assert answer.response.status_code == 422
    assert "count" in answer.response.text


@beside(
    tried="State comes for a graph that has none but its messages",
    peer="The run works; the client's state is gone",
    ours="The run works; what the graph does not know is left out with a warning",
    fails=r"\{\} == \{'a': 1\}",
)
async def test_the_graph_has_no_state(serve):
    """B49."""
    for state in ({}, {"a": 1}):
        async with serve(graph_of(says(Script()))) as thread:
            answer = await thread.say("go", state=state)
        assert (answer.breaches, answer.text, answer.ended) == ([], "done", "success")
        assert held(answer) == state
        assert bool(answer.warnings) == bool(state)


@beside(
    tried="The first change of a state that the client does not have yet, with null and an empty object",
    ours="Whatever is sent applies, and the client's state is the graph's",
)
async def test_the_first_change_of_the_state(serve):
    """B47."""

    class Query(MessagesState):
        ns: dict[str, Any]

    async def ask(state):
        return {"ns": {"query": "x", "entries": None}}

    for given in ({}, {"state": {}}, {"state": None}, {"state": {"ns": {}}}):
        async with serve(graph_of(ask, state=Query)) as thread:
            answer = await thread.say("go", **given)
        assert (answer.breaches, answer.ended) == ([], "success")
        assert held(answer) == {"ns": {"query": "x", "entries": None}}


@beside(
    tried="A node changes a list of the state in place",
    ours="The change is sent",
)
async def test_the_state_is_changed_in_place(serve):
    """B49."""

    async def grow(state):
        state["notes"].append("b")
        return {"notes": state["notes"]}

    async with serve(graph_of(notes("a"), grow, state=Notes)) as thread:
        answer = await thread.say("go")
    assert answer.breaches == []
    assert held(answer) == {"notes": ["a", "b"]}


@beside(
    tried="The client edits a key of the state between two runs",
    ours="The graph's next node sees the edit",
)
async def test_the_client_edits_the_state(serve):
    """B49."""
    titles = []

    class Titled(MessagesState):
        title: str

    async def read(state):
        titles.append(state.get("title"))
        return {}

    async with serve(graph_of(read, state=Titled)) as thread:
        await thread.say("go", state={"title": "one"})
        answer = await thread.say("on", state={"title": "two"})
    assert titles == ["one", "two"]
    assert (answer.breaches, held(answer)) == ([], {"title": "two"})


@beside(
    tried="The client sends back the state that it was shown, of a key that adds up",
    peer="It is added again, each time",
    ours="It is not added again",
    fails=r"\[1, 3, 7\]",
)
async def test_a_key_that_adds_up_comes_back(serve):
    """B49."""

    class Adding(MessagesState):
        log: Annotated[list[str], operator.add]

    async def add(state):
        return {"log": ["x"]}

    async with serve(graph_of(add, state=Adding)) as thread:
        first = await thread.say("go")
        second = await thread.say("on", state=held(first))
        third = await thread.say("on", state=held(second))
    assert third.breaches == []
    assert [len(held(answer)["log"]) for answer in (first, second, third)] == [1, 2, 3]


@beside(
    tried="The graph has a key whose name begins with an underscore",
    peer="The client is shown it",
    ours="The client is not shown it",
    fails="s3cr3t",
)
async def test_underscored_keys_are_not_shown(serve):
    """B49."""

    class Whole(Notes):
        _session: str

    async def node(state):
        return {"notes": ["a"], "_session": "s3cr3t"}

    async with serve(graph_of(node, says(Script(["hm"])), state=Whole)) as thread:
        answer = await thread.say("go")
    assert answer.breaches == []
    assert "s3cr3t" not in answer.response.text
    assert held(answer) == {"notes": ["a"]}


@beside(
    tried="The graph has a key that is no part of its output",
    ours="The client is not shown it",
)
async def test_private_keys_are_not_shown(serve):
    """B49."""

    class Whole(Notes):
        secret: str

    async def node(state):
        return {"notes": ["a"], "secret": "s3cr3t"}

    graph = graph_of(node, says(Script(["hm"])), state=Whole, output=Notes)
    async with serve(graph) as thread:
        answer = await thread.say("go")
    assert answer.breaches == []
    assert held(answer) == {"notes": ["a"]}
    assert "s3cr3t" not in answer.response.text


@beside(
    tried="One key of a large state changes, node after node",
    peer="The whole state is sent each time",
    ours="The state is sent once, then the changes",
    fails="< 60000",
)
async def test_one_key_of_a_large_state_changes(serve):
    """B73."""

    class Large(MessagesState):
        large: str
        count: int

    async def fill(state):
        return {"large": "x" * 50_000, "count": 0}

    def counting(name):
        async def count(state):
            return {"count": state["count"] + 1}

        count.__name__ = name
        return count

    async with serve(graph_of(fill, *map(counting, "abc"), state=Large)) as thread:
        answer = await thread.say("go")
    assert answer.breaches == []
    assert held(answer) == {"large": "x" * 50_000, "count": 3}
    assert len(answer.response.content) < 60_000


@beside(
    tried="The state has not changed in a run",
    peer="The whole state is sent",
    ours="Nothing is sent of it",
    fails="< 5000",
)
async def test_the_state_has_not_changed(serve):
    """B73."""
    async with serve(graph_of(says(Script()), state=Notes)) as thread:
        answer = await thread.say("go", state={"notes": ["x" * 10_000]})
    assert answer.breaches == []
    assert (held(answer), answer.text) == ({"notes": ["x" * 10_000]}, "done")
    assert len(answer.response.content) < 5_000
