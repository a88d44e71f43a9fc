"""What a graph asks for, in the protocol's words: every way in which a node can ask."""

from dataclasses import dataclass
from typing import Annotated, Literal

import jsonschema
import pytest
from langchain.agents.middleware.human_in_the_loop import _decision_schema
from langchain_core.messages import AIMessage, HumanMessage
from langchain_core.tools import tool
from langgraph.types import Interrupt
from pydantic import BaseModel, Field, TypeAdapter

from adapters.base import ResumeRefused
from adapters.langgraph.frontend import PAUSE
from adapters.langgraph.interrupts import DISMISSED, ask, questions


class Form(BaseModel):
    name: str = Field(min_length=1)
    size: int


@dataclass
class Concern:
    question: str
    severity: int


@tool
def pay(amount: int, to: str = "me") -> str:
    """Pay."""
    return "paid"


@pytest.mark.parametrize(
    ("value", "reason", "message", "call"),
    [
        ("How old are you?", "langgraph:interrupt", "How old are you?", None),
        ({"question": "Sure?"}, "langgraph:interrupt", "Sure?", None),
        ({"message": "A", "description": "B", "question": "C"}, "langgraph:interrupt", "A", None),
        ({"type": "deletion", "description": "B"}, "deletion", "B", None),
        ({"reason": "policy:check", "type": "deletion"}, "policy:check", None, None),
        ({"toolCallId": "c1", "type": "deletion"}, "tool_call", None, "c1"),
        ({"tool_call_id": "c1", "reason": "policy:check"}, "policy:check", None, "c1"),
        ({"responseSchema": {"type": "string"}}, "input_required", None, None),
        ({"reason": 5, "type": None, "message": ["x"], "toolCallId": ""}, "langgraph:interrupt", None, None),
        (Concern("Why?", 2), "langgraph:interrupt", "Why?", None),
        (["a"], "langgraph:interrupt", None, None),
        (None, "langgraph:interrupt", None, None),
        ("", "langgraph:interrupt", "", None),
    ],
)
def test_a_value_says_what_it_is_about(value, reason, message, call):
    (asked,) = ask([Interrupt(value, id="a" * 32)])
    assert (asked.id, asked.reason, asked.message, asked.tool_call_id) == ("a" * 32, reason, message, call)
    assert asked.metadata == (None if isinstance(value, str) else {"langgraph": value})


@pytest.mark.parametrize(
    ("schema", "shown"),
    [
        (Form, Form.model_json_schema()),
        (Form.model_json_schema(), Form.model_json_schema()),
        (bool, {"type": "boolean"}),
        (Literal["a", "b"], {"enum": ["a", "b"], "type": "string"}),
        (None, None),
    ],
)
def test_the_schema_that_a_node_declares_is_shown(schema, shown):
    (asked,) = ask([Interrupt("?", id="i", response_schema=schema)])
    assert asked.response_schema == shown


def test_an_expiry_is_passed_on():
    (asked,) = ask([Interrupt({"expiresAt": "2030-01-01T00:00:00Z"}, id="i")])
    assert asked.expires_at == "2030-01-01T00:00:00Z"


def test_every_interrupt_is_asked_for_once_and_no_frontend_pause():
    """B21."""
    pending = [Interrupt(str(one), id=one) for one in ("a", "b", "a")]
    assert [one.id for one in ask([*pending, Interrupt({PAUSE: "confirm", "call": "f1"}, id="c")])] == ["a", "b"]


# ---- reviews of one call --------------------------------------------------------------------------


def approval(*allowed):
    """What LangChain's middleware asks with when it asks for each call."""
    value = {"type": "tool_approval", "tool_call_id": "c1", "name": "pay", "args": {"amount": 1}, "description": "Pay?"}
    schema = TypeAdapter(_decision_schema(allowed, "pay", pay)).json_schema()
    (found,) = questions([Interrupt(value, id="i", response_schema=schema)])
    return found


