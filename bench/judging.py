"""How fast recordings are judged: beside what reading them costs alone, and beside the public ag-ui-validate."""

import json
import resource
import statistics
import time

import orjson
from ag_ui_validate.engine import create_validator

from conformance.exchange import Exchange
from conformance.judge import Judge
from conformance.reading import SseReader

CHUNK = 256 * 1024
"""Bytes that are read at a time, as `agui-conformance check` does."""

LENGTHS = (10_000, 100_000, 1_000_000)
"""Text events of a recording."""

TARGET = 300_000
"""Events a second that are asked for, on one core, with every rule."""

HEAD = [
    {"type": "RUN_STARTED", "threadId": "t", "runId": "r", "protocolVersion": "1.0"},
    {"type": "TEXT_MESSAGE_START", "messageId": "msg-1", "role": "assistant"},
]
TAIL = [
    {"type": "TEXT_MESSAGE_END", "messageId": "msg-1"},
    {"type": "RUN_FINISHED", "threadId": "t", "runId": "r", "outcome": {"type": "success"}},
]
RUN_INPUT = {"threadId": "t", "runId": "r", "protocolVersion": "1.0", "messages": [], "tools": [], "context": []}


def recording(length):
    """An SSE capture of one message of so many deltas."""
    text = [{"type": "TEXT_MESSAGE_CONTENT", "messageId": "msg-1", "delta": f"word {n % 997} "} for n in range(length)]
    return b"".join(b"data: " + orjson.dumps(event) + b"\n\n" for event in (*HEAD, *text, *TAIL))


def read_only(body):
    """The least that any judge does: split and parse."""
    for block in body.split(b"\n\n"):
        if block:
            orjson.loads(block[6:])


def ours(body):
    """Every rule, as the bytes arrive."""
    judge, reader = Judge(Exchange(run_input=RUN_INPUT)), SseReader()
    findings = [one for at in range(0, len(body), CHUNK) for one in judge.take(reader.feed(body[at : at + CHUNK]))]
    findings += judge.take(reader.close()) + judge.close()
    assert findings == []


def theirs(body):
    """ag-ui-validate, on events that were parsed for it."""
    validator = create_validator()
    for block in body.split(b"\n\n"):
        if block:
            validator.feed(json.loads(block[6:]))
    validator.finalize()
    assert validator.report().summary.errors == 0


CONTENDERS = {"reading alone": read_only, "agui-conformance, every rule": ours, "ag-ui-validate 0.4": theirs}


def seconds(judged, body):
    begin = time.process_time()
    judged(body)
    return time.process_time() - begin


def main():
    print("Judging a recording of one message, events a second (median of 3 rounds, one core)")
    print(f"{'':30}" + "".join(f"{length:>12,} events" for length in LENGTHS))
    bodies = {length: recording(length) for length in LENGTHS}
    rates = {}
    for name, judged in CONTENDERS.items():
        for length, body in bodies.items():
            rounds = [seconds(judged, body) for _ in range(3)]
            rates[name, length] = length / statistics.median(rounds)
        print(f"{name:30}" + "".join(f"{rates[name, length]:>19,.0f}" for length in LENGTHS))
    slowest = min(rates["agui-conformance, every rule", length] for length in LENGTHS)
    growth = rates["agui-conformance, every rule", LENGTHS[0]] / rates["agui-conformance, every rule", LENGTHS[-1]]
    met = "yes" if slowest >= TARGET else "NO"
    print(f"\nTarget: at least {TARGET:,} events a second: {slowest:,.0f}, met: {met}")
    print(f"Cost of an event in the longest recording against the shortest: {growth:.2f}")
    print(f"Peak memory of this process: {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:.0f} MiB")


if __name__ == "__main__":
    main()
