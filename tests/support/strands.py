"""Strands: the events of one message, call, thought, step, subagent or activity, in order. Streams are woven of them.

Each is made of a number, of which its identifiers are made, and of its owner: None, or a subagent's invocation.
"""

from collections.abc import Callable
from typing import Any

Event = dict[str, Any]
Strand = list[Event]
Maker = Callable[[int, "str | None"], Strand]


def tagged(owner: str | None) -> Event:
    """What an event of a subagent carries besides."""
    return {} if owner is None else {"subagentRunId": owner}


def message(n, owner):
    tag = tagged(owner)
    content = {"type": "TEXT_MESSAGE_CONTENT", "messageId": f"m{n}", "delta": "x"}
    return [
        {"type": "TEXT_MESSAGE_START", "messageId": f"m{n}", **tag},
        {**content, **tag},
        content,
        {"type": "TEXT_MESSAGE_END", "messageId": f"m{n}"},
    ]


def call(n, owner):
    tag = tagged(owner)
    return [
        {"type": "TOOL_CALL_START", "toolCallId": f"c{n}", "toolCallName": "f", **tag},
        {"type": "TOOL_CALL_ARGS", "toolCallId": f"c{n}", "delta": "{}"},
        {"type": "TOOL_CALL_END", "toolCallId": f"c{n}", **tag},
        {"type": "TOOL_CALL_RESULT", "messageId": f"t{n}", "toolCallId": f"c{n}", "content": "ok"},
    ]


def thought(n, owner):
    tag = tagged(owner)
    return [
        {"type": "REASONING_START", "messageId": f"s{n}", **tag},
        {"type": "REASONING_MESSAGE_START", "messageId": f"z{n}", "role": "reasoning", **tag},
        {"type": "REASONING_MESSAGE_CONTENT", "messageId": f"z{n}", "delta": "x"},
        {"type": "REASONING_MESSAGE_END", "messageId": f"z{n}"},
        {"type": "REASONING_END", "messageId": f"s{n}"},
    ]


def step(n, owner):
    return [{"type": kind, "stepName": f"p{n}", **tagged(owner)} for kind in ("STEP_STARTED", "STEP_FINISHED")]


def activity(n, owner):
    tag = tagged(owner)
    base = {"messageId": f"a{n}", "activityType": "x"}
    delta = {"type": "ACTIVITY_DELTA", **base, "patch": []}
    return [{"type": "ACTIVITY_SNAPSHOT", **base, "content": {}, **tag}, delta, {**delta, **tag}]


def subagent(n, _):
    key = {"subagentRunId": f"sub{n}"}
    return [{"type": "SUBAGENT_STARTED", "name": "n", **key}, {"type": "SUBAGENT_FINISHED", **key}]


STRANDS: dict[str, Maker] = {make.__name__: make for make in (message, call, thought, step, activity, subagent)}
"""One of each family, none in chunks."""


# ---- more of them ---------------------------------------------------------------------------------


def message_again(n, owner):
    start, content, _, end = message(n, owner)
    start = {**start, "role": "assistant", "name": "Ann"}
    return [start, content, end, start, content, end]


def message_in_chunks(n, owner):
    chunk = {"type": "TEXT_MESSAGE_CHUNK", "messageId": f"m{n}", "role": "user", **tagged(owner)}
    return [{**chunk, "delta": "x"}, {**chunk, "delta": "y"}, {**chunk, "delta": ""}]


def message_in_chunks_again(n, owner):
    chunk = {"type": "TEXT_MESSAGE_CHUNK", "messageId": f"m{n}", "delta": "x", **tagged(owner)}
    between = {"type": "CUSTOM", "name": "acme.pause", "value": None, **tagged(owner)}
    return [chunk, {**chunk, "metadata": {"acme.last": True}}, between, chunk, chunk]


def message_with_calls(n, owner):
    """Two calls at once; the one that is untagged inherits its owner."""
    start, content, _, end = message(n, owner)
    parent = {"parentMessageId": f"m{n}"}
    first = [{**event, **(parent if "START" in event["type"] else {})} for event in call(n, owner)]
    second = [{**event, "toolCallId": f"d{n}"} for event in call(n, None)[:3]]
    second[0].update(parent)
    return [start, content, end, first[0], *second, *first[1:], artefact(f"d{n}", owner, "tool-call")]


