"""The wire schema as tables, as of protocol 1.1: which member of which object is which field.

Numbers are never given twice: what 1.1 adds to 1.0, `encryptedValueType`, is skipped by a reader of 1.0, and an event
of 1.0 has the bytes that it always had.

A field reads `number name kind`, and its kind ends in

- nothing: a field that is always there. On the wire, an empty string is no field, and no field is an empty string.
- `?`: an optional field. No field on the wire is no member, and a null is written as no field.
- `*`: a list, never of numbers. No field on the wire is an empty list; with `*?` it is no member.

Kinds: `string`, `int64`, `bool`, an enumeration, an object, a union of objects that are told apart by `type`, and two
of opaque JSON: `Value` and `Struct`, google.protobuf's.

The names are those of the JSON wire. Where its objects and the messages differ in form, forms.py goes between.

Source: basic/transports/http-protobuf#the-wire-schema; the numbers: spec/1.1/proto-freeze.txt of ag-ui-protocol/ag-ui
"""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Field:
    """One field of a message."""

    number: int
    name: str
    kind: str
    many: bool
    optional: bool


def fields(row: str) -> tuple[Field, ...]:
    """Read the fields of one message, in the order of their numbers, in which they are written."""
    columns = [field.split() for field in row.split(",")]
    return tuple(
        Field(int(number), name, kind.rstrip("*?"), many="*" in kind, optional=kind.endswith("?"))
        for number, name, kind in columns
    )


_ACTIVITY = "2 subagentRunId string?, 3 messageId string, 4 activityType string"
_REASONING = "2 subagentRunId string?, 3 messageId string"

EVENTS = {
    (1, 0, "TEXT_MESSAGE_START"): "2 messageId string, 3 role string?, 4 name string?, 5 subagentRunId string?",
    (2, 1, "TEXT_MESSAGE_CONTENT"): "2 messageId string, 3 delta string, 4 subagentRunId string?",
    (3, 2, "TEXT_MESSAGE_END"): "2 messageId string, 3 subagentRunId string?",
    (4, 3, "TOOL_CALL_START"): (
        "2 toolCallId string, 3 toolCallName string, 4 parentMessageId string?, 5 subagentRunId string?"
    ),
    (5, 4, "TOOL_CALL_ARGS"): "2 toolCallId string, 3 delta string, 4 subagentRunId string?",
    (6, 5, "TOOL_CALL_END"): "2 toolCallId string, 3 subagentRunId string?",
    (7, 6, "STATE_SNAPSHOT"): "2 snapshot Value, 3 subagentRunId string?",
    (8, 7, "STATE_DELTA"): "2 delta Operation*, 3 subagentRunId string?",
    (9, 8, "MESSAGES_SNAPSHOT"): "2 messages Message*",
    (10, 9, "RAW"): "2 event Value, 3 source string?, 4 subagentRunId string?",
    (11, 10, "CUSTOM"): "2 name string, 3 value Value, 4 subagentRunId string?",
    (12, 11, "RUN_STARTED"): (
        "2 threadId string, 3 runId string, 4 parentRunId string?, 5 input RunAgentInput?, 6 protocolVersion string?"
    ),
    (13, 12, "RUN_FINISHED"): (
        "2 threadId string, 3 runId string, 4 result Value?, 5 outcome string, 6 interrupts Interrupt*, "
        "7 usage Usage*?, 8 pendingToolCallIds string*"
    ),
    (14, 13, "RUN_ERROR"): "2 code string?, 3 message string, 4 usage Usage*?",
    (15, 14, "STEP_STARTED"): "2 stepName string, 3 subagentRunId string?",
    (16, 15, "STEP_FINISHED"): "2 stepName string, 3 subagentRunId string?",
    (17, 19, "TEXT_MESSAGE_CHUNK"): (
        "2 messageId string?, 3 role string?, 4 delta string?, 5 name string?, 6 subagentRunId string?"
    ),
    (18, 20, "TOOL_CALL_CHUNK"): (
        "2 toolCallId string?, 3 toolCallName string?, 4 parentMessageId string?, 5 delta string?, "
        "6 subagentRunId string?"
    ),
    (19, 16, "SUBAGENT_STARTED"): (
        "2 subagentRunId string, 3 name string, 4 description string?, 5 parentSubagentRunId string?, "
        "6 parentToolCallId string?, 7 parentMessageId string?"
    ),
    (20, 17, "SUBAGENT_FINISHED"): "2 subagentRunId string, 3 result Value?, 4 outcome string, 5 interruptIds string*",
    (21, 18, "SUBAGENT_ERROR"): "2 subagentRunId string, 3 message string, 4 code string?",
    (22, 21, "TOOL_CALL_RESULT"): (
        "2 subagentRunId string?, 3 messageId string, 4 toolCallId string, 5 content string?, 6 role string?, "
        "7 contentParts ContentPart*"
    ),
    (23, 22, "ACTIVITY_SNAPSHOT"): f"{_ACTIVITY}, 5 content Struct, 6 replace bool?",
    (24, 23, "ACTIVITY_DELTA"): f"{_ACTIVITY}, 5 patch Operation*",
    (25, 24, "REASONING_START"): _REASONING,
    (26, 25, "REASONING_MESSAGE_START"): f"{_REASONING}, 4 role string",
    (27, 26, "REASONING_MESSAGE_CONTENT"): f"{_REASONING}, 4 delta string",
    (28, 27, "REASONING_MESSAGE_END"): _REASONING,
    (29, 28, "REASONING_MESSAGE_CHUNK"): "2 subagentRunId string?, 3 messageId string?, 4 delta string?",
    (30, 29, "REASONING_END"): _REASONING,
    (31, 30, "REASONING_ENCRYPTED_VALUE"): (
        "2 subagentRunId string?, 3 subtype string, 4 entityId string, 5 encryptedValue string, "
        "6 encryptedValueType string?"
    ),
}
"""By the number of its arm in the envelope, its number in EventType, and its type: an event's fields from 2 on."""

