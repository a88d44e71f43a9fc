"""What a run input answers, and what it leaves open.

The thread's checkpoint knows what is open, so that no client can invent it: an answer to anything else is left out.
Interrupts are answered by resume entries, the calls of frontend tools by the application's tool messages.

| the input | what the run does |
|---|---|
| answers some of what is open | goes on with these answers; the rest stays open |
| answers nothing of it, whatever else it says | nothing: it ends with the same interrupts |
| goes on past calls of frontend tools, and nothing else is open | gives up what the thread was in the middle of |
| dismisses what cannot be told of it, as a breakpoint | the same |

A dismissed interrupt is told to the graph as a rejection where it is LangChain's review of a call, else as None: what a
node does with that is its author's to say, and a node that performs its action on None has no gate.

Source: basic/patterns/interrupt-resume, events/tool-calls#frontend-tools
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ag_ui.core import AssistantMessage, Interrupt, Message, ResumeEntry, ToolMessage
from langchain_core.messages import AIMessage, BaseMessage
from langgraph.errors import is_invalid_resume
from langgraph.types import Interrupt as Asked

from adapters.base import ResumeRefused, RunContext
from adapters.langgraph.frontend import Pause, paused
from adapters.langgraph.history import Trust, to_langchain
from adapters.langgraph.interrupts import Question, ask, questions

__all__ = ["Resumption", "ask", "refused", "resume"]

NOT_ANSWERED = "The application gave no result for this call."

_NOTHING_TRUSTED = Trust()


@dataclass(frozen=True, slots=True)
class Resumption:
    """Where a run goes on from."""

    answers: dict[str, Any]
    """What the graph resumes with, by the ids of its interrupts: `Command(resume=answers)`."""
    uncovered: list[Interrupt]
    """Interrupts that stay open."""
    waiting: list[str]
    """Frontend calls that the application has not answered yet, by call id."""
    messages: list[Message]
    """The client's messages, without those that only repeat an answer, and with results for the calls given up."""
    restated: list[Message] | None
    """The same, where the client has to be told; else None."""
    taken: frozenset[str]
    """The ids of the tool messages that are among the answers: the client holds them, so that no result is sent."""
    continues: bool = False
    """A breakpoint is passed: the graph goes on without an input."""
    is_abandoned: bool = False
    """What the thread was in the middle of is given up, by `breakpoints.abandon`. Then what is new of the messages
    begins a turn; where nothing is, the run is over."""

    @property
    def goes_on(self) -> bool:
        """Say whether the run does anything. If not, it ends with what is uncovered, or as success."""
        is_held = bool(self.uncovered or self.waiting)
        return bool(self.answers) or self.continues or self.is_abandoned or not is_held


def resume(
    run: RunContext,
    pending: Sequence[Asked],
    breakpoints: Sequence[str] = (),
    step: str = "",
    known: Sequence[BaseMessage] = (),
    *,
    trust: Trust = _NOTHING_TRUSTED,
) -> Resumption:
    """Read what the input answers. Nothing has been performed when it raises.

    Args:
        run: The run.
        pending: The interrupts of the thread's checkpoint.
        breakpoints: The nodes that a breakpoint of the graph holds back.
        step: The checkpoint's id.
        known: The messages of the checkpoint: results among them are none of an open call.
        trust: What the client may put into a result.

    Raises:
        ResumeRefused: A payload is none for its interrupt, or what is dismissed cannot be without the rest.
    """
    asked = {one.asked.id: one for one in questions(pending, breakpoints, step, known)}
    for name in run.answers.keys() - asked.keys():
        run.warn(f"the resume entry for {name!r} is left out: no such interrupt is open on this thread")
    covered = {name: entry for name, entry in run.answers.items() if name in asked}
    uncovered = [one.asked for name, one in asked.items() if name not in covered]
    messages, is_echoed = _without_echoes(run, [one.asked for one in asked.values()])
    pauses = {_travelled(pause, messages): pause for pause in paused(pending)}
    results = _results(messages, pauses.keys(), known)
    waiting = [call for call in pauses if call not in results]
    goes_past = bool(pauses) and _goes_past(messages, pauses.keys())

    if _is_given_up(asked, covered) or (goes_past and not asked and _is_over(pauses.values(), known)):
        return _abandoned(run, messages, waiting, restate=is_echoed)

    answers = {name: _value(asked[name], entry) for name, entry in covered.items() if not asked[name].is_breakpoint}
    failed = waiting if goes_past and not uncovered else []
    if failed:
        run.warn(_closed(failed))
    for call, message in [*results.items(), *((call, _failed(call)) for call in failed)]:
        answers[pauses[call].interrupt] = _answer(message, run, trust)
    return Resumption(
        answers,
        uncovered,
        [] if failed else waiting,
        messages,
        messages if is_echoed else None,
        frozenset(message.id for message in results.values()),
        continues=any(asked[name].is_breakpoint for name in covered),
    )


