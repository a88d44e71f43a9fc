"""What a run's user may know of an error: that the model failed, and how, without a word of its provider."""

from collections.abc import Sequence

from ag_ui.core import Tool
from pydantic_ai.exceptions import (
    ContentFilterError,
    FallbackExceptionGroup,
    ModelAPIError,
    ModelHTTPError,
    UnexpectedModelBehavior,
    UserError,
)

from adapters.base import AdapterError
from adapters.pydantic_ai.frontend import name_is_taken

EXPLAINED = (FallbackExceptionGroup, ModelAPIError, UnexpectedModelBehavior, UserError)
"""The errors of PydanticAI that have an explanation."""


def explained(error: Exception, tools: Sequence[Tool] | None) -> AdapterError | None:
    """Give the error in whose place the run fails, with a message for its user; None for one that has no such."""
    match error:
        case ModelHTTPError():
            return AdapterError(f"The model's provider answered with HTTP {error.status_code}.", "model_error")
        case ModelAPIError():
            return AdapterError("The model's provider could not be reached, or broke off its answer.", "model_error")
        case FallbackExceptionGroup():
            return AdapterError("None of the agent's models answered.", "model_error")
        case ContentFilterError():
            return AdapterError("The model's provider withheld the answer.", "model_error")
        case UnexpectedModelBehavior():
            return AdapterError("The model gave no usable answer.", "model_error")
        case _:
            return name_is_taken(error, tools)
