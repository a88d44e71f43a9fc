"""The judge: what it finds where, what it cannot judge, and that one exchange may come in any pieces."""

import json
import tracemalloc

import pytest
from support.streams import RUN_FINISHED, RUN_STARTED, sse

from conformance.exchange import Ending, Exchange
from conformance.judge import Judge, judge
from conformance.protobuf import CONTENT_TYPE, encode, frame
from conformance.reading import SseReader
from conformance.rules import CATALOGUE, Level

TEXT = [
    {"type": "TEXT_MESSAGE_START", "messageId": "m", "role": "assistant"},
    {"type": "TEXT_MESSAGE_CONTENT", "messageId": "m", "delta": "Hello"},
    {"type": "TEXT_MESSAGE_END", "messageId": "m"},
]
RUN = [RUN_STARTED, *TEXT, RUN_FINISHED]
RUN_INPUT = {
    "threadId": "t",
    "runId": "r",
    "protocolVersion": "1.0",
    "messages": [],
    "tools": [],
    "context": [],
    "state": {},
}


def ids(findings):
    return [finding.rule.id for finding in findings]


def test_a_clean_stream_has_no_findings():
    assert judge(Exchange(events=RUN, run_input=RUN_INPUT)) == []
    assert judge(Exchange(body=[sse(RUN)])) == []


def test_a_finding_says_what_where_and_why():
    orphan = {"type": "TEXT_MESSAGE_END", "messageId": "x"}
    (finding,) = judge(Exchange(body=[sse([RUN_STARTED, orphan, RUN_FINISHED])]))
    assert (finding.rule.id, finding.level, finding.index, finding.line) == ("item-open-first", Level.MUST, 1, 3)
    assert finding.event == orphan
    assert finding.rule.link == "https://docs.ag-ui.com/spec/1.0/basic/patterns/streaming"
    assert str(finding) == (
        "item-open-first at event 1: expected text message 'x' to be open, found TEXT_MESSAGE_END, and it is not open"
    )


def test_a_finding_about_the_end_is_no_events():
    (finding,) = judge(Exchange(events=[RUN_STARTED]))
    assert (finding.index, finding.event) == (None, None)
    assert str(finding).startswith("run-ends: expected ")


def test_only_the_rules_that_are_asked_for_find_anything():
    broken = [RUN_STARTED, {"type": "TEXT_MESSAGE_END", "messageId": "x", "own": 1}, RUN_FINISHED]
    assert ids(judge(Exchange(events=broken))) == ["no-unknown-fields", "item-open-first"]
    assert ids(judge(Exchange(events=broken), [CATALOGUE["no-unknown-fields"]])) == ["no-unknown-fields"]


def test_what_is_not_known_is_not_judged():
    one = Judge()
    for event in RUN:
        one.feed(event)
    assert one.close() == []
    assert one.not_judged["run-id-echoed"] == "it takes the run input"
    assert one.not_judged["sse-lf"] == "it takes the bytes of a response over SSE"
    assert "run-opens-stream" not in one.not_judged
    assert "read-order" not in one.not_judged


def test_a_broken_rule_is_judged_even_where_not_all_was_known():
    one = Judge()
    events = [RUN_STARTED, RUN_FINISHED, {**RUN_STARTED, "threadId": "other"}, {**RUN_FINISHED, "threadId": "other"}]
    assert ids([finding for event in events for finding in one.feed(event)]) == ["run-thread-echoed"]
    one.close()
    assert "run-thread-echoed" not in one.not_judged


def test_what_is_learned_late_counts_at_the_end():
    one = Judge(Exchange(run_input=RUN_INPUT))
    for event in RUN:
        assert one.feed(event) == []
    one.learn(stopped=True)
    assert ids(one.close(Ending.OPEN)) == ["stop-is-cancelled", "sse-closes"]


def test_a_malformed_event_is_one_finding_and_still_counts_for_the_order():
    start = {"type": "TEXT_MESSAGE_START", "messageId": "m", "role": 5}
    assert ids(judge(Exchange(events=[RUN_STARTED, start, *TEXT[1:], RUN_FINISHED]))) == ["event-described"]
    named = {"type": "SUBAGENT_STARTED", "subagentRunId": "s"}
    end = {"type": "SUBAGENT_FINISHED", "subagentRunId": "s"}
    assert ids(judge(Exchange(events=[RUN_STARTED, named, end, RUN_FINISHED]))) == ["event-described"]


@pytest.mark.parametrize("missing", ["threadId", "runId"])
def test_a_run_event_without_its_identity_is_one_finding(missing):
    start = {name: value for name, value in RUN_STARTED.items() if name != missing}
    assert ids(judge(Exchange(events=[start, *TEXT, RUN_FINISHED]))) == ["event-described"]
    finish = {name: value for name, value in RUN_FINISHED.items() if name != missing}
    assert ids(judge(Exchange(events=[RUN_STARTED, *TEXT, finish]))) == ["event-described"]


@pytest.mark.parametrize(
    "event",
    [None, 5, "RUN_STARTED", [], {}, {"type": None}, {"type": 5}, {"type": []}, {"type": "NO_SUCH"}, {"type": "RAW"}],
)
def test_what_is_no_event_is_one_finding(event):
    assert ids(judge(Exchange(events=[RUN_STARTED, event, RUN_FINISHED]))) == ["event-described"]


