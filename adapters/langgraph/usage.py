"""What the model calls of a run cost, and which of them are none for the consumer."""

from collections.abc import Callable
from typing import Any
from uuid import UUID

from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.outputs import LLMResult

from adapters.base import ModelUsage


class Meter(BaseCallbackHandler):
    """Hears of every model call of a run, those that do not stream included.

    Its hooks are plain and run in place: LangChain starts a task for each token, or a thread, for any other handler.
    """

    run_inline = True

    def __init__(self, spent: Callable[[ModelUsage], None]) -> None:
        self._spent = spent
        self._models: dict[UUID, tuple[str | None, str | None]] = {}
        self._structured: set[str] = set()

    def is_silent(self, message: str) -> bool:
        """Say whether a message is a structured output that a node reads: it is none for the consumer."""
        return message in self._structured

    def on_chat_model_start(
        self,
        serialized: Any,  # noqa: ARG002 - a hook
        messages: Any,  # noqa: ARG002
        *,
        run_id: UUID,
        metadata: Any = None,
        **more: Any,
    ) -> None:
        """Note which model is called, and what for."""
        known = metadata or {}
        self._models[run_id] = known.get("ls_provider"), known.get("ls_model_name")
        if "ls_structured_output_format" in (more.get("options") or {}):
            self._structured.add(f"lc_run--{run_id}")

    def on_llm_end(self, response: LLMResult, *, run_id: UUID, **more: Any) -> None:  # noqa: ARG002
        """Tell what a call cost."""
        provider, model = self._models.pop(run_id, (None, None))
        for generations in response.generations:
            for generation in generations[:1]:
                message = getattr(generation, "message", None)
                told = getattr(message, "usage_metadata", None)
                if told:
                    named = (getattr(message, "response_metadata", None) or {}).get("model_name")
                    self._spent(_usage(told, provider, model or named))


def _usage(told: dict[str, Any], provider: str | None, model: str | None) -> ModelUsage:
    read, written = told.get("input_token_details") or {}, told.get("output_token_details") or {}
    return ModelUsage(
        provider=provider,
        model=model,
        input_tokens=told.get("input_tokens"),
        output_tokens=told.get("output_tokens"),
        reasoning_tokens=written.get("reasoning"),
        cached_input_tokens=read.get("cache_read"),
        cache_write_input_tokens=read.get("cache_creation"),
    )
