"""Runs over HTTP: what starts one, what refuses one, what the stream looks like."""

import asyncio
import json
import threading
from contextlib import suppress

import pytest
from ag_ui.core import StateSnapshotEvent, SubagentStartedEvent
from structlog.testing import capture_logs
from support.agents import Scripted, run_input
from support.server import serving, until
from support.streams import judge, types

from adapters.base import AdapterError, InputRefused, Text, ToolCall
from adapters.echo import Echo

pytestmark = pytest.mark.anyio

JSON = {"Content-Type": "application/json"}


async def wait_forever(run):
    yield Text("waiting")
    await asyncio.sleep(3600)


async def test_a_run_is_answered_by_a_stream():
    """sse-status-and-type, sse-lf, sse-closes, transport-ordered."""
    async with serving({"echo": Echo()}) as served:
        response, events = await served.run(run_input())
    assert response.status_code == 200
    assert response.headers["content-type"] == "text/event-stream"
    assert response.headers["cache-control"] == "no-cache, no-transform"
    assert response.headers["x-accel-buffering"] == "no"
    assert judge(events, thread_id="t1") == []
    assert events[2]["delta"] == "hello"


async def test_each_agent_has_a_path_and_the_first_is_the_default():
    async with serving({"echo": Echo(), "other": Scripted([Text("other")])}) as served:
        for path, text in (("/", "hello"), ("/agents/echo", "hello"), ("/agents/other", "other")):
            _, events = await served.run(run_input(), path)
            assert events[2]["delta"] == text


REFUSED = {
    "malformed JSON": (b"{", JSON, 400, "invalid_json", None),
    "too deep": (b'{"a":' * 150 + b"1" + b"}" * 150, JSON, 400, "too_deep", None),
    "not an object": (b"[]", JSON, 422, "invalid_input", None),
    "a malformed field": (
        json.dumps(run_input(tools=[{"name": 5, "description": ""}])).encode(),
        JSON,
        422,
        "invalid_input",
        "/tools/0/name",
    ),
    "another major version": (
        json.dumps(run_input(protocolVersion="2.0")).encode(),
        JSON,
        400,
        "unsupported_version",
        None,
    ),
    "a form": (b"a=b", {"Content-Type": "application/x-www-form-urlencoded"}, 415, "wrong_content_type", None),
    "no content type": (b"{}", {}, 415, "wrong_content_type", None),
    "nothing acceptable": (
        json.dumps(run_input()).encode(),
        {**JSON, "Accept": "application/json, text/html;q=0.5"},
        406,
        "not_acceptable",
        None,
    ),
    "a stream refused": (
        json.dumps(run_input()).encode(),
        {**JSON, "Accept": "*/*, text/event-stream;q=0"},
        406,
        "not_acceptable",
        None,
    ),
    "too large": (b"x" * 5000, JSON, 413, "body_too_large", None),
}


@pytest.mark.parametrize(("body", "headers", "status", "code", "field"), REFUSED.values(), ids=REFUSED)
async def test_what_starts_no_run_is_refused_with_problem_details(body, headers, status, code, field):
    """input-malformed-rejected, sse-rejects-outside."""
    async with serving({"echo": Echo()}, max_body_bytes=4096) as served:
        response = await served.client.post("/", content=body, headers=headers)
    problem = response.json()
    assert response.status_code == problem["status"] == status
    assert response.headers["content-type"] == "application/problem+json"
    assert problem["code"] == code
    assert problem.get("field") == field
    assert problem["requestId"] == response.headers["x-request-id"]
    assert {"type", "title", "detail"} <= problem.keys()


@pytest.mark.parametrize(
    "accept", ["*/*", "text/*", "text/event-stream", "application/json, text/event-stream;q=0.1", ""]
)
async def test_any_accept_that_admits_a_stream_gets_one(accept):
    async with serving({"echo": Echo()}) as served:
        response, _ = await served.run(run_input(), Accept=accept)
    assert response.status_code == 200


async def test_an_unknown_agent_path_or_method_is_refused():
    async with serving({"echo": Echo()}) as served:
        for method, path, status, code in (
            ("POST", "/agents/nobody", 404, "unknown_agent"),
            ("GET", "/agents/nobody/capabilities", 404, "unknown_agent"),
            ("GET", "/nowhere", 404, "not_found"),
            ("GET", "/", 405, "method_not_allowed"),
            ("POST", "/v1/runs/none/cancel", 404, "unknown_run"),
        ):
            response = await served.client.request(method, path, json=run_input() if method == "POST" else None)
            assert (response.status_code, response.json()["code"]) == (status, code)
        response = await served.client.get("/")
        assert response.headers["allow"] == "POST"
        assert "POST /" in response.json()["detail"]


