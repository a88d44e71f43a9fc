"""The application's own tools, in a graph: offered to its model, and awaited where its tools run.

An agent of LangChain's gets them from one line, `create_agent(..., middleware=[FrontendTools()])`. A graph of one's own
has three places for them:

    model.bind_tools([*tools, *frontend_tools(tools)])                       # in the node that asks the model
    builder.add_node("tools", ToolNode(tools, awrap_tool_call=await_frontend))
    builder.add_conditional_edges("model", each_call("tools"))               # each call is a task of its own

A call of a frontend tool pauses its task. Calls of the graph's own tools beside it run at once, and only once, because
each is a task of its own. The pause is no interrupt of the protocol: the run ends as success with the call pending, and
the application's tool message is what goes on with it. So the graph needs a checkpointer.

Source: events/tool-calls#frontend-tools
"""

from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from ag_ui.core import RunAgentInput
from langchain_core.messages import AIMessage, ToolMessage
from langchain_core.tools import BaseTool
from langgraph.config import get_config
from langgraph.graph import END
from langgraph.prebuilt import ToolNode
from langgraph.prebuilt.tool_node import ToolCallRequest
from langgraph.pregel import Pregel
from langgraph.types import Interrupt, Send, interrupt

from adapters.base import AdapterError
from adapters.frontend import NO_ARGUMENTS, name_taken

CONFIG_KEY = "agui"
"""Where a run's configuration has what the client sent: see `configured`."""

PAUSE = "agui.frontend_tool"
"""Marks what a paused call waits with: `{PAUSE: the tool's name, "call": its id, "message": the id of the assistant
message that made it, "place": which of its calls it is}`; without the last two where the graph does not tell them."""


def configured(run_input: RunAgentInput, pending: Iterable[Interrupt] = ()) -> dict[str, Any]:
    """Give what a graph may know of its run input, for `config["configurable"]["agui"]`.

    Returns:
        `tools` and `context` as lists, and `forwardedProps`, all as they travel; `waiting`, the ids of the paused
        calls, which stay calls of frontend tools also when this run's input does not name these; and `offered`, which
        becomes true when the graph has a place for the tools: none was met in a run at whose end it is not.
    """
    return {
        "tools": [tool.model_dump(mode="json", by_alias=True, exclude_none=True) for tool in run_input.tools or ()],
        "context": [entry.model_dump(mode="json", by_alias=True) for entry in run_input.context or ()],
        "forwardedProps": run_input.forwarded_props,
        "waiting": [pause.call for pause in paused(pending)],
        "offered": False,
    }


@dataclass(frozen=True, slots=True)
class Pause:
    """A call that waits for the application."""

    interrupt: str
    """What LangGraph waits with: the id that the answer goes to."""
    call: str
    """The call's id, as the model's provider gave it. Some give one id to the calls of several messages."""
    message: str | None
    """The assistant message that made the call."""
    place: int
    """Which of its calls it is."""


def paused(pending: Iterable[Interrupt]) -> list[Pause]:
    """Find the calls that wait for the application among the interrupts of a checkpoint."""
    marked = [(one.id, one.value) for one in pending if is_pause(one)]
    return [Pause(key, value["call"], value.get("message"), value.get("place", 0)) for key, value in marked]


def is_pause(one: Interrupt) -> bool:
    """Say whether an interrupt is such a call, and none of the protocol."""
    return isinstance(one.value, dict) and PAUSE in one.value


# ---- in the graph ---------------------------------------------------------------------------------


def frontend_tools(beside: Iterable[BaseTool | dict[str, Any] | Callable[..., Any]] = ()) -> list[dict[str, Any]]:
    """Give the run's frontend tools, in the form that every model's `bind_tools` takes.

    To be called in a node. Outside of a served run there are none.

    Args:
        beside: The tools that the model is offered too.

    Raises:
        AdapterError: One of those has the name of a frontend tool (`tool_name_taken`).
    """
    own = _own()
    own["offered"] = True
    taken = {_name(tool) for tool in beside}
    for tool in own["tools"]:
        if tool["name"] in taken:
            raise name_taken(tool["name"])
    return [
        {
            "type": "function",
            "function": {
                "name": tool["name"],
                "description": tool.get("description", ""),
                "parameters": tool.get("parameters") or NO_ARGUMENTS,
            },
        }
        for tool in own["tools"]
    ]


