"""How runs end, what they cost, and what the agent declares: beside PydanticAI's own adapter."""

from pydantic import BaseModel
from pydantic_ai import Agent, DeferredToolRequests, RunContext, UsageLimits
from pydantic_ai.messages import TextPart, ToolCallPart
from pydantic_ai.usage import RequestUsage
from support.beside import beside
from support.peer import Provider, Script, call


def say(word: str) -> str:
    return word


@beside(
    tried="The agent reaches its usage limit",
    peer="RUN_ERROR",
    ours="The run ends as cancelled, with what it cost",
    fails="'RUN_ERROR' == 'cancelled'",
)
async def test_a_limit_is_reached(serve):
    """Fault 7 of PydanticAI's own adapter."""
    model = Script(*[[call("say", '{"word":"x"}', f"c{at}")] for at in range(5)])
    async with serve(model.agent(tools=[say]), usage_limits=UsageLimits(request_limit=2)) as thread:
        answer = await thread.say("say x for ever")
    assert answer.breaches == []
    assert answer.ended == "cancelled"
    assert (len(model.seen), "result" in answer.events[-1]) == (2, False)
    assert answer.consumer.usage[0]["inputTokens"] > 0


@beside(
    tried="A tool fails with an exception that names a secret",
    peer="RUN_ERROR with the exception's text",
    ours="RUN_ERROR with a code, without the exception's text, and with what the run cost",
    fails="sk-secret",
)
async def test_a_tool_fails(serve):
    """B67, B68, B79."""

    def fail() -> str:
        raise KeyError("sk-secret")

    async with serve(Script([call("fail")]).agent(tools=[fail])) as thread:
        answer = await thread.say("fail")
    assert answer.breaches == []
    assert answer.ended == "RUN_ERROR"
    assert "sk-secret" not in answer.response.text
    assert answer.outcome["code"] == "internal_error"
    assert answer.consumer.usage[0]["inputTokens"] > 0


@beside(
    tried="The agent's output is an object",
    peer="The output is a call of a tool that nobody has, and the run has no result",
    ours="The output is the run's result; no call is on the stream",
    fails="final_result|o1",
)
async def test_the_output_is_an_object(serve):
    """Fault 13 of PydanticAI's own adapter."""

    class Place(BaseModel):
        city: str

    model = Script([call("final_result", '{"city":"Oslo"}', "o1")])
    async with serve(model.agent(output_type=Place)) as thread:
        answer = await thread.say("where?")
        again = await thread.say("and?")
    assert answer.breaches == []
    assert (answer.calls, answer.results) == ({}, {})
    assert answer.events[-1]["result"] == {"city": "Oslo"}
    assert "final_result" not in str(again.document["messages"])


@beside(
    tried="A frontend asks what the agent can do",
    peer="There is no such document",
    ours="The capabilities are served",
    fails="404 == 200",
)
async def test_the_agent_declares_its_capabilities(serve):
    """Fault 13 of PydanticAI's own adapter."""
    async with serve(Script().agent(name="helper")) as thread:
        response = await thread.client.get(thread.capabilities)
    assert response.status_code == 200
    assert response.json()["identity"]["name"] == "helper"


# ---- usage ----------------------------------------------------------------------------------------


@beside(
    tried="A tool delegates to another agent, with another model",
    peer="What the other agent cost is missing",
    ours="It is an entry of its own",
    fails="inner",
)
async def test_a_tool_delegates_to_another_agent(serve):
    """Fault 13 of PydanticAI's own adapter; B79."""
    inner = Agent(Provider(([TextPart("x")], RequestUsage(input_tokens=7, output_tokens=2)), name="inner"))
    outer = Script([call("ask")])
    agent = outer.agent()

    @agent.tool
    async def ask(ctx: RunContext[None]) -> str:
        async with inner.run_stream("question", usage=ctx.usage) as run:
            return str(await run.get_output())

    async with serve(agent) as thread:
        answer = await thread.say("ask")
    assert answer.breaches == []
    counts = {one.get("model", "inner"): (one["inputTokens"], one["outputTokens"]) for one in answer.consumer.usage}
    assert counts.keys() == {"function::Script", "inner"}
    assert counts["inner"] == (7, 2)


@beside(
    tried="A provider reports cached tokens, then nothing but its input",
    ours="One entry sums the calls: caches are a part of the input, never added to it; what is unknown is absent",
)
async def test_a_provider_reports_some_counts(serve):
    """B79."""
    for counts, entry in (
        (
            [RequestUsage(input_tokens=120, cache_read_tokens=100, output_tokens=9), RequestUsage(input_tokens=30)],
            {"inputTokens": 150, "cachedInputTokens": 100, "outputTokens": 9},
        ),
        ([RequestUsage(input_tokens=30), RequestUsage(input_tokens=1)], {"inputTokens": 31}),
    ):
        calls = [ToolCallPart("say", {"word": "x"}, tool_call_id="c1")]
        model = Provider((calls, counts[0]), ([TextPart("x")], counts[1]))
        async with serve(Agent(model, tools=[say])) as thread:
            answer = await thread.say("say x")
        assert answer.breaches == []
        (found,) = answer.consumer.usage
        assert (found.pop("provider"), found.pop("model")) == ("house", "whole")
        found.pop("totalTokens", None)
        assert found == entry


@beside(
    tried="A run is interrupted and resumed",
    ours="Each of the two runs reports its own model calls",
)
async def test_a_resumed_run_reports_its_own_usage(serve):
    """B79."""
    model = Script([call("pay", '{"amount": 1}')])
    agent = model.agent(output_type=[str, DeferredToolRequests])

    @agent.tool_plain(requires_approval=True)
    def pay(amount: int) -> str:
        return "paid"

    async with serve(agent) as thread:
        asked = await thread.say("pay")
        answer = await thread.resume({asked.open["c1"]: {"approved": True}})
    (first,), (second,) = asked.consumer.usage, answer.consumer.usage
    assert asked.breaches == answer.breaches == []
    assert (len(model.seen), second["outputTokens"]) == (2, 1)
    assert first["outputTokens"] > 1
