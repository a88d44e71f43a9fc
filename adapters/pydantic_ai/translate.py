"""PydanticAI's events as steps. Pure: events in, steps out."""

import json
from collections.abc import Callable, Iterator
from typing import Any

from ag_ui.core import (
    ReasoningEncryptedValueEvent,
    ReasoningMessageEndEvent,
    TextMessageEndEvent,
    ToolCallEndEvent,
    ToolCallResultEvent,
)
from pydantic_ai.messages import (
    FunctionToolResultEvent,
    ModelResponse,
    PartDeltaEvent,
    PartEndEvent,
    PartStartEvent,
    TextPart,
    TextPartDelta,
    ThinkingPart,
    ThinkingPartDelta,
    ToolCallPart,
    ToolCallPartDelta,
)

from adapters.base import ModelUsage, Reasoning, Step, Text, ToolCall


class Response:
    """One response of the model, as it streams: its parts by index, its text and calls in one assistant message."""

    def __init__(self, ids: Callable[[], str]) -> None:
        self._ids = ids
        self._message = ids()
        self._thoughts: dict[int, str] = {}
        self._calls: dict[int, str] = {}

    def read(self, event: Any) -> Iterator[Step]:
        """Translate one event of the response's stream."""
        if type(event) is PartDeltaEvent:
            yield from self._delta(event.index, event.delta)
        elif type(event) is PartStartEvent:
            yield from self._start(event.index, event.part)
        elif type(event) is PartEndEvent:
            yield from self._end(event.index, event.part)

    def end(self) -> Iterator[Step]:
        """Close the assistant message and its calls: until now their arguments may have gone on, in any order."""
        yield TextMessageEndEvent(message_id=self._message)
        for call in self._calls.values():
            yield ToolCallEndEvent(tool_call_id=call)

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
                yield Text(content, self._message)
            case ThinkingPart(content):
                yield Reasoning(content, self._thought(index))
            case ToolCallPart():
                self._calls[index] = part.tool_call_id
                yield ToolCall(_arguments(part.args), part.tool_call_id, part.tool_name, self._message)

    def _end(self, index: int, part: Any) -> Iterator[Step]:
        if isinstance(part, ThinkingPart):
            thought = self._thought(index)
            artefact = _artefact(part)
            if artefact is not None:
                yield ReasoningEncryptedValueEvent(subtype="message", entity_id=thought, encrypted_value=artefact)
            yield ReasoningMessageEndEvent(message_id=thought)

    def _thought(self, index: int) -> str:
        if index not in self._thoughts:
            self._thoughts[index] = self._ids()
        return self._thoughts[index]


def tool_result(event: Any, ids: Callable[[], str]) -> Iterator[Step]:
    """Translate one event of the tools' execution."""
    if isinstance(event, FunctionToolResultEvent):
        content = event.part.model_response_str()
        yield ToolCallResultEvent(message_id=ids(), tool_call_id=event.part.tool_call_id, content=content)


def usage_of(response: ModelResponse) -> ModelUsage:
    """What one response cost. PydanticAI writes zero where the provider said nothing: such a count stays unknown."""
    usage = response.usage
    return ModelUsage(
        provider=response.provider_name,
        model=response.model_name,
        input_tokens=usage.input_tokens or None,
        output_tokens=usage.output_tokens or None,
        cached_input_tokens=usage.cache_read_tokens or None,
        cache_write_input_tokens=usage.cache_write_tokens or None,
    )


def _arguments(arguments: str | dict[str, Any] | None) -> str:
    if arguments is None or isinstance(arguments, str):
        return arguments or ""
    return json.dumps(arguments)


def _artefact(part: ThinkingPart) -> str | None:
    """What the provider wants back with a thought, in the form in which the loader reads it; None if nothing."""
    fields = {
        "id": part.id,
        "signature": part.signature,
        "provider_name": part.provider_name,
        "provider_details": part.provider_details,
    }
    known = {name: value for name, value in fields.items() if value is not None}
    return json.dumps(known) if known.keys() - {"provider_name"} else None
