"""Ways to break a stream in one place: each takes the events and gives others, and may happen to break nothing."""

from collections.abc import Callable
from random import Random
from typing import Any

from conformance.events import TRIADS
from support.places import NothingFits, changed_field, inserted, kind_of, one_of, place_of, replaced, values_of

Events = list[Any]
Way = Callable[[Events, Random], Events]


def broken(events: Events, way: str, chance: Random) -> Events:
    """Break a stream in the way of that name, where it can be."""
    try:
        return WAYS[way](events, chance)
    except NothingFits:
        return events


IDS = (
    *("messageId", "toolCallId", "parentMessageId", "entityId", "stepName"),
    *("subagentRunId", "parentSubagentRunId", "runId", "threadId"),
)

# ---- order ----------------------------------------------------------------------------------------


def dropped(events, chance):
    place = place_of(events, chance)
    return [*events[:place], *events[place + 1 :]]


def doubled(events, chance):
    place = place_of(events, chance)
    return [*events[: place + 1], *events[place:]]


def repeated_later(events, chance):
    place = place_of(events, chance)
    return inserted(events, chance.randint(place, len(events)), events[place])


def swapped(events, chance):
    one = place_of(events, chance)
    other = min(len(events) - 1, one + chance.randint(1, 4))
    return replaced(replaced(events, one, events[other]), other, events[one])


def moved(events, chance):
    place = place_of(events, chance)
    rest = [*events[:place], *events[place + 1 :]]
    return inserted(
        rest, chance.choice((0, len(rest), *(chance.randint(0, len(rest)) for _ in range(3)))), events[place]
    )


def cut_off(events, chance):
    return events[: place_of(events, chance)]


def bracketed(events, chance):
    """A run begins, ends or fails where it does not."""
    brackets = [event for event in events if kind_of(event).startswith("RUN_")]
    return inserted(
        events, chance.randint(0, len(events)), chance.choice([*brackets, {"type": "RUN_ERROR", "message": "no"}])
    )


def mixed(events, chance):
    """Instead of a chunk or besides it comes an event of its triad, perhaps untagged."""
    place = place_of(events, chance, lambda event: kind_of(event).endswith("_CHUNK") and _triad(event).key in event)
    event, triad = events[place], _triad(events[place])
    spelled = _respelled(event, triad, chance.choice((triad.start, triad.content, triad.end)))
    if chance.random() < 0.5:
        spelled.pop("subagentRunId", None)
    return [*events[:place], *chance.choice(([event], [])), spelled, *events[place + 1 :]]


def mixed_with_chunks(events, chance):
    """A chunk comes instead of an event of its triad."""
    place = place_of(events, chance, lambda event: _triad(event) is not None and _triad(event).key in event)
    triad = _triad(events[place])
    return replaced(events, place, _respelled(events[place], triad, triad.chunk))


def _triad(event):
    kinds = ((triad, (triad.start, triad.content, triad.end, triad.chunk)) for triad in TRIADS.values())
    return next((triad for triad, spelled in kinds if kind_of(event) in spelled), None)


def _respelled(event, triad, kind):
    required = {triad.start: {"toolCallName": "f", "role": "reasoning"}, triad.end: {}}.get(kind, {"delta": "x"})
    allowed = {"TOOL_CALL_START": ("toolCallName",), "REASONING_MESSAGE_START": ("role",)}
    wanted = allowed.get(kind, () if kind in (triad.start, triad.end) else ("delta",))
    fields = {**required, **event}
    return {"type": kind, **{name: fields[name] for name in (*wanted, triad.key, "subagentRunId") if name in fields}}


def unnamed(events, chance):
    """A chunk says neither what it continues nor whose it is."""
    place = place_of(events, chance, lambda event: kind_of(event).endswith("_CHUNK"))
    unsaid = ("messageId", "toolCallId", "subagentRunId")
    return replaced(events, place, {name: value for name, value in events[place].items() if name not in unsaid})


