"""The machine that holds a stream to the tables of `conformance.order`.

It sees whole items only: chunks are expanded before (`conformance.expand`), and the shape of each event is checked
before that (`conformance.schema`). It never stops: a breach is reported, the event is then taken in the way that
causes the fewest further breaches, and the next one is judged.

Source: events/lifecycle, basic/patterns/streaming, events/reasoning, events/subagents
"""

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import Any

from conformance.events import CALL, REASONING, STEP, SUBAGENT, TEXT, TRIADS, Event, Family
from conformance.order import (
    ACTIVITY,
    IN_RUN,
    ITEMS,
    KEYS,
    RULES,
    RUN,
    Breach,
    Effect,
    Item,
    Phase,
)

Breaches = Sequence[Breach]
NO_BREACH: Breaches = ()


class Machine:
    """Judges the order of one stream, event by event. It holds what is open and who owns what, nothing else."""

    def __init__(self, *, thread_id: str | None = None) -> None:
        """Start before the first event. `thread_id` is the run input's, where there is one."""
        self.phase = Phase.NEW
        self.thread_id = thread_id
        self.run_id: str | None = None
        self.items: dict[Family, dict[Hashable, Item]] = {}
        self.opened: dict[tuple[Family, Hashable], Item] = {}
        """What is open, in the order it was opened."""
        self.calls: dict[str, bool] = {}
        """The calls that this run started, in order; whether each was answered."""
        self._stray: str | None = None
        """Another thread's id that was told."""
        self._tags: set[str] = set()
        self._left: set[tuple[Family, Hashable]] = set()
        """What was open at the last RUN_FINISHED, and told."""
        self._missed: Counter[tuple[Effect, Family]] = Counter()
        """What the unreadable events of this run would have done to something."""
        self._breaches: list[Breach] = []
        self._begin_run()

    def _begin_run(self) -> None:
        """Start with nothing open. Activities stay: no run input brings them back."""
        activities = self.items.get(ACTIVITY, {})
        self.items = {**{family: {} for family in KEYS}, ACTIVITY: activities}
        self._streaming = {triad.content: (self.items[triad.family], triad.key) for triad in TRIADS.values()}
        self.opened.clear()
        self.calls.clear()
        self._tags.clear()
        self._missed.clear()

    def feed(self, event: Event) -> Breaches:
        """Take the next event and say what it broke; nothing, almost always."""
        if self.continues(event):
            return NO_BREACH
        self._breaches = []
        self._take(event)
        return self._breaches

    def continues(self, event: Event) -> bool:
        """Say whether an event only adds to an item that is open, as its owner: nearly all do, and change nothing."""
        streaming = self._streaming.get(event["type"])
        if streaming is None or self.phase is not Phase.ACTIVE:
            return False
        items, key = streaming
        item = items.get(event[key])
        if item is None or not item.open:
            return False
        owner = event.get("subagentRunId")
        return owner is None or owner == item.owner

    def miss(self, kind: str) -> None:
        """Take note of an event without a readable identifier: what another event lacks may have been this."""
        if kind in ITEMS:
            self._missed[ITEMS[kind]] += 1

    def close(self) -> Breaches:
        """Take the end of the stream."""
        if self.phase is Phase.ACTIVE:
            return [Breach("run-ends", "RUN_FINISHED or RUN_ERROR", "the end of the stream")]
        if self.phase is Phase.NEW:
            return [Breach("run-opens-stream", "RUN_STARTED or RUN_ERROR", "a stream without events")]
        return NO_BREACH

    def know(self, messages: Iterable[Any], *, restated: bool = False) -> None:
        """Record what messages that came whole establish: those of a run input, or `restated` by a MESSAGES_SNAPSHOT."""
        families = {"reasoning": REASONING, "activity": ACTIVITY}
        for message in messages:
            owner = message.get("subagentRunId")
            family = families.get(message["role"], TEXT)
            established = {name: message[name] for name in ("role", "name") if name in message}
            self._record(family, message["id"], owner, established, replace=restated)
            for call in message.get("toolCalls") or ():
                established = {"toolCallName": call["function"]["name"], "parentMessageId": message["id"]}
                self._record(CALL, call["id"], owner, established, replace=restated)

    def _record(self, family: Family, key: str, owner: str | None, fields: dict[str, Any], *, replace: bool) -> None:
        item = self.items[family].get(key)
        if item is None:
            self.items[family][key] = Item(family, key, owner, fields)
        elif replace:
            item.owner, item.fields = owner, fields

    # ---- runs -----------------------------------------------------------------------------------

    def _take(self, event: Event) -> None:
        kind = event["type"]
        admitted, rule = RUN[self.phase]
        if kind in admitted:
            self._run_event(kind, event)
            self.phase = admitted[kind]
        elif self.phase in IN_RUN and kind != "RUN_STARTED":
            self._inside_run(kind, event)
        elif self.phase is Phase.ACTIVE:
            self._break(rule, "the active run to end first", kind)
            self._run_event(kind, event)
        elif self.phase is not Phase.FINISHED or not self._ends_late(kind, event):
            self._break(rule, " or ".join(admitted), f"{kind} while {self.phase.value}")
            if self.phase is Phase.NEW:
                self.phase = Phase.ASSUMED
                self._take(event)

    def _ends_late(self, kind: str, event: Event) -> bool:
        """Say whether an event belongs to something that RUN_FINISHED left open, which was told."""
        act, family = ITEMS.get(kind, (Effect.OPEN, ""))
        return act is not Effect.OPEN and (family, _key(event, family)[0]) in self._left

    def _run_event(self, kind: str, event: Event) -> None:
        if kind == "RUN_STARTED":
            if not self._goes_on(event):
                self._begin_run()
            self.run_id = event.get("runId")
            self._same_thread(kind, event)
            self.know((event.get("input") or {}).get("messages") or ())
        elif kind == "RUN_FINISHED":
            self._finish(event)
            self._left = set(self.opened)
            self.opened.clear()
        else:
            self.opened.clear()

    def _goes_on(self, event: Event) -> bool:
        """Say whether a start that comes too late, or twice, belongs to the run that is open."""
        return self.phase is Phase.ASSUMED or (self.phase is Phase.ACTIVE and event.get("runId") == self.run_id)

    def _same_thread(self, kind: str, event: Event) -> None:
        thread_id = event.get("threadId")  # a malformed one is none
        if self.thread_id is None:
            self.thread_id = thread_id
        elif thread_id not in (None, self.thread_id, self._stray):
            self._stray = thread_id
            self._break("run-thread-echoed", f"threadId {self.thread_id!r}", f"{thread_id!r} on {kind}")

    def _finish(self, event: Event) -> None:
        self._same_thread("RUN_FINISHED", event)
        if self.run_id is not None and event.get("runId", self.run_id) != self.run_id:
            self._break("run-id-agrees", f"runId {self.run_id!r}", repr(event["runId"]))
        for item in self.opened.values():
            if not item.implied and not self._was_missed(Effect.CLOSE, item.family):
                self._break(RULES[item.family].left_open, f"{item} closed before RUN_FINISHED", "it is open")
        outcome = event.get("outcome") or {}
        if outcome.get("type") == "interrupt":
            self._unique_interrupts(outcome["interrupts"])
        pending = outcome.get("pendingToolCallIds")
        unanswered = [call for call, answered in self.calls.items() if not answered]
        if pending and pending != unanswered:  # an empty list names none, as an absent one does
            self._break("pending-exact", f"{unanswered} in this order", f"{pending}")

    def _unique_interrupts(self, interrupts: list[dict[str, Any]]) -> None:
        seen: set[str] = set()
        for interrupt in interrupts:
            if interrupt["id"] in seen:
                self._break("interrupt-ids-unique", "each interrupt id once", f"{interrupt['id']!r} again")
            seen.add(interrupt["id"])

    # ---- things inside a run --------------------------------------------------------------------

    def _inside_run(self, kind: str, event: Event) -> None:
        effect = ITEMS.get(kind)
        if effect is not None:
            act, family = effect
            _EFFECTS[act](self, event, family)
        elif kind in _STANDALONE:
            _STANDALONE[kind](self, event)
        owner = event.get("subagentRunId")
        if owner is not None and (effect is None or effect[1] is not SUBAGENT):
            self._tags.add(owner)

    def _open(self, event: Event, family: Family) -> None:
        key, owner = _key(event, family)
        item = self.items[family].get(key)
        if family is CALL:
            owner = self._call_owner(event, owner)
        elif family is SUBAGENT:
            self._announce(event)
        if item is None or item.implied:
            triad = TRIADS.get(family)
            fields = {name: event[name] for name in triad.opener_fields if name in event} if triad else {}
            item = self.items[family][key] = Item(family, key, owner, fields)
        elif item.open and not self._was_missed(Effect.CLOSE, family):
            item.again += 1
            self._break(
                RULES[family].opened_twice, f"{item} closed before it is opened again", f"{event['type']} again"
            )
        elif family is not STEP:
            self._reopen(item, event, owner)
        item.open = True
        self.opened[family, key] = item
        if family is CALL:
            self.calls.setdefault(event["toolCallId"], False)

    def _call_owner(self, event: Event, owner: str | None) -> str | None:
        """A call without a tag is its message's owner's; one with a tag agrees with it. (call-owner-agrees)"""
        parent = self.items[TEXT].get(event.get("parentMessageId"))
        if parent is None:
            return owner
        if owner is None or owner == parent.owner:
            return parent.owner
        self._break("call-owner-agrees", f"the owner of {parent}", f"subagentRunId {owner!r} on TOOL_CALL_START")
        return owner

    def _reopen(self, item: Item, event: Event, owner: str | None) -> None:
        if item.family is SUBAGENT:
            self._break("subagent-starts-once", "a new id for a new invocation", f"{item} again after its end")
            return
        inherits = event.get("parentMessageId") in self.items[TEXT]
        if (inherits or event.get("subagentRunId") is not None) and owner != item.owner:
            self._break("reopen-agrees", f"the owner of {item}", f"subagentRunId {owner!r}")
        for name in TRIADS[item.family].opener_fields if item.family in TRIADS else ():
            default = "assistant" if name == "role" else None
            established = item.fields.get(name, default)
            repeated = event.get(name, default)
            if repeated is not None and repeated != established:
                self._break("reopen-agrees", f"{name} {established!r} as {item} was opened", repr(repeated))

    def _announce(self, event: Event) -> None:
        parent, announced = event.get("parentSubagentRunId"), self.items[SUBAGENT]
        if parent is not None and parent not in announced:
            self._break("subagent-parent-known", "a parent announced in this run", f"parentSubagentRunId {parent!r}")
            self._imply(SUBAGENT, parent, None)
        if event["subagentRunId"] in self._tags and event["subagentRunId"] not in announced:
            expected = "SUBAGENT_STARTED before any event of the invocation"
            self._break("subagent-announced-first", expected, f"it came after events of {event['subagentRunId']!r}")

    def _continue(self, event: Event, family: Family) -> None:
        key, owner = _key(event, family)
        item = self.items[family].get(key)
        if item is not None and item.open:
            self._same_owner(item, event)
            return
        if not self._is_told(item, family):
            name = event[KEYS[family]]
            self._break(
                RULES[family].not_open, f"{family} {name!r} opened first", f"{event['type']}, and it is not open"
            )
        self._imply(family, key, owner)

    def _imply(self, family: Family, key: Hashable, owner: str | None) -> None:
        """Assume that something is open; nobody has to close it."""
        implied = Item(family, key, owner, open=True, implied=True)
        self.items[family][key] = self.opened[family, key] = implied

    def _is_told(self, item: Item | None, family: Family) -> bool:
        """Say whether it was told already why something is not open, or may be: once for each time it was."""
        if item is not None and item.again:
            item.again -= 1
            return True
        return self._was_missed(Effect.OPEN, family)

    def _was_missed(self, act: Effect, family: Family) -> bool:
        was_missed = self._missed[act, family] > 0
        self._missed[act, family] -= was_missed
        return was_missed

    def _close(self, event: Event, family: Family) -> None:
        key, owner = _key(event, family)
        item = self.items[family].get(key)
        if item is not None and item.open:
            if family is not SUBAGENT:
                self._same_owner(item, event)
            item.open = False
            del self.opened[family, key]
            return
        name = event[KEYS[family]]
        other = self._step_of_another(name) if family is STEP else None
        if other is not None:
            found = f"STEP_FINISHED of {'the parent' if owner is None else f'subagent {owner!r}'}"
            self._break("owner-agrees", f"{other} finished by its owner", found)
            other.open = False
            del self.opened[STEP, other.key]
        elif not self._is_told(item, family):
            self._break(RULES[family].not_open, f"{family} {name!r} to be open", f"{event['type']}, and it is not open")

    def _step_of_another(self, name: str) -> Item | None:
        return next((step for step in self.items[STEP].values() if step.open and _name(step) == name), None)

    def _same_owner(self, item: Item, event: Event) -> None:
        owner = event.get("subagentRunId")
        if owner is not None and owner != item.owner and not item.implied and not item.again:
            self._break("owner-agrees", f"the owner of {item}, or no subagentRunId", f"{owner!r} on {event['type']}")

    # ---- events that stand alone ----------------------------------------------------------------

    def _result(self, event: Event) -> None:
        if event["toolCallId"] in self.calls:
            self.calls[event["toolCallId"]] = True
        minted = Item(TEXT, event["messageId"], event.get("subagentRunId"), {"role": "tool"})
        self.items[TEXT].setdefault(event["messageId"], minted)

    def _messages(self, event: Event) -> None:
        self.know(event["messages"], restated=True)

    def _activity_snapshot(self, event: Event) -> None:
        activities, key = self.items[ACTIVITY], event["messageId"]
        if key in activities and event.get("replace") is False:
            self._same_owner(activities[key], event)
        else:
            activities[key] = Item(ACTIVITY, key, event.get("subagentRunId"))

    def _activity_delta(self, event: Event) -> None:
        item = self.items[ACTIVITY].get(event["messageId"])
        if item is None:
            expected = f"an ACTIVITY_SNAPSHOT of {event['messageId']!r} first"
            self._break("activity-baseline", expected, "ACTIVITY_DELTA without one")
            self.items[ACTIVITY][event["messageId"]] = Item(ACTIVITY, event["messageId"], None, implied=True)
        else:
            self._same_owner(item, event)

    def _artefact(self, event: Event) -> None:
        families = (CALL,) if event["subtype"] == "tool-call" else (TEXT, REASONING)
        for family in families:
            item = self.items[family].get(event["entityId"])
            if item is not None:
                self._same_owner(item, event)
                return

    def _break(self, rule: str, expected: str, found: str) -> None:
        self._breaches.append(Breach(rule, expected, found))


