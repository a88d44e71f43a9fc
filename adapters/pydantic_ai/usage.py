"""What a run's model calls cost."""

from collections.abc import Callable
from typing import Any

from pydantic_ai.messages import ModelResponse
from pydantic_ai.run import AgentRun  # noqa: TC002 - an annotation that is read at run time
from pydantic_ai.usage import RequestUsage, RunUsage

from adapters.base import ModelUsage


class Ledger:
    """Tells what the responses of one run cost, each once, and at its end what agents that it delegated to did.

    A delegate adds to the run's total without a word about its model: its part has neither provider nor model.
    """

    def __init__(self, spent: Callable[[ModelUsage], None]) -> None:
        self._spent = spent
        self._told = RunUsage()
        self._responses = 0
        self.agent_run: AgentRun[Any, Any] | None = None
        """The run, as soon as there is one."""

    def tell(self) -> None:
        """Tell what the responses cost that came since."""
        if self.agent_run is None:
            return
        responses = [message for message in self.agent_run.new_messages() if isinstance(message, ModelResponse)]
        for response in responses[self._responses :]:
            self._told = self._told + response.usage
            self._spent(_usage(response.usage, response.provider_name, response.model_name))
        self._responses = len(responses)

    def close(self) -> None:
        """Tell what is left of the total."""
        self.tell()
        if self.agent_run is not None:
            rest = self.agent_run.usage - self._told
            if rest.input_tokens > 0 or rest.output_tokens > 0:
                self._spent(_usage(rest, None, None))


def _usage(usage: RequestUsage | RunUsage, provider: str | None, model: str | None) -> ModelUsage:
    """PydanticAI writes zero where the provider said nothing: such a count stays unknown."""
    return ModelUsage(
        provider=provider,
        model=model,
        input_tokens=usage.input_tokens or None,
        output_tokens=usage.output_tokens or None,
        reasoning_tokens=usage.details.get("reasoning_tokens") or None,
        cached_input_tokens=usage.cache_read_tokens or None,
        cache_write_input_tokens=usage.cache_write_tokens or None,
    )
