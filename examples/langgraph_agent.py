"""A tea shop's assistant as a graph: tools that ask, need consent, or delegate; a cart and a tool of the page's.

pip install '.[langgraph]' langchain langgraph-checkpoint-sqlite
agui-sidecar serve examples.langgraph_agent:graph
"""

import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Annotated, Any, Literal, NotRequired

from langchain.agents import AgentState, create_agent
from langchain.agents.middleware import HumanInTheLoopMiddleware
from langchain.tools import ToolRuntime, tool
from langchain_core.messages import HumanMessage, ToolMessage
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver
from langgraph.graph.state import CompiledStateGraph
from langgraph.types import Command, Overwrite, interrupt

from adapters.langgraph.frontend import FrontendTools
from examples.chat_script import Script

Tea = Literal["green", "black", "oolong"]
PRICES = {"green": 4.5, "black": 3.9, "oolong": 7.2}


def more(packets: dict[Tea, int], added: dict[Tea, int]) -> dict[Tea, int]:
    return packets | {tea: packets.get(tea, 0) + number for tea, number in added.items()}


class Shop(AgentState):
    """The shared state: packets by tea. What calls add at once adds up; what the page writes takes its place."""

    packets: NotRequired[Annotated[dict[Tea, int], more]]


def done(told: str, packets: Any, runtime: ToolRuntime) -> Command:
    """A result that comes with a change of the state."""
    result = ToolMessage(told, tool_call_id=runtime.tool_call_id)
    return Command(update={"packets": packets, "messages": [result]})


@tool
def price(tea: Tea) -> float:
    """Say what a packet of a tea costs, in euros."""
    return PRICES[tea]


@tool
def add(tea: Tea, packets: int, runtime: ToolRuntime) -> Command:
    """Put packets of a tea into the cart."""
    return done(f"{packets} packets of {tea} tea were added", {tea: packets}, runtime)


@tool
def order(runtime: ToolRuntime, note: str = "") -> Command:
    """Order what is in the cart, with a note for the parcel. The customer is asked before."""
    total = sum(PRICES[tea] * packets for tea, packets in runtime.state.get("packets", {}).items())
    told = f"ordered for {total:.2f} euros" + (f", with the note {note!r}" if note else "")
    return done(told, Overwrite({}), runtime)


@tool
def deliver() -> str:
    """Have the customer choose the day on which the parcel comes."""
    day = interrupt("On which day shall it come?", response_schema=Literal["Monday", "Friday"] | None)
    return f"it comes on {day}" if day else "no day was chosen"


taster = create_agent(Script(words="An oolong: it lasts for many cups."), name="taster")


@tool
async def advise(occasion: str) -> str:
    """Ask the taster, an agent of its own, which tea suits an occasion."""
    heard = await taster.ainvoke({"messages": [HumanMessage(f"Which tea suits {occasion}?")]})
    return heard["messages"][-1].text


consent = {"allowed_decisions": ["approve", "edit", "reject"], "description": "Order what is in the cart?"}


@asynccontextmanager
async def graph() -> AsyncIterator[CompiledStateGraph]:
    """The graph, while its threads are open: they outlive the server in a file."""
    async with AsyncSqliteSaver.from_conn_string(os.environ.get("TEA_SHOP", "tea-shop.db")) as threads:
        yield create_agent(
            Script(),  # needs no key; name a real model here, such as "openai:gpt-5.2"
            [price, add, order, deliver, advise],
            name="shop",
            system_prompt="You sell tea. Have customers choose with the page's tool `pick_tea`, where there is one.",
            state_schema=Shop,
            middleware=[FrontendTools(), HumanInTheLoopMiddleware({"order": consent}, interrupt_mode="per_call")],
            checkpointer=threads,
        )
