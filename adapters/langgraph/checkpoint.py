"""Where a thread stands, as its checkpointer knows it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ag_ui.core import AssistantMessage, Message
from langchain_core.messages import AIMessage, BaseMessage, ToolMessage
from langgraph.types import Interrupt, StateSnapshot

from adapters.langgraph.breakpoints import Graph, breakpoints_of


@dataclass(frozen=True, slots=True)
class Place:
    """A thread between two runs; an empty one, where nothing keeps it."""

    values: Mapping[str, Any] = field(default_factory=dict)
    interrupts: Sequence[Interrupt] = ()
    breakpoints: Sequence[str] = ()
    """The nodes that a breakpoint of the graph holds back."""
    step: str = ""
    """The checkpoint's id."""
    finished: Sequence[BaseMessage] = ()
    """The results of tools that finished in a step that did not: the thread shows them, and forgets them with it."""

    @property
    def messages(self) -> Sequence[BaseMessage]:
        """The conversation."""
        return self.values.get("messages") or () if isinstance(self.values, Mapping) else ()

    def calls(self, messages: Sequence[Message]) -> dict[str, str]:
        """The calls of the last assistant message: the ids that the client's copy has for them, by their own.

        They differ where a provider gave a call the id of an earlier one.
        """
        last = next((one for one in reversed(self.messages) if isinstance(one, AIMessage)), None)
        if last is None:
            return {}
        copy = next((one for one in messages if one.id == last.id and isinstance(one, AssistantMessage)), None)
        travelled = [call.id for call in (copy.tool_calls if copy is not None else None) or ()]
        own = [str(call["id"]) for call in last.tool_calls]
        return dict(zip(own, travelled if len(travelled) == len(own) else own, strict=True))


async def place_of(graph: Graph, config: Any) -> Place:
    """Look up where a thread stands."""
    if not graph.checkpointer:
        return Place()
    snapshot = await graph.aget_state(config)
    held: Sequence[str] = ()
    if snapshot.next and not snapshot.interrupts:
        held = await breakpoints_of(graph, await graph.aget_state(config, subgraphs=True))
    return Place(snapshot.values or {}, snapshot.interrupts, held, _id_of(snapshot), _finished(snapshot))


async def forked(graph: Graph, config: Any, kept: int) -> Any:
    """Find the latest checkpoint of a thread that holds so many of its messages; the run goes on from there."""
    async for snapshot in graph.aget_state_history(config):
        if len(Place(snapshot.values or {}).messages) == kept and not snapshot.interrupts:
            return snapshot.config
    return config


def _id_of(snapshot: StateSnapshot) -> str:
    return str(snapshot.config.get("configurable", {}).get("checkpoint_id", ""))


def _finished(snapshot: StateSnapshot) -> list[BaseMessage]:
    written = [task.result.get("messages") for task in snapshot.tasks if isinstance(task.result, Mapping)]
    return [
        one for messages in written if isinstance(messages, list) for one in messages if isinstance(one, ToolMessage)
    ]
