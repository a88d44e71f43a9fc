"""The binary binding: events as protobuf messages, and messages in length-prefixed frames. No I/O.

`encode` and `frame` write a body, `Frames` and `decode` read one. What the wire itself cannot tell apart, or does not
carry, cannot come back:

| in the event | after the wire |
|---|---|
| a field that the protocol does not describe, in events, messages, parts, operations | gone |
| null on an optional field, whatever the field takes | no field; a required null (`snapshot`, `value`) stays null |
| no required string | the empty string |
| an empty `usage`, `toolCalls`, `pendingToolCallIds`, `interruptIds` | no field |
| an `input` without `tools`, `context`, `resume` | empty lists |
| a number in opaque JSON | the nearest double; a whole one below 1e21 is an integer, as JavaScript writes it: 5.0 is 5 |
| NaN, an infinity, an integer that no double can hold | null |
| an object's keys that are array indexes (`"0"`, `"10"`) | first, ascending, as JavaScript holds objects |
| a lone surrogate | U+FFFD |

Decoding judges no more than it must: unknown roles, outcomes and operations come back as they were written, for the
pipeline behind it to strip as it does on the other binding. A content part of an unknown variant has no name on this
wire; it is left out.

Source: basic/transports/http-protobuf
"""

from conformance.protobuf.decoder import decode
from conformance.protobuf.encoder import encode
from conformance.protobuf.errors import FrameTooLong, MalformedMessage, ProtobufError, Unencodable, UnknownArm
from conformance.protobuf.frames import Frames, frame

__all__ = [
    "CONTENT_TYPE",
    "FrameTooLong",
    "Frames",
    "MalformedMessage",
    "ProtobufError",
    "Unencodable",
    "UnknownArm",
    "decode",
    "encode",
    "frame",
]

CONTENT_TYPE = "application/vnd.ag-ui.event+proto"
"""The response's Content-Type, exactly, and the media type that a client admits."""
