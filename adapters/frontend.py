"""The application's own tools, as every framework's adapter treats them: pure.

Source: events/tool-calls#frontend-tools
"""

from collections.abc import Iterable, Sequence

from ag_ui.core import Tool

from adapters.base import AdapterError, InputRefused

NO_ARGUMENTS = {"type": "object", "properties": {}}
"""The parameters of a tool that names none."""

TAKEN = "tool_name_taken"


def refuse_taken_names(taken: Iterable[str], tools: Sequence[Tool] | None) -> None:
    """Refuse a frontend tool that has the name of another one: a call could reach the wrong one.

    Args:
        taken: The names of the agent's own tools, as far as they are known before a run.
        tools: Those of the run input.

    Raises:
        InputRefused: With the name.
    """
    holders = dict.fromkeys(taken, "the agent")
    for index, tool in enumerate(tools or ()):
        if tool.name in holders:
            found = f"{tool.name!r}, which {holders[tool.name]} has already"
            raise InputRefused(("tools", index, "name"), "a name of its own", found, TAKEN)
        holders[tool.name] = "another tool of the input"


def name_taken(name: str) -> AdapterError:
    """Give the error of a run in which a tool's name turns out to be taken."""
    return AdapterError(f"The run input's tool {name!r} has the name of a tool of the agent.", TAKEN)
