"""Runs at once, on many threads and on one: beside the best-known LangGraph adapter."""

import asyncio

import anyio
from langgraph.graph import MessagesState
from support.graphs import Script, graph_of, says
from support.peer_langgraph import beside
from support.streams import parse_sse


class State(MessagesState):
    owner: str


@beside(
    tried="50 runs on 50 threads at once, served by one graph",
    ours="No run has anything of another one's",
)
async def test_many_threads_at_once(serve):
    """B69."""

    async def one(state):
        await asyncio.sleep(0)
        return {"owner": state["messages"][-1].text}

    async def two(state):
        await asyncio.sleep(0)
        return {"messages": [await Script([f"I am {state['owner']}"]).ainvoke(state["messages"])]}

    found = {}
    async with serve(graph_of(one, two, state=State)) as thread:

        async def run(name):
            message = {"id": f"u-{name}", "role": "user", "content": name}
            document = {"threadId": name, "runId": f"r-{name}", "protocolVersion": "1.0", "messages": [message]}
            found[name] = parse_sse((await thread.client.post("/", json=document)).content)

        async with anyio.create_task_group() as group:
            for at in range(50):
                group.start_soon(run, f"name{at:02}")
    assert len(found) == 50
    for name, events in found.items():
        assert events[-1]["type"] == "RUN_FINISHED"
        text = "".join(event["delta"] for event in events if event["type"] == "TEXT_MESSAGE_CONTENT")
        assert text == f"I am {name}"
        assert not any(other in str(events) for other in found if other != name)


@beside(
    tried="A second run comes on a thread while the first one is under way",
    peer="The messages of the second one are lost",
    ours="It waits its turn; the thread keeps the messages of both, in order",
    fails=r"'one!'\] == ",
)
async def test_two_runs_on_one_thread(serve):
    """B70."""
    began, goes_on = asyncio.Event(), asyncio.Event()

    async def slow():
        began.set()
        await goes_on.wait()

    model = Script(["one", slow, "!"], ["two"])
    graph = graph_of(says(model))
    async with serve(graph) as thread:

        async def run(name):
            message = {"id": name, "role": "user", "content": name}
            document = {"threadId": "t1", "runId": f"r-{name}", "protocolVersion": "1.0", "messages": [message]}
            events = parse_sse((await thread.client.post("/", json=document)).content)
            assert events[-1]["type"] == "RUN_FINISHED"

        async with anyio.create_task_group() as group:
            group.start_soon(run, "a")
            await began.wait()
            group.start_soon(run, "b")
            with anyio.move_on_after(0.5):
                while len(model.seen) < 2:  # noqa: ASYNC110 - the second run, if it does not wait
                    await asyncio.sleep(0.01)
            goes_on.set()
        state = await graph.aget_state({"configurable": {"thread_id": "t1"}})
    assert [message.text for message in state.values["messages"]] == ["a", "one!", "b", "two"]
