"""The suite in pytest, as an adapter's author uses it."""

import json
from contextvars import Context
from types import SimpleNamespace

import pytest
from ag_ui.core import RunAgentInput, RunFinishedEvent, RunFinishedSuccessOutcome, RunStartedEvent
from ag_ui.encoder import EventEncoder
from pydantic_ai import Agent
from pydantic_ai.models.test import TestModel
from support.server import serving
from support.streams import RUN_FINISHED, RUN_STARTED, sse

from adapters.echo import Echo
from conformance.command.cannot import CannotCheck
from conformance.exchange import Exchange
from conformance.protobuf import CONTENT_TYPE, encode, frame
from conformance.pytest_plugin import pytest_configure, pytest_sessionfinish
from conformance.testing import assert_conformant, assert_conformant_async
from sidecar.agents import Agents
from sidecar.app import create_app

pytest_plugins = ["pytester"]

RUN = [RUN_STARTED, RUN_FINISHED]
ORPHAN = {"type": "TEXT_MESSAGE_END", "messageId": "x"}
INPUT = {"threadId": "t", "runId": "r", "protocolVersion": "1.0", "messages": []}
MODELS = [
    RunStartedEvent(thread_id="t", run_id="r", protocol_version="1.0"),
    RunFinishedEvent(thread_id="t", run_id="r", outcome=RunFinishedSuccessOutcome()),
]


async def later(events):
    for event in events:
        yield event


class Peer:
    """A producer of another framework's making: events, or their SSE text, from a run input."""

    def __init__(self, as_text):
        self._as_text = as_text

    async def run(self, run_input):
        assert isinstance(run_input, RunAgentInput)
        for event in MODELS:
            told = event.model_copy(update={"thread_id": run_input.thread_id, "run_id": run_input.run_id})
            yield EventEncoder().encode(told) if self._as_text else told


class Plain:
    def run(self, run_input):
        yield {**RUN_STARTED, "threadId": run_input.thread_id, "runId": run_input.run_id}
        yield {**RUN_FINISHED, "threadId": run_input.thread_id, "runId": run_input.run_id}


@pytest.mark.parametrize(
    "produced",
    [
        RUN,
        iter(RUN),
        MODELS,
        sse(RUN),
        sse(RUN).decode(),
        [sse([one]) for one in RUN],
        [sse(RUN[:1]).decode(), sse(RUN[1:])],
    ],
    ids=["events", "an iterator", "models", "bytes", "text", "pieces of bytes", "pieces of text"],
)
def test_a_clean_stream_passes_in_any_form(produced):
    verdict = assert_conformant(produced, run_input=INPUT, strict=True)
    assert verdict.events == 2


def test_an_asynchronous_iterator_is_gathered_where_no_loop_runs():
    assert assert_conformant(later(RUN)).events == 2


@pytest.mark.anyio
async def test_in_a_loop_an_asynchronous_iterator_is_awaited():
    assert (await assert_conformant_async(later(MODELS), run_input=RunAgentInput.model_validate(INPUT))).events == 2
    assert (await assert_conformant_async(RUN)).events == 2
    with pytest.raises(TypeError, match="await assert_conformant_async"):
        assert_conformant(later(RUN))
    with pytest.raises(AssertionError, match="item-open-first"):
        await assert_conformant_async(later([RUN_STARTED, ORPHAN, RUN_FINISHED]))


def test_a_broken_stream_fails_and_says_what_to_mend():
    with pytest.raises(AssertionError) as error:
        assert_conformant([RUN_STARTED, ORPHAN, RUN_FINISHED])
    told = str(error.value)
    assert "MUST    item-open-first  event 1\n" in told
    assert "mend      Send the *_START before" in told
    assert "failed: 3 events; 1 finding (1 MUST, 0 SHOULD)" in told


def test_what_is_recommended_fails_only_when_asked():
    custom = {"type": "CUSTOM", "name": "update", "value": 1}
    events = [RUN_STARTED, custom, RUN_FINISHED]
    assert_conformant(events)
    with pytest.raises(AssertionError, match="custom-prefixed"):
        assert_conformant(events, strict=True)
    assert_conformant(events, strict=True, ignore=["custom-*"])
    assert_conformant(events, strict=True, select=["events/lifecycle"])
    with pytest.raises(TypeError, match="there is no rule 'custom-prefix'; close to it: custom-prefixed"):
        assert_conformant(events, ignore=["custom-prefix"])