def review(*allowed, calls=()):
    """What it asks with when it asks for a message's calls at once, here for one or more calls of `pay`."""
    requests = [
        {"name": "pay", "args": {"amount": place}, "description": f"Pay {place}?"} for place in range(len(allowed))
    ]
    configs = [{"action_name": "pay", "allowed_decisions": list(kinds)} for kinds in allowed]
    known = [HumanMessage("x"), AIMessage("", tool_calls=list(calls))]
    value = {"action_requests": requests, "review_configs": configs}
    (found,) = questions([Interrupt(value, id="i")], known=known)
    return found


ALL = ("approve", "edit", "reject", "respond")
EDITED = {"type": "edit", "edited_action": {"name": "pay", "args": {"amount": 2}}}
ANSWERS = [
    ({"approved": True}, {"type": "approve"}),
    ({"approved": True, "editedArgs": {"amount": 2}}, EDITED),
    ({"approved": True, "editedArgs": None, "reason": None}, {"type": "approve"}),
    ({"approved": True, "reason": "fine", "more": 1}, {"type": "approve"}),
    ({"approved": False}, {"type": "reject"}),
    ({"approved": False, "reason": ""}, {"type": "reject"}),
    ({"approved": False, "reason": "too much"}, {"type": "reject", "message": "too much"}),
    ({"approved": False, "editedArgs": {"amount": 2}}, {"type": "reject"}),
    ({"type": "approve"}, {"type": "approve"}),
    (EDITED, EDITED),
    ({"type": "respond", "message": "done by hand"}, {"type": "respond", "message": "done by hand"}),
]
NO_ANSWERS = [
    None,
    True,
    "yes",
    [],
    {},
    {"approved": "yes"},
    {"approved": 1},
    {"approved": None},
    {"approved": True, "editedArgs": 5},
    {"approved": False, "reason": 5},
    {"type": "maybe"},
    {"type": "respond"},
    {"type": "edit", "edited_action": {"name": "pay"}},
]


def test_one_call_is_asked_for_as_every_framework_asks():
    asked = approval(*ALL).asked
    assert (asked.reason, asked.tool_call_id, asked.message) == ("tool_call", "c1", "Pay?")
    schema = asked.response_schema
    jsonschema.Draft202012Validator.check_schema(schema)
    assert (schema["required"], schema["properties"].keys()) == (["approved"], {"approved", "editedArgs", "reason"})
    holds = jsonschema.Draft202012Validator(schema).is_valid
    assert holds({"approved": True, "editedArgs": {"amount": 2}})
    assert not holds({"approved": True, "editedArgs": {"amount": "a lot"}})


@pytest.mark.parametrize(("payload", "decision"), ANSWERS)
def test_an_approval_is_read_as_a_decision(payload, decision):
    """B30."""
    assert approval(*ALL).value(payload) == decision
    assert review(ALL).value(payload if "type" not in payload else {"decisions": [payload]}) == {
        "decisions": [decision]
    }


@pytest.mark.parametrize("payload", NO_ANSWERS)
def test_anything_else_is_no_answer(payload):
    """B30."""
    for question in (approval(*ALL), review(ALL)):
        with pytest.raises(ResumeRefused, match="The answer to interrupt 'i' does not fit its schema at payload"):
            question.value(payload)


@pytest.mark.parametrize(
    ("allowed", "properties", "refused"),
    [
        (("approve", "reject"), {"approved", "reason"}, {"approved": True, "editedArgs": {"amount": 2}}),
        (("approve", "edit"), {"approved", "editedArgs"}, {"approved": False}),
        (("approve",), {"approved"}, {"approved": False}),
    ],
)
def test_what_is_not_allowed_is_neither_offered_nor_taken(allowed, properties, refused):
    for question in (approval(*allowed), review(allowed)):
        assert question.asked.response_schema["properties"].keys() == properties
        with pytest.raises(ResumeRefused):
            question.value(refused)
        assert question.hears_dismissal == ("reject" in allowed)


@pytest.mark.parametrize("allowed", [("respond",), ("reject", "respond")])
def test_a_call_that_nobody_can_approve_takes_langchains_decisions(allowed):
    for question, told in ((approval(*allowed), {"type": "respond", "message": "42"}), (review(allowed), None)):
        assert "approved" not in question.asked.response_schema.get("properties", {})
        payload = told or {"decisions": [{"type": "respond", "message": "42"}]}
        assert question.value(payload) == payload
        with pytest.raises(ResumeRefused):
            question.value({"approved": True})


