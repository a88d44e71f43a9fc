"""The application's tools beside the agent's own: announced, left to the application, answered by it."""

import json

import pytest
from pydantic_ai import Agent
from pydantic_ai.messages import ModelRequest, ToolReturnPart
from pydantic_ai.models.function import DeltaToolCall, FunctionModel
from pydantic_ai.toolsets import FunctionToolset
from support.agents import run_input
from support.server import serving
from support.session import session

from adapters.pydantic_ai import PydanticAI
from conformance.consumer import Ending

pytestmark = pytest.mark.anyio

CONFIRM = {
    "name": "confirm",
    "description": "Ask the user.",
    "parameters": {"type": "object", "properties": {"what": {"type": "string"}}},
}


class Assistant:
    """An agent that makes calls turn by turn, then tells what it sees as results."""

    def __init__(self, *turns, **options):
        self.turns, self.seen, self.offered, self.done = list(turns), [], [], []
        agent = Agent(FunctionModel(stream_function=self.model), **options)
        self.adapter = PydanticAI(agent)

        @agent.tool_plain
        def look(what: str) -> str:
            self.done.append(what)
            return f"{what} is fine"

    async def model(self, messages, info):
        self.seen.append(messages)
        self.offered.append([tool.name for tool in info.function_tools])
        if self.turns:
            for index, (name, arguments, call) in enumerate(self.turns.pop(0)):
                yield {index: DeltaToolCall(name=name, json_args=json.dumps(arguments), tool_call_id=call)}
            return
        results = [
            [part.tool_call_id, part.outcome, part.model_response_str()]
            for message in messages
            if isinstance(message, ModelRequest)
            for part in message.parts
            if isinstance(part, ToolReturnPart)
        ]
        yield json.dumps(results)


async def test_a_frontend_tool_is_offered_and_its_call_left_to_the_application():
    """B15."""
    assistant = Assistant([("confirm", {"what": "pay"}, "f1")])
    async with session(assistant.adapter, tools=[CONFIRM]) as client:
        run = await client.say("pay")
        assert (run.ending, run.pending, run.results) == (Ending.SUCCEEDED, ["f1"], {})
        assert assistant.offered == [["look", "confirm"]]
        run = await client.answer({"f1": "yes"})
        assert json.loads(run.text) == [["f1", "success", "yes"]]
        assert run.of("TOOL_CALL_START") + run.of("TOOL_CALL_RESULT") == []


@pytest.mark.parametrize("tools", [[], None])
async def test_no_tools_are_no_tools(tools):
    assistant = Assistant()
    async with serving({"agent": assistant.adapter}) as served:
        _, events = await served.run({**run_input(), **({} if tools is None else {"tools": tools})})
    assert events[-1]["outcome"] == {"type": "success"}
    assert assistant.offered == [["look"]]


async def test_server_calls_run_and_frontend_calls_wait_in_one_turn():
    """B16: nothing runs twice, nothing is announced twice, and the model sees the results with their calls."""
    calls = [("look", {"what": "a"}, "c1"), ("confirm", {}, "c2"), ("look", {"what": "b"}, "c3")]
    assistant = Assistant(calls)
    async with session(assistant.adapter, tools=[CONFIRM]) as client:
        run = await client.say("pay")
        assert (run.pending, run.results) == (["c2"], {"c1": "a is fine", "c3": "b is fine"})
        run = await client.answer({"c2": "yes"})
        assert run.of("TOOL_CALL_START") + run.of("TOOL_CALL_RESULT") == []
        assert sorted(result[0] for result in json.loads(run.text)) == ["c1", "c2", "c3"]
        assert sorted(assistant.done) == ["a", "b"]
        *_, response, request = assistant.seen[-1]
        assert [part.tool_call_id for part in response.parts] == ["c1", "c2", "c3"]
        assert sorted(part.tool_call_id for part in request.parts) == ["c1", "c2", "c3"]