async def await_frontend(request: ToolCallRequest, execute: Callable[[ToolCallRequest], Awaitable[Any]]) -> Any:
    """Pause for a call of a frontend tool; let the node run every other call. For `ToolNode(awrap_tool_call=...)`.

    Raises:
        AdapterError: The call shares its task with others, which would run again when it goes on (`agent_error`).
    """
    return answer_to(request) if is_frontend(request) else await execute(request)


def each_call(node: str, *, otherwise: str = END) -> Callable[[Any], list[Send] | str]:
    """Make the way from a model to the node of its tools, each call a task of its own. For `add_conditional_edges`.

    Args:
        node: The node of the tools.
        otherwise: Where the graph goes on after a message without calls.
    """

    def way(state: Any) -> list[Send] | str:
        *_, last = _messages(state)
        calls = last.tool_calls if isinstance(last, AIMessage) else []
        return [Send(node, [{**call, "type": "tool_call"}]) for call in calls] or otherwise

    return way


def is_frontend(request: ToolCallRequest) -> bool:
    """Say whether a call is for the application: the node has no such tool, and the run does."""
    own, call = _own(), request.tool_call
    own["offered"] = True
    is_one = call["id"] in own["waiting"] or call["name"] in {tool["name"] for tool in own["tools"]}
    return request.tool is None and is_one


def answer_to(request: ToolCallRequest) -> ToolMessage:
    """Pause until the application has answered a call, and give its answer.

    Raises:
        AdapterError: The call shares its task with others, or has no id that an answer could name.
    """
    call = request.tool_call
    path = get_config().get("metadata", {}).get("langgraph_path") or ()
    if path and path[0] != "__pregel_push":
        raise AdapterError(f"The call of {call['name']!r} needs a task of its own: lead to it by each_call().")
    if not call["id"]:
        raise AdapterError(f"The model's call of {call['name']!r} has no id, so that nothing could answer it.")
    answer = interrupt({PAUSE: call["name"], "call": call["id"], **_made_by(request.state, call["id"])})
    return ToolMessage(
        id=answer["id"],
        content=answer["content"],
        tool_call_id=call["id"],
        name=call["name"],
        status="error" if answer["failed"] else "success",
    )


def _made_by(state: Any, call: str) -> dict[str, Any]:
    """The assistant message that made a call, and the call's place in it."""
    for message in reversed(_messages(state)):
        ids = [made["id"] for made in message.tool_calls] if isinstance(message, AIMessage) else []
        if call in ids:
            return {"message": message.id, "place": ids.index(call)}
    return {}


def _messages(state: Any) -> Sequence[Any]:
    found = state.get("messages") if isinstance(state, dict) else getattr(state, "messages", None)
    return found if isinstance(found, list) else []


def _own() -> dict[str, Any]:
    configurable: dict[str, Any] = get_config().get("configurable", {})
    found = configurable.get(CONFIG_KEY)
    return found if isinstance(found, dict) and "waiting" in found else {"tools": [], "waiting": []}


def _name(tool: Any) -> str:
    """The name that a model is told of a tool."""
    if isinstance(tool, dict):
        function = tool.get("function", tool)
        return str(function.get("name"))
    return str(getattr(tool, "name", None) or getattr(tool, "__name__", ""))


# ---- before the run -------------------------------------------------------------------------------


def tool_names(graph: Pregel[Any, Any, Any, Any]) -> set[str] | None:
    """The names of the tools that a graph and the graphs within it run; None where it has no node for tools."""
    graphs = [graph, *(within for _, within in graph.get_subgraphs(recurse=True))]
    nodes = [node.bound for one in graphs if isinstance(one, Pregel) for node in one.nodes.values()]
    found = [node.tools_by_name.keys() for node in nodes if isinstance(node, ToolNode)]
    return {name for names in found for name in names} if found else None


def __getattr__(name: str) -> Any:
    """Give `FrontendTools`, the only part that needs LangChain's agents."""
    if name == "FrontendTools":
        from adapters.langgraph.middleware import FrontendTools  # noqa: PLC0415 - an optional package

        return FrontendTools
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
