"""A client's messages in shapes in which PydanticAI's loader reads them.

It raises for some that a run input can hold, and misreads others: media that cannot be used, results that cannot be
parsed, artefacts of another shape. Those are left out or made text, and noted.
"""

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any

from ag_ui.core import (
    ActivityMessage,
    AssistantMessage,
    ContentPart,
    DeveloperMessage,
    Message,
    ReasoningMessage,
    SystemMessage,
    TextPart,
    ToolCall,
    ToolMessage,
    UserMessage,
)
from pydantic_core import from_json

from adapters.conversation import Notes, answer_of
from adapters.media import Trust, Unusable
from adapters.pydantic_ai.media import fit

_SYSTEM = "Left out system and developer messages of the client, which may not instruct the agent"
_RECORDS = "Left out activities that claim to be records of PydanticAI"
_ORPHANS = "Left out tool messages without a call before them"
_NOTHING = "Left out user messages of which nothing is left"
_ARTEFACT = "Left out artefacts that this agent does not take back, of the messages and calls"
_COPIES = "Left out signed reasoning that the history holds already"
_UNPARSED = "Kept results that cannot be parsed as text, of the calls"

_AS_TEXT = "The result, as text:\n"
_LONG_NUMBER = re.compile(r"[0-9]{4300}")
"""Python refuses to parse numbers of more digits."""

_NATIVE = re.compile(r"pyd_ai_builtin[^|]*\|[^|]*\|")


def is_native(call_id: str) -> bool:
    """Tell the id of a call that the model's provider ran itself: PydanticAI writes the provider's name into it."""
    return _NATIVE.match(call_id) is not None


def readable(messages: Iterable[Message], trust: Trust, notes: Notes) -> list[Message]:
    """What the loader is given of a client's messages."""
    return list(_native_first(_readable(messages, trust, notes)))


def _readable(messages: Iterable[Message], trust: Trust, notes: Notes) -> Iterator[Message]:
    """The messages that the loader reads, in shapes in which it reads them."""
    calls: dict[str, ToolCall] = {}
    thoughts: set[tuple[str, str]] = set()
    for message in messages:
        match message:
            case UserMessage():
                yield from _user(message, trust, notes)
            case AssistantMessage():
                calls.update({call.id: call for call in message.tool_calls or ()})
                yield _assistant(message, notes)
            case ToolMessage() if message.tool_call_id in calls:
                yield _result(message, calls[message.tool_call_id], trust, notes)
            case ToolMessage():
                notes.note(_ORPHANS, message.id)
            case ReasoningMessage():
                yield from _reasoning(message, thoughts, notes)
            case SystemMessage() | DeveloperMessage() if trust.system_messages:
                yield message.model_copy(update={"encrypted_value": None})
            case SystemMessage() | DeveloperMessage():
                notes.note(_SYSTEM, message.id)
            case ActivityMessage() if message.activity_type.startswith("pydantic_ai_"):
                notes.note(_RECORDS, message.id)


def _native_first(messages: Iterable[Message]) -> Iterator[Message]:
    """Results in the order in which PydanticAI keeps them: those of the provider belong to its response."""
    for _, group in groupby(messages, lambda message: isinstance(message, ToolMessage)):
        yield from sorted(group, key=lambda message: not is_native(getattr(message, "tool_call_id", "")))


def _user(message: UserMessage, trust: Trust, notes: Notes) -> Iterator[Message]:
    content = message.content if isinstance(message.content, str) else _parts(message, message.content, trust, notes)
    if isinstance(content, str) or content:
        yield message.model_copy(update={"content": content, "encrypted_value": None})
    else:
        notes.note(_NOTHING, message.id)


def _parts(
    message: UserMessage | ToolMessage, parts: Sequence[ContentPart], trust: Trust, notes: Notes
) -> list[ContentPart]:
    fitting: list[ContentPart] = []
    for part in parts:
        try:
            fitting.append(fit(part, trust))
        except Unusable as reason:
            notes.note(f"Left out parts of type {part.type}, as {reason}, of the messages", message.id)
    return fitting


