"""A run input's messages as a conversation that a model can be given.

A client holds the history and sends it back as it is: with results behind the next question, with calls that nobody
answered because the run was stopped, with ids that a provider gave twice. A model's provider refuses all of that. It
is repaired here once, for every framework, and the same way each time: AG-UI messages in and out, no framework, no
ids made by chance. Each kind of repair is told in one sentence.

Source: concepts/messages
"""

import json
from collections import defaultdict, deque
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

from ag_ui.core import AssistantMessage, ContentPart, Message, TextPart, ToolCall, ToolMessage
from pydantic_core import from_json

UNREADABLE = "unreadable_arguments"
"""The only key of the arguments that stand in for ones that are no JSON object; its value is the text of those."""

NOT_EXECUTED = "This tool call was not executed, or not to its end: the run ended before it had a result."
"""The result of a call that the history leaves without one."""

_EMPTY = "Left out assistant messages that say nothing and call nothing"
_ORPHAN = "Left out tool messages that answer no call of the history"
_SECOND = "Left out tool messages for calls that have a result already"
_ECHO = "Left out tool messages that only repeat the answer to an interrupt"
_MOVED = "Moved tool messages to the call that they answer"
_AHEAD = "Moved reasoning and activities that came after an open call to before it"
_RENAMED = "Renamed earlier calls whose id the history uses again"
_UNANSWERED = "Answered calls that have no result as not executed"
_AS_TEXT = f"Kept arguments that are no JSON object as text, under {UNREADABLE!r}, of the calls"

_WAITING_ROLES = frozenset({"user", "system", "developer"})
_NAMES_TOLD = 10
_NAME_LENGTH = 80


@dataclass(frozen=True, slots=True)
class Conversation:
    """A well-formed conversation, and what waits."""

    messages: list[Message]
    """Results stand after the assistant message of their calls, in the order of its calls. Every call has one, but
    the open ones and those that the model's provider runs itself."""
    open_calls: list[ToolCall]
    """The calls that wait for a result, in the order in which they were made, as they were made. Where there are any,
    `messages` ends with the assistant message that made them and the results of its other calls."""
    later: list[Message]
    """User, system and developer messages that came after the open calls: they wait until those have results."""


class Notes:
    """What was repaired or left out, gathered so that each kind is told in one sentence."""

    def __init__(self) -> None:
        self._names: defaultdict[str, list[str]] = defaultdict(list)

    def note(self, sentence: str, name: str) -> None:
        """Note one case of what the sentence says; its name goes behind the sentence."""
        self._names[sentence].append(name)

    def tell(self, warn: Callable[[str], None]) -> None:
        """Tell what was noted: at most ten names of each kind, and how many more there are."""
        for sentence, names in self._names.items():
            shown = ", ".join(repr(name[:_NAME_LENGTH]) for name in names[:_NAMES_TOLD])
            more = f" and {len(names) - _NAMES_TOLD} more" if len(names) > _NAMES_TOLD else ""
            warn(f"{sentence}: {shown}{more}.")


def read_conversation(
    messages: Sequence[Message],
    warn: Callable[[str], None],
    *,
    echoed: Collection[str] = (),
    native: Callable[[str], bool] = lambda _: False,
) -> Conversation:
    """Read a client's messages.

    - A result goes with the nearest earlier call of its id, else with the nearest later one. The first one counts.
    - Of calls with one id the newest keeps it. The others and their results get another, and they are never open.
    - Open are the unanswered calls of the last assistant message, if it is the last that has calls. Any other
      unanswered call gets a result that says so.

    Args:
        messages: In the order in which they were sent.
        warn: Is told each kind of repair once, in one sentence that names what was repaired.
        echoed: Ids of calls that are answered by a resume entry, and whose client adds a tool message that only
            repeats it. That message is left out where the call would be open without it.
        native: Tells from a call's id that the model's provider runs it. Without a result it stays as it is.
    """
    repairs = Notes()
    kept = [message for message in messages if not _is_empty(message, repairs)]
    turns = _turns(kept)
    last = next((place for place in range(len(kept) - 1, -1, -1) if isinstance(kept[place], AssistantMessage)), -1)
    _give_results(kept, turns, {(last, call_id) for call_id in echoed}, repairs)
    _rename(turns, repairs)
    unanswered = [(place, call) for place, calls in turns.items() for call in calls if call.result is None]
    unanswered = [(place, call) for place, call in unanswered if not native(call.made.id)]
    open_calls = [call.made for place, call in unanswered if place == last and not call.renamed]
    taken = {message.id for message in messages}
    for place, call in unanswered:
        if place != last or call.renamed:
            call.result = _failed(call.made.id, NOT_EXECUTED, taken)
            repairs.note(_UNANSWERED, call.made.id)
    places, later = _order(kept, last, repairs) if open_calls else (range(len(kept)), [])
    is_open = {call.id for call in open_calls}
    read = [piece for place in places for piece in _turn(kept[place], turns.get(place, []), is_open, repairs)]
    repairs.tell(warn)
    return Conversation(read, open_calls, later)


