"""How runs end: what they cost, limits, stops that reach everything, failures."""

import asyncio
import threading
from contextlib import asynccontextmanager

import pytest
from pydantic_ai import Agent, FunctionToolset, RunContext, UsageLimits, WrapperToolset
from pydantic_ai.exceptions import (
    ContentFilterError,
    FallbackExceptionGroup,
    ModelAPIError,
    ModelHTTPError,
    UnexpectedModelBehavior,
    UserError,
)
from pydantic_ai.models.function import DeltaThinkingPart, DeltaToolCall, FunctionModel
from pydantic_ai.models.test import TestModel
from support.session import session

from adapters.pydantic_ai import PydanticAI, Trust
from conformance.consumer import Ending

pytestmark = pytest.mark.anyio


def calling(*turns, name="model", **options):
    """An agent whose model takes these turns and then says `done`."""
    left = list(turns)

    async def model(messages, info):
        for delta in left.pop(0) if left else ["done"]:
            yield delta

    return Agent(FunctionModel(stream_function=model, model_name=name), **options)


def call(name, call_id="c1", index=0):
    return {index: DeltaToolCall(name=name, json_args="{}", tool_call_id=call_id)}


# ---- usage ------------------------------------------------------------------------------------------


def counts(run):
    (entry,) = run.usage
    return entry


async def test_usage_is_one_entry_per_model_and_has_no_zeros():
    agent = calling([call("look")])
    agent.tool_plain(look)
    async with session(PydanticAI(agent)) as client:
        run = await client.say("hi")
    entry = counts(run)
    assert entry["model"] == "model"
    assert entry["totalTokens"] == entry["inputTokens"] + entry["outputTokens"]
    assert "cachedInputTokens" not in entry


def look() -> str:
    return "fine"


async def test_what_a_delegate_used_is_part_of_the_cost():
    """Fault 13 of PydanticAI's own adapter, B79."""
    delegate = Agent(TestModel())
    agent = calling([call("ask")])

    @agent.tool
    async def ask(context: RunContext) -> str:
        return (await delegate.run("please", usage=context.usage)).output

    async with session(PydanticAI(agent)) as client:
        run = await client.say("hi")
    own, theirs = run.usage
    assert (own["model"], theirs.get("model")) == ("model", None)
    assert theirs["outputTokens"] > 0


async def test_a_resumed_run_tells_its_own_cost():
    agent = calling([call("gated")])
    agent.tool_plain(requires_approval=True)(gated)
    async with session(PydanticAI(agent)) as client:
        first = await client.say("hi")
        assert first.ending is Ending.INTERRUPTED
        second = await client.resume({"int-c1": {"approved": True}})
    assert counts(first)["outputTokens"] > 0
    assert counts(second)["outputTokens"] > 0


def gated() -> str:
    return "done"


async def test_a_failed_run_tells_its_cost():
    agent = calling([call("fail")])

    @agent.tool_plain
    def fail() -> str:
        raise ValueError("secret")

    async with session(PydanticAI(agent)) as client:
        run = await client.say("hi")
    assert run.error == ("internal_error", "The agent failed.")
    assert counts(run)["outputTokens"] > 0


# ---- limits -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "limits",
    [UsageLimits(request_limit=1), UsageLimits(tool_calls_limit=0), UsageLimits(output_tokens_limit=1)],
    ids=["requests", "calls", "tokens"],
)
async def test_a_limit_ends_the_run_as_cancelled(limits):
    """Fault 7 of PydanticAI's own adapter."""
    agent = calling([call("look")])
    agent.tool_plain(look)
    async with session(PydanticAI(agent, usage_limits=limits)) as client:
        run = await client.say("hi")
        assert run.ending is Ending.CANCELLED
        assert counts(run)["outputTokens"] > 0
        reason = run.of("RUN_FINISHED")[0]["metadata"]["agui-sidecar"]["reason"]
        assert ("limit" in reason, "http" in reason) == (True, False)
        assert (await client.say("go on")).ending is not Ending.FAILED


async def test_the_time_limit_ends_the_run_as_cancelled():
    async def model(messages, info):
        yield "one"
        await asyncio.Event().wait()

    agent = Agent(FunctionModel(stream_function=model))
    async with session(PydanticAI(agent, timeout=0.05)) as client:
        run = await client.say("hi")
    assert (run.ending, run.text) == (Ending.CANCELLED, "one")


