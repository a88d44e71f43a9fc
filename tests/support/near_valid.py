"""Near-valid streams: valid ones, and valid ones broken in one or two places, all from one seed.

A stream is woven of strands. What a chunk may leave unsaid depends on all strands, so it is left out at the end.
"""

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any

from support.breakages import WAYS, broken
from support.strands import STRANDS, VARIANTS, Event, Strand, step, subagent

RS: Event = {"type": "RUN_STARTED", "threadId": "t", "runId": "r"}
RF: Event = {"type": "RUN_FINISHED", "threadId": "t", "runId": "r"}
RUN_INPUT: Event = {"threadId": "t", "runId": "r", "protocolVersion": "1.0", "state": {}, "messages": []}
"""The run input that the streams answer."""


@dataclass(frozen=True)
class NearValid:
    """A stream, and how it was broken."""

    events: list[Any]
    ways: tuple[str, ...]
    """The names of the ways, in order. Some break nothing where they happen to be taken."""


def near_valid(seed: int, count: int) -> Iterator[NearValid]:
    """Make streams, broken in zero, one or two places in turn. The same seed makes the same ones."""
    for number in range(count):
        chance = Random(f"{seed}/{number}")
        events: list[Any] = valid(chance)
        ways = tuple(chance.choice(sorted(WAYS)) for _ in range(number % 3))
        for way in ways:
            events = broken(events, way, chance)
        yield NearValid(events, ways)


# ---- weaving --------------------------------------------------------------------------------------

ASIDE = ("RAW", "ACTIVITY_SNAPSHOT", "ACTIVITY_DELTA", "REASONING_ENCRYPTED_VALUE", "SUBAGENT_STARTED")
"""These end no stream of chunks."""


def weave(strands: Sequence[Strand], chance: Random) -> list[Event]:
    """Interleave the strands, each in its own order. None ends what another assembles from chunks."""
    rest = [list(strand) for strand in strands if strand]
    woven: list[Event] = []
    while rest:
        begun = _chunked(woven)
        held = [_lanes(strand, begun) for strand in rest]
        free = [
            strand
            for strand in rest
            if all(
                _lane(strand[0]) not in lanes for other, lanes in zip(rest, held, strict=True) if other is not strand
            )
        ]
        strand = chance.choice(free)
        woven.append(strand.pop(0))
        rest = [strand for strand in rest if strand]
    return woven


def _chunked(events: Sequence[Event]) -> set[str]:
    """The items of which a chunk came."""
    return {_item(event) for event in events if event["type"].endswith("_CHUNK")}


def _lanes(rest: Sequence[Event], begun: set[str]) -> set[Any]:
    """The lanes in which a chunk of something begun is still to come."""
    return {_lane(event) for event in rest if event["type"].endswith("_CHUNK") and _item(event) in begun}


def _lane(event: Event) -> Any:
    """The lane whose chunks an event ends or continues; something equal to no lane where there is none."""
    return ... if event["type"] in ASIDE else event.get("subagentRunId")


def _item(event: Event) -> str:
    return f"{event['type']} {event.get('messageId') or event['toolCallId']}"


def _shortened(events: Sequence[Event], chance: Random) -> list[Event]:
    """Leave out of chunks, here and there, what they need not say."""
    lanes: dict[Any, str] = {}
    short = []
    for event in events:
        lane, kind = _lane(event), event["type"]
        if not kind.endswith("_CHUNK"):
            lanes = {} if kind == "MESSAGES_SNAPSHOT" else {key: item for key, item in lanes.items() if key != lane}
            short.append(event)
            continue
        again, lanes[lane] = lanes.get(lane) == _item(event), _item(event)
        unsaid: set[str] = set()
        if again and chance.random() < 0.7:
            unsaid |= {"role", "toolCallName", "parentMessageId"}
        if again and chance.random() < 0.6:
            unsaid |= {"messageId", "toolCallId"}
            is_alone = sum(item.startswith(kind) for item in lanes.values()) == 1
            unsaid |= {"subagentRunId"} if is_alone and chance.random() < 0.5 else set()
        short.append({name: value for name, value in event.items() if name not in unsaid})
    return short


# ---- valid streams --------------------------------------------------------------------------------


def valid(chance: Random) -> list[Event]:
    """A valid stream of one to three runs; the last is the one that was asked for."""
    numbers = itertools.count()
    events: list[Event] = [_error(chance)] if chance.random() < 0.05 else []
    for run_id in ("r1", "r2", "r")[chance.choices((0, 1, 2), (1, 3, 6))[0] :]:
        events += _run(run_id, numbers, chance)
    return [_with_extras(event, chance) for event in events]


def _run(run_id: str, numbers: Iterator[int], chance: Random) -> list[Event]:
    body = _with_messages(weave(_strands(None, 0, numbers, chance), chance), chance)
    start: Event = {"type": "RUN_STARTED", "threadId": "t", "runId": run_id, "protocolVersion": "1.0"}
    if chance.random() < 0.2:
        start["input"] = {**RUN_INPUT, "runId": run_id, "messages": _history(next(numbers))}
    if chance.random() < 0.15:
        return [start, *_shortened(body[: chance.randint(0, len(body))], chance), _error(chance)]
    finish = {"type": "RUN_FINISHED", "threadId": "t", "runId": run_id, **_ending(body, chance)}
    late = [_error(chance)] if chance.random() < 0.1 else []
    return [start, *_shortened(body, chance), finish, *late]


