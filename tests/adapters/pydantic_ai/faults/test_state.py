"""The state of a thread: beside PydanticAI's own adapter."""

import json
from datetime import UTC, datetime
from decimal import Decimal
from enum import Enum
from uuid import UUID

from ag_ui.core import CustomEvent, StateDeltaEvent, StateSnapshotEvent
from pydantic import BaseModel
from pydantic_ai import DeferredToolRequests, RunContext, ToolReturn
from pydantic_ai.ui import StateDeps
from support.beside import beside
from support.peer import Script, call


class Counter(BaseModel):
    n: int = 0
    items: list[str] = []


def counting(model):
    """An agent with a `Counter` for its state, whose tool adds to it in place."""
    agent = model.agent(deps_type=StateDeps[Counter])

    @agent.tool
    def add(ctx: RunContext[StateDeps[Counter]], item: str) -> str:
        ctx.deps.state.n += 1
        ctx.deps.state.items.append(item)
        return "added"

    return agent


def deps():
    return StateDeps(Counter())


@beside(
    tried="A tool changes the state object in place",
    peer="Nothing is sent: the consumer keeps the old state",
    ours="The change is sent, once, and the consumer's state is the agent's",
    fails=r"== \{'items': \['x'\], 'n': 1\}",
)
async def test_a_tool_changes_the_state_in_place(serve):
    """Fault 8 of PydanticAI's own adapter; B49."""
    model = Script([call("add", '{"item":"x"}')])
    async with serve(counting(model), deps=deps) as thread:
        answer = await thread.say("add x", state={"n": 0, "items": []})
    assert answer.breaches == []
    assert answer.consumer.state == {"items": ["x"], "n": 1}
    assert len(answer.of("STATE_DELTA")) + len(answer.of("STATE_SNAPSHOT")) == 1


@beside(
    tried="The first change of a state that the client does not have yet",
    peer="A tool's delta goes out as it is, against a state that no consumer has: it does not apply",
    ours="The consumer gets the agent's state before a tool's delta, and the delta applies",
    fails="patch-applies",
)
async def test_the_first_change_of_a_state_that_the_client_does_not_have(serve):
    """Fault 8 of PydanticAI's own adapter; B47."""
    model = Script([call("replace")])
    agent = model.agent(deps_type=StateDeps[Counter])

    @agent.tool
    def replace(ctx: RunContext[StateDeps[Counter]]) -> ToolReturn:
        ctx.deps.state.n = 5
        event = StateDeltaEvent(delta=[{"op": "replace", "path": "/n", "value": 5}])
        return ToolReturn("replaced", metadata=[event])

    async with serve(agent, deps=deps) as thread:
        answer = await thread.say("replace")
    assert answer.breaches == []
    assert answer.consumer.state["n"] == 5


@beside(
    tried="A tool sends events of its own: a custom one, a snapshot of the state, and a delta",
    ours="They come after its result, and the consumer's state follows",
)
async def test_a_tool_sends_events(serve):
    """B47."""

    def tell() -> ToolReturn:
        events = [
            CustomEvent(name="com.example.told", value={"a": 1}),
            StateSnapshotEvent(snapshot={"k": 1}),
            StateDeltaEvent(delta=[{"op": "add", "path": "/z", "value": 2}]),
        ]
        return ToolReturn("told", metadata=events)

    async with serve(Script([call("tell")]).agent(tools=[tell])) as thread:
        answer = await thread.say("tell", state={"a": 0})
    assert answer.breaches == []
    assert answer.results == {"c1": "told"}
    assert [one["value"] for one in answer.of("CUSTOM")] == [{"a": 1}]
    assert answer.consumer.state == {"k": 1, "z": 2}


@beside(
    tried="A tool changes the state when it has been approved",
    peer="Nothing is sent: the consumer keeps the old state",
    ours="The resumed run sends the change",
    fails="'n': 10",
)
async def test_an_approved_tool_changes_the_state(serve):
    """Fault 8 of PydanticAI's own adapter; B49."""
    model = Script([call("gate")])
    agent = model.agent(deps_type=StateDeps[Counter], output_type=[str, DeferredToolRequests])

    @agent.tool(requires_approval=True)
    def gate(ctx: RunContext[StateDeps[Counter]]) -> str:
        ctx.deps.state.n += 10
        return "gated"

    async with serve(agent, deps=deps) as thread:
        asked = await thread.say("gate", state={"n": 0, "items": []})
        answer = await thread.resume({asked.open["c1"]: {"approved": True}}, state=asked.consumer.state)
    assert asked.breaches == answer.breaches == []
    assert asked.consumer.state == {"n": 0, "items": []}
    assert answer.consumer.state == {"n": 10, "items": []}


