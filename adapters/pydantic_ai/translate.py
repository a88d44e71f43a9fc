"""PydanticAI's events as steps. Pure: events in, steps out."""

import json
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from ag_ui.core import (
    ActivitySnapshotEvent,
    BaseEvent,
    CustomEvent,
    ReasoningEncryptedValueEvent,
    ReasoningMessageEndEvent,
    TextMessageEndEvent,
    ToolCallEndEvent,
    ToolCallResultEvent,
)
from pydantic_ai import messages as agent
from pydantic_ai.messages import (
    FilePart,
    FunctionToolResultEvent,
    ModelResponse,
    NativeToolCallPart,
    NativeToolReturnPart,
    PartDeltaEvent,
    PartEndEvent,
    PartStartEvent,
    TextPart,
    TextPartDelta,
    ThinkingPart,
    ThinkingPartDelta,
    ToolCallPart,
    ToolCallPartDelta,
    ToolReturnPart,
)

from adapters.base import Reasoning, Step, Text, ToolCall
from adapters.pydantic_ai.claims import artefact_of, claim_of, native_id
from adapters.pydantic_ai.content import result_content

FILE = "pydantic-ai.file"
"""The activity that shows a file which the model made: `{"url": data URI, "mediaType": ...}`."""


class Calls:
    """The ids of one run's tool calls: each once in the thread, though providers repeat theirs or give none."""

    def __init__(self, used: Iterable[str], ids: Callable[[], str], is_output: Callable[[str], bool]) -> None:
        self._used = set(used)
        self._ids = ids
        self.is_output = is_output
        """Says whether a tool is how the model gives its output: a call of it is none for the application."""

    def begin(self, wanted: str) -> str:
        """The id of a call that begins now."""
        name = self._ids() if not wanted or wanted in self._used else wanted
        self._used.add(name)
        return name


class Response:
    """One response of the model, as it streams: its parts by index, its text and calls in one assistant message.

    A thought or a provider's result in the middle ends that message, so that the parts come back in their order.
    """

    def __init__(self, ids: Callable[[], str], calls: Calls) -> None:
        self._ids = ids
        self._names = calls
        self._message = ids()
        self._is_begun = False
        self._thoughts: dict[int, str] = {}
        self._calls: dict[int, str] = {}
        self._native: dict[str, str] = {}

    def read(self, event: Any) -> Iterator[Step]:
        """Translate one event of the response's stream."""
        if type(event) is PartDeltaEvent:
            yield from self._delta(event.index, event.delta)
        elif type(event) is PartStartEvent:
            yield from self._start(event.index, event.part)
        elif type(event) is PartEndEvent:
            if isinstance(event.part, ThinkingPart):
                yield from self._end_thought(event.index, event.part)
        else:
            yield from happening(event, self._ids)

    def end(self) -> Iterator[Step]:
        """Close the assistant message and its calls: until now their arguments may have gone on, in any order."""
        yield TextMessageEndEvent(message_id=self._message)
        for call in self._calls.values():
            yield ToolCallEndEvent(tool_call_id=call)

    def rename(self, response: ModelResponse) -> None:
        """Give the calls of the whole response the ids under which they were streamed, for their results to match."""
        parts = [part for part in response.parts if type(part) is not NativeToolCallPart]
        called = [
            part for part in parts if isinstance(part, ToolCallPart) and not self._names.is_output(part.tool_name)
        ]
        native = set(self._native.values())
        streamed = [self._calls[index] for index in sorted(self._calls) if self._calls[index] not in native]
        for part, call in zip(called, streamed, strict=False):
            part.tool_call_id = call

    # ---- parts ----------------------------------------------------------------------------------

    def _delta(self, index: int, delta: Any) -> Iterator[Step]:
        if type(delta) is TextPartDelta:
            yield Text(delta.content_delta, self._message)
        elif type(delta) is ToolCallPartDelta and delta.args_delta is not None and index in self._calls:
            yield ToolCall(_arguments(delta.args_delta), self._calls[index])
        elif type(delta) is ThinkingPartDelta and delta.content_delta:
            yield Reasoning(delta.content_delta, self._thought(index))

    def _start(self, index: int, part: Any) -> Iterator[Step]:
        match part:
            case TextPart(content):
                self._is_begun = True
                yield Text(content, self._message)
            case ThinkingPart(content):
                yield from self._next_message()
                yield Reasoning(content, self._thought(index))
            case NativeToolCallPart():
                call = self._native[part.tool_call_id] = self._names.begin(native_id(part))
                yield from self._call(index, part, call)
            case NativeToolReturnPart():
                yield from tool_result(part, self._native.get(part.tool_call_id, native_id(part)), self._ids)
                yield from self._next_message()
            case ToolCallPart() if not self._names.is_output(part.tool_name):
                yield from self._call(index, part, self._names.begin(part.tool_call_id))
            case FilePart(content):
                shown = {"url": content.data_uri, "mediaType": content.media_type}
                yield ActivitySnapshotEvent(message_id=self._ids(), activity_type=FILE, content=shown)

    def _call(self, index: int, part: ToolCallPart | NativeToolCallPart, call: str) -> Iterator[Step]:
        self._is_begun = True
        self._calls[index] = call
        yield ToolCall(_arguments(part.args), call, part.tool_name, self._message)
        claim = claim_of(part)
        if claim is not None:
            yield ReasoningEncryptedValueEvent(subtype="tool-call", entity_id=call, encrypted_value=claim)

    def _end_thought(self, index: int, part: ThinkingPart) -> Iterator[Step]:
        thought, artefact = self._thought(index), artefact_of(part)
        if artefact is not None:
            yield ReasoningEncryptedValueEvent(subtype="message", entity_id=thought, encrypted_value=artefact)
        yield ReasoningMessageEndEvent(message_id=thought)

    def _thought(self, index: int) -> str:
        if index not in self._thoughts:
            self._thoughts[index] = self._ids()
        return self._thoughts[index]

    def _next_message(self) -> Iterator[Step]:
        if self._is_begun:
            yield TextMessageEndEvent(message_id=self._message)
            self._message, self._is_begun = self._ids(), False


def happening(event: Any, ids: Callable[[], str]) -> Iterator[Step]:
    """Translate an event from beside the model's words: a tool's result, and what tools send of their own."""
    if isinstance(event, FunctionToolResultEvent):
        yield from tool_result(event.part, event.part.tool_call_id, ids, event.content)
        yield from _events_in(event.part.metadata)
    elif isinstance(event, agent.CustomEvent):
        payload = event.to_payload()
        yield payload if isinstance(payload, BaseEvent) else CustomEvent(name=event.name, value=payload)


def tool_result(
    part: ToolReturnPart | NativeToolReturnPart, call: str, ids: Callable[[], str], beside: Any = None
) -> Iterator[Step]:
    """Give the result of a call; `beside` is what its tool has the model see as well."""
    message, claim = ids(), claim_of(part)
    yield ToolCallResultEvent(message_id=message, tool_call_id=call, content=result_content(part, beside))
    if claim is not None:
        yield ReasoningEncryptedValueEvent(subtype="message", entity_id=message, encrypted_value=claim)


def _events_in(metadata: Any) -> Iterator[Step]:
    """The events that a tool returns in its metadata: one, or a list."""
    for value in metadata if isinstance(metadata, list | tuple) else [metadata]:
        if isinstance(value, BaseEvent):
            yield value


def _arguments(arguments: str | dict[str, Any] | None) -> str:
    if arguments is None or isinstance(arguments, str):
        return arguments or ""
    return json.dumps(arguments)