def refused(error: BaseException) -> ResumeRefused | None:
    """Say what a user may know of an answer that LangGraph itself refused; None if it is another error."""
    if not is_invalid_resume(error):
        return None
    return ResumeRefused("An answer does not fit what the graph asked for; it can be given again.")


# ---- answers to interrupts ------------------------------------------------------------------------


def _value(question: Question, entry: ResumeEntry) -> Any:
    """What the graph is told."""
    return question.dismissed if entry.status == "cancelled" else question.value(entry.payload)


def _is_given_up(asked: Mapping[str, Question], covered: Mapping[str, ResumeEntry]) -> bool:
    """Say whether the answers give up what the thread is in the middle of.

    Raises:
        ResumeRefused: One of them does, and others do not.
    """
    given_up = [name for name, entry in covered.items() if _gives_up(asked[name], entry)]
    if given_up and len(given_up) < len(asked):
        rest = "the graph cannot be told of it, and to give up the rest for it was not asked for"
        raise ResumeRefused(f"Interrupt {given_up[0]!r} cannot be dismissed by itself: {rest}.")
    return bool(given_up)


def _gives_up(question: Question, entry: ResumeEntry) -> bool:
    if entry.status == "cancelled":
        return not question.hears_dismissal
    return question.is_breakpoint and not question.value(entry.payload)["approved"]


def _without_echoes(run: RunContext, asked: Iterable[Interrupt]) -> tuple[list[Message], bool]:
    """The messages without results that only the server could give: some clients add one that repeats the answer."""
    gated = {call for one in asked for call in (one.tool_call_id, run.asked.get(one.id, one).tool_call_id)}
    kept = [one for one in run.input.messages if not isinstance(one, ToolMessage) or one.tool_call_id not in gated]
    return kept, len(kept) < len(run.input.messages)


# ---- answers to frontend calls --------------------------------------------------------------------


def _travelled(pause: Pause, messages: Iterable[Message]) -> str:
    """The id that a call has in the client's history: not its provider's, where that gave it to an earlier one too."""
    made = next((list(_calls(one)) for one in messages if one.id == pause.message), [])
    return made[pause.place] if pause.place < len(made) else pause.call


def _results(
    messages: Iterable[Message], calls: Collection[str], known: Sequence[BaseMessage]
) -> dict[str, ToolMessage]:
    """The application's new results by call: the first behind the last message that has the call."""
    held = {message.id for message in known if isinstance(message, BaseMessage)}
    found: dict[str, ToolMessage] = {}
    for message in messages:
        for call in _calls(message):
            found.pop(call, None)
        if isinstance(message, ToolMessage) and message.tool_call_id in calls and message.id not in held:
            found.setdefault(message.tool_call_id, message)
    return found


def _goes_past(messages: Sequence[Message], calls: Collection[str]) -> bool:
    """Say whether the user said something after the calls. A client that did not send them sends what is new."""
    holders = [place for place, message in enumerate(messages) if any(call in calls for call in _calls(message))]
    later = messages[holders[-1] + 1 :] if holders else messages[-1:]
    return any(message.role == "user" for message in later)


def _is_over(pauses: Iterable[Pause], known: Sequence[BaseMessage]) -> bool:
    """Say whether the turn can end here: the thread itself holds the calls, no graph within it does."""
    made = {call["id"] for message in known if isinstance(message, AIMessage) for call in message.tool_calls}
    return all(pause.call in made for pause in pauses)


def _abandoned(run: RunContext, messages: list[Message], lost: Sequence[str], *, restate: bool) -> Resumption:
    """Give up what the thread is in the middle of; what the application did answer counts."""
    closed = list(_with_failed(messages, lost))
    if lost:
        run.warn(_closed(lost))
    is_told = restate or len(closed) > len(messages)
    return Resumption({}, [], [], closed, closed if is_told else None, frozenset(), is_abandoned=True)


def _with_failed(messages: Sequence[Message], lost: Collection[str]) -> Iterator[Message]:
    """The messages, and behind the last one that has a lost call a result that says so."""
    last = {call: place for place, message in enumerate(messages) for call in _calls(message) if call in lost}
    for place, message in enumerate(messages):
        yield message
        yield from (_failed(call) for call, held in last.items() if held == place)


def _failed(call: str) -> ToolMessage:
    return ToolMessage(id=f"{call}-unanswered", tool_call_id=call, content=NOT_ANSWERED, error=NOT_ANSWERED)


def _answer(message: ToolMessage, run: RunContext, trust: Trust) -> dict[str, Any]:
    """What a paused call goes on with: see `frontend.answer_to`."""
    (result,) = to_langchain([message], run.warn, trust=trust)
    return {"id": message.id, "content": result.content, "failed": message.error is not None}


def _calls(message: Message) -> Iterator[str]:
    if isinstance(message, AssistantMessage):
        yield from (call.id for call in message.tool_calls or ())


def _closed(calls: Iterable[str]) -> str:
    return f"calls without a result are closed as failed: {', '.join(map(repr, calls))}"