def test_a_dismissed_review_is_a_rejection_of_each_call():
    """Fault 1 of LangGraph's own adapter: no truthy stand-in for an answer."""
    rejected = {"type": "reject", "message": DISMISSED}
    assert approval(*ALL).dismissed == rejected
    assert review(ALL, ALL).dismissed == {"decisions": [rejected, rejected]}
    assert all(question.hears_dismissal for question in (approval(*ALL), review(ALL, ALL)))
    assert not review(ALL, ["approve"]).hears_dismissal


# ---- reviews of several calls in one ---------------------------------------------------------------


def test_several_calls_in_one_take_a_decision_each_in_their_order():
    question = review(ALL, ["approve", "reject"])
    assert (question.asked.message, question.asked.reason, question.asked.tool_call_id) == (
        "Pay 0?\n\nPay 1?",
        "input_required",
        None,
    )
    jsonschema.Draft202012Validator.check_schema(question.asked.response_schema)
    payload = {"decisions": [EDITED, {"type": "reject", "message": "no"}]}
    assert question.value(payload) is payload
    for wrong in (
        {"decisions": [EDITED]},
        {"decisions": [{"type": "approve"}, EDITED]},
        {"decisions": [{"type": "approve"}] * 3},
        {"approved": True},
        None,
    ):
        with pytest.raises(ResumeRefused):
            question.value(wrong)


def test_one_call_in_such_a_review_is_found_in_the_conversation():
    def call(key, amount):
        return {"name": "pay", "args": {"amount": amount}, "id": key, "type": "tool_call"}

    asked = review(ALL, calls=[call("c1", 5), call("c2", 0)]).asked
    assert (asked.reason, asked.tool_call_id) == ("tool_call", "c2")
    asked = review(ALL, calls=[call("c1", 0), call("c2", 0)]).asked
    assert (asked.reason, asked.tool_call_id) == ("confirmation", None)


@pytest.mark.parametrize(
    "value",
    [
        {"action_requests": [], "review_configs": []},
        {"action_requests": [{"name": "a"}], "review_configs": []},
        {"action_requests": [{"action": "a"}], "review_configs": [{"allowed_decisions": ["approve"]}]},
        {"action_requests": [{"name": "a"}], "review_configs": [{"allowed_decisions": ["maybe"]}]},
        {"action_requests": "all", "review_configs": "all"},
        {"type": "tool_approval", "tool_call_id": "c1"},
    ],
)
def test_what_only_looks_like_a_review_is_given_its_answer_as_it_is(value):
    (question,) = questions([Interrupt(value, id="i")])
    assert question.asked.response_schema is None
    assert question.value({"approved": True}) == {"approved": True}
    assert question.dismissed is None


# ---- breakpoints, and plain answers ----------------------------------------------------------------


def test_a_breakpoint_is_a_confirmation_with_a_name_of_its_own():
    (one,), (again,), (later,) = (ask([], ["b", "c"], step) for step in ("s1", "s1", "s2"))
    assert one == again
    assert one.id != later.id
    assert (one.reason, one.message) == ("confirmation", "Continue with b, c?")
    assert one.metadata == {"langgraph": {"breakpoint": ["b", "c"]}}
    assert one.response_schema["required"] == ["approved"]


@pytest.mark.parametrize("payload", [False, 0, "", [], {}, None, {"a" * 32: "v"}, {"approved": True}, {"type": "edit"}])
def test_a_plain_answer_is_given_as_it_is(payload):
    """B25."""
    (question,) = questions([Interrupt({"question": "?"}, id="i")])
    assert question.value(payload) is payload


def test_an_answer_is_held_to_the_schema_of_its_node():
    (question,) = questions([Interrupt("?", id="i", response_schema=Form)])
    assert question.value({"name": "a", "size": 1}) == {"name": "a", "size": 1}
    with pytest.raises(ResumeRefused, match="'i' does not fit its schema at payload/size: expected an integer"):
        question.value({"name": "a", "size": "1"})
    assert not question.hears_dismissal
    (question,) = questions([Interrupt("?", id="i", response_schema=Annotated[int | None, "x"])])
    assert question.hears_dismissal
