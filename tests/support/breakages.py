"""Ways to break a stream in one place: each takes the events and gives others, and may happen to break nothing."""

from collections.abc import Callable, Iterator, Sequence
from random import Random
from typing import Any

from conformance.events import TRIADS

Events = list[Any]
Way = Callable[[Events, Random], Events]


class NothingFits(Exception):  # noqa: N818 - no error: the way is not there to be taken
    """The stream has no place in which it can be broken in that way."""


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
    place = _place(events, chance)
    return [*events[:place], *events[place + 1 :]]


def doubled(events, chance):
    place = _place(events, chance)
    return [*events[: place + 1], *events[place:]]


def repeated_later(events, chance):
    place = _place(events, chance)
    return _inserted(events, chance.randint(place, len(events)), events[place])


def swapped(events, chance):
    one = _place(events, chance)
    other = min(len(events) - 1, one + chance.randint(1, 4))
    return _replaced(_replaced(events, one, events[other]), other, events[one])


def moved(events, chance):
    place = _place(events, chance)
    rest = [*events[:place], *events[place + 1 :]]
    return _inserted(
        rest, chance.choice((0, len(rest), *(chance.randint(0, len(rest)) for _ in range(3)))), events[place]
    )


def cut_off(events, chance):
    return events[: _place(events, chance)]


def bracketed(events, chance):
    """A run begins, ends or fails where it does not."""
    brackets = [event for event in events if _kind(event).startswith("RUN_")]
    return _inserted(
        events, chance.randint(0, len(events)), chance.choice([*brackets, {"type": "RUN_ERROR", "message": "no"}])
    )


def mixed(events, chance):
    """Instead of a chunk or besides it comes an event of its triad, perhaps untagged."""
    place = _place(events, chance, lambda event: _kind(event).endswith("_CHUNK") and _triad(event).key in event)
    event, triad = events[place], _triad(events[place])
    spelled = _respelled(event, triad, chance.choice((triad.start, triad.content, triad.end)))
    if chance.random() < 0.5:
        spelled.pop("subagentRunId", None)
    return [*events[:place], *chance.choice(([event], [])), spelled, *events[place + 1 :]]


def mixed_with_chunks(events, chance):
    """A chunk comes instead of an event of its triad."""
    place = _place(events, chance, lambda event: _triad(event) is not None and _triad(event).key in event)
    triad = _triad(events[place])
    return _replaced(events, place, _respelled(events[place], triad, triad.chunk))


def _triad(event):
    kinds = ((triad, (triad.start, triad.content, triad.end, triad.chunk)) for triad in TRIADS.values())
    return next((triad for triad, spelled in kinds if _kind(event) in spelled), None)


def _respelled(event, triad, kind):
    required = {triad.start: {"toolCallName": "f", "role": "reasoning"}, triad.end: {}}.get(kind, {"delta": "x"})
    allowed = {"TOOL_CALL_START": ("toolCallName",), "REASONING_MESSAGE_START": ("role",)}
    wanted = allowed.get(kind, () if kind in (triad.start, triad.end) else ("delta",))
    fields = {**required, **event}
    return {"type": kind, **{name: fields[name] for name in (*wanted, triad.key, "subagentRunId") if name in fields}}


def unnamed(events, chance):
    """A chunk says neither what it continues nor whose it is."""
    place = _place(events, chance, lambda event: _kind(event).endswith("_CHUNK"))
    unsaid = ("messageId", "toolCallId", "subagentRunId")
    return _replaced(events, place, {name: value for name, value in events[place].items() if name not in unsaid})


def unnamed_in_parallel(events, chance):
    """Two subagents send chunks at once, and the next chunk names neither."""
    chunk = {"type": "REASONING_MESSAGE_CHUNK", "delta": "x"}
    chunks = [{**chunk, "messageId": f"p{owner}", "subagentRunId": owner} for owner in ("o1", "o2")]
    place = chance.randint(0, len(events))
    return [*events[:place], *chunks[: chance.randint(1, 2)], chunk, *events[place:]]


def outlived(events, chance):
    """A subagent's message goes on in chunks after the subagent ended."""
    ends = ("SUBAGENT_FINISHED", "SUBAGENT_ERROR")
    place = _place(events, chance, lambda event: _kind(event) in ends and "subagentRunId" in event)
    owner = {"subagentRunId": events[place]["subagentRunId"]}
    chunk = {"type": "TEXT_MESSAGE_CHUNK", "messageId": "late", "delta": "x", **owner}
    return [*events[:place], chunk, events[place], chunk, *events[place + 1 :]]


def reopened(events, chance):
    """What was closed, minted or restated is opened once more, perhaps in other words."""
    place = _place(events, chance, lambda event: any(True for _ in _reopening(event)))
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
    kind = _kind(event)
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
    place = _place(events, chance, lambda event: any(name in event for name in IDS))
    name = chance.choice([name for name in IDS if name in events[place]])
    near = _values(events, *IDS) if chance.random() < 0.3 else _values(events, name)
    return _replaced(events, place, {**events[place], name: chance.choice([*near, "stranger"])})