async def test_several_frontend_calls_and_answers_that_come_one_by_one():
    """B17: pending in call order; the model is asked when every call has its answer."""
    assistant = Assistant([("confirm", {}, "f1"), ("confirm", {}, "f2"), ("confirm", {}, "f3")])
    async with session(assistant.adapter, tools=[CONFIRM]) as client:
        run = await client.say("ask")
        assert run.pending == ["f1", "f2", "f3"]
        run = await client.answer({"f2": "b"})
        assert (run.ending, len(assistant.seen)) == (Ending.SUCCEEDED, 1)
        assert run.of("TOOL_CALL_START") == []
        run = await client.answer({"f3": "c", "f1": "a"})
        assert {result[0]: result[2] for result in json.loads(run.text)} == {"f1": "a", "f2": "b", "f3": "c"}


@pytest.mark.parametrize(
    "message",
    [
        {"content": "", "error": "declined by the user"},
        {"content": "the network is down", "error": "declined by the user"},
    ],
)
async def test_an_error_reaches_the_model_as_one(message):
    """Fault 12 of PydanticAI's own adapter: a refusal is no empty answer."""
    assistant = Assistant([("confirm", {}, "f1")])
    async with session(assistant.adapter, tools=[CONFIRM]) as client:
        await client.say("pay")
        run = await client.answer({"f1": message})
        ((_, outcome, content),) = json.loads(run.text)
        assert outcome == "failed"
        assert "declined by the user" in content
        assert message["content"] in content


async def test_a_call_that_is_never_answered_does_not_stop_the_thread():
    """B18a: the user typed instead."""
    assistant = Assistant([("confirm", {}, "f1")])
    async with session(assistant.adapter, tools=[CONFIRM]) as client:
        await client.say("pay")
        run = await client.say("never mind")
        ((call, outcome, _),) = json.loads(run.text)
        assert (call, outcome) == ("f1", "failed")
        assert run.of("TOOL_CALL_START") == []
        run = await client.say("and now?")
        assert run.ending is Ending.SUCCEEDED


async def test_an_answer_that_comes_after_the_next_question():
    """B18b."""
    assistant = Assistant([("confirm", {}, "f1")])
    async with session(assistant.adapter, tools=[CONFIRM]) as client:
        await client.say("pay")
        await client.say("never mind")
        run = await client.answer({"f1": "yes"})
        assert run.ending is Ending.SUCCEEDED
        kinds = [[part.part_kind for part in message.parts] for message in assistant.seen[-1]]
        assert kinds[1:3] == [["tool-call"], ["tool-return", "user-prompt"]]


@pytest.mark.parametrize(
    ("names", "at", "name"), [(["confirm", "look"], 1, "look"), (["confirm", "other", "confirm"], 2, "confirm")]
)
async def test_a_name_that_is_taken_is_refused_before_the_run(names, at, name):
    """B20."""
    assistant = Assistant()
    tools = [{**CONFIRM, "name": one} for one in names]
    async with serving({"agent": assistant.adapter}) as served:
        response, _ = await served.run(run_input(tools=tools))
    problem = response.json()
    assert (response.status_code, problem["code"], problem["field"]) == (422, "tool_name_taken", f"/tools/{at}/name")
    assert repr(name) in problem["detail"]
    assert assistant.seen == []


async def test_a_name_that_only_the_run_knows_is_refused_there():
    assistant = Assistant(toolsets=[lambda _: FunctionToolset([late])])
    async with session(assistant.adapter, tools=[{**CONFIRM, "name": "late"}]) as client:
        run = await client.say("hi")
    code, message = run.error
    assert code == "tool_name_taken"
    assert "'late'" in message
    assert assistant.seen == []


def late() -> str:
    """A tool of a toolset that is made for the run."""
    return "late"


async def test_a_tool_without_parameters_takes_none():
    assistant = Assistant([("ping", {}, "f1")])
    tool = {"name": "ping", "description": "No arguments."}
    async with session(assistant.adapter, tools=[tool]) as client:
        run = await client.say("ping")
    assert run.pending == ["f1"]


async def test_arguments_that_are_no_json_are_the_applications_to_read():
    async def model(messages, info):
        yield {0: DeltaToolCall(name="confirm", json_args='{"what":', tool_call_id="f1")}

    async with session(PydanticAI(Agent(FunctionModel(stream_function=model))), tools=[CONFIRM]) as client:
        run = await client.say("go")
    assert (run.ending, run.pending) == (Ending.SUCCEEDED, ["f1"])
    assert client.messages[-1]["toolCalls"][0]["function"]["arguments"] == '{"what":'