@pytest.mark.parametrize("key", [["m"], {}, None, 5])
def test_an_identifier_of_another_type_is_a_finding_and_no_crash(key):
    content = {"type": "TEXT_MESSAGE_CONTENT", "messageId": key, "delta": "x"}
    assert ids(judge(Exchange(events=[RUN_STARTED, *TEXT[:1], content, *TEXT[2:], RUN_FINISHED]))) == [
        "event-described"
    ]


def test_the_version_that_the_stream_declares_is_the_one_it_is_judged_by():
    artefact = {
        "type": "REASONING_ENCRYPTED_VALUE",
        "subtype": "message",
        "entityId": "m",
        "encryptedValue": "e",
        "encryptedValueType": "acme.kind",
    }

    def found(version, protocol=None):
        events = [{**RUN_STARTED, "protocolVersion": version}, *TEXT, artefact, RUN_FINISHED]
        return ids(judge(Exchange(events=events), protocol=protocol))

    assert found("1.0") == ["no-unknown-fields"]
    assert found("1.1") == []
    assert found("1.1", protocol="1.0") == ["no-unknown-fields"]
    assert found("1.0", protocol="1.1") == []


def test_what_a_later_version_may_have_added_is_not_judged():
    one = Judge()
    events = [{**RUN_STARTED, "protocolVersion": "1.7"}, {**TEXT[0], "mood": "good"}, *TEXT[1:], RUN_FINISHED]
    assert [finding for event in events for finding in one.feed(event)] + one.close() == []
    assert one.not_judged["no-unknown-fields"] == "the stream speaks 1.7, and this suite knows 1.1"


def test_a_refused_request_owes_no_stream():
    refused = Exchange(run_input=RUN_INPUT, status=409, headers={"content-type": "application/problem+json"}, events=[])
    assert judge(refused) == []
    assert ids(judge(Exchange(events=[]))) == ["run-opens-stream"]


def test_a_connection_that_broke_is_one_finding():
    assert ids(judge(Exchange(events=RUN[:2], ending=Ending.BROKEN))) == ["sse-fails-inside"]
    assert ids(judge(Exchange(events=RUN[:2], ending=Ending.CLOSED))) == ["run-ends"]


def test_the_framing_of_protobuf_is_judged_by_the_content_type():
    body = [frame(encode(event)) for event in RUN]
    headers = {"content-type": CONTENT_TYPE}
    assert judge(Exchange(body=body, status=200, headers=headers)) == []
    assert ids(judge(Exchange(body=[b"".join(body)[:-3]], headers=headers))) == ["proto-framing"]


def test_pieces_of_any_size_are_judged_alike():
    events = [
        RUN_STARTED,
        {**TEXT[2], "messageId": "x"},
        *TEXT,
        {"type": "STEP_FINISHED", "stepName": "s"},
        RUN_FINISHED,
    ]
    whole = b": hello\r\n\r\n" + sse(events[:3]) + b"data: nonsense\n\n" + sse(events[3:])
    seen = set()
    for size in (1, 2, 3, 7, 64, 100_000):
        body = [whole[start : start + size] for start in range(0, len(whole), size)]
        seen.add(json.dumps([(str(one), one.index, one.line) for one in judge(Exchange(body=body))]))
    (only,) = seen
    assert [(text.split()[0].rstrip(":"), index, line) for text, index, line in json.loads(only)] == [
        ("sse-lf", None, 1),
        ("item-open-first", 1, 5),
        ("sse-one-event-per-data", None, 9),
        ("step-closes-open", 5, 15),
    ]


def test_a_judge_keeps_nothing_of_what_it_read():
    one, reader = Judge(), SseReader()
    one.take(reader.feed(sse(RUN[:2])))
    piece = sse([{**TEXT[1], "delta": "x" * 1000}] * 100)
    tracemalloc.start()
    try:
        held = []
        for _ in range(3):
            for _ in range(10):
                one.take(reader.feed(piece))
            held.append(tracemalloc.get_traced_memory()[0])
    finally:
        tracemalloc.stop()
    assert held[2] - held[0] < 20_000


@pytest.mark.parametrize("run_input", [5, [], {"messages": 5}, {**RUN_INPUT, "messages": [{"role": "user"}]}])
def test_any_run_input_is_judged_with_what_is_well_formed_of_it(run_input):
    assert ids(judge(Exchange(run_input=run_input, events=RUN))) == ["input-malformed-rejected"]


@pytest.mark.parametrize(
    ("more", "found"),
    [
        ({}, []),
        ({"timestamp": 2**53 - 1}, []),
        ({"timestamp": 2**53}, ["event-described"]),
        ({"timestamp": "now"}, ["event-described"]),
        ({"timestamp": True}, ["event-described"]),
        ({"timestamp": None}, ["absent-not-null"]),
        ({"subagentRunId": "s"}, []),
        ({"subagentRunId": "s", "timestamp": 5}, []),
        ({"subagentRunId": "other"}, ["owner-agrees"]),
        ({"subagentRunId": None}, ["absent-not-null"]),
        ({"delta": 5}, ["event-described"]),
        ({"own": 1}, ["no-unknown-fields"]),
        ({"metadata": {"key": 1}}, ["metadata-prefixed"]),
    ],
)
def test_a_delta_is_judged_by_every_field(more, found):
    start, content, end = TEXT
    events = [RUN_STARTED, {**start, "subagentRunId": "s"}, {**content, **more}, end, RUN_FINISHED]
    assert ids(judge(Exchange(events=events))) == found
