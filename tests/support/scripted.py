"""A chat model of LangChain's that makes the calls it is told to, then tells what came back."""

import json

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, AIMessageChunk, ToolMessage
from langchain_core.outputs import ChatGeneration, ChatGenerationChunk, ChatResult
from langchain_core.utils.function_calling import convert_to_openai_tool
from pydantic import Field


class Scripted(BaseChatModel):
    """Each turn is a list of calls, as `(name, arguments, id)`; after the last it gives what it sees as JSON."""

    turns: list = Field(default_factory=list)
    seen: list = Field(default_factory=list)
    offered: list = Field(default_factory=list)
    tools: list = Field(default_factory=list)

    @property
    def _llm_type(self):
        return "scripted"

    def bind_tools(self, tools, **options):
        names = [convert_to_openai_tool(tool)["function"] for tool in tools]
        return self.__class__.model_construct(**{**self.__dict__, "tools": names})

    def _generate(self, messages, stop=None, run_manager=None, **options):
        whole = sum(self._pieces(messages), AIMessageChunk(content=""))
        message = AIMessage(whole.content, tool_calls=whole.tool_calls)
        return ChatResult(generations=[ChatGeneration(message=message)])

    async def _astream(self, messages, stop=None, run_manager=None, **options):
        for piece in self._pieces(messages):
            yield ChatGenerationChunk(message=piece)

    def _pieces(self, messages):
        self.seen.append(list(messages))
        self.offered.append(self.tools)
        if not self.turns:
            yield AIMessageChunk(content=json.dumps(told(messages)))
            return
        for index, (name, arguments, call) in enumerate(self.turns.pop(0)):
            first = {"name": name, "args": "", "id": call, "index": index, "type": "tool_call_chunk"}
            yield AIMessageChunk(content="", tool_call_chunks=[first])
            rest = {**first, "name": None, "id": None, "args": json.dumps(arguments)}
            yield AIMessageChunk(content="", tool_call_chunks=[rest])


def told(messages):
    """What a model is told in results and by its user: `[[call, status, content], ..., text, ...]`."""
    return [
        [message.tool_call_id, message.status, message.content] if isinstance(message, ToolMessage) else message.content
        for message in messages
        if message.type in ("tool", "human")
    ]
