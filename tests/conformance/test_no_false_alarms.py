"""Legal streams that other validators flag, and odd ones that nobody thinks of: each is quiet on every rule."""

import asyncio
import itertools
import json
from contextlib import aclosing
from datetime import UTC, datetime

import pytest
from ag_ui.core import RunAgentInput
from support.agents import make_pipeline
from support.recordings import held, recording
from support.server import serving
from support.wire import (
    CANCELLED,
    INPUT,
    activity,
    amends,
    argues,
    artefact,
    asks,
    assistant,
    call,
    call_chunk,
    called,
    calls,
    changes,
    chunk,
    closes,
    custom,
    failed,
    finished,
    has_called,
    messages,
    op,
    opens,
    pending,
    raw,
    result,
    run,
    says,
    sse_line,
    started,
    state,
    step,
    subagent,
    text,
    thinks,
    thought,
    tool,
    tool_message,
    user,
)

from adapters.base import AdapterError, RunContext
from adapters.demo import SCENARIOS, Demo
from conformance.exchange import Ending, Exchange
from conformance.judge import judge
from conformance.reduce import Conversation

A, B = {"subagentRunId": "sub-1"}, {"subagentRunId": "sub-2"}
SSE = {"content-type": "text/event-stream"}
PROTOBUF = {"content-type": "application/vnd.ag-ui.event+proto"}
JSON = {"content-type": "application/json"}
HISTORY = [user(), assistant("Let me look. ", name="Planner", toolCalls=[has_called()])]