def _key(event: Event, family: Family) -> tuple[Hashable, str | None]:
    """Name the thing within its family, and its owner. Steps are each owner's own."""
    owner = event.get("subagentRunId")
    name = event[KEYS[family]]
    if family is STEP:
        return (owner, name), owner
    return name, owner if family is not SUBAGENT else None


def _name(step: Item) -> Any:
    return step.key[1] if isinstance(step.key, tuple) else step.key


_EFFECTS: dict[Effect, Callable[[Machine, Event, Family], None]] = {
    Effect.OPEN: Machine._open,  # noqa: SLF001 - a table of the machine's own methods
    Effect.CONTINUE: Machine._continue,  # noqa: SLF001
    Effect.CLOSE: Machine._close,  # noqa: SLF001
}

_STANDALONE: dict[str, Callable[[Machine, Event], None]] = {
    "TOOL_CALL_RESULT": Machine._result,  # noqa: SLF001
    "MESSAGES_SNAPSHOT": Machine._messages,  # noqa: SLF001
    "ACTIVITY_SNAPSHOT": Machine._activity_snapshot,  # noqa: SLF001
    "ACTIVITY_DELTA": Machine._activity_delta,  # noqa: SLF001
    "REASONING_ENCRYPTED_VALUE": Machine._artefact,  # noqa: SLF001
}
