"""Stopping runs: by their client's leaving, by request, by a shutdown; and what an agent does then."""

import asyncio
import gc
import json
import time

import pytest
from ag_ui.core import CustomEvent
from support.agents import Scripted, run_input
from support.server import serving, until
from support.streams import judge, parse_sse, types

from adapters.base import RunContext, Text, ToolCall
from conformance.run_input import parse_document
from sidecar.agents import Agents
from sidecar.app import create_app, create_runtime
from sidecar.runs.pipeline import Pipeline
from sidecar.runs.run import Request, Run
from sidecar.settings import Settings
from sidecar.wire.writer import Stream

pytestmark = pytest.mark.anyio


class Witness:
    """An agent that waits in a tool, and notes what became of it."""

    def __init__(self, *, stubborn=0.0, before=None):
        self.notes = []
        self._stubborn = stubborn
        self._before = before or [Text("a")]

    async def __call__(self, run):
        self.notes.append("began")
        try:
            for step in self._before:
                yield step
            await self._tool()
            yield Text("LATE")
        except asyncio.CancelledError:
            self.notes.append("cancelled")
            await asyncio.sleep(0)
            self.notes.append("cleaned up")
            raise
        finally:
            self.notes.append("left")

    async def _tool(self):
        try:
            await asyncio.sleep(30)
        except asyncio.CancelledError:
            if not self._stubborn:
                raise
            self.notes.append("ignored")
            await asyncio.sleep(self._stubborn)


def others():
    """The tasks of this loop but for the test's own and the server's."""
    return {task for task in asyncio.all_tasks() if "serve" not in repr(task) and task is not asyncio.current_task()}


LEAVES = {
    "in the middle of the text": [Text("a"), Text("b")],
    "in a silent gap": [Text("a")],
    "before the first event of the agent": [],
}


@pytest.mark.parametrize("before", LEAVES.values(), ids=LEAVES)
async def test_a_client_that_goes_away_takes_its_run_along(before):
    """B56, B58: the agent is cancelled and awaited, and nothing is left behind."""
    witness = Witness(before=before)
    async with serving({"witness": Scripted(witness)}) as served:
        quiet = others()
        reader, writer = await served.open(run_input())
        await reader.readuntil(b"RUN_STARTED")
        await until(lambda: "began" in witness.notes)
        left = time.monotonic()
        writer.close()
        await until(lambda: not served.runtime._runs)
        assert time.monotonic() - left < 1
        assert witness.notes == ["began", "cancelled", "cleaned up", "left"]
        await until(lambda: others() == quiet)
        assert served.runtime.terms.keep_alive._timer is None


async def test_a_client_that_leaves_before_it_is_answered_starts_nothing_that_stays():
    witness = Witness()
    async with serving({"witness": Scripted(witness)}) as served:
        quiet = others()
        for _ in range(20):
            _, writer = await served.open(run_input())
            writer.transport.abort()
        await until(lambda: not served.runtime._runs and others() == quiet)


async def test_a_client_that_has_left_before_the_first_turn_of_its_run_leaves_nothing():
    """The server knows that it left while the body is parsed; then its run is stopped before its task had a turn."""
    coming = [{"type": "http.request", "body": json.dumps(run_input()).encode()}, {"type": "http.disconnect"}]
    witness, sent = Witness(), []

    async def receive():
        return coming.pop(0)

    async def send(message):
        sent.append(message)

    runtime = create_runtime(Settings())
    app = create_app(Agents({"witness": Scripted(witness)}), runtime=runtime)
    headers = [(b"content-type", b"application/json")]
    await asyncio.wait_for(
        app({"type": "http", "method": "POST", "path": "/", "headers": headers}, receive, send), timeout=5
    )
    assert runtime._runs == {}
    assert witness.notes == []


async def test_a_run_that_is_cancelled_before_its_first_turn_says_so():
    body = []

    async def send(message):
        body.append(message.get("body", b""))

    runtime = create_runtime(Settings())
    run = runtime.start(Request("a", Scripted([Text("never")]), parse_document(run_input()), "id", {}), send)
    run.stop("cancelled by request")
    await asyncio.wait_for(run.ended, timeout=5)
    assert run.status == "cancelled"
    events = parse_sse(b"".join(body))
    assert judge(events, thread_id="t1") == []
    assert types(events) == ["RUN_STARTED", "RUN_FINISHED"]
    assert events[-1]["outcome"] == {"type": "cancelled"}


