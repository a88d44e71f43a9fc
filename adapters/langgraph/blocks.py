"""What a model's message holds, piece by piece, whatever its provider calls it."""

import json
from collections.abc import Iterator
from typing import Any, NamedTuple

from langchain_core.messages import AIMessage, AIMessageChunk


class Words(NamedTuple):
    """A piece of text."""

    text: str


class Thought(NamedTuple):
    """A piece of reasoning, and what its provider wants back with it."""

    index: Any
    text: str
    artefact: str | None


class Called(NamedTuple):
    """A call, or a piece of its arguments."""

    index: Any
    id: str | None
    name: str | None
    arguments: str


Piece = Words | Thought | Called


def pieces_of(message: AIMessage) -> Iterator[Piece]:
    """Give the pieces of a chunk, or of a whole message."""
    calls = message.tool_call_chunks if isinstance(message, AIMessageChunk) else ()
    beside = message.additional_kwargs.get("reasoning_content")
    if beside and isinstance(beside, str):  # providers that keep it out of their content
        yield Thought("beside", beside, None)
    if isinstance(message.content, str):
        if message.content:
            yield Words(message.content)
    else:
        yield from _of_blocks(message.content_blocks)
    if isinstance(message, AIMessageChunk):
        for call in calls:
            yield Called(call["index"], call["id"], call["name"], call["args"] or "")
    else:
        for index, made in enumerate([*message.tool_calls, *message.invalid_tool_calls]):
            arguments = made["args"] if isinstance(made["args"], str) else json.dumps(made["args"] or {}, default=str)
            yield Called(index, made["id"], made["name"], arguments)


def _of_blocks(blocks: list[Any]) -> Iterator[Piece]:
    for place, block in enumerate(blocks):
        match block:
            case {"type": "text", "text": str(text)} if text:
                yield Words(text)
            case {"type": "reasoning"}:
                signature = (block.get("extras") or {}).get("signature")
                thinking = {"type": "thinking", "thinking": "", "signature": signature}
                yield Thought(block.get("index", place), block.get("reasoning") or "", _artefact(thinking, signature))
            case {"type": "non_standard", "value": {"type": "thinking" | "redacted_thinking"} as own}:
                sealed = own.get("signature") or own.get("data")
                yield Thought(
                    own.get("index", block.get("index", place)), own.get("thinking") or "", _artefact(own, sealed)
                )


def _artefact(block: dict[str, Any], sealed: str | None) -> str | None:
    """A provider's block as it goes back to it; None where nothing in it is sealed."""
    if not sealed:
        return None
    return json.dumps({name: value for name, value in block.items() if name != "index"})
