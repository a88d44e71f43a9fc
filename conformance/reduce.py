"""The fold of events into a conversation: what a consumer holds after it has read them.

It takes whole items (after `conformance.expand`) that keep their order (`conformance.order`), and is lenient where a
consumer has to be: what names nothing known is warned about and skipped.

Source: events/state, events/activity, events/reasoning, basic/metadata, basic/patterns/snapshots
"""

from collections.abc import Callable, Iterable
from copy import deepcopy
from typing import Any

from conformance.events import CALL, REASONING, TEXT, TRIADS, Event
from conformance.patch import PatchDoesNotApply, apply

Message = dict[str, Any]


class Conversation:
    """Messages and state of one thread as one consumer holds them. `apply` costs the same however long it is."""

    def __init__(self, messages: Iterable[Message] = (), state: Any = None) -> None:
        """Start from what a run input carried. An absent state is the empty object. (input-lists-optional)"""
        self.state: Any = {} if state is None else state
        self.warnings: list[str] = []
        self._messages: list[Message] = []
        self._by_id: dict[str, Message] = {}
        self._calls: dict[str, tuple[Message, dict[str, Any]]] = {}
        self._growing: dict[tuple[str, str], list[str]] = {}
        """Pieces of texts and arguments that still grow: joined when somebody looks."""
        for message in messages:
            self._append(deepcopy(message))

    @property
    def messages(self) -> list[Message]:
        """The messages, in order, with all that came so far."""
        for (family, key), pieces in self._growing.items():
            if family == CALL:
                function = self._calls[key][1]["function"]
                function["arguments"] += "".join(pieces)
            else:
                message = self._by_id[key]
                message["content"] = (message.get("content") or "") + "".join(pieces)
        self._growing.clear()
        return self._messages

    def apply(self, event: Event) -> None:
        """Take one event."""
        effect = _EFFECTS.get(event["type"])
        if effect is not None:
            effect(self, event)

    # ---- messages -------------------------------------------------------------------------------

    def _append(self, message: Message) -> None:
        self._messages.append(message)
        self._index(message)

    def _index(self, message: Message) -> None:
        self._by_id[message["id"]] = message
        for call in message.get("toolCalls") or ():
            self._calls[call["id"]] = (message, call)

    def _start_message(self, event: Event, role: str) -> None:
        key = event["messageId"]
        message = self._by_id.get(key)
        if message is None:
            message = {"id": key, "role": role, "content": ""}
            _copy(event, message, "name", "subagentRunId")
            self._append(message)
        _merge_metadata(message, event)

    def _text_start(self, event: Event) -> None:
        self._start_message(event, event.get("role", "assistant"))

    def _reasoning_start(self, event: Event) -> None:
        self._start_message(event, "reasoning")

    def _grow_message(self, event: Event) -> None:
        message = self._by_id.get(event["messageId"])
        if message is None or message["role"] == "activity":
            self._warn(event, f"no message {event['messageId']!r} to continue")
            return
        if "delta" in event:
            self._growing.setdefault((TEXT, event["messageId"]), []).append(event["delta"])
        _merge_metadata(message, event)

    # ---- calls ----------------------------------------------------------------------------------

    def _call_start(self, event: Event) -> None:
        key = event["toolCallId"]
        if key not in self._calls:
            message = self._call_holder(event)
            call = {"id": key, "type": "function", "function": {"name": event["toolCallName"], "arguments": ""}}
            message.setdefault("toolCalls", []).append(call)
            self._calls[key] = (message, call)
        _merge_metadata(self._calls[key][1], event)

    def _call_holder(self, event: Event) -> Message:
        """The assistant message that a call belongs to: its parent's, else one of its own."""
        parent = event.get("parentMessageId")
        held = None if parent is None else self._by_id.get(parent)
        if held is not None and held["role"] == "assistant":
            return held
        message: Message = {"id": event["toolCallId"] if held is not None or parent is None else parent}
        message["role"] = "assistant"
        _copy(event, message, "subagentRunId")
        self._append(message)
        return message

    def _grow_call(self, event: Event) -> None:
        if event["toolCallId"] not in self._calls:
            self._warn(event, f"no tool call {event['toolCallId']!r} to continue")
            return
        if "delta" in event:
            self._growing.setdefault((CALL, event["toolCallId"]), []).append(event["delta"])
        _merge_metadata(self._calls[event["toolCallId"]][1], event)

    def _result(self, event: Event) -> None:
        message: Message = {"id": event["messageId"], "role": "tool"}
        _copy(event, message, "content", "toolCallId", "subagentRunId")
        _merge_metadata(message, event)
        self._index(message)
        held = self._calls.get(event["toolCallId"])
        if held is None:
            self._messages.append(message)
            return
        place = _place(self._messages, held[0]) + 1
        while place < len(self._messages) and self._messages[place]["role"] == "tool":
            place += 1
        self._messages.insert(place, message)

    # ---- snapshots and deltas -------------------------------------------------------------------

    def _state_snapshot(self, event: Event) -> None:
        self.state = event["snapshot"]

    def _state_delta(self, event: Event) -> None:
        try:
            self.state = apply(self.state, event["delta"])
        except PatchDoesNotApply as error:  # read-patch-atomic
            self._warn(event, f"the patch does not apply to the state: {error}")

    def _messages_snapshot(self, event: Event) -> None:
        """Replace by id in place, append the rest, drop what is absent. (read-snapshot-reconciles)"""
        restated = {message["id"]: deepcopy(message) for message in event["messages"]}
        kept_roles = {"activity", "reasoning"} - {message["role"] for message in restated.values()}
        kept = [m for m in self.messages if m["id"] in restated or m["role"] in kept_roles]
        self._messages, self._by_id, self._calls = [], {}, {}
        for message in kept:
            self._append(restated.pop(message["id"], message))
        for message in restated.values():
            self._append(message)

    def _activity_snapshot(self, event: Event) -> None:
        key = event["messageId"]
        message = self._by_id.get(key)
        fresh: Message = {"id": key, "role": "activity", "activityType": event["activityType"]}
        fresh["content"] = deepcopy(event["content"])
        _copy(event, fresh, "subagentRunId")
        if message is None:
            self._append(fresh)
        elif event.get("replace") is not False:
            if message["role"] == "activity":
                _copy(message, fresh, "metadata")
            message.clear()
            message.update(fresh)
        _merge_metadata(self._by_id[key], event)

    def _activity_delta(self, event: Event) -> None:
        message = self._by_id.get(event["messageId"])
        if message is None or message["role"] != "activity":
            self._warn(event, f"no activity {event['messageId']!r} to change")
            return
        _merge_metadata(message, event)
        try:
            message["content"] = apply(message["content"], event["patch"])
        except PatchDoesNotApply as error:
            self._warn(event, f"the patch does not apply to activity {event['messageId']!r}: {error}")
            return
        message["activityType"] = event["activityType"]

    def _artefact(self, event: Event) -> None:
        key = event["entityId"]
        target = self._calls[key][1] if event["subtype"] == "tool-call" and key in self._calls else None
        if event["subtype"] == "message":
            message = self._by_id.get(key)
            target = message if message is not None and message["role"] != "activity" else None
        if target is None:  # read-artefact-stored
            self._warn(event, f"no {event['subtype']} {key!r} to keep the encrypted value with")
            return
        target["encryptedValue"] = event["encryptedValue"]

    def _run_started(self, event: Event) -> None:
        for message in (event.get("input") or {}).get("messages") or ():
            if message["id"] not in self._by_id:
                self._append(deepcopy(message))

    def _warn(self, event: Event, what: str) -> None:
        self.warnings.append(f"{event['type']}: {what}")


