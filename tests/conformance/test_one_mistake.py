"""One mistake is one finding: what a breach upsets is taken so that nothing else is blamed for it."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.near_valid import RUN_INPUT, valid
from support.recordings import held, recording
from support.wire import (
    INPUT,
    activity,
    amends,
    argues,
    artefact,
    asks,
    call,
    call_chunk,
    called,
    calls,
    changes,
    chunk,
    closes,
    finished,
    messages,
    op,
    opens,
    pending,
    raw,
    result,
    run,
    says,
    started,
    state,
    step,
    subagent,
    text,
    thinks,
    thought,
    tool,
)

from conformance.exchange import Ending, Exchange
from conformance.judge import judge
from conformance.rules import Level

A, B = {"subagentRunId": "sub-1"}, {"subagentRunId": "sub-2"}
SSE = {"content-type": "text/event-stream"}
KNOWN = {"runInput": {**INPUT, "state": {"found": 0}, "tools": [tool("confirm")]}}


def sse(event):
    return b"data: " + json.dumps(event).encode() + b"\n\n"


MISTAKES = {
    # ---- shape: what is malformed is not judged by what it may have meant
    "a null beside a snapshot that a delta builds on": (
        "absent-not-null",
        run(state({"tasks": []}, rawEvent=None), changes(op("add", "/tasks/0", value="plan"))),
    ),
    "a null beside an item that an artefact names": (
        "absent-not-null",
        run(*thought(timestamp=None), artefact("msg-1")),
    ),
    "a null on the run that declares its version": ("absent-not-null", [started(parentRunId=None), finished()]),
    "a time that is a text, beside a snapshot": (
        "event-described",
        run(state({"tasks": []}, timestamp="2026-11-30"), changes(op("add", "/tasks/0", value="plan"))),
    ),
    "a snapshot without its state": (
        "event-described",
        run({"type": "STATE_SNAPSHOT"}, changes(op("add", "/tasks/0", value="plan"))),
    ),
    "a delta that is no patch, and one that builds on it": (
        "patch-well-formed",
        run(changes("tasks"), changes(op("add", "/tasks/0", value="plan"))),
    ),
    "an operation that nobody knows, and one that builds on it": (
        "patch-well-formed",
        run(changes(op("append", "/tasks", value="plan")), changes(op("remove", "/tasks"))),
    ),
    "a message that is malformed in a snapshot, and its artefact": (
        "event-described",
        run(messages({"id": "msg-1", "role": "reasoning", "content": 5}), artefact("msg-1")),
    ),
    "an outcome that nobody knows, with calls pending": (
        "outcome-described",
        run(*call("confirm"), outcome={"type": "requires_action"}),
    ),
    "an interrupt outcome that is malformed, with calls pending": (
        "outcome-described",
        run(*call("confirm"), outcome={"type": "interrupt"}),
    ),
    "pending calls that are no list": (
        "outcome-described",
        run(*call("confirm"), outcome={"type": "success", "pendingToolCallIds": "call-1"}),
    ),
    "a role that nobody knows": ("event-described", run(*text(role="critic"))),
    "a chunk whose identifier is no text": ("event-described", run(chunk("It", 5), chunk("is"))),
    "a continuation whose identifier is no text": ("event-described", run(chunk("a", "msg-1"), chunk("b", 5))),
    "a call chunk whose tool is no text": (
        "event-described",
        run(call_chunk("{", "call-1", toolCallName=5), call_chunk("}"), result()),
    ),
    "a version that is no text": (
        "event-described",
        [started(protocolVersion=1.0), *call("confirm"), finished(outcome=pending("call-1"))],
    ),
    "a version that is no version": ("version-declared", [started(protocolVersion="latest"), finished()]),
    "an event type of an older version": (
        "event-described",
        run({"type": "THINKING_START", "title": "x"}, *text(), raw()),
    ),
    # ---- order: what is misplaced is taken where it stands
    "a run that starts late, within a message": (
        "run-opens-stream",
        [opens(), started(), says("a"), closes(), finished()],
    ),
    "a run that starts late, within a call and a step": (
        "run-opens-stream",
        [calls("confirm"), step("STARTED"), started(), called(), step("FINISHED"), finished(outcome=pending("call-1"))],
    ),
    "a run that starts late, among its chunks": (
        "run-opens-stream",
        [chunk("a", "msg-1"), started(), chunk("b", "msg-1"), finished()],
    ),
    "no start of the run": ("run-opens-stream", [*text(), *call(), result(), finished()]),
    "a run that starts twice": (
        "run-not-nested",
        [
            started(),
            opens(),
            calls("confirm"),
            started(),
            says("a"),
            closes(),
            called(),
            finished(outcome=pending("call-1")),
        ],
    ),
    "a run that starts before the last one ended, which was open": (
        "run-not-nested",
        [
            started("run-0"),
            opens(),
            calls(),
            *run(*text(message="msg-2"), *call("confirm", key="call-2"), outcome=pending("call-2")),
        ],
    ),
    "an item that nobody opened": ("item-open-first", run(says("a"), says("b"), closes())),
    "a call that nobody opened": ("item-open-first", run(called())),
    "a thought that nobody opened": (
        "reasoning-message-pairs",
        run(thinks("MESSAGE_CONTENT"), thinks("MESSAGE_CONTENT"), thinks("MESSAGE_END")),
    ),
    "a message opened too late": ("item-open-first", run(says("a"), opens(), says("b"), closes())),
    "a message opened twice by another": (
        "item-opens-once",
        run(opens(**A), opens(**B), says("a", **A), closes(**A)),
    ),
    "a subagent that starts twice, with its events before": (
        "subagent-starts-once",
        run(subagent("STARTED"), *text(**A), subagent("STARTED"), *text(message="msg-2", **A), subagent("FINISHED")),
    ),
    "a subagent whose parent is nobody, with its own events": (
        "subagent-parent-known",
        run(subagent("STARTED", parentSubagentRunId="x"), *text(**A), subagent("FINISHED")),
    ),
    "a step that another finishes": ("owner-agrees", run(step("STARTED", **A), step("FINISHED", **B))),
    "another thread": ("run-thread-echoed", [started(threadId="t-2"), *text(), finished(threadId="t-2")]),
    "another run": ("run-id-echoed", run(*text(), key="run-2")),
    "another run at the end": ("run-id-agrees", [started(), finished("run-2")]),
    # ---- chunks
    "chunks that never name their message": ("chunk-first-complete", run(chunk("a"), chunk("b"), chunk("c"))),
    "chunks that never name their tool": (
        "chunk-first-complete",
        run(
            call_chunk("{", "call-1"), call_chunk("}"), result(), *call("confirm", "call-2"), outcome=pending("call-2")
        ),
    ),
    "a call without its tool, left pending": (
        "chunk-first-complete",
        run(call_chunk("{", "call-1"), call_chunk("}"), outcome=pending("call-1")),
    ),
    "chunks in a message that was opened": (
        "chunk-not-mixed",
        run(opens(), chunk("a", "msg-1"), chunk("b", "msg-1"), closes()),
    ),
    "a message of chunks that is ended": ("chunk-not-mixed", run(chunk("a", "msg-1"), chunk("b"), closes())),
    "a message that is started, goes on in chunks and is not ended": (
        "chunk-not-mixed",
        run(opens(), chunk("a", "msg-1"), chunk("b"), state({}), chunk("c", "msg-1")),
    ),
    "a message of chunks that goes on in another spelling and is not ended": (
        "chunk-not-mixed",
        run(chunk("a", "msg-1"), says("b"), chunk("c"), state({}), says("d")),
    ),
    "a message of chunks that is started again": (
        "chunk-not-mixed",
        run(chunk("a", "msg-1", **A), opens(), says("b"), closes()),
    ),
    "chunks that go on after their run": ("run-closed-is-closed", [*run(chunk("a", "msg-1")), chunk("b")]),
    "chunks that go on after another run began": (
        "run-not-nested",
        [started(), chunk("a", "msg-1"), *run(chunk("b"), chunk("c"))],
    ),
    # ---- what one thing lacks, several others are not blamed for
    "a message that nobody opened, and opens again": (
        "item-open-first",
        run(says("a"), closes(), *text(role="user", name="Ann")),
    ),
    "a thought that nobody opened, and its artefact": (
        "reasoning-message-pairs",
        run(thinks("MESSAGE_CONTENT"), thinks("MESSAGE_END"), artefact("msg-1")),
    ),
    "one identifier for the messages of two subagents": (
        "item-opens-once",
        run(opens(**A), opens(**B), says("a", **A), says("b", **B), closes(**A), says("c", **B), closes(**B)),
    ),
    "a subagent that is announced twice at once": (
        "subagent-starts-once",
        run(subagent("STARTED"), subagent("STARTED"), subagent("FINISHED"), subagent("ERROR")),
    ),
    "a subagent that nobody announced, of two others the parent": (
        "subagent-parent-known",
        run(
            *(subagent("STARTED", parentSubagentRunId="sub-7"), subagent("FINISHED")),
            *(subagent("STARTED", "sub-2", parentSubagentRunId="sub-7"), subagent("FINISHED", "sub-2")),
            subagent("FINISHED", "sub-7"),
        ),
    ),
    "a subagent that is announced after its own": (
        "subagent-parent-known",
        run(
            *(subagent("STARTED", parentSubagentRunId="sub-7"), subagent("STARTED", "sub-7"), subagent("FINISHED")),
            subagent("FINISHED", "sub-7"),
        ),
    ),
    "a call of another owner than its message": (
        "call-owner-agrees",
        run(*text(**A), calls(parentMessageId="msg-1", **B), argues("{}", **B), called(**B), result()),
    ),
    "a run that finishes before its message": ("run-items-closed", [*run(opens(), says("a")), says("b"), closes()]),
    "a delta before its activity, and those after": ("activity-baseline", run(amends(), amends(**A), amends())),
    "a start without an identifier": ("event-described", run({"type": "TEXT_MESSAGE_START"}, says("a"), closes())),
    "a start whose identifier is a number, then its end": (
        "event-described",
        run(step("STARTED", 5), step("FINISHED", "5")),
    ),
    "an end without an identifier": ("event-described", run(opens(), {"type": "TEXT_MESSAGE_END"})),
    "an end without an identifier, before the next start": (
        "event-described",
        run(opens(), {"type": "TEXT_MESSAGE_END"}, *text()),
    ),
    "a thought whose start has no identifier, and its artefact": (
        "event-described",
        run({"type": "REASONING_MESSAGE_START", "role": "reasoning"}, artefact("msg-1")),
    ),
    "a server's call without its result": ("frontend-call-advertised", run(*call("search"))),
    "a run of another id, whose end is right": ("run-id-agrees", [started("run-7"), finished()]),
    "the asked run without its start": (
        "run-closed-is-closed",
        [*run(key="run-0"), finished()],
    ),
    "a replay that is cut off": ("run-ends", [started("run-0"), *text()]),
    # ---- values
    "a patch that does not apply, and those that build on it": (
        "patch-applies",
        run(changes(op("add", "/a/b", value=1)), changes(op("replace", "/a/b", value=2)), changes(op("remove", "/a"))),
    ),
    "an activity that becomes a list, and what builds on it": (
        "activity-stays-object",
        run(activity({}), amends(op("replace", "", value=[])), amends(op("add", "/0", value=1))),
    ),
    "an artefact of nothing": ("artefact-has-target", run(artefact("msg-7"))),
    # ---- frontend tools
    "a frontend call that the agent answers": ("frontend-call-unanswered", run(*call("confirm"), result())),
    "a frontend call that ends in a question": (
        "frontend-call-is-success",
        run(*call("confirm"), outcome=asks(toolCallId="call-1")),
    ),
    "a call that nobody advertised": ("frontend-call-advertised", run(*call("search"), outcome=pending("call-1"))),
    "a list that lacks a call": (
        "pending-exact",
        run(*call("confirm"), *call("confirm", "call-2"), outcome=pending("call-1")),
    ),
}


@pytest.mark.parametrize(("rule", "stream"), MISTAKES.values(), ids=MISTAKES)
def test_a_mistake_is_one_finding(rule, stream):
    verdict = held(recording(*stream, **KNOWN))
    assert verdict.broken == [rule], list(map(str, verdict.findings))


ALL = run(*text(), *call("confirm"), state({}), changes(op("add", "/a", value=1)), outcome=pending("call-1"))
REPEATED = {
    "a field of one's own": ("no-unknown-fields", {"seq": 1}),
    "nulls": ("absent-not-null", {"rawEvent": None}),
    "a time in seconds and fractions": ("event-described", {"timestamp": 1.5}),
    "metadata that is no object": ("metadata-is-object", {"metadata": "acme"}),
}


@pytest.mark.parametrize(("rule", "fields"), REPEATED.values(), ids=REPEATED)
def test_a_mistake_on_every_event_is_one_finding_for_each(rule, fields):
    assert held(recording(*({**event, **fields} for event in ALL), **KNOWN)).broken == [rule] * len(ALL)


WHOLE = run(*text(), *call("confirm"), outcome=pending("call-1"))
BODIES = {
    "cut off within an event": ("transport-ordered", b"".join(map(sse, WHOLE))[:-9], Ending.CLOSED),
    "cut off after an event": ("transport-ordered", b"".join(map(sse, WHOLE[:3]))[:-1], Ending.CLOSED),
    "cut off between events": ("run-ends", b"".join(map(sse, WHOLE[:3])), Ending.CLOSED),
    "broken off within an event": ("sse-fails-inside", b"".join(map(sse, WHOLE))[:-9], Ending.BROKEN),
    "broken off between events": ("sse-fails-inside", b"".join(map(sse, WHOLE[:3])), Ending.BROKEN),
    "no blank line between two events": (
        "sse-one-event-per-data",
        b"".join(map(sse, WHOLE)).replace(b"}\n\n", b"}\n", 1),
        Ending.CLOSED,
    ),
    "no blank line between any events": (
        "sse-one-event-per-data",
        b"".join(map(sse, WHOLE)).replace(b"}\n\n", b"}\n") + b"\n",
        Ending.CLOSED,
    ),
    "all events in one list": ("sse-one-event-per-data", sse(WHOLE), Ending.CLOSED),
    "an event a line, without fields": (
        "sse-one-event-per-data",
        b"".join(json.dumps(event).encode() + b"\n" for event in WHOLE),
        Ending.CLOSED,
    ),
    "the end of another API's stream": (
        "sse-one-event-per-data",
        b"".join(map(sse, WHOLE)) + b"data: [DONE]\n\n",
        Ending.CLOSED,
    ),
    "lines that end with CRLF": ("sse-lf", b"".join(map(sse, WHOLE)).replace(b"\n", b"\r\n"), Ending.CLOSED),
    "lines that end with CR": ("sse-lf", b"".join(map(sse, WHOLE)).replace(b"\n", b"\r"), Ending.CLOSED),
}


@pytest.mark.parametrize(("rule", "body", "ending"), BODIES.values(), ids=BODIES)
def test_a_mistake_of_framing_is_one_finding_in_any_pieces(rule, body, ending):
    for size in (1, 5, len(body)):
        chunks = [body[start : start + size] for start in range(0, len(body), size)]
        known = Exchange(run_input=KNOWN["runInput"], status=200, headers=SSE, ending=ending, body=chunks)
        assert [finding.rule.id for finding in judge(known)] == [rule]


# ---- anywhere in any stream ----------------------------------------------------------------------


def inserted(event):
    return lambda events, place: [*events[:place], event, *events[place:]]


def with_fields(**fields):
    return lambda events, place: [*events[:place], {**events[place], **fields}, *events[place + 1 :]]


ANYWHERE = {
    "an event that nobody knows": ("event-described", inserted({"type": "THINKING_START"})),
    "an event without a type": ("event-described", inserted({"messageId": "m0", "delta": "x"})),
    "something that is no event": ("event-described", inserted(5)),
    "a field of one's own": ("no-unknown-fields", with_fields(seq=1)),
    "a null": ("absent-not-null", with_fields(rawEvent=None)),
    "a time that is a text": ("event-described", with_fields(timestamp="2026-11-30T12:00:00Z")),
    "metadata that is no object": ("metadata-is-object", with_fields(metadata=["acme"])),
    "metadata without a prefix": ("metadata-prefixed", with_fields(metadata={"model": "acme-1"})),
    "an event after the last run": ("run-closed-is-closed", lambda events, _: [*events, raw()]),
}


@pytest.mark.parametrize(("rule", "break_it"), ANYWHERE.values(), ids=ANYWHERE)
@settings(max_examples=100, deadline=None)
@given(chance=st.randoms(use_true_random=True))
def test_a_mistake_anywhere_adds_one_finding(rule, break_it, chance):
    events = valid(chance)
    broken = break_it(events, chance.randrange(len(events)))
    before = [finding.rule.id for finding in judge(Exchange(run_input=RUN_INPUT, events=events))]
    after = [finding.rule.id for finding in judge(Exchange(run_input=RUN_INPUT, events=broken))]
    assert sorted(after) == sorted([*before, rule])


@settings(max_examples=300, deadline=None)
@given(chance=st.randoms(use_true_random=True))
def test_a_stream_that_is_cut_off_anywhere_breaks_at_most_one_must(chance):
    events = valid(chance)
    cut = events[: chance.randint(1, len(events) - 1)]
    found = [finding for finding in judge(Exchange(run_input=RUN_INPUT, events=cut)) if finding.level is Level.MUST]
    assert [finding.rule.id for finding in found] in ([], ["run-ends"], ["run-id-echoed"])
