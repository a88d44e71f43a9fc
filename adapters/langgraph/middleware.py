"""Frontend tools for LangChain's agents. The only module that needs `langchain`."""

from collections.abc import Awaitable, Callable
from typing import Any

from langchain.agents.middleware import AgentMiddleware, ModelRequest
from langgraph.prebuilt.tool_node import ToolCallRequest

from adapters.langgraph.frontend import answer_to, frontend_tools, is_frontend


class FrontendTools(AgentMiddleware[Any, Any, Any]):
    """Offers the run's frontend tools to the model, and pauses for their calls: `middleware=[FrontendTools()]`.

    It comes before a review of calls in the list: consent to a frontend call is the application's to ask for, and a
    run that stops on one is never interrupted. It comes after middleware that offers tools of its own, so that it
    knows their names.
    """

    def wrap_model_call(self, request: ModelRequest[Any], handler: Callable[[ModelRequest[Any]], Any]) -> Any:
        """Offer the tools."""
        return handler(_offered(request))

    async def awrap_model_call(
        self, request: ModelRequest[Any], handler: Callable[[ModelRequest[Any]], Awaitable[Any]]
    ) -> Any:
        """Offer the tools."""
        return await handler(_offered(request))

    def wrap_tool_call(self, request: ToolCallRequest, handler: Callable[[ToolCallRequest], Any]) -> Any:
        """Pause for a call of one."""
        return answer_to(request) if is_frontend(request) else handler(request)

    async def awrap_tool_call(
        self, request: ToolCallRequest, handler: Callable[[ToolCallRequest], Awaitable[Any]]
    ) -> Any:
        """Pause for a call of one."""
        return answer_to(request) if is_frontend(request) else await handler(request)


def _offered(request: ModelRequest[Any]) -> ModelRequest[Any]:
    tools = frontend_tools(request.tools)
    return request.override(tools=[*request.tools, *tools]) if tools else request
