"""The order of a stream, as tables. `conformance.machine` holds a stream to them.

- `RUN`: what each phase of a run admits, and where it leads.
- `ITEMS`: what each event does to the thing that it names: open it, continue it, close it.
- `RULES`: which requirement is broken when that cannot be.

Source: events/lifecycle, basic/patterns/streaming, events/reasoning, events/subagents
"""

from collections.abc import Hashable
from dataclasses import dataclass, field
from enum import Enum, auto
from typing import Any

from conformance.events import CALL, REASONING, SPAN, STEP, SUBAGENT, TEXT, TRIADS, Event, Family


class Phase(Enum):
    """Where a stream stands between its runs."""

    NEW = "no event came yet"
    ACTIVE = "a run is active"
    ASSUMED = "events came without a run"
    FINISHED = "the run has finished"
    FAILED = "the run has failed"


class Effect(Enum):
    """What an event does to the thing that it names."""

    OPEN = auto()
    CONTINUE = auto()
    CLOSE = auto()


RUN: dict[Phase, tuple[dict[str, Phase], str]] = {
    Phase.NEW: ({"RUN_STARTED": Phase.ACTIVE, "RUN_ERROR": Phase.FAILED}, "run-opens-stream"),
    Phase.ACTIVE: ({"RUN_FINISHED": Phase.FINISHED, "RUN_ERROR": Phase.FAILED}, "run-not-nested"),
    Phase.ASSUMED: (
        {"RUN_STARTED": Phase.ACTIVE, "RUN_FINISHED": Phase.FINISHED, "RUN_ERROR": Phase.FAILED},
        "run-opens-stream",
    ),
    Phase.FINISHED: ({"RUN_STARTED": Phase.ACTIVE, "RUN_ERROR": Phase.FAILED}, "run-closed-is-closed"),
    Phase.FAILED: ({"RUN_STARTED": Phase.ACTIVE}, "run-closed-is-closed"),
}
"""Per phase: the run events that it admits, with the phase that each leads to, and the rule that others break.

An active run admits every event besides but RUN_STARTED. The machine assumes a run where events come before any.
"""

IN_RUN = (Phase.ACTIVE, Phase.ASSUMED)

ACTIVITY = "activity"

ITEMS: dict[str, tuple[Effect, Family]] = {
    **{triad.start: (Effect.OPEN, triad.family) for triad in TRIADS.values()},
    **{triad.content: (Effect.CONTINUE, triad.family) for triad in TRIADS.values()},
    **{triad.end: (Effect.CLOSE, triad.family) for triad in TRIADS.values()},
    "REASONING_START": (Effect.OPEN, SPAN),
    "REASONING_END": (Effect.CLOSE, SPAN),
    "STEP_STARTED": (Effect.OPEN, STEP),
    "STEP_FINISHED": (Effect.CLOSE, STEP),
    "SUBAGENT_STARTED": (Effect.OPEN, SUBAGENT),
    "SUBAGENT_FINISHED": (Effect.CLOSE, SUBAGENT),
    "SUBAGENT_ERROR": (Effect.CLOSE, SUBAGENT),
}

KEYS: dict[Family, str] = {
    TEXT: "messageId",
    CALL: "toolCallId",
    REASONING: "messageId",
    SPAN: "messageId",
    STEP: "stepName",
    SUBAGENT: "subagentRunId",
}
"""The field that names a thing of each family."""


@dataclass(frozen=True, slots=True)
class Rules:
    """The requirements that the events of one family break."""

    opened_twice: str
    not_open: str
    left_open: str = "run-items-closed"


RULES: dict[Family, Rules] = {
    TEXT: Rules("item-opens-once", "item-open-first"),
    CALL: Rules("item-opens-once", "item-open-first"),
    REASONING: Rules("reasoning-message-pairs", "reasoning-message-pairs"),
    SPAN: Rules("reasoning-span-pairs", "reasoning-span-pairs"),
    STEP: Rules("step-opens-once", "step-closes-open"),
    SUBAGENT: Rules("subagent-starts-once", "subagent-ends", "subagent-ends"),
}


@dataclass(frozen=True, slots=True)
class Breach:
    """One broken requirement: its id, what it asks here, and what came."""

    rule: str
    expected: str
    found: str

    def __str__(self) -> str:
        return f"{self.rule}: expected {self.expected}, found {self.found}"


@dataclass(slots=True, eq=False)
class Item:
    """A thing that a run opened, and may close and open again."""

    family: Family
    key: Hashable
    owner: str | None
    fields: dict[str, Any] = field(default_factory=dict)
    open: bool = False
    implied: bool = False
    """It was never opened: another event made the machine assume it."""
    again: int = 0
    """How often it was opened while it was open: so many ends are still to come."""

    def __str__(self) -> str:
        name = self.key[1] if isinstance(self.key, tuple) else self.key
        return f"{self.family} {name!r}" + (f" of subagent {self.owner!r}" if self.owner is not None else "")


def content_event(item: Item, delta: str) -> Event:
    """The event that extends an open item by `delta`."""
    triad = TRIADS[item.family]
    event: Event = {"type": triad.content, triad.key: item.key, "delta": delta}
    return event if item.owner is None else {**event, "subagentRunId": item.owner}
