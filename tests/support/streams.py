"""Reading a stream strictly, and judging it with the protocol's own tables."""

import json
from typing import Any

from conformance import judge as judgement
from conformance.exchange import Exchange
from conformance.machine import Machine
from conformance.order import Breach
from conformance.rules import CATALOGUE, Level

MUSTS = [rule for rule in CATALOGUE.values() if rule.level is Level.MUST]

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
    """Every MUST that a stream breaks. Nothing, where it is conformant."""
    run_ids = [event["runId"] for event in events if event["type"] == "RUN_STARTED"]
    run_input = {"threadId": thread_id, "runId": run_ids[-1] if run_ids else "r", "messages": []}
    exchange = Exchange(events=events, run_input=run_input if thread_id is not None else None)
    return [str(finding) for finding in judgement.judge(exchange, MUSTS)]


def order(events: list[dict[str, Any]]) -> list[Breach]:
    """What a stream of whole items breaks of the protocol's order."""
    machine = Machine()
    found = [breach for event in events for breach in machine.feed(event)]
    return [*found, *machine.close()]


def types(events: list[dict[str, Any]]) -> list[str]:
    """The kinds of some events, in order."""
    return [event["type"] for event in events]