def closed(conversation: Conversation, why: Mapping[str, str], *, otherwise: str | None = None) -> Conversation:
    """Answer open calls with failed tool messages.

    Args:
        conversation: As it was read.
        why: What each result says, by call id; ids of other calls do nothing.
        otherwise: What the results of the open calls that `why` does not name say; None leaves them open.

    Returns:
        The conversation with these calls answered, their arguments made a JSON object. Where none is open any more,
        the messages that waited are back at its end.
    """
    texts = {call.id: why.get(call.id, otherwise) for call in conversation.open_calls}
    still_open = [call for call in conversation.open_calls if texts[call.id] is None]
    if len(still_open) == len(conversation.open_calls):
        return conversation
    *_, at = (place for place, message in enumerate(conversation.messages) if isinstance(message, AssistantMessage))
    holder, results = conversation.messages[at], conversation.messages[at + 1 :]
    known = {result.tool_call_id: result for result in results if isinstance(result, ToolMessage)}
    taken = {message.id for message in (*conversation.messages, *conversation.later)}
    for call_id, text in texts.items():
        if text is not None:
            known[call_id] = _failed(call_id, text, taken)
    calls = [_Call(call, known.get(call.id)) for call in getattr(holder, "tool_calls", None) or ()]
    turn = _turn(holder, calls, {call.id for call in still_open}, Notes())
    later = conversation.later if still_open else []
    freed = [] if still_open else conversation.later
    return Conversation([*conversation.messages[:at], *turn, *freed], still_open, later)


def answer_of(message: ToolMessage) -> str | list[ContentPart]:
    """A tool message's content as a model has to see it: with the reason of its failure, once."""
    reason, content = message.error, message.content
    if not reason:
        return content
    if isinstance(content, str):
        return content if reason in content else f"{content}\n\n{reason}".lstrip()
    if any(isinstance(part, TextPart) and reason in part.text for part in content):
        return content
    return [*content, TextPart(text=reason)]


# ---- the calls and their results ------------------------------------------------------------------


@dataclass(slots=True)
class _Call:
    made: ToolCall
    result: ToolMessage | None = None
    renamed: bool = False


def _turns(kept: Sequence[Message]) -> dict[int, list[_Call]]:
    """The calls of each assistant message that has any, by its place."""
    return {
        place: [_Call(call) for call in message.tool_calls]
        for place, message in enumerate(kept)
        if isinstance(message, AssistantMessage) and message.tool_calls
    }


def _give_results(
    kept: Sequence[Message], turns: Mapping[int, list[_Call]], echoed: Collection[tuple[int, str]], repairs: Notes
) -> None:
    """Put each tool message with its call; those for no call, and second ones, are noted and stay out."""
    first: dict[str, tuple[int, deque[_Call]]] = {}
    nearest: dict[str, tuple[int, deque[_Call]]] = {}
    early: list[ToolMessage] = []
    before = -1
    for place, message in enumerate(kept):
        if not isinstance(message, ToolMessage):
            before = place
        elif message.tool_call_id not in nearest:
            early.append(message)
        else:
            _give(message, nearest[message.tool_call_id], before, echoed, repairs)
        for call in turns.get(place, ()):
            if nearest.get(call.made.id, (-1,))[0] != place:
                nearest[call.made.id] = (place, deque())
                first.setdefault(call.made.id, nearest[call.made.id])
            nearest[call.made.id][1].append(call)
    for message in early:
        if message.tool_call_id in first:
            _give(message, first[message.tool_call_id], -1, echoed, repairs)
        else:
            repairs.note(_ORPHAN, message.id)