async def test_a_request_id_is_kept_if_it_is_sane():
    async with serving({"echo": Echo()}) as served:
        for given, kept in (("abc-1", True), ("a b", False), ("x" * 200, False)):
            response, _ = await served.run(run_input(), **{"X-Request-Id": given})
            assert (response.headers["x-request-id"] == given) is kept


async def test_unknown_material_does_not_stop_a_run():
    """input-unknown-stripped."""
    document = run_input(shiny=1)
    document["messages"].insert(0, {"id": "x", "role": "oracle", "content": "?"})
    async with serving({"echo": Echo()}) as served:
        _, events = await served.run(document)
    assert types(events)[-1] == "RUN_FINISHED"


class Picky(Echo):
    """Refuses what the test says."""

    def __init__(self, refusal=None):
        self.threads = []
        self._refusal = refusal

    def admit(self, given):
        self.threads.append(threading.current_thread())
        if self._refusal is not None:
            raise self._refusal


REFUSALS = {
    "of a part": (
        InputRefused(("messages", 0, "content", 1), "text, an image or a PDF", "a video"),
        ("invalid_input", "/messages/0/content/1", "text, an image or a PDF", "a video"),
        "/messages/0/content/1: expected text, an image or a PDF, found a video.",
    ),
    "by a code of its own": (
        InputRefused(("state", "a/b"), "a number", "'x'", "state_mismatch"),
        ("state_mismatch", "/state/a~1b", "a number", "'x'"),
        "/state/a~1b: expected a number, found 'x'.",
    ),
    "of the whole": (
        InputRefused((), "a message of the user", "none"),
        ("invalid_input", "", "a message of the user", "none"),
        "the run input: expected a message of the user, found none.",
    ),
}


@pytest.mark.parametrize(("refusal", "told", "detail"), REFUSALS.values(), ids=REFUSALS)
async def test_what_the_agent_cannot_take_is_refused_before_any_stream(refusal, told, detail):
    """sse-rejects-outside. Fault 11 of PydanticAI's own adapter."""
    async with serving({"picky": Picky(refusal)}) as served:
        response, _ = await served.run(run_input())
        assert not served.runtime._runs
    assert response.status_code == 422
    assert response.headers["content-type"] == "application/problem+json"
    problem = response.json()
    code, field, expected, found = told
    assert (problem["code"], problem["field"]) == (code, field)
    assert problem["errors"] == [{"field": field, "expected": expected, "found": found}]
    assert problem["detail"] == str(refusal) + "." == detail
    assert problem["requestId"] == response.headers["x-request-id"]


async def test_what_the_agent_takes_runs():
    picky = Picky()
    async with serving({"picky": picky}) as served:
        _, events = await served.run(run_input())
    assert types(events)[-1] == "RUN_FINISHED"
    assert picky.threads == [threading.current_thread()]


@pytest.mark.parametrize("error", [KeyError("secret"), SystemExit("secret"), RecursionError("secret")])
async def test_an_admission_that_fails_is_a_fault_of_the_server_that_tells_nothing(error):
    async with serving({"picky": Picky(error)}) as served:
        with capture_logs() as logged:
            response, _ = await served.run(run_input())
        assert (await served.client.get("/readyz")).status_code == 200
    assert response.status_code == 500
    assert response.json()["code"] == "internal_error"
    assert "secret" not in response.text
    (line,) = [line for line in logged if line["log_level"] == "error"]
    assert line["exc_info"]
    assert line["request_id"] == response.json()["requestId"]


@pytest.mark.parametrize("refusal", [None, InputRefused(("messages",), "fewer messages", "20000")])
async def test_a_large_input_is_admitted_in_a_thread(refusal):
    """Other streams go on meanwhile, as while it is parsed."""
    picky = Picky(refusal)
    many = [{"id": f"m{n}", "role": "user", "content": "x"} for n in range(20_000)]
    async with serving({"picky": picky}) as served:
        response, _ = await served.run(run_input(messages=many))
    assert response.status_code == (200 if refusal is None else 422)
    assert threading.current_thread() not in picky.threads


async def test_an_agent_that_finds_out_later_says_it_in_the_stream():
    refusal = InputRefused(("messages", 0), "a short message", "a long one", "too_long")
    async with serving({"agent": Scripted([Text("a"), refusal])}) as served:
        _, events = await served.run(run_input())
    assert (types(events)[-1], events[-1]["code"]) == ("RUN_ERROR", "too_long")
    assert events[-1]["message"] == "/messages/0: expected a short message, found a long one"