def adopted(events, chance):
    """A call gets a message to belong to, perhaps another owner's."""
    place = _place(events, chance, lambda event: _kind(event) in ("TOOL_CALL_START", "TOOL_CALL_CHUNK"))
    parent = _one(_values(events, "messageId"), chance)
    return _replaced(events, place, {**events[place], "parentMessageId": parent})


def run_misnamed(events, chance):
    """A boundary of a run names another thread or run."""
    place = _place(events, chance, lambda event: "threadId" in event and "runId" in event)
    return _replaced(events, place, {**events[place], chance.choice(("threadId", "runId")): "stranger"})


def shared(events, chance):
    """A span or an activity gets the identifier of a message or call; for a span nothing is wrong with that."""
    kinds = chance.choice((("REASONING_START", "REASONING_END"), ("ACTIVITY_SNAPSHOT", "ACTIVITY_DELTA")))
    old = _one(_values([event for event in events if _kind(event) in kinds], "messageId"), chance)
    new = _one(_values(events, "messageId", "toolCallId"), chance)
    return [{**e, "messageId": new} if _kind(e) in kinds and e.get("messageId") == old else e for e in events]


def retagged(events, chance):
    """An event becomes another owner's, or nobody's."""
    place = _place(events, chance, lambda event: not _kind(event).startswith(("RUN_", "MESSAGES_")))
    event = {name: value for name, value in events[place].items() if name != "subagentRunId"}
    return _replaced(events, place, {**event, **_some_tag(events, chance)})


def reparented(events, chance):
    """A subagent becomes another's, or its own."""
    place = _place(events, chance, lambda event: _kind(event) == "SUBAGENT_STARTED")
    parent = chance.choice([*_values(events, "subagentRunId"), events[place].get("subagentRunId"), "stranger"])
    return _replaced(events, place, {**events[place], "parentSubagentRunId": parent})


def announced_late(events, chance):
    key = {"subagentRunId": _one(_values(events, "subagentRunId"), chance)}
    place = _place(events, chance, lambda event: event.get("subagentRunId") == key["subagentRunId"])
    pair = [{"type": "SUBAGENT_STARTED", "name": "n", **key}, {"type": "SUBAGENT_FINISHED", **key}]
    return [*events[: place + 1], *pair, *events[place + 1 :]]


def orphaned(events, chance):
    """A change, a value or a result for something that may not be there, or that is another's."""
    key, other = (chance.choice([*_values(events, "messageId", "toolCallId"), "stranger"]) for _ in range(2))
    activity = {"messageId": key, "activityType": "x"}
    orphans = (
        {"type": "ACTIVITY_DELTA", "patch": [], **activity},
        {"type": "ACTIVITY_SNAPSHOT", "content": {}, "replace": chance.random() < 0.5, **activity},
        {"type": "REASONING_ENCRYPTED_VALUE", "subtype": "message", "entityId": key, "encryptedValue": "v"},
        {"type": "REASONING_ENCRYPTED_VALUE", "subtype": "tool-call", "entityId": key, "encryptedValue": "v"},
        {"type": "TOOL_CALL_RESULT", "messageId": key, "toolCallId": other, "content": "ok"},
    )
    return _inserted(events, chance.randint(0, len(events)), {**chance.choice(orphans), **_some_tag(events, chance)})


def activity_disowned(events, chance):
    """An activity is changed once more, perhaps by another owner, perhaps in a later run."""
    place = _place(events, chance, lambda event: _kind(event) == "ACTIVITY_SNAPSHOT" and "messageId" in event)
    snapshot = {**_named(events[place], "ACTIVITY_SNAPSHOT", ("messageId", "activityType")), "content": {}}
    again = {**snapshot, "replace": False}
    delta = {**_named(snapshot, "ACTIVITY_DELTA", ("messageId", "activityType")), "patch": []}
    later = chance.choice((place + 1, len(events) - 1, len(events) - 1))
    return _inserted(events, later, {**chance.choice((again, delta, delta)), **_some_tag(events, chance)})


def result_misnamed(events, chance):
    """A result takes the identifier of a message that is there."""
    place = _place(events, chance, lambda event: _kind(event).startswith("TEXT_MESSAGE_") and "messageId" in event)
    result = {"type": "TOOL_CALL_RESULT", "toolCallId": "stranger", "content": "ok", **_some_tag(events, chance)}
    return _inserted(events, place + 1, {**result, "messageId": events[place]["messageId"]})


