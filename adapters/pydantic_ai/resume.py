"""What a run input answers, and what it leaves open.

An approval is performed only where this server asked for it: the interrupts that it knows to be open are in
`run.asked`, with the call as the model made it. What a client's copy says of that call is not believed.

Source: basic/patterns/interrupt-resume, events/tool-calls#frontend-tools
"""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Annotated, Any

from ag_ui.core import Interrupt, Message, ResumeEntry, ToolMessage
from pydantic import BaseModel, Field, StrictBool, ValidationError
from pydantic.json_schema import SkipJsonSchema
from pydantic_ai import DeferredToolRequests, DeferredToolResults, ToolApproved, ToolDenied
from pydantic_ai.exceptions import ToolFailed
from pydantic_ai.messages import ToolCallPart

from adapters.base import ResumeRefused, RunContext
from adapters.conversation import NOT_EXECUTED, Conversation, closed, read_conversation
from adapters.pydantic_ai.history import is_native

METADATA_KEY = "pydantic-ai"
"""Where an interrupt keeps its call: `{"tool": name, "arguments": {...}, "kind": "approval" | "question" | "external"}`."""

CANCELLED = "The user dismissed the request; the action was not performed."
NOT_ANSWERED = "The application gave no result for this call."


class Approval(BaseModel):
    """The payload that answers an approval."""

    approved: StrictBool = Field(description="True performs the call, false denies it.")
    edited_args: Annotated[dict[str, Any] | SkipJsonSchema[None], Field(alias="editedArgs")] = Field(
        None, description="Arguments to call the tool with, in the place of the model's."
    )
    reason: str | SkipJsonSchema[None] = Field(None, description="Why it is denied; the model is told.")


class Result(BaseModel):
    """The payload that answers a call whose result comes from outside."""

    result: Any = Field(None, description="What the call returns.")
    error: str | SkipJsonSchema[None] = Field(None, description="Why it failed, in the place of a result.")


Answer = Approval | Result | None
"""A payload; None dismisses the request."""


@dataclass(frozen=True, slots=True)
class Resumption:
    """Where a run goes on from."""

    conversation: Conversation
    results: DeferredToolResults
    """For the open calls that the run's answers cover, by call id."""
    uncovered: list[Interrupt]
    """Interrupts that stay open."""
    waiting: list[str]
    """Frontend calls that the application has not answered yet, by call id."""
    restated: list[Message] | None
    """The client's messages without what was left out, where it has to be told; else None."""

    @property
    def answers(self) -> bool:
        """Say whether any open call is answered."""
        return bool(self.results.approvals or self.results.calls)

    @property
    def is_partial(self) -> bool:
        """Say whether calls stay open, so that the model cannot go on."""
        return bool(self.uncovered or self.waiting)


def resume(run: RunContext) -> Resumption:
    """Read what the input answers. Nothing has been performed when it raises.

    Raises:
        ResumeRefused: A payload is none for its interrupt.
    """
    asked = {one.tool_call_id: one for one in run.asked.values() if one.tool_call_id is not None}
    for name in run.answers.keys() - run.asked.keys():
        run.warn(f"the resume entry for {name!r} is left out: this server has no such interrupt open on this thread")
    answers = {call: read_answer(one, run.answers[one.id]) for call, one in asked.items() if one.id in run.answers}
    conversation = read_conversation(run.input.messages, run.warn, echoed=asked.keys(), native=is_native)
    _restore(conversation, asked, run)
    opened = {call.id: call.function.name for call in conversation.open_calls}
    lost = [call for call in asked if call not in opened and not _performs_nothing(call, answers)]
    for call in lost:
        run.warn(f"interrupt {asked[call].id!r} stays open: the run input's messages do not hold its call {call!r}")
    waiting, conversation = _without_lost(conversation, asked, run)
    return Resumption(
        conversation,
        _deferred(asked, {call: answer for call, answer in answers.items() if call in opened}),
        [asked[call] for call in asked if call in lost or (call in opened and call not in answers)],
        waiting,
        _restated(run.input.messages, asked),
    )


def read_answer(interrupt: Interrupt, entry: ResumeEntry) -> Answer:
    """Read the payload of an answer.

    Raises:
        ResumeRefused: The payload does not fit.
    """
    if entry.status == "cancelled":
        return None
    kind = Approval if _kind(interrupt) == "approval" else Result
    try:
        return kind.model_validate(entry.payload)
    except ValidationError as error:
        first = error.errors(include_url=False, include_context=False, include_input=False)[0]
        where = "/".join(["payload", *map(str, first["loc"])])
        message = f"The answer to interrupt {interrupt.id!r} does not fit its schema at {where}: {first['msg']}."
        raise ResumeRefused(message) from None


