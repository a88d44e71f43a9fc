"""What an agent declares of itself: what follows from how its author made it, and nothing else."""

from typing import Any

from ag_ui.core import (
    AgentCapabilities,
    HumanInTheLoopCapabilities,
    IdentityCapabilities,
    MultimodalCapabilities,
    MultimodalInputCapabilities,
    MultimodalOutputCapabilities,
    OutputCapabilities,
    ReasoningCapabilities,
    StateCapabilities,
    Tool,
    ToolsCapabilities,
    TransportCapabilities,
)
from pydantic_ai.agent import AbstractAgent
from pydantic_ai.models import Model
from pydantic_ai.toolsets import FunctionToolset

from adapters.pydantic_ai.files import profile_of

Profile = dict[str, Any]


def capabilities_of(agent: AbstractAgent[Any, Any], model: Model | str | None, *, has_state: bool) -> AgentCapabilities:
    """Declare what an agent does.

    What its model takes and gives is declared only of a model that is one already: a name is not looked up.

    Args:
        agent: The agent.
        model: What is used in the place of its own model.
        has_state: Its dependencies share a state.
    """
    used = model or agent.model
    profile: Profile = {**profile_of(used)} if isinstance(used, Model) else {}
    return AgentCapabilities(
        identity=IdentityCapabilities(
            name=agent.name,
            type="pydantic-ai",
            description=agent.description if isinstance(agent.description, str) else None,
        ),
        transport=TransportCapabilities(streaming=True),
        tools=ToolsCapabilities(supported=True, items=_tools(agent), parallel_calls=True, client_provided=True),
        output=OutputCapabilities(structured_output=True) if agent.output_type is not str else None,
        state=StateCapabilities(snapshots=True, deltas=True, persistent_state=False) if has_state else None,
        reasoning=ReasoningCapabilities(supported=True, streaming=True) if profile.get("supports_thinking") else None,
        multimodal=_multimodal(profile),
        human_in_the_loop=HumanInTheLoopCapabilities(
            supported=True, approvals=True, interrupts=True, approve_with_edits=True
        ),
    )


def _tools(agent: AbstractAgent[Any, Any]) -> list[Tool] | None:
    """The tools that are known without a run: plain functions."""
    functions = [
        tool.tool_def
        for toolset in agent.toolsets
        if isinstance(toolset, FunctionToolset)
        for tool in toolset.tools.values()
    ]
    return [
        Tool(name=one.name, description=one.description or "", parameters=one.parameters_json_schema)
        for one in functions
    ] or None


def _multimodal(profile: Profile) -> MultimodalCapabilities | None:
    """What the model's profile says; a flag that it does not have is not declared."""
    taken = {
        "image": profile.get("supports_image_input"),
        "audio": profile.get("supports_audio_file_input"),
        "video": profile.get("supports_video_input"),
        "pdf": profile.get("supports_document_input"),
    }
    if not profile:
        return None
    return MultimodalCapabilities(
        input=MultimodalInputCapabilities(**taken),
        output=MultimodalOutputCapabilities(image=profile.get("supports_image_output")),
    )
