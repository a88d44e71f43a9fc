"""The vocabulary: event kinds, the families of streamed items, and the fields that identify them.

An event in this package is the JSON object that travels (`Event`). The typed models are `ag_ui.core`'s; they are
what adapters yield, and the pipeline turns them into events once.

Source: events/index, basic/patterns/streaming
"""

from dataclasses import dataclass
from typing import Any, TypeAlias

from ag_ui.core import PROTOCOL_VERSION, EventType

__all__ = [
    "CALL",
    "CHUNK_TRIADS",
    "EVENT_TYPES",
    "PROTOCOL_VERSION",
    "REASONING",
    "SPAN",
    "STEP",
    "SUBAGENT",
    "TEXT",
    "TRIADS",
    "Event",
    "Family",
    "Triad",
]

Event: TypeAlias = dict[str, Any]
"""One protocol event as the JSON object that travels: `{"type": "TEXT_MESSAGE_START", "messageId": ...}`."""

Family: TypeAlias = str
"""What kind of thing an event opens, continues or closes; one identifier may name a thing of each family."""

EVENT_TYPES = frozenset(kind.value for kind in EventType)
"""The types that the protocol describes."""


@dataclass(frozen=True, slots=True)
class Triad:
    """A family of streamed items: how it is opened, extended, closed, and spelled in the compact form."""

    family: Family
    start: str
    content: str
    end: str
    chunk: str
    key: str
    """The field that names the item."""
    opener_fields: tuple[str, ...]
    """What the opening event establishes, and a later chunk or reopening start may only repeat."""


TEXT = "text message"
CALL = "tool call"
REASONING = "reasoning message"
SPAN = "reasoning span"
STEP = "step"
SUBAGENT = "subagent"

TRIADS = {
    TEXT: Triad(
        TEXT,
        "TEXT_MESSAGE_START",
        "TEXT_MESSAGE_CONTENT",
        "TEXT_MESSAGE_END",
        "TEXT_MESSAGE_CHUNK",
        "messageId",
        ("role", "name"),
    ),
    CALL: Triad(
        CALL,
        "TOOL_CALL_START",
        "TOOL_CALL_ARGS",
        "TOOL_CALL_END",
        "TOOL_CALL_CHUNK",
        "toolCallId",
        ("toolCallName", "parentMessageId"),
    ),
    REASONING: Triad(
        REASONING,
        "REASONING_MESSAGE_START",
        "REASONING_MESSAGE_CONTENT",
        "REASONING_MESSAGE_END",
        "REASONING_MESSAGE_CHUNK",
        "messageId",
        (),
    ),
}
"""The three families that stream, by name."""

CHUNK_TRIADS = {triad.chunk: triad for triad in TRIADS.values()}
"""The family of each chunk event."""