async def cancelled(served, reader, run_id="r1"):
    response = await served.client.post(f"/v1/runs/{run_id}/cancel")
    body = await reader.read()
    return response, body


CANCELS = {
    "during text": ([Text("half ")], ["TEXT_MESSAGE_END"]),
    "during arguments": ([ToolCall('{"a', "c", "f")], ["TOOL_CALL_END"]),
    "during two items": ([Text("x", "m"), ToolCall('{"a', "c", "f", "m")], ["TOOL_CALL_END"]),
}


@pytest.mark.parametrize(("before", "ends"), CANCELS.values(), ids=CANCELS)
async def test_a_cancelled_run_closes_its_items_and_says_so(before, ends):
    """B59: what came before stays, the cancelled outcome is the last event, a second cancel changes nothing."""
    witness = Witness(before=before)
    async with serving({"witness": Scripted(witness)}) as served:
        async with served.client.stream("POST", "/", json=run_input()) as stream:
            chunks = stream.aiter_bytes()
            body = await anext(chunks)
            await until(lambda: "began" in witness.notes)
            response = await served.client.post("/v1/runs/r1/cancel")
            body += b"".join([chunk async for chunk in chunks])
        assert response.json() == {"runId": "r1", "status": "cancelled"}
        events = parse_sse(body)
        assert judge(events, thread_id="t1") == []
        assert types(events)[-len(ends) - 1 :] == [*ends, "RUN_FINISHED"]
        assert events[-1]["outcome"] == {"type": "cancelled"}
        assert "result" not in events[-1]
        assert witness.notes == ["began", "cancelled", "cleaned up", "left"]
        again = await served.client.post("/v1/runs/r1/cancel")
        assert again.json() == {"runId": "r1", "status": "cancelled"}


async def test_cancelling_what_has_ended_or_never_was():
    async with serving({"short": Scripted([Text("x")])}) as served:
        await served.run(run_input())
        response = await served.client.post("/v1/runs/r1/cancel")
        assert response.json() == {"runId": "r1", "status": "succeeded"}
        assert (await served.client.post("/v1/runs/other/cancel")).status_code == 404


async def test_a_tool_that_ignores_its_stop_delays_nothing_and_its_late_result_is_dropped():
    """B57."""
    witness = Witness(stubborn=0.6)
    async with serving({"witness": Scripted(witness), "echo": Scripted([Text("x")])}, stop_grace=0.1) as served:
        async with served.client.stream("POST", "/", json=run_input()) as stream:
            chunks = stream.aiter_bytes()
            body = await anext(chunks)
            await until(lambda: "began" in witness.notes)
            began = time.monotonic()
            await served.client.post("/v1/runs/r1/cancel")
            _, other = await served.run({**run_input(), "runId": "r2"}, "/agents/echo")
            body += b"".join([chunk async for chunk in chunks])
            assert time.monotonic() - began < 0.5
        assert types(other)[-1] == "RUN_FINISHED"
        events = parse_sse(body)
        assert judge(events) == []
        assert events[-1]["outcome"] == {"type": "cancelled"}
        assert b"LATE" not in body
        assert len(served.runtime.terms.background.left_behind) == 1
        await until(lambda: not served.runtime.terms.background.left_behind)
        assert witness.notes == ["began", "ignored", "left"]


async def test_a_thread_that_cannot_be_stopped_is_left_to_itself():
    """B57: the result of a synchronous tool comes too late and is dropped."""
    done = []

    def block():
        time.sleep(0.5)
        done.append(True)
        return "LATE"

    async def agent(run):
        yield Text("a")
        yield Text(await asyncio.shield(asyncio.to_thread(block)))

    async with serving({"agent": Scripted(agent)}, stop_grace=0.1) as served:
        async with served.client.stream("POST", "/", json=run_input()) as stream:
            chunks = stream.aiter_bytes()
            body = await anext(chunks)
            await served.client.post("/v1/runs/r1/cancel")
            body += b"".join([chunk async for chunk in chunks])
        assert not done
        assert b"LATE" not in body
        await until(lambda: done)


