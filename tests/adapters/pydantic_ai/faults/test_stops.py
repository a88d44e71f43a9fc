"""Stops, and clients that leave: beside PydanticAI's own adapter."""

import asyncio
import gc
import threading
from contextlib import asynccontextmanager
from contextvars import ContextVar

from pydantic_ai import DeferredToolRequests
from pydantic_ai.messages import ToolReturnPart
from pydantic_ai.models.function import DeltaToolCall
from pydantic_ai.toolsets import FunctionToolset
from support.beside import beside
from support.peer import Script, call, ill_formed


def say(word: str) -> str:
    return word


async def stopped(thread, begun, **fields):
    """A run that is stopped when `begun` is set."""
    running = asyncio.create_task(thread.say("go", **fields))
    await begun.wait()
    await thread.stop()
    return await running


def writing(*words):
    """A model that says some words and goes on for ever; what is set when it has begun, and its notes."""
    begun, notes = asyncio.Event(), []

    async def goes_on():
        begun.set()
        try:
            await asyncio.Event().wait()
        finally:
            notes.append("left")

    return Script([*words, goes_on]), begun, notes


@beside(
    tried="A run is stopped while the model writes",
    ours="What was open closes, and the run ends as cancelled, without a result",
)
async def test_a_stop_while_the_model_writes(serve):
    """B57, B59."""
    model, begun, notes = writing("partial ")
    async with serve(model.agent()) as thread:
        answer = await stopped(thread, begun)
    assert answer.breaches == []
    assert (answer.ended, answer.text, notes) == ("cancelled", "partial ", ["left"])
    assert "result" not in answer.events[-1]


@beside(
    tried="The same, for a client from before 1.0",
    peer="RUN_FINISHED without an outcome, which that client reads as success",
    ours="RUN_ERROR with the code `cancelled`",
    fails="'RUN_FINISHED' == 'RUN_ERROR'",
)
async def test_a_stop_for_an_older_client(serve):
    """Fault 6 of PydanticAI's own adapter."""
    model, begun, _ = writing("partial ")
    async with serve(model.agent()) as thread:
        answer = await stopped(thread, begun, protocolVersion=None)
    assert answer.ended == "RUN_ERROR"
    assert (answer.outcome["code"], answer.text) == ("cancelled", "partial ")


@beside(
    tried="The run takes longer than it may",
    ours="What was open closes, and the run ends as cancelled",
)
async def test_a_run_takes_too_long(serve):
    """B57."""
    model, _, notes = writing("partial ")
    async with serve(model.agent(), timeout=0.5) as thread:
        answer = await thread.say("go")
    assert answer.breaches == []
    assert (answer.ended, answer.text, notes) == ("cancelled", "partial ", ["left"])


@beside(
    tried="A run is stopped in the middle of a call's arguments, and the user goes on",
    ours="The call closes as far as it came; the model reads that it was not executed",
)
async def test_a_stop_in_the_middle_of_arguments(serve):
    """B60 c."""
    begun = asyncio.Event()

    async def goes_on():
        begun.set()
        await asyncio.Event().wait()

    cut = {1: DeltaToolCall(name="say", json_args='{"word": "Os', tool_call_id="c1")}
    model = Script(["hm ", cut, goes_on])
    async with serve(model.agent(tools=[say])) as thread:
        answer = await stopped(thread, begun)
        again = await thread.say("and?")
    assert answer.breaches == again.breaches == []
    assert (answer.ended, answer.calls) == ("cancelled", {"c1": '{"word": "Os'})
    assert (again.ended, again.text, again.results) == ("success", "done", {})
    assert ill_formed(model.seen[-1]) == []
    (result,) = [part for part in model.parts if isinstance(part, ToolReturnPart)]
    assert result.outcome != "success"


@beside(
    tried="A run is stopped while two tools run at once",
    ours="Both are cancelled and cleaned up before the run ends as cancelled, with what it cost; the thread goes on",
)
async def test_a_stop_while_tools_run(serve):
    """B57 b, d."""
    notes, begun = [], asyncio.Event()

    async def work(name: str) -> str:
        notes.append(f"{name} began")
        if len(notes) == 2:
            begun.set()
        try:
            await asyncio.Event().wait()
        finally:
            await asyncio.sleep(0)
            notes.append(f"{name} left")
        return "LATE"

    model = Script([call("work", '{"name":"a"}', "c1", 0), call("work", '{"name":"b"}', "c2", 1)])
    async with serve(model.agent(tools=[work])) as thread:
        answer = await stopped(thread, begun)
        assert sorted(notes) == ["a began", "a left", "b began", "b left"]
        assert answer.breaches == []
        assert (answer.ended, "LATE" in answer.response.text) == ("cancelled", False)
        assert answer.consumer.usage[0]["inputTokens"] > 0
        again = await thread.say("hello again")
    assert again.breaches == []
    assert (again.text, again.ended) == ("done", "success")


