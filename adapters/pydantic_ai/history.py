"""The run input's messages as PydanticAI's, without what a client may not say.

PydanticAI's own loader and sanitiser are used: they know every part that its adapter ever put into a message.
"""

import warnings
from typing import Any

from pydantic_ai.agent import AbstractAgent
from pydantic_ai.messages import ModelMessage
from pydantic_ai.ui.ag_ui import AGUIAdapter

from adapters.base import AdapterError, RunContext


def load_history(agent: AbstractAgent[Any, Any], run: RunContext) -> list[ModelMessage]:
    """Read the messages.

    Raises:
        AdapterError: There are none, so that there is nothing to answer.
    """
    if not run.input.messages:
        raise AdapterError("The run input has no messages to answer.", "no_messages")
    adapter: AGUIAdapter[Any, Any] = AGUIAdapter(agent=agent, run_input=run.input)
    with warnings.catch_warnings(record=True) as noticed:
        warnings.simplefilter("always")
        history = adapter.sanitize_messages(AGUIAdapter.load_messages(run.input.messages))
    for notice in noticed:
        run.warn(str(notice.message))
    return history
