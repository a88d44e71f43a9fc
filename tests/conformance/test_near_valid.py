"""Valid streams are quiet, and valid ones broken in one or two places are refused for the right requirement.

A stream is woven of threads: the events of one message, call, thought, step, subagent or activity, in order. Each way to
break a thread names the requirement that it breaks.
"""

import random

from hypothesis import given, settings
from hypothesis import strategies as st
from support.streams import order

RS = {"type": "RUN_STARTED", "threadId": "t", "runId": "r"}
RF = {"type": "RUN_FINISHED", "threadId": "t", "runId": "r"}


def message(n, owner):
    tag = {"subagentRunId": owner} if owner else {}
    content = {"type": "TEXT_MESSAGE_CONTENT", "messageId": f"m{n}", "delta": "x"}
    return [
        {"type": "TEXT_MESSAGE_START", "messageId": f"m{n}", **tag},
        {**content, **tag},
        content,
        {"type": "TEXT_MESSAGE_END", "messageId": f"m{n}"},
    ]


def call(n, owner):
    tag = {"subagentRunId": owner} if owner else {}
    return [
        {"type": "TOOL_CALL_START", "toolCallId": f"c{n}", "toolCallName": "f", **tag},
        {"type": "TOOL_CALL_ARGS", "toolCallId": f"c{n}", "delta": "{}"},
        {"type": "TOOL_CALL_END", "toolCallId": f"c{n}", **tag},
        {"type": "TOOL_CALL_RESULT", "messageId": f"t{n}", "toolCallId": f"c{n}", "content": "ok"},
    ]


def thought(n, owner):
    tag = {"subagentRunId": owner} if owner else {}
    return [
        {"type": "REASONING_START", "messageId": f"s{n}", **tag},
        {"type": "REASONING_MESSAGE_START", "messageId": f"z{n}", "role": "reasoning", **tag},
        {"type": "REASONING_MESSAGE_CONTENT", "messageId": f"z{n}", "delta": "x"},
        {"type": "REASONING_MESSAGE_END", "messageId": f"z{n}"},
        {"type": "REASONING_END", "messageId": f"s{n}"},
    ]


def step(n, owner):
    tag = {"subagentRunId": owner} if owner else {}
    return [{"type": kind, "stepName": f"p{n}", **tag} for kind in ("STEP_STARTED", "STEP_FINISHED")]


def activity(n, owner):
    tag = {"subagentRunId": owner} if owner else {}
    base = {"messageId": f"a{n}", "activityType": "x"}
    delta = {"type": "ACTIVITY_DELTA", **base, "patch": []}
    return [{"type": "ACTIVITY_SNAPSHOT", **base, "content": {}, **tag}, delta, {**delta, **tag}]


def subagent(n, _):
    key = {"subagentRunId": f"sub{n}"}
    return [{"type": "SUBAGENT_STARTED", "name": "n", **key}, {"type": "SUBAGENT_FINISHED", **key}]


THREADS = {make.__name__: make for make in (message, call, thought, step, activity, subagent)}


def drop(*places):
    return lambda events: [event for n, event in enumerate(events) if n not in places]


def double(place):
    return lambda events: [*events[: place + 1], events[place], *events[place + 1 :]]


def retag(place):
    return lambda events: [{**e, "subagentRunId": "stranger"} if n == place else e for n, e in enumerate(events)]


def reopened(**change):
    return lambda events: [*events, {**events[0], **change}, events[-1] if "END" in events[-1]["type"] else events[2]]


