"""Agents of PydanticAI.

- `adapter`: runs an agent through its nodes
- `translate`: the agent's events as steps, pure
- `history`: the run input's messages as the agent's
"""

from adapters.pydantic_ai.adapter import PydanticAI

__all__ = ["PydanticAI"]
