"""Which interrupts of a thread are open, and for how long."""

import asyncio
from contextlib import suppress

import pytest
from ag_ui.core import Interrupt, RunAgentInput
from structlog.testing import capture_logs
from support.agents import Scripted, run_input
from support.server import serving, until

from adapters.base import AdapterError, Cancelled, Interrupted, ResumeRefused, Success, Text, ToolCall
from sidecar.runs import asked as module
from sidecar.runs.asked import Asked, answered_twice, divided

ONE, TWO = (Interrupt(id=name, reason="confirmation") for name in ("one", "two"))
BOTH = {"one": ONE, "two": TWO}


def answering(*names, **fields):
    return run_input(resume=[{"interruptId": name, "status": "resolved"} for name in names], **fields)


# ---- the memory ---------------------------------------------------------------------------------


def test_what_is_settled_is_open_until_it_is_settled_otherwise():
    asked = Asked()
    assert dict(asked.of("a", "t")) == {}
    asked.settle("a", "t", BOTH)
    assert asked.of("a", "t") == BOTH
    asked.settle("a", "t", {"two": TWO})
    assert asked.of("a", "t") == {"two": TWO}
    asked.settle("a", "t", {})
    assert dict(asked.of("a", "t")) == {}


def test_threads_of_one_id_are_each_agents_own():
    asked = Asked()
    asked.settle("a", "t", {"one": ONE})
    asked.settle("b", "t", {"two": TWO})
    asked.settle("b", "t", {})
    assert asked.of("a", "t") == {"one": ONE}
    assert dict(asked.of("b", "t")) == {}


def test_threads_that_were_used_longest_ago_are_forgotten(monkeypatch):
    monkeypatch.setattr(module, "MOST_THREADS", 3)
    asked = Asked()
    for thread in ("t1", "t2", "t3"):
        asked.settle("a", thread, BOTH)
    asked.of("a", "t1")
    asked.settle("a", "t2", BOTH)
    asked.settle("a", "t4", BOTH)
    assert [bool(asked.of("a", thread)) for thread in ("t1", "t2", "t3", "t4")] == [True, True, False, True]


def test_threads_without_open_interrupts_take_no_place(monkeypatch):
    monkeypatch.setattr(module, "MOST_THREADS", 1)
    asked = Asked()
    asked.settle("a", "t1", BOTH)
    asked.settle("a", "t2", {})
    assert asked.of("a", "t1") == BOTH


def test_answers_are_told_from_what_stays_open_and_double_ones_are_named():
    given = RunAgentInput.model_validate(answering("two", "none", "two", "none", "once"))
    assert divided(BOTH, given) == ({"two": TWO}, {"one": ONE})
    assert answered_twice(given) == ["two", "none"]
    assert divided(BOTH, RunAgentInput.model_validate(run_input())) == ({}, BOTH)


# ---- through runs -------------------------------------------------------------------------------


class Asking:
    """Notes what is open when a run begins, and ends it as the test says."""

    def __init__(self):
        self.seen = []
        self.ends = Interrupted([ONE, TWO])

    async def __call__(self, run):
        self.seen.append(sorted(run.asked))
        yield Text("a")
        if isinstance(self.ends, BaseException):
            raise self.ends
        if self.ends == "stay":
            await asyncio.sleep(3600)
        yield self.ends


ENDS = {
    "succeeds": (Success(), []),
    "asks again": (Interrupted([TWO]), ["two"]),
    "asks for the answered one again": (Interrupted([ONE]), ["one"]),
    "is cancelled by its agent": (Cancelled("a limit"), ["two"]),
    "fails": (KeyError("x"), ["two"]),
    "fails with a message": (AdapterError("no"), ["two"]),
    "refuses the answer": (ResumeRefused("no"), ["one", "two"]),
}


@pytest.mark.anyio
@pytest.mark.parametrize(("ends", "left"), ENDS.values(), ids=ENDS)
async def test_what_is_open_after_a_run_that_answered_one_of_two_and(ends, left):
    agent = Asking()
    async with serving({"agent": Scripted(agent)}) as served:
        await served.run(run_input())
        agent.ends = ends
        await served.run(answering("one"))
        agent.ends = Success()
        await served.run(run_input())
    assert agent.seen == [[], ["one", "two"], left]


@pytest.mark.anyio
async def test_a_client_that_leaves_keeps_what_it_did_not_answer():
    agent = Asking()
    async with serving({"agent": Scripted(agent)}) as served:
        await served.run(run_input())
        agent.ends = "stay"
        reader, writer = await served.open(answering("one"))
        await reader.readuntil(b"TEXT_MESSAGE_CONTENT")
        writer.close()
        await until(lambda: not served.runtime._runs)
        agent.ends = Success()
        await served.run(run_input())
    assert agent.seen[-1] == ["two"]


@pytest.mark.anyio
async def test_an_answer_works_in_one_of_two_runs_at_once():
    """Whoever sends an approval twice has it performed once."""
    agent = Asking()
    async with serving({"agent": Scripted(agent)}) as served:
        await served.run(run_input())
        agent.ends = "stay"
        opened = [await served.open(answering("one", "two", runId=run_id)) for run_id in ("r2", "r3")]
        for reader, _ in opened:
            await reader.readuntil(b"TEXT_MESSAGE_CONTENT")
        for _, writer in opened:
            writer.close()
    assert agent.seen == [[], ["one", "two"], []]


