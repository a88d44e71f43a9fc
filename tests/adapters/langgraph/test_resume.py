"""What a run makes of its input, without a graph."""

import asyncio
from datetime import datetime

import pytest
from ag_ui.core import RunAgentInput
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.messages import AIMessage, ToolMessage
from langgraph.types import Interrupt
from support.agents import run_input

from adapters.base import RunContext
from adapters.langgraph.frontend import PAUSE
from adapters.langgraph.resume import refused, resume


def resumption(pending, messages=(), entries=(), breakpoints=(), known=()):
    """What `resume` says, and what it warns of. Entries are payloads by interrupt id, or the text `cancelled`."""
    answers = [
        {"interruptId": name, "status": "cancelled"}
        if payload == "cancelled"
        else {"interruptId": name, "status": "resolved", "payload": payload}
        for name, payload in entries
    ]
    given = RunAgentInput.model_validate(run_input(messages=list(messages), resume=answers))
    warnings: list[str] = []
    run = RunContext(given, asyncio.Event(), ids=iter("xyz").__next__, clock=datetime.now, warn=warnings.append)
    return resume(run, pending, breakpoints, "s1", known), warnings


def pause(call, message="m1", place=0):
    return Interrupt({PAUSE: "confirm", "call": call, "message": message, "place": place}, id=f"p-{call}")


def called(*calls, key="m1"):
    made = [{"id": call, "type": "function", "function": {"name": "confirm", "arguments": "{}"}} for call in calls]
    return {"id": key, "role": "assistant", "toolCalls": made}


def result(call, key, **fields):
    return {"id": key, "role": "tool", "toolCallId": call, "content": "yes", **fields}


USER = {"id": "u2", "role": "user", "content": "and?"}
KNOWN = [AIMessage("", id="m1", tool_calls=[{"id": one, "name": "confirm", "args": {}} for one in ("f1", "f2")])]


@given(st.lists(st.sampled_from(["a", "b", "c", "x"]), max_size=6))
def test_what_is_open_is_answered_or_stays_open(named):
    pending = [Interrupt(one, id=one) for one in "abc"]
    found, warnings = resumption(pending, entries=[(name, place) for place, name in enumerate(named)])
    assert found.answers == {name: place for place, name in enumerate(named) if name in "abc"}
    assert [one.id for one in found.uncovered] == [one for one in "abc" if one not in named]
    assert found.goes_on == bool(found.answers)
    assert len(warnings) == ("x" in named)


def test_an_unknown_answer_is_told_to_the_operator():
    found, warnings = resumption([], entries=[("x", 1)])
    assert warnings == ["the resume entry for 'x' is left out: no such interrupt is open on this thread"]
    assert (found.answers, found.goes_on) == ({}, True)


@pytest.mark.parametrize(
    ("messages", "answers", "waiting"),
    [
        ([called("f1", "f2")], {}, ["f1", "f2"]),
        ([called("f1", "f2"), result("f2", "r1")], {"p-f2": "r1"}, ["f1"]),
        ([called("f1", "f2"), result("f2", "r1"), result("f2", "r2")], {"p-f2": "r1"}, ["f1"]),
        ([result("f1", "r0"), called("f1", "f2")], {}, ["f1", "f2"]),
        ([called("f1", key="m0"), result("f1", "r0"), called("f1-b", "f2")], {}, ["f1-b", "f2"]),
        (
            [called("f1", key="m0"), result("f1", "r0"), called("f1-b", "f2"), result("f1-b", "r1")],
            {"p-f1": "r1"},
            ["f2"],
        ),
        ([result("f1", "r1"), result("f2", "r2")], {"p-f1": "r1", "p-f2": "r2"}, []),
        ([called("f1", "f2", key="other"), result("f1", "r1")], {"p-f1": "r1"}, ["f2"]),
        ([], {}, ["f1", "f2"]),
    ],
)
def test_a_call_is_answered_by_the_result_that_is_its_own(messages, answers, waiting):
    found, warnings = resumption([pause("f1"), pause("f2", place=1)], messages, known=KNOWN)
    assert {name: answer["id"] for name, answer in found.answers.items()} == answers
    assert (found.waiting, found.taken, warnings) == (waiting, frozenset(answers.values()), [])
    assert (found.goes_on, found.is_abandoned, found.restated) == (bool(answers), False, None)


def test_a_result_that_the_thread_holds_answers_nothing_again():
    old = ToolMessage("yes", id="r0", tool_call_id="f1")
    found, _ = resumption([pause("f1", None)], [called("f1", key="m0"), result("f1", "r0")], known=[old, *KNOWN])
    assert (found.answers, found.waiting) == ({}, ["f1"])


def test_calls_that_the_user_goes_past_are_closed_where_they_were_made():
    found, warnings = resumption(
        [pause("f1"), pause("f2", place=1)], [called("f1", "f2"), USER, result("f2", "r1")], known=KNOWN
    )
    assert (found.is_abandoned, found.goes_on, found.answers, found.waiting) == (True, True, {}, [])
    assert [message.id for message in found.messages] == ["m1", "f1-unanswered", "u2", "r1"]
    assert found.messages[1].error == "The application gave no result for this call."
    assert found.restated == found.messages
    assert warnings == ["calls without a result are closed as failed: 'f1'"]


def test_a_client_that_did_not_send_the_calls_is_told_nothing_of_their_end():
    found, _ = resumption([pause("f1")], [USER], known=KNOWN)
    assert (found.is_abandoned, found.restated, [message.id for message in found.messages]) == (True, None, ["u2"])


def test_calls_of_a_graph_within_fail_and_their_turn_goes_on():
    found, _ = resumption([pause("f1"), pause("f2", place=1)], [called("f1", "f2"), result("f2", "r1"), USER])
    assert {name: answer["failed"] for name, answer in found.answers.items()} == {"p-f1": True, "p-f2": False}
    assert (found.is_abandoned, found.taken) == (False, frozenset({"r1"}))


def test_calls_wait_beside_a_question_that_waits():
    found, _ = resumption([Interrupt("?", id="q"), pause("f1")], [called("f1"), USER], known=KNOWN)
    assert (found.waiting, [one.id for one in found.uncovered], found.goes_on) == (["f1"], ["q"], False)
    found, _ = resumption([Interrupt("?", id="q"), pause("f1")], [called("f1"), USER], [("q", "x")], known=KNOWN)
    assert (found.answers["q"], found.answers["p-f1"]["failed"], found.waiting) == ("x", True, [])


def test_a_result_that_only_repeats_an_answer_is_taken_out_and_the_client_is_told():
    asked = Interrupt({"toolCallId": "c1"}, id="q")
    found, _ = resumption([asked], [called("c1"), result("c1", "r1"), result("c0", "r0")], [("q", "x")])
    assert [message.id for message in found.messages] == ["m1", "r0"]
    assert found.restated == found.messages


@pytest.mark.parametrize(
    ("payload", "continues", "abandoned"),
    [({"approved": True}, True, False), ({"approved": False}, False, True), ("cancelled", False, True)],
)
def test_a_breakpoint_is_passed_or_given_up(payload, continues, abandoned):
    found, _ = resumption([], entries=[("breakpoint-s1-b", payload)], breakpoints=["b"])
    assert (found.continues, found.is_abandoned, found.uncovered, found.goes_on) == (continues, abandoned, [], True)


def test_only_langgraphs_own_refusal_is_a_refused_answer():
    assert refused(ValueError("x")) is None
