"""Valid streams are quiet, and valid ones broken in one or two places are refused for the right requirement.

A stream is woven of strands: the events of one message, call, thought, step, subagent or activity, in order. Each way to
break a strand names the requirement that it breaks.
"""

import random

from hypothesis import given, settings
from hypothesis import strategies as st
from support.breakages import WAYS as BREAKAGES
from support.breakages import broken
from support.near_valid import RF, RS, RUN_INPUT, near_valid, valid, weave
from support.strands import STRANDS
from support.streams import order

from conformance.events import EVENT_TYPES
from conformance.exchange import Exchange
from conformance.judge import Judge, judge
from conformance.rules import Level


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


@st.composite
def woven(draw, *, at_least=0):
    """The kinds of some strands, the strands, and how to weave them."""
    kinds = draw(st.lists(st.sampled_from(sorted(STRANDS)), min_size=at_least, max_size=7))
    owners = [draw(st.sampled_from([None, "o1", "o2"])) for _ in kinds]
    strands = [STRANDS[kind](n, owner) for n, (kind, owner) in enumerate(zip(kinds, owners, strict=True))]
    return kinds, strands, random.Random(draw(st.integers(0, 2**32)))


def rules(stream):
    return sorted({breach.rule for breach in order(stream)})


@settings(max_examples=500, deadline=None)
@given(woven())
def test_valid_streams_are_quiet(drawn):
    _, strands, chance = drawn
    assert order([RS, *weave(strands, chance), RF]) == []


@settings(max_examples=1500, deadline=None)
@given(woven(at_least=2), st.data())
def test_a_strand_broken_in_one_or_two_places_breaks_exactly_those_requirements(drawn, data):
    kinds, strands, chance = drawn
    places = data.draw(st.lists(st.integers(0, len(kinds) - 1), min_size=1, max_size=2, unique=True))
    expected = set()
    for place in places:
        rule, break_it = data.draw(st.sampled_from(WAYS[kinds[place]]))
        strands[place] = break_it(strands[place])
        expected.add(rule)
    assert rules([RS, *weave(strands, chance), RF]) == sorted(expected)


@settings(max_examples=600, deadline=None)
@given(woven(at_least=1), st.data())
def test_a_strand_broken_in_one_place_is_one_finding_of_all_rules(drawn, data):
    kinds, strands, chance = drawn
    place = data.draw(st.integers(0, len(kinds) - 1))
    rule, break_it = data.draw(st.sampled_from(WAYS[kinds[place]]))
    strands[place] = break_it(strands[place])
    stream = [{**RS, "protocolVersion": "1.0"}, *weave(strands, chance), RF]
    assert [finding.rule.id for finding in judge(Exchange(run_input=RUN_INPUT, events=stream))] == [rule]


@settings(max_examples=300, deadline=None)
@given(woven(at_least=1), st.sampled_from(BRACKET))
def test_a_broken_bracket_breaks_its_requirement(drawn, way):
    _, strands, chance = drawn
    rule, wrap = way
    assert rules(wrap(weave(strands, chance))) == [rule]


@settings(max_examples=300, deadline=None)
@given(st.randoms(use_true_random=True))
def test_valid_streams_of_every_kind_break_nothing_that_is_a_must(chance):
    exchange = Exchange(run_input=RUN_INPUT, events=valid(chance))
    assert [finding for finding in judge(exchange) if finding.level is Level.MUST] == []


@settings(max_examples=300, deadline=None)
@given(st.randoms(use_true_random=True), st.lists(st.sampled_from(sorted(BREAKAGES)), min_size=1, max_size=4))
def test_a_stream_broken_in_any_way_is_judged_to_its_end(chance, ways):
    events = valid(chance)
    for way in ways:
        events = broken(events, way, chance)
    assert _judged(events) == len(events)


def test_an_event_without_any_one_of_its_fields_is_judged():
    events = {event["type"]: event for seed in range(200) for event in valid(random.Random(seed))}
    assert events.keys() == EVENT_TYPES
    for event in events.values():
        for name in event:
            rest = {key: value for key, value in event.items() if key != name}
            assert _judged([RS, rest, rest, RF]) == 4


def _judged(events):
    one = Judge(Exchange(run_input=RUN_INPUT))
    for event in events:
        one.feed(event)
    one.close()
    return one.count


def test_one_seed_makes_one_set_of_streams_and_leaves_a_third_of_them_whole():
    streams = list(near_valid(7, 60))
    assert streams == list(near_valid(7, 60)) != list(near_valid(8, 60))
    assert sum(not stream.ways for stream in streams) == 20
