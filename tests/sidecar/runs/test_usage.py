"""What model calls cost: told from anywhere in a run, summed once, on every ending."""

import asyncio

import pytest
from support.agents import Scripted, play, run_input
from support.server import serving, until
from support.streams import judge, parse_sse, types

from adapters.base import AdapterError, Cancelled, Interrupted, ModelUsage, Success, Text
from sidecar.runs.usage import Usage
from sidecar.runs.values import StepRefused


def summed(*calls):
    warnings = []
    usage = Usage(warnings.append)
    for call in calls:
        usage.add(call)
    return usage.close(), warnings


def test_usage_is_summed_per_provider_and_model():
    """usage-one-entry, usage-unknown-absent, usage-total."""
    entries, warnings = summed(
        ModelUsage("p", "m", 10, 5, reasoning_tokens=2, cached_input_tokens=4, cache_write_input_tokens=1),
        ModelUsage("p", "m", 1, 1),
        ModelUsage("p", "n", output_tokens=0),
        ModelUsage("q"),
        ModelUsage(input_tokens=3),
    )
    assert warnings == []
    assert entries == [
        {
            "provider": "p",
            "model": "m",
            "inputTokens": 11,
            "outputTokens": 6,
            "reasoningTokens": 2,
            "cachedInputTokens": 4,
            "cacheWriteInputTokens": 1,
            "totalTokens": 17,
        },
        {"provider": "p", "model": "n", "outputTokens": 0},
        {"inputTokens": 3},
    ]


def test_counts_that_cannot_be_are_left_out():
    """usage-parts."""
    entries, warnings = summed(
        ModelUsage("a", "m", 1, 1, cached_input_tokens=2),
        ModelUsage("b", "m", 1, 1, reasoning_tokens=2),
        ModelUsage("c", "m", -1, 2.5),
        ModelUsage("d", "m", True, 2**60),
    )
    assert entries == [
        {"provider": "a", "model": "m", "inputTokens": 1, "outputTokens": 1, "totalTokens": 2},
        {"provider": "b", "model": "m", "inputTokens": 1, "outputTokens": 1, "totalTokens": 2},
    ]
    assert len(warnings) == 6


def test_labels_that_cannot_travel_are_put_right():
    entries, warnings = summed(ModelUsage(["p"], "m", 1), ModelUsage(None, "m\ud800", 2), ModelUsage("", "", 3))
    assert entries == [
        {"model": "m", "inputTokens": 1},
        {"model": "m\ufffd", "inputTokens": 2},
        {"provider": "", "model": "", "inputTokens": 3},
    ]
    assert warnings == ["usage: provider must be a text, not ['p']; it is left out"]


def test_what_is_told_after_the_end_is_ignored():
    usage = Usage(lambda _: None)
    usage.add(ModelUsage("p", "m", 1))
    ended = usage.close()
    usage.add(ModelUsage("p", "m", 100))
    assert usage.close() == ended == [{"provider": "p", "model": "m", "inputTokens": 1}]


def test_what_is_no_usage_is_the_tellers_error():
    with pytest.raises(TypeError, match="as a ModelUsage, not as dict"):
        summed({"input_tokens": 3})


def test_usage_is_no_step():
    with pytest.raises(StepRefused, match="ModelUsage is no step"):
        play([ModelUsage("p", "m", 1)])


# ---- through runs -------------------------------------------------------------------------------

CALL = ModelUsage("p", "m", 3)
COST = [{"provider": "p", "model": "m", "inputTokens": 3}]

ENDS = {
    "success": Success(1),
    "an interrupt": Interrupted([{"id": "i", "reason": "confirmation"}]),
    "a limit": Cancelled("a limit"),
    "a failure": KeyError("x"),
    "a failure with a message": AdapterError("no"),
    "a step that is none": 5,
}


@pytest.mark.anyio
@pytest.mark.parametrize("end", ENDS.values(), ids=ENDS)
async def test_every_ending_carries_what_was_told_while_the_agent_left(end):
    async def agent(run):
        try:
            yield Text("a")
            if isinstance(end, BaseException):
                raise end
            yield end
        finally:
            run.spent(CALL)

    async with serving({"agent": Scripted(agent)}) as served:
        _, events = await served.run(run_input())
    assert judge(events) == []
    assert events[-1]["usage"] == COST


async def in_a_silent_gap():
    await asyncio.sleep(3600)
    yield Text("never")


async def in_the_middle_of_a_flood():
    while True:
        yield Text("x")


@pytest.mark.anyio
@pytest.mark.parametrize("spends", [in_a_silent_gap, in_the_middle_of_a_flood])
async def test_a_stopped_run_tells_what_it_cost(spends):
    """A flood is stopped between two steps, where the agent does not see the cancellation pass."""

    async def agent(run):
        try:
            yield Text("a")
            async for step in spends():
                yield step
        finally:
            await asyncio.sleep(0)  # as a context does that closes a connection
            run.spent(CALL)

    async with (
        serving({"agent": Scripted(agent)}) as served,
        served.client.stream("POST", "/", json=run_input()) as stream,
    ):
        chunks = stream.aiter_bytes()
        body = await anext(chunks)
        stopping = asyncio.create_task(served.client.post("/v1/runs/r1/cancel"))
        body += b"".join([chunk async for chunk in chunks])
        await stopping
    events = parse_sse(body)
    assert judge(events) == []
    assert events[-1]["outcome"] == {"type": "cancelled"}
    assert events[-1]["usage"] == COST


@pytest.mark.anyio
async def test_a_callback_in_a_thread_may_tell_it():
    async def agent(run):
        yield Text("a")
        await asyncio.gather(*[asyncio.to_thread(run.spent, ModelUsage("p", "m", 1)) for _ in range(3)])

    async with serving({"agent": Scripted(agent)}) as served:
        _, events = await served.run(run_input())
    assert events[-1]["usage"] == COST


@pytest.mark.anyio
@pytest.mark.parametrize("is_stopped", [False, True], ids=["a failure", "a stop"])
async def test_an_agent_that_does_not_leave_delays_the_end_no_longer_than_the_grace_period(is_stopped):
    done, told = asyncio.Event(), []

    async def agent(run):
        try:
            yield Text("a")
            while is_stopped:
                yield Text("x")
            yield 5
        finally:
            await done.wait()
            run.spent(CALL)
            told.append(True)

    async with (
        serving({"agent": Scripted(agent)}, stop_grace=0.05) as served,
        served.client.stream("POST", "/", json=run_input()) as stream,
    ):
        chunks = stream.aiter_bytes()
        body = await anext(chunks)
        stopping = asyncio.create_task(served.client.post("/v1/runs/r1/cancel")) if is_stopped else None
        body += b"".join([chunk async for chunk in chunks])
        assert not told
        events = parse_sse(body)
        assert judge(events) == []
        assert types(events)[-1] == ("RUN_FINISHED" if is_stopped else "RUN_ERROR")
        assert "usage" not in events[-1]
        if stopping:
            await stopping
        assert len(served.runtime.terms.background.left_behind) == 1
        done.set()
        await until(lambda: told and not served.runtime.terms.background.left_behind)