def _assistant(message: AssistantMessage, notes: Notes) -> Message:
    calls = [_call(call, notes) for call in message.tool_calls or ()]
    return message if calls == (message.tool_calls or []) else message.model_copy(update={"tool_calls": calls})


def _call(call: ToolCall, notes: Notes) -> ToolCall:
    if call.encrypted_value is None or _is_claim(call.encrypted_value, call):
        return call
    notes.note(_ARTEFACT, call.id)
    return call.model_copy(update={"encrypted_value": None})


def _result(message: ToolMessage, call: ToolCall, trust: Trust, notes: Notes) -> Message:
    """A result with the reason of its failure, and text that the loader can parse or has no reason to."""
    content = answer_of(message)
    if not isinstance(content, str):
        parts = _parts(message, content, trust, notes)
        texts = [part.text for part in parts if isinstance(part, TextPart)]
        content = "".join(texts) if len(texts) == len(parts) <= 1 else parts
    if isinstance(content, str) and not _parses(content):
        notes.note(_UNPARSED, message.tool_call_id)
        content = _AS_TEXT + content
    claim = message.encrypted_value
    if claim is not None and not _is_claim(claim, call):
        notes.note(_ARTEFACT, message.id)
        claim = None
    return message.model_copy(update={"content": content, "encrypted_value": claim})


_TOOLS = {
    (True, "tool-search"): "tool_search",
    (False, "tool-search"): "search_tools",
    (False, "capability-load"): "load_capability",
}
"""The tools that may be of PydanticAI's own kinds, by whether the provider runs them, and the kind."""


def _is_claim(artefact: str, call: ToolCall) -> bool:
    """Say whether a call's or a result's artefact is what this package writes there, and can be true of its tool."""
    try:
        fields = _parse(artefact)
    except ValueError:
        return False
    claim = fields.get("pydantic_ai") if isinstance(fields, dict) else None
    if not isinstance(claim, dict):
        return False
    tool = _TOOLS.get((is_native(call.id), str(claim.get("tool_kind"))))
    return tool is None or tool == call.function.name


def _reasoning(message: ReasoningMessage, thoughts: set[tuple[str, str]], notes: Notes) -> Iterator[Message]:
    """A piece of reasoning with its artefact; a signed one once: clients that merge histories hold some twice."""
    artefact = message.encrypted_value
    fields = _artefact(artefact or "")
    if artefact is not None and fields is None:
        notes.note(_ARTEFACT, message.id)
        yield message.model_copy(update={"encrypted_value": None})
    elif artefact is None or "signature" not in (fields or {}):
        yield message
    elif (message.content, artefact) in thoughts:
        notes.note(_COPIES, message.id)
    else:
        thoughts.add((message.content, artefact))
        yield message


_ARTEFACT_SHAPE: Mapping[str, type] = {
    "id": str,
    "signature": str,
    "provider_name": str,
    "provider_details": dict,
    "canonical_system": str,
}


def _artefact(text: str) -> dict[str, Any] | None:
    """The fields of a reasoning message's artefact; None where it is not of the shape that this package writes."""
    try:
        fields = _parse(text)
    except ValueError:
        return None
    known = _ARTEFACT_SHAPE.keys() & fields.keys() if isinstance(fields, dict) else ()
    return fields if known and all(isinstance(fields[name], _ARTEFACT_SHAPE[name]) for name in known) else None


def _parses(text: str) -> bool:
    """Say whether the loader takes a result's text: as the JSON that it is, or as text if it is none."""
    if text.lstrip()[:1] not in _JSON_STARTS:
        return True
    try:
        _parse(text)
    except ValueError:
        return not _is_json(text)
    return True


_JSON_STARTS = frozenset('[{"-0123456789')


def _parse(text: str) -> Any:
    """Parse JSON that is not too deep, too long in its numbers, or broken in its characters: else a ValueError."""
    if _LONG_NUMBER.search(text):
        raise ValueError("a number has too many digits")
    return from_json(text.encode(errors="surrogatepass"))


def _is_json(text: str) -> bool:
    try:
        json.loads(text)
    except json.JSONDecodeError:
        return False
    except (ValueError, RecursionError):
        return True
    return True
