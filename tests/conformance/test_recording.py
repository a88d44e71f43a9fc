"""A recording says again what was recorded."""

import json

import pytest
from support.streams import RUN_FINISHED, RUN_STARTED, sse

from conformance.exchange import Ending, Exchange
from conformance.judge import Judge, judge
from conformance.protobuf import CONTENT_TYPE, encode, frame
from conformance.reading import Unreadable
from conformance.recording import RecordingReader, written
from conformance.rules import Fact

RUN_INPUT = {"threadId": "t", "runId": "r", "protocolVersion": "1.0", "messages": []}
ORPHAN = {"type": "TEXT_MESSAGE_END", "messageId": "x"}


def judged(lines):
    one, reader = Judge(), RecordingReader()
    text = "\n".join(lines).encode()
    findings = [finding for half in (text[:50], text[50:]) for finding in one.take(reader.feed(half))]
    return one, findings + one.take(reader.close()) + one.close()


@pytest.mark.parametrize("as_list", [False, True])
def test_a_file_of_events_alone_is_a_recording(as_list):
    events = [RUN_STARTED, ORPHAN, RUN_FINISHED]
    _, findings = judged([json.dumps(events)] if as_list else map(json.dumps, events))
    assert [(finding.rule.id, finding.index, finding.line) for finding in findings] == [
        ("item-open-first", 1, 1 if as_list else 2)
    ]


def test_what_is_known_of_the_exchange_is_judged_with():
    known = Exchange(
        run_input=RUN_INPUT,
        accept="text/event-stream",
        status=200,
        headers={"content-type": "text/event-stream; charset=utf-8"},
        ending=Ending.CLOSED,
        stopped=True,
        reference=[RUN_STARTED],
        capabilities={},
        events=[{**RUN_STARTED, "runId": "other"}, {**RUN_FINISHED, "runId": "other"}],
    )
    one, findings = judged(written(known))
    assert [finding.rule.id for finding in findings] == ["stop-is-cancelled", "run-id-echoed"]
    assert "sse-closes" not in one.not_judged
    assert [str(finding) for finding in judge(known)] == [str(finding) for finding in findings]


@pytest.mark.parametrize(
    "exchange",
    [
        Exchange(body=[sse([RUN_STARTED])[:20], sse([RUN_STARTED])[20:], sse([ORPHAN, RUN_FINISHED])]),
        Exchange(body=[b'data: {"x": "\xff"}\n\n', sse([RUN_STARTED, RUN_FINISHED]).replace(b"\n", b"\r\n")]),
        Exchange(
            body=[b"".join(frame(encode(event)) for event in (RUN_STARTED, RUN_FINISHED))],
            headers={"content-type": CONTENT_TYPE},
        ),
        Exchange(run_input=RUN_INPUT, request_body=b"{nope", status=400, refusal=b"what?", events=[]),
    ],
)
def test_an_exchange_read_from_its_recording_is_judged_alike(exchange):
    one, findings = judged(written(exchange))
    assert [str(finding) for finding in findings] == [str(finding) for finding in judge(exchange)]
    assert (Fact.BYTES.value in one.not_judged.get("transport-ordered", "")) == (exchange.body is None)


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ('{"exchange": {"runinput": {}}}', "line 1: an exchange has no 'runinput'; it has runInput, requestBody, "),
        ('{"exchange": {"ending": "lost"}}', 'line 1: an exchange cannot have ending "lost"'),
        ('{"exchange": {"headers": ["a"]}}', 'line 1: an exchange cannot have headers ["a"]'),
        ('{"base64": "AAA"}', "line 1: base64 expected"),
        ("nonsense", "line 1: expected one JSON value a line"),
    ],
)
def test_a_line_that_cannot_be_read_is_named(line, says):
    with pytest.raises(Unreadable) as error:
        judged([line])
    assert str(error.value).startswith(says)


@pytest.mark.parametrize("first", [json.dumps(RUN_STARTED), json.dumps([RUN_STARTED]), '{"bytes": "data: {}\\n\\n"}'])
def test_a_run_input_that_comes_late_is_refused(first):
    """What the events before it broke would depend on the pieces in which the file is read."""
    lines = [first, json.dumps(RUN_STARTED), '{"exchange": {"ending": "closed"}}', '{"exchange": {"runInput": {}}}']
    with pytest.raises(Unreadable, match="line 4: the run input stands before the first event"):
        judged(lines)


def test_any_other_line_is_taken_for_an_event():
    for line in ('{"exchange": {}, "more": 1}', '{"bytes": 5}', "7"):
        _, findings = judged([json.dumps(RUN_STARTED), line, json.dumps(RUN_FINISHED)])
        assert [(finding.rule.id, finding.line) for finding in findings] == [("event-described", 2)]
