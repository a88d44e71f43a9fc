"""The rules of the page on runs and steps.

Source: events/lifecycle
"""

from collections.abc import Iterator, Sequence
from typing import Any

from conformance.events import Event
from conformance.rules.rule import (
    BY_ORDER,
    Along,
    By,
    Case,
    Fact,
    Fault,
    Level,
    OnEvent,
    Rule,
    See,
    Shaped,
    Watch,
    on_page,
)

TERMINAL = ("RUN_FINISHED", "RUN_ERROR")


def outcome_type(event: Event) -> str:
    """How a RUN_FINISHED says the run ended; an absent outcome is a success."""
    kind: str = (event.get("outcome") or {}).get("type", "success")
    return kind


def _stop_is_cancelled(case: Case) -> Watch:
    last: Event | None = None
    notes: list[Fault] = []
    while True:
        event = yield notes
        if event is None:
            break
        last = event
    if case.exchange.stopped and last is not None and last["type"] == "RUN_FINISHED":
        outcome = outcome_type(last)
        if outcome != "cancelled":
            notes = [
                Fault("the cancelled outcome, or RUN_ERROR", f"RUN_FINISHED as {outcome}, and the run was stopped")
            ]
    yield notes


def _cancelled_has_no_result(event: Event) -> Iterator[Fault]:
    if outcome_type(event) == "cancelled" and "result" in event:
        yield Fault("no result beside the cancelled outcome", "a result")


class _Restated:
    """Items of the input's history, and how far each is being streamed again."""

    def __init__(self, run_input: dict[str, Any]) -> None:
        self.texts: dict[str, str] = {}
        self.calls: dict[str, str] = {}
        self.results: set[str] = set()
        for message in run_input.get("messages", ()):
            if isinstance(message.get("content"), str) and message["content"]:
                self.texts[message["id"]] = message["content"]
            for call in message.get("toolCalls", ()):
                self.calls[call["id"]] = call["function"]["arguments"]
            if message["role"] == "tool":
                self.results.add(message["id"])
        self.told: dict[tuple[str, str], int | None] = {}
        """How many characters of an item were repeated so far; None once it says something else."""

    def take(self, event: Event) -> Sequence[Fault]:
        """Follow one event of an item."""
        if "toolCallId" in event:
            if event["type"] == "TOOL_CALL_RESULT":
                return _again(f"tool message {event['messageId']!r}") if event["messageId"] in self.results else ()
            key, held, what = event["toolCallId"], self.calls, "tool call"
        else:
            key, held, what = event["messageId"], self.texts, "message"
        if key not in held:
            return ()
        return _again(f"{what} {key!r}") if self._told_again(event, what, key, held[key]) else ()

    def _told_again(self, event: Event, what: str, key: str, whole: str) -> bool:
        """Say whether this event ends an item that said its whole text again."""
        act = event["type"].rpartition("_")[2]
        if act == "START":
            self.told[what, key] = 0
        elif act == "END":
            return self.told.pop((what, key), None) == len(whole)
        else:
            told = self.told.get((what, key))
            same = told is not None and whole.startswith(event["delta"], told)
            self.told[what, key] = told + len(event["delta"]) if same and told is not None else None
        return False


def _again(what: str) -> Sequence[Fault]:
    return (Fault("history restated by MESSAGES_SNAPSHOT", f"{what} of the input streamed again"),)


_ITEM_EVENTS = (
    *(f"TEXT_MESSAGE_{act}" for act in ("START", "CONTENT", "END")),
    *(f"REASONING_MESSAGE_{act}" for act in ("START", "CONTENT", "END")),
    *(f"TOOL_CALL_{act}" for act in ("START", "ARGS", "END", "RESULT")),
)


def _history_as_snapshots(case: Case) -> Watch:
    history = _Restated(case.run_input)
    notes: Sequence[Fault] = ()
    while True:
        event = yield notes
        notes = () if event is None else history.take(event)


def _usage_total(event: Event) -> Iterator[Fault]:
    for entry in event.get("usage", ()):
        counts = [entry.get(name) for name in ("inputTokens", "outputTokens", "totalTokens")]
        if None not in counts and counts[0] + counts[1] != counts[2]:
            yield Fault(f"totalTokens {counts[0] + counts[1]}, the sum of input and output", f"{counts[2]}")


def _usage_parts(event: Event) -> Iterator[Fault]:
    for entry in event.get("usage", ()):
        cached = entry.get("cachedInputTokens", 0) + entry.get("cacheWriteInputTokens", 0)
        for part, whole, name in (
            (cached, "inputTokens", "cachedInputTokens and cacheWriteInputTokens"),
            (entry.get("reasoningTokens", 0), "outputTokens", "reasoningTokens"),
        ):
            if whole in entry and part > entry[whole]:
                yield Fault(f"{name} within {whole} {entry[whole]}", f"{part}")


def _usage_one_entry(event: Event) -> Iterator[Fault]:
    seen: set[tuple[Any, Any]] = set()
    for entry in event.get("usage", ()):
        key = (entry.get("provider"), entry.get("model"))
        if key in seen:
            yield Fault("one entry for each provider and model", f"another for {key[0]} {key[1]}")
        seen.add(key)


