"""Identifiers of one run: unique in its thread, though providers repeat theirs or give none.

Source: events/lifecycle#several-runs-on-one-stream, events/tool-calls
"""

from collections.abc import Callable
from typing import Any

from ag_ui.core import AssistantMessage, RunAgentInput


class Names:
    """Maps the identifiers that an adapter uses to those that travel.

    They are the same, but for one that the run input's history already holds, or a call's that is used up: new
    material under such an identifier would be appended to the old. (history-as-snapshots)
    """

    def __init__(self, run_input: RunAgentInput, ids: Callable[[], str], warn: Callable[[str], None]) -> None:
        self._ids = ids
        self._warn = warn
        self._held = {message.id for message in run_input.messages}
        self._messages: dict[str, str] = {}
        self._calls: dict[str, str] = {}
        self.calls_held = {
            call.id: call.function.name
            for message in run_input.messages
            if isinstance(message, AssistantMessage)
            for call in message.tool_calls or ()
        }
        """The calls in the history, by id, with their tools' names."""
        self.frontend = {tool.name for tool in run_input.tools or ()}
        """The application's own tools."""

    def message(self, name: str) -> str:
        """The identifier of new material in the message that the adapter calls `name`."""
        if name not in self._held:
            return name
        if name not in self._messages:
            self._messages[name] = self._ids()
            self._warn(f"message id {name!r} is in the history; new material goes to {self._messages[name]!r}")
        return self._messages[name]

    def holds(self, name: str) -> bool:
        """Say whether the history has a message of this id."""
        return name in self._held

    def parent(self, name: str) -> str:
        """The identifier of the message that the adapter calls `name`, new or old."""
        return self._messages.get(name, name)

    def call(self, name: str) -> str:
        """The identifier of the latest call that the adapter calls `name`."""
        return self._calls.get(name, name)

    def begin_call(self, name: str | None, *, used: bool) -> str:
        """The identifier of a call that begins now; `used` says that one of this name has ended in this run."""
        if name is None or name == "":
            return self._ids()
        if used or name in self.calls_held:
            self._calls[name] = self._ids()
            self._warn(f"tool call id {name!r} was used before; this call goes by {self._calls[name]!r}")
        return self.call(name)

    def in_interrupt(self, interrupt: dict[str, Any]) -> dict[str, Any]:
        """An interrupt with the identifiers that travel."""
        if "toolCallId" in interrupt:
            return {**interrupt, "toolCallId": self.call(interrupt["toolCallId"])}
        return interrupt
