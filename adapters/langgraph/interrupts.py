"""What a graph asks for, as interrupts, and how their answers are read. Pure.

A node asks with any value it likes. What it says of itself is used: `reason` or `type`, `message`, `description` or
`question`, `toolCallId`, `responseSchema`, `expiresAt`; the whole value is in the metadata. LangChain's reviews of tool
calls are known:

| asked | answered |
|---|---|
| one call may be approved | `{approved, editedArgs?, reason?}`, or one of LangChain's decisions |
| one call may only be answered in its tool's place | one of LangChain's decisions |
| several calls in one | `{decisions: [...]}`, LangChain's, in their order |
| a breakpoint of the graph | `{approved}` |
| anything else | what the node declares; the payload is given to it as it is |

Source: basic/patterns/interrupt-resume
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ag_ui.core import Interrupt
from langchain_core.messages import AIMessage, BaseMessage, ToolCall
from langgraph.types import Interrupt as Asked
from pydantic import TypeAdapter

from adapters.base import ResumeRefused
from adapters.langgraph.fits import Schema, misfit, resolved
from adapters.langgraph.frontend import is_pause
from conformance.json_values import json_value

REASON = "langgraph:interrupt"
METADATA_KEY = "langgraph"
DISMISSED = "The user dismissed the request; the action was not performed."


@dataclass(frozen=True, slots=True)
class Question:
    """One interrupt, and how its answer is read."""

    asked: Interrupt
    declared: Schema | None
    """What the graph takes: the answer is held to it before anything is performed."""
    dismissed: Any = None
    """What the graph is told where the request is dismissed."""
    read: Callable[[Any], Any] | None = None
    """From a payload of the form that is advertised to what the graph takes; None where these are the same."""
    native: str = ""
    """The member by which a payload is known that the graph takes as it is, whatever is advertised."""
    is_breakpoint: bool = False

    @property
    def hears_dismissal(self) -> bool:
        """Say whether the graph can be told of a dismissal. If not, all that it has begun is given up."""
        return not self.is_breakpoint and (self.declared is None or misfit(self.dismissed, self.declared) is None)

    def value(self, payload: Any) -> Any:
        """Read what the graph is told.

        Raises:
            ResumeRefused: The payload does not fit.
        """
        if self.read is None or (isinstance(payload, dict) and self.native in payload):
            self._hold(payload, self.declared)
            return payload
        if isinstance(payload, dict):
            payload = {name: value for name, value in payload.items() if value is not None}
        self._hold(payload, self.asked.response_schema)
        value = self.read(payload)
        self._hold(value, self.declared)
        return value

    def _hold(self, value: Any, schema: Schema | None) -> None:
        found = None if schema is None else misfit(value, schema)
        if found is not None:
            where = f"does not fit its schema at {found.where}: expected {found.expected}"
            raise ResumeRefused(f"The answer to interrupt {self.asked.id!r} {where}.")


def questions(
    pending: Sequence[Asked], breakpoints: Sequence[str] = (), step: str = "", known: Sequence[BaseMessage] = ()
) -> list[Question]:
    """Read what waits for an answer. Pauses for frontend tools are none: the application's results answer those.

    Args:
        pending: The interrupts of a thread's checkpoint.
        breakpoints: The nodes that a breakpoint of the graph holds back.
        step: The checkpoint's id: a breakpoint is one of its own in each.
        known: The messages of the checkpoint, to find the call that an interrupt is about.
    """
    asked = {one.id: one for one in pending if not is_pause(one)}
    calls = next((one.tool_calls for one in reversed(known) if isinstance(one, AIMessage)), [])
    found = [_question(one, calls) for one in asked.values()]
    return [*found, _breakpoint(breakpoints, step)] if breakpoints else found


def ask(
    pending: Sequence[Asked], breakpoints: Sequence[str] = (), step: str = "", known: Sequence[BaseMessage] = ()
) -> list[Interrupt]:
    """Give what a run that stopped asks for, with the arguments of `questions`."""
    return [one.asked for one in questions(pending, breakpoints, step, known)]


# ---- the kinds of questions -----------------------------------------------------------------------


def _question(one: Asked, calls: Sequence[ToolCall]) -> Question:
    value = json_value(one.value, lambda _: None)
    own = value if isinstance(value, dict) else {}
    declared = _declared(one, own)
    if own.get("type") == "tool_approval" and declared is not None:
        return _approval(one, own, declared)
    if _is_review(own):
        return _review(one, own, calls)
    return Question(_interrupt(one, own, declared), declared)


def _approval(one: Asked, own: dict[str, Any], declared: Schema) -> Question:
    """One call that waits for its review. The schema that LangChain gives says which decisions it takes."""
    branches = [resolved(branch, declared) for branch in declared.get("oneOf", [declared])]
    allowed = {branch["properties"]["type"]["const"]: branch for branch in branches}
    dismissed = {"type": "reject", "message": DISMISSED}
    if "approve" not in allowed:
        return Question(_interrupt(one, own, declared), declared, dismissed)
    arguments: Schema = {"type": "object"}
    if "edit" in allowed:
        arguments = resolved(allowed["edit"]["properties"]["edited_action"], declared)["properties"]["args"]
    form = _form(allowed, arguments, declared.get("$defs", {}))

    def read(payload: Any) -> Any:
        return _decision(payload, own["name"])

    return Question(_interrupt(one, own, form), declared, dismissed, read, "type")


def _review(one: Asked, own: dict[str, Any], calls: Sequence[ToolCall]) -> Question:
    """All calls of a message that wait for their review, in one interrupt."""
    actions = own["action_requests"]
    allowed = [config["allowed_decisions"] for config in own["review_configs"]]
    declared = {
        "type": "object",
        "properties": {
            "decisions": {
                "type": "array",
                "description": "One decision for each action, in the order of the actions.",
                "prefixItems": [{"oneOf": [_DECISIONS[kind] for kind in kinds]} for kinds in allowed],
                "minItems": len(actions),
                "maxItems": len(actions),
            }
        },
        "required": ["decisions"],
    }
    dismissed = {"decisions": [{"type": "reject", "message": DISMISSED} for _ in actions]}
    own = {**own, "message": "\n\n".join(str(action.get("description") or action["name"]) for action in actions)}
    if len(actions) > 1 or "approve" not in allowed[0]:
        return Question(_interrupt(one, own, declared), declared, dismissed)
    (action,) = actions
    about = [call["id"] for call in calls if (call["name"], call["args"]) == (action["name"], action["args"])]
    if len(about) == 1:
        own["toolCallId"] = about[0]

    def read(payload: Any) -> Any:
        return {"decisions": [_decision(payload, action["name"])]}

    asked = _interrupt(one, own, _form(allowed[0], {"type": "object"}, {}))
    return Question(asked, declared, dismissed, read, "decisions")


def _breakpoint(nodes: Sequence[str], step: str) -> Question:
    """The graph's own breakpoint, before or after nodes that its author named."""
    asked = Interrupt(
        id=f"breakpoint-{step}-{'-'.join(nodes)}",
        reason="confirmation",
        message=f"Continue with {', '.join(nodes)}?",
        response_schema=_form(("approve", "reject"), {}, {}),
        metadata={METADATA_KEY: {"breakpoint": list(nodes)}},
    )
    return Question(asked, asked.response_schema, is_breakpoint=True)