ENUMS = {
    "EventType": {kind: number for _, number, kind in EVENTS},
    "Operator": {"add": 0, "remove": 1, "replace": 2, "move": 3, "copy": 4, "test": 5},
}
"""The enumerations: names on the JSON wire, numbers on this one."""

_MEDIA = "1 source Source?, 2 metadata Value?, 3 id string?"

UNIONS = {
    "ContentPart": {
        (1, "text"): "1 text string, 2 id string?, 3 metadata Value?",
        (2, "image"): _MEDIA,
        (3, "audio"): _MEDIA,
        (4, "video"): _MEDIA,
        (5, "document"): _MEDIA,
    },
    "Source": {
        (1, "data"): "1 value string, 2 mimeType string",
        (2, "url"): "1 value string, 2 mimeType string?",
        (3, "file"): "1 value string, 2 provider string?, 3 mimeType string?",
    },
}
"""The unions: by the number of its arm and the object's `type`, its fields."""

MESSAGES = {
    "BaseEvent": "1 type EventType, 2 timestamp int64?, 3 rawEvent Value?, 4 metadata Struct?",
    "Operation": "1 op Operator, 2 path string, 3 from string?, 4 value Value",
    "Message": (
        "1 id string, 2 role string, 3 content string?, 4 name string?, 5 toolCalls ToolCall*?, 6 toolCallId string?, "
        "7 error string?, 8 contentParts ContentPart*, 9 metadata Struct?, 10 subagentRunId string?, "
        "11 encryptedValue string?, 12 activityType string?, 13 activityContent Struct?, 14 encryptedValueType string?"
    ),
    "ToolCall": (
        "1 id string, 2 type string, 3 function Function, 4 metadata Struct?, 5 encryptedValue string?, "
        "6 encryptedValueType string?"
    ),
    "Function": "1 name string, 2 arguments string",
    "RunAgentInput": (
        "1 threadId string, 2 runId string, 3 parentRunId string?, 4 state Value?, 5 messages Message*, 6 tools Tool*, "
        "7 context Context*, 8 forwardedProps Value?, 9 resume ResumeEntry*, 10 protocolVersion string?"
    ),
    "Tool": "1 name string, 2 description string, 3 parameters Value?, 4 metadata Struct?",
    "Context": "1 description string, 2 value string",
    "ResumeEntry": "1 interruptId string, 2 status string, 3 payload Value?, 4 metadata Struct?",
    "Interrupt": (
        "1 id string, 2 reason string, 3 message string?, 4 toolCallId string?, 5 responseSchema Value?, "
        "6 expiresAt string?, 7 metadata Value?, 8 subagentRunId string?"
    ),
    "Usage": (
        "1 provider string?, 2 model string?, 3 inputTokens int64?, 4 outputTokens int64?, 5 totalTokens int64?, "
        "6 reasoningTokens int64?, 7 cachedInputTokens int64?, 8 cacheWriteInputTokens int64?"
    ),
}
"""The objects: their fields. A BaseEvent is field 1 of every event's message; its members stand at the event's root."""
