"""The fold of events into a conversation: what a consumer holds after it has read them.

It takes whole items (after `conformance.expand`) that keep their order (`conformance.order`), and is lenient where a
consumer has to be: what names nothing known is warned about and skipped.

Nothing that it is given is changed. What it hands out is the conversation itself: it goes on changing, is to be read
only, and is to be copied by who wants to keep it.

Source: events/state, events/activity, events/reasoning, basic/metadata, basic/patterns/snapshots
"""

from collections.abc import Callable, Iterable
from typing import Any

from conformance.events import CALL, REASONING, TEXT, TRIADS, Event
from conformance.patch import PatchDoesNotApply, apply

Message = dict[str, Any]


class Conversation:
    """Messages and state of one thread as one consumer holds them. `apply` costs the same however long it is."""

    def __init__(
        self, messages: Iterable[Message] = (), state: Any = None, warn: Callable[[str], None] | None = None
    ) -> None:
        """Start from what a run input carried. An absent state is the empty object. (input-lists-optional)

        `warn` is told what was skipped, one sentence each; without it, the sentences gather in `warnings`.
        """
        self.state: Any = {} if state is None else state
        self.warnings: list[str] = []
        self._tell = self.warnings.append if warn is None else warn
        self._is_state_known = state is not None
        self._messages: list[Message] = []
        self._by_id: dict[str, Message] = {}
        self._calls: dict[str, tuple[Message, dict[str, Any]]] = {}
        self._growing: dict[tuple[str, str], list[str]] = {}
        """Pieces of texts and arguments that still grow: joined when somebody looks."""
        self._unopened: set[str] = set()
        """Messages that are there only because a call named them."""
        self._owned: set[str | None] = set()
        """Activities by id, and the state as None, that no event or input holds as well: they are patched in place."""
        for message in messages:
            self._append(_own(message))

    @property
    def messages(self) -> list[Message]:
        """The messages, in order, with all that came so far."""
        for (family, key), pieces in self._growing.items():
            if family == CALL:
                self._calls[key][1]["function"]["arguments"] += "".join(pieces)
            else:
                _lengthen(self._by_id[key], "".join(pieces))
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

    def _text_start(self, event: Event) -> None:
        self._start_message(event, event.get("role", "assistant"))

    def _reasoning_start(self, event: Event) -> None:
        self._start_message(event, "reasoning")

    def _start_message(self, event: Event, role: str) -> None:
        key = event["messageId"]
        message = self._by_id.get(key)
        if message is None:
            message = {"id": key, "role": role, "content": ""}
            _copy(event, message, "name", "subagentRunId")
            self._append(message)
        elif _kind(message["role"]) != _kind(role):
            self._warn(event, f"{key!r} is held as a message of role {message['role']!r}, and stays one")
        elif key in self._unopened:
            _copy(event, message, "name")
        self._unopened.discard(key)
        if message["role"] != "activity":
            _merge_metadata(message, event)

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
        if held is not None:
            self._warn(event, f"the parent {parent!r} is a message of role {held['role']!r}; the call gets its own")
        message: Message = {"id": event["toolCallId"] if held is not None or parent is None else parent}
        message["role"] = "assistant"
        _copy(event, message, "subagentRunId")
        self._append(message)
        self._unopened.add(message["id"])
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
        held = self._by_id.get(message["id"])
        if held is not None and held["role"] == "tool":  # restated
            self._growing.pop((TEXT, message["id"]), None)
            held.update(message)
            return
        if held is not None:
            self._make_room(held, event)
        self._index(message)
        call = self._calls.get(event["toolCallId"])
        place = len(self._messages) if call is None else _place(self._messages, call[0]) + 1
        while place < len(self._messages) and self._messages[place]["role"] == "tool":
            place += 1
        self._messages.insert(place, message)

    def _make_room(self, held: Message, event: Event) -> None:
        """Let a result have the id that a message has: one that was made for a call has none of its own."""
        key = held["id"]
        if key in self._unopened and key in self._calls:
            held["id"] = f"{key}:call"
            self._by_id[held["id"]] = held
            self._unopened.discard(key)
        else:
            self._warn(event, f"{key!r} names a message of role {held['role']!r} already")

    # ---- snapshots and deltas -------------------------------------------------------------------

    def _state_snapshot(self, event: Event) -> None:
        self.state, self._is_state_known = event["snapshot"], True
        self._owned.discard(None)

    def _state_delta(self, event: Event) -> None:
        self._is_state_known = True
        try:
            self.state = self._amended(self.state, event["delta"], None)
        except PatchDoesNotApply as error:  # read-patch-atomic
            self._warn(event, f"the patch does not apply to the state, which stays as it was: {error}")

    def _amended(self, value: Any, patch: list[Any], name: str | None) -> Any:
        """Apply a patch at the cost of what it changes; the first one after a snapshot at that of a copy."""
        amended = apply(value, patch, in_place=name in self._owned and all(one["path"] for one in patch))
        self._owned.add(name)
        return amended

    def _messages_snapshot(self, event: Event) -> None:
        """Replace by id in place, append the rest, drop what is absent. (read-snapshot-reconciles)"""
        restated = {message["id"]: _own(message) for message in event["messages"]}
        if len(restated) < len(event["messages"]):
            self._warn(event, "a message id comes more than once; the last message of that id is kept")
        kept_roles = {"activity", "reasoning"} - {message["role"] for message in restated.values()}
        held = self.messages
        self._messages, self._by_id, self._calls = [], {}, {}
        self._unopened.clear()
        self._owned &= {None}
        for message in held:
            if message["id"] in restated:
                self._append(restated.pop(message["id"]))
            elif message["role"] in kept_roles:
                self._append(message)
        for message in restated.values():
            self._append(message)

    def _activity_snapshot(self, event: Event) -> None:
        """Create, replace, or leave an activity. (read-activity-replace)"""
        key = event["messageId"]
        message = self._by_id.get(key)
        fresh: Message = {"id": key, "role": "activity", "activityType": event["activityType"]}
        fresh["content"] = event["content"]
        _copy(event, fresh, "subagentRunId")
        if message is None:
            self._append(fresh)
        elif event.get("replace") is not False:
            if message["role"] == "activity":
                _copy(message, fresh, "metadata")
            self._growing.pop((TEXT, key), None)
            self._owned.discard(key)
            message.clear()
            message.update(fresh)
        if self._by_id[key]["role"] == "activity":
            _merge_metadata(self._by_id[key], event)

    def _activity_delta(self, event: Event) -> None:
        message = self._by_id.get(event["messageId"])
        if message is None or message["role"] != "activity":
            self._warn(event, f"no activity {event['messageId']!r} to change")
            return
        _merge_metadata(message, event)
        try:
            content = self._amended(message["content"], event["patch"], event["messageId"])
        except PatchDoesNotApply as error:  # read-patch-atomic
            self._warn(event, f"the patch does not apply to activity {event['messageId']!r}: {error}")
            return
        if type(content) is not dict:
            self._warn(event, f"the patch makes activity {event['messageId']!r} something else than an object")
            return
        message["content"], message["activityType"] = content, event["activityType"]

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
        target.pop("encryptedValueType", None)  # an old type would mislabel the new value
        _copy(event, target, "encryptedValueType")

    def _run_started(self, event: Event) -> None:
        """Take from an echoed input what is not held: its messages, and the state where none is known yet."""
        if "input" not in event:
            return
        for message in event["input"]["messages"]:
            if message["id"] not in self._by_id:
                self._append(_own(message))
        if not self._is_state_known:
            self.state, self._is_state_known = event["input"].get("state", {}), True

    def _warn(self, event: Event, what: str) -> None:
        self._tell(f"{event['type']}: {what}")


def _own(message: Message) -> Message:
    """Copy what the fold changes in a message: its fields, and those of its calls."""
    if "toolCalls" not in message:
        return dict(message)
    calls = [{**call, "function": dict(call["function"])} for call in message["toolCalls"]]
    return {**message, "toolCalls": calls}


def _lengthen(message: Message, text: str) -> None:
    """Append text to what a message says: to its text, or to the last of its parts that is text."""
    content = message.get("content", "")
    if type(content) is str:
        message["content"] = content + text
    elif content and content[-1]["type"] == "text":
        message["content"] = [*content[:-1], {**content[-1], "text": content[-1]["text"] + text}]
    else:
        message["content"] = [*content, {"type": "text", "text": text}]


def _kind(role: str) -> str:
    """What a message is: an activity, reasoning, or text of whatever role."""
    return role if role in ("activity", "reasoning") else TEXT


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