async def test_an_active_run_id_is_refused_and_an_ended_one_may_come_again():
    """A resuming CopilotKit run has the id of the run that was interrupted."""
    async with serving({"slow": Scripted(wait_forever), "echo": Echo()}) as served:
        reader, writer = await served.open(run_input())
        await reader.readuntil(b"waiting")
        response, _ = await served.run(run_input())
        assert (response.status_code, response.json()["code"]) == (409, "run_is_active")
        writer.close()
        await until(lambda: not served.runtime._runs)
        response, _ = await served.run(run_input(resume=[{"interruptId": "i", "status": "resolved"}]), "/agents/echo")
        assert response.status_code == 200


async def test_a_peer_without_a_version_gets_its_own_copy():
    """It would fail on pending calls, on attribution, and on a delta without a baseline."""

    async def agent(run):
        yield SubagentStartedEvent(subagent_run_id="a", name="n")
        yield Text("x", subagent="a")
        yield Text("y")
        yield ToolCall("{}", "c", "pick")
        yield StateSnapshotEvent(snapshot={"a": 1, "long": "x" * 100})

    document = run_input(state={"long": "x" * 100}, tools=[{"name": "pick", "description": ""}])
    del document["protocolVersion"]
    async with serving({"agent": Scripted(agent)}) as served:
        response, events = await served.run(document)
    assert judge(events) == []
    assert events[0]["protocolVersion"] == "1.0"
    assert "STATE_SNAPSHOT" in types(events)
    for unknown in ("pendingToolCallIds", "subagentRunId", "SUBAGENT"):
        assert unknown not in response.text


async def test_state_null_counts_as_absent():
    seen = []

    async def look(run):
        seen.append(run.input.state)
        yield Text("x")

    async with serving({"look": Scripted(look)}) as served:
        _, events = await served.run(run_input(state=None))
    assert seen == [None]
    assert types(events)[-1] == "RUN_FINISHED"


async def test_a_body_without_a_length_is_read_no_further_than_the_limit():
    """B72: an endless upload is cut off, and nothing of it is kept."""
    async with serving({"echo": Echo()}, max_body_bytes=1_000_000) as served:
        reader, writer = await asyncio.open_connection("127.0.0.1", served.port)
        writer.write(
            b"POST / HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n"
        )
        sent, answer = 0, asyncio.create_task(reader.readuntil(b"}"))
        with suppress(ConnectionError):
            while sent < 1_000_000_000:
                writer.write(b"10000\r\n" + b" " * 65536 + b"\r\n")
                await writer.drain()
                sent += 65536
        assert b"413" in (await answer)[:20]
        assert sent < 20_000_000
        assert not served.runtime._runs


async def test_a_client_that_sends_all_before_it_reads_gets_the_answer():
    """B72: 12 MB toward a limit of 8."""
    async with serving({"echo": Echo()}) as served:
        response = await served.client.post("/", content=b" " * 12_000_000, headers=JSON)
        assert (response.status_code, response.json()["code"]) == (413, "body_too_large")
        response, _ = await served.run(run_input())
        assert response.status_code == 200


async def test_a_declared_length_over_the_limit_is_refused_unread():
    async with serving({"echo": Echo()}, max_body_bytes=4096) as served:
        reader, writer = await asyncio.open_connection("127.0.0.1", served.port)
        writer.write(
            b"POST / HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 999999999\r\n\r\n"
        )
        head = await asyncio.wait_for(reader.readuntil(b"\r\n"), 5)
        assert b"413" in head
        writer.close()


async def test_large_inputs_are_served():
    """B72: 50,000 messages, and an attachment of some megabytes, below the limit."""
    many = [{"id": f"m{n}", "role": "user", "content": "x"} for n in range(50_000)]
    picture = {"type": "image", "source": {"type": "data", "value": "A" * 3_000_000, "mimeType": "image/png"}}
    both = [*many, {"id": "p", "role": "user", "content": [picture, {"type": "text", "text": "seen"}]}]
    async with serving({"echo": Echo()}) as served:
        response, events = await served.run(run_input(messages=both))
    assert response.status_code == 200
    assert events[2]["delta"] == "seen"


async def test_a_stream_is_not_compressed_or_held_back():
    """B64: the client offers gzip."""
    offered = {"Accept-Encoding": "gzip"}
    async with (
        serving({"slow": Scripted(wait_forever)}) as served,
        served.client.stream("POST", "/", json=run_input(), headers=offered) as response,
    ):
        assert "content-encoding" not in response.headers
        async for chunk in response.aiter_raw():
            assert chunk.startswith(b"data: ")
            break


