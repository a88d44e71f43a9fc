"""A chat model without a provider, for `langgraph_agent`: a word of the customer's chooses the tool that it calls."""

import json
import re
from collections.abc import Iterator
from typing import Any

from langchain_core.language_models import BaseChatModel
from langchain_core.language_models.chat_models import generate_from_stream
from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage, ToolMessage
from langchain_core.messages.ai import UsageMetadata
from langchain_core.messages.tool import tool_call_chunk
from langchain_core.outputs import ChatGenerationChunk, ChatResult
from langchain_core.utils.function_calling import convert_to_openai_tool

CALLS = {
    "cost": ("price", {"tea": "green"}),
    "add": ("add", {"tea": "green", "packets": 2}),
    "order": ("order", {"note": "for the office"}),
    "deliver": ("deliver", {}),
    "advise": ("advise", {"occasion": "a long evening"}),
    "pick": ("pick_tea", {"question": "Which tea would you like?"}),
}
"""What is called for a word: the tool, and its arguments."""


class Script(BaseChatModel):
    """Repeats what tools returned since it spoke last; else calls a tool, or says its own words."""

    model: str = "script"
    words: str = f"Ask me with one of the words {', '.join(CALLS)}."

    @property
    def _llm_type(self) -> str:
        return "script"

    def bind_tools(self, tools: Any, **options: Any) -> Any:  # noqa: ARG002 - what real models are told besides
        return self.bind(offered=[convert_to_openai_tool(tool)["function"]["name"] for tool in tools])

    def _stream(self, messages: list[BaseMessage], *_: Any, **options: Any) -> Iterator[ChatGenerationChunk]:
        for piece in self._pieces(messages, options.get("offered", [])):
            yield ChatGenerationChunk(message=piece)
        usage = UsageMetadata(input_tokens=len(messages), output_tokens=1, total_tokens=len(messages) + 1)
        yield ChatGenerationChunk(message=AIMessageChunk("", usage_metadata=usage, chunk_position="last"))

    def _generate(self, messages: list[BaseMessage], *_: Any, **options: Any) -> ChatResult:
        return generate_from_stream(self._stream(messages, **options))

    def _pieces(self, messages: list[BaseMessage], offered: list[str]) -> Iterator[AIMessageChunk]:
        spoke = max((place for place, one in enumerate(messages) if isinstance(one, AIMessage)), default=-1)
        news = messages[spoke + 1 :]
        results = [f"{one.name}: {one.text}" for one in news if isinstance(one, ToolMessage)]
        said = " ".join(one.text for one in news if one.type == "human").lower()
        name, arguments = next((CALLS[word] for word in CALLS if word in said), ("", {}))
        if not results and name in offered:
            call = tool_call_chunk(name=name, args=json.dumps(arguments), id=f"call-{len(messages)}", index=0)
            yield AIMessageChunk("", tool_call_chunks=[call])
            return
        for piece in re.findall(r"\s*\S+", "; ".join(results) or self.words):
            yield AIMessageChunk(piece)
