"""Chunks become whole items."""

import pytest
from support.streams import order

from conformance.expand import Expander

RS = {"type": "RUN_STARTED", "threadId": "t", "runId": "r"}
RF = {"type": "RUN_FINISHED", "threadId": "t", "runId": "r"}


def text(message=None, delta=None, **more):
    return chunk("TEXT_MESSAGE_CHUNK", messageId=message, delta=delta, **more)


def call(key=None, name=None, delta=None, **more):
    return chunk("TOOL_CALL_CHUNK", toolCallId=key, toolCallName=name, delta=delta, **more)


def thought(message=None, delta=None, **more):
    return chunk("REASONING_MESSAGE_CHUNK", messageId=message, delta=delta, **more)


def chunk(kind, **fields):
    return {"type": kind, **{name: value for name, value in fields.items() if value is not None}}


def whole(kind, message="m", **more):
    return {"type": kind, "messageId": message, **more}


def expand(stream):
    expander, events, rules = Expander(), [], []
    for event in stream:
        whole_events, breaches = expander.feed(event)
        events += whole_events
        rules += [breach.rule for breach in breaches]
    return events, rules


def short(event):
    name = event.get("messageId") or event.get("toolCallId") or ""
    kind = event["type"].replace("TEXT_MESSAGE_", "T_").replace("TOOL_CALL_", "C_").replace("REASONING_MESSAGE_", "R_")
    delta = event.get("delta", "")
    return f"{kind} {name} {delta}".strip() if isinstance(delta, str) else kind


S = {"subagentRunId": "s"}
OUTLIVING = [
    {"type": "SUBAGENT_STARTED", "name": "x", **S},
    text("n", "b", **S),
    {"type": "SUBAGENT_ERROR", "message": "no", **S},
]

CASES = {
    "a message": (
        [RS, text("m", "a"), text(None, "b"), RF],
        ["RUN_STARTED", "T_START m", "T_CONTENT m a", "T_CONTENT m b", "T_END m", "RUN_FINISHED"],
    ),
    "a call": (
        [call("c", "f"), call(None, None, "{}"), call("d", "f", "[]"), RF],
        ["C_START c", "C_ARGS c {}", "C_END c", "C_START d", "C_ARGS d []", "C_END d", "RUN_FINISHED"],
    ),
    "a thought": (
        [thought("z", "a"), text("m", "b"), RF],
        ["R_START z", "R_CONTENT z a", "R_END z", "T_START m", "T_CONTENT m b", "T_END m", "RUN_FINISHED"],
    ),
    "RAW stands aside": (
        [text("m", "a"), {"type": "RAW", "event": 1}, text(None, "b"), RF],
        ["T_START m", "T_CONTENT m a", "RAW", "T_CONTENT m b", "T_END m", "RUN_FINISHED"],
    ),
    "STATE_DELTA ends it": (
        [text("m", "a"), {"type": "STATE_DELTA", "delta": []}, RF],
        ["T_START m", "T_CONTENT m a", "T_END m", "STATE_DELTA", "RUN_FINISHED"],
    ),
    "a subagent's end ends its own lane": (
        [text("m", "a"), text("n", "b", subagentRunId="s"), {"type": "SUBAGENT_FINISHED", "subagentRunId": "s"}, RF],
        [
            *("T_START m", "T_CONTENT m a", "T_START n", "T_CONTENT n b", "T_END n"),
            *("SUBAGENT_FINISHED", "T_END m", "RUN_FINISHED"),
        ],
    ),
    "another item of an ended subagent, and its item in a later run": (
        [*OUTLIVING, text("m", "a", **S), RF, RS, text("n", "c", **S), RF],
        [
            *("SUBAGENT_STARTED", "T_START n", "T_CONTENT n b", "T_END n", "SUBAGENT_ERROR"),
            *("T_START m", "T_CONTENT m a", "T_END m", "RUN_FINISHED"),
            *("RUN_STARTED", "T_START n", "T_CONTENT n c", "T_END n", "RUN_FINISHED"),
        ],
    ),
    "an explicit event ends only its own lane": (
        [text("m", "a", subagentRunId="s"), whole("TEXT_MESSAGE_START", "n"), text("m", "b"), RF],
        ["T_START m", "T_CONTENT m a", "T_START n", "T_CONTENT m b", "T_END m", "RUN_FINISHED"],
    ),
    "lanes assemble side by side": (
        [text("m", "a", subagentRunId="s"), text("n", "b", subagentRunId="u"), text(None, "c", subagentRunId="s"), RF],
        [
            *("T_START m", "T_CONTENT m a", "T_START n", "T_CONTENT n b", "T_CONTENT m c"),
            *("T_END m", "T_END n", "RUN_FINISHED"),
        ],
    ),
    "the only stream of its kind is continued": (
        [text("m", "a", subagentRunId="s"), text(None, "b"), RF],
        ["T_START m", "T_CONTENT m a", "T_CONTENT m b", "T_END m", "RUN_FINISHED"],
    ),
    "a snapshot of messages ends every lane": (
        [text("m", "a", subagentRunId="s"), {"type": "MESSAGES_SNAPSHOT", "messages": []}, RF],
        ["T_START m", "T_CONTENT m a", "T_END m", "MESSAGES_SNAPSHOT", "RUN_FINISHED"],
    ),
    "metadata alone is content without text": (
        [text("m", "a"), text(None, None, metadata={"x": 1}), RF],
        ["T_START m", "T_CONTENT m a", "T_CONTENT m", "T_END m", "RUN_FINISHED"],
    ),
    "an empty continuation adds nothing": (
        [text("m", "a"), text("m"), RF],
        ["T_START m", "T_CONTENT m a", "T_END m", "RUN_FINISHED"],
    ),
}


