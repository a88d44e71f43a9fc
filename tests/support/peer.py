"""The same PydanticAI agent behind our server and behind PydanticAI's own adapter, asked over HTTP in the same way.

    async with ours(Agent(model)) as thread:
        answer = await thread.say("hello")

A thread holds what a client would hold: it sends its whole history each time, and takes over what a run brought.
"""

import copy
import json
import warnings
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cached_property
from typing import Any

import httpx
import structlog
from pydantic_ai import Agent, CancellationToken
from pydantic_ai.messages import ModelMessage, ModelRequest, ModelResponsePart, TextPart, ToolCallPart, ToolReturnPart
from pydantic_ai.models import StreamedResponse
from pydantic_ai.models.function import AgentInfo, DeltaToolCall, FunctionModel
from pydantic_ai.ui.ag_ui import AGUIAdapter
from pydantic_ai.usage import RequestUsage
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from adapters.pydantic_ai import PydanticAI
from conformance.consumer import Consumer, StreamRejected
from conformance.exchange import Exchange
from conformance.judge import judge
from support.server import serving, serving_app
from support.streams import MUSTS, parse_sse

Event = dict[str, Any]


class Script:
    """A model that plays its turns in order and keeps what it was sent; after the last turn it says "done".

    A turn is a list of what FunctionModel streams, of exceptions to raise, and of functions to wait for.
    """

    def __init__(self, *turns: list[Any]) -> None:
        self._turns = iter(turns)
        self.seen: list[list[ModelMessage]] = []
        """Per call of the model, the messages that it was sent."""
        self.infos: list[AgentInfo] = []
        """Per call of the model, what else it was given."""

    async def __call__(self, messages: list[ModelMessage], info: AgentInfo) -> AsyncIterator[Any]:
        self.seen.append(list(messages))
        self.infos.append(info)
        for piece in next(self._turns, ["done"]):
            if isinstance(piece, Exception):
                raise piece
            if callable(piece):
                await piece()
            else:
                yield piece

    @property
    def parts(self) -> list[Any]:
        """The parts of all that the last call of the model was sent, in order."""
        return [part for message in self.seen[-1] for part in message.parts]

    @property
    def requests(self) -> list[Any]:
        """Those of the parts that are not the model's own."""
        return [part for message in self.seen[-1] if isinstance(message, ModelRequest) for part in message.parts]

    def agent(self, **options: Any) -> Agent[Any, Any]:
        """An agent with this model."""
        return Agent(FunctionModel(stream_function=self), **options)


class Provider(FunctionModel):
    """A model that plays whole parts, with what each turn cost, as some provider would report it; then it says "done"."""

    def __init__(self, *turns: tuple[list[ModelResponsePart], RequestUsage], name: str = "whole") -> None:
        super().__init__(stream_function=Script(), model_name=name)
        self._turns = iter(turns)
        self.seen: list[list[ModelMessage]] = []

    @asynccontextmanager
    async def request_stream(
        self, messages: list[ModelMessage], settings: Any, parameters: Any, run_context: Any = None
    ) -> AsyncGenerator[StreamedResponse, None]:
        """Play the next turn."""
        self.seen.append(list(messages))
        parts, usage = next(self._turns, ([TextPart("done")], RequestUsage()))
        yield _Response(parameters, self.model_name, parts, usage)


class _Response(StreamedResponse):
    model_name = ""
    provider_name = "house"
    provider_url = None
    timestamp = datetime(2026, 1, 1, tzinfo=UTC)

    def __init__(self, parameters: Any, model: str, parts: list[ModelResponsePart], usage: RequestUsage) -> None:
        super().__init__(parameters)
        self.model_name, self._parts, self._costs = model, parts, usage

    async def _get_event_iterator(self) -> AsyncIterator[Any]:
        for at, part in enumerate(self._parts):
            yield self._parts_manager.handle_part(vendor_part_id=at, part=part)
        self._usage = self._costs

    async def close_stream(self) -> None:
        pass


def call(name: str, arguments: str | None = "{}", key: str = "c1", index: int = 1) -> Event:
    """A whole call, as the model streams it. A turn that makes several gives each an index of its own."""
    return {index: DeltaToolCall(name=name, json_args=arguments, tool_call_id=key)}


def ill_formed(messages: list[ModelMessage]) -> list[Any]:
    """What a provider would refuse: calls and results that do not pair side by side, arguments that are no object."""
    faults: list[Any] = []
    for before, after in zip([None, *messages], [*messages, None], strict=True):
        calls = [part for part in getattr(before, "parts", ()) if isinstance(part, ToolCallPart)]
        results = [part for part in getattr(after, "parts", ()) if isinstance(part, ToolReturnPart)]
        if sorted(part.tool_call_id for part in calls) != sorted(part.tool_call_id for part in results):
            faults.append((calls, results))
        faults += [part for part in calls if not isinstance(json.loads(part.args_as_json_str()), dict)]
    return faults


# ---- what comes back ------------------------------------------------------------------------------