STREAMS = {
    # ---- items
    "items interleave": run(
        *(opens(), calls(), says("It "), step("STARTED"), thinks("START", "span-1"), argues("{"), says("is sunny.")),
        *(thinks("MESSAGE_START", "msg-2"), argues("}"), called(), thinks("MESSAGE_END", "msg-2"), step("FINISHED")),
        *(closes(), thinks("END", "span-1"), result()),
    ),
    "empty deltas": run(
        *text(""),
        *call(arguments=""),
        result(content=""),
        thinks("MESSAGE_START"),
        thinks("MESSAGE_CONTENT", delta=""),
        thinks("MESSAGE_END"),
    ),
    "an item without content": run(opens(), closes(), calls(), called(), result()),
    "a message and a call are reopened": run(*text("It is "), *call(), *text("sunny."), *call(), result()),
    "a reopened message leaves out its name": run(*text("a", name="Ann"), *text("b")),
    "a reopened message is tagged again, and untagged": run(*text("a", **A), *text("b", **A), *text("c")),
    "a message, a thought and a span of one id": run(
        thinks("START"), *thought(), thinks("END"), *text(), thinks("START"), thinks("END")
    ),
    "a call before the message that it names": run(*call(parentMessageId="msg-1"), *text(), result()),
    "a call of a message that nobody knows": run(*call(parentMessageId="msg-7"), result()),
    "any role and name": run(*text(role="developer"), *text(message="msg-2", role="system", name="Rules")),
    "arguments that are no JSON": run(*call(arguments="{'city': Lisbon"), result()),
    "a result before its call ends": run(calls(), result(), argues("{}"), called()),
    "two results of one call": run(*call(), result(), result(message="msg-10")),
    "a result of parts": run(
        *call(),
        result(
            content=[
                {"type": "text", "text": "Here:", "metadata": {"acme.title": "Sky"}},
                {"type": "image", "source": {"type": "data", "value": "AA==", "mimeType": "image/png"}},
                {"type": "document", "source": {"type": "file", "value": "file-7", "provider": "acme"}},
                {"type": "audio", "source": {"type": "url", "value": "https://example.com/a.mp3"}},
            ]
        ),
    ),
    "a result without any part": run(*call(), result(content=[])),
    # ---- runs
    "nothing but a run": run(),
    "nothing but a failure": [failed("The agent cannot be reached.")],
    "a failure with everything open": [
        *(started(), opens(), calls(), thinks("START"), thinks("MESSAGE_START"), step("STARTED")),
        *(subagent("STARTED"), failed()),
    ],
    "a failure with chunks open": [started(), chunk("It", "msg-1"), failed()],
    "a late failure": [*run(*text()), failed("The log could not be written.")],
    "a run after a failed one": [started(), opens(), failed(), *run(*text(), key="run-2")],
    "a run after a late failure": [*run(), failed(), *run(key="run-2")],
    "a run that another one started": [started(parentRunId="run-0"), finished(outcome={"type": "success"})],
    "a result of any kind": run(result=0) + run(result=[None], key="run-2") + run(result=False, key="run-3"),
    "arguments cut off by a stop": run(calls(), argues('{"city": "Lis'), called(), outcome=CANCELLED),
    "a stop leaves calls unanswered": run(*text(), *call(), outcome=CANCELLED, usage=[{"inputTokens": 7}]),
    "a question leaves calls unanswered": run(*call(), *call("pay", "call-2"), outcome=asks(toolCallId="call-2")),
    "a question with all that it can carry": run(
        outcome=asks(
            message="Pay 20 €?",
            responseSchema={"type": "object", "properties": {"approved": {"type": "boolean"}}},
            expiresAt="tomorrow",
            metadata={"acme.risk": None},
            subagentRunId="sub-1",
        )
    ),
    "an empty list of pending calls": run(*call(), result(), outcome=pending()),
    "a result in the list's place": run(*text(), outcome={"type": "success"}, result={"answer": 42}),
    "a replay of runs whose versions rise": [
        *({"type": "RUN_STARTED", "threadId": "thread-1", "runId": "run-1"}, *text(), *call("confirm"), finished()),
        *run(messages(user(), assistant("It is sunny."), tool_message("call-1", "yes")), key="run-2"),
        *(started("run-3", protocolVersion="1.1"), *thought("msg-3")),
        *(artefact("msg-3", encryptedValueType="acme.redacted"), finished("run-3")),
    ],
    "a version whose minor is greater than nine": [started(protocolVersion="1.10"), finished()],
    "what a later version added": [started(protocolVersion="1.7"), *text(mood="good"), {"type": "GLOW"}, finished()],
    # ---- usage
    "usage in all its parts": run(
        usage=[
            {"provider": "acme", "model": "a", "inputTokens": 10, "outputTokens": 5, "totalTokens": 15},
            {"provider": "acme", "model": "b", "inputTokens": 10, "cachedInputTokens": 6, "cacheWriteInputTokens": 4},
            {"model": "b", "outputTokens": 3, "reasoningTokens": 3},
            {"cachedInputTokens": 6, "reasoningTokens": 3, "totalTokens": 9},
        ]
    ),
    "usage of nothing": [*run(usage=[]), failed(usage=[{"inputTokens": 0, "outputTokens": 0, "totalTokens": 0}])],
    # ---- chunks
    "chunks of parallel subagents": run(
        *(chunk("a", "msg-1", **A), chunk("b", "msg-2", **B), chunk("c", **A), chunk("d", "msg-2"), chunk("e", **B)),
        chunk("f", "msg-3"),
        chunk("g"),
    ),
    "the chunks of the only lane of their kind": run(
        chunk("a", "msg-1", **A), chunk("b"), call_chunk("{}", "c", toolCallName="f", **B), result("c")
    ),
    "RAW, activities, artefacts and a subagent between chunks": run(
        *(chunk("It ", "msg-1"), raw({"a": None}), chunk("is "), activity({"found": 0}), amends(), chunk("sunny")),
        *(artefact("msg-1"), subagent("STARTED"), chunk("."), subagent("FINISHED")),
    ),
    "chunks that repeat what the first one said": run(
        *(chunk("a", "msg-1"), chunk("b", "msg-1", role="assistant"), chunk("c", "msg-2", role="user", name="Ann")),
        *(chunk("d", role="user"), call_chunk("{", "call-1", toolCallName="f", parentMessageId="msg-1")),
        *(call_chunk("}", toolCallName="f", parentMessageId="msg-1"), result()),
    ),
    "chunks that go on after what ended them, by their id": run(
        *(chunk("a", "msg-1"), custom(), chunk("b", "msg-1"), state({}), chunk("c", "msg-1"), step("STARTED", **A)),
        *(chunk("d"), step("FINISHED", **A)),
    ),
    "chunks without text": run(
        chunk(None, "msg-1"), chunk(None, None, metadata={"acme.reason": "stop"}), chunk(None, "msg-2")
    ),
    "a call of chunks without arguments": run(call_chunk(None, "call-1", toolCallName="f"), result()),
    "thoughts of chunks": run(
        thinks("START", "span-1"), thinks("MESSAGE_CHUNK", delta="Hm"), thinks("MESSAGE_CHUNK"), thinks("END", "span-1")
    ),
    "a subagent's chunks end with it": run(
        *(subagent("STARTED"), chunk("a", "msg-1", **A), subagent("FINISHED"), chunk("b", "msg-2", **B)),
        *(subagent("STARTED", "sub-3"), chunk("c", "msg-3", subagentRunId="sub-3"), chunk("d", "msg-2")),
        subagent("ERROR", "sub-3"),
    ),
    # ---- subagents
    "work of subagents that nobody announced": run(*text(**A), *call(**A), result(**A), custom(**B), state({}, **B)),
    "a subagent's item continues untagged": run(opens(**A), says("a"), says("b", **A), closes()),
    "a step of one name per owner": run(
        *(step("STARTED"), step("STARTED", **A), step("STARTED", **B), step("FINISHED"), step("FINISHED", **B)),
        step("FINISHED", **A),
    ),
    "subagents nest, and the parent ends first": run(
        *(subagent("STARTED"), subagent("STARTED", "sub-2", parentSubagentRunId="sub-1"), subagent("FINISHED")),
        *(subagent("STARTED", "sub-3", parentSubagentRunId="sub-1"), subagent("ERROR", "sub-3", code="late")),
        subagent("FINISHED", "sub-2", result={"found": 1}, outcome={"type": "success"}),
    ),
    "a suspended subagent goes on in the next run": [
        *run(subagent("STARTED"), subagent("FINISHED", outcome={"type": "suspended"}), outcome=asks(**A)),
        *run(subagent("STARTED"), *text(**A), subagent("FINISHED"), key="run-2"),
    ],
    "a call that belongs to its message's owner, untagged": run(
        *(*text(**A), *call(parentMessageId="msg-1"), calls(parentMessageId="msg-1", **A), called(**A), result())
    ),
    # ---- state, messages, activities
    "no snapshot of the messages": run(*text(), *call(), result()),
    "a snapshot of no messages": run(messages(), *text()),
    "a state that is null, then a delta": run(
        state(None), changes(op("replace", "", value={"a": 1})), changes(op("add", "/b", value=None))
    ),
    "a state of any kind": run(state([1]), changes(op("add", "/-", value=2)), state("text"), changes(), state(5)),
    "operations of every kind": run(
        state({"a": [1, 2], "b/c": {"~": 1}, "": 0}),
        changes(
            *(op("test", "/a/0", value=1.0), op("move", "/d", **{"from": "/a/1"}), op("remove", "/b~1c/~0")),
            *(op("copy", "/e", **{"from": "/b~1c"}), op("add", "/a/-", value=3), op("replace", "/", value=1)),
            op("remove", "/d", value="left over", note="operations are open"),
        ),
    ),
    "an activity is amended in the next run": [
        *run(activity({"found": 0})),
        *run(amends(op("replace", "/found", value=3)), key="run-2"),
    ],
    "a declined snapshot changes nothing": run(
        activity({"found": 0}), activity({"seen": 0}, replace=False), amends(op("replace", "/found", value=1))
    ),
    "a replaced activity is another owner's": run(
        activity({}, **A), activity({}), amends(), activity({}, **B), amends(**B)
    ),
    "an activity changes its type": run(activity({}), amends(activityType="checklist", metadata={"acme.n": 1})),
    "messages of every kind": run(
        messages(
            *(user("a", "1"), user([{"type": "text", "text": "b"}], "2"), user("", "3", name="Ann", metadata={})),
            *({"id": "4", "role": "system", "content": "c"}, {"id": "5", "role": "developer", "content": "d"}),
            *(assistant(key="6", toolCalls=[has_called(encryptedValue="ZQ==")], **A), tool_message(error="no")),
            *(
                {"id": "7", "role": "reasoning", "content": "", "encryptedValue": "ZQ=="},
                {"id": "8", "role": "activity", "activityType": "x", "content": {"a": None}},
            ),
        ),
        artefact("7"),
        artefact("call-1", "tool-call"),
        amends(message="8"),
    ),
    "a snapshot gives a message another owner": run(*text(**A), messages(assistant("It is", **B)), *text(**B)),
    # ---- extras
    "names with a prefix of any kind": run(*(custom(name) for name in ("acme.x", "acme:x", "acme/x", "acme-x", "@x"))),
    "values of any kind": run(custom(value=None), custom(value=[]), raw(None), raw(0, source="acme")),
    "time, origin and metadata on everything": [
        {**event, "timestamp": 1_700_000_000_000, "rawEvent": {"id": None}, "metadata": {"acme.n": None, "acme.o": {}}}
        for event in run(*text(), *call(), result(), state({}), step("STARTED"), step("FINISHED"), chunk("a", "msg-3"))
    ],
    "numbers at their ends": run(custom(timestamp=0), custom(timestamp=-(2**53) + 1), custom(timestamp=2**53 - 1)),
    "an integer that is written as 5.0": run(custom(timestamp=5.0), usage=[{"inputTokens": 1e3, "outputTokens": 2.0}]),
    "text of every script": run(
        *text("👩\u200d🚀 ελληνικά \u0000 \u2028"), *text("\ud83d", "\ud800"), custom("acme.ü")
    ),
    "identifiers that are empty or long": run(
        *text(message=""), *text(message="m" * 10_000), *call(key=""), result("")
    ),
}


