"""The machine holds a stream to the order of the protocol: each rule by a stream that breaks it and one that keeps it."""

import pytest
from support.streams import order

RS = {"type": "RUN_STARTED", "threadId": "t", "runId": "r"}
RF = {"type": "RUN_FINISHED", "threadId": "t", "runId": "r"}
RE = {"type": "RUN_ERROR", "message": "no"}


def text(kind, message="m", **more):
    return {
        "type": f"TEXT_MESSAGE_{kind}",
        "messageId": message,
        **({"delta": "x"} if kind == "CONTENT" else {}),
        **more,
    }


def call(kind, key="c", **more):
    extra = {"START": {"toolCallName": "f"}, "ARGS": {"delta": "{}"}}.get(kind, {})
    return {"type": f"TOOL_CALL_{kind}", "toolCallId": key, **extra, **more}


def thought(kind, message="z", **more):
    extra = {"MESSAGE_START": {"role": "reasoning"}, "MESSAGE_CONTENT": {"delta": "x"}}.get(kind, {})
    return {"type": f"REASONING_{kind}", "messageId": message, **extra, **more}


def step(kind, name="s", **more):
    return {"type": f"STEP_{kind}", "stepName": name, **more}


def sub(kind, key="a", **more):
    extra = {"STARTED": {"name": "n"}, "ERROR": {"message": "no"}}.get(kind, {})
    return {"type": f"SUBAGENT_{kind}", "subagentRunId": key, **extra, **more}


def result(key="c", message="tm", **more):
    return {"type": "TOOL_CALL_RESULT", "messageId": message, "toolCallId": key, "content": "ok", **more}


def finished(**outcome):
    return {**RF, "outcome": outcome}


def activity(kind, **more):
    value = {"content": {}} if kind == "SNAPSHOT" else {"patch": []}
    return {"type": f"ACTIVITY_{kind}", "messageId": "act", "activityType": "x", **value, **more}


def artefact(entity, subtype="message", **more):
    value = {"subtype": subtype, "entityId": entity, "encryptedValue": "v"}
    return {"type": "REASONING_ENCRYPTED_VALUE", **value, **more}


def restated(*messages):
    return {"type": "MESSAGES_SNAPSHOT", "messages": list(messages)}


CALL_C = {"id": "c", "type": "function", "function": {"name": "f", "arguments": ""}}
A = {"subagentRunId": "a"}
B = {"subagentRunId": "b"}