def _strands(owner: str | None, depth: int, numbers: Iterator[int], chance: Random) -> list[Strand]:
    makers = [*(make for make in STRANDS.values() if make is not subagent), *VARIANTS]
    strands = [step(next(numbers), owner)] if chance.random() < 0.5 else []
    for _ in range(chance.randint(0 if depth else 1, 4)):
        unannounced = chance.choice(("o1", "o2")) if owner is None and chance.random() < 0.2 else owner
        strands.append(chance.choice(makers)(next(numbers), unannounced))
    delegations = chance.choices((0, 1, 2), (6, 3, 2))[0] if depth < 2 else 0
    return strands + [_delegation(owner, depth, numbers, chance) for _ in range(delegations)]


def _delegation(parent: str | None, depth: int, numbers: Iterator[int], chance: Random) -> Strand:
    start, end = subagent(next(numbers), None)
    key = start["subagentRunId"]
    start.update({} if parent is None else {"parentSubagentRunId": parent})
    end.update(chance.choice([{}, {"result": 1}, {"outcome": {"type": "suspended", "interruptIds": ["i"]}}]))
    if chance.random() < 0.2:
        end = {"type": "SUBAGENT_ERROR", "subagentRunId": key, "message": "no", "code": "x"}
    return [start, *weave(_strands(key, depth + 1, numbers, chance), chance), end]


def _ending(body: Sequence[Event], chance: Random) -> Event:
    """How a run ends, with the calls that it leaves open in the order in which they were made."""
    made = dict.fromkeys(
        event["toolCallId"] for event in body if event["type"] in ("TOOL_CALL_START", "TOOL_CALL_CHUNK")
    )
    answered = {event["toolCallId"] for event in body if event["type"] == "TOOL_CALL_RESULT"}
    pending = [call for call in made if call not in answered]
    usage = {"provider": "p", "model": "m", "inputTokens": 3, "outputTokens": 4, "totalTokens": 7}
    ending: Event = {"usage": [usage]} if chance.random() < 0.3 else {}
    if pending:
        return {**ending, "outcome": {"type": "success", "pendingToolCallIds": pending}}
    interrupts = [{"id": "i", "reason": "confirmation"}, {"id": "j", "reason": "choice", "responseSchema": {}}]
    outcomes = [{"type": "success"}, {"type": "interrupt", "interrupts": interrupts}, {"type": "cancelled"}]
    return (
        {**ending, "outcome": chance.choice(outcomes)} if chance.random() < 0.5 else {**ending, "result": {"x": None}}
    )


def _error(chance: Random) -> Event:
    return {"type": "RUN_ERROR", "message": "no", **({"code": "x"} if chance.random() < 0.5 else {})}


def _with_extras(event: Event, chance: Random) -> Event:
    """Add, here and there, what any event may carry."""
    extras = {"timestamp": 1, "metadata": {"acme.k": None}, "rawEvent": {"type": "x"}}
    return {**event, **{name: value for name, value in extras.items() if chance.random() < 0.05}}


# ---- the conversation, whole ----------------------------------------------------------------------


def _history(n: int) -> list[Event]:
    """Messages of each role, of which no strand knows."""
    calls = [{"id": f"hc{n}", "type": "function", "function": {"name": "f", "arguments": "{}"}}]
    return [
        {"id": f"hs{n}", "role": "system", "content": "x"},
        {"id": f"hu{n}", "role": "user", "content": [{"type": "text", "text": "x"}], "name": "Ann"},
        {"id": f"ha{n}", "role": "assistant", "toolCalls": calls, "subagentRunId": "o1"},
        {"id": f"ht{n}", "role": "tool", "content": "ok", "toolCallId": f"hc{n}"},
        {"id": f"hz{n}", "role": "reasoning", "content": "x"},
        {"id": f"hx{n}", "role": "activity", "activityType": "x", "content": {}},
    ]


def _with_messages(body: Sequence[Event], chance: Random) -> list[Event]:
    """Put snapshots of the messages where nothing streams: a consumer drops what one leaves out."""
    streaming: set[str] = set()
    whole: list[Event] = []
    for place in range(len(body) + 1):
        if not streaming and not _lanes(body[place:], _chunked(whole)) and chance.random() < 0.05:
            whole.append({"type": "MESSAGES_SNAPSHOT", "messages": [*_history(place), *_restated(whole, chance)]})
        for event in body[place : place + 1]:
            family, _, act = event["type"].rpartition("_")
            if family != "REASONING" and act in ("START", "END"):
                streaming ^= {f"{family} {event.get('messageId') or event['toolCallId']}"}
            whole.append(event)
    return whole


def _restated(events: Sequence[Event], chance: Random) -> list[Event]:
    """Some of the messages and calls that were streamed, of their owners."""
    messages: dict[str, Event] = {}
    for event in events:
        family, _, act = event["type"].rpartition("_")
        if act not in ("START", "CHUNK") or family == "REASONING":
            continue
        key = event["messageId"] if "messageId" in event else event.get("parentMessageId", event["toolCallId"])
        role = "reasoning" if family == "REASONING_MESSAGE" else event.get("role", "assistant")
        said = {"content": "x"} if "messageId" in event else {}
        said |= {name: event[name] for name in ("name", "subagentRunId") if name in event}
        held = messages.setdefault(key, {"id": key, "role": role, **said})
        if family == "TOOL_CALL":
            call = {"id": event["toolCallId"], "type": "function", "function": {"name": "f", "arguments": "{}"}}
            held["toolCalls"] = [*(one for one in held.get("toolCalls", ()) if one != call), call]
    return [one for one in messages.values() if chance.random() < 0.7]