OLD_INPUT = {
    **dict.fromkeys(("state", "tools", "context", "forwardedProps", "resume", "parentRunId")),
    "threadId": "thread-1",
    "runId": "run-1",
    "messages": [user(name=None), {**assistant(toolCalls=[has_called(encryptedValue=None)]), "content": None}],
}
CONFIRM = tool("confirm")
ANSWERED = [user(), assistant(toolCalls=[has_called("confirm")]), tool_message(content="yes")]


def asked(**more):
    return {**INPUT, **more}


PICTURE = {"type": "image", "source": {"type": "file", "value": "file-7", "provider": "acme"}}
PAPER = {
    "type": "document",
    "source": {"type": "url", "value": "https://example.com/a.pdf", "mimeType": "application/pdf"},
}
SEEN = [user([{"type": "text", "text": "What is this?"}, PICTURE, PAPER])]

EXCHANGES = {
    # ---- what the input established
    "a result without a start on a resumed run": (
        {"runInput": asked(messages=HISTORY, resume=[{"interruptId": "interrupt-1", "status": "resolved"}])},
        run(result(), *text("Sunny.", "msg-3")),
    ),
    "a message of the history is reopened": (
        {"runInput": asked(messages=HISTORY)},
        run(*text("Sunny.", name="Planner"), *call(arguments="}", parentMessageId="msg-1"), result()),
    ),
    "a message of a subagent in the history is reopened": (
        {"runInput": asked(messages=[user(), assistant("It is ", **A)])},
        run(*text("sunny", **A), *call(parentMessageId="msg-1", **A), result()),
    ),
    "an artefact of the history": (
        {"runInput": asked(messages=HISTORY)},
        run(artefact("msg-1"), artefact("call-1", "tool-call")),
    ),
    "a snapshot restates the application's answers": (
        {"runInput": asked(messages=ANSWERED, tools=[CONFIRM])},
        run(messages(*ANSWERED), *text("Done.", "msg-3")),
    ),
    "a snapshot of this run's frontend call": (
        {"runInput": asked(tools=[CONFIRM])},
        run(
            *call("confirm"), messages(user(), assistant(toolCalls=[has_called("confirm")])), outcome=pending("call-1")
        ),
    ),
    "history as snapshots": (
        {"runInput": asked(messages=ANSWERED, state={"a": 1})},
        run(messages(*ANSWERED), state({"a": 1}), changes(op("remove", "/a"))),
    ),
    "a message of the history says more": (
        {"runInput": asked(messages=[user(), assistant("It is")])},
        run(*text(" sunny.")) + run(*text("It is sunny."), key="run-1"),
    ),
    "a delta of the input's state": (
        {"runInput": asked(state={"tasks": []})},
        run(changes(op("add", "/tasks/0", value="plan"))),
    ),
    "a delta of no state, which is the empty object": ({"runInput": INPUT}, run(changes(op("add", "/a", value=1)))),
    "a frontend call beside a question about another call": (
        {"runInput": asked(tools=[CONFIRM])},
        run(*call("confirm"), *call("pay", "call-2"), outcome=asks(toolCallId="call-2")),
    ),
    "a frontend call beside a question about nothing": (
        {"runInput": asked(tools=[CONFIRM])},
        run(*call("confirm"), outcome=asks(message="Which one?")),
    ),
    "a frontend call beside a call of the agent's own": (
        {"runInput": asked(tools=[CONFIRM])},
        run(*call("confirm"), *call("search", "call-2"), result("call-2"), outcome=pending("call-1")),
    ),
    "a frontend call of a run that was stopped": (
        {"runInput": asked(tools=[CONFIRM]), "stopped": True},
        run(*call("confirm"), outcome=CANCELLED),
    ),
    "a stop that could not close in order": ({"stopped": True}, [started(), opens(), failed("The run was stopped.")]),
    "a stop that came too late to change the last run": (
        {"stopped": True, "runInput": INPUT},
        run(*text(), key="run-0") + run(outcome=CANCELLED),
    ),
    "a replay in which an earlier run called what is advertised no more": (
        {"runInput": asked(runId="run-2", tools=[tool("draw")])},
        run(*call("confirm"), outcome=pending("call-1")) + run(messages(*ANSWERED), key="run-2"),
    ),
    "a run input that the stream echoes": (
        {"runInput": asked(messages=HISTORY)},
        [started(input=asked(messages=HISTORY)), result(), finished()],
    ),
    # ---- content parts
    "a failure over something else than the parts of the input": (
        {"runInput": asked(messages=SEEN)},
        [started(), failed("acme answered 429; see the documentation. imaged: 0", code="rate_limited")],
    ),
    "a part that the model cannot use is left out": (
        {"runInput": asked(messages=SEEN)},
        run(*text("I cannot read that document or image.")),
    ),
    # ---- older peers
    "an older peer, with nulls": ({"runInput": OLD_INPUT, "status": 200, "headers": SSE}, run(*text(), result())),
    "an older peer does not know pending calls": (
        {"runInput": {**OLD_INPUT, "tools": [CONFIRM]}},
        run(*call("confirm", "call-2"), outcome={"type": "success"}),
    ),
    "a downgrade leaves things out": (
        {
            "runInput": OLD_INPUT,
            "reference": run(
                subagent("STARTED"), *text(**A), subagent("FINISHED"), result(content=[]), *text("b", "msg-2")
            ),
        },
        run(*text(), result(content=""), *text("b", "msg-2")),
    ),
    "a downgrade spells chunks out": (
        {
            "runInput": OLD_INPUT,
            "reference": run(chunk("It is ", "msg-1"), chunk("sunny."), step("STARTED"), step("FINISHED")),
        },
        run(opens(role="assistant"), says("It is "), says("sunny."), closes(), step("STARTED"), step("FINISHED")),
    ),
    "a downgrade of a stop fails the run": (
        {"runInput": OLD_INPUT, "reference": run(*text(), outcome=CANCELLED)},
        [started(), *text(), failed("The run was stopped.", code="cancelled")],
    ),
    # ---- HTTP
    "a content type with a charset": (
        {"status": 200, "headers": {"Content-Type": "Text/Event-Stream; Charset=UTF-8"}, "ending": "closed"},
        run(),
    ),
    "a stream that opens with a failure": ({"status": 200, "headers": SSE, "ending": "closed"}, [failed()]),
    "a connection that broke after the end": ({"status": 200, "headers": SSE, "ending": "broken"}, run()),
    "SSE for a client that takes anything": ({"accept": "*/*", "status": 200, "headers": SSE}, run()),
    "protobuf for a client that takes anything": ({"accept": "*/*", "status": 200, "headers": PROTOBUF}, run()),
    "SSE for a client that refuses protobuf": (
        {
            "accept": "*/*, application/vnd.ag-ui.event+proto;q=0",
            "status": 200,
            "headers": SSE,
            "capabilities": {"transport": {"httpBinary": True}},
        },
        run(),
    ),
    "unknown material in the input is left out": (
        {
            "runInput": asked(mood="good", messages=[user(), {"id": "x", "role": "critic"}]),
            "status": 200,
            "headers": SSE,
        },
        run(),
    ),
    "a version of the next major is refused": (
        {"runInput": asked(protocolVersion="2.0"), "status": 400, "headers": JSON, "refusal": "protocolVersion 2.0"},
        [],
    ),
    "capabilities with parts of their own": (
        {"capabilities": {"custom": {"acme.x": None}, "tools": {"supported": True}}},
        run(),
    ),
}


