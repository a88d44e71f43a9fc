"""LangGraph graphs whose model streams the workload: the same ones for the best-known adapter and for ours.

Each is one node that asks a chat model, with a checkpointer in memory. Its state is the conversation and `documents`.
"""

import asyncio
from typing import Any

from langchain_core.language_models.chat_models import BaseChatModel
from langchain_core.messages import AIMessage, AIMessageChunk
from langchain_core.outputs import ChatGeneration, ChatGenerationChunk, ChatResult
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END, START, MessagesState, StateGraph
from workload import TOKENS


class State(MessagesState):
    """What the graph and its client share."""

    documents: list[dict[str, Any]]


class Scripted(BaseChatModel):
    """A chat model that streams the workload."""

    gives_up_the_loop: bool

    @property
    def _llm_type(self):
        return "scripted"

    def _generate(self, messages, stop=None, run_manager=None, **more):
        return ChatResult(generations=[ChatGeneration(message=AIMessage("".join(TOKENS)))])

    async def _astream(self, messages, stop=None, run_manager=None, **more):
        for token in TOKENS:
            if self.gives_up_the_loop:
                await asyncio.sleep(0)
            yield ChatGenerationChunk(message=AIMessageChunk(content=token))


def graph(*, gives_up_the_loop):
    model = Scripted(gives_up_the_loop=gives_up_the_loop)

    async def ask(state):
        return {"messages": [await model.ainvoke(state["messages"])]}

    built = StateGraph(State)
    built.add_node("ask", ask)
    built.add_edge(START, "ask")
    built.add_edge("ask", END)
    return built.compile(checkpointer=InMemorySaver())


tick, burst = graph(gives_up_the_loop=True), graph(gives_up_the_loop=False)
