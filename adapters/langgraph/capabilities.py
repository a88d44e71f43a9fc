"""What a graph declares of itself: what follows from how it was built, and nothing else."""

from typing import Any

from ag_ui.core import (
    AgentCapabilities,
    HumanInTheLoopCapabilities,
    IdentityCapabilities,
    MultiAgentCapabilities,
    StateCapabilities,
    ToolsCapabilities,
    TransportCapabilities,
)
from langgraph.pregel import Pregel


def capabilities_of(graph: Pregel[Any, Any, Any, Any], *, has_state: bool, subagents: bool) -> AgentCapabilities:
    """Declare what a graph does.

    Args:
        graph: The graph.
        has_state: It shares keys beside its messages.
        subagents: What graphs within it do is told as subagents.
    """
    keeps = bool(graph.checkpointer)
    within = any(True for _ in graph.get_subgraphs())
    return AgentCapabilities(
        identity=IdentityCapabilities(name=graph.name, type="langgraph"),
        transport=TransportCapabilities(streaming=True),
        tools=ToolsCapabilities(supported=True, parallel_calls=True),
        state=StateCapabilities(snapshots=True, deltas=True, persistent_state=keeps) if has_state else None,
        multi_agent=MultiAgentCapabilities(supported=True) if within and subagents else None,
        human_in_the_loop=HumanInTheLoopCapabilities(supported=True, interrupts=True) if keeps else None,
    )
