"""The reader's copy of a stream: as written, or downgraded for a peer from before 1.0.

A peer that declares no version is one: CopilotKit and assistant-ui still read with the client 0.0.59, which throws on
what it does not know. The downgrade is a pure transformation: no identifier, no order, no wording of the agent's
changes. What it leaves out or flattens is warned about once per kind. (downgrade-pure, downgrade-warns)

Source: basic/versioning#downgrading, events/tool-calls#result-content
"""

from collections.abc import Callable, Iterable
from typing import Any, TypeAlias

from ag_ui.core import RunAgentInput

from conformance.events import Event
from conformance.patch import apply

View: TypeAlias = Callable[[Event], Iterable[Event]]
"""From one event of the run to what its reader gets of it. Content events without attribution stay in every view."""


def as_written(event: Event) -> Iterable[Event]:
    """The copy of a current peer."""
    return (event,)


class OlderPeer:
    """The copy of a peer from before 1.0."""

    def __init__(self, run_input: RunAgentInput, warn: Callable[[str], None]) -> None:
        self._state: Any = {} if run_input.state is None else run_input.state
        self._knows_state = False
        self._tell = warn
        self._told: set[str] = set()

    def __call__(self, event: Event) -> Iterable[Event]:
        """Downgrade one event to what the client 0.0.59 reads."""
        kind = event["type"]
        if kind in _SUBAGENTS or (kind in _STEPS and "subagentRunId" in event):
            # A step is its owner's; without attribution two of one name would collide.
            self._warn(f"{kind} of a subagent is left out")
            return ()
        shape = _SHAPES.get(kind)
        return (_untagged(event) if shape is None else shape(self, _untagged(event)),)

    def _warn(self, what: str) -> None:
        if what not in self._told:
            self._told.add(what)
            self._tell(
                f"{what}: the peer declares no protocolVersion, so it reads AG-UI 0.x; upgrade its client to 1.0"
            )

    def _finished(self, event: Event) -> Event:
        outcome = event.get("outcome", {})
        match outcome.get("type"):
            case "cancelled":  # it has no such outcome, and none would read as success
                error: Event = {"type": "RUN_ERROR", "message": "The run was stopped.", "code": "cancelled"}
                return {**error, **{name: event[name] for name in ("usage", "metadata") if name in event}}
            case "interrupt":
                return {**event, "outcome": {**outcome, "interrupts": [_untagged(i) for i in outcome["interrupts"]]}}
            case "success":  # it does not know pendingToolCallIds, and derives them
                return {**event, "outcome": {"type": "success"}}
        return event

    def _result(self, event: Event) -> Event:
        return {**event, "content": self._flat("TOOL_CALL_RESULT", event["content"])}

    def _messages(self, event: Event) -> Event:
        return {**event, "messages": [self._message(_untagged(message)) for message in event["messages"]]}

    def _message(self, message: dict[str, Any]) -> dict[str, Any]:
        content = message.get("content")
        if not isinstance(content, list):
            return message
        if message["role"] == "tool":
            return {**message, "content": self._flat("a tool message", content)}
        known = [part for part in content if part.get("source", {}).get("type") != "file"]
        if len(known) < len(content):
            self._warn("a part with a provider's file handle is left out")
        return {**message, "content": known}

    def _flat(self, carrier: str, content: Any) -> Any:
        """A list of parts as the text of its text parts; a part that is none leaves no placeholder."""
        if isinstance(content, str):
            return content
        dropped = sorted({part["type"] for part in content} - {"text"})
        if dropped:
            self._warn(f"the {', '.join(dropped)} parts of {carrier} are left out")
        return "".join(part["text"] for part in content if part["type"] == "text")

    def _state_snapshot(self, event: Event) -> Event:
        self._knows_state = True
        return event

    def _state_delta(self, event: Event) -> Event:
        """Write the first delta of a run as the whole state: CopilotKit's process dies of one without a baseline."""
        if self._knows_state:
            return event
        self._knows_state = True
        rest = {name: value for name, value in event.items() if name not in ("type", "delta")}
        return {"type": "STATE_SNAPSHOT", "snapshot": apply(self._state, event["delta"]), **rest}


_SUBAGENTS = frozenset({"SUBAGENT_STARTED", "SUBAGENT_FINISHED", "SUBAGENT_ERROR"})
_STEPS = frozenset({"STEP_STARTED", "STEP_FINISHED"})
_SHAPES: dict[str, Callable[[OlderPeer, Event], Event]] = {
    "RUN_FINISHED": OlderPeer._finished,  # noqa: SLF001 - a table of the view's own methods
    "TOOL_CALL_RESULT": OlderPeer._result,  # noqa: SLF001
    "MESSAGES_SNAPSHOT": OlderPeer._messages,  # noqa: SLF001
    "STATE_SNAPSHOT": OlderPeer._state_snapshot,  # noqa: SLF001
    "STATE_DELTA": OlderPeer._state_delta,  # noqa: SLF001
}


def _untagged(value: dict[str, Any]) -> dict[str, Any]:
    """Leave out the attribution: without it the peer shows one conversation."""
    return {name: inner for name, inner in value.items() if name != "subagentRunId"}
