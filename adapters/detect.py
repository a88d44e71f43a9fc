"""From an object to its adapter, by type. No framework is imported that the object did not bring along."""

import importlib
import sys
from collections.abc import Callable
from typing import Any

from adapters.base import Adapter


class NoAdapter(Exception):  # noqa: N818 - a sentence about the object
    """The object is no agent that this version knows."""


FRAMEWORKS: dict[tuple[str, str], str] = {
    ("pydantic_ai.agent", "AbstractAgent"): "adapters.pydantic_ai:PydanticAI",
    ("langgraph.pregel", "Pregel"): "adapters.langgraph:LangGraph",
}
"""Per framework: the module and class of its agents, and the adapter class that takes one of them."""


def adapter_for(found: Any) -> Adapter:
    """Return the adapter of an agent: itself, if it has the two methods of one.

    Raises:
        NoAdapter: It is neither an adapter nor an agent of a known framework.
    """
    if isinstance(found, type):
        raise NoAdapter(f"{found.__name__} is a class; name an instance of it")
    for (module, agent_class), adapter in FRAMEWORKS.items():
        kind = getattr(sys.modules.get(module), agent_class, None)
        if kind is not None and isinstance(found, kind):
            return _adapter_class(adapter)(found)
    if isinstance(found, Adapter):
        return found
    raise NoAdapter(
        f"{type(found).__name__} is no agent; name a pydantic_ai.Agent, a compiled LangGraph graph, or an object with capabilities() and run()"
    )


def _adapter_class(name: str) -> Callable[[Any], Adapter]:
    module, _, attribute = name.partition(":")
    adapter_class: Callable[[Any], Adapter] = getattr(importlib.import_module(module), attribute)
    return adapter_class