async def test_the_head_is_sent_before_the_agent_says_anything():
    """B64: response start at once."""

    async def silent(run):
        await asyncio.sleep(3600)
        yield Text("late")

    async with serving({"silent": Scripted(silent)}) as served:
        reader, writer = await served.open(run_input())
        head = await asyncio.wait_for(reader.readuntil(b"RUN_STARTED"), 5)
        assert head.startswith(b"HTTP/1.1 200")
        writer.close()


async def test_a_silent_stream_is_kept_alive_by_comments_that_stop_at_its_end():
    """B64."""

    async def slow(run):
        await asyncio.sleep(0.3)
        yield Text("x")

    async with serving({"slow": Scripted(slow)}, keep_alive=0.1) as served:
        response, events = await served.run(run_input())
        assert response.content.count(b": keep-alive\n\n") >= 2
        assert response.content.rindex(b"RUN_FINISHED") > response.content.rindex(b": keep-alive")
        assert types(events)[-1] == "RUN_FINISHED"


async def test_fifty_runs_of_one_adapter_never_mix():
    """B69."""

    async def tell(run):
        name = run.input.thread_id
        for part in range(20):
            await asyncio.sleep(0.001 * ((part * 7 + len(name)) % 3))
            yield Text(f"{name} ")

    async with serving({"tell": Scripted(tell)}) as served:
        documents = [{**run_input(), "threadId": f"t{n}", "runId": f"r{n}"} for n in range(50)]
        answers = await asyncio.gather(*[served.run(document) for document in documents])
    for n, (_, events) in enumerate(answers):
        assert judge(events, thread_id=f"t{n}") == []
        text = "".join(event.get("delta", "") for event in events)
        assert text == f"t{n} " * 20
        assert events[-1]["runId"] == f"r{n}"


async def test_a_message_for_the_user_and_a_secret():
    """B68: nothing of the text of an exception, unless the agent meant it."""
    secret = RuntimeError("401 at https://internal/x key sk-abc /srv/app.py")
    agents = {"told": Scripted([AdapterError("Out of credit.", "no_credit")]), "secret": Scripted([Text("a"), secret])}
    async with serving(agents) as served:
        _, told = await served.run(run_input())
        response, hidden = await served.run(run_input(), "/agents/secret")
    assert (told[-1]["message"], told[-1]["code"]) == ("Out of credit.", "no_credit")
    assert hidden[-1]["code"] == "internal_error"
    assert hidden[-1]["metadata"]["agui-sidecar"]["correlationId"] == response.headers["x-request-id"]
    for part in ("internal/x", "sk-abc", "/srv", "RuntimeError", "401"):
        assert part not in response.text


async def test_the_debug_switch_shows_the_text():
    async with serving({"secret": Scripted([RuntimeError("sk-abc")])}, debug=True) as served:
        _, events = await served.run(run_input())
    assert "RuntimeError: sk-abc" in events[-1]["message"]


async def test_operations_answer():
    async with serving({"echo": Echo(), "b": Echo()}) as served:
        assert (await served.client.get("/healthz")).json() == {"status": "ok"}
        assert (await served.client.get("/readyz")).json() == {"status": "ready"}
        agents = (await served.client.get("/agents")).json()["agents"]
        assert [(agent["name"], agent["isDefault"]) for agent in agents] == [("echo", True), ("b", False)]
        capabilities = (await served.client.get("/agents/echo/capabilities")).json()
        assert capabilities["identity"]["name"] == "echo"
        served.runtime.is_stopping = True
        assert (await served.client.get("/readyz")).status_code == 503
        response, _ = await served.run(run_input())
        assert (response.status_code, response.json()["code"]) == (503, "server_is_stopping")


async def test_a_page_of_an_allowed_origin_may_call():
    async with serving({"echo": Echo()}, cors_origins=["http://localhost:3000"]) as served:
        asked = {
            "Origin": "http://localhost:3000",
            "Access-Control-Request-Method": "POST",
            "Access-Control-Request-Headers": "content-type",
        }
        response = await served.client.options("/", headers=asked)
        assert response.headers["access-control-allow-origin"] == "http://localhost:3000"
        response, _ = await served.run(run_input(), Origin="http://localhost:3000")
        assert response.headers["access-control-allow-origin"] == "http://localhost:3000"
        response = await served.client.post("/", content=b"{", headers={**JSON, "Origin": "http://localhost:3000"})
        assert response.headers["access-control-allow-origin"] == "http://localhost:3000"


async def test_a_fault_of_the_server_itself_is_a_problem_too():
    class Broken(Echo):
        def capabilities(self):
            raise KeyError("secret")

    async with serving({"broken": Broken()}) as served:
        response = await served.client.get("/agents/broken/capabilities")
    assert response.status_code == 500
    assert response.json()["code"] == "internal_error"
    assert "secret" not in response.text
