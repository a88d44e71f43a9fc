"""What of a graph's values its consumer sees, what a client may write, and what that does to a graph."""

import dataclasses
import datetime as dt
import operator
import typing
from typing import Annotated, Any, NotRequired

import pytest
import typing_extensions
from hypothesis import given, settings
from hypothesis import strategies as st
from langchain.agents import create_agent
from langchain.agents.middleware import AgentMiddleware, AgentState
from langchain.agents.middleware.types import OmitFromInput, PrivateStateAttr
from langchain_core.language_models.fake_chat_models import FakeListChatModel
from langchain_core.messages import AIMessage, AnyMessage, HumanMessage
from langgraph.channels import EphemeralValue, LastValue, Topic, UntrackedValue
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.func import entrypoint
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.graph.message import add_messages
from langgraph.managed import RemainingSteps
from langgraph.pregel import NodeBuilder, Pregel
from langgraph.types import Overwrite
from pydantic import BaseModel, Field
from support.session import session

from adapters.base import InputRefused
from adapters.langgraph import LangGraph
from adapters.langgraph.state import SharedState
from conformance.consumer import Ending
from conformance.json_values import json_value

pytestmark = pytest.mark.anyio


def later(old, new):
    return new


class Recipe(typing.TypedDict):
    """A typed dict of the standard library, which Python 3.11's pydantic does not read."""

    title: str
    steps: NotRequired[list[str]]


class Opaque:
    """Something that JSON has no value of."""


class Dict(typing.TypedDict):
    messages: Annotated[list[AnyMessage], add_messages]
    count: int
    items: Annotated[list[str], operator.add]
    best: Annotated[int | str, later]
    recipe: Recipe
    when: dt.datetime
    notes: list[AnyMessage]
    connection: Opaque
    seen: Annotated[list, Topic(str, True)]
    _secret: str
    left: RemainingSteps
    passing: Annotated[str, EphemeralValue]
    untracked: Annotated[str, UntrackedValue]


class Model(BaseModel):
    count: int = Field(0, ge=0)
    items: Annotated[list[str], operator.add] = []
    recipe: dict[str, str] | None = None


@dataclasses.dataclass
class Data:
    count: int = 0
    items: Annotated[list[str], operator.add] = dataclasses.field(default_factory=list)


class Narrow(typing_extensions.TypedDict):
    count: int


def compiled(schema, node=lambda _: {}, **options):
    builder = StateGraph(schema, **options)
    builder.add_node("node", node)
    builder.add_edge(START, "node")
    return builder.compile(checkpointer=InMemorySaver())


FULL = SharedState(compiled(Dict))
ANY = {key: key for key in (*Dict.__annotations__, "other")}


# ---- what is shown --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("shared", "keys"),
    [
        (FULL, ["count", "items", "best", "recipe", "when", "notes", "connection", "seen"]),
        (
            SharedState(compiled(Dict), hidden={"count", "when"}),
            ["items", "best", "recipe", "notes", "connection", "seen"],
        ),
        (SharedState(compiled(Dict, output_schema=Narrow)), ["count"]),
        (SharedState(compiled(Dict, input_schema=Narrow)), FULL.shown(ANY)),
        (SharedState(compiled(Model)), ["count", "items", "recipe"]),
        (SharedState(compiled(Data)), ["count", "items"]),
    ],
)
def test_the_output_schema_says_what_is_shown(shared, keys):
    """B49."""
    assert shared.is_shared
    assert list(shared.shown(dict.fromkeys(("recipe", *ANY), 1))) == list(keys)


def test_values_are_shown_as_they_live():
    """B73: no copy."""
    items = ["a"]
    assert FULL.shown({"items": items})["items"] is items


def test_a_key_without_a_value_is_not_shown():
    """B51."""
    assert FULL.shown({"count": 1, "messages": []}) == {"count": 1}
    assert FULL.shown({}) == {}
    assert FULL.shown(None) is None


def test_values_may_come_as_an_object_of_the_schema():
    assert SharedState(compiled(Model)).shown(Model(count=2)) == {"count": 2, "items": [], "recipe": None}
    assert SharedState(compiled(Data)).shown(Data(count=2)) == {"count": 2, "items": []}


@entrypoint()
def flow(inputs: dict) -> dict:
    return inputs


@entrypoint()
def typed_flow(inputs: Dict) -> int:
    return 1


@pytest.mark.parametrize("graph", [flow, typed_flow, compiled(MessagesState), compiled(Annotated[list, add_messages])])
def test_nothing_is_shared_of_a_graph_that_has_nothing_but_its_conversation(graph):
    shared = SharedState(graph)
    assert not shared.is_shared
    assert shared.shown({"messages": [], "count": 1}) is None