@pytest.mark.parametrize(("stream", "expected"), CASES.values(), ids=CASES)
def test_chunks_expand(stream, expected):
    events, rules = expand(stream)
    assert [short(event) for event in events] == expected
    assert rules == []


BROKEN = {
    "no id": ("chunk-first-complete", [RS, text(None, "a"), RF]),
    "no name": ("chunk-first-complete", [RS, call("c", None, "{}"), RF]),
    "after CUSTOM": (
        "chunk-first-complete",
        [RS, text("m", "a"), {"type": "CUSTOM", "name": "a.b", "value": 1}, text(None, "b"), RF],
    ),
    "never an id": ("chunk-first-complete", [RS, text(None, "a"), text(None, "b"), RF]),
    "a name only later": ("chunk-first-complete", [RS, call("c", None, "{"), call("c", "f", "}"), RF]),
    "on after its subagent": ("chunk-within-owner", [RS, *OUTLIVING, text("n", "c", **S), text("n", "d"), RF]),
    "on after its subagent, by its tag": ("chunk-within-owner", [RS, *OUTLIVING, text(None, "c", **S), RF]),
    "on after its subagent, by its id": ("chunk-within-owner", [RS, *OUTLIVING, text("n", "c"), RF]),
    "another role": ("chunk-repeat-agrees", [RS, text("m", "a"), text(None, "b", role="user"), RF]),
    "another tool": ("chunk-repeat-agrees", [RS, call("c", "f", "{"), call("c", "g", "}"), RF]),
    "another owner": ("owner-agrees", [RS, text("m", "a", subagentRunId="s"), text("m", "b", subagentRunId="u"), RF]),
    "two lanes and neither named": (
        "chunk-unambiguous",
        [RS, text("m", "a", subagentRunId="s"), text("n", "b", subagentRunId="u"), text(None, "c"), RF],
    ),
    "start, then chunks": (
        "chunk-not-mixed",
        [RS, whole("TEXT_MESSAGE_START"), text("m", "a"), whole("TEXT_MESSAGE_END"), RF],
    ),
    "chunk, then content": (
        "chunk-not-mixed",
        [RS, text("m", "a"), whole("TEXT_MESSAGE_CONTENT", delta="b"), whole("TEXT_MESSAGE_END"), RF],
    ),
    "chunk, then content in another lane, which ends nothing": (
        "chunk-not-mixed",
        [
            *(RS, text("m", "a", subagentRunId="s"), text("n", "b")),
            *[whole("TEXT_MESSAGE_CONTENT", delta="c")] * 2,
            *(text(None, "d", subagentRunId="s"), RF),
        ],
    ),
    "chunk, then end": ("chunk-not-mixed", [RS, text("m", "a"), whole("TEXT_MESSAGE_END"), RF]),
    "chunk, then start": (
        "chunk-not-mixed",
        [RS, text("m", "a"), whole("TEXT_MESSAGE_START"), whole("TEXT_MESSAGE_END"), RF],
    ),
}


@pytest.mark.parametrize(("rule", "stream"), BROKEN.values(), ids=BROKEN)
def test_a_broken_chunk_breaks_that_rule_and_what_it_expands_to_keeps_its_order(rule, stream):
    events, rules = expand(stream)
    assert rules == [rule]
    assert order(events) == []


def test_a_message_mixed_of_both_spellings_is_one_finding_at_its_first_chunk():
    """B01: a start, then chunks."""
    stream = [RS, whole("TEXT_MESSAGE_START"), text("m", "a"), text("m", "b"), whole("TEXT_MESSAGE_END"), RF]
    expander = Expander()
    found = [index for index, event in enumerate(stream) for _ in expander.feed(event)[1]]
    assert found == [2]


def test_opening_carries_what_the_chunk_established():
    events, _ = expand([RS, text("m", "a", role="user", name="Ann", metadata={"k": 1}, subagentRunId="s", rawEvent=7)])
    assert events[1:] == [
        {
            "type": "TEXT_MESSAGE_START",
            "messageId": "m",
            "role": "user",
            "name": "Ann",
            "subagentRunId": "s",
            "metadata": {"k": 1},
        },
        {
            "type": "TEXT_MESSAGE_CONTENT",
            "messageId": "m",
            "delta": "a",
            "rawEvent": 7,
            "metadata": {"k": 1},
            "subagentRunId": "s",
        },
    ]


def test_a_thought_is_opened_with_its_role():
    events, _ = expand([thought("z")])
    assert events == [{"type": "REASONING_MESSAGE_START", "messageId": "z", "role": "reasoning"}]
