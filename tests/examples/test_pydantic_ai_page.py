"""The page about PydanticAI is true: its code runs, it names what there is, and its limits are the ones there are."""

import dataclasses
import inspect
import re
import shlex

import httpx
import pytest
from pydantic import BaseModel
from pydantic_ai import Agent, NativeOutput, RunContext
from pydantic_ai.messages import SystemPromptPart
from pydantic_ai.models.function import DeltaToolCall, FunctionModel
from support.agents import run_input
from support.blocks import blocks
from support.command import ROOT, serving
from support.pages import codes_raised, dead_links, rows
from support.server import serving as serving_adapters
from support.session import Session, session

from adapters.pydantic_ai import PydanticAI, Trust
from adapters.pydantic_ai.resume import Approval, Result
from conformance.consumer import Ending

PAGE = "docs/pydantic-ai.md"
TEXT = (ROOT / PAGE).read_text()


# ---- it names what there is -------------------------------------------------------------------------


def test_every_argument_has_a_row_and_no_other():
    parameters = [name for name in inspect.signature(PydanticAI).parameters if name != "agent"]
    table = re.findall(r"^\| `(\w+)` \|", TEXT.partition("## What the agent does")[0], re.MULTILINE)
    assert sorted(table) == sorted(parameters)


def test_every_kind_of_trust_has_a_row_with_its_default():
    shown = {cells[0].strip("`"): cells[1] for cells in rows(TEXT, "What a client may do") if cells[0].startswith("`")}
    defaults = {one.name: one.default for one in dataclasses.fields(Trust)}
    assert shown.keys() == defaults.keys()
    for name, default in defaults.items():
        expected = ", ".join(f"`{scheme}`" for scheme in sorted(default)) if name == "url_schemes" else f"`{default}`"
        assert shown[name] == expected


def test_every_code_has_a_row_and_no_other():
    shown = {cells[0].strip("`") for cells in rows(TEXT, "Errors") if len(cells) == 3 and cells[1] != "when"}
    assert shown == {*codes_raised("pydantic_ai", "AdapterError", "ResumeRefused"), "internal_error"}


def test_every_member_of_an_answer_has_a_row():
    payloads = " ".join(cells[0] for cells in rows(TEXT, "Approvals and results from outside"))
    for model in (Approval, Result):
        assert [name for name in model.model_json_schema()["properties"] if f'"{name}"' not in payloads] == []


def test_its_links_lead_somewhere():
    assert dead_links(PAGE) == []


# ---- its code runs ----------------------------------------------------------------------------------


@pytest.mark.anyio
async def test_the_object_that_it_makes_is_served(execute):
    (block,) = blocks(PAGE, "python")
    adapter = execute(block.text)["served"]
    async with serving_adapters({"shop": adapter}) as served:
        document = run_input(messages=[{"id": "u1", "role": "user", "content": "What does it cost?"}])
        _, events = await served.run(document, **{"x-customer": "Ada"})
    (result,) = [event["content"] for event in events if event["type"] == "TOOL_CALL_RESULT"]
    assert result == "4.50 euros for Ada"


def test_the_command_that_it_shows_serves(tmp_path):
    ((command,),) = [block.lines for block in blocks(PAGE, "sh")]
    with serving(tmp_path, *shlex.split(command.removeprefix("agui-sidecar serve "))) as served:
        body = httpx.post(served.url, json=run_input()).text
    assert '"model":"test"' in body


# ---- its limits are the ones there are --------------------------------------------------------------


class Answer(BaseModel):
    value: int


def calling(tool="pay"):
    """An agent that calls a tool once, then says so."""

    async def model(messages, info):
        if any(part.part_kind == "tool-return" for message in messages for part in message.parts):
            yield "told"
        else:
            yield {0: DeltaToolCall(name=tool, json_args="{}", tool_call_id="c1")}

    return Agent(FunctionModel(stream_function=model))


@pytest.mark.anyio
async def test_an_approval_is_known_to_the_process_that_asked_for_it():
    paid = []
    agent = calling()

    @agent.tool_plain(requires_approval=True)
    def pay() -> str:
        paid.append(1)
        return "paid"

    async with session(PydanticAI(agent)) as client:
        asked = (await client.say("pay")).asked
    async with serving_adapters({"agent": PydanticAI(agent)}) as elsewhere:
        moved = Session(elsewhere, messages=client.messages)
        run = await moved.resume({asked[0]["id"]: {"approved": True}})
    assert (run.ending, run.text, paid) == (Ending.SUCCEEDED, "told", [])


@pytest.mark.anyio
async def test_a_delegate_costs_without_a_name_and_streams_nothing():
    async def speak(messages, info):
        yield "inner words"

    agent, inner = calling("ask"), Agent(FunctionModel(stream_function=speak))

    @agent.tool
    async def ask(context: RunContext) -> str:
        async with inner.run_stream("hi", usage=context.usage) as answer:
            return str(len(await answer.get_output()))

    async with session(PydanticAI(agent)) as client:
        run = await client.say("ask")
    assert (run.text, run.results) == ("told", {"c1": "11"})
    (rest,) = [entry for entry in run.usage if "model" not in entry]
    assert "provider" not in rest
    assert rest["outputTokens"] > 0


@pytest.mark.anyio
async def test_output_that_is_written_as_text_streams_as_text_as_well():
    async def model(messages, info):
        yield '{"value":'
        yield "7}"

    agent = Agent(FunctionModel(stream_function=model), output_type=NativeOutput(Answer))
    agent.model.profile["supports_json_schema_output"] = True
    async with session(PydanticAI(agent)) as client:
        run = await client.say("hi")
    assert (run.text, run.consumer.result) == ('{"value":7}', {"value": 7})


@pytest.mark.anyio
@pytest.mark.parametrize(("trust", "seen"), [(Trust(), ["own"]), (Trust(system_messages=True), ["theirs"])])
async def test_whose_prompt_the_model_gets(trust, seen):
    prompts = []

    async def model(messages, info):
        parts = [part for message in messages for part in message.parts]
        prompts.extend(part.content for part in parts if isinstance(part, SystemPromptPart))
        yield info.instructions

    agent = Agent(FunctionModel(stream_function=model), system_prompt="own", instructions="always")
    async with session(PydanticAI(agent, trust=trust)) as client:
        client.messages = [{"id": "s", "role": "system", "content": "theirs"}]
        run = await client.say("hi")
    assert (prompts, run.text) == (seen, "always")