class Agents(AgentState):
    plan: list[str]
    tokens: Annotated[int, OmitFromInput]
    inner: Annotated[int, PrivateStateAttr]


class Planning(AgentMiddleware):
    state_schema = Agents


def test_an_agents_own_values_are_its_own():
    agent = create_agent(FakeListChatModel(responses=["so"]), [], middleware=[Planning()], response_format=Model)
    shared = SharedState(agent)
    values = {"messages": [], "plan": ["a"], "tokens": 3, "inner": 1, "jump_to": None, "structured_response": {}}
    assert shared.shown(values) == {"plan": ["a"], "tokens": 3}
    assert shared.update({"plan": ["b"], "tokens": 4, "inner": 2, "jump_to": "end"}, values) == {"plan": ["b"]}
    assert shared.takes_messages


def test_a_graph_made_of_channels_by_hand_shares_those_that_it_names():
    node = NodeBuilder().subscribe_only("a").do(lambda value: value).write_to("b")
    graph = Pregel(
        nodes={"node": node},
        channels={"a": LastValue(int), "b": LastValue(int)},
        input_channels=["a"],
        output_channels=["a", "b"],
    )
    shared = SharedState(graph)
    assert shared.shown({"a": 1, "b": 2}) == {"a": 1, "b": 2}
    assert shared.update({"a": 3, "b": 4}, {"a": 1, "b": 2}) == {"a": 3}


def test_messages_under_another_name_are_objects_of_langchains_fields():
    """B45."""
    shown = FULL.shown({"notes": [HumanMessage("hi", id="n1")]})
    (note,) = json_value(shown, [].append)["notes"]
    assert {name: note[name] for name in ("type", "id", "content")} == {"type": "human", "id": "n1", "content": "hi"}


# ---- what is admitted -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("schema", "state", "path"),
    [
        (Dict, [1], ("state",)),
        (Dict, "text", ("state",)),
        (Dict, {"count": "many"}, ("state", "count")),
        (Dict, {"items": ["a", 1]}, ("state", "items", 1)),
        (Dict, {"items": {"__overwrite__": 5}}, ("state", "items")),
        (Dict, {"recipe": {"title": "t", "steps": [["a"]]}}, ("state", "recipe", "steps", 0)),
        (Dict, {"recipe": {"steps": []}}, ("state", "recipe", "title")),
        (Dict, {"best": []}, ("state", "best")),
        (Dict, {"items": None}, ("state", "items")),
        (Model, {"count": -1}, ("state", "count")),
        (Model, {"count": None}, ("state", "count")),
        (Model, {"recipe": {"a": 1}}, ("state", "recipe", "a")),
        (Data, {"items": [1]}, ("state", "items", 0)),
    ],
)
def test_a_state_that_does_not_fit_is_refused_where_it_does_not(schema, state, path):
    """B50."""
    with pytest.raises(InputRefused) as refused:
        SharedState(compiled(schema)).admit(state)
    assert refused.value.path == path


@pytest.mark.parametrize(
    ("schema", "state"),
    [
        (Dict, None),
        (Dict, {}),
        (Dict, {"count": 1, "recipe": {"title": "t", "of the client": 1}, "when": "2026-01-01T00:00:00Z"}),
        (Dict, {"count": None, "recipe": None}),
        (Dict, {"other": object, "_secret": 1, "notes": 1, "connection": 1, "seen": 1}),
        (Model, {"recipe": None}),
        (MessagesState, {"a": 1}),
        (MessagesState, [1]),
    ],
)
def test_a_state_that_fits_is_admitted(schema, state):
    """B50."""
    SharedState(compiled(schema)).admit(state)


class Unreadable(typing_extensions.TypedDict):
    later: "list[NotDefined]"  # noqa: F821
    count: int


@dataclasses.dataclass
class Holder:
    recipe: Recipe


class Holding(typing_extensions.TypedDict):
    holder: Holder
    parts: Unreadable


@entrypoint()
def unreadable_flow(inputs: Unreadable) -> int:
    return 1


def test_a_type_that_only_its_own_module_can_read_takes_anything():
    shared = SharedState(compiled(Holding))
    state = {"holder": {"recipe": 1}, "parts": [2]}
    assert shared.update(state) == state
    assert SharedState(unreadable_flow).takes_messages


class Tree(typing_extensions.TypedDict):
    name: str
    children: "list[Tree]"