def message_with_calls_in_chunks(n, owner):
    """One call after the other, while the message is open."""
    chunk = {"type": "TOOL_CALL_CHUNK", "toolCallName": "f", "parentMessageId": f"m{n}", "delta": "{}", **tagged(owner)}
    start, *_, end = message(n, owner)
    first, second = {**chunk, "toolCallId": f"c{n}"}, {**chunk, "toolCallId": f"d{n}"}
    return [start, first, first, second, second, second, end]


def call_again(n, owner):
    start, args, end, result = call(n, owner)
    untagged = {"type": start["type"], "toolCallId": f"c{n}", "toolCallName": "f"}
    return [start, args, end, untagged, args, end, result]


def call_in_chunks(n, owner):
    chunk = {"type": "TOOL_CALL_CHUNK", "toolCallId": f"c{n}", "toolCallName": "f", **tagged(owner)}
    return [{**chunk, "delta": "{"}, {**chunk, "delta": "}"}, call(n, owner)[-1]]


def result_alone(n, owner):
    """The answer to a call of an earlier run, in parts."""
    image = {"type": "image", "source": {"type": "url", "value": "https://example.com/x.png"}}
    content = [{"type": "text", "text": "ok"}, image]
    return [{**call(n, owner)[-1], "content": content, "role": "tool", **tagged(owner)}]


def thought_again(n, owner):
    return [*thought(n, owner), *thought(n, owner)]


def thought_of_one_id(n, owner):
    start, *inner, end = [{**event, "messageId": f"z{n}"} for event in thought(n, owner)]
    return [start, *inner, artefact(f"z{n}", None), end]


def thought_in_chunks(n, owner):
    """The artefact stands aside from the chunks between which it comes."""
    chunk = {"type": "REASONING_MESSAGE_CHUNK", "messageId": f"z{n}", "delta": "x", **tagged(owner)}
    start, *_, end = thought(n, owner)
    return [start, chunk, artefact(f"z{n}", owner), {**chunk, "rawEvent": {"p": 1}}, chunk, end]


def activity_taken_over(n, owner):
    """By the parent agent; what would not replace it is declined."""
    snapshot, delta, _ = activity(n, owner)
    change = {**delta, "patch": [{"op": "add", "path": "/k", "value": [1]}, {"op": "test", "path": "/k/0", "value": 1}]}
    taken = {"type": snapshot["type"], "messageId": f"a{n}", "activityType": "y", "content": {"k": 0}}
    return [snapshot, change, taken, change, {**taken, "replace": False, "content": {"lost": True}}, delta]


def state(n, owner):
    """A snapshot between changes that apply to any object."""
    add = {"op": "add", "path": f"/k{n}", "value": {"~/": None}}
    copy = {"op": "copy", "from": f"/k{n}", "path": f"/l{n}"}
    rest = [{"op": "replace", "path": f"/k{n}/~0~1", "value": 1}, {"op": "remove", "path": f"/l{n}", "value": 0}]
    delta = {"type": "STATE_DELTA", "delta": [add, copy, *rest], **tagged(owner)}
    return [delta, {"type": "STATE_SNAPSHOT", "snapshot": {"plan": []}}, {**delta, "delta": []}, delta]


def aside(n, owner):
    raw = {"type": "RAW", "event": {"n": n}, "source": "acme", **tagged(owner)}
    return [raw, {"type": "CUSTOM", "name": "acme.x", "value": n}]


def artefact(entity: str, owner: str | None, subtype: str = "message") -> Event:
    """A provider's artefact for a message or a call."""
    value = {"subtype": subtype, "entityId": entity, "encryptedValue": "v"}
    return {"type": "REASONING_ENCRYPTED_VALUE", **value, **tagged(owner)}


VARIANTS: tuple[Maker, ...] = (
    *(message_again, message_in_chunks, message_in_chunks_again, message_with_calls, message_with_calls_in_chunks),
    *(call_again, call_in_chunks, result_alone, thought_again, thought_of_one_id, thought_in_chunks),
    *(activity_taken_over, state, aside),
)
"""More that a strand may be."""
