"""Dependencies: made for each run, with the state that is shared with the consumer."""

import datetime as dt
from dataclasses import dataclass, field
from typing import Any

import pytest
from pydantic import BaseModel
from pydantic_ai import Agent, RunContext
from pydantic_ai.models.function import DeltaToolCall, FunctionModel
from pydantic_ai.ui import StateDeps
from support.agents import run_input
from support.server import serving
from support.session import session

from adapters.detect import NoAdapter
from adapters.pydantic_ai import PydanticAI
from conformance.consumer import Ending

pytestmark = pytest.mark.anyio


class Item(BaseModel):
    name: str
    count: int = 1


class Cart(BaseModel):
    title: str = "cart"
    items: list[Item] = []
    since: dt.date | None = None


def shopper(deps_type=StateDeps[Cart], calls=1, **options):
    async def model(messages, info):
        made = sum(part.part_kind == "tool-call" for message in messages for part in message.parts)
        if made < calls:
            yield {0: DeltaToolCall(name="add", json_args=f'{{"name":"n{made}"}}', tool_call_id=f"c{made}")}
            return
        yield "done"

    agent = Agent(FunctionModel(stream_function=model), deps_type=deps_type)

    @agent.tool
    def add(context: RunContext[Any], name: str) -> str:
        context.deps.state.items.append(Item(name=name))
        return context.deps.state.title

    return PydanticAI(agent, **options)


async def test_a_change_in_place_is_seen_at_once():
    """Fault 8 of PydanticAI's own adapter, B49: deltas apply to what the consumer holds."""
    async with session(shopper(calls=2), state={"title": "mine", "items": []}) as client:
        run = await client.say("add")
        kinds = [event["type"][:5] for event in run.events if event["type"].startswith(("STATE", "TOOL_CALL_RESULT"))]
        assert kinds == ["STATE", "TOOL_", "STATE", "TOOL_", "STATE"]
        assert client.state == {
            "title": "mine",
            "since": None,
            "items": [{"name": "n0", "count": 1}, {"name": "n1", "count": 1}],
        }
        assert run.results["c0"] == "mine"


async def test_nothing_is_sent_where_nothing_changes():
    state = Cart().model_dump(mode="json")
    async with session(shopper(calls=0), state=state) as client:
        run = await client.say("hello")
        assert run.of("STATE_DELTA") + run.of("STATE_SNAPSHOT") == []


async def test_the_edit_of_a_client_is_what_the_tools_see():
    async with session(shopper(calls=1)) as client:
        await client.say("add")
        client.state["title"] = "edited"
        client.messages = []
        run = await client.say("add")
        assert run.results["c0"] == "edited"
        assert [item["name"] for item in client.state["items"]] == ["n0", "n0"]


@pytest.mark.parametrize(
    ("state", "field"),
    [
        ({"title": 5}, "/state/title"),
        ({"items": [{"name": "a"}, {"count": 1}]}, "/state/items/1/name"),
        ({"items": [{"name": "a", "count": "many"}]}, "/state/items/0/count"),
        ([], "/state"),
        ("text", "/state"),
    ],
)
async def test_a_misfit_is_refused_before_the_run(state, field):
    """Fault 11 of PydanticAI's own adapter, B50b."""
    async with serving({"agent": shopper()}) as served:
        response, _ = await served.run(run_input(state=state))
    assert (response.status_code, response.json()["code"], response.json()["field"]) == (422, "invalid_input", field)


async def test_an_agent_without_a_state_leaves_it_as_it_is():
    """B50a."""

    async def model(messages, info):
        yield "hi"

    adapter = PydanticAI(Agent(FunctionModel(stream_function=model)))
    for state in ({}, {"a": 1}):
        async with session(adapter, state=state) as client:
            run = await client.say("hello")
            assert (run.ending, client.state) == (Ending.SUCCEEDED, state)


async def test_what_the_agents_state_does_not_know_stays_with_the_client():
    """B51: no snapshot is smaller than what was agreed."""
    async with session(shopper(), state={"title": "mine", "own": {"a": 1}}) as client:
        await client.say("add")
        assert client.state["own"] == {"a": 1}
        assert [item["name"] for item in client.state["items"]] == ["n0"]


@dataclass
class Box:
    items: list[Any] = field(default_factory=list)
    title: str = "box"


@dataclass
class Own:
    """Dependencies of one's own, with a state among other things."""

    state: Box = field(default_factory=Box)
    tenant: str = "nobody"


async def test_any_object_with_a_state_will_do():
    async with session(shopper(Own), state={"title": "t"}) as client:
        run = await client.say("add")
        assert run.results["c0"] == "t"
        assert client.state["items"] == [{"name": "n0", "count": 1}]
    async with serving({"agent": shopper(Own)}) as served:
        response, _ = await served.run(run_input(state={"title": 5}))
    assert response.json()["field"] == "/state/title"


async def test_the_factory_gets_the_run():
    """B41: forwardedProps reach it unaltered, inner nulls too."""
    seen = []

    async def factory(run):
        seen.append((run.headers["authorization"], run.input.forwarded_props))
        return Own(tenant=run.headers["authorization"])

    async with serving({"agent": shopper(Own, deps_factory=factory)}) as served:
        document = run_input(forwardedProps={"tenant": "x", "n": None}, state={"title": "mine"})
        _, events = await served.run(document, authorization="me")
    assert seen == [("me", {"tenant": "x", "n": None})]
    (result,) = [event["content"] for event in events if event["type"] == "TOOL_CALL_RESULT"]
    assert result == "mine"


async def test_a_state_that_only_the_factory_knows_is_refused_as_an_error():
    adapter = shopper(object, deps_factory=lambda run: Own())
    async with session(adapter, state={"title": 5}) as client:
        run = await client.say("hi")
    code, message = run.error
    assert (code, "/state/title" in message) == ("invalid_state", True)


async def test_a_factory_that_fails_is_an_error_without_its_text():
    def factory(run):
        raise ValueError("secret")

    async with session(shopper(Own, deps_factory=factory)) as client:
        run = await client.say("hi")
    assert run.error == ("internal_error", "The agent failed.")


class Needs:
    def __init__(self, connection):
        self.connection = connection


def test_dependencies_that_nobody_makes_are_told_at_once():
    with pytest.raises(NoAdapter, match=r"depends on Needs; .*deps_factory"):
        shopper(Needs)


async def test_a_factory_makes_what_only_it_can():
    async with session(shopper(Needs, calls=0, deps_factory=lambda run: Needs(1))) as client:
        assert (await client.say("hi")).ending is Ending.SUCCEEDED


class Model(BaseModel):
    """Dependencies that are a model."""

    state: Cart = Cart()


async def test_dependencies_may_be_a_model():
    async with session(shopper(Model), state={"title": "t"}) as client:
        assert (await client.say("add")).results["c0"] == "t"


class Unreadable:
    state: "NoSuchType"  # noqa: F821 - on purpose


async def test_an_annotation_that_nobody_can_read_declares_nothing():
    def factory(run):
        made = Unreadable()
        made.state = Cart()
        return made

    async with session(shopper(Unreadable, deps_factory=factory), state={"title": "t"}) as client:
        assert (await client.say("add")).results["c0"] == "t"