BROKEN = [
    ("run-opens-stream", [text("START"), text("END"), RF]),
    ("run-opens-stream", []),
    ("run-opens-stream", [RF]),
    ("run-not-nested", [RS, RS, RF]),
    ("run-ends", [RS]),
    ("run-ends", [RS, text("START"), text("END")]),
    ("run-closed-is-closed", [RS, RF, text("START")]),
    ("run-closed-is-closed", [RS, RF, RF]),
    ("run-closed-is-closed", [RS, RE, RE]),
    ("run-closed-is-closed", [RS, RE, RF]),
    ("run-closed-is-closed", [RS, RF, RE, RE]),
    ("run-thread-echoed", [RS, {**RF, "threadId": "other"}]),
    ("run-thread-echoed", [RS, RF, {**RS, "threadId": "other"}, {**RF, "threadId": "t"}]),
    ("run-id-agrees", [RS, {**RF, "runId": "other"}]),
    ("run-items-closed", [RS, text("START"), RF]),
    ("run-items-closed", [RS, call("START"), finished(type="cancelled")]),
    ("run-items-closed", [RS, thought("START"), RF]),
    ("run-items-closed", [RS, thought("MESSAGE_START"), RF]),
    ("run-items-closed", [RS, step("STARTED"), RF]),
    ("step-opens-once", [RS, step("STARTED"), step("STARTED"), step("FINISHED"), RF]),
    ("step-closes-open", [RS, step("FINISHED"), RF]),
    ("item-opens-once", [RS, text("START"), text("START"), text("END"), RF]),
    ("item-opens-once", [RS, call("START"), call("START"), call("END"), RF]),
    ("item-open-first", [RS, text("CONTENT"), text("CONTENT"), text("END"), RF]),
    ("item-open-first", [RS, text("END"), RF]),
    ("item-open-first", [RS, call("ARGS"), RF]),
    ("item-open-first", [RS, text("START"), text("END"), text("CONTENT"), text("END"), RF]),
    ("reopen-agrees", [RS, text("START"), text("END"), text("START", role="user"), text("END"), RF]),
    ("reopen-agrees", [RS, text("START"), text("END"), text("START", name="n"), text("END"), RF]),
    ("reopen-agrees", [RS, text("START"), text("END"), text("START", **A), text("END"), RF]),
    ("reopen-agrees", [RS, call("START"), call("END"), call("START", toolCallName="g"), call("END"), RF]),
    ("reopen-agrees", [RS, call("START"), call("END"), call("START", parentMessageId="m"), call("END"), RF]),
    ("reopen-agrees", [RS, result(), text("START", "tm"), text("END", "tm"), RF]),
    (
        "reopen-agrees",
        [
            *(RS, text("START", name="Ann"), text("END"), restated({"id": "m", "role": "assistant"})),
            *(text("START", name="Ann"), text("END"), RF),
        ],
    ),
    (
        "reopen-agrees",
        [
            *(RS, call("START", parentMessageId="m"), call("END"), text("START", **A), text("END")),
            *(call("START", parentMessageId="m"), call("END"), RF),
        ],
    ),
    ("pending-exact", [RS, call("START"), call("END"), finished(type="success", pendingToolCallIds=["x"])]),
    ("pending-exact", [RS, call("START"), call("END"), result(), finished(type="success", pendingToolCallIds=["c"])]),
    (
        "pending-exact",
        [
            *(RS, call("START"), call("END"), call("START", "d"), call("END", "d")),
            finished(type="success", pendingToolCallIds=["d", "c"]),
        ],
    ),
    ("call-owner-agrees", [RS, text("START"), text("END"), call("START", parentMessageId="m", **A), call("END"), RF]),
    ("activity-baseline", [RS, activity("DELTA"), RF]),
    ("reasoning-span-pairs", [RS, thought("START"), thought("START"), thought("END"), RF]),
    ("reasoning-span-pairs", [RS, thought("END"), RF]),
    ("reasoning-message-pairs", [RS, thought("START"), thought("MESSAGE_CONTENT"), thought("END"), RF]),
    (
        "reasoning-message-pairs",
        [RS, thought("MESSAGE_START"), thought("MESSAGE_START"), thought("MESSAGE_END"), RF],
    ),
    ("subagent-announced-first", [RS, text("START", **A), text("END"), sub("STARTED"), sub("FINISHED"), RF]),
    ("subagent-starts-once", [RS, sub("STARTED"), sub("STARTED"), sub("FINISHED"), RF]),
    ("subagent-starts-once", [RS, sub("STARTED"), sub("FINISHED"), sub("STARTED"), sub("FINISHED"), RF]),
    ("subagent-ends", [RS, sub("STARTED"), RF]),
    ("subagent-ends", [RS, sub("FINISHED"), RF]),
    ("subagent-ends", [RS, sub("ERROR"), RF]),
    ("subagent-parent-known", [RS, sub("STARTED", parentSubagentRunId="p"), sub("FINISHED"), RF]),
    ("subagent-parent-known", [RS, sub("STARTED", parentSubagentRunId="a"), sub("FINISHED"), RF]),
    ("owner-agrees", [RS, text("START"), text("CONTENT", **A), text("END"), RF]),
    ("owner-agrees", [RS, text("START", **A), text("END", **B), RF]),
    ("owner-agrees", [RS, call("START", **A), call("ARGS", **B), call("END"), RF]),
    ("owner-agrees", [RS, step("STARTED"), step("FINISHED", **A), RF]),
    ("owner-agrees", [RS, step("STARTED", **A), step("FINISHED"), RF]),
    ("owner-agrees", [RS, activity("SNAPSHOT"), activity("DELTA", **A), RF]),
    ("owner-agrees", [RS, activity("SNAPSHOT"), activity("SNAPSHOT", replace=False, **A), RF]),
    ("owner-agrees", [RS, thought("MESSAGE_START", **A), thought("MESSAGE_END"), artefact("z", **B), RF]),
    ("owner-agrees", [RS, call("START", **A), call("END"), artefact("c", "tool-call", **B), RF]),
    ("interrupt-ids-unique", [RS, finished(type="interrupt", interrupts=[{"id": "i", "reason": "x"}] * 2)]),
]


@pytest.mark.parametrize(("rule", "stream"), BROKEN, ids=[f"{i}-{rule}" for i, (rule, _) in enumerate(BROKEN)])
def test_a_broken_stream_breaks_that_rule_and_no_other(rule, stream):
    assert [breach.rule for breach in order(stream)] == [rule]


