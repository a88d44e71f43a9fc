"""A model without a provider, for `pydantic_ai_agent`: a word of the customer's chooses the tool that it calls."""

import json
import re
from collections.abc import AsyncIterator

from pydantic_ai.messages import ModelMessage, ToolReturnPart, UserPromptPart
from pydantic_ai.models.function import AgentInfo, DeltaToolCall, DeltaToolCalls, FunctionModel

CALLS = {
    "cost": ("price", {"tea": "green"}),
    "add": ("add", {"tea": "green", "packets": 2}),
    "order": ("order", {"note": "for the office"}),
    "pick": ("pick_tea", {"question": "Which tea would you like?"}),
}
"""What is called for a word: the tool, and its arguments."""


async def play(messages: list[ModelMessage], info: AgentInfo) -> AsyncIterator[str | DeltaToolCalls]:
    """Repeat what tools returned since the model spoke last; else call a tool, or say what there is to ask for."""
    news = messages[-1].parts
    results = [f"{part.tool_name}: {part.model_response_str()}" for part in news if isinstance(part, ToolReturnPart)]
    said = " ".join(str(part.content) for part in news if isinstance(part, UserPromptPart)).lower()
    tool, arguments = next((CALLS[word] for word in CALLS if word in said), ("", {}))
    if not results and tool in {offered.name for offered in info.function_tools}:
        yield {0: DeltaToolCall(name=tool, json_args=json.dumps(arguments))}
        return
    for piece in re.findall(r"\s*\S+", "; ".join(results) or f"Ask me with one of the words {', '.join(CALLS)}."):
        yield piece


script = FunctionModel(stream_function=play, model_name="script")
