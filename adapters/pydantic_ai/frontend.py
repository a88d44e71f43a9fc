"""The application's own tools, beside the agent's."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from ag_ui.core import Tool
from pydantic_ai.agent import AbstractAgent
from pydantic_ai.tools import RunContext, ToolDefinition
from pydantic_ai.toolsets import AbstractToolset, ExternalToolset, FunctionToolset
from pydantic_ai.toolsets.abstract import ToolsetTool
from pydantic_core import from_json

from adapters.base import AdapterError
from adapters.frontend import NO_ARGUMENTS, name_taken


def frontend_toolsets(tools: Sequence[Tool] | None) -> list[AbstractToolset[Any]]:
    """Give the tools of a run input as a toolset whose calls the application answers; nothing where it has no tools."""
    if not tools:
        return []
    definitions = [
        ToolDefinition(
            name=tool.name, description=tool.description, parameters_json_schema=tool.parameters or NO_ARGUMENTS
        )
        for tool in tools
    ]
    return [Frontend(definitions)]


class Anything:
    """Takes any arguments: they are the application's to read, as text that may be no JSON."""

    def validate_json(self, input: Any, *, allow_partial: Any = "off", **kwargs: Any) -> Any:  # noqa: A002, ARG002
        """Take arguments as text."""
        try:
            return from_json(input)
        except ValueError:
            return {}

    def validate_python(self, input: Any, *, allow_partial: Any = "off", **kwargs: Any) -> Any:  # noqa: A002, ARG002
        """Take arguments as they are."""
        return input


class Frontend(ExternalToolset[Any]):
    """The application's tools. The agent does not check what it calls them with."""

    async def get_tools(self, ctx: RunContext[Any]) -> dict[str, ToolsetTool[Any]]:
        """The tools by name."""
        tools = await super().get_tools(ctx)
        return {name: replace(tool, args_validator=Anything()) for name, tool in tools.items()}


def tool_names(agent: AbstractAgent[Any, Any]) -> Iterator[str]:
    """Give the names of an agent's tools.

    Names that only a connection tells, as those of an MCP server, are compared when the run starts: `name_is_taken`.
    """
    for toolset in agent.toolsets:
        if isinstance(toolset, FunctionToolset):
            yield from toolset.tools


def name_is_taken(error: Exception, tools: Sequence[Tool] | None) -> AdapterError | None:
    """Say what a run's user may know of an error that two tools of one name caused; None if it is another error."""
    said = str(error)
    for tool in tools or ():
        if "conflict" in said and repr(tool.name) in said:
            return name_taken(tool.name)
    return None