def unnamed_in_parallel(events, chance):
    """Two subagents send chunks at once, and the next chunk names neither."""
    chunk = {"type": "REASONING_MESSAGE_CHUNK", "delta": "x"}
    chunks = [{**chunk, "messageId": f"p{owner}", "subagentRunId": owner} for owner in ("o1", "o2")]
    place = chance.randint(0, len(events))
    return [*events[:place], *chunks[: chance.randint(1, 2)], chunk, *events[place:]]


def outlived(events, chance):
    """A subagent's message goes on in chunks after the subagent ended."""
    ends = ("SUBAGENT_FINISHED", "SUBAGENT_ERROR")
    place = place_of(events, chance, lambda event: kind_of(event) in ends and "subagentRunId" in event)
    owner = {"subagentRunId": events[place]["subagentRunId"]}
    chunk = {"type": "TEXT_MESSAGE_CHUNK", "messageId": "late", "delta": "x", **owner}
    return [*events[:place], chunk, events[place], chunk, *events[place + 1 :]]


def reopened(events, chance):
    """What was closed, minted or restated is opened once more, perhaps in other words."""
    place = place_of(events, chance, lambda event: any(True for _ in _reopening(event)))
    start, fields = chance.choice(list(_reopening(events[place])))
    words = {"role": "user", "name": "Bob", "toolCallName": "g", "parentMessageId": "m0", "subagentRunId": "o1"}
    said = chance.choice([None, *fields, "subagentRunId"])
    start = start if said is None else {**start, said: words[said]}
    triad = _triad(start)
    end = {"type": triad.end, triad.key: start[triad.key]}
    opened = (
        [start, end] if chance.random() < 0.8 else [_named(start, triad.chunk, (triad.key, *fields, "subagentRunId"))]
    )
    return [*events[: place + 1], *opened, *events[place + 1 :]]


def _reopening(event):
    """Starts that agree with what an event closes, mints or restates, and the fields that another may not."""
    kind = kind_of(event)
    if kind in ("TEXT_MESSAGE_END", "TOOL_CALL_RESULT") and "messageId" in event:
        yield {"type": "TEXT_MESSAGE_START", "messageId": event["messageId"]}, ("role", "name")
    elif kind == "REASONING_MESSAGE_END" and "messageId" in event:
        yield {"type": "REASONING_MESSAGE_START", "messageId": event["messageId"], "role": "reasoning"}, ()
    elif kind == "TOOL_CALL_END" and "toolCallId" in event:
        start = {"type": "TOOL_CALL_START", "toolCallId": event["toolCallId"], "toolCallName": "f"}
        yield start, ("toolCallName", "parentMessageId")
    elif kind == "MESSAGES_SNAPSHOT":
        for message in event.get("messages") or ():
            if message.get("role") in ("user", "assistant", "system"):
                told = _named(message, "TEXT_MESSAGE_START", ("role", "name", "subagentRunId"))
                yield {**told, "messageId": message.get("id")}, ("role", "name")
            for call in message.get("toolCalls") or ():
                start = {"toolCallId": call.get("id"), "toolCallName": "f", "parentMessageId": message.get("id")}
                yield {"type": "TOOL_CALL_START", **start}, ("toolCallName", "parentMessageId")


def _named(event, kind, names):
    return {"type": kind, **{name: event[name] for name in names if name in event}}


# ---- identifiers and owners -----------------------------------------------------------------------


def renamed(events, chance):
    """An identifier becomes another that occurs, mostly one of its own kind, or one that does not."""
    place = place_of(events, chance, lambda event: any(name in event for name in IDS))
    name = chance.choice([name for name in IDS if name in events[place]])
    near = values_of(events, *IDS) if chance.random() < 0.3 else values_of(events, name)
    return replaced(events, place, {**events[place], name: chance.choice([*near, "stranger"])})


