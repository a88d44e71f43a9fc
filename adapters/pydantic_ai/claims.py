"""What PydanticAI's own loader reads back from a history, in the form in which it reads it.

A call or result has no field for what a provider-side tool, a typed part or a failure needs to come back as itself;
the loader takes it from ids and encrypted values. It takes them from anybody: they decide how a part is shown to the
model, never what may run.
"""

import json

from pydantic_ai.messages import NativeToolCallPart, NativeToolReturnPart, ThinkingPart, ToolCallPart, ToolReturnPart
from pydantic_ai.ui.ag_ui._utils import BUILTIN_TOOL_CALL_ID_PREFIX, tool_kind_encrypted_value


def native_id(part: NativeToolCallPart | NativeToolReturnPart) -> str:
    """The id of a call that the model's provider runs itself."""
    return "|".join([BUILTIN_TOOL_CALL_ID_PREFIX, part.provider_name or "", part.tool_call_id])


def claim_of(part: ToolCallPart | NativeToolCallPart | ToolReturnPart | NativeToolReturnPart) -> str | None:
    """What has to come back with a call or a result beside its text; None for most."""
    if isinstance(part, ToolReturnPart | NativeToolReturnPart):
        retry = part.retry if isinstance(part, ToolReturnPart) else None
        kind = part.tool_kind if part.outcome != "success" else None
        return tool_kind_encrypted_value(kind, part.outcome, retry)
    return tool_kind_encrypted_value(part.tool_kind) if part.tool_kind else None


def artefact_of(part: ThinkingPart) -> str | None:
    """What the provider wants back with a thought; None if nothing."""
    fields = {
        "id": part.id,
        "signature": part.signature,
        "provider_name": part.provider_name,
        "provider_details": part.provider_details,
    }
    known = {name: value for name, value in fields.items() if value is not None}
    return json.dumps(known) if known.keys() - {"provider_name"} else None
