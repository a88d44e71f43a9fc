"""What the reader of a run may know of an error that ended it."""

from dataclasses import dataclass

from adapters.base import AdapterError, InputRefused
from sidecar.runs.pipeline import OrderBroken
from sidecar.runs.values import StepRefused


@dataclass(frozen=True, slots=True)
class Failure:
    """What a reader may know of an error."""

    message: str
    code: str
    is_fault: bool
    """Nobody meant it to be shown: it is logged with its traceback."""


def describe_failure(error: BaseException, *, debug: bool) -> Failure:
    """Say what a reader may know: nothing of an error's text, unless the agent meant it or `debug` shows all."""
    match error:
        case AdapterError() | InputRefused():
            return Failure(str(error), error.code, is_fault=False)
        case StepRefused():
            message, code = "The agent sent something that cannot be sent.", "adapter_fault"
        case OrderBroken():
            message, code = "The agent's events do not fit together.", "protocol_breach"
        case _:
            message, code = "The agent failed.", "internal_error"
    return Failure(f"{message} {type(error).__name__}: {error}" if debug else message, code, is_fault=True)