def adopted(events, chance):
    """A call gets a message to belong to, perhaps another owner's."""
    place = place_of(events, chance, lambda event: kind_of(event) in ("TOOL_CALL_START", "TOOL_CALL_CHUNK"))
    parent = one_of(values_of(events, "messageId"), chance)
    return replaced(events, place, {**events[place], "parentMessageId": parent})


def run_misnamed(events, chance):
    """A boundary of a run names another thread or run."""
    place = place_of(events, chance, lambda event: "threadId" in event and "runId" in event)
    return replaced(events, place, {**events[place], chance.choice(("threadId", "runId")): "stranger"})


def shared(events, chance):
    """A span or an activity gets the identifier of a message or call; for a span nothing is wrong with that."""
    kinds = chance.choice((("REASONING_START", "REASONING_END"), ("ACTIVITY_SNAPSHOT", "ACTIVITY_DELTA")))
    old = one_of(values_of([event for event in events if kind_of(event) in kinds], "messageId"), chance)
    new = one_of(values_of(events, "messageId", "toolCallId"), chance)
    return [{**e, "messageId": new} if kind_of(e) in kinds and e.get("messageId") == old else e for e in events]


def retagged(events, chance):
    """An event becomes another owner's, or nobody's."""
    place = place_of(events, chance, lambda event: not kind_of(event).startswith(("RUN_", "MESSAGES_")))
    event = {name: value for name, value in events[place].items() if name != "subagentRunId"}
    return replaced(events, place, {**event, **_some_tag(events, chance)})


def reparented(events, chance):
    """A subagent becomes another's, or its own."""
    place = place_of(events, chance, lambda event: kind_of(event) == "SUBAGENT_STARTED")
    parent = chance.choice([*values_of(events, "subagentRunId"), events[place].get("subagentRunId"), "stranger"])
    return replaced(events, place, {**events[place], "parentSubagentRunId": parent})


def announced_late(events, chance):
    key = {"subagentRunId": one_of(values_of(events, "subagentRunId"), chance)}
    place = place_of(events, chance, lambda event: event.get("subagentRunId") == key["subagentRunId"])
    pair = [{"type": "SUBAGENT_STARTED", "name": "n", **key}, {"type": "SUBAGENT_FINISHED", **key}]
    return [*events[: place + 1], *pair, *events[place + 1 :]]


def orphaned(events, chance):
    """A change, a value or a result for something that may not be there, or that is another's."""
    key, other = (chance.choice([*values_of(events, "messageId", "toolCallId"), "stranger"]) for _ in range(2))
    activity = {"messageId": key, "activityType": "x"}
    orphans = (
        {"type": "ACTIVITY_DELTA", "patch": [], **activity},
        {"type": "ACTIVITY_SNAPSHOT", "content": {}, "replace": chance.random() < 0.5, **activity},
        {"type": "REASONING_ENCRYPTED_VALUE", "subtype": "message", "entityId": key, "encryptedValue": "v"},
        {"type": "REASONING_ENCRYPTED_VALUE", "subtype": "tool-call", "entityId": key, "encryptedValue": "v"},
        {"type": "TOOL_CALL_RESULT", "messageId": key, "toolCallId": other, "content": "ok"},
    )
    return inserted(events, chance.randint(0, len(events)), {**chance.choice(orphans), **_some_tag(events, chance)})


def activity_disowned(events, chance):
    """An activity is changed once more, perhaps by another owner, perhaps in a later run."""
    place = place_of(events, chance, lambda event: kind_of(event) == "ACTIVITY_SNAPSHOT" and "messageId" in event)
    snapshot = {**_named(events[place], "ACTIVITY_SNAPSHOT", ("messageId", "activityType")), "content": {}}
    again = {**snapshot, "replace": False}
    delta = {**_named(snapshot, "ACTIVITY_DELTA", ("messageId", "activityType")), "patch": []}
    later = chance.choice((place + 1, len(events) - 1, len(events) - 1))
    return inserted(events, later, {**chance.choice((again, delta, delta)), **_some_tag(events, chance)})