@pytest.mark.parametrize(
    ("status", "says"),
    [
        (401, "No context: the token has expired."),
        (403, "These tools are for other users."),
        (404, "No such agent; its state is unknown."),
        (409, "The thread has an active run; wait for that state to end."),
        (413, "The body is too large: over 1 MB of state, tools and context."),
        (429, "Too many runs: protocolVersion 1.9 and theme come later."),
        (503, "The server stops; its state is draining."),
    ],
)
def test_a_refusal_for_another_reason_is_quiet(status, says):
    """Whatever words it uses, and though the input leaves lists out, has unknown members, and a newer minor."""
    run_input = asked(theme="dark", protocolVersion="1.9", messages=SEEN)
    refused = recording(runInput=run_input, status=status, headers=JSON, refusal=says)
    assert findings(refused) == []


@pytest.mark.parametrize("stream", STREAMS.values(), ids=STREAMS)
def test_a_legal_stream_is_quiet(stream):
    assert findings(recording(*stream)) == []


@pytest.mark.parametrize("stream", STREAMS.values(), ids=STREAMS)
def test_a_legal_stream_over_http_is_quiet(stream):
    known = {"runInput": asked(runId=_last_run(stream)), "status": 200, "headers": SSE, "ending": "closed"}
    assert findings(recording(*map(sse_line, stream), **known)) == []