def restated_anywhere(events, chance):
    """A snapshot comes where it may leave out what still streams, or end what chunks go on with."""
    function = {"name": "f", "arguments": "{}"}
    calls = [{"id": call, "type": "function", "function": function} for call in _values(events, "toolCallId")]
    message = {"id": chance.choice([*_values(events, "messageId"), "stranger"]), "role": "assistant"}
    message |= {"toolCalls": [chance.choice(calls)]} if calls else {}
    messages = chance.choice(([], [{**message, **_some_tag(events, chance)}]))
    return _inserted(events, chance.randint(0, len(events)), {"type": "MESSAGES_SNAPSHOT", "messages": messages})


def miscounted(events, chance):
    """A run finishes with other pending calls, or with one interrupt twice."""
    place = _place(events, chance, lambda event: _kind(event) == "RUN_FINISHED")
    named = (events[place].get("outcome") or {}).get("pendingToolCallIds") or []
    calls = chance.choice(([*named, "stranger"], named[::-1], named[1:]))
    twice = {"type": "interrupt", "interrupts": [{"id": "i", "reason": "x"}] * 2}
    outcome = chance.choice(({"type": "success", "pendingToolCallIds": calls}, twice))
    return _replaced(events, place, {**events[place], "outcome": outcome})


def _some_tag(events, chance):
    owner = chance.choice([None, "stranger", *_values(events, "subagentRunId")])
    return {} if owner is None else {"subagentRunId": owner}


# ---- shapes ---------------------------------------------------------------------------------------


def field_dropped(events, chance):
    return _changed_field(events, chance, lambda holder, name: {k: v for k, v in holder.items() if k != name})


def field_nulled(events, chance):
    return _changed_field(events, chance, lambda holder, name: {**holder, name: None})


def field_retyped(events, chance):
    value = chance.choice((7, 1.5, -1, "7", True, [], {}, ["x"], {"type": "x"}, ""))
    return _changed_field(events, chance, lambda holder, name: {**holder, name: value})


def field_unknown(events, chance):
    return _changed_field(events, chance, lambda holder, _: {**holder, "unheardOf": chance.choice((1, None, "x"))})


def value_unknown(events, chance):
    """A word becomes one that the protocol does not know, where it knows some."""
    closed = ("type", "role", "subtype", "op")
    return _changed_field(events, chance, lambda holder, name: {**holder, name: "unheard-of"}, closed)


def event_unknown(events, chance):
    kind = chance.choice(("UNHEARD_OF", "THINKING_START", ""))
    return _inserted(events, chance.randint(0, len(events)), {"type": kind, "messageId": "m"})


def no_event(events, chance):
    return _replaced(events, _place(events, chance), chance.choice((None, 7, "x", [], {}, {"messageId": "m"})))


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


# ---- places ---------------------------------------------------------------------------------------


def _place(events: Events, chance: Random, fits: Callable[[Any], bool] = lambda _: True) -> int:
    """The index of an event that fits, each type as likely as any other."""
    kinds: dict[str, list[int]] = {}
    for index, event in enumerate(events):
        if isinstance(event, dict) and fits(event):
            kinds.setdefault(_kind(event), []).append(index)
    return chance.choice(kinds[_one(sorted(kinds), chance)])


def _one(options: Sequence[Any], chance: Random) -> Any:
    if not options:
        raise NothingFits
    return chance.choice(options)


def _kind(event: Any) -> str:
    kind = event.get("type") if isinstance(event, dict) else None
    return kind if isinstance(kind, str) else ""


def _values(events: Events, *names: str) -> list[str]:
    """What some fields hold anywhere, each once."""
    found = (event.get(name) for event in events if isinstance(event, dict) for name in names)
    return list(dict.fromkeys(value for value in found if isinstance(value, str)))


def _replaced(events: Events, place: int, event: Any) -> Events:
    return [*events[:place], event, *events[place + 1 :]]


def _inserted(events: Events, place: int, event: Any) -> Events:
    return [*events[:place], event, *events[place:]]


def _changed_field(
    events: Events, chance: Random, change: Callable[[Any, str], Any], names: tuple[str, ...] | None = None
) -> Events:
    """Change one field of one event, at any depth."""
    place = _place(events, chance)
    fields = [path for path in _paths(events[place]) if names is None or path[-1] in names]
    inner = [path for path in fields if len(path) > 1]
    *path, name = _one(inner if inner and chance.random() < 0.5 else fields, chance)
    return _replaced(events, place, _changed(events[place], path, lambda holder: change(holder, name)))


def _paths(value: Any) -> Iterator[tuple[Any, ...]]:
    """Where each member of each object stands."""
    if isinstance(value, dict):
        for name, inner in value.items():
            yield (name,)
            yield from ((name, *path) for path in _paths(inner))
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            yield from ((index, *path) for path in _paths(inner))


def _changed(value: Any, path: list[Any], change: Callable[[Any], Any]) -> Any:
    if not path:
        return change(value)
    copy = dict(value) if isinstance(value, dict) else list(value)
    copy[path[0]] = _changed(value[path[0]], path[1:], change)
    return copy
