"""Agents of PydanticAI.

What comes in:
- `resume`: what the run input answers, and what it leaves open
- `history`, `readable`, `media`: its messages as the agent's, without what a client may not say
- `frontend`: its tools beside the agent's
- `dependencies`: what the agent depends on, and the state in it
- `files`: what of all that the model can take

What goes out:
- `adapter`, `turn`: runs an agent through its nodes, and the calls of its responses
- `translate`, `content`, `claims`: the agent's events as steps, pure
- `usage`, `failures`, `capabilities`: what a run cost, why it failed, what the agent declares
"""

from adapters.media import Trust
from adapters.pydantic_ai.adapter import PydanticAI

__all__ = ["PydanticAI", "Trust"]