def _last_run(stream):
    return next((event["runId"] for event in reversed(stream) if event["type"] == "RUN_STARTED"), "run-1")


@pytest.mark.parametrize(("known", "stream"), EXCHANGES.values(), ids=EXCHANGES)
def test_a_legal_exchange_is_quiet(known, stream):
    assert findings(recording(*stream, **known)) == []


def _sse(*events):
    return b"".join(b"data: " + json.dumps(event).encode() + b"\n\n" for event in events)


WHOLE = run(*text("Sunny,\nin 👩\u200d🚀"), usage=[{"inputTokens": 5}])
BODIES = {
    "comments": b": hello\n\n" + _sse(*WHOLE[:2]) + b":\n: keep-alive\n\n" + _sse(*WHOLE[2:]) + b": bye\n",
    "comments within events": _sse(*WHOLE).replace(b"data: ", b": a\ndata: "),
    "fields that are not used": b"retry: 3000\n\n"
    + _sse(*WHOLE).replace(b"data: ", b"event: message\nid: 7\ndata: ").replace(b"\n\n", b"\nx-acme: 1\n\n"),
    "no space after the colon": _sse(*WHOLE).replace(b"data: ", b"data:"),
    "data on several lines": _sse(*WHOLE).replace(b', "', b',\ndata: "'),
    "data with white space around": _sse(*WHOLE).replace(b"data: ", b"data:  \t").replace(b"\n\n", b"  \n\n"),
    "more blank lines than needed": b"\n\n\n" + _sse(*WHOLE).replace(b"\n\n", b"\n\n\n\n"),
    "a byte order mark": b"\xef\xbb\xbf" + _sse(*WHOLE),
    "JSON that is not escaped": b"".join(
        b"data: " + json.dumps(event, ensure_ascii=False).encode() + b"\n\n" for event in WHOLE
    ),
    "JSON that is escaped throughout": _sse(*WHOLE).replace(b'"type"', rb'"\u0074ype"').replace(b"/", rb"\/"),
    "numbers in other words": _sse(*WHOLE).replace(b": 5}", b": 0.5e1}"),
    "lone surrogates": _sse(*run(*text("\ud83d", "\udc00"), custom(value={"\ud800": "\udfff"}))),
    "an event as long as a book": _sse(*run(*text("x" * 300_000))),
}


