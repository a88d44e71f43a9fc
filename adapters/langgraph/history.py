"""A run input's messages as LangChain's; `thread` says what of them a thread that has a checkpoint still lacks."""

import re
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from ag_ui.core import (
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
from langchain_core import messages as langchain
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage
from pydantic_core import from_json

from adapters.conversation import NOT_EXECUTED, UNREADABLE, Notes, answer_of, closed, read_conversation
from adapters.langgraph.content import Block, block_of, joined, tool_content
from adapters.langgraph.thread import fork_point, new_messages
from adapters.media import Trust, Unusable

__all__ = ["Trust", "fork_point", "new_messages", "to_langchain", "tool_content", "whole_history"]

_NOTHING_TRUSTED = Trust()

_SYSTEM = "Left out system and developer messages of the client, which may not instruct the agent"
_NOTHING = "Left out user messages of which nothing is left"
_ARTEFACT = "Left out artefacts of reasoning that no model takes back, of the messages"
_COPIES = "Left out signed reasoning that the history holds already"
_ALONE = "Left out signed reasoning that no assistant message follows in its turn"
_AS_TEXT = f"Kept arguments that are no JSON object as text, under {UNREADABLE!r}, of the calls"


def to_langchain(
    messages: Sequence[Message], warn: Callable[[str], None], *, trust: Trust = _NOTHING_TRUSTED
) -> list[BaseMessage]:
    """Translate a client's messages, under their ids. Raises for none that a run input can hold.

    Activities and reasoning that no provider has signed are for people, and stay out.

    Args:
        messages: In the client's order.
        warn: Is told what is left out or changed, one sentence for each kind.
        trust: What the client may do.
    """
    notes = Notes()
    translated = list(_translated(messages, trust, notes))
    notes.tell(warn)
    return translated


def whole_history(
    messages: Sequence[Message], warn: Callable[[str], None], *, trust: Trust = _NOTHING_TRUSTED
) -> list[BaseMessage]:
    """Translate a history that no checkpoint stands behind: every call in it has one result, right behind it.

    A call that nobody answered gets a result that says so: what a client says was called is never executed.
    """
    conversation = closed(read_conversation(messages, warn), {}, otherwise=NOT_EXECUTED)
    return to_langchain(conversation.messages, warn, trust=trust)


# ---- message by message ---------------------------------------------------------------------------


def _translated(messages: Sequence[Message], trust: Trust, notes: Notes) -> Iterator[BaseMessage]:
    names: dict[str, str] = {}
    thoughts = _thoughts(messages, notes)
    for place, message in enumerate(messages):
        match message:
            case UserMessage():
                yield from _user(message, trust, notes)
            case AssistantMessage():
                names.update({call.id: call.function.name for call in message.tool_calls or ()})
                yield _assistant(message, thoughts.get(place, []), notes)
            case ToolMessage():
                yield _result(message, names.get(message.tool_call_id), trust, notes)
            case SystemMessage() | DeveloperMessage() if trust.system_messages:
                yield _instruction(message)
            case SystemMessage() | DeveloperMessage():
                notes.note(_SYSTEM, message.id)


def _user(message: UserMessage, trust: Trust, notes: Notes) -> Iterator[BaseMessage]:
    blocks = _blocks(message, message.content, trust, notes)
    if blocks:
        yield HumanMessage(joined(blocks), id=message.id, name=_name(message.name))
    else:
        notes.note(_NOTHING, message.id)


def _assistant(message: AssistantMessage, thoughts: list[Block], notes: Notes) -> BaseMessage:
    text: list[Block] = [{"type": "text", "text": message.content}] if message.content else []
    calls = [_call(call, notes) for call in message.tool_calls or ()]
    return AIMessage(joined([*thoughts, *text]), id=message.id, name=_name(message.name), tool_calls=calls)


def _call(call: ToolCall, notes: Notes) -> langchain.ToolCall:
    """A call, its arguments an object: none at all are an empty one, and what is none stands in one as text."""
    text = call.function.arguments
    try:
        arguments = _parse(text) if text.strip() else {}
    except ValueError:
        arguments = None
    if not isinstance(arguments, dict):
        notes.note(_AS_TEXT, call.id)
        arguments = {UNREADABLE: text}
    return langchain.ToolCall(id=call.id, name=call.function.name, args=arguments, type="tool_call")


def _result(message: ToolMessage, name: str | None, trust: Trust, notes: Notes) -> BaseMessage:
    return langchain.ToolMessage(
        joined(_blocks(message, answer_of(message), trust, notes)),
        id=message.id,
        name=name,
        tool_call_id=message.tool_call_id,
        status="error" if message.error else "success",
    )


def _instruction(message: SystemMessage | DeveloperMessage) -> BaseMessage:
    """An instruction; the one provider that has developer messages is told of them as LangChain does."""
    more = {"__openai_role__": "developer"} if isinstance(message, DeveloperMessage) else {}
    return langchain.SystemMessage(message.content, id=message.id, additional_kwargs=more)


def _blocks(
    message: UserMessage | ToolMessage, content: str | Sequence[ContentPart], trust: Trust, notes: Notes
) -> list[Block]:
    parts = [TextPart(text=content)] if isinstance(content, str) else content
    blocks: list[Block] = []
    for part in parts:
        try:
            blocks.append(block_of(part, trust))
        except Unusable as reason:
            notes.note(f"Left out parts of type {part.type}, as {reason}, of the messages", message.id)
    return blocks


_SENDABLE_NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}")


