"""LangGraph graphs for tests, and the chat model that plays in them."""

import json
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from typing import Annotated, Any

from langchain.agents import create_agent
from langchain.agents.middleware import HumanInTheLoopMiddleware
from langchain_core.language_models.chat_models import BaseChatModel, agenerate_from_stream
from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage, ToolMessage
from langchain_core.outputs import ChatGenerationChunk, ChatResult
from langchain_core.tools import BaseTool, tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.types import interrupt
from pydantic import Field, SkipValidation

Piece = str | AIMessageChunk | Exception | Callable[[], Any]
"""What a turn holds: text, any other chunk, a failure, or something to wait for."""


class Script(BaseChatModel):
    """A model that plays its turns in order and keeps what it was sent; after the last turn it says "done"."""

    turns: Annotated[Iterator[Sequence[Piece]], SkipValidation]
    seen: Annotated[list[list[BaseMessage]], SkipValidation] = Field(default_factory=list)
    """Per call of the model, the messages that it was sent."""
    offered: Annotated[list[list[str]], SkipValidation] = Field(default_factory=list)
    """Per call of the model, the names of the tools that it may call."""
    provider: str = "house"
    model: str = "script"

    def __init__(self, *turns: Sequence[Piece], **options: Any) -> None:
        super().__init__(turns=iter(turns), **options)

    @property
    def _llm_type(self) -> str:
        return "script"

    def _get_ls_params(self, stop: list[str] | None = None, **options: Any) -> Any:
        return {"ls_provider": self.provider, "ls_model_name": self.model, "ls_model_type": "chat"}

    def bind_tools(self, tools: Sequence[Any], **options: Any) -> Any:
        """Offer tools: LangChain's, or schemas."""
        return self.bind(tools=tools, **options)

    def _generate(self, *arguments: Any, **options: Any) -> ChatResult:
        raise NotImplementedError("this model is only asked asynchronously")

    async def _agenerate(
        self, messages: list[BaseMessage], stop: Any = None, run_manager: Any = None, **options: Any
    ) -> ChatResult:
        return await agenerate_from_stream(self._astream(messages, **options))

    async def _astream(
        self, messages: list[BaseMessage], stop: Any = None, run_manager: Any = None, **options: Any
    ) -> AsyncIterator[ChatGenerationChunk]:
        self.seen.append(list(messages))
        self.offered.append([name_of(tool) for tool in options.get("tools", ())])
        for piece in next(self.turns, ["done"]):
            match piece:
                case Exception():
                    raise piece
                case str():
                    yield ChatGenerationChunk(message=AIMessageChunk(piece))
                case AIMessageChunk():
                    yield ChatGenerationChunk(message=piece)
                case _:
                    await piece()

    @property
    def results(self) -> dict[str, ToolMessage]:
        """What the last call of the model was sent as results, by call id."""
        return {message.tool_call_id: message for message in self.seen[-1] if isinstance(message, ToolMessage)}


def name_of(tool: Any) -> str:
    """The name of a tool, however it is written."""
    if isinstance(tool, BaseTool):
        return tool.name
    if isinstance(tool, type):
        return tool.__name__
    schema = tool.get("function", tool)
    return str(schema.get("name") or schema["title"])


# ---- what a model streams -------------------------------------------------------------------------


def call(name: str, arguments: str = "{}", key: str | None = "c1", index: int | None = 0) -> AIMessageChunk:
    """A call, with all of its arguments or the first of them."""
    return AIMessageChunk("", tool_call_chunks=[_piece(name, arguments, key, index)])


def more(arguments: str, index: int | None = 0) -> AIMessageChunk:
    """A further piece of a call's arguments."""
    return AIMessageChunk("", tool_call_chunks=[_piece(None, arguments, None, index)])


def together(*chunks: AIMessageChunk) -> AIMessageChunk:
    """Several pieces of calls in one chunk."""
    return AIMessageChunk("", tool_call_chunks=[piece for chunk in chunks for piece in chunk.tool_call_chunks])


def _piece(name: str | None, arguments: str, key: str | None, index: int | None) -> Any:
    return {"type": "tool_call_chunk", "name": name, "args": arguments, "id": key, "index": index}


ANTHROPIC = {"model_provider": "anthropic"}


def thinking(text: str = "", signature: str | None = None, index: int = 0) -> AIMessageChunk:
    """A piece of reasoning, or the signature that ends it, as Anthropic's models write it."""
    block = {"type": "thinking", "index": index}
    block |= {"thinking": text} if signature is None else {"signature": signature}
    return AIMessageChunk([block], response_metadata=ANTHROPIC)


