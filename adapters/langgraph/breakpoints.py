"""Where a graph's own breakpoints hold a thread back, and how what it is in the middle of is given up.

A breakpoint leaves no interrupt in the checkpoint, only nodes that come next. So do a node that failed and a run that
was stopped: what holds a thread back is a node that its author named, before it or after it, and no error.
"""

from collections.abc import AsyncIterator, Sequence
from typing import Any

from langchain_core.runnables import RunnableConfig
from langgraph.graph import END
from langgraph.pregel import Pregel
from langgraph.types import All, StateSnapshot

Graph = Pregel[Any, Any, Any, Any]


async def breakpoints_of(graph: Graph, snapshot: StateSnapshot) -> list[str]:
    """Name the nodes that a breakpoint holds back; those of graphs within with the names of the nodes they are in.

    Args:
        graph: The graph.
        snapshot: `await graph.aget_state(config, subgraphs=True)`. Without `subgraphs` those within are not looked at.
    """
    return [name async for name in _held(graph, graph, snapshot)]


async def abandon(graph: Graph, config: RunnableConfig) -> None:
    """Give up what a thread is in the middle of: nothing of it is performed, what it has finished stays."""
    while (await graph.aget_state(config)).next:
        await graph.aupdate_state(config, None, as_node=END)


async def _held(root: Graph, graph: Graph, snapshot: StateSnapshot) -> AsyncIterator[str]:
    if snapshot.interrupts or any(task.error is not None for task in snapshot.tasks):
        return
    within = dict(graph.get_subgraphs())
    for task in snapshot.tasks:
        inside = within.get(task.name)
        if isinstance(task.state, StateSnapshot) and isinstance(inside, Pregel):
            async for name in _held(root, inside, task.state):
                yield f"{task.name}.{name}"
    is_held = _names(graph.interrupt_before_nodes, snapshot.next)
    if not is_held and graph.interrupt_after_nodes and snapshot.parent_config is not None:
        before = await root.aget_state(snapshot.parent_config)
        is_held = _names(graph.interrupt_after_nodes, before.next)
    if is_held:
        for name in snapshot.next:
            yield name


def _names(nodes: All | Sequence[str], some: Sequence[str]) -> bool:
    """Say whether an author's breakpoints are at one of these nodes."""
    return bool(some) if nodes == "*" else any(name in nodes for name in some)