async def test_a_tool_may_cancel_its_run():
    agent = calling([call("stop")])

    @agent.tool
    def stop(context: RunContext) -> str:
        context.cancel()
        return "never"

    async with session(PydanticAI(agent)) as client:
        run = await client.say("hi")
    assert run.ending is Ending.CANCELLED


# ---- stops ------------------------------------------------------------------------------------------


@asynccontextmanager
async def stopped(client, reached):
    """Start a run, wait until something is reached, stop it, and give what the client saw."""
    client.messages.append({"id": "u", "role": "user", "content": "hi"})
    document = client.document()
    running = asyncio.create_task(client.served.run(document))
    await asyncio.wait_for(reached.wait(), 10)
    response = await client.served.client.post(f"/v1/runs/{document['runId']}/cancel")
    assert response.status_code < 300
    _, events = await running
    yield client.read(document, events)


async def test_a_stop_reaches_everything_that_waits():
    """B57 a, b, d: the model, parallel tools and the agents in them clean up before the terminal event."""
    reached, left = asyncio.Event(), []

    async def waiting(messages, info):
        try:
            yield "thinking"
            await asyncio.Event().wait()
        finally:
            left.append("model of the inner agent")

    inner = Agent(FunctionModel(stream_function=waiting))
    agent = calling([call("delegate", "c1", 0), call("sleep", "c2", 1), call("sleep", "c3", 2)])

    @agent.tool_plain
    async def delegate() -> str:
        async with inner.run_stream("go") as result:
            async for _ in result.stream_text(delta=True, debounce_by=None):
                reached.set()
        return "never"

    @agent.tool_plain
    async def sleep() -> str:
        try:
            await asyncio.Event().wait()
        finally:
            left.append("tool")

    async with session(PydanticAI(agent)) as client, stopped(client, reached) as run:
        assert run.ending is Ending.CANCELLED
        assert sorted(left) == ["model of the inner agent", "tool", "tool"]
        assert counts(run)["outputTokens"] > 0
        assert run.events[-1]["type"] == "RUN_FINISHED"


async def test_what_a_thread_gives_after_the_stop_is_dropped():
    """B57c."""
    loop, reached, goes_on, finished = asyncio.get_running_loop(), asyncio.Event(), threading.Event(), threading.Event()
    agent = calling([call("work")])

    @agent.tool_plain
    def work() -> str:
        loop.call_soon_threadsafe(reached.set)
        goes_on.wait(10)
        finished.set()
        return "late"

    async with session(PydanticAI(agent)) as client:
        try:
            async with stopped(client, reached) as run:
                assert (run.ending, run.results) == (Ending.CANCELLED, {})
        finally:
            goes_on.set()
        assert await asyncio.to_thread(finished.wait, 10)
        assert (await client.say("go on")).text == "done"


async def test_the_thread_goes_on_after_a_stop_within_calls():
    """B60: each call without a result is closed once, with the same words each time."""
    reached = asyncio.Event()
    seen = []

    async def model(messages, info):
        seen.append(messages)
        if not reached.is_set():
            yield call("look", "c1", 0)
            yield call("hang", "c2", 1)
            return
        yield "done"

    agent = Agent(FunctionModel(stream_function=model))
    agent.tool_plain(look)

    @agent.tool_plain
    async def hang() -> str:
        reached.set()
        await asyncio.Event().wait()

    async with session(PydanticAI(agent)) as client:
        async with stopped(client, reached) as run:
            assert run.ending is Ending.CANCELLED
        for _ in range(2):
            assert (await client.say("again")).text == "done"
    first, second = (
        {
            part.tool_call_id: (part.outcome, part.content)
            for part in messages[2].parts
            if part.part_kind == "tool-return"
        }
        for messages in seen[1:]
    )
    assert first == second
    assert first["c2"][0] == "failed"


async def test_the_thread_goes_on_after_a_stop_in_mid_thought():
    reached, seen = asyncio.Event(), []

    async def model(messages, info):
        seen.append(messages)
        if len(seen) == 1:
            yield {0: DeltaThinkingPart(content="hm")}
            reached.set()
            await asyncio.Event().wait()
        yield "done"

    async with session(PydanticAI(Agent(FunctionModel(stream_function=model)))) as client:
        async with stopped(client, reached) as run:
            assert run.ending is Ending.CANCELLED
        assert (await client.say("again")).text == "done"
    thoughts = [part.content for message in seen[-1] for part in message.parts if part.part_kind == "thinking"]
    assert thoughts == ["hm"]


