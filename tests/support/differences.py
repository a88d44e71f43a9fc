"""Where the judge and a client differ about a stream, and tests that tell one kind of difference from another."""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from math import inf
from typing import Any

from conformance.events import TRIADS
from conformance.judge import Finding
from conformance.rules import CATALOGUE, Level
from conformance.rules.rule import BY_ORDER

ORDER = {rule.id for rule in CATALOGUE.values() if rule.held is BY_ORDER and rule.level is Level.MUST}
"""What a producer must keep of the order of events."""
NAMING = ("messageId", "toolCallId", "parentMessageId")


@dataclass(frozen=True)
class Read:
    """One stream, and what each made of it."""

    events: list[Any]
    ways: tuple[str, ...]
    """How it was broken."""
    breaches: list[Finding]
    """What it breaks here of what a producer must."""
    error: str | None
    """Why the client refused it; None where it read it to its end."""
    taken: int
    """How many events the client took, the refused one included."""
    warnings: list[str]

    def differences(self) -> "Iterator[Difference]":
        """Where one says what the other does not."""
        refused_at = inf if self.error is None else self.taken - 1
        found_at = [len(self.events) if breach.index is None else breach.index for breach in self.breaches]
        for breach, at in zip(self.breaches, found_at, strict=True):
            if breach.rule.id in ORDER and at < refused_at:
                yield Difference(_objects(self.events[: at + 1]), breach=breach)
        if self.error is not None and min(found_at, default=inf) > refused_at:
            yield Difference(_objects(self.events[: self.taken]), error=self.error)
        if self.error is None and not self.breaches:
            for warning in self.warnings:
                yield Difference(_objects(self.events), warning=warning)


def _objects(values: Any) -> list[dict[str, Any]]:
    """The objects of a list; none of what is no list."""
    return [value for value in values if isinstance(value, dict)] if isinstance(values, list) else []


@dataclass(frozen=True)
class Difference:
    """What one says alone: the judge of a breach, or the client of an error or a warning."""

    events: list[dict[str, Any]]
    """The events up to there."""
    breach: Finding | None = None
    error: str = ""
    warning: str = ""

    def named(self, key: str, *kinds: str, in_run: bool = False) -> list[dict[str, Any]]:
        """The events of some kinds about one thing; only those since the last run started, if `in_run`."""
        started = [at for at, event in enumerate(self.events) if event.get("type") == "RUN_STARTED"] if in_run else []
        recent = self.events[max(started, default=0) :]
        return [event for event in recent if event.get("type") in kinds and key in (event.get(name) for name in NAMING)]

    def restated(self, key: str) -> list[dict[str, Any]]:
        """A message as it came whole, in snapshots and echoed inputs."""
        holders = [*self.events, *_objects([event.get("input") for event in self.events])]
        messages = [message for holder in holders for message in _objects(holder.get("messages"))]
        return [message for message in messages if message.get("id") == key]


BEARING = (
    *(triad.start for triad in TRIADS.values()),
    *(triad.chunk for triad in TRIADS.values()),
    *("TOOL_CALL_RESULT", "ACTIVITY_SNAPSHOT"),
)
"""The events that begin, or come as, a message or a call."""

# ---- kinds of difference --------------------------------------------------------------------------

Test = Callable[[Difference], bool]


def breaks(*rules: str, where: Callable[[Difference, Finding], bool] = lambda *_: True) -> Test:
    """A breach of one of these rules that the client does not refuse."""
    return lambda one: one.breach is not None and one.breach.rule.id in rules and where(one, one.breach)


def refuses(pattern: str, where: Callable[[Difference, str], bool]) -> Test:
    """An error of the client that is no breach here; the pattern's group is what it is about."""
    return lambda one: (found := re.match(pattern, one.error)) is not None and where(one, found[1])


def warns(pattern: str, where: Callable[[Difference, str], bool]) -> Test:
    """A warning of the client about a stream that is clean here; the pattern's group is what it is about."""
    return lambda one: (found := re.match(pattern, one.warning)) is not None and where(one, found[1])


def either(*tests: Test) -> Test:
    """One of these."""
    return lambda one: any(test(one) for test in tests)


