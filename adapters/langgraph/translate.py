"""What happens in a graph, as steps. Pure: parts in, steps out."""

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from ag_ui.core import (
    BaseEvent,
    CustomEvent,
    ReasoningEncryptedValueEvent,
    ReasoningMessageEndEvent,
    StateSnapshotEvent,
    StepFinishedEvent,
    StepStartedEvent,
    SubagentErrorEvent,
    SubagentFinishedEvent,
    SubagentFinishedSuspendedOutcome,
    SubagentStartedEvent,
    TextMessageEndEvent,
    ToolCallEndEvent,
    ToolCallResultEvent,
)
from langchain_core.messages import AIMessage, AIMessageChunk, ToolMessage

from adapters.base import Reasoning, Step, Text, ToolCall
from adapters.langgraph.blocks import Called, Thought, Words, pieces_of
from adapters.langgraph.history import tool_content
from adapters.langgraph.source import Namespace, Part

CUSTOM = "langgraph.custom"
"""The name of what a node writes to the graph's own stream."""


@dataclass(slots=True)
class Lane:
    """One graph: the root, or what a task of a node runs."""

    namespace: Namespace
    owner: str | None
    """The subagent whose events these are; None for the agent itself."""
    name: str
    parent: "Lane | None"
    is_announced: bool = False
    has_failed: bool = False
    suspended: list[str] = field(default_factory=list)
    agent: str | None = None
    """The agent that its graph, or one around it, is."""
    steps: dict[str, str] = field(default_factory=dict)
    """The names of the open steps, by task."""
    tools: dict[str, str] = field(default_factory=dict)
    """The names of the tools that its tasks run, by task."""


@dataclass(slots=True)
class Streaming:
    """One message of a model, as it comes."""

    calls: dict[Any, "Begun"] = field(default_factory=dict)
    """Its calls, by their index."""
    thoughts: dict[Any, str] = field(default_factory=dict)
    """The ids of its pieces of reasoning, by their index."""
    open_thought: str | None = None


class Begun(NamedTuple):
    """A call: its id in the graph, and the one under which it travels."""

    own: str
    name: str