async def test_contexts_are_entered_and_left_in_one_task():
    """B58: an MCP client breaks if another task leaves it."""
    tasks, reached = [], asyncio.Event()

    class Connected(WrapperToolset):
        async def __aenter__(self):
            tasks.append(asyncio.current_task())
            return await super().__aenter__()

        async def __aexit__(self, *error):
            tasks.append(asyncio.current_task())
            return await super().__aexit__(*error)

    async def model(messages, info):
        yield "one"
        reached.set()
        await asyncio.Event().wait()

    agent = Agent(FunctionModel(stream_function=model), toolsets=[Connected(FunctionToolset([look]))])
    before = asyncio.all_tasks()
    async with session(PydanticAI(agent)) as client, stopped(client, reached) as run:
        assert run.ending is Ending.CANCELLED
    assert len(tasks) == 2
    assert tasks[0] is tasks[1]
    assert asyncio.all_tasks() <= before


@pytest.mark.parametrize(
    "message",
    [
        {"role": "system", "content": "obey"},
        {"role": "user", "content": []},
        {"role": "user", "content": [{"type": "image", "source": {"type": "url", "value": "s3://bucket/a.png"}}]},
    ],
)
async def test_messages_of_which_nothing_is_left_are_none(message):
    async with session(PydanticAI(calling())) as client:
        client.messages = [{"id": "m", **message}]
        run = await client.run()
    assert run.error[0] == "no_messages"


# ---- failures ---------------------------------------------------------------------------------------


async def test_an_error_of_the_provider_says_its_status_and_no_more():
    async def model(messages, info):
        raise ModelHTTPError(429, "model", {"secret": "text"})
        yield ""

    async with session(PydanticAI(Agent(FunctionModel(stream_function=model)))) as client:
        run = await client.say("hi")
    assert run.error == ("model_error", "The model's provider answered with HTTP 429.")


@pytest.mark.parametrize(
    ("error", "told"),
    [
        (FallbackExceptionGroup("all", [ValueError("secret")]), "None of the agent's models answered."),
        (ContentFilterError("secret"), "The model's provider withheld the answer."),
        (UnexpectedModelBehavior("secret"), "The model gave no usable answer."),
        (ModelAPIError("model", "secret"), "The model's provider could not be reached, or broke off its answer."),
    ],
)
async def test_an_error_of_the_model_says_what_its_user_may_know(error, told):
    async def model(messages, info):
        raise error
        yield ""

    async with session(PydanticAI(Agent(FunctionModel(stream_function=model)))) as client:
        assert (await client.say("hi")).error == ("model_error", told)


async def test_a_mistake_of_the_author_stays_in_the_log():
    agent = calling([call("wrong")])

    @agent.tool_plain
    def wrong() -> str:
        raise UserError("secret")

    async with session(PydanticAI(agent), tools=[{"name": "other", "description": ""}]) as client:
        assert (await client.say("hi")).error == ("internal_error", "The agent failed.")


async def test_a_trusted_client_instructs_the_agent():
    seen = []

    async def model(messages, info):
        seen.append(messages)
        yield "ok"

    adapter = PydanticAI(Agent(FunctionModel(stream_function=model)), trust=Trust(system_messages=True))
    async with session(adapter) as client:
        client.messages.append({"id": "s", "role": "system", "content": "Be kind."})
        await client.say("hi")
    assert [part.content for part in seen[0][0].parts] == ["Be kind.", "hi"]


async def test_another_model_takes_the_place_of_the_agents_own():
    adapter = PydanticAI(calling(["own"]), deps_factory=lambda run: None).with_model("test")
    async with session(adapter) as client:
        run = await client.say("hi")
    assert counts(run)["model"] == "test"
    assert "success" in run.text


@pytest.mark.parametrize(
    ("model", "told"),
    [("nonsense:x", "Unknown model"), ("openai:gpt-5", "OPENAI_API_KEY"), ("anthropic:claude", "pip install")],
)
def test_a_model_that_cannot_be_used_is_told_when_it_is_named(model, told, monkeypatch):
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    with pytest.raises(Exception, match=told):
        PydanticAI(calling()).with_model(model)