def _name(name: str | None) -> str | None:
    """A name that every provider takes; another one would fail the run."""
    return name if name and _SENDABLE_NAME.fullmatch(name) else None


def _parse(text: str) -> Any:
    return from_json(text.encode(errors="surrogatepass"), allow_inf_nan=False)


# ---- reasoning ------------------------------------------------------------------------------------

_REASONING_TYPES = frozenset({"thinking", "redacted_thinking", "reasoning", "reasoning_content"})
_PROOFS = frozenset({"signature", "data", "encrypted_content", "id"})
"""What makes a provider's block one of a kind: two that are equal and have one of these are copies."""

_OF_MESSAGE = ":reasoning-"
"""Stands behind the assistant message's id in the ids that this adapter gives to reasoning."""


def _thoughts(messages: Sequence[Message], notes: Notes) -> Mapping[int, list[Block]]:
    """The provider's blocks of reasoning that belong to each assistant message, by its place; each once.

    A thought belongs to the message that its id names, else to the next one of its turn.
    """
    answers = {message.id: place for place, message in enumerate(messages) if isinstance(message, AssistantMessage)}
    thoughts: defaultdict[int, list[Block]] = defaultdict(list)
    seen: set[tuple[str, str]] = set()
    for place, message in enumerate(messages):
        if not isinstance(message, ReasoningMessage) or not message.encrypted_value:
            continue
        block = _provider_block(message.content, message.encrypted_value)
        target = answers.get(message.id.rpartition(_OF_MESSAGE)[0], _next_answer(messages, place))
        known = (message.content, message.encrypted_value)
        if block is None:
            notes.note(_ARTEFACT, message.id)
        elif target is None:
            notes.note(_ALONE, message.id)
        elif known in seen:
            notes.note(_COPIES, message.id)
        else:
            seen |= {known} if _PROOFS & block.keys() else set()
            thoughts[target].append(block)
    return thoughts


def _next_answer(messages: Sequence[Message], place: int) -> int | None:
    """The place of the next assistant message, before a user has the word again."""
    for later in range(place + 1, len(messages)):
        if isinstance(messages[later], AssistantMessage):
            return later
        if isinstance(messages[later], UserMessage):
            return None
    return None


def _provider_block(text: str, artefact: str) -> Block | None:
    """The provider's own block, from its JSON or from a bare signature; None for what is neither.

    A signature that streamed may have come without the text that it signs: that is the message's.
    """
    if artefact[0] not in '{["':
        return {"type": "thinking", "thinking": text, "signature": artefact}
    try:
        block = _parse(artefact)
    except ValueError:
        return None
    if not isinstance(block, dict) or block.get("type") not in _REASONING_TYPES:
        return None
    return {**block, "thinking": text} if block["type"] == "thinking" and text else block