class Translator:
    """Reads the parts of one run."""

    def __init__(
        self,
        *,
        held: Collection[str],
        calls: Mapping[str, str],
        is_silent: Callable[[str], bool],
        shown: Callable[[Any], Any],
        returned: Callable[[Any], Any],
        steps: bool = True,
        subagents: bool = True,
    ) -> None:
        """Begin.

        Args:
            held: Ids of the messages that the consumer holds: they are not sent again.
            calls: Ids of the calls that may get their results now, by those that the graph has for them.
            is_silent: Says of a message's id whether it is none for the consumer, as those of a structured output.
            shown: What of the root's values the consumer sees as state; None for nothing.
            returned: What of them is the run's result.
            steps: Tell when nodes start and finish.
            subagents: Attribute what graphs within the graph do to subagents.
        """
        self._held = set(held)
        self._calls = {own: [travelled] for own, travelled in calls.items()}
        self._is_silent = is_silent
        self._shown = shown
        self._returned = returned
        self._tells_steps = steps
        self._tells_subagents = subagents
        self._streaming: dict[str, Streaming] = {}
        self._said: set[str] = set()
        self._lanes: dict[Namespace, Lane] = {(): Lane((), None, "", None)}
        self.unfinished: set[str] = set()
        """The root's tasks that have started and not ended: what held them back is within them."""
        self.asked = False
        """Something in the graph waits for an answer."""
        self.result: Any = None
        """What the run gives back beside messages and state."""

    def read(self, part: Part) -> Iterator[Step]:
        """Translate one part."""
        kind, namespace, data = part
        if kind == "messages":
            yield from self._message(namespace, *data)
        elif kind == "tasks":
            yield from self._task(namespace, data)
        elif kind == "values":
            if not namespace:
                yield from self._values(data)
        elif kind == "custom":
            lane = self._lane(namespace)
            yield from self._announced(lane)
            own = isinstance(data, BaseEvent)
            yield data if own else CustomEvent(name=CUSTOM, value=data, subagent_run_id=lane.owner)

    def _values(self, values: Any) -> Iterator[Step]:
        """What the root holds after a step: its state, or what a functional entrypoint returned."""
        self.result = self._returned(values)
        state = self._shown(values)
        if state is not None:
            yield StateSnapshotEvent(snapshot=state)

    # ---- messages -------------------------------------------------------------------------------

    def _message(self, namespace: Namespace, message: Any, metadata: dict[str, Any]) -> Iterator[Step]:
        if type(message) is AIMessageChunk:
            key = message.id or ""
            streaming = self._streaming.get(key)
            if streaming is None:
                if key in self._held or key in self._said or self._is_silent(key):
                    return
                yield from self._announced(self._lane(namespace, metadata))
                streaming = self._streaming[key] = Streaming()
            owner = self._lanes[namespace].owner
            if type(message.content) is str and not message.tool_call_chunks and not message.additional_kwargs:
                if streaming.open_thought is not None and message.content:
                    yield from self._end_thought(streaming)
                if message.content:
                    yield Text(message.content, key, owner)
            else:
                yield from self._pieces(message, streaming, owner)
            if message.chunk_position == "last":
                yield from self._end(key)
        elif isinstance(message, AIMessage):
            yield from self._whole(namespace, message, metadata)
        elif isinstance(message, ToolMessage):
            yield from self._result(namespace, message, metadata)

    def _whole(self, namespace: Namespace, message: AIMessage, metadata: dict[str, Any]) -> Iterator[Step]:
        """A message that did not stream."""
        key = str(message.id)
        if key in self._held or key in self._said or key in self._streaming or self._is_silent(key):
            return
        lane = self._lane(namespace, metadata)
        yield from self._announced(lane)
        self._streaming[key] = Streaming()
        yield from self._pieces(message, self._streaming[key], lane.owner)
        yield from self._end(key)

    def _pieces(self, message: AIMessage, streaming: Streaming, owner: str | None) -> Iterator[Step]:
        key = str(message.id)
        for piece in pieces_of(message):
            match piece:
                case Words(text):
                    yield from self._end_thought(streaming)
                    yield Text(text, key, owner)
                case Thought():
                    yield from self._thought(piece, key, streaming, owner)
                case Called():
                    yield from self._end_thought(streaming)
                    yield from self._call(piece, key, streaming, owner)

    def _thought(self, piece: Thought, key: str, streaming: Streaming, owner: str | None) -> Iterator[Step]:
        name = streaming.thoughts.setdefault(piece.index, f"{key}:reasoning-{len(streaming.thoughts)}")
        if streaming.open_thought != name:
            yield from self._end_thought(streaming)
            streaming.open_thought = name
        yield Reasoning(piece.text, name, owner)
        if piece.artefact is not None:
            yield ReasoningEncryptedValueEvent(
                subtype="message", entity_id=name, encrypted_value=piece.artefact, subagent_run_id=owner
            )

    def _call(self, piece: Called, key: str, streaming: Streaming, owner: str | None) -> Iterator[Step]:
        begun = streaming.calls.get(piece.index)
        if piece.id and (begun is None or begun.own != piece.id):
            taken = [call.name for call in streaming.calls.values()]
            begun = streaming.calls[piece.index] = Begun(piece.id, _free(piece.id, taken, "-"))
            self._calls.setdefault(piece.id, []).append(begun.name)
            yield ToolCall(piece.arguments, begun.name, piece.name, key, owner)
        elif begun is not None:
            yield ToolCall(piece.arguments, begun.name, subagent=owner)

    def _end_thought(self, streaming: Streaming) -> Iterator[Step]:
        if streaming.open_thought is not None:
            yield ReasoningMessageEndEvent(message_id=streaming.open_thought)
            streaming.open_thought = None

    def _end(self, key: str) -> Iterator[Step]:
        """End a message: until now its parts may have gone on, in any order."""
        streaming = self._streaming.pop(key)
        self._said.add(key)
        yield from self._end_thought(streaming)
        yield TextMessageEndEvent(message_id=key)
        for call in streaming.calls.values():
            yield ToolCallEndEvent(tool_call_id=call.name)

    def _result(self, namespace: Namespace, message: ToolMessage, metadata: dict[str, Any]) -> Iterator[Step]:
        key, call = str(message.id), message.tool_call_id
        if key in self._held or key in self._said or call not in self._calls:
            return
        names = self._calls[call]  # the results of calls with one id come in the order of the calls
        name = names.pop(0) if len(names) > 1 else names[0]
        lane = self._lane(namespace, metadata)
        yield from self._announced(lane)
        self._said.add(key)
        yield ToolCallResultEvent(
            message_id=key, tool_call_id=name, content=tool_content(message), subagent_run_id=lane.owner
        )

    # ---- nodes, and graphs within ---------------------------------------------------------------

    def _task(self, namespace: Namespace, task: dict[str, Any]) -> Iterator[Step]:
        lane = self._lane(namespace, task.get("metadata"))
        if lane.agent is None:
            lane.agent = (task.get("metadata") or {}).get("lc_agent_name")
        if "triggers" in task:
            if not namespace:
                self.unfinished.add(task["id"])
            yield from self._announced(lane)
            tool = _tool_of(task["input"])
            if tool is not None:
                lane.tools[task["id"]] = tool
            if self._tells_steps:
                name = lane.steps[task["id"]] = _free(task["name"], self._open_steps(lane.owner), " ")
                yield StepStartedEvent(step_name=name, subagent_run_id=lane.owner)
            return
        asked = [str(one["id"]) for one in task["interrupts"]]
        lane.has_failed |= task["error"] is not None
        lane.suspended += asked
        if not namespace:
            self.unfinished.discard(task["id"])
            self.asked |= bool(asked)
        yield from self._end_within((*namespace, f"{task['name']}:{task['id']}"), asked)
        if task["id"] in lane.steps:
            yield StepFinishedEvent(step_name=lane.steps.pop(task["id"]), subagent_run_id=lane.owner)

    def _end_within(self, namespace: Namespace, asked: list[str]) -> Iterator[Step]:
        """End the graphs that a task ran, the innermost first."""
        depth = len(namespace)
        within = [lane for one, lane in self._lanes.items() if one[:depth] == namespace]
        for lane in sorted(within, key=lambda lane: -len(lane.namespace)):
            del self._lanes[lane.namespace]
            if not lane.is_announced or lane.owner is None:
                continue
            if lane.suspended or asked:
                outcome = SubagentFinishedSuspendedOutcome(interrupt_ids=lane.suspended or asked)
                yield SubagentFinishedEvent(subagent_run_id=lane.owner, outcome=outcome)
            elif lane.has_failed:
                message = "The subagent failed."
                yield SubagentErrorEvent(subagent_run_id=lane.owner, message=message, code="subagent_error")
            else:
                yield SubagentFinishedEvent(subagent_run_id=lane.owner)

    def _lane(self, namespace: Namespace, metadata: dict[str, Any] | None = None) -> Lane:
        lane = self._lanes.get(namespace)
        if lane is None:
            parent = self._lane(namespace[:-1])
            node, _, task = namespace[-1].partition(":")
            agent = (metadata or {}).get("lc_agent_name")
            own = agent if agent != parent.agent else None  # what a graph around it is called is inherited
            name = own or parent.tools.get(task) or (node if task else parent.name)
            owner = (task or f"{parent.owner}:{namespace[-1]}") if self._tells_subagents else None
            lane = self._lanes[namespace] = Lane(namespace, owner, name, parent, agent=agent or parent.agent)
        return lane

    def _announced(self, lane: Lane) -> Iterator[Step]:
        """Announce a subagent before its first event, after those that it is within."""
        if lane.is_announced or lane.owner is None or lane.parent is None:
            return
        yield from self._announced(lane.parent)
        lane.is_announced = True
        yield SubagentStartedEvent(subagent_run_id=lane.owner, name=lane.name, parent_subagent_run_id=lane.parent.owner)

    def _open_steps(self, owner: str | None) -> set[str]:
        return {step for lane in self._lanes.values() if lane.owner == owner for step in lane.steps.values()}


def _free(name: str, taken: Collection[str], between: str) -> str:
    """A name that is not taken: itself, or numbered. Some providers give one id to several calls of a message."""
    number, free = 1, name
    while free in taken:
        number += 1
        free = f"{name}{between}{number}"
    return free


def _tool_of(given: Any) -> str | None:
    """The name of the tool that a task runs, where it was sent one call."""
    call = given[0] if isinstance(given, list) and len(given) == 1 else getattr(given, "tool_call", None)
    if isinstance(given, dict) and isinstance(given.get("tool_call"), dict):
        call = given["tool_call"]
    return call.get("name") if isinstance(call, dict) and call.get("type") == "tool_call" else None
