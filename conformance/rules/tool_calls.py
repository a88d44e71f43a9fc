"""The rules of the page on tool calls.

Source: events/tool-calls
"""

from collections.abc import Iterator

from conformance.events import CALL, Event
from conformance.rules.lifecycle import outcome_type
from conformance.rules.rule import (
    BY_ORDER,
    Along,
    By,
    Case,
    Fact,
    Fault,
    Level,
    Rule,
    See,
    Shaped,
    Watch,
    on_page,
)
from conformance.shapes import Kind


class _Calls:
    """The calls of a stream by name, and the names that the input advertised."""

    def __init__(self, case: Case) -> None:
        self._case = case
        self._history = {
            call["id"]: call["function"]["name"]
            for message in case.run_input.get("messages", ())
            for call in message.get("toolCalls", ())
        }
        self.advertised = {tool["name"] for tool in case.run_input.get("tools", ())}

    def name(self, call: str) -> str | None:
        item = self._case.machine.items[CALL].get(call)
        name: str | None = self._history.get(call) if item is None else item.fields.get("toolCallName")
        return name

    def unanswered(self) -> list[str]:
        return [call for call, answered in self._case.machine.calls.items() if not answered]

    def are_pending(self, unanswered: list[str]) -> bool:
        """Say whether the application has to answer one: what it did not advertise just lacks its result."""
        knows = self._case.exchange.run_input is not None
        return any(not knows or self.name(call) in self.advertised for call in unanswered)


def _frontend_call_unanswered(case: Case) -> Watch:
    calls = _Calls(case)
    notes: list[Fault] = []
    while True:
        event = yield notes
        notes = [] if event is None else list(_answers(event, calls, case))


def _answers(event: Event, calls: _Calls, case: Case) -> Iterator[Fault]:
    if event["type"] == "TOOL_CALL_RESULT":
        answered = [event["toolCallId"]]
    else:  # a snapshot may restate answers of the application, but none to a call of this very run
        answers = [message["toolCallId"] for message in event["messages"] if message["role"] == "tool"]
        answered = [call for call in answers if case.machine.calls.get(call) is False]
    for call in answered:
        if calls.name(call) in calls.advertised:
            expected = f"no answer to the call of {calls.name(call)!r}, a tool of the application"
            yield Fault(expected, f"{event['type']} answers {call!r}")


def _frontend_call_is_success(case: Case) -> Watch:
    calls = _Calls(case)
    notes: list[Fault] = []
    while True:
        event = yield notes
        notes = []
        if event is not None and outcome_type(event) == "interrupt":
            asked = [interrupt.get("toolCallId") for interrupt in event["outcome"]["interrupts"]]
            if all(call is not None and calls.name(call) in calls.advertised for call in asked):
                notes = [Fault("success, with the calls pending", f"an interrupt for the frontend calls {asked}")]


def _pending_sent(case: Case) -> Watch:
    """A run from before versions, replayed or not, knew of no such list."""
    calls, declared = _Calls(case), True
    notes: list[Fault] = []
    while True:
        event = yield notes
        notes = []
        if event is not None and event["type"] == "RUN_STARTED":
            declared = "protocolVersion" in event
        elif event is not None and declared and outcome_type(event) == "success":
            unanswered, outcome = calls.unanswered(), event.get("outcome", {})
            if calls.are_pending(unanswered) and not outcome.get("pendingToolCallIds"):
                notes = [Fault(f"pendingToolCallIds {unanswered}", "none")]


def _frontend_call_advertised(case: Case) -> Watch:
    """What was advertised to an earlier run of the stream is not known."""
    calls, asked = _Calls(case), case.run_input.get("runId")
    notes: list[Fault] = []
    while True:
        event = yield notes
        notes = []
        if event is not None and event["runId"] == asked and outcome_type(event) == "success":
            named = {call: calls.name(call) for call in calls.unanswered()}
            strange = [call for call, name in named.items() if name is not None and name not in calls.advertised]
            notes = [
                Fault("a call of an advertised tool", f"{calls.name(call)!r} is called and left") for call in strange
            ]


RULES = on_page(
    "events/tool-calls",
    Rule(
        "frontend-call-unanswered",
        See.EXCHANGE,
        "A call of a tool that the input advertised gets no TOOL_CALL_RESULT and no made-up tool message.",
        "Announce the call, finish the run, and take the answer from the next input's messages.",
        Along(("TOOL_CALL_RESULT", "MESSAGES_SNAPSHOT"), _frontend_call_unanswered),
        needs=(Fact.RUN_INPUT,),
    ),
    Rule(
        "frontend-call-is-success",
        See.EXCHANGE,
        "A run that stops on frontend calls ends with success or no outcome, never as interrupted.",
        "Finish with success and pendingToolCallIds; keep interrupts for questions of the agent.",
        Along(("RUN_FINISHED",), _frontend_call_is_success),
        needs=(Fact.RUN_INPUT,),
    ),
    Rule(
        "pending-exact",
        See.STREAM,
        "pendingToolCallIds, when sent, lists exactly the calls that the run started and did not answer, in the order "
        "they were made.",
        "Keep the calls of the run in order and strike out each that gets a TOOL_CALL_RESULT; send what is left.",
        BY_ORDER,
    ),
    Rule(
        "pending-sent",
        See.STREAM,
        "A run that leaves calls unanswered sends pendingToolCallIds.",
        "Send the ids of the unanswered calls on the success outcome.",
        Along(("RUN_STARTED", "RUN_FINISHED"), _pending_sent),
        needs=(Fact.CURRENT_PEER,),
        level=Level.SHOULD,
    ),
    Rule(
        "frontend-call-advertised",
        See.EXCHANGE,
        "Only advertised frontend tools are called.",
        "Give the model the tools of the input and your own, and answer the calls of your own.",
        Along(("RUN_FINISHED",), _frontend_call_advertised),
        needs=(Fact.RUN_INPUT,),
        level=Level.SHOULD,
    ),
    Rule(
        "no-reserved-parts",
        See.EVENT,
        "The part types reserved for a later version are not sent.",
        "Send reasoning and calls as events of their own; parts are text and media.",
        Shaped(r".*/content/\d+/type", (Kind.UNKNOWN_VALUE,), r"'(reasoning|assistant|tool[-_]?call)'"),
    ),
    Rule(
        "result-content-shape",
        See.EVENT,
        "TOOL_CALL_RESULT.content is a string or an ordered list of content parts; structured data travels as text.",
        "Serialise structured results to JSON text.",
        Shaped(r"TOOL_CALL_RESULT/content(/.*)?"),
    ),
    Rule(
        "result-always-answers",
        See.MODEL,
        "A result whose every part the model cannot take still answers the call, with the empty string.",
        "Answer with the text that is left, even if that is none.",
    ),
    Rule(
        "arguments-untrusted",
        See.MODEL,
        "Model-made arguments are validated against the tool's declared schema before a server tool runs.",
        "Validate first; give the model the error as the call's result.",
    ),
    Rule(
        "read-calls-answered",
        See.RUNS,
        "A thread that continues answers every unanswered frontend call first.",
        by=By.CONSUMER,
    ),
)
