"""The streamed items of one run: which one a step belongs to, when it opens, and when it closes.

It yields events and reads the machine that has taken each of them before the next one is asked for.

Source: basic/patterns/streaming, events/reasoning, events/tool-calls, events/subagents
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from adapters.base import Reasoning, Text, ToolCall
from conformance.events import CALL, REASONING, SPAN, STEP, SUBAGENT, TEXT, TRIADS, Event, Family
from conformance.json_values import whole_text
from conformance.machine import Machine
from conformance.order import KEYS, Item, content_event
from sidecar.runs.names import Names
from sidecar.runs.values import StepRefused

Events = Iterator[Event]
Carried = dict[str, Any]
"""Fields that an explicit event brings along: metadata, rawEvent, timestamp, role, name."""

ENDS = {
    **{family: (triad.end, triad.key) for family, triad in TRIADS.items()},
    SPAN: ("REASONING_END", "messageId"),
    STEP: ("STEP_FINISHED", "stepName"),
}


@dataclass(slots=True)
class Lane:
    """What one owner, the agent itself or one subagent, is in the middle of."""

    owner: str | None
    message: str | None = None
    """The assistant message that its text and calls belong to; none where the next one begins a new message."""
    text: Item | None = None
    call: Item | None = None
    thought: Item | None = None


class Items:
    """Opens, continues and closes the items of one run."""

    def __init__(self, machine: Machine, names: Names, ids: Callable[[], str]) -> None:
        self._machine = machine
        self._names = names
        self._ids = ids
        self._lanes: dict[str | None, Lane] = {}
        self._unnamed: set[Item] = set()
        self._spans: dict[Item, str] = {}
        self.halves: dict[Item, str] = {}
        """The first half of a surrogate pair that came without its second, by item."""

    def lane(self, owner: str | None) -> Lane:
        """What `owner` is in the middle of."""
        lane = self._lanes.get(owner)
        if lane is None:
            lane = self._lanes[owner] = Lane(owner)
        return lane

    # ---- the three families ---------------------------------------------------------------------

    def text(self, step: Text, carried: Carried | None = None, *, begin: bool = False) -> Events:
        """Continue a text message, or begin one. Nothing begins with an empty piece unless it has to."""
        lane = self.lane(step.subagent)
        key = self._names.message(step.id) if step.id else lane.message
        item = None if key is None else self._machine.items[TEXT].get(key)
        if begin or item is None or not item.open:
            if not (step.delta or begin):
                return
            key = key or self._ids()
            yield from self._end_unnamed(lane.thought)
            yield _opener(TEXT, key, lane.owner, {"role": "assistant", **_opening(carried, begin=begin)})
            item = self._opened(TEXT, key, named=bool(step.id))
            lane.message, lane.text = key, item
        _same_owner(item, step)
        if not begin:
            yield from self._grow(item, step.delta, carried)

    def reasoning(self, step: Reasoning, carried: Carried | None = None, *, begin: bool = False) -> Events:
        """Continue a reasoning message, or begin one within a span of its own."""
        lane = self.lane(step.subagent)
        item = lane.thought
        if step.id:
            item = self._machine.items[REASONING].get(self._names.message(step.id))
        if begin or item is None or not item.open:
            if not (step.delta or begin):
                return
            yield from self._end_unnamed(lane.text)
            key = self._names.message(step.id) if step.id else self._ids()
            span = None if self._in_span(lane.owner) else self._ids()
            if span is not None:
                yield _opener(SPAN, span, lane.owner)
            yield _opener(REASONING, key, lane.owner, {"role": "reasoning", **_opening(carried, begin=begin)})
            item = self._opened(REASONING, key, named=bool(step.id))
            if span is not None:
                self._spans[item] = span
            lane.message = lane.text = None
            lane.thought = item
        _same_owner(item, step)
        if not begin:
            yield from self._grow(item, step.delta, carried)

    def call(self, step: ToolCall, carried: Carried | None = None, *, begin: bool = False) -> Events:
        """Continue a tool call, or begin one in the assistant message of its owner."""
        lane = self.lane(step.subagent)
        item = self._continued(lane, step)
        if item is None:
            name = step.name or self._names.calls_held.get(step.id or "")
            if not name:
                raise StepRefused(f"ToolCall: {step.id or 'a call'} began without the name of its tool")
            lane.message = self._names.parent(step.parent) if step.parent else lane.message or self._ids()
            yield from self._end_unnamed(lane.thought)
            yield from self._end_text_of(lane.message)
            used = step.id is not None and self._names.call(step.id) in self._machine.items[CALL]
            key = self._names.begin_call(step.id, used=used)
            fields = {"toolCallName": name, "parentMessageId": lane.message, **_opening(carried, begin=begin)}
            yield _opener(CALL, key, lane.owner, fields)
            item = lane.call = self._opened(CALL, key, named=bool(step.id))
        _same_owner(item, step)
        if not begin:
            yield from self._grow(item, step.delta, carried)

    def _continued(self, lane: Lane, step: ToolCall) -> Item | None:
        """The open call that a step goes on with, if it goes on with one."""
        if step.id:
            item = self._machine.items[CALL].get(self._names.call(step.id))
            same = item is not None and step.name in (None, item.fields["toolCallName"])
            return item if item is not None and item.open and same else None
        if step.name:
            return None
        if lane.call is None or not lane.call.open:
            raise StepRefused("ToolCall: arguments without an id, and no call is open")
        return lane.call

    def end(self, family: Family, name: str, carried: Carried) -> Events:
        """Close what the adapter calls `name`; nothing, where it never opened."""
        key = self._names.call(name) if family is CALL else self._names.parent(name)
        item = self._machine.items[family].get(key)
        if item is not None and item.open:
            yield from self._end(item, carried)

    def artefact_of(self, event: Event) -> Events:
        """Make sure that a reasoning message exists for an encrypted value to belong to, then send it."""
        owner, entity = event.get("subagentRunId"), event["entityId"]
        if event["subtype"] == "tool-call":
            yield {**event, "entityId": self._names.call(entity)}
            return
        key = self._names.parent(entity)
        if not self._is_known(key):
            yield from self.reasoning(Reasoning("", entity, owner), begin=True)
        yield {**event, "entityId": self._names.parent(entity)}

    def _is_known(self, key: str) -> bool:
        items = self._machine.items
        return key in items[TEXT] or key in items[REASONING] or self._names.holds(key)

    def answer(self, event: Event) -> Events:
        """Close the call that a result answers, and send the result; its owner's next text is a new message."""
        call = self._machine.items[CALL].get(event["toolCallId"])
        if call is not None and call.open:
            yield from self._end(call)
        lane = self.lane(call.owner if call is not None else event.get("subagentRunId"))
        yield from self._end_unnamed(lane.text)
        lane.message = lane.text = None
        yield event

    # ---- opening, growing, closing --------------------------------------------------------------

    def _opened(self, family: Family, key: str, *, named: bool) -> Item:
        item = self._machine.items[family][key]
        if not named:
            self._unnamed.add(item)
        return item

    def _in_span(self, owner: str | None) -> bool:
        """Say whether the adapter brackets reasoning itself."""
        own = set(self._spans.values())
        return any(
            family is SPAN and item.owner == owner and item.key not in own
            for (family, _), item in self._machine.opened.items()
        )

    def _grow(self, item: Item, delta: str, carried: Carried | None = None) -> Events:
        if not delta.isascii() or item in self.halves:
            delta = self._join(item, delta)
        kept = {name: value for name, value in (carried or {}).items() if name in ("rawEvent", "metadata", "timestamp")}
        if delta or kept:
            yield {**content_event(item, delta), **kept}

    def _join(self, item: Item, delta: str) -> str:
        """Join surrogate pairs that were split between two pieces; a half without its other is U+FFFD."""
        text = self.halves.pop(item, "") + delta
        if "\ud800" <= text[-1:] <= "\udbff":
            self.halves[item] = text[-1]
            text = text[:-1]
        return whole_text(text)

    def _end(self, item: Item, carried: Carried | None = None) -> Events:
        if item in self.halves:
            del self.halves[item]
            yield content_event(item, "\ufffd")
        kind, key = ENDS[item.family]
        name = item.key[1] if isinstance(item.key, tuple) else item.key
        yield {"type": kind, key: name, **_tag(item.owner), **(carried or {})}
        span = self._spans.pop(item, None)
        if span is not None:
            yield {"type": "REASONING_END", "messageId": span, **_tag(item.owner)}

    def _end_unnamed(self, item: Item | None) -> Events:
        """Close an item that the adapter gave no name, so that it cannot end it itself."""
        if item is not None and item.open and item in self._unnamed:
            yield from self._end(item)

    def _end_text_of(self, message: str) -> Events:
        item = self._machine.items[TEXT].get(message)
        if item is not None and item.open:
            yield from self._end(item)

    def end_owned(self, owner: str) -> Events:
        """Close what a subagent has open, before it ends."""
        for item in reversed(list(self._machine.opened.values())):
            if item.owner == owner and item.open and item.family is not SUBAGENT:
                yield from self._end(item)

    def end_all(self, subagent_end: Callable[[Item], Event]) -> Events:
        """Close all that is open, the latest first, before the run finishes. (run-items-closed, subagent-ends)"""
        for item in reversed(list(self._machine.opened.values())):
            if item.open:
                if item.family is SUBAGENT:
                    yield subagent_end(item)
                else:
                    yield from self._end(item)


def _opener(family: Family, key: str, owner: str | None, fields: Carried | None = None) -> Event:
    kind = "REASONING_START" if family is SPAN else TRIADS[family].start
    return {"type": kind, KEYS[family]: key, **_tag(owner), **(fields or {})}


def _opening(carried: Carried | None, *, begin: bool) -> Carried:
    """What the opening event gets of the fields that came along; a chunk's own payload rides on its content."""
    if not carried or begin:
        return carried or {}
    return {name: value for name, value in carried.items() if name not in ("rawEvent", "timestamp")}


def _same_owner(item: Item, step: Text | Reasoning | ToolCall) -> None:
    if step.subagent is not None and step.subagent != item.owner:  # owner-agrees
        owner = "the agent" if item.owner is None else f"subagent {item.owner!r}"
        raise StepRefused(f"{type(step).__name__}: {item} belongs to {owner}, not to subagent {step.subagent!r}")


def _tag(owner: str | None) -> dict[str, str]:
    return {} if owner is None else {"subagentRunId": owner}
