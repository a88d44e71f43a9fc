"""Rules that take more than the events: negotiation, the way a body ended, what an older peer got, how deep a value nests."""

import pytest
from support.streams import RUN_FINISHED, RUN_STARTED
from support.wire import text

from conformance.exchange import Ending, Exchange
from conformance.judge import Judge, judge
from conformance.protobuf import CONTENT_TYPE
from conformance.rules.http_protobuf import admits

RUN = [RUN_STARTED, *text(), RUN_FINISHED]
RUN_INPUT = {"threadId": "t", "runId": "r", "messages": [], "tools": [], "context": [], "state": {}}


def found(events=RUN, **known):
    return [finding.rule.id for finding in judge(Exchange(events=events, **known))]


@pytest.mark.parametrize(
    ("accept", "media_type", "admitted"),
    [
        ("text/event-stream", "text/event-stream", True),
        ("text/*", "text/event-stream", True),
        ("*/*", "text/event-stream", True),
        ("", "text/event-stream", False),
        ("application/json", "text/event-stream", False),
        ("*/*, text/event-stream;q=0", "text/event-stream", False),
        ("text/event-stream;q=0, */*", "text/event-stream", False),
        ("TEXT/Event-Stream ; Q=0.2", "text/event-stream", True),
        ("text/event-stream;charset=utf-8", "text/event-stream", True),
        ("text/event-stream;charset=utf-8;q=0", "text/event-stream", False),
        ("text/event-stream;q=much", "text/event-stream", False),
    ],
)
def test_the_most_specific_range_of_an_accept_decides(accept, media_type, admitted):
    assert admits(accept, media_type) is admitted


def test_a_transport_that_is_declared_is_offered_to_who_accepts_it():
    declared = {"transport": {"httpBinary": True}}
    sse = {"status": 200, "headers": {"content-type": "text/event-stream"}}
    assert found(capabilities=declared, accept=CONTENT_TYPE, **sse) == ["proto-negotiated"]
    assert found(capabilities=declared, accept="text/event-stream", **sse) == []
    assert found(capabilities={}, accept="*/*", **sse) == []


def test_a_refusal_has_no_events():
    known = {"status": 400, "headers": {"content-type": "text/event-stream"}}
    assert found([{"type": "RUN_ERROR", "message": "no"}], **known) == ["sse-rejects-outside"]


def test_a_malformed_input_is_refused_outside_the_stream():
    known = {"run_input": {**RUN_INPUT, "messages": 5}, "status": 200, "headers": {"content-type": "text/event-stream"}}
    assert found([{"type": "RUN_ERROR", "message": "no"}], **known) == ["sse-rejects-outside"]


def test_a_key_of_metadata_that_the_protocol_keeps_is_not_the_applications():
    assert found([{**RUN_STARTED, "metadata": {"ag-ui": 1}}, RUN_FINISHED]) == ["metadata-prefixed"]


def test_an_older_peer_gets_the_events_in_their_order():
    reference = [RUN_STARTED, *text(message="m"), *text(message="n"), RUN_FINISHED]
    known = {"run_input": RUN_INPUT, "reference": reference}
    assert found(reference, **known) == []
    assert found([RUN_STARTED, *text(message="n"), *text(message="m"), RUN_FINISHED], **known) == ["downgrade-pure"]


@pytest.mark.parametrize(
    ("was", "became"),
    [
        ({"type": "interrupt", "interrupts": [{"id": "i", "reason": "confirmation"}]}, {"type": "success"}),
        ({"type": "cancelled"}, {"type": "success"}),
    ],
)
def test_an_older_peer_gets_the_outcome(was, became):
    known = {"run_input": RUN_INPUT, "reference": [*RUN[:-1], {**RUN_FINISHED, "outcome": was}]}
    assert found([*RUN[:-1], {**RUN_FINISHED, "outcome": became}], **known) == ["downgrade-pure"]


def test_a_state_too_deep_to_be_patched_is_not_judged():
    deep: object = 0
    for _ in range(100_000):
        deep = [deep]
    patch = {"type": "STATE_DELTA", "delta": [{"op": "add", "path": "/deep", "value": deep}]}
    one = Judge(Exchange(run_input=RUN_INPUT))
    findings = [finding for event in [RUN_STARTED, patch, RUN_FINISHED] for finding in one.feed(event)]
    assert findings + one.close(Ending.CLOSED) == []
    assert one.not_judged["patch-applies"] == "the state nests too deep"