@pytest.mark.parametrize("produced", [None, 5, RUN_STARTED, object()])
def test_what_is_no_stream_is_a_type_error(produced):
    with pytest.raises(TypeError, match="expected events, an SSE body, or an exchange"):
        assert_conformant(produced)


def test_a_body_that_cannot_be_read_fails():
    body = [frame(b"\xff\xff\xff")]
    with pytest.raises(AssertionError, match="the body cannot be read: frame 1"):
        assert_conformant(Exchange(body=body, headers={"content-type": CONTENT_TYPE}))
    whole = [frame(encode(event)) for event in RUN]
    assert_conformant(Exchange(body=whole, headers={"content-type": CONTENT_TYPE}))


@pytest.mark.parametrize(
    "producer",
    [
        Peer(as_text=False),
        Peer(as_text=True),
        Plain(),
        Echo(),
        Agent(TestModel()),
        create_app(Agents({"echo": Echo()})),
    ],
    ids=["models", "text", "objects", "an adapter", "a framework's agent", "an ASGI application"],
)
def test_a_producer_is_recorded_without_a_server(agui_recorder, producer):
    exchange = agui_recorder.record_now(producer, {**INPUT, "messages": [{"id": "u", "role": "user", "content": "Hi"}]})
    verdict = assert_conformant(exchange, strict=True)
    assert verdict.events >= 2
    assert exchange.run_input["runId"] == "r"


@pytest.mark.anyio
async def test_an_endpoint_is_recorded(agui_recorder):
    async with serving({"echo": Echo()}) as served:
        exchange = await agui_recorder.record(f"http://127.0.0.1:{served.port}/")
    verdict = assert_conformant(exchange, strict=True)
    states = {one.rule.id: one.state for one in verdict.standings}
    assert states["sse-closes"] == states["run-id-echoed"] == states["sse-lf"] == "kept"
    assert exchange.status == 200


@pytest.mark.parametrize("producer", ["not a URL", 5, Peer, object()])
def test_what_is_no_producer_is_named(agui_recorder, producer):
    with pytest.raises(CannotCheck, match="expected"):
        agui_recorder.record_now(producer)


def test_outside_of_a_session_nothing_is_noted():
    assert Context().run(assert_conformant, RUN).passed


def test_the_report_has_every_verdict_with_its_test(tmp_path):
    class Session:
        config = SimpleNamespace(getoption=lambda _: tmp_path / "report.json")

    def session():
        pytest_configure()
        assert_conformant(RUN)
        pytest_sessionfinish(Session)

    Context().run(session)
    (one,) = json.loads((tmp_path / "report.json").read_text())["tests"]
    assert one["test"].endswith("::test_the_report_has_every_verdict_with_its_test")


def test_the_plugin_of_an_installed_suite_records_judges_and_reports(pytester):
    pytester.makepyfile(
        """
        from conformance.testing import assert_conformant

        def test_kept(agui_recorder):
            assert_conformant([{"type": "RUN_ERROR", "message": "no"}])

        def test_broken():
            assert_conformant([{"type": "RUN_FINISHED", "threadId": "t", "runId": "r"}])
        """
    )
    result = pytester.runpytest_subprocess("--agui-report", "report.json", "-p", "no:cacheprovider")
    result.assert_outcomes(passed=1, failed=1)
    result.stdout.fnmatch_lines(["*run-opens-stream*"])
    assert not any("testing.py" in line for line in result.outlines)
    report = json.loads((pytester.path / "report.json").read_text())
    assert report["format"] == "agui-conformance-pytest/1"
    assert [(one["test"], one["passed"], one["events"]) for one in report["tests"]] == [
        ("test_the_plugin_of_an_installed_suite_records_judges_and_reports.py::test_kept", True, 1),
        ("test_the_plugin_of_an_installed_suite_records_judges_and_reports.py::test_broken", False, 1),
    ]
    assert report["tests"][1]["findings"][0]["rule"] == "run-opens-stream"