def redacted(data: str, index: int = 0) -> AIMessageChunk:
    """Reasoning that the provider does not show."""
    return AIMessageChunk([{"type": "redacted_thinking", "data": data, "index": index}], response_metadata=ANTHROPIC)


def written(text: str, index: int = 1) -> AIMessageChunk:
    """Text beside reasoning."""
    return AIMessageChunk([{"type": "text", "text": text, "index": index}], response_metadata=ANTHROPIC)


def cost(given: int, made: int, **parts: Any) -> AIMessageChunk:
    """What the turn cost: tokens read and written, and LangChain's details of either."""
    return AIMessageChunk(
        "", usage_metadata={"input_tokens": given, "output_tokens": made, "total_tokens": given + made, **parts}
    )


# ---- graphs ---------------------------------------------------------------------------------------


def agent(model: BaseChatModel, tools: Sequence[Any] = (), **options: Any) -> Any:
    """LangChain's agent with this model."""
    return create_agent(model, list(tools), **{"checkpointer": InMemorySaver(), **options})


def graph_of(
    *steps: Any,
    state: Any = MessagesState,
    output: Any = None,
    side_by_side: bool = False,
    checkpointer: Any = "memory",
    **options: Any,
) -> Any:
    """A graph of nodes, one after the other or all at once; a node is a function or a graph with its name."""
    build = StateGraph(state, output_schema=output)
    names = [getattr(step, "__name__", None) or step.name for step in steps]
    for name, step in zip(names, steps, strict=True):
        build.add_node(name, step)
    if side_by_side:
        pairs = [(START, name) for name in names] + [(name, END) for name in names]
    else:
        pairs = list(zip([START, *names], [*names, END], strict=True))
    for before, after in pairs:
        build.add_edge(before, after)
    return build.compile(checkpointer=InMemorySaver() if checkpointer == "memory" else checkpointer, **options)


def says(model: BaseChatModel, name: str = "talk") -> Any:
    """A node that asks a model and keeps its answer."""

    async def node(state: Any) -> Any:
        return {"messages": [await model.ainvoke(state["messages"])]}

    node.__name__ = name
    return node


def asks(heard: list[Any], value: Any = "go on?", name: str = "ask", **options: Any) -> Any:
    """A node that interrupts, and notes under its name what it was answered."""

    async def node(state: Any) -> Any:
        heard.append((name, interrupt(value, **options)))
        return {}

    node.__name__ = name
    return node


class Bank:
    """An agent whose payments have to be approved, and what its tools did."""

    def __init__(self, *turns: Sequence[Piece]) -> None:
        self.model = Script(*turns)
        self.paid: list[int] = []
        self.looked: list[str] = []

    def agent(self, mode: Any = "per_call", **options: Any) -> Any:
        """The agent; its approvals are asked for one by one, or `batched`."""

        @tool
        async def pay(amount: int) -> str:
            """Pay."""
            self.paid.append(amount)
            return f"paid {amount}"

        @tool
        async def look(what: str) -> str:
            """Look."""
            self.looked.append(what)
            return f"saw {what}"

        gate = HumanInTheLoopMiddleware(interrupt_on={"pay": True}, interrupt_mode=mode)
        return agent(self.model, [pay, look], middleware=[gate, *options.pop("middleware", ())], **options)


def pays(amount: int, key: str = "c1", index: int = 0) -> AIMessageChunk:
    """A call of the bank's `pay`."""
    return call("pay", json.dumps({"amount": amount}), key, index)


APPROVE = {"type": "approve"}
"""LangChain's decision."""


def ill_formed(messages: Sequence[BaseMessage]) -> list[Any]:
    """What a provider would refuse: calls whose results do not follow at once, results of no call, wrong arguments."""
    faults: list[Any] = []
    waiting: list[str] = []
    for message in messages:
        if isinstance(message, ToolMessage) and message.tool_call_id in waiting:
            waiting.remove(message.tool_call_id)
        elif waiting or isinstance(message, ToolMessage):
            faults.append(message)
        if isinstance(message, AIMessage):
            waiting = [str(one["id"]) for one in message.tool_calls]
            faults += message.invalid_tool_calls
            json.dumps([one["args"] for one in message.tool_calls])
    return [*faults, *waiting]
