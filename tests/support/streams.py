"""Reading a stream strictly, and judging it with the protocol's own tables."""

import json
from typing import Any

from conformance.expand import Expander
from conformance.machine import Machine
from conformance.order import Breach
from conformance.schema import EVENT
from conformance.shapes import Report, pointer

RUN_STARTED = {"type": "RUN_STARTED", "threadId": "t", "runId": "r", "protocolVersion": "1.0"}
RUN_FINISHED = {"type": "RUN_FINISHED", "threadId": "t", "runId": "r", "outcome": {"type": "success"}}


def sse(events: list[Any]) -> bytes:
    """Events as an SSE body."""
    return b"".join(b"data: " + json.dumps(event).encode() + b"\n\n" for event in events)


def parse_sse(body: bytes) -> list[dict[str, Any]]:
    """The events of an SSE body. It must be LF framed, one JSON object per data payload, comments in between."""
    assert b"\r" not in body
    assert body == b"" or body.endswith(b"\n\n"), body[-80:]
    events = []
    for block in body.split(b"\n\n")[:-1]:
        if block.startswith(b":"):
            continue
        assert block.startswith(b"data: "), block
        assert b"\n" not in block, block
        events.append(json.loads(block.removeprefix(b"data: ").decode()))
    return events


def judge(events: list[dict[str, Any]], *, thread_id: str | None = None) -> list[str]:
    """Everything that a stream breaks: shapes, unknown material, chunks, order. Nothing, where it is conformant."""
    machine, expander = Machine(thread_id=thread_id), Expander()
    found: list[str] = []
    for event in events:
        report = Report()
        held = EVENT.hold(event, (), report)
        found += [f"event-described {one}" for one in report.malformed]
        found += [f"no-unknown-fields {pointer(path)}" for path in report.stripped]
        if report.malformed or not isinstance(held, dict):
            continue
        expanded, breaches = expander.feed(event)
        for one in expanded:
            breaches = [*breaches, *machine.feed(one)]
        found += map(str, breaches)
    return found + [str(breach) for breach in machine.close()]


def order(events: list[dict[str, Any]]) -> list[Breach]:
    """What a stream of whole items breaks of the protocol's order."""
    machine = Machine()
    found = [breach for event in events for breach in machine.feed(event)]
    return [*found, *machine.close()]


def types(events: list[dict[str, Any]]) -> list[str]:
    """The kinds of some events, in order."""
    return [event["type"] for event in events]
