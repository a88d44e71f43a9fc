"""Token usage of one run: model calls summed per provider and model.

Source: events/lifecycle#token-usage
"""

from collections.abc import Callable
from typing import Any

from adapters.base import ModelUsage
from conformance.json_values import whole_text

COUNTS = {
    "input_tokens": "inputTokens",
    "output_tokens": "outputTokens",
    "reasoning_tokens": "reasoningTokens",
    "cached_input_tokens": "cachedInputTokens",
    "cache_write_input_tokens": "cacheWriteInputTokens",
}
"""The counts of a model call, and their names in an entry."""

LARGEST = 2**53 - 1


class Usage:
    """Takes what the model calls of one run cost, and sums it when the run ends."""

    __slots__ = ("_calls", "_is_closed", "_warn")

    def __init__(self, warn: Callable[[str], None]) -> None:
        self._warn = warn
        self._calls: list[ModelUsage] = []
        self._is_closed = False

    def add(self, call: ModelUsage) -> None:
        """Take one model call, from any thread; after the end of the run it does nothing.

        Raises:
            TypeError: It is something else.
        """
        if not isinstance(call, ModelUsage):
            raise TypeError(f"what was spent is told as a ModelUsage, not as {type(call).__name__}")
        if not self._is_closed:
            self._calls.append(call)

    def close(self) -> list[dict[str, Any]]:
        """End the run: one entry per provider and model that reported anything. (usage-one-entry)"""
        self._is_closed = True
        sums: dict[tuple[str | None, str | None], dict[str, int]] = {}
        for call in self._calls:
            labels = self._label("provider", call.provider), self._label("model", call.model)
            self._sum(call, sums.setdefault(labels, {}))
        return [
            {**_labels(provider, model), **self._consistent(counts)}
            for (provider, model), counts in sums.items()
            if counts
        ]

    def _label(self, name: str, label: str | None) -> str | None:
        if label is None or isinstance(label, str):
            return label and whole_text(label)
        self._warn(f"usage: {name} must be a text, not {label!r}; it is left out")
        return None

    def _sum(self, call: ModelUsage, counts: dict[str, int]) -> None:
        """Add one model call. A count that the provider did not report stays absent. (usage-unknown-absent)"""
        for name, member in COUNTS.items():
            count = getattr(call, name)
            if count is None:
                continue
            if type(count) is not int or not 0 <= count <= LARGEST:
                self._warn(f"usage: {member} must be a count of tokens, not {count!r}; it is left out")
                continue
            counts[member] = min(counts.get(member, 0) + count, LARGEST)

    def _consistent(self, counts: dict[str, int]) -> dict[str, int]:
        """Drop parts that exceed their total, and add the total where both of its parts are known."""
        counts = dict(counts)
        caches = counts.get("cachedInputTokens", 0) + counts.get("cacheWriteInputTokens", 0)
        if caches > counts.get("inputTokens", LARGEST):  # usage-parts
            self._warn("usage: cache tokens exceed inputTokens; the parts are left out")
            counts.pop("cachedInputTokens", None)
            counts.pop("cacheWriteInputTokens", None)
        if counts.get("reasoningTokens", 0) > counts.get("outputTokens", LARGEST):
            self._warn("usage: reasoningTokens exceed outputTokens; the part is left out")
            del counts["reasoningTokens"]
        if "inputTokens" in counts and "outputTokens" in counts:  # usage-total
            counts["totalTokens"] = min(counts["inputTokens"] + counts["outputTokens"], LARGEST)
        return counts


def _labels(provider: str | None, model: str | None) -> dict[str, str]:
    return {name: label for name, label in (("provider", provider), ("model", model)) if label is not None}
