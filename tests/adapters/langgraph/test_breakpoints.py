"""Breakpoints that a graph's author set: asked for, and passed only when somebody agrees."""

import pytest
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph
from support.session import session

from adapters.langgraph import LangGraph
from conformance.consumer import Ending

pytestmark = pytest.mark.anyio


def wrapped(builder_of_inner):
    """A graph whose only node is another graph."""
    builder = StateGraph(MessagesState)
    builder.add_node("inside", builder_of_inner)
    builder.add_edge(START, "inside")
    return builder.compile(checkpointer=InMemorySaver())


class Steps:
    """A graph of three nodes."""

    def __init__(self, within=False, **breakpoints):
        self.done: list[str] = []
        builder = StateGraph(MessagesState)
        for before, name in ((START, "a"), ("a", "b"), ("b", "c")):
            builder.add_node(name, self.node(name))
            builder.add_edge(before, name)
        graph = builder.compile(checkpointer=None if within else InMemorySaver(), **breakpoints)
        self.adapter = LangGraph(wrapped(graph) if within else graph)

    def node(self, name):
        async def run(state):
            self.done.append(name)
            if name == "b" and state["messages"][-1].content == "fail":
                raise ValueError(name)

        return run


HELD = [
    ({"interrupt_before": ["b"]}, ["a"], "Continue with b?"),
    ({"interrupt_after": ["b"]}, ["a", "b"], "Continue with c?"),
    ({"interrupt_before": ["b"], "within": True}, ["a"], "Continue with inside.b?"),
    ({"interrupt_after": ["b"], "within": True}, ["a", "b"], "Continue with inside.c?"),
]
at_breakpoints = pytest.mark.parametrize(("breakpoints", "done", "message"), HELD)


@at_breakpoints
async def test_a_breakpoint_is_asked_for_and_passed_when_it_is_approved(breakpoints, done, message):
    """Fault 13 of LangGraph's own adapter."""
    steps = Steps(**breakpoints)
    async with session(steps.adapter) as client:
        run = await client.say("go")
        assert (run.ending, steps.done) == (Ending.INTERRUPTED, done)
        (asked,) = run.asked
        assert (asked["message"], asked["reason"]) == (message, "confirmation")
        again = await client.run()
        assert (again.ending, again.asked, steps.done) == (Ending.INTERRUPTED, [asked], done)
        run = await client.resume({asked["id"]: {"approved": True}})
    assert (run.ending, steps.done) == (Ending.SUCCEEDED, ["a", "b", "c"])


@at_breakpoints
@pytest.mark.parametrize("answer", ["cancelled", {"approved": False}, {"approved": False, "reason": "no"}])
async def test_a_breakpoint_that_is_dismissed_is_never_passed(breakpoints, done, message, answer):
    steps = Steps(**breakpoints)
    async with session(steps.adapter) as client:
        (asked,) = (await client.say("go")).asked
        run = await client.resume({asked["id"]: answer})
        assert (run.ending, steps.done) == (Ending.SUCCEEDED, done)
        run = await client.say(
            "once more", resume=[{"interruptId": asked["id"], "status": "resolved", "payload": {"approved": True}}]
        )
        (again,) = run.asked
    assert again["id"] != asked["id"]
    assert steps.done == done * 2


@at_breakpoints
async def test_what_is_said_at_a_breakpoint_passes_it_as_little(breakpoints, done, message):
    """B28."""
    steps = Steps(**breakpoints)
    async with session(steps.adapter) as client:
        (asked,) = (await client.say("go")).asked
        run = await client.say("well?")
    assert (run.ending, run.asked, steps.done) == (Ending.INTERRUPTED, [asked], done)


@pytest.mark.parametrize("payload", [None, {}, True, {"approved": "yes"}, {"approved": 1}])
async def test_a_breakpoint_takes_a_clear_answer_only(payload):
    steps = Steps(interrupt_before=["b"])
    async with session(steps.adapter) as client:
        (asked,) = (await client.say("go")).asked
        run = await client.resume({asked["id"]: payload})
        assert (run.error[0], steps.done) == ("invalid_resume", ["a"])


async def test_a_node_that_failed_is_no_breakpoint():
    steps = Steps(interrupt_before=["b"])
    async with session(steps.adapter) as client:
        (asked,) = (await client.say("fail")).asked
        run = await client.resume({asked["id"]: {"approved": True}})
        assert (run.error[0], steps.done) == ("internal_error", ["a", "b"])
        run = await client.say("once more")
    assert (run.ending, steps.done) == (Ending.INTERRUPTED, ["a", "b", "a"])
