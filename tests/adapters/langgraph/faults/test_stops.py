"""Runs that are stopped, or whose client leaves: beside the best-known LangGraph adapter."""

import asyncio

from langchain_core.tools import tool
from support.graphs import Script, agent, call, cost, graph_of, ill_formed, says
from support.peer_langgraph import beside
from support.server import until


class Work:
    """Something that takes as long as the block, and what became of it.

    What is neither cancelled nor left when the block ends comes to its end there, so that no scenario leaves anything
    behind.
    """

    def __init__(self):
        self.began = asyncio.Event()
        self.left = []
        """What was cancelled."""
        self.done = []
        """What came to its end."""
        self._released = asyncio.Event()
        self._under_way = 0

    async def __aenter__(self):
        return self

    async def __aexit__(self, *_):
        self.release()
        await until(lambda: self._under_way == 0)

    def release(self):
        """Let it come to its end."""
        self._released.set()

    async def __call__(self, name="work"):
        self._under_way += 1
        self.began.set()
        try:
            await self._released.wait()
            self.done.append(name)
        except asyncio.CancelledError:
            self.left.append(name)
            raise
        finally:
            self._under_way -= 1


def working(work, name="work"):
    """A node that works."""

    async def node(state):
        await work(name)
        return {}

    node.__name__ = name
    return node


def working_tool(work):
    """A tool that works."""

    @tool("work")
    async def tool_that_works(what: str = "work") -> str:
        """Work."""
        await work(what)
        return "worked"

    return tool_that_works


async def becomes(found, expected, seconds=2.0):
    """Wait until a list holds what it should, for as long as a cancellation may take."""
    for _ in range(int(seconds / 0.01)):
        if sorted(found) == expected:
            return
        await asyncio.sleep(0.01)
    assert sorted(found) == expected


@beside(
    tried="The client leaves in the middle of a node",
    peer="The node runs on",
    ours="The node is cancelled, and does nothing more",
    fails=r"\[\] == \['work'\]",
)
async def test_the_client_leaves_in_a_node(serve):
    """Fault 12 of the peer."""
    async with Work() as work, serve(graph_of(working(work), says(Script()))) as thread:
        await thread.leave_after(work.began.wait())
        await becomes(work.left, ["work"])
        assert work.done == []


@beside(
    tried="The client leaves in the middle of a graph within the graph",
    peer="The node runs on",
    ours="Its node is cancelled",
    fails=r"\[\] == \['work'\]",
)
async def test_the_client_leaves_in_an_inner_graph(serve):
    """B57 a."""
    async with Work() as work:
        inner = graph_of(working(work), checkpointer=None, name="inner")
        async with serve(graph_of(inner)) as thread:
            await thread.leave_after(work.began.wait())
            await becomes(work.left, ["work"])


@beside(
    tried="The client leaves while two tools run at once",
    peer="Both run on",
    ours="Both are cancelled and clean up",
    fails=r"\[\] == \['a', 'b'\]",
)
async def test_the_client_leaves_while_tools_run(serve):
    """B57 b, d."""
    model = Script([call("work", '{"what":"a"}', "c1", 0), call("work", '{"what":"b"}', "c2", 1)])
    async with Work() as work, serve(agent(model, [working_tool(work)])) as thread:
        await thread.leave_after(work.began.wait())
        await becomes(work.left, ["a", "b"])


@beside(
    tried="The client leaves before the model's first word",
    peer="The model goes on",
    ours="The model is cancelled",
    fails=r"\[\] == \['work'\]",
)
async def test_the_client_leaves_before_the_first_word(serve):
    """Fault 12 of the peer."""
    async with Work() as work, serve(agent(Script([work]))) as thread:
        await thread.leave_after(work.began.wait())
        await becomes(work.left, ["work"])


# ---- what comes after -----------------------------------------------------------------------------


@beside(
    tried="The client left while two tools ran, and one had its result; the user goes on",
    peer="The model is sent calls without results, which providers refuse",
    ours="The model reads that the other was interrupted; neither runs again",
    fails="HumanMessage",
)
async def test_the_user_goes_on_after_a_tool_was_left(serve):
    """B60 a, b."""
    looked = []

    @tool
    async def look() -> str:
        """Look."""
        looked.append("once")
        return "saw"

    model = Script([call("look", "{}", "c1", 0), call("work", "{}", "c2", 1)])
    async with Work() as work, serve(agent(model, [look, working_tool(work)])) as thread:
        await thread.leave_after(work.began.wait())
        thread.runs, thread.messages = 1, [{"id": "u1", "role": "user", "content": "go"}]
        await turns()
        answer = await thread.say("hello again")
    assert (answer.ended, answer.text) == ("success", "done")
    assert looked == ["once"]
    assert ill_formed(model.seen[-1]) == []
    assert model.results["c2"].status == "error"
    assert answer.breaches == []