@beside(
    tried="A run is stopped while an approved tool runs, and the approval is sent again",
    peer="RUN_ERROR",
    ours="The tool does not run again; the model reads that it did not come to its end",
    fails="'RUN_ERROR' == 'success'",
)
async def test_a_stop_while_an_approved_tool_runs(serve):
    """B27, B57."""
    begun, paid, model = asyncio.Event(), [], Script([call("pay", '{"amount": 1}')])
    agent = model.agent(output_type=[str, DeferredToolRequests])

    @agent.tool_plain(requires_approval=True)
    async def pay(amount: int) -> None:
        paid.append(amount)
        begun.set()
        await asyncio.Event().wait()

    async with serve(agent) as thread:
        asked = await thread.say("pay")
        running = asyncio.create_task(thread.resume({asked.open["c1"]: {"approved": True}}))
        await begun.wait()
        await thread.stop()
        answer = await running
        again = await thread.resume({asked.open["c1"]: {"approved": True}})
    assert (answer.ended, paid) == ("cancelled", [1])
    assert again.ended == "success"
    assert answer.breaches == again.breaches == []
    assert ill_formed(model.seen[-1]) == []
    (result,) = [part for part in model.parts if isinstance(part, ToolReturnPart)]
    assert result.outcome != "success"


@beside(
    tried="A run is stopped while a synchronous tool runs in a thread",
    ours="Its late result is not sent",
)
async def test_a_stop_while_a_thread_works(serve):
    """B57 c."""
    loop, begun, release, over = asyncio.get_running_loop(), asyncio.Event(), threading.Event(), asyncio.Event()

    def work() -> str:
        loop.call_soon_threadsafe(begun.set)
        release.wait()
        loop.call_soon_threadsafe(over.set)
        return "LATE"

    async with serve(Script([call("work")]).agent(tools=[work])) as thread:
        running = asyncio.create_task(thread.say("go"))
        await begun.wait()
        stopping = asyncio.create_task(thread.stop())
        loop.call_later(0.1, release.set)
        await stopping
        answer = await running
        await over.wait()
    assert answer.breaches == []
    assert (answer.ended, "LATE" in answer.response.text) == ("cancelled", False)


# ---- contexts -------------------------------------------------------------------------------------

ENTERED: ContextVar[str] = ContextVar("entered")


class Connected(FunctionToolset):
    """A toolset that holds a connection while its agent runs, as one of an MCP server does."""

    def __init__(self, notes):
        super().__init__()
        self._notes = notes

    async def __aenter__(self):
        self._token, self._task = ENTERED.set("yes"), asyncio.current_task()
        self._group = asyncio.timeout(None)
        await self._group.__aenter__()
        return self

    async def __aexit__(self, *error):
        ENTERED.reset(self._token)
        await self._group.__aexit__(*error)
        self._notes.append("one task" if asyncio.current_task() is self._task else "another task")


@asynccontextmanager
async def nothing_left_behind():
    """Fail when tasks that began in the block outlive it, or end with errors that nobody reads."""
    loop, errors, before = asyncio.get_running_loop(), [], asyncio.all_tasks()
    loop.set_exception_handler(lambda _, context: errors.append(context))
    yield
    for _ in range(20):
        await asyncio.sleep(0)
    gc.collect()
    loop.set_exception_handler(None)
    assert (asyncio.all_tasks() - before, errors) == (set(), [])


@beside(
    tried="The client leaves in the middle of a run whose tools hold a connection, or before the model's first word",
    ours="The connection is entered and left in one task; nothing runs on",
)
async def test_the_client_leaves(serve):
    """B58, B56."""
    for words in (["partial "], []):
        model, begun, notes = writing(*words)
        contexts = []
        agent = model.agent(toolsets=[Connected(contexts)])
        async with nothing_left_behind(), serve(agent) as thread:
            await thread.leave_after(begun.wait())
        assert (contexts, notes) == (["one task"], ["left"])