RULES = on_page(
    "events/lifecycle",
    Rule(
        "run-opens-stream",
        See.STREAM,
        "The first event of a stream is RUN_STARTED or RUN_ERROR.",
        "Send RUN_STARTED before anything else, also before the model is called.",
        BY_ORDER,
    ),
    Rule(
        "run-not-nested",
        See.STREAM,
        "No RUN_STARTED while a run is active; the current run closes first.",
        "End the run with RUN_FINISHED or RUN_ERROR before the next one starts; a nested agent is a subagent or a step.",
        BY_ORDER,
    ),
    Rule(
        "run-ends",
        See.STREAM,
        "Every opened run ends with RUN_FINISHED or RUN_ERROR before the stream closes.",
        "Send RUN_ERROR from the one place that catches every exception, and RUN_FINISHED from the one place that returns.",
        BY_ORDER,
    ),
    Rule(
        "run-closed-is-closed",
        See.STREAM,
        "After RUN_FINISHED only RUN_STARTED or one late RUN_ERROR may come; after RUN_ERROR only RUN_STARTED.",
        "Stop all that still emits for the run before its terminal event is sent; what comes late is for the log.",
        BY_ORDER,
    ),
    Rule(
        "run-items-closed",
        See.STREAM,
        "Messages, tool calls, reasoning spans and messages, steps and subagents opened by a run are closed before its "
        "RUN_FINISHED, whatever the outcome. RUN_ERROR needs nothing closed.",
        "Keep a list of what is open and close it, last opened first, before RUN_FINISHED; or end with RUN_ERROR.",
        BY_ORDER,
    ),
    Rule(
        "outcome-described",
        See.EVENT,
        "RUN_FINISHED.outcome is absent or one of success, interrupt, cancelled as the schema shapes them.",
        "Use one of the three outcomes; what they cannot say goes into metadata.",
        Shaped(r"RUN_FINISHED/outcome(/.*)?"),
    ),
    Rule(
        "stop-is-cancelled",
        See.EXCHANGE,
        "A run stopped on purpose before it completed (by a person, by the application, by a limit) ends with the "
        "cancelled outcome, never with success or no outcome; if its items cannot be closed in order it ends with "
        "RUN_ERROR.",
        "On a stop, close what is open and finish with the cancelled outcome.",
        Along(TERMINAL, _stop_is_cancelled),
        needs=(Fact.STOPPED,),
    ),
    Rule(
        "cancelled-has-no-result",
        See.EVENT,
        "A cancelled run carries no result.",
        "Leave result out of a cancelled RUN_FINISHED; partial work is in the events before it.",
        OnEvent(("RUN_FINISHED",), _cancelled_has_no_result),
        level=Level.SHOULD,
    ),
    Rule(
        "step-opens-once",
        See.STREAM,
        "No STEP_STARTED for a name already open under the same owner.",
        "Number the names of steps that may overlap, or finish the one before.",
        BY_ORDER,
    ),
    Rule(
        "step-closes-open",
        See.STREAM,
        "No STEP_FINISHED for a name that is not open under the same owner.",
        "Finish each step once, by the name with which it was started.",
        BY_ORDER,
    ),
    Rule(
        "history-as-snapshots",
        See.EXCHANGE,
        "History that the input already carried is restated with MESSAGES_SNAPSHOT and STATE_SNAPSHOT, never streamed "
        "again.",
        "Stream only what is new in this run; a consumer appends what it is sent again.",
        Along(_ITEM_EVENTS, _history_as_snapshots),
        needs=(Fact.RUN_INPUT,),
    ),
    Rule(
        "usage-total",
        See.EVENT,
        "totalTokens, where given with both counts, equals inputTokens plus outputTokens.",
        "Compute totalTokens, or leave it out; a provider's own total often counts otherwise.",
        OnEvent(TERMINAL, _usage_total),
    ),
    Rule(
        "usage-parts",
        See.EVENT,
        "cachedInputTokens plus cacheWriteInputTokens is at most inputTokens; reasoningTokens is at most outputTokens.",
        "Add the parts that the provider reports beside its totals into inputTokens and outputTokens.",
        OnEvent(TERMINAL, _usage_parts),
    ),
    Rule(
        "usage-one-entry",
        See.EVENT,
        "One usage entry per provider and model.",
        "Sum the calls of one provider and model into one entry.",
        OnEvent(TERMINAL, _usage_one_entry),
        level=Level.SHOULD,
    ),
    Rule(
        "usage-unknown-absent",
        See.MODEL,
        "A count that the provider did not report is absent, never zero.",
        "Copy only the counts that the provider sent; a missing one stays missing.",
    ),
    Rule(
        "usage-covers-subagents",
        See.MODEL,
        "Usage covers every model call of the run, its subagents' included, and no call of another run.",
        "Collect the usage of every model call that the run makes, at whatever depth, in one place.",
    ),
    Rule(
        "usage-per-run",
        See.RUNS,
        "A resuming run reports only the calls that it made itself.",
        "Start counting at RUN_STARTED; a checkpoint's counters belong to the run that made them.",
    ),
    Rule(
        "read-cancelled-apart",
        See.STREAM,
        "A cancelled run is shown neither as succeeded nor as failed.",
        by=By.CONSUMER,
    ),
)