class Forest(typing_extensions.TypedDict):
    trees: list[Tree]


def test_a_type_within_itself_is_read_one_deep():
    shared = SharedState(compiled(Forest))
    state = {"trees": [{"name": "a", "children": [{"name": "b", "children": []}]}]}
    assert shared.update(state) == state
    with pytest.raises(InputRefused):
        shared.admit({"trees": [{"name": 1, "children": []}]})


# ---- what is written ------------------------------------------------------------------------------


class Written:
    """What of a client's state went in, and what the operator was warned of."""

    def __init__(self, state, values=None, shared=FULL):
        self.warnings = []
        self.input = shared.update(state, values, self.warnings.append)


def test_what_equals_what_is_shown_is_not_written():
    """B49."""
    values = {"count": 1, "items": ["a"], "when": dt.datetime(2026, 1, 1, tzinfo=dt.UTC), "best": 1.0}
    state = json_value(FULL.shown(values), [].append)
    assert Written({**state, "best": 1}, values).input == {}


def test_what_differs_is_written_as_a_value_of_its_type():
    """B49."""
    written = Written({"count": 2, "when": "2026-01-01T00:00:00Z", "recipe": {"title": "t", "more": [1]}}, {"count": 1})
    assert written.input == {
        "count": 2,
        "when": dt.datetime(2026, 1, 1, tzinfo=dt.UTC),
        "recipe": {"title": "t", "more": [1]},
    }
    assert written.warnings == []


def test_true_is_not_one():
    shared = SharedState(compiled(typing_extensions.TypedDict("Loose", {"flag": Any})))
    assert Written({"flag": True}, {"flag": 1}, shared).input == {"flag": True}


def test_a_value_of_a_key_with_a_reducer_replaces():
    assert Written({"items": ["b"]}, {"items": ["a"]}).input == {"items": Overwrite(["b"])}
    assert Written({"items": ["b"]}).input == {"items": Overwrite(["b"])}


def test_an_empty_channel_that_would_keep_the_wrapper_is_given_the_value():
    assert Written({"best": 3}).input == {"best": 3}
    assert Written({"best": 3}, {"best": 1}).input == {"best": Overwrite(3)}


def test_what_a_client_may_not_write_is_left_out():
    """B49."""
    state = {"messages": [], "_secret": 1, "left": 3, "seen": ["a"], "connection": {}, "notes": [], "other": 1}
    written = Written(state, {"seen": ["a"]})
    assert written.input == {}
    assert len(written.warnings) == 1
    assert "'seen'" not in written.warnings[0]
    assert all(repr(key) in written.warnings[0] for key in state if key != "seen")


def test_a_graph_owns_what_is_in_its_output_schema_only():
    written = Written(
        {"count": 2, "items": ["b"]}, {"count": 1, "items": []}, SharedState(compiled(Dict, input_schema=Narrow))
    )
    assert written.input == {"count": 2}
    assert "'items'" in written.warnings[0]


def test_a_state_for_a_graph_that_has_none_is_left_out():
    """B50."""
    shared = SharedState(compiled(MessagesState))
    for state in ({"a": 1}, [1], "text"):
        written = Written(state, None, shared)
        assert written.input == {}
        assert len(written.warnings) == 1
    for state in (None, {}):
        assert Written(state, None, shared).warnings == []


def test_a_client_may_write_what_an_entrypoint_declares():
    shared = SharedState(typed_flow)
    assert shared.takes_messages
    assert Written({"count": 1, "messages": [], "_secret": "s"}, None, shared).input == {"count": 1}
    with pytest.raises(InputRefused):
        shared.admit({"count": "many"})


def test_a_client_keeps_beside_the_graphs_state_what_is_its_own():
    """B51."""
    assert FULL.beside({"count": 1, "theme": "dark", "messages": []}) == {"theme": "dark", "messages": []}
    assert FULL.beside(None) == FULL.beside([1]) == {}


@pytest.mark.parametrize(
    ("schema", "takes"),
    [(Dict, True), (Model, False), (MessagesState, True)],
)
def test_whether_a_graph_takes_messages(schema, takes):
    assert SharedState(compiled(schema)).takes_messages is takes


# ---- on a thread ----------------------------------------------------------------------------------