@beside(
    tried="State comes for an agent that declares none",
    ours="The run works, and the consumer keeps its state",
)
async def test_state_for_an_agent_without_any(serve):
    """B50 a."""
    for state in ({}, {"a": 1}):
        async with serve(Script().agent()) as thread:
            answer = await thread.say("hi", state=state)
        assert answer.breaches == []
        assert (answer.text, answer.consumer.state) == ("done", state)


@beside(
    tried="State comes that does not fit the agent's",
    peer="HTTP 500",
    ours="Refused with 422 before the stream, with the field's path",
    fails="500 == 422",
)
async def test_state_that_does_not_fit(serve):
    """Fault 11 of PydanticAI's own adapter; B50 b."""
    model = Script()
    async with serve(counting(model), deps=deps) as thread:
        answer = await thread.say("hi", state={"n": "many"})
    assert answer.response.status_code == 422
    assert json.loads(answer.response.text)["field"] == "/state/n"
    assert model.seen == []


@beside(
    tried="The client edits the state between two runs",
    ours="The agent's next tool sees the edit",
)
async def test_the_client_edits_the_state(serve):
    """B49."""
    seen = []
    model = Script([call("look")], ["ok"], [call("look", "{}", "c2")])
    agent = model.agent(deps_type=StateDeps[Counter])

    @agent.tool
    def look(ctx: RunContext[StateDeps[Counter]]) -> str:
        seen.append(ctx.deps.state.n)
        return "seen"

    async with serve(agent, deps=deps) as thread:
        for n in (1, 2):
            answer = await thread.say("look", state={"n": n})
            assert answer.breaches == []
            assert answer.consumer.state["n"] == n
    assert seen == [1, 2]


@beside(
    tried="The client's state has more keys than the agent's",
    ours="They stay",
)
async def test_the_client_has_more_keys(serve):
    """B49, B51."""
    state = {"n": 1, "items": [], "theme": {"dark": True}}
    async with serve(counting(Script()), deps=deps) as thread:
        answer = await thread.say("hi", state=state)
    assert answer.breaches == []
    assert answer.consumer.state == state


@beside(
    tried="The same, and a tool changes the state in place",
    peer="Nothing is sent: the consumer keeps the old state",
    ours="They stay, beside the change",
    fails="'n': 2",
)
async def test_the_client_keeps_its_keys_when_the_state_changes(serve):
    """B49, B51."""
    state = {"n": 1, "items": [], "theme": {"dark": True}}
    async with serve(counting(Script([call("add", '{"item":"x"}')])), deps=deps) as thread:
        answer = await thread.say("add x", state=state)
    assert answer.breaches == []
    assert answer.consumer.state == {"n": 2, "items": ["x"], "theme": {"dark": True}}


class Colour(Enum):
    RED = "red"


class Everything(BaseModel):
    at: datetime | None = None
    key: UUID | None = None
    price: Decimal | None = None
    colour: Colour | None = None
    tags: set[str] = set()
    pair: tuple[int, str] = (1, "a")


@beside(
    tried="A tool puts dates, decimals, enumerations and sets into the state and into its result",
    peer="The state is not sent",
    ours="Both come as JSON, with dates as ISO 8601; what the framework injects is no argument",
    fails=r"\{\} == \{'at'",
)
async def test_values_that_are_not_json(serve):
    """B45."""
    model = Script([call("fill")])
    agent = model.agent(deps_type=StateDeps[Everything])
    value = Everything(
        at=datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC),
        key=UUID(int=1),
        price=Decimal("1.50"),
        colour=Colour.RED,
        tags={"x"},
    )

    @agent.tool
    def fill(ctx: RunContext[StateDeps[Everything]]) -> Everything:
        ctx.deps.state = value
        return value

    async with serve(agent, deps=lambda: StateDeps(Everything())) as thread:
        answer = await thread.say("fill")
    assert answer.breaches == []
    assert answer.calls == {"c1": "{}"}
    assert json.loads(answer.results["c1"]) == value.model_dump(mode="json")
    assert answer.consumer.state == value.model_dump(mode="json")