async def test_an_agent_that_cancels_itself_has_failed():
    async def agent(run):
        yield Text("a")
        raise asyncio.CancelledError

    async with serving({"agent": Scripted(agent)}) as served:
        _, events = await served.run(run_input())
    assert (types(events)[-1], events[-1]["code"]) == ("RUN_ERROR", "internal_error")


async def test_an_agent_that_exits_does_not_take_the_server_along():
    async with serving({"agent": Scripted([Text("a"), SystemExit(3)]), "echo": Scripted([Text("x")])}) as served:
        _, events = await served.run(run_input())
        assert events[-1]["code"] == "internal_error"
        _, events = await served.run(run_input(), "/agents/echo")
        assert types(events)[-1] == "RUN_FINISHED"


async def test_contexts_are_entered_and_left_in_one_task():
    """B58: what an MCP client or a task group insists on."""
    tasks = []

    class Context:
        async def __aenter__(self):
            tasks.append(asyncio.current_task())

        async def __aexit__(self, *_):
            tasks.append(asyncio.current_task())

    async def agent(run):
        async with Context(), asyncio.TaskGroup() as group:
            group.create_task(asyncio.sleep(0))
            yield Text("a")
            await asyncio.sleep(3600 if run.input.run_id == "stay" else 0)

    async with serving({"agent": Scripted(agent)}) as served:
        await served.run(run_input())
        reader, writer = await served.open({**run_input(), "runId": "stay"})
        await reader.readuntil(b"RUN_STARTED")
        await until(lambda: len(tasks) == 3)
        writer.close()
        await until(lambda: len(tasks) == 4)
    assert tasks[0] is tasks[1]
    assert tasks[2] is tasks[3]


FAILURES = {
    "before the first event": [KeyError("x")],
    "in the middle": [Text("a"), KeyError("x")],
    "with everything open": [Text("a"), ToolCall("{", "c", "f"), RecursionError()],
    "what is no step": [Text("a"), 5],
    "what cannot be ordered": [Text("a", "m"), Text("b", "m", subagent="s")],
    "a group of errors": [Text("a"), ExceptionGroup("many", [KeyError("x"), ValueError("y")])],
}


@pytest.mark.parametrize("steps", FAILURES.values(), ids=FAILURES)
async def test_every_failure_is_exactly_one_error_at_the_end(steps):
    """B67."""
    async with serving({"agent": Scripted(steps)}) as served:
        _, events = await served.run(run_input())
    assert judge(events, thread_id="t1") == []
    assert types(events)[-1] == "RUN_ERROR"
    assert "RUN_FINISHED" not in types(events)
    assert events[-1]["code"] in ("internal_error", "adapter_fault")


async def test_a_value_that_fails_while_it_is_written_is_an_error_in_the_stream():
    """B67: serialisation of the n-th event."""

    class Hostile(dict):
        def items(self):
            raise RuntimeError("boom")

    steps = [Text("a"), CustomEvent.model_construct(name="a.b", value=Hostile(a=1))]
    async with serving({"agent": Scripted(steps)}) as served:
        _, events = await served.run(run_input())
    assert types(events) == ["RUN_STARTED", "TEXT_MESSAGE_START", "TEXT_MESSAGE_CONTENT", "RUN_ERROR"]


async def test_an_adapter_that_fails_before_it_gives_a_generator_has_failed_like_any_other():
    class Plain(Scripted):
        def run(self, run):
            raise KeyError("secret")

    async with serving({"plain": Plain([])}) as served:
        response, events = await served.run(run_input())
        await until(lambda: not served.runtime._runs)
    assert types(events) == ["RUN_STARTED", "RUN_ERROR"]
    assert events[-1]["code"] == "internal_error"
    assert "secret" not in response.text


async def test_an_agent_that_fails_while_it_is_closed_has_failed_no_more():
    async def agent(run):
        try:
            yield Text("a")
            yield 5
        finally:
            raise KeyError("in the cleanup")

    async with serving({"agent": Scripted(agent)}) as served:
        _, events = await served.run(run_input())
    assert types(events)[-1] == "RUN_ERROR"