@pytest.mark.anyio
async def test_a_run_that_refuses_its_answers_opens_nothing_that_another_used_up():
    refuses, seen = asyncio.Event(), []

    async def agent(run):
        seen.append(sorted(run.asked))
        match run.input.run_id:
            case "asks":
                yield Interrupted([ONE, TWO])
            case "refuses":
                yield Text("a")
                await refuses.wait()
                raise ResumeRefused("no")

    async with serving({"agent": Scripted(agent)}) as served:
        await served.run(run_input(runId="asks"))
        reader, writer = await served.open(answering("two", runId="refuses"))
        await reader.readuntil(b"TEXT_MESSAGE_CONTENT")
        await served.run(answering("one", runId="performs"))
        refuses.set()
        await reader.readuntil(b"invalid_resume")
        writer.close()
        await served.run(run_input(runId="looks"))
    assert seen == [[], ["one", "two"], ["one"], ["two"]]


@pytest.mark.anyio
async def test_an_agent_that_was_left_behind_closes_and_opens_nothing_when_it_comes_to_its_end():
    late, seen = asyncio.Event(), []

    async def agent(run):
        seen.append(sorted(run.asked))
        if run.input.run_id == "asks":
            yield Interrupted([ONE, TWO])
        if run.input.run_id == "ignores its stop":
            yield Text("a")
            with suppress(asyncio.CancelledError):
                await asyncio.sleep(3600)
            await late.wait()

    async with serving({"agent": Scripted(agent)}, stop_grace=0.05) as served:
        await served.run(run_input(runId="asks"))
        reader, writer = await served.open(answering("one", runId="ignores its stop"))
        await reader.readuntil(b"TEXT_MESSAGE_CONTENT")
        writer.close()
        await until(lambda: served.runtime.terms.background.left_behind)
        late.set()
        await until(lambda: not served.runtime.terms.background.left_behind)
        await served.run(run_input(runId="looks"))
    assert seen == [[], ["one", "two"], ["two"]]


@pytest.mark.anyio
async def test_a_refused_run_uses_no_answer_up():
    agent = Asking()
    async with serving({"agent": Scripted(agent)}) as served:
        await served.run(run_input())
        agent.ends = "stay"
        reader, writer = await served.open(run_input())
        await reader.readuntil(b"TEXT_MESSAGE_CONTENT")
        response, _ = await served.run(answering("one"))
        assert response.status_code == 409
        writer.close()
        await until(lambda: not served.runtime._runs)
        agent.ends = Success()
        await served.run(answering("two", runId="r3"))
    assert agent.seen[-1] == ["one", "two"]


@pytest.mark.anyio
async def test_agents_and_threads_do_not_hear_of_each_other():
    first, second = Asking(), Asking()
    async with serving({"first": Scripted(first), "second": Scripted(second)}) as served:
        await served.run(run_input(), "/agents/first")
        await served.run(run_input(), "/agents/second")
        await served.run(run_input(threadId="t2"), "/agents/first")
    assert first.seen == [*second.seen, []] == [[], []]


@pytest.mark.anyio
async def test_an_interrupt_comes_back_as_its_adapter_made_it_with_the_ids_that_travelled():
    kept = {"acme/call": {"path": "/tmp/old"}}
    seen = []

    async def agent(run):
        seen.append(run.asked)
        yield ToolCall("{}", "c", "delete")
        yield Interrupted([Interrupt(id="i", reason="tool_call", tool_call_id="c", metadata=kept)])

    history = {
        "id": "a",
        "role": "assistant",
        "toolCalls": [{"id": "c", "type": "function", "function": {"name": "delete", "arguments": "{}"}}],
    }
    async with serving({"agent": Scripted(agent)}) as served:
        _, events = await served.run(run_input(messages=[history]))
        await served.run(run_input())
    (travelled,) = events[-1]["outcome"]["interrupts"]
    assert travelled["toolCallId"] not in ("c", None)
    (interrupt,) = seen[1].values()
    assert (interrupt.id, interrupt.tool_call_id, interrupt.metadata) == ("i", travelled["toolCallId"], kept)


@pytest.mark.anyio
async def test_the_last_of_two_answers_to_one_interrupt_counts_and_the_operator_is_told():
    """Fault 4 of PydanticAI's own adapter."""
    heard = []

    async def agent(run):
        heard.append({name: entry.payload for name, entry in run.answers.items()})
        yield Text("a")

    resume = [{"interruptId": "i", "status": "resolved", "payload": payload} for payload in (True, False)]
    async with serving({"agent": Scripted(agent)}) as served:
        with capture_logs() as logged:
            await served.run(run_input(resume=resume))
    assert heard == [{"i": False}]
    warned = [line["warning"] for line in logged if line["log_level"] == "warning"]
    assert warned == ["/resume answers 'i' more than once; its last entry counts"]
