"""Where a graph's happenings come from: the only place that asks LangGraph to stream.

`astream` with several modes is the source: it costs half of what the newer event streams do, and keeps its shape. If
that changes, this module does, and nothing else.
"""

from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from typing import Any, NamedTuple, TypeAlias

from langgraph.pregel import Pregel

Namespace: TypeAlias = tuple[str, ...]
"""Which graph within the graph: `()` is the root, `("node:task id",)` what a task of its node runs, and so on."""

MODES: Sequence[Any] = ["messages", "custom", "values", "tasks"]


class Part(NamedTuple):
    """One happening.

    - `messages`: a message or a chunk of one, and its metadata
    - `tasks`: a task of a node that starts (`id`, `name`) or ends (`id`, `name`, `error`, `interrupts`)
    - `values`: the values of a graph's channels after a step
    - `custom`: what a node wrote
    """

    kind: str
    namespace: Namespace
    data: Any


async def parts_of(
    graph: Pregel[Any, Any, Any, Any], payload: Any, config: Any, context: Any
) -> AsyncGenerator[Part, None]:
    """Run a graph and give what happens in it and in the graphs within.

    Args:
        graph: The graph.
        payload: Its input, a `Command`, or None to go on from its checkpoint.
        config: LangChain's configuration.
        context: The graph's runtime context; None where it takes none.
    """
    stream: Any = graph.astream(
        payload,
        config,
        context=context,
        stream_mode=MODES,
        version="v2",
        subgraphs=True,
        durability="async" if graph.checkpointer else None,
    )
    async with aclosing(stream) as happenings:
        async for happening in happenings:
            yield Part(happening["type"], happening["ns"], happening["data"])