@beside(
    tried="The client left in the middle of a call's arguments; the user goes on",
    ours="The run works, and what was cut off is not executed",
)
async def test_the_user_goes_on_after_arguments_were_cut(serve):
    """B60 c."""
    async with Work() as work:
        model = Script([call("work", '{"what":"x'), work])
        async with serve(agent(model, [working_tool(work)])) as thread:
            await thread.leave_after(work.began.wait())
            thread.runs, thread.messages = 1, [{"id": "u1", "role": "user", "content": "go"}]
            answer = await thread.say("hello again")
    assert (answer.ended, answer.text) == ("success", "done")
    assert ill_formed(model.seen[-1]) == []
    assert [message.text for message in model.seen[-1]] == ["go", "hello again"]
    assert answer.breaches == []


# ---- stopped on purpose ---------------------------------------------------------------------------


async def stopped(thread, work):
    """A run that is stopped in the middle of the work."""
    running = asyncio.create_task(thread.say("go"))
    await work.began.wait()
    await turns()
    try:
        await thread.stop()
        return await running
    finally:
        running.cancel()


async def turns():
    """Let what was written come to the client."""
    for _ in range(20):
        await asyncio.sleep(0)


@beside(
    tried="A run is stopped while the model writes",
    peer="There is no way to stop a run",
    ours="What was open closes, and the run ends as cancelled, without a result",
    fails="no way to stop",
)
async def test_a_run_is_stopped_while_the_model_writes(serve):
    """Fault 13 of the peer."""
    async with Work() as work, serve(agent(Script(["Once upon", work]))) as thread:
        answer = await stopped(thread, work)
        assert answer.breaches == []
        assert (answer.ended, answer.text, work.left) == ("cancelled", "Once upon", ["work"])
        assert "result" not in answer.events[-1]


@beside(
    tried="A run is stopped while two tools run at once, in a graph within the graph",
    peer="There is no way to stop a run",
    ours="Both are cancelled and cleaned up before the run ends as cancelled, with what it cost; the thread goes on",
    fails="no way to stop",
)
async def test_a_run_is_stopped_while_tools_run(serve):
    """B57."""
    model = Script([call("work", '{"what":"a"}', "c1", 0), call("work", '{"what":"b"}', "c2", 1), cost(10, 1)])
    async with Work() as work:
        inner = agent(model, [working_tool(work)], checkpointer=None, name="helper")
        async with serve(graph_of(inner)) as thread:
            answer = await stopped(thread, work)
            assert answer.breaches == []
            assert (answer.ended, sorted(work.left), answer.results) == ("cancelled", ["a", "b"], {})
            assert answer.consumer.usage[0]["inputTokens"] == 10
            again = await thread.say("hello again")
    assert (again.breaches, again.ended, again.text) == ([], "success", "done")
    assert ill_formed(model.seen[-1]) == []


@beside(
    tried="A run is stopped while a synchronous tool runs in a thread",
    peer="There is no way to stop a run",
    ours="Its late result is neither sent nor kept",
    fails="no way to stop",
)
async def test_a_run_is_stopped_while_a_thread_works(serve):
    """B57 c."""
    loop = asyncio.get_running_loop()

    @tool("work")
    def tool_in_a_thread() -> str:
        """Work."""
        asyncio.run_coroutine_threadsafe(work("late"), loop).result()
        return "late"

    model = Script([call("work")])
    async with Work() as work, serve(agent(model, [tool_in_a_thread])) as thread:
        answer = await stopped(thread, work)
        work.release()
        await until(lambda: work.done == ["late"])
        again = await thread.say("hello again")
    assert (answer.breaches, answer.ended, answer.results) == ([], "cancelled", {})
    assert (again.breaches, again.ended) == ([], "success")
    assert "late" not in str(model.seen)


@beside(
    tried="The graph goes in circles until LangGraph's recursion limit",
    peer="RUN_ERROR",
    ours="The run ends as cancelled, with what it cost",
    fails="'RUN_ERROR' == 'cancelled'",
)
async def test_the_recursion_limit_is_reached(serve):
    """B67."""

    @tool
    async def again() -> str:
        """Do it again."""
        return "again"

    model = Script(*[[call("again", "{}", f"c{at}"), cost(10, 1)] for at in range(30)])
    async with serve(agent(model, [again]).with_config(recursion_limit=5)) as thread:
        answer = await thread.say("go")
    assert answer.breaches == []
    assert len(model.seen) < 30
    assert answer.ended == "cancelled"
    assert answer.consumer.usage[0]["inputTokens"] == 10 * len(model.seen)
