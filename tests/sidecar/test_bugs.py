"""Faults that others reported in the field, seen on the whole line from an adapter's steps to a reader's bytes.

The rest of those that concern the server stand beside the module that keeps them away, under the same numbers.
"""

import asyncio
import json
import sys
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from enum import Enum
from typing import Any
from uuid import UUID

import pytest
from ag_ui.core import Interrupt, StateSnapshotEvent, ToolCallResultEvent
from pydantic import BaseModel, ValidationError
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.middleware.base import BaseHTTPMiddleware
from starlette.routing import Mount
from support.agents import Scripted, make_pipeline, play, run_input
from support.events import EVENT_MODELS
from support.server import serving, serving_app
from support.streams import judge, types

from adapters.base import Cancelled, Interrupted, Text, ToolCall
from sidecar.agents import Agents
from sidecar.app import create_app, create_runtime
from sidecar.runs.values import wire_event
from sidecar.settings import Settings
from sidecar.wire.sse import Encoder

pytestmark = pytest.mark.anyio


def result(call, message, content="ok"):
    return ToolCallResultEvent(message_id=message, tool_call_id=call, content=content)


def test_b06_a_limit_closes_every_call_that_was_announced():
    calls = [ToolCall("{}", f"c{n}", "f") for n in (1, 2, 3)]
    events, _ = play([*calls, result("c1", "t1"), result("c2", "t2", "not executed"), Cancelled("step limit")])
    assert judge(events) == []
    assert types(events).count("TOOL_CALL_END") == 3
    assert events[-1]["outcome"] == {"type": "cancelled"}


class Color(Enum):
    RED = "red"


class Model(BaseModel):
    when: datetime


@dataclass
class Record:
    color: Color
    amounts: tuple[Decimal, ...]


def test_b45_values_of_python_reach_the_wire_as_json():
    state = {
        "model": Model(when=datetime(2026, 1, 2, tzinfo=UTC)),
        "record": Record(Color.RED, (Decimal("1.5"),)),
        "id": UUID(int=1),
        "tags": {"b", "a"},
        "strange": object(),
    }
    ask = Interrupt(id="i", reason="x", metadata={"asked": Model(when=datetime(2026, 1, 2, tzinfo=UTC))})
    events, warnings = play([StateSnapshotEvent(snapshot=state), Interrupted([ask])])
    assert events[1]["snapshot"] == {
        "model": {"when": "2026-01-02T00:00:00Z"},
        "record": {"color": "red", "amounts": ["1.5"]},
        "id": str(UUID(int=1)),
        "tags": ["a", "b"],
        "strange": None,
    }
    assert events[-1]["outcome"]["interrupts"][0]["metadata"] == {"asked": {"when": "2026-01-02T00:00:00Z"}}
    assert len(warnings) == 1


@pytest.mark.parametrize("model", EVENT_MODELS, ids=lambda model: model.__name__)
def test_b52_a_field_without_a_value_is_not_on_the_wire(model):
    needed = [name for name, info in model.model_fields.items() if info.is_required()]
    event = wire_event(model(**{name: _something(model, name) for name in needed}), print)
    assert b"null" not in Encoder().encode(event)


def _something(model: type[BaseModel], field: str) -> Any:
    for value in ("x", "message", [], {}):  # the first that the model takes
        try:
            model.__pydantic_validator__.validate_assignment(model.model_construct(), field, value)
        except ValidationError:
            continue
        return value
    raise AssertionError(field)


def test_b52_timestamps_are_integers():
    assert (
        wire_event(EVENT_MODELS[0](message_id="m", timestamp=1_767_225_600_000), print)["timestamp"]
        == 1_767_225_600_000
    )


async def test_b56_a_run_behind_a_middleware_still_notices_that_its_client_left():
    class Passing(BaseHTTPMiddleware):
        async def dispatch(self, request, call_next):
            return await call_next(request)

    left = asyncio.Event()

    async def agent(run):
        try:
            yield Text("a")
            await asyncio.sleep(60)
        finally:
            left.set()

    runtime = create_runtime(Settings())
    app = create_app(Agents({"agent": Scripted(agent)}), Settings(), runtime)
    mounted = Starlette(routes=[Mount("/api", app)], middleware=[Middleware(Passing)])
    async with serving_app(mounted, runtime) as served:
        reader, writer = await served.open(run_input(), "/api/agents/agent")
        await reader.readuntil(b"TEXT_MESSAGE_CONTENT")
        writer.close()
        await asyncio.wait_for(left.wait(), 1)


async def test_b73_the_wire_carries_little_more_than_what_the_agent_said():
    payload = json.dumps([{"row": n, "name": "x" * 20} for n in range(800)])
    state = {"rows": ["y" * 100 for _ in range(10_000)]}

    async def agent(run):
        yield ToolCall("{}", "c", "f")
        yield result("c", "t", payload)
        yield StateSnapshotEvent(snapshot=state)
        for _ in range(500):
            yield Text("token ")
        yield StateSnapshotEvent(snapshot=state)

    history = [{"id": f"h{n}", "role": "user", "content": "z" * 500} for n in range(200)]
    async with serving({"agent": Scripted(agent)}) as served:
        response, events = await served.run(run_input(messages=history, state=state))
    tokens = 500 * 130
    assert len(response.content) < 2 * len(payload) + tokens
    assert "STATE_SNAPSHOT" not in types(events)


def test_b73_a_token_costs_the_same_whatever_the_history_and_the_state_hold():
    """Counted in calls, not in time."""

    def calls_of(messages, state):
        pipeline, _ = make_pipeline(messages=messages, state=state)
        pipeline.start()
        pipeline.feed(StateSnapshotEvent(snapshot=state))
        pipeline.feed(Text("first"))
        encoder, counted = Encoder(), 0

        def count(frame, event, argument):
            nonlocal counted
            counted += event in ("call", "c_call")

        sys.setprofile(count)
        try:
            for _ in range(100):
                step = Text("token ")
                encoder.encode_delta(pipeline.continued(step), step.delta)
        finally:
            sys.setprofile(None)
        return counted

    small = calls_of([{"id": "u", "role": "user", "content": "x"}], {"a": 1})
    many = [{"id": f"u{n}", "role": "user", "content": "x" * 500} for n in range(1000)]
    large = calls_of(many, {"rows": list(range(100_000))})
    assert small == large
    assert small < 100 * 10