WAYS = {
    "message": [
        ("item-open-first", drop(0)),
        ("item-opens-once", double(0)),
        ("run-items-closed", drop(3)),
        ("item-open-first", double(3)),
        ("owner-agrees", retag(1)),
        ("owner-agrees", retag(3)),
        ("reopen-agrees", reopened(role="user")),
    ],
    "call": [
        ("item-open-first", drop(0)),
        ("item-opens-once", double(0)),
        ("run-items-closed", drop(2)),
        ("owner-agrees", retag(1)),
        ("reopen-agrees", reopened(toolCallName="g")),
    ],
    "thought": [
        ("reasoning-span-pairs", drop(0)),
        ("reasoning-span-pairs", double(0)),
        ("reasoning-message-pairs", drop(1)),
        ("reasoning-message-pairs", double(1)),
        ("run-items-closed", drop(3)),
        ("run-items-closed", drop(4)),
        ("owner-agrees", retag(2)),
    ],
    "step": [
        ("step-closes-open", drop(0)),
        ("step-opens-once", double(0)),
        ("run-items-closed", drop(1)),
        ("owner-agrees", retag(1)),
    ],
    "activity": [("activity-baseline", drop(0)), ("owner-agrees", retag(1))],
    "subagent": [
        ("subagent-ends", drop(0)),
        ("subagent-starts-once", double(0)),
        ("subagent-ends", drop(1)),
        ("subagent-ends", double(1)),
        ("subagent-starts-once", lambda events: events * 2),
        ("subagent-parent-known", lambda events: [{**events[0], "parentSubagentRunId": "nobody"}, events[1]]),
    ],
}

BRACKET = [
    ("run-opens-stream", lambda body: [*body, RF]),
    ("run-not-nested", lambda body: [RS, RS, *body, RF]),
    ("run-ends", lambda body: [RS, *body]),
    ("run-closed-is-closed", lambda body: [RS, *body, RF, {"type": "CUSTOM", "name": "a.b", "value": 1}]),
    ("run-id-agrees", lambda body: [RS, *body, {**RF, "runId": "x"}]),
    ("run-thread-echoed", lambda body: [RS, *body, {**RF, "threadId": "x"}]),
    (
        "pending-exact",
        lambda body: [RS, *body, {**RF, "outcome": {"type": "success", "pendingToolCallIds": ["nobody"]}}],
    ),
]


def weave(threads, chance):
    """Interleave the threads, each in its own order."""
    threads = [list(thread) for thread in threads if thread]
    woven = []
    while threads:
        thread = chance.choice(threads)
        woven.append(thread.pop(0))
        if not thread:
            threads.remove(thread)
    return woven


@st.composite
def woven(draw, *, at_least=0):
    """The kinds of some threads, the threads, and how to weave them."""
    kinds = draw(st.lists(st.sampled_from(sorted(THREADS)), min_size=at_least, max_size=7))
    owners = [draw(st.sampled_from([None, "o1", "o2"])) for _ in kinds]
    threads = [THREADS[kind](n, owner) for n, (kind, owner) in enumerate(zip(kinds, owners, strict=True))]
    return kinds, threads, random.Random(draw(st.integers(0, 2**32)))


def rules(stream):
    return sorted({breach.rule for breach in order(stream)})


@settings(max_examples=500, deadline=None)
@given(woven())
def test_valid_streams_are_quiet(drawn):
    _, threads, chance = drawn
    assert order([RS, *weave(threads, chance), RF]) == []


@settings(max_examples=1500, deadline=None)
@given(woven(at_least=2), st.data())
def test_a_thread_broken_in_one_or_two_places_breaks_exactly_those_requirements(drawn, data):
    kinds, threads, chance = drawn
    places = data.draw(st.lists(st.integers(0, len(kinds) - 1), min_size=1, max_size=2, unique=True))
    expected = set()
    for place in places:
        rule, break_it = data.draw(st.sampled_from(WAYS[kinds[place]]))
        threads[place] = break_it(threads[place])
        expected.add(rule)
    assert rules([RS, *weave(threads, chance), RF]) == sorted(expected)


@settings(max_examples=300, deadline=None)
@given(woven(at_least=1), st.sampled_from(BRACKET))
def test_a_broken_bracket_breaks_its_requirement(drawn, way):
    _, threads, chance = drawn
    rule, wrap = way
    assert rules(wrap(weave(threads, chance))) == [rule]