# ---- parts of them --------------------------------------------------------------------------------

_ACTION = {
    "type": "object",
    "properties": {"name": {"type": "string"}, "args": {"type": "object"}},
    "required": ["name", "args"],
}
_MESSAGE = {"type": "string"}


def _shape(kind: str, required: Sequence[str] = (), **fields: Schema) -> Schema:
    properties = {"type": {"const": kind}, **fields}
    return {"type": "object", "properties": properties, "required": ["type", *required]}


_DECISIONS = {
    "approve": _shape("approve"),
    "edit": _shape("edit", ["edited_action"], edited_action=_ACTION),
    "reject": _shape("reject", message=_MESSAGE),
    "respond": _shape("respond", ["message"], message=_MESSAGE),
}
"""LangChain's decisions on a call, by their type."""


def _form(
    allowed: Iterator[str] | Mapping[str, Any] | Sequence[str], arguments: Schema, defined: Schema
) -> dict[str, Any]:
    """The schema of an approval: what clients of every framework have buttons for."""
    kinds = set(allowed)
    approved: dict[str, Any] = {"type": "boolean", "description": "True performs it, false denies it."}
    if "reject" not in kinds:
        approved["const"] = True
    fields: dict[str, Any] = {"approved": approved}
    if "edit" in kinds:
        fields["editedArgs"] = arguments
    if "reject" in kinds:
        fields["reason"] = {"type": "string", "description": "Why it is denied; the agent is told."}
    form = {"type": "object", "properties": fields, "required": ["approved"]}
    used = dict(_used(form, defined, set()))
    return {**form, "$defs": used} if used else form