def interrupts(requests: DeferredToolRequests, calls: Iterable[ToolCallPart]) -> list[Interrupt]:
    """Ask for what calls wait for, one interrupt per call."""
    asked = []
    for call in calls:
        kind = requests.kind(call.tool_call_id)
        arguments = call.args_as_dict(raise_if_invalid=False)
        what = f"{call.tool_name}({json.dumps(arguments, ensure_ascii=False, default=str)})"
        own = {"tool": call.tool_name, "arguments": arguments, "kind": kind}
        asked.append(
            Interrupt(
                id=f"int-{call.tool_call_id}",
                reason="tool_call",
                tool_call_id=call.tool_call_id,
                message=f"Approve {what}?" if kind == "approval" else f"What is the result of {what}?",
                response_schema=_form(Approval if kind == "approval" else Result),
                metadata={**requests.metadata.get(call.tool_call_id, {}), METADATA_KEY: own},
            )
        )
    return asked


# ---- parts of it ------------------------------------------------------------------------------------


def _without_lost(
    conversation: Conversation, asked: Mapping[str, Interrupt], run: RunContext
) -> tuple[list[str], Conversation]:
    """Close the open calls that nobody will answer any more; tell which ones the application still may."""
    frontend = {tool.name for tool in run.input.tools or ()}
    calls = {call.id: call.function.name for call in conversation.open_calls if call.id not in asked}
    of_application = [call for call, tool in calls.items() if tool in frontend]
    lost = {call: NOT_EXECUTED for call in calls if call not in of_application}
    if conversation.later:  # the user went on without them
        lost |= dict.fromkeys(of_application, NOT_ANSWERED)
    if lost:
        run.warn(f"calls without a result are closed as failed: {', '.join(map(repr, lost))}")
        conversation = closed(conversation, lost)
    return [call for call in of_application if call not in lost], conversation


def _performs_nothing(call: str, answers: Mapping[str, Answer]) -> bool:
    """Say whether a call is dismissed or denied: then it does not have to be there any more."""
    answer = answers.get(call, Result())
    return answer is None or (isinstance(answer, Approval) and not answer.approved)


def _restated(messages: list[Message], asked: Mapping[str, Interrupt]) -> list[Message] | None:
    """The messages without results that only the server could give; None where there are none of those."""
    kept = [one for one in messages if not isinstance(one, ToolMessage) or one.tool_call_id not in asked]
    return kept if len(kept) < len(messages) else None


def _restore(conversation: Conversation, asked: Mapping[str, Interrupt], run: RunContext) -> None:
    """Put calls back to what was asked about, where the client's copy says something else."""
    for call in conversation.open_calls:
        own = _own(asked.get(call.id))
        function = call.function
        if own and (function.name, _parsed(function.arguments)) != (own["tool"], own["arguments"]):
            run.warn(f"call {call.id!r} is not what was asked about; the server's own copy of it is used")
            function.name, function.arguments = own["tool"], json.dumps(own["arguments"])


def _deferred(asked: Mapping[str, Interrupt], answers: Mapping[str, Answer]) -> DeferredToolResults:
    results = DeferredToolResults()
    for call, answer in answers.items():
        match answer:
            case Approval(approved=True):
                results.approvals[call] = ToolApproved(override_args=answer.edited_args)
            case Approval():
                results.approvals[call] = ToolDenied(answer.reason) if answer.reason else ToolDenied()
            case Result(error=None):
                results.calls[call] = answer.result
            case Result():
                results.calls[call] = ToolFailed(answer.error or "")
            case None if _kind(asked[call]) == "approval":
                results.approvals[call] = ToolDenied(CANCELLED)
            case _:
                results.calls[call] = ToolFailed(CANCELLED)
    return results


def _form(payload: type[BaseModel]) -> dict[str, Any]:
    """The schema of a payload, for a client to make a form of: names and descriptions, nothing of how it is held."""
    schema = payload.model_json_schema()
    properties = {
        name: {key: value for key, value in one.items() if key not in ("title", "default")}
        for name, one in schema["properties"].items()
    }
    return {"type": "object", "properties": properties, "required": schema.get("required", [])}


def _parsed(arguments: str) -> Any:
    try:
        return json.loads(arguments or "{}")
    except ValueError:
        return None


def _own(interrupt: Interrupt | None) -> dict[str, Any]:
    metadata = interrupt.metadata if interrupt is not None else None
    own = metadata.get(METADATA_KEY) if isinstance(metadata, dict) else None
    return own if isinstance(own, dict) else {}


def _kind(interrupt: Interrupt) -> str:
    return str(_own(interrupt).get("kind", "approval"))