def is_of_an_earlier_run(one: Difference, breach: Finding) -> bool:
    """The activity had its snapshot in an earlier run only."""
    return not one.named(breach.event["messageId"], "ACTIVITY_SNAPSHOT", in_run=True)


def is_in_another_lane(one: Difference, breach: Finding) -> bool:
    """The item's chunks carry another tag than the event that goes on with it."""
    triad = next(triad for triad in TRIADS.values() if breach.event["type"] in (triad.content, triad.end))
    chunks = one.named(breach.event[triad.key], triad.chunk, in_run=True)
    return chunks[0].get("subagentRunId") != breach.event.get("subagentRunId")


def span_has_another_owner(one: Difference, key: str) -> bool:
    """A span bears the id, and a message of that id is another owner's, or there is none."""
    spans = one.named(key, "REASONING_START", in_run=True)
    messages = one.named(key, "REASONING_MESSAGE_START", "REASONING_MESSAGE_CHUNK", in_run=True) + one.restated(key)
    owners = {event.get("subagentRunId") for event in messages}
    return bool(spans) and spans[0].get("subagentRunId") not in owners


def is_a_result_too(one: Difference, key: str) -> bool:
    """A text message bears the id, and the message of a result."""
    kinds = {event["type"] for event in one.named(key, *BEARING, in_run=True)}
    return "TOOL_CALL_RESULT" in kinds and not kinds.isdisjoint(("TEXT_MESSAGE_START", "TEXT_MESSAGE_CHUNK"))


def is_in_a_result(one: Difference, call: str) -> bool:
    """The message that carries the call bears an id that a result bears too."""
    starts = one.named(call, "TOOL_CALL_START", "TOOL_CALL_CHUNK")
    return any(is_a_result_too(one, start["parentMessageId"]) for start in starts if "parentMessageId" in start)


def is_about_a_result(one: Difference, breach: Finding) -> bool:
    """The owner of a message, or of a call in it, is at stake, and a result bears the message's id."""
    messages = [breach.event[name] for name in ("messageId", "parentMessageId") if name in breach.event]
    calls = [breach.event[name] for name in ("toolCallId", "entityId") if name in breach.event]
    shared = [is_a_result_too(one, key) for key in messages] + [is_in_a_result(one, key) for key in calls]
    return breach.expected.startswith("the owner of") and any(shared)


def is_an_activity_too(one: Difference, key: str) -> bool:
    """An activity bears the id, and so does something else."""
    kinds = {event["type"] for event in one.named(key, *BEARING)} | {message["role"] for message in one.restated(key)}
    activity = {"ACTIVITY_SNAPSHOT", "activity"}
    return not kinds.isdisjoint(activity) and bool(kinds - activity)


def is_in_an_activity(one: Difference, call: str) -> bool:
    """What carries the call is an activity too; a call without a parent is carried by a message of its own id."""
    starts = one.named(call, "TOOL_CALL_START", "TOOL_CALL_CHUNK")
    return any(is_an_activity_too(one, start.get("parentMessageId", call)) for start in starts)


def is_no_assistant_message(one: Difference, key: str) -> bool:
    """Something else than a message of the assistant bears the id."""
    bearing = [
        event for event in one.named(key, *BEARING) if event["type"] not in ("TOOL_CALL_START", "TOOL_CALL_CHUNK")
    ]
    spoken = {event.get("role", "assistant") if "TEXT" in event["type"] else "another" for event in bearing}
    return bool({*spoken, *(message["role"] for message in one.restated(key))} - {"assistant"})


def was_left_out(one: Difference, key: str) -> bool:
    """A snapshot left out a message or call that had begun."""
    begun = [at for at, event in enumerate(one.events) if event in one.named(key, *BEARING)]
    later = one.events[min(begun, default=len(one.events)) :]
    snapshots = [event["messages"] for event in later if event.get("type") == "MESSAGES_SNAPSHOT"]
    held = [
        [*messages, *(call for message in messages for call in message.get("toolCalls", ()))] for messages in snapshots
    ]
    return any(key not in (entity["id"] for entity in entities) for entities in held)