def _used(schema: Any, defined: Schema, seen: set[str]) -> Iterator[tuple[str, Any]]:
    """The definitions that a schema refers to, and those that they refer to."""
    if isinstance(schema, Mapping):
        name = str(schema.get("$ref", "")).removeprefix("#/$defs/")
        if name in defined and name not in seen:
            seen.add(name)
            yield name, defined[name]
            yield from _used(defined[name], defined, seen)
    for part in schema.values() if isinstance(schema, Mapping) else schema if isinstance(schema, list) else ():
        yield from _used(part, defined, seen)


def _decision(payload: dict[str, Any], tool: str) -> dict[str, Any]:
    """Read an approval, which fits its form, as a decision of LangChain's."""
    match payload:
        case {"approved": True, "editedArgs": edited}:
            return {"type": "edit", "edited_action": {"name": tool, "args": edited}}
        case {"approved": True}:
            return {"type": "approve"}
        case {"reason": str(reason)} if reason:
            return {"type": "reject", "message": reason}
    return {"type": "reject"}


def _interrupt(one: Asked, own: dict[str, Any], schema: Schema | None) -> Interrupt:
    call = _text(own, "toolCallId", "tool_call_id")
    return Interrupt(
        id=one.id,
        reason=_text(own, "reason") or _reason(own, call, schema),
        message=one.value if isinstance(one.value, str) else _text(own, "message", "description", "question"),
        tool_call_id=call,
        response_schema=None if schema is None else dict(schema),
        expires_at=_text(own, "expiresAt"),
        metadata=None if isinstance(one.value, str) else {METADATA_KEY: one.value},
    )


def _reason(own: dict[str, Any], call: str | None, schema: Schema | None) -> str:
    """Why the run stopped, where the node gives no reason: one of the protocol's own words if one fits."""
    if call is not None:
        return "tool_call"
    if schema is not None and "approved" in schema.get("properties", {}):
        return "confirmation"
    return _text(own, "type") or ("input_required" if schema is not None else REASON)


def _declared(one: Asked, own: dict[str, Any]) -> Schema | None:
    """The schema that a node gives its answer, as JSON Schema."""
    schema = one.response_schema
    if schema is None:
        schema = next(
            (own[name] for name in ("responseSchema", "response_schema") if isinstance(own.get(name), dict)), None
        )
    return schema if schema is None or isinstance(schema, dict) else TypeAdapter(schema).json_schema()


def _is_review(own: dict[str, Any]) -> bool:
    """Say whether a value is LangChain's question about the calls of a message."""
    match own:
        case {"action_requests": [_, *_] as actions, "review_configs": [*configs]} if len(actions) == len(configs):
            known = all(isinstance(action, dict) and isinstance(action.get("name"), str) for action in actions)
            return known and all(
                isinstance(config, dict) and {*config.get("allowed_decisions", ())} <= _DECISIONS.keys()
                for config in configs
            )
    return False


def _text(own: Mapping[str, Any], *names: str) -> str | None:
    """The first of these members that is a text with something in it."""
    return next((own[name] for name in names if isinstance(own.get(name), str) and own[name]), None)