@pytest.mark.parametrize("body", BODIES.values(), ids=BODIES)
def test_legal_bytes_are_quiet_in_any_pieces(body):
    sizes = (1, 7, len(body)) if len(body) < 10_000 else (4096, len(body))
    for size in sizes:
        chunks = [body[start : start + size] for start in range(0, len(body), size)]
        known = Exchange(run_input=INPUT, status=200, headers=SSE, ending=Ending.CLOSED, body=chunks)
        assert [str(finding) for finding in judge(known)] == []


def findings(recorded):
    return [str(finding) for finding in held(recorded).findings]


# ---- this repository's own agent -----------------------------------------------------------------


def showing(scenario, **more):
    return {**INPUT, "messages": [user(f"Please show {scenario}!")], "tools": [tool("pick")], "state": {"a": 1}, **more}


@pytest.mark.anyio
@pytest.mark.parametrize("scenario", SCENARIOS)
async def test_what_the_pipeline_makes_of_each_scenario_of_the_demo_is_quiet(scenario):
    run_input = showing(scenario)
    pipeline, warnings = make_pipeline(**run_input)
    numbers = itertools.count()
    context = RunContext(
        RunAgentInput.model_validate(run_input),
        asyncio.Event(),
        lambda: f"demo-{next(numbers)}",
        lambda: datetime.now(UTC),
        warnings.append,
    )
    events = list(pipeline.start())
    try:
        async with aclosing(Demo(pace=0).run(context)) as steps:
            async for taken in steps:
                events += pipeline.feed(taken)
                if scenario == "slow":
                    events += pipeline.cancel("enough")
                    break
            else:
                events += pipeline.finish()
    except (AdapterError, RuntimeError):  # what the scenarios `error` and `crash` raise
        events += pipeline.fail("It failed.", "failed", "request-1")
    assert findings(recording(*events, runInput=run_input, stopped=scenario == "slow")) == []