KEPT = {
    "an empty run": [RS, RF],
    "a failure before any run": [RE],
    "a late failure": [RS, RF, RE],
    "a failure with everything open": [RS, text("START"), call("START"), thought("START"), step("STARTED"), RE],
    "two runs": [RS, text("START"), text("END"), RF, RS, text("START"), text("END"), RF],
    "a run after a failed one": [RS, text("START"), RE, RS, RF],
    "interleaved items": [
        RS,
        text("START"),
        call("START"),
        text("CONTENT"),
        call("ARGS"),
        text("END"),
        call("END"),
        RF,
    ],
    "an empty delta": [RS, text("START"), text("CONTENT", delta=""), text("END"), RF],
    "a reopened message": [RS, text("START"), text("END"), text("START"), text("CONTENT"), text("END"), RF],
    "a reopened call": [RS, call("START"), call("END"), call("START"), call("ARGS"), call("END"), RF],
    "a span and its message under one id": [
        *(RS, thought("START"), thought("MESSAGE_START"), thought("MESSAGE_CONTENT")),
        *(thought("MESSAGE_END"), artefact("z"), thought("END"), RF),
    ],
    "a subagent's reopened call, untagged": [RS, call("START", **A), call("END"), call("START"), call("END"), RF],
    "a result without a start, as on a resumed run": [RS, result(), RF],
    "arguments cut off by a stop": [
        RS,
        call("START"),
        call("ARGS", delta='{"a'),
        call("END"),
        finished(type="cancelled"),
    ],
    "pending calls in order": [
        *(RS, call("START"), call("END"), call("START", "d"), call("END", "d"), result("c")),
        finished(type="success", pendingToolCallIds=["d"]),
    ],
    "an empty pending list names none": [
        *(RS, call("START"), call("END"), finished(type="success", pendingToolCallIds=[])),
    ],
    "untagged continuation of a subagent's message": [RS, text("START", **A), text("CONTENT"), text("END"), RF],
    "attribution without announcement": [RS, text("START", **A), text("CONTENT", **A), text("END", **A), RF],
    "one step name of two owners": [
        *(RS, step("STARTED"), step("STARTED", **A), step("FINISHED"), step("FINISHED", **A), RF),
    ],
    "a step again after its end": [RS, *[step("STARTED"), step("FINISHED")] * 2, RF],
    "an input that repeats a message": [{**RS, "input": {"messages": [{"id": "m", "role": "user"}] * 2}}, RF],
    "nested subagents": [
        *(RS, sub("STARTED"), sub("STARTED", "b", parentSubagentRunId="a"), sub("FINISHED", "b"), sub("ERROR"), RF),
    ],
    "a replacing snapshot takes an activity over": [
        RS,
        activity("SNAPSHOT"),
        activity("SNAPSHOT", **A),
        activity("DELTA", **A),
        RF,
    ],
    "a call of the message's owner": [
        *(RS, text("START", **A), text("END"), call("START", parentMessageId="m"), call("END", **A), RF),
    ],
    "messages restated": [
        RS,
        restated({"id": "m", "role": "assistant", "toolCalls": [], **A}),
        *(text("START", **A), text("END"), RF),
    ],
    "a message reopened as it was restated": [
        *(RS, text("START", role="user"), text("END"), restated({"id": "m", "role": "assistant", "name": "Ann"})),
        *(text("START", name="Ann"), text("END"), RF),
    ],
    "a call reopened in the message that was restated with it": [
        *(RS, call("START"), call("END"), restated({"id": "m", "role": "assistant", "toolCalls": [CALL_C]})),
        *(call("START", parentMessageId="m"), call("END"), RF),
    ],
    "a call of the history reopened in its message": [
        {**RS, "input": {"messages": [{"id": "m", "role": "assistant", "toolCalls": [CALL_C]}]}},
        *(call("START", parentMessageId="m"), call("END"), RF),
    ],
    "standalone events": [
        *(RS, {"type": "CUSTOM", "name": "x.y", "value": 1}, {"type": "RAW", "event": {}}, artefact("nobody"), RF),
    ],
    "an input echoed": [
        {**RS, "input": {"messages": [{"id": "m", "role": "user", "content": "x"}]}},
        RF,
    ],
}


@pytest.mark.parametrize("stream", KEPT.values(), ids=KEPT)
def test_a_kept_stream_is_quiet(stream):
    assert order(stream) == []


def test_a_snapshot_takes_a_message_over_and_its_calls_with_it():
    stream = [RS, call("START", parentMessageId="m"), call("END")]
    stream += [restated({"id": "m", "role": "assistant", "toolCalls": [CALL_C], **A})]
    stream += [call("START", **B), call("END"), RF]
    assert [breach.rule for breach in order(stream)] == ["reopen-agrees"]


def test_a_breach_says_what_was_expected_and_what_came():
    (breach,) = order([RS, text("CONTENT"), RF])
    assert str(breach) == (
        "item-open-first: expected text message 'm' opened first, found TEXT_MESSAGE_CONTENT, and it is not open"
    )


def test_a_subagents_item_is_named_with_its_owner():
    (breach,) = order([RS, text("START", **A), RF])
    assert breach.expected == "text message 'm' of subagent 'a' closed before RUN_FINISHED"
