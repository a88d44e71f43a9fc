"""Files that the model cannot take: left out of what it is sent, as late as its profile is known.

Of what tools returned PydanticAI takes care itself; a user's file it would fail on.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from pydantic_ai._file_input import SendableFile, unsupported_file_input
from pydantic_ai.capabilities import AbstractCapability
from pydantic_ai.messages import ModelMessage, ModelRequest, ModelRequestPart, UserContent, UserPromptPart
from pydantic_ai.models import Model, ModelRequestContext
from pydantic_ai.profiles import ModelProfile
from pydantic_ai.tools import RunContext


def profile_of(model: Model) -> ModelProfile:
    """What a model says of itself; nothing, where it stands for several."""
    try:
        return model.profile
    except NotImplementedError:  # a FallbackModel: each of its models is another
        return ModelProfile()


@dataclass
class UsableFiles(AbstractCapability[Any]):
    """Keeps from a model what its profile says that it cannot read."""

    warn: Callable[[str], None]
    """Is told each kind of file that is left out."""

    async def prepare_model_request(
        self,
        ctx: RunContext[Any],  # noqa: ARG002 - a hook
        request_context: ModelRequestContext,
    ) -> ModelRequestContext:
        """Leave out what the model that is about to be asked cannot take. The run's own history keeps it."""
        profile = profile_of(request_context.model)

        def is_usable(item: UserContent) -> bool:
            kind = unsupported_file_input(item, profile) if isinstance(item, SendableFile) else None
            if kind is not None:
                self.warn(f"the model takes no {kind}: those of the user are left out of what it is sent")
            return kind is None

        request_context.messages = [_only(message, is_usable) for message in request_context.messages]
        return request_context


def _only(message: ModelMessage, is_usable: Callable[[UserContent], bool]) -> ModelMessage:
    """A message with what of its users' content is usable; itself, if that is all."""
    if not isinstance(message, ModelRequest):
        return message
    parts = [_only_of_part(part, is_usable) for part in message.parts]
    same = all(before is after for before, after in zip(message.parts, parts, strict=True))
    return message if same else replace(message, parts=parts)


def _only_of_part(part: ModelRequestPart, is_usable: Callable[[UserContent], bool]) -> ModelRequestPart:
    if not isinstance(part, UserPromptPart) or isinstance(part.content, str):
        return part
    kept: Sequence[UserContent] = [item for item in part.content if is_usable(item)]
    return part if len(kept) == len(part.content) else replace(part, content=kept)