def result_misnamed(events, chance):
    """A result takes the identifier of a message that is there."""
    place = place_of(events, chance, lambda event: kind_of(event).startswith("TEXT_MESSAGE_") and "messageId" in event)
    result = {"type": "TOOL_CALL_RESULT", "toolCallId": "stranger", "content": "ok", **_some_tag(events, chance)}
    return inserted(events, place + 1, {**result, "messageId": events[place]["messageId"]})


def restated_anywhere(events, chance):
    """A snapshot comes where it may leave out what still streams, or end what chunks go on with."""
    function = {"name": "f", "arguments": "{}"}
    calls = [{"id": call, "type": "function", "function": function} for call in values_of(events, "toolCallId")]
    message = {"id": chance.choice([*values_of(events, "messageId"), "stranger"]), "role": "assistant"}
    message |= {"toolCalls": [chance.choice(calls)]} if calls else {}
    messages = chance.choice(([], [{**message, **_some_tag(events, chance)}]))
    return inserted(events, chance.randint(0, len(events)), {"type": "MESSAGES_SNAPSHOT", "messages": messages})


def miscounted(events, chance):
    """A run finishes with other pending calls, or with one interrupt twice."""
    place = place_of(events, chance, lambda event: kind_of(event) == "RUN_FINISHED")
    named = (events[place].get("outcome") or {}).get("pendingToolCallIds") or []
    calls = chance.choice(([*named, "stranger"], named[::-1], named[1:]))
    twice = {"type": "interrupt", "interrupts": [{"id": "i", "reason": "x"}] * 2}
    outcome = chance.choice(({"type": "success", "pendingToolCallIds": calls}, twice))
    return replaced(events, place, {**events[place], "outcome": outcome})


def _some_tag(events, chance):
    owner = chance.choice([None, "stranger", *values_of(events, "subagentRunId")])
    return {} if owner is None else {"subagentRunId": owner}


# ---- shapes ---------------------------------------------------------------------------------------


def field_dropped(events, chance):
    return changed_field(events, chance, lambda holder, name: {k: v for k, v in holder.items() if k != name})


def field_nulled(events, chance):
    return changed_field(events, chance, lambda holder, name: {**holder, name: None})


def field_retyped(events, chance):
    value = chance.choice((7, 1.5, -1, "7", True, [], {}, ["x"], {"type": "x"}, ""))
    return changed_field(events, chance, lambda holder, name: {**holder, name: value})


def field_unknown(events, chance):
    return changed_field(events, chance, lambda holder, _: {**holder, "unheardOf": chance.choice((1, None, "x"))})


def value_unknown(events, chance):
    """A word becomes one that the protocol does not know, where it knows some."""
    closed = ("type", "role", "subtype", "op")
    return changed_field(events, chance, lambda holder, name: {**holder, name: "unheard-of"}, closed)


def event_unknown(events, chance):
    kind = chance.choice(("UNHEARD_OF", "THINKING_START", ""))
    return inserted(events, chance.randint(0, len(events)), {"type": kind, "messageId": "m"})


def no_event(events, chance):
    return replaced(events, place_of(events, chance), chance.choice((None, 7, "x", [], {}, {"messageId": "m"})))


WAYS: dict[str, Way] = {
    way.__name__: way
    for way in (
        *(dropped, doubled, repeated_later, swapped, moved, cut_off, bracketed, mixed, mixed_with_chunks),
        *(unnamed, unnamed_in_parallel, outlived, reopened, adopted),
        *(renamed, run_misnamed, shared, retagged, reparented, announced_late, orphaned, activity_disowned),
        *(result_misnamed, restated_anywhere, miscounted),
        *(field_dropped, field_nulled, field_retyped, field_unknown, value_unknown, event_unknown, no_event),
    )
}
"""Every way by its name."""
