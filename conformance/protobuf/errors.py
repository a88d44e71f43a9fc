"""What may be wrong on the binary binding.

    ProtobufError
    ├── Unencodable        an event that has no form on this wire: the producer's fault
    ├── MalformedMessage   bytes that do not decode as a message: fatal to the stream
    ├── UnknownArm         an event of a later protocol: the reader drops the frame with a warning
    └── FrameTooLong       a frame over the reader's limit: fatal to the stream

Source: basic/transports/http-protobuf#the-wire-schema
"""


class ProtobufError(ValueError):
    """Any of these."""


class Unencodable(ProtobufError):  # noqa: N818 - a sentence about the event
    """The event has no form on this wire: an unknown type, or a value of another kind than the field's."""


class MalformedMessage(ProtobufError):  # noqa: N818 - a sentence about the bytes
    """The bytes do not decode as an event. Malformed transport material, fatal to the stream."""


class UnknownArm(ProtobufError):  # noqa: N818 - a sentence about the event
    """The message carries an event that the wire schema predates. There is no type to hand on."""

    def __init__(self, number: int) -> None:
        super().__init__(f"field {number} of the envelope is an event of a later protocol")
        self.number = number
        """The field number of the envelope's arm."""


class FrameTooLong(ProtobufError):  # noqa: N818 - a sentence about the frame
    """A frame header announces more than the reader takes."""

    def __init__(self, length: int, limit: int) -> None:
        super().__init__(
            f"a frame of {length} bytes is announced, at most {limit} are taken; raise the limit to read it"
        )
        self.length, self.limit = length, limit
