"""Where an object of the JSON wire and its message differ in form.

- `outcome` of RUN_FINISHED and SUBAGENT_FINISHED is an object; the message has its type as a string, its members beside.
- `content` of a message and of TOOL_CALL_RESULT is a string, a list of parts, or an activity's object; the message has
  a field for each.

Source: basic/transports/http-protobuf#the-wire-schema
"""

from collections.abc import Callable
from typing import Any, TypeAlias

from conformance.protobuf.errors import MalformedMessage, Unencodable
from conformance.shapes import describe

Members: TypeAlias = dict[str, Any]
"""An object's members by their names."""

Form: TypeAlias = Callable[[Members], Members]
"""Brings an object from one wire's form into the other's."""

_TEXT, _PARTS, _OBJECT = "content", "contentParts", "activityContent"
_CARRIERS = {
    "developer": (_TEXT,),
    "system": (_TEXT,),
    "assistant": (_TEXT,),
    "reasoning": (_TEXT,),
    "user": (_TEXT, _PARTS),
    "tool": (_TEXT, _PARTS),
    "activity": (_OBJECT,),
}
"""The fields that may carry the content of a role. Any may carry an unknown role's."""

_CARRIER_OF: dict[type, str] = {list: _PARTS, dict: _OBJECT}


def _content_to_wire(message: Members, role: Any) -> Members:
    """Put a message's content into the field that is for it.

    Raises:
        Unencodable: The role has no such content, so no reader would take it.
    """
    content = message.get("content")
    carrier = _CARRIER_OF.get(type(content), _TEXT)
    allowed = _CARRIERS.get(role) if type(role) is str else None
    if content is not None and allowed is not None and carrier not in allowed:
        raise Unencodable(f"content of a message of role {role!r}: {describe(content)} has no form on this wire")
    return {**message, _TEXT: None, _PARTS: None, _OBJECT: None, carrier: content}


def _content_from_wire(message: Members, role: str) -> Members:
    """Take a message's content from the field that is for its role; from whichever is there for an unknown role.

    Raises:
        MalformedMessage: Content stands in more than one field, or in one that the role does not use.
    """
    parts = message.pop(_PARTS)
    carriers = {name: message.pop(name) for name in (_TEXT, _OBJECT) if name in message}
    if parts:
        carriers[_PARTS] = parts
    allowed = _CARRIERS.get(role)
    if len(carriers) > 1 or (allowed is not None and not carriers.keys() <= set(allowed)):
        raise MalformedMessage(f"a message of role {role!r} has {' and '.join(carriers)}")
    for content in carriers.values():
        message["content"] = content
    if allowed is not None and _PARTS in allowed:
        message.setdefault("content", parts)  # an empty list is content, and on this wire no field
    return message


def _outcome_to_wire(event: Members, *names: str) -> Members:
    """Put the outcome's type and its members `names` beside the event's own.

    Raises:
        Unencodable: The outcome is no object with a type.
    """
    outcome = event.get("outcome")
    if outcome is None:
        return {**event, **dict.fromkeys(names)}
    if type(outcome) is not dict or type(outcome.get("type")) is not str:
        raise Unencodable(f"{event['type']}.outcome: expected an object with a type, found {describe(outcome)}")
    return {**event, "outcome": outcome["type"], **{name: outcome.get(name) for name in names}}


def _outcome_from_wire(event: Members, *names: str) -> Members:
    """Put the members `names` into the outcome, whatever its type: an unknown one is the pipeline's to strip."""
    kind = event.pop("outcome")
    members = {name: values for name in names if (values := event.pop(name)) or (kind, name) == _ALWAYS}
    if kind:
        event["outcome"] = {"type": kind, **members}
    else:
        event.update(members)
    return event


_ALWAYS = ("interrupt", "interrupts")
"""The one list that an outcome must have: on this wire it is no field where it is empty."""

TO_WIRE: dict[str, Form] = {
    "Message": lambda message: _content_to_wire(message, message.get("role")),
    "TOOL_CALL_RESULT": lambda event: _content_to_wire(event, "tool"),
    "RUN_FINISHED": lambda event: _outcome_to_wire(event, "pendingToolCallIds", "interrupts"),
    "SUBAGENT_FINISHED": lambda event: _outcome_to_wire(event, "interruptIds"),
}
"""By message: from the JSON wire's form, in a copy."""

FROM_WIRE: dict[str, Form] = {
    "Message": lambda message: _content_from_wire(message, message["role"]),
    "TOOL_CALL_RESULT": lambda event: _content_from_wire(event, "tool"),
    "RUN_FINISHED": lambda event: _outcome_from_wire(event, "pendingToolCallIds", "interrupts"),
    "SUBAGENT_FINISHED": lambda event: _outcome_from_wire(event, "interruptIds"),
}
"""By message: into the JSON wire's form, in place."""
