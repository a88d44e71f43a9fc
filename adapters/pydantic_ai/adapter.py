"""Runs a PydanticAI agent, node by node.

`agent.iter` is the source: it hands over the agent's events in the task that asks for them, at two thirds of the cost
of `run_stream_events`, which passes them between two tasks.
"""

from collections.abc import AsyncGenerator
from typing import Any

from ag_ui.core import (
    AgentCapabilities,
    IdentityCapabilities,
    ReasoningCapabilities,
    ToolsCapabilities,
    TransportCapabilities,
)
from pydantic_ai import Agent
from pydantic_ai.agent import AbstractAgent

from adapters.base import RunContext, Step, Success
from adapters.pydantic_ai.history import load_history
from adapters.pydantic_ai.translate import Response, tool_result, usage_of


class PydanticAI:
    """Serves one `pydantic_ai.Agent`."""

    def __init__(self, agent: AbstractAgent[Any, Any]) -> None:
        self._agent = agent

    def capabilities(self) -> AgentCapabilities:
        """What follows from the agent: its name, that it streams, that it may call tools and reason."""
        return AgentCapabilities(
            identity=IdentityCapabilities(name=self._agent.name, type="pydantic-ai"),
            transport=TransportCapabilities(streaming=True),
            tools=ToolsCapabilities(supported=True, parallel_calls=True),
            reasoning=ReasoningCapabilities(streaming=True),
        )

    async def run(self, run: RunContext) -> AsyncGenerator[Step, None]:
        """Run the agent on the input's history and yield what it does."""
        history = load_history(self._agent, run)
        async with self._agent.iter(message_history=history, conversation_id=run.input.thread_id) as agent_run:
            async for node in agent_run:
                if Agent.is_model_request_node(node):
                    response = Response(run.ids)
                    async with node.stream(agent_run.ctx) as events:
                        async for event in events:
                            for step in response.read(event):
                                yield step
                    for step in response.end():
                        yield step
                elif Agent.is_call_tools_node(node):
                    yield usage_of(node.model_response)
                    async with node.stream(agent_run.ctx) as happenings:
                        async for happening in happenings:
                            for step in tool_result(happening, run.ids):
                                yield step
        output = agent_run.result.output if agent_run.result is not None else None
        if not isinstance(output, str):
            yield Success(output)
