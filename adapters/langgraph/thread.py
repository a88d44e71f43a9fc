"""What of a client's history a thread that has a checkpoint still lacks, and where the client left it.

The thread is the checkpoint's: what it holds is not sent to it again, whatever the client's copy says. Ids decide.

| the client's history has | the thread |
|---|---|
| a message that the thread holds | keeps its own |
| user messages (system and developer ones of a trusted client) behind the last that the thread holds | gets them |
| such ones before the first that it holds | goes on without them: its graph has cut or summed up what came before |
| such ones between two that it holds | goes on without them, with a warning |
| nothing that the thread holds | gets what its user says behind the last answer |
| assistant messages that the thread lacks | goes on without them: its graph did not keep what it streamed |
| a tool message for a call that the thread's last turn left open | gets it, behind that turn |
| another tool message | has that result, or no such call |

A thread without a message takes the whole history.
"""

from collections.abc import Callable, Sequence
from typing import Any

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage

from adapters.conversation import NOT_EXECUTED, Notes
from adapters.langgraph.content import joined

_BETWEEN = "Left out messages that the client put between older ones of the thread"
_LATE = "Left out tool messages for calls of the thread that are over"
_UNANSWERED = "Answered calls that the thread left without a result as not executed"


def new_messages(
    given: Sequence[BaseMessage], known: Sequence[BaseMessage], warn: Callable[[str], None], *, closing: bool = True
) -> list[BaseMessage]:
    """Return what of the client's history goes to a thread, by the table above: results first, then what was said.

    Args:
        given: The client's history, as `to_langchain` gives it; for an empty thread, as `whole_history` does.
        known: The messages that the thread holds.
        warn: Is told what is left out or added, one sentence for each kind.
        closing: Also answer the calls that the thread's last turn left open and the client did not answer, as not
            executed: no model takes a history without that. False where a run goes on with these calls.
    """
    if not known:
        return list(given)
    notes = Notes()
    held = {message.id for message in known}
    copy = list({message.id: message for message in reversed(given)}.values())[::-1]
    places = [place for place, message in enumerate(copy) if message.id in held]
    first, last = (places[0], places[-1]) if places else (len(copy), _last_answer(copy))
    for message in copy[first:last]:
        if _is_said(message) and message.id not in held:
            notes.note(_BETWEEN, str(message.id))
    results = _results(copy, known, copy[last + 1 :], notes, closing=closing)
    notes.tell(warn)
    return [*results, *(message for message in copy[last + 1 :] if _is_said(message))]


def fork_point(given: Sequence[BaseMessage], known: Sequence[BaseMessage]) -> int | None:
    """Return how many of a thread's messages the client's history keeps; None where it keeps all.

    The first of the thread's messages that is not kept is

    - a user message that the client has with other content,
    - or the one behind the last that the client has, if it cut the thread there: a user message is missing behind
      that, or that is itself a user message, the client's last, which is to be answered anew.

    Fewer messages are no cut by themselves: a client may hold the newest only, may have missed the end of a run that
    it stopped, or never seen what a graph keeps for itself.
    """
    places = {message.id: place for place, message in enumerate(known)}
    kept = [(places[message.id], message) for message in given if message.id in places]
    if not kept:
        return None
    changed = [place for place, message in kept if _is_edited(message, known[place])]
    last = max(place for place, _ in kept)
    rest = known[last + 1 :]
    is_asked_again = given[-1].id == known[last].id and isinstance(given[-1], HumanMessage)
    if any(isinstance(message, HumanMessage) for message in rest) or (rest and is_asked_again):
        changed.append(last + 1)
    return min(changed, default=None)


# ---- what it lacks --------------------------------------------------------------------------------


def _is_said(message: BaseMessage) -> bool:
    """Say whether a message is a person's, or the application's: no answer of the agent, no result of a call."""
    return not isinstance(message, AIMessage | ToolMessage)


def _last_answer(given: Sequence[BaseMessage]) -> int:
    return max((place for place, message in enumerate(given) if isinstance(message, AIMessage)), default=-1)


def _results(
    given: Sequence[BaseMessage],
    known: Sequence[BaseMessage],
    behind: Sequence[BaseMessage],
    notes: Notes,
    *,
    closing: bool,
) -> list[ToolMessage]:
    """The results of the calls that the thread ends with, in the order of these.

    Args:
        given: The client's messages.
        known: The thread's.
        behind: What of the client's comes behind the last that the thread holds.
        notes: Is told what is left out or added.
        closing: Whether calls that the client does not answer get a result that says so.
    """
    calls = _open_calls(known)
    taken = {message.id for message in (*known, *given)}
    made = {call["id"] for message in known if isinstance(message, AIMessage) for call in message.tool_calls}
    for message in behind:
        if isinstance(message, ToolMessage) and message.tool_call_id in made - calls.keys():
            notes.note(_LATE, str(message.id))
    held = {message.id for message in known}
    sent = [message for message in given if isinstance(message, ToolMessage) and message.id not in held]
    answers = {message.tool_call_id: message for message in reversed(sent)}
    results: list[ToolMessage] = []
    for call_id, name in calls.items():
        if call_id in answers:
            results.append(answers[call_id].model_copy(update={"name": name}))
        elif closing:
            notes.note(_UNANSWERED, call_id)
            results.append(_not_executed(call_id, name, taken))
    return results


def _open_calls(known: Sequence[BaseMessage]) -> dict[str, str]:
    """The names of the calls that the thread ends with and that have no result, by id, in the order of the calls."""
    answered: set[str] = set()
    for message in reversed(known):
        if isinstance(message, AIMessage):
            calls = [*message.tool_calls, *message.invalid_tool_calls]
            return {str(call["id"]): str(call["name"]) for call in calls if call["id"] and call["id"] not in answered}
        if not isinstance(message, ToolMessage):
            break
        answered.add(message.tool_call_id)
    return {}


def _not_executed(call_id: str, tool: str, taken: set[str | None]) -> ToolMessage:
    """A result that says that there is none, under an id that follows from the call's."""
    name, number = f"{call_id}-unanswered", 1
    while name in taken:
        number += 1
        name = f"{call_id}-unanswered-{number}"
    taken.add(name)
    return ToolMessage(NOT_EXECUTED, tool_call_id=call_id, id=name, name=tool, status="error")


def _is_edited(message: BaseMessage, before: BaseMessage) -> bool:
    return isinstance(message, HumanMessage) and _content(message) != _content(before)


def _content(message: BaseMessage) -> Any:
    """A message's content, in one form for text."""
    if isinstance(message.content, str):
        return message.content
    return joined([{"type": "text", "text": block} if isinstance(block, str) else block for block in message.content])