def _give(
    message: ToolMessage,
    group: tuple[int, deque[_Call]],
    before: int,
    echoed: Collection[tuple[int, str]],
    repairs: Notes,
) -> None:
    """Give a result to the first call of its group that has none.

    Args:
        message: The result.
        group: The place of an assistant message, and its calls of this id that have no result.
        before: The place of the nearest message before the result that is none itself.
        echoed: The calls whose results are left out, as the place of their message and their id.
        repairs: Is told what happens.
    """
    place, calls = group
    if (place, message.tool_call_id) in echoed:
        repairs.note(_ECHO, message.id)
    elif not calls:
        repairs.note(_SECOND, message.id)
    else:
        calls.popleft().result = message
        if before != place:
            repairs.note(_MOVED, message.id)


def _rename(turns: Mapping[int, list[_Call]], repairs: Notes) -> None:
    """Give every call but the newest of its id an id of its own, counted from the oldest."""
    by_id: defaultdict[str, list[_Call]] = defaultdict(list)
    for calls in turns.values():
        for call in calls:
            by_id[call.made.id].append(call)
    taken = set(by_id)
    for call_id, calls in by_id.items():
        number = 0
        for call in calls[:-1]:
            number += 1
            while f"{call_id}-{number}" in taken:
                number += 1
            name = f"{call_id}-{number}"
            taken.add(name)
            call.made, call.renamed = call.made.model_copy(update={"id": name}), True
            if call.result is not None:
                call.result = call.result.model_copy(update={"tool_call_id": name})
        if len(calls) > 1:
            repairs.note(_RENAMED, call_id)


def _failed(call_id: str, text: str, taken: set[str]) -> ToolMessage:
    """A result that says why there is none, under an id that follows from the call's."""
    name, number = f"{call_id}-unanswered", 1
    while name in taken:
        number += 1
        name = f"{call_id}-unanswered-{number}"
    taken.add(name)
    return ToolMessage(id=name, tool_call_id=call_id, content=text, error=text)


# ---- the messages ---------------------------------------------------------------------------------


def _is_empty(message: Message, repairs: Notes) -> bool:
    empty = isinstance(message, AssistantMessage) and not message.content and not message.tool_calls
    if empty:
        repairs.note(_EMPTY, message.id)
    return empty


def _order(kept: Sequence[Message], last: int, repairs: Notes) -> tuple[list[int], list[Message]]:
    """The places of the messages with that of the open calls at their end, and the messages that wait for these."""
    after = range(last + 1, len(kept))
    ahead = [place for place in after if kept[place].role not in _WAITING_ROLES]
    for place in ahead:
        if kept[place].role != "tool":
            repairs.note(_AHEAD, kept[place].id)
    return [*range(last), *ahead, last], [kept[place] for place in after if kept[place].role in _WAITING_ROLES]


def _turn(message: Message, calls: Sequence[_Call], is_open: Collection[str], repairs: Notes) -> Iterator[Message]:
    """A message and the results of its calls; nothing for a tool message, which comes with its call."""
    if isinstance(message, ToolMessage):
        return
    if isinstance(message, AssistantMessage) and calls:
        made = [call.made if call.made.id in is_open else _readable(call.made, repairs) for call in calls]
        yield message if made == message.tool_calls else message.model_copy(update={"tool_calls": made})
        yield from (call.result for call in calls if call.result is not None)
    else:
        yield message


def _readable(call: ToolCall, repairs: Notes) -> ToolCall:
    """The call, its arguments a JSON object: none at all are an empty one."""
    text = call.function.arguments
    if _is_object(text):
        return call
    if text.strip():
        repairs.note(_AS_TEXT, call.id)
    arguments = json.dumps({UNREADABLE: text}) if text.strip() else "{}"
    return call.model_copy(update={"function": call.function.model_copy(update={"arguments": arguments})})


def _is_object(text: str) -> bool:
    try:
        return isinstance(from_json(text.encode(errors="surrogatepass"), allow_inf_nan=False), dict)
    except ValueError:
        return False
