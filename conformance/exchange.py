"""One request and what came back, as far as it is known: what a stream is judged with besides itself.

Nothing here needs to be known. A rule that would need what is missing is not judged, and said to be so.

Source: basic/transports#the-binding-contract
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

from conformance.events import Event


class Ending(Enum):
    """How a response body ended."""

    CLOSED = "the server closed it"
    BROKEN = "the connection broke"
    OPEN = "it was still open when the reader stopped waiting"


@dataclass(frozen=True, slots=True)
class Exchange:
    """One POST of a run input and its response."""

    run_input: Any = None
    """The JSON value that was sent."""
    request_body: bytes | None = None
    """The bytes that were sent, where they are not just the run input as JSON."""
    accept: str | None = None
    """The request's Accept header."""
    status: int | None = None
    """The response's status code."""
    headers: Mapping[str, str] | None = None
    """The response's headers, by lower-case name."""
    body: Iterable[bytes] | None = None
    """The response's body, in the pieces in which it came."""
    events: Iterable[Any] | None = None
    """The events, where they are JSON values already and there is no body to read them from."""
    ending: Ending | None = None
    """How the body ended."""
    stopped: bool = False
    """The run was stopped on purpose before it could complete."""
    control_status: int | None = None
    """The status that the same request got without what this one deviates in."""
    reference: Sequence[Event] | None = None
    """The same run as a current peer got it."""
    capabilities: Any = None
    """What the server declares of its agent."""
    refusal: bytes = field(default=b"", compare=False)
    """The body of a response that is no stream."""

    @property
    def content_type(self) -> str | None:
        """The media type of the response, without parameters, in lower case."""
        if self.headers is None:
            return None
        return self.headers.get("content-type", "").partition(";")[0].strip().lower()