async def test_a_shutdown_gives_every_run_its_end():
    """B65."""
    witness = Witness()
    async with (
        serving({"witness": Scripted(witness)}) as served,
        served.client.stream("POST", "/", json=run_input()) as stream,
    ):
        chunks = stream.aiter_bytes()
        body = await anext(chunks)
        await until(lambda: "began" in witness.notes)
        await served.runtime.shutdown(3)
        body += b"".join([chunk async for chunk in chunks])
    events = parse_sse(body)
    assert events[-1]["outcome"] == {"type": "cancelled"}
    assert events[-1]["metadata"]["agui-sidecar"]["reason"] == "the server is shutting down"
    assert witness.notes[-1] == "left"


async def test_a_slow_reader_holds_only_its_own_run_back():
    async def flood(run):
        for _ in range(30_000):
            yield Text("x" * 1000)

    async with serving({"flood": Scripted(flood), "echo": Scripted([Text("x")])}) as served:
        reader, writer = await served.open(run_input())
        await asyncio.sleep(0.3)
        (run,) = served.runtime._runs.values()
        assert run._stream.bytes < 20_000_000  # what the sockets hold
        _, events = await served.run({**run_input(), "runId": "r2"}, "/agents/echo")
        assert types(events)[-1] == "RUN_FINISHED"
        body = b""
        while b"RUN_FINISHED" not in body:
            body = body[-100:] + await asyncio.wait_for(reader.read(65536), 10)
        writer.close()


async def test_runs_that_ended_are_gone_without_a_garbage_collector():
    """B74: however a run ends, nothing that it made waits in a cycle for a collection that may never come."""

    async def agent(run):
        yield Text("a")
        run.warn("noted")
        if run.input.run_id.startswith("fail"):
            raise KeyError("x")
        if run.input.run_id.startswith(("leave", "cancel")):
            await asyncio.sleep(3600)

    def alive():
        kinds = (Run, RunContext, Pipeline, Stream)
        return sum(type(thing) in kinds for thing in gc.get_objects())

    async with serving({"agent": Scripted(agent)}) as served:
        gc.collect()
        before = alive()  # what other tests still hold
        gc.disable()
        try:
            for number in range(3):
                await served.run({**run_input(), "runId": f"end{number}"})
                await served.run({**run_input(), "runId": f"fail{number}"})
                reader, writer = await served.open({**run_input(), "runId": f"leave{number}"})
                await reader.readuntil(b"TEXT_MESSAGE_CONTENT")
                assert alive() >= before + 3
                writer.close()
                reader, writer = await served.open({**run_input(), "runId": f"cancel{number}"})
                await reader.readuntil(b"TEXT_MESSAGE_CONTENT")
                await served.client.post(f"/v1/runs/cancel{number}/cancel")
                await reader.readuntil(b"RUN_FINISHED")
                writer.close()
            await until(lambda: not served.runtime._runs and alive() <= before)
        finally:
            gc.enable()


async def test_the_memory_of_ended_runs_is_bounded(monkeypatch):
    monkeypatch.setattr("sidecar.runs.runtime.REMEMBERED", 3)
    async with serving({"agent": Scripted([Text("x")])}) as served:
        for number in range(5):
            await served.run({**run_input(), "runId": f"r{number}"})
        assert list(served.runtime._ended) == ["r2", "r3", "r4"]


async def test_an_agent_sees_the_request_and_its_stop():
    seen = {}

    async def agent(run):
        seen.update(header=run.headers["x-user"], now=run.clock().tzinfo, props=run.input.forwarded_props)
        run.warn("noted")
        run.warn("noted")
        yield Text("a")
        seen["stopped"] = run.cancelled.is_set()
        try:
            await run.cancelled.wait()
        except asyncio.CancelledError:
            seen["stopped after"] = run.cancelled.is_set()
            raise

    async with serving({"agent": Scripted(agent)}) as served:
        task = asyncio.create_task(served.run(run_input(forwardedProps={"n": None}), **{"X-User": "ann"}))
        await until(lambda: "stopped" in seen)
        await served.client.post("/v1/runs/r1/cancel")
        await task
    assert seen["header"] == "ann"
    assert seen["props"] == {"n": None}
    assert seen["now"] is not None
    assert (seen["stopped"], seen["stopped after"]) == (False, True)