@pytest.mark.anyio
@pytest.mark.parametrize("peer", ["current", "older"])
@pytest.mark.parametrize("scenario", [name for name in SCENARIOS if name != "slow"])
async def test_each_scenario_of_the_demo_is_quiet_over_http(scenario, peer):
    run_input = showing(scenario)
    if peer == "older":
        del run_input["protocolVersion"]
    async with serving({"demo": Demo(pace=0)}) as served:
        response, events = await served.run(run_input, accept="text/event-stream")
    assert len(events) > 2
    known = Exchange(
        run_input=run_input,
        accept="text/event-stream",
        status=response.status_code,
        headers=response.headers,
        body=[response.content],
        ending=Ending.CLOSED,
    )
    assert [str(finding) for finding in judge(known)] == []


@pytest.mark.anyio
async def test_the_resumed_run_of_the_demo_is_quiet():
    run_input = showing("approval")
    async with serving({"demo": Demo(pace=0)}) as served:
        _, asked_for = await served.run(run_input)
        conversation = Conversation(run_input["messages"], run_input["state"])
        for event in asked_for:
            conversation.apply(event)
        (interrupt,) = asked_for[-1]["outcome"]["interrupts"]
        entry = {"interruptId": interrupt["id"], "status": "resolved", "payload": {"approved": True}}
        resumed = {**run_input, "runId": "run-2", "messages": conversation.messages, "resume": [entry]}
        _, events = await served.run(resumed)
    assert "TOOL_CALL_RESULT" in {event["type"] for event in events}
    assert findings(recording(*events, runInput=resumed)) == []