def _place(messages: list[Message], message: Message) -> int:
    """Find a message from the end, where results belong."""
    return next(index for index in range(len(messages) - 1, -1, -1) if messages[index] is message)


def _copy(source: dict[str, Any], target: dict[str, Any], *names: str) -> None:
    for name in names:
        if name in source:
            target[name] = source[name]


def _merge_metadata(target: dict[str, Any], event: Event) -> None:
    """Key by key, the last write wins, without recursion. (read-metadata-merges)"""
    if "metadata" in event:
        target["metadata"] = {**target.get("metadata", {}), **event["metadata"]}


_EFFECTS: dict[str, Callable[[Conversation, Event], None]] = {
    TRIADS[TEXT].start: Conversation._text_start,  # noqa: SLF001 - a table of the fold's own methods
    TRIADS[TEXT].content: Conversation._grow_message,  # noqa: SLF001
    TRIADS[TEXT].end: Conversation._grow_message,  # noqa: SLF001
    TRIADS[REASONING].start: Conversation._reasoning_start,  # noqa: SLF001
    TRIADS[REASONING].content: Conversation._grow_message,  # noqa: SLF001
    TRIADS[REASONING].end: Conversation._grow_message,  # noqa: SLF001
    TRIADS[CALL].start: Conversation._call_start,  # noqa: SLF001
    TRIADS[CALL].content: Conversation._grow_call,  # noqa: SLF001
    TRIADS[CALL].end: Conversation._grow_call,  # noqa: SLF001
    "TOOL_CALL_RESULT": Conversation._result,  # noqa: SLF001
    "STATE_SNAPSHOT": Conversation._state_snapshot,  # noqa: SLF001
    "STATE_DELTA": Conversation._state_delta,  # noqa: SLF001
    "MESSAGES_SNAPSHOT": Conversation._messages_snapshot,  # noqa: SLF001
    "ACTIVITY_SNAPSHOT": Conversation._activity_snapshot,  # noqa: SLF001
    "ACTIVITY_DELTA": Conversation._activity_delta,  # noqa: SLF001
    "REASONING_ENCRYPTED_VALUE": Conversation._artefact,  # noqa: SLF001
    "RUN_STARTED": Conversation._run_started,  # noqa: SLF001
}