@dataclass(frozen=True)
class Answer:
    """What one run input got."""

    document: Event
    """The run input."""
    response: httpx.Response
    events: list[Event]
    log: list[Any]
    """What the operator was told meanwhile."""

    @property
    def warnings(self) -> list[str]:
        """The warnings that the operator got."""
        lines = [line if isinstance(line, str) else line.get("warning") for line in self.log]
        return [line for line in lines if line is not None]

    @property
    def breaches(self) -> list[str]:
        """Every MUST that the exchange breaks."""
        exchange = Exchange(events=self.events, run_input=self.document)
        return [str(finding) for finding in judge(exchange, MUSTS)]

    @cached_property
    def consumer(self) -> Consumer:
        """What a consumer holds that has read as far as the stream lets it."""
        consumer = Consumer(copy.deepcopy(self.document))
        with suppress(StreamRejected):
            list(consumer.read(copy.deepcopy(self.events)))
        return consumer

    @property
    def messages(self) -> list[Event]:
        """The messages that the run brought."""
        return self.consumer.messages[len(self.document["messages"]) :]

    @property
    def text(self) -> str:
        """What the assistant said in the run."""
        return "".join(event["delta"] for event in self.of("TEXT_MESSAGE_CONTENT"))

    @property
    def calls(self) -> dict[str, str]:
        """The arguments that streamed, by call id."""
        calls = {event["toolCallId"]: "" for event in self.of("TOOL_CALL_START")}
        for event in self.of("TOOL_CALL_ARGS"):
            calls[event["toolCallId"]] += event["delta"]
        return calls

    @property
    def results(self) -> dict[str, Any]:
        """The content of the results that streamed, by call id."""
        return {event["toolCallId"]: event["content"] for event in self.of("TOOL_CALL_RESULT")}

    @property
    def outcome(self) -> Event:
        """How the run ended: the outcome, or the RUN_ERROR itself."""
        end = self.events[-1] if self.events else {}
        return end.get("outcome") or end

    @property
    def ended(self) -> str | None:
        """The kind of outcome, or the type of the last event where it has none."""
        return self.outcome.get("type")

    @property
    def open(self) -> dict[str, str]:
        """The ids of the interrupts that the run ended with, by call id."""
        return {one["toolCallId"]: one["id"] for one in self.outcome.get("interrupts", ())}

    def of(self, kind: str) -> list[Event]:
        """The events of one type."""
        return [event for event in self.events if event["type"] == kind]


@dataclass
class Thread:
    """A conversation with one server, from its client's side."""

    client: httpx.AsyncClient
    capabilities: str
    """Where the server says what the agent can do."""
    stops: Callable[[str], Awaitable[Any]]
    """Stops a run, by id."""
    log: list[Any]
    """What the operator is told, as it comes."""
    messages: list[Event] = field(default_factory=list)
    runs: int = 0

    async def say(self, content: Any, **fields: Any) -> Answer:
        """Add a user message and run."""
        self.messages.append({"id": f"u{self.runs + 1}", "role": "user", "content": content})
        return await self.run(**fields)

    async def answer(self, call_id: str, content: Any, **fields: Any) -> None:
        """Add the tool message of a frontend call."""
        key = f"{call_id}-answer-{len(self.messages)}"
        self.messages.append({"id": key, "role": "tool", "toolCallId": call_id, "content": content, **fields})

    async def resume(self, answers: dict[str, Any], **fields: Any) -> Answer:
        """Run with a resume entry per interrupt id: a payload, or None for a cancelled entry."""
        return await self.run(resume=[entry(key, payload) for key, payload in answers.items()], **fields)

    async def run(self, **fields: Any) -> Answer:
        """Send the history and whatever else, read to the end, and keep what came."""
        self.runs += 1
        document = {
            "threadId": "t1",
            "runId": f"r{self.runs}",
            "protocolVersion": "1.0",
            "messages": copy.deepcopy(self.messages),
            **fields,
        }
        document = {name: value for name, value in document.items() if value is not None}
        known = len(self.log)
        response = await self.client.post("/", json=document)
        is_stream = response.headers.get("content-type", "").startswith("text/event-stream")
        answer = Answer(document, response, parse_sse(response.content) if is_stream else [], self.log[known:])
        if is_stream:
            self.messages = copy.deepcopy(answer.consumer.messages)
        return answer

    async def stop(self) -> None:
        """Stop the run that is under way."""
        await self.stops(f"r{self.runs}")

    async def leave_after(self, moment: Awaitable[Any]) -> None:
        """Say something, wait for a moment, and close the connection in the middle of the run."""
        document = {"threadId": "t1", "runId": "gone", "protocolVersion": "1.0"}
        document["messages"] = [{"id": "u1", "role": "user", "content": "go"}]
        async with self.client.stream("POST", "/", json=document):
            await moment


def entry(interrupt: str, payload: Any) -> Event:
    """A resume entry."""
    if payload is None:
        return {"interruptId": interrupt, "status": "cancelled"}
    return {"interruptId": interrupt, "status": "resolved", "payload": payload}


# ---- the two servers ------------------------------------------------------------------------------


@asynccontextmanager
async def ours(agent: Agent[Any, Any], **options: Any) -> AsyncGenerator[Thread, None]:
    """A thread with our server. Dependencies are made of the agent's `deps_type`; other options are the adapter's."""
    options.pop("deps", None)
    with structlog.testing.capture_logs() as log:
        async with serving({"agent": PydanticAI(agent, **options)}) as served:
            yield Thread(served.client, "/agents/agent/capabilities", served.runtime.cancel, log)


@asynccontextmanager
async def peer(agent: Agent[Any, Any], **options: Any) -> AsyncGenerator[Thread, None]:
    """A thread with PydanticAI's own adapter, told to report what it can. `deps` makes the dependencies of a run."""
    tokens: list[CancellationToken] = []
    deps = options.pop("deps", lambda: None)
    options.pop("deps_factory", None)

    async def run(request: Request) -> Response:
        tokens.append(CancellationToken())
        return await AGUIAdapter.dispatch_request(
            request, agent=agent, deps=deps(), cancellation_token=tokens[-1], include_usage=True, **options
        )

    async def stop(run_id: str) -> None:
        tokens[-1].cancel()

    log: list[Any] = []
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        warnings.showwarning = lambda message, *_: log.append(str(message))
        async with serving_app(Starlette(routes=[Route("/", run, methods=["POST"])]), None) as served:
            yield Thread(served.client, "/capabilities", stop, log)
