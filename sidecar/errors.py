"""What this server refuses, as one tree.

    Refused                     answered before any stream, as RFC 9457 problem details
    ├── BadBody                 400  invalid_json, too_deep, unsupported_version
    ├── BadInput                422  invalid_input
    ├── NotAdmitted             422  invalid_input, or what the agent calls it
    ├── UnknownAgent            404  unknown_agent
    ├── UnknownRun              404  unknown_run
    ├── NothingAcceptable       406  not_acceptable
    ├── RunIsActive             409  run_is_active
    ├── BodyTooLarge            413  body_too_large
    ├── WrongContentType        415  wrong_content_type
    └── ServerIsStopping        503  server_is_stopping
    ConfigurationError          the operator's: one line on stderr, exit code 2

What goes wrong after a stream opened is no exception of this tree: it is a RUN_ERROR in the stream.
"""

from collections.abc import Sequence
from typing import Any, ClassVar

from adapters.base import InputRefused
from conformance.shapes import Deviation, pointer


class ConfigurationError(Exception):
    """The server cannot start as it was asked to. The message says what to do."""


class Refused(Exception):  # noqa: N818 - a sentence about the request
    """A request that starts no run. `code` is stable; `extra` is added to the problem document."""

    status: ClassVar[int]
    title: ClassVar[str]
    code: str

    def __init__(self, detail: str, **extra: Any) -> None:
        super().__init__(detail)
        self.extra = extra


class BadBody(Refused):
    """The body is no run input that this server could read."""

    status = 400
    title = "The body cannot be read"

    def __init__(self, detail: str, code: str) -> None:
        super().__init__(detail)
        self.code = code


class BadInput(Refused):
    """Known fields of the run input hold what the schema rejects. `field` is the first, `errors` lists all."""

    status = 422
    title = "The run input is malformed"
    code = "invalid_input"

    def __init__(self, detail: str, malformed: Sequence[Deviation]) -> None:
        super().__init__(detail, **_fields(malformed))


class NotAdmitted(Refused):
    """The agent cannot take this run input, though it is well-formed. `field` says where, as for `BadInput`."""

    status = 422
    title = "The agent cannot take the run input"

    def __init__(self, refused: InputRefused) -> None:
        super().__init__(f"{refused}.", **_fields([refused]))
        self.code = refused.code


class UnknownAgent(Refused):
    """No agent of this name is served."""

    status = 404
    title = "No such agent"
    code = "unknown_agent"

    def __init__(self, name: str, known: Sequence[str]) -> None:
        super().__init__(f"No agent is called {name!r}; this server has {', '.join(known)}.")


class UnknownRun(Refused):
    """No run of this id is known here."""

    status = 404
    title = "No such run"
    code = "unknown_run"

    def __init__(self, run_id: str) -> None:
        super().__init__(f"No run {run_id!r} is active or ended recently.")


class NothingAcceptable(Refused):
    """The client accepts no representation that this server has."""

    status = 406
    title = "Nothing acceptable"
    code = "not_acceptable"

    def __init__(self, accept: str) -> None:
        super().__init__(f"A run answers with text/event-stream; the request accepts {accept!r}.")


class RunIsActive(Refused):
    """A run of this id is still active."""

    status = 409
    title = "The run is active"
    code = "run_is_active"

    def __init__(self, run_id: str) -> None:
        super().__init__(f"Run {run_id!r} is still active; wait for its end, cancel it, or use a new runId.")


class BodyTooLarge(Refused):
    """The body is larger than this server reads."""

    status = 413
    title = "The body is too large"
    code = "body_too_large"

    def __init__(self, limit: int) -> None:
        super().__init__(f"The body is larger than {limit} bytes; send less, or raise max_body_bytes.", limit=limit)
        self.limit = limit


class WrongContentType(Refused):
    """The body is not declared as JSON."""

    status = 415
    title = "The body is not JSON"
    code = "wrong_content_type"

    def __init__(self, content_type: str | None) -> None:
        came = "no Content-Type" if content_type is None else f"Content-Type {content_type!r}"
        super().__init__(f"Send the run input as Content-Type application/json; the request has {came}.")


class ServerIsStopping(Refused):
    """The server takes no more runs."""

    status = 503
    title = "The server is stopping"
    code = "server_is_stopping"

    def __init__(self) -> None:
        super().__init__("The server is shutting down; try again, another replica may answer.")


def _fields(malformed: Sequence[Deviation | InputRefused]) -> dict[str, Any]:
    errors = [{"field": pointer(one.path), "expected": one.expected, "found": one.found} for one in malformed]
    return {"field": errors[0]["field"], "errors": errors[:20]} if errors else {}
