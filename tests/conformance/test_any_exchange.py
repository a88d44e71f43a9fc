"""Whatever comes is judged: no value, event, exchange or byte makes the judge or a reader fail but in words."""

import itertools
import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.near_valid import RUN_INPUT, valid
from support.recordings import RECORDINGS
from support.wire import INPUT, activity, amends, changes, op, run, state, text

from conformance.exchange import Ending, Exchange
from conformance.judge import Judge, judge
from conformance.reading import Unreadable
from conformance.recording import RecordingReader

WORDS = st.sampled_from(
    ["type", "messageId", "toolCallId", "delta", "patch", "op", "path", "/a", "add", "role", "content", "id", "a", ""]
)
SCALARS = (
    st.none()
    | st.booleans()
    | st.integers(-(2**70), 2**70)
    | st.floats(allow_nan=False)
    | WORDS
    | st.text(max_size=3)
    | st.just("\ud800")
)
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(WORDS | st.text(max_size=3), inner, max_size=3),
    max_leaves=8,
)


def judged(events, **known):
    one = Judge(Exchange(**known))
    findings = [finding for event in events for finding in one.feed(event)] + one.close()
    assert all(str(finding) for finding in findings)
    return findings


@settings(max_examples=300, deadline=None)
@given(st.lists(VALUES, max_size=4))
def test_any_values_are_judged(values):
    judged([{"type": "RUN_STARTED", "threadId": "t", "runId": "r"}, *values])


def places(value):
    """Each container in a JSON value, with each of its keys."""
    keys = value if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ()
    for key in keys:
        yield value, key
        yield from places(value[key])


@settings(max_examples=800, deadline=None)
@given(chance=st.randoms(use_true_random=True), values=st.lists(VALUES, min_size=1, max_size=4))
def test_any_value_in_any_place_of_a_stream_and_its_input_is_judged(chance, values):
    exchange = json.loads(json.dumps({"events": valid(chance), "run_input": RUN_INPUT}))
    for value in values:
        container, key = chance.choice(list(places(exchange["events"])) + list(places(exchange["run_input"])))
        container[key] = value
    judged(exchange["events"], run_input=exchange["run_input"])


@settings(max_examples=300, deadline=None)
@given(
    run_input=VALUES,
    capabilities=VALUES,
    reference=st.none() | st.lists(VALUES, max_size=3),
    status=st.none() | st.integers(0, 1000),
    control_status=st.none() | st.integers(0, 1000),
    headers=st.none() | st.dictionaries(st.just("content-type"), st.text(max_size=9)),
    accept=st.none() | st.text(max_size=9) | st.just("*/*;q=x"),
    refusal=st.binary(max_size=9),
    ending=st.none() | st.sampled_from(Ending),
    stopped=st.booleans(),
)
def test_any_exchange_is_judged(**known):
    judged(run(*text()), **known)


def nested(depth):
    value = 1
    for _ in range(depth):
        value = {"a": value}
    return value


@pytest.mark.parametrize("depth", [100, 900, 20_000])
def test_values_of_any_depth_are_judged(depth):
    events = run(
        *(state(nested(depth)), changes(op("add", "/b", value=nested(depth))), changes(op("test", "", value=1))),
        *(
            activity(nested(depth)),
            amends(op("copy", "/b", **{"from": "/a"})),
            amends(op("test", "", value=nested(depth))),
        ),
        {"type": "RAW", "event": nested(depth), "metadata": nested(depth)},
    )
    assert {one.rule.id for one in judged(events, run_input={**INPUT, "state": nested(depth)})} <= {
        "patch-applies",
        "metadata-prefixed",
    }


def in_pieces(content, cuts):
    edges = [0, *sorted({cut % (len(content) + 1) for cut in cuts}), len(content)]
    return [content[start:end] for start, end in itertools.pairwise(edges)]


CUTS = st.lists(st.integers(0, 2**20), max_size=8)
PARTS = st.sampled_from(
    [
        *(
            b"data: ",
            b"data:",
            b"\n",
            b"\n\n",
            b"\r\n",
            b"\r",
            b": c\n",
            b"event: x\n",
            b"\xef\xbb\xbf",
            b"{",
            b"}",
            b"[",
        ),
        *(
            b'{"type": "RUN_STARTED", "threadId": "t", "runId": "r"}',
            b'{"type": "RUN_FINISHED"}',
            b"]",
            b",",
            b"[DONE]",
        ),
        *(
            b'{"exchange": {"status": 200}}',
            b'{"bytes": "data: {}\\n\\n"}',
            b'{"base64": "AAAAAA=="}',
            b"\xff",
            b"5",
            b" ",
        ),
        *(b'{"exchange": {"ending": "broken"}}', b'{"exchange": {"runInput": {}}}', b'"\\ud800"'),
    ]
)
BYTES = st.binary(max_size=40) | st.lists(PARTS, max_size=14).map(b"".join)


def outcome(read):
    """What the judgement of some bytes comes to: its findings, in whatever order, or that they cannot be read."""
    try:
        findings = read()
    except Unreadable:
        return "unreadable"
    return sorted((finding.rule.id, finding.found, str(finding.index), str(finding.line)) for finding in findings)


@settings(max_examples=1000, deadline=None)
@given(content=BYTES, cuts=CUTS)
def test_the_bytes_of_a_stream_are_judged_alike_in_any_pieces(content, cuts):
    def read(body):
        return lambda: judge(Exchange(body=body, status=200, headers={"content-type": "text/event-stream"}))

    assert outcome(read(in_pieces(content, cuts))) == outcome(read([content]))


@settings(max_examples=1000, deadline=None)
@given(content=BYTES, cuts=CUTS)
def test_a_recording_is_judged_alike_in_any_pieces(content, cuts):
    def read(pieces):
        return lambda: _of_recording(pieces)

    assert outcome(read(in_pieces(content, cuts))) == outcome(read([content]))


def _of_recording(pieces):
    one, reader = Judge(), RecordingReader()
    findings = [finding for piece in pieces for finding in one.take(reader.feed(piece))]
    return findings + one.take(reader.close()) + one.close()


@pytest.mark.parametrize("path", sorted(RECORDINGS.iterdir()), ids=lambda path: path.name)
def test_the_recordings_are_judged_alike_in_pieces_of_any_size(path):
    content = path.read_bytes()
    whole = outcome(lambda: _of_recording([content]))
    for size in (1, 3, 64):
        pieces = [content[start : start + size] for start in range(0, len(content), size)]
        assert outcome(lambda pieces=pieces: _of_recording(pieces)) == whole
