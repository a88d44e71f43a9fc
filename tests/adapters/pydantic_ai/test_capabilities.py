"""What an agent declares: derived from it, and true: each declaration is held by a run."""

import pytest
from pydantic import BaseModel
from pydantic_ai import Agent
from pydantic_ai.models.fallback import FallbackModel
from pydantic_ai.models.function import DeltaThinkingPart, DeltaToolCall, FunctionModel
from pydantic_ai.models.test import TestModel
from pydantic_ai.ui import StateDeps
from support.server import serving
from support.session import session

from adapters.pydantic_ai import PydanticAI
from conformance.consumer import Ending

pytestmark = pytest.mark.anyio


class Cart(BaseModel):
    items: list[str] = []


class Answer(BaseModel):
    value: int = 0


async def declared(adapter):
    """The capabilities as the server gives them."""
    async with serving({"agent": adapter}) as served:
        response = await served.client.get("/agents/agent/capabilities")
    assert response.status_code == 200
    return response.json()


def agent_of(*deltas, **options):
    """An agent whose model says this once, then `done`."""
    left = [deltas]

    async def model(messages, info):
        for delta in left.pop() if left else ["done"]:
            yield delta

    return Agent(FunctionModel(stream_function=model), **options)


async def test_what_follows_from_the_agent_is_declared():
    agent = agent_of(name="shop", description="Sells things.", deps_type=StateDeps[Cart], output_type=Answer)

    @agent.tool_plain
    def price(item: str) -> int:
        """Tell the price."""
        return 1

    told = await declared(PydanticAI(agent))
    assert told["identity"] == {"name": "shop", "type": "pydantic-ai", "description": "Sells things."}
    assert told["transport"] == {"streaming": True}
    (tool,) = told["tools"]["items"]
    assert (tool["name"], tool["description"]) == ("price", "Tell the price.")
    assert tool["parameters"]["properties"] == {"item": {"type": "string"}}
    assert (told["tools"]["parallelCalls"], told["tools"]["clientProvided"]) == (True, True)
    assert told["output"] == {"structuredOutput": True}
    assert told["state"] == {"snapshots": True, "deltas": True, "persistentState": False}


async def test_what_does_not_follow_is_not_declared():
    told = await declared(PydanticAI(Agent(), model="openai:gpt-5"))
    assert told.keys() == {"identity", "transport", "tools", "humanInTheLoop"}
    assert "items" not in told["tools"]


async def test_the_model_says_what_it_takes_and_gives():
    model = TestModel()
    model.profile.update(supports_audio_file_input=False, supports_thinking=True)
    told = await declared(PydanticAI(Agent(model)))
    assert told["multimodal"]["input"] == {"image": True, "audio": False, "video": True, "pdf": True}
    assert told["reasoning"] == {"supported": True, "streaming": True}


async def test_parallel_calls_and_client_tools_hold():
    calls = [{index: DeltaToolCall(name="confirm", json_args="{}", tool_call_id=f"f{index}")} for index in (0, 1)]
    agent = agent_of(*calls)
    async with session(PydanticAI(agent), tools=[{"name": "confirm", "description": ""}]) as client:
        run = await client.say("go")
    assert run.pending == ["f0", "f1"]


async def test_approvals_interrupts_and_edits_hold():
    agent = agent_of({0: DeltaToolCall(name="buy", json_args='{"item":"a"}', tool_call_id="c1")})
    bought = []

    @agent.tool_plain(requires_approval=True)
    def buy(item: str) -> str:
        bought.append(item)
        return "bought"

    told = (await declared(PydanticAI(agent)))["humanInTheLoop"]
    assert told == {"supported": True, "approvals": True, "interrupts": True, "approveWithEdits": True}
    async with session(PydanticAI(agent)) as client:
        run = await client.say("buy")
        assert run.ending is Ending.INTERRUPTED
        await client.resume({run.asked[0]["id"]: {"approved": True, "editedArgs": {"item": "b"}}})
    assert bought == ["b"]


async def test_structured_output_state_and_reasoning_hold():
    thought = {0: DeltaThinkingPart(content="hm")}
    call = {1: DeltaToolCall(name="final_result", json_args='{"value":7}', tool_call_id="c1")}
    agent = agent_of(thought, call, deps_type=StateDeps[Cart], output_type=Answer)
    async with session(PydanticAI(agent)) as client:
        run = await client.say("go")
    assert run.of("RUN_FINISHED")[0]["result"] == {"value": 7}
    assert [event["delta"] for event in run.of("REASONING_MESSAGE_CONTENT")] == ["hm"]
    assert client.state == {"items": []}


async def test_several_models_in_one_say_nothing_and_run():
    async def model(messages, info):
        yield "hi"

    agent = Agent(FallbackModel(FunctionModel(stream_function=model), TestModel()))
    assert "multimodal" not in await declared(PydanticAI(agent))
    async with session(PydanticAI(agent)) as client:
        assert (await client.say("hello")).text == "hi"
