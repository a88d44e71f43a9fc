"""From steps to finished events: the only place that makes RUN_STARTED, RUN_FINISHED and RUN_ERROR.

Pure: `start()`, then `feed(step)` for each step, then one of `finish()`, `cancel()`, `fail()`; each returns the
events to send. Every event passes the conformance machine on its way out.

An item stays open until
- the adapter ends it with its end event,
- it is a call and its result comes,
- it has no name and the next kind of item of its owner begins,
- it is the text of a message and a call of that message begins,
- its subagent ends, or the run does.

Source: events/lifecycle, basic/patterns/streaming, events/tool-calls
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from ag_ui.core import PROTOCOL_VERSION, BaseEvent, Interrupt, RunAgentInput

from adapters.base import Cancelled, Interrupted, Outcome, Reasoning, Step, Success, Text, ToolCall
from conformance.events import CALL, TEXT, TRIADS, Event, Triad
from conformance.json_values import is_whole, json_value
from conformance.machine import Machine
from conformance.order import Breach, Item, Phase
from sidecar.runs.asked import NOTHING, Interrupts
from sidecar.runs.items import Items
from sidecar.runs.names import Names
from sidecar.runs.state import SharedState
from sidecar.runs.usage import Usage
from sidecar.runs.values import StepRefused, wire_event, wire_interrupt

METADATA_KEY = "agui-sidecar"
"""Prefix of what this server adds to metadata. (metadata-prefixed)"""


class RunOver(Exception):  # noqa: N818 - a sentence about the run
    """A step came after the run's terminal event. Nothing more is sent."""


class OrderBroken(Exception):  # noqa: N818 - a sentence about the stream
    """The events that the steps amount to break the protocol's order: a fault of the adapter or of this server."""

    def __init__(self, breaches: Sequence[Breach]) -> None:
        super().__init__("; ".join(map(str, breaches)))
        self.breaches = breaches


