"""How often a thread is read: what it holds may be long, and its checkpointer far away."""

import pytest
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph
from support.session import session

from adapters.langgraph import LangGraph
from conformance.consumer import Ending

pytestmark = pytest.mark.anyio


class Counting(InMemorySaver):
    """A checkpointer that counts how often it is read."""

    def __init__(self):
        super().__init__()
        self.reads = 0

    async def aget_tuple(self, config):
        self.reads += 1
        return await super().aget_tuple(config)


async def test_a_run_that_comes_to_its_end_reads_its_thread_before_and_not_again():
    saver = Counting()
    builder = StateGraph(MessagesState)
    builder.add_node("node", lambda state: None)
    builder.add_edge(START, "node")
    async with session(LangGraph(builder.compile(checkpointer=saver))) as client:
        for _ in range(2):
            saver.reads = 0
            run = await client.say("go")
            assert (run.ending, saver.reads) == (Ending.SUCCEEDED, 2)  # the adapter, and then the graph