@pytest.mark.parametrize("schema", [Dict, Model, Data])
def test_a_client_that_sends_back_what_it_saw_changes_nothing(schema):
    """B49."""
    graph = compiled(schema, lambda _: {"items": ["node"]})
    shared, config = SharedState(graph), {"configurable": {"thread_id": "1"}}
    copy = {"items": ["client"], "count": 1}
    for turn in range(1, 4):
        graph.invoke(shared.update(copy, graph.get_state(config).values), config)
        copy = json_value(shared.shown(graph.get_state(config).values), [].append)
        assert copy == {"items": ["client", *["node"] * turn], "count": 1}
    graph.invoke(shared.update({**copy, "items": [], "count": 2}, graph.get_state(config).values), config)
    assert shared.shown(graph.get_state(config).values) == {"items": ["node"], "count": 2}


def test_a_node_gets_what_the_client_wrote():
    """B49."""
    seen = []
    graph = compiled(Dict, lambda state: seen.append(dict(state)) or {})
    graph.invoke(SharedState(graph).update({"best": 3, "recipe": {"title": "t"}}), {"configurable": {"thread_id": "1"}})
    assert (seen[0]["best"], seen[0]["recipe"]) == (3, {"title": "t"})


# ---- on the wire ----------------------------------------------------------------------------------


class Cart(MessagesState):
    title: str
    items: Annotated[list[str], operator.add]
    _secret: str


def adding(state):
    """A node that adds an item and answers with the title, unless it is told to rest."""
    answer = {"messages": [AIMessage(state.get("title", "nothing"))]}
    rests = state["messages"][-1].content == "rest"
    return answer if rests else {**answer, "items": [f"item {len(state['items'])}"], "_secret": "s"}


async def test_a_consumer_shares_the_state_with_the_graph_run_after_run():
    """B49: an edit is seen once, and what only came back adds nothing."""
    async with session(LangGraph(compiled(Cart, adding))) as client:
        client.state = {"title": "mine"}
        run = await client.say("go")
        assert (run.text, client.state) == ("mine", {"title": "mine", "items": ["item 0"]})
        await client.say("go")
        assert client.state == {"title": "mine", "items": ["item 0", "item 1"]}
        client.state = {"title": "yours", "items": ["item 1"]}
        run = await client.say("go")
        assert (run.text, client.state) == ("yours", {"title": "yours", "items": ["item 1", "item 1"]})


async def test_a_graph_without_a_checkpointer_takes_the_state_of_its_client():
    builder = StateGraph(Cart)
    builder.add_node("node", adding)
    builder.add_edge(START, "node")
    async with session(LangGraph(builder.compile())) as client:
        await client.say("go")
        client.state["title"] = "mine"
        run = await client.say("go")
        assert (run.text, client.state) == ("mine", {"title": "mine", "items": ["item 0", "item 1"]})


async def test_a_state_that_does_not_change_is_not_told_again():
    """B51, B73."""
    async with session(LangGraph(compiled(Cart, adding))) as client:
        await client.say("go")
        run = await client.say("rest")
        assert run.of("STATE_SNAPSHOT") == run.of("STATE_DELTA") == []
        assert client.state == {"items": ["item 0"]}


@pytest.mark.parametrize(("state", "field"), [([], "/state"), ({"items": ["a", 1]}, "/state/items/1")])
async def test_a_misfit_is_refused_before_the_run(state, field):
    """Fault 11 of the LangGraph peer, B50."""
    async with session(LangGraph(compiled(Cart, adding))) as client:
        response, _ = await client.served.run(client.document(state=state))
    assert (response.status_code, response.json()["code"], response.json()["field"]) == (422, "invalid_input", field)


async def test_a_graph_that_shares_nothing_leaves_the_state_as_it_is():
    """B50."""
    async with session(LangGraph(compiled(MessagesState, lambda _: {"messages": [AIMessage("so")]}))) as client:
        for state in (None, {}, {"a": 1}, [1]):
            client.state = state
            run = await client.say("go")
            assert run.ending is Ending.SUCCEEDED
            assert run.of("STATE_SNAPSHOT") == run.of("STATE_DELTA") == []


# ---- whatever comes -------------------------------------------------------------------------------

json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 3) | st.floats(allow_nan=False) | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=6,
)
states = json_values | st.dictionaries(st.sampled_from(list(ANY)), json_values)


@settings(max_examples=200)
@given(states, st.dictionaries(st.sampled_from(list(ANY)), json_values))
def test_a_state_is_refused_or_written(state, values):
    """B46, B50."""
    refused = None
    try:
        FULL.admit(state)
    except InputRefused as error:
        refused = error
    if refused is None:
        assert FULL.update(state, values).keys() <= {"count", "items", "best", "recipe", "when"}
    else:
        assert refused.path[0] == "state"
        with pytest.raises(InputRefused):
            FULL.update(state, values)