class Pipeline:
    """Turns the steps of one run into its events. Work per step does not grow with history or state."""

    def __init__(self, run_input: RunAgentInput, *, ids: Callable[[], str], warn: Callable[[str], None]) -> None:
        self.over = False
        self._takes_steps = True
        self._input = run_input
        self._warn = warn
        self._machine = Machine(thread_id=run_input.thread_id)
        self._names = Names(run_input, ids, warn)
        self._items = Items(self._machine, self._names, ids)
        self._state = SharedState(run_input.state, warn)
        self._usage = Usage(warn)
        self.spent = self._usage.add
        """Takes what a model call cost, until the run has ended."""
        self.outcome: Outcome | None = None
        """What the adapter said of the end, if it said anything."""
        self.asked: Interrupts = NOTHING
        """The interrupts that the run ended with, as they travel."""
        self._own_lane = self._items.lane(None)
        self._halves = self._items.halves
        self._texts: dict[Any, Item] = {}
        self._calls: dict[Any, Item] = {}

    # ---- the run's bracket ----------------------------------------------------------------------

    def start(self) -> list[Event]:
        """Open the run. (version-declared, run-id-echoed)"""
        event: Event = {"type": "RUN_STARTED", "threadId": self._input.thread_id, "runId": self._input.run_id}
        event["protocolVersion"] = PROTOCOL_VERSION
        if self._input.parent_run_id is not None:
            event["parentRunId"] = self._input.parent_run_id
        started: list[Event] = [self._checked(event)]
        self._texts, self._calls = self._machine.items[TEXT], self._machine.items[CALL]
        return started

    def finish(self) -> list[Event]:
        """End a run whose adapter came to its end."""
        if self.over:
            return []
        match self.outcome:
            case Interrupted(interrupts):
                return self._interrupt(interrupts)
            case Cancelled(reason):
                return self.cancel(reason)
            case Success(result):
                return self._succeed(result)
        return self._succeed(None)

    def cancel(self, reason: str) -> list[Event]:
        """End a run that was stopped on purpose. (stop-is-cancelled, cancelled-has-no-result)"""
        if self.over:
            return []
        stopped = {"message": "The run was stopped.", "code": "cancelled"}
        ends = self._ends(lambda item: {"type": "SUBAGENT_ERROR", "subagentRunId": item.key, **stopped})
        metadata = {METADATA_KEY: {"reason": json_value(reason, self._warn)}}
        return [*ends, self._finished({"outcome": {"type": "cancelled"}, "metadata": metadata})]

    def fail(self, message: str, code: str, correlation_id: str) -> list[Event]:
        """End a run that failed, even one whose RUN_FINISHED was made already. What is open needs no closing."""
        if self._machine.phase is Phase.FAILED:
            return []
        error = {"type": "RUN_ERROR", "message": message, "code": code}
        event: Event = json_value(error, self._warn, "RUN_ERROR")
        event["metadata"] = {METADATA_KEY: {"correlationId": correlation_id}}
        return [self._terminal(event)]

    def _succeed(self, result: Any) -> list[Event]:
        ends = self._ends(lambda item: {"type": "SUBAGENT_FINISHED", "subagentRunId": item.key})
        outcome: dict[str, Any] = {"type": "success"}
        pending = [call for call, answered in self._machine.calls.items() if not answered]
        if pending:  # pending-exact, pending-sent
            outcome["pendingToolCallIds"] = pending
        fields: dict[str, Any] = {"outcome": outcome}
        value = json_value(result, self._warn, "result")
        if value is not None:
            fields["result"] = value
        return [*ends, self._finished(fields)]

    def _interrupt(self, interrupts: Sequence[Any]) -> list[Event]:
        if not interrupts:  # interrupt-not-empty
            raise StepRefused("Interrupted: at least one interrupt is needed, none came")
        asked = [self._names.in_interrupt(wire_interrupt(interrupt, self._warn)) for interrupt in interrupts]

        def suspended(item: Item) -> Event:
            ids = [interrupt["id"] for interrupt in asked if interrupt.get("subagentRunId") == item.key]
            outcome = {"type": "suspended", **({"interruptIds": ids} if ids else {})}
            return {"type": "SUBAGENT_FINISHED", "subagentRunId": item.key, "outcome": outcome}

        ends = self._ends(suspended)
        finished = self._finished({"outcome": {"type": "interrupt", "interrupts": asked}})
        self.asked = {interrupt["id"]: Interrupt.model_validate(interrupt) for interrupt in asked}
        return [*ends, finished]

    def _finished(self, fields: dict[str, Any]) -> Event:
        event: Event = {"type": "RUN_FINISHED", "threadId": self._input.thread_id, "runId": self._input.run_id}
        return self._terminal({**event, **fields})

    def _terminal(self, event: Event) -> Event:
        usage = self._usage.close()
        if usage:
            event["usage"] = usage
        self._checked(event)
        self.over = True
        self._takes_steps = False
        return event

    # ---- steps ----------------------------------------------------------------------------------

    def continued(self, step: Step) -> Item | None:
        """The open item that a step only extends, by a piece that can go out as it is; None for any other step.

        This is the path of a token. For such a step `feed` would make one event, `content_event(item, step.delta)`,
        and the machine would check that the item is open, which was looked up here.
        """
        if not self._takes_steps or self._halves:
            return None
        if type(step) is Text:
            item = self._own_lane.text if step.id is None else self._texts.get(step.id)
        elif type(step) is ToolCall and step.name is None:
            item = self._calls.get(step.id)
        else:
            return None
        if item is None or not item.open or item.owner != step.subagent or not step.delta:
            return None
        return item if step.delta.isascii() or is_whole(step.delta) else None

    def feed(self, step: Step) -> Sequence[Event]:
        """Take one step and return the events that it makes.

        Raises:
            StepRefused: The step cannot be sent.
            OrderBroken: Its events would break the protocol's order.
            RunOver: The run has ended.
        """
        if self.over:
            raise RunOver
        return [self._checked(event) for event in self._dispatch(step)]

    def _dispatch(self, step: Step) -> Iterator[Event]:
        if self.outcome is not None:
            raise StepRefused(f"{type(step).__name__} came after the outcome, which is a run's last step")
        match step:
            case Text():
                yield from self._items.text(step)
            case ToolCall():
                yield from self._items.call(step)
            case Reasoning():
                yield from self._items.reasoning(step)
            case Success() | Interrupted() | Cancelled():
                self.outcome = step
                self._takes_steps = False
            case BaseEvent():
                yield from self._event(wire_event(step, self._warn))
            case _:
                raise StepRefused(f"{type(step).__name__} is no step; adapters yield those of adapters.base.Step")

    # ---- events that an adapter yields as they are ------------------------------------------------

    def _event(self, event: Event) -> Iterator[Event]:
        kind = event["type"]
        if kind in _OF_ITEMS:
            yield from self._item_event(event, _OF_ITEMS[kind])
            return
        match kind:
            case "RUN_STARTED" | "RUN_FINISHED" | "RUN_ERROR":
                raise StepRefused(f"{kind} is the server's to send; yield an outcome or raise AdapterError instead")
            case "TOOL_CALL_RESULT":
                yield from self._result({**event, "toolCallId": self._names.call(event["toolCallId"])})
            case "STATE_SNAPSHOT":
                yield from self._state.replace(event)
            case "STATE_DELTA":
                yield from self._state.change(event)
            case "REASONING_ENCRYPTED_VALUE":
                yield from self._items.artefact_of(event)
            case "SUBAGENT_FINISHED" | "SUBAGENT_ERROR":
                yield from self._items.end_owned(event["subagentRunId"])
                yield event
            case _:
                yield event

    def _item_event(self, event: Event, triad: Triad) -> Iterator[Event]:
        """Read an explicit event of a streamed item, or a chunk, as the step that it amounts to."""
        own = ("type", triad.key, "delta", "subagentRunId", "toolCallName", "parentMessageId")
        carried = {name: value for name, value in event.items() if name not in own}
        name, owner, delta = event.get(triad.key), event.get("subagentRunId"), event.get("delta", "")
        begin = event["type"] == triad.start
        if event["type"] == triad.end:
            yield from self._items.end(triad.family, event[triad.key], carried)
        elif triad.family is CALL:
            call = ToolCall(delta, name, event.get("toolCallName"), event.get("parentMessageId"), owner)
            yield from self._items.call(call, carried, begin=begin)
        elif triad.family is TEXT:
            yield from self._items.text(Text(delta, name, owner), carried, begin=begin)
        else:
            yield from self._items.reasoning(Reasoning(delta, name, owner), carried, begin=begin)

    def _result(self, event: Event) -> Iterator[Event]:
        """Answer a call, unless the answer is the application's to give. (frontend-call-unanswered)"""
        call = event["toolCallId"]
        tool = self._calls[call].fields["toolCallName"] if call in self._calls else self._names.calls_held.get(call)
        if tool in self._names.frontend:
            self._warn(f"the result of {call!r} is left out: {tool!r} is a frontend tool, the application answers it")
        elif self._machine.calls.get(call):
            self._warn(f"a second result of {call!r} is left out")
        else:
            yield from self._items.answer(event)

    # ---- the way out ----------------------------------------------------------------------------

    def _ends(self, subagent_end: Callable[[Item], Event]) -> list[Event]:
        return [self._checked(event) for event in self._items.end_all(subagent_end)]

    def _checked(self, event: Event) -> Event:
        """Hold an event to the protocol's order."""
        breaches = self._machine.feed(event)
        if breaches:
            raise OrderBroken(breaches)
        return event


_OF_ITEMS = {kind: triad for triad in TRIADS.values() for kind in (triad.start, triad.content, triad.end, triad.chunk)}
