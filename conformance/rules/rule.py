"""What a rule is: one sentence of the specification in our words, and what holds a stream to it.

A table of rules stands in each module beside this one, one module per page of the specification. A rule is held in one
of these ways (`Held`):

- `BY_READING`, `BY_ORDER`: the stage that reads bytes or keeps order names the rule itself;
- `Shaped(where)`: the stage that checks shapes names it for deviations in some places;
- `OnEvent(types, find)`: a function that looks at one event;
- `Along(types, watch)`: a generator that is sent the events of some types, in order, and None at the end;
- `AtEnd(find)`: a function that looks at the whole exchange once the stream has ended;
- `None`: nothing holds it yet.

Source: the pages that the rules name
"""

import re
from collections.abc import Callable, Generator, Iterable, Sequence
from dataclasses import dataclass, replace
from enum import Enum, StrEnum, auto
from typing import Any, TypeAlias

from conformance.events import Event
from conformance.exchange import Exchange
from conformance.machine import Machine
from conformance.shapes import Deviation, Kind

SITE = "https://docs.ag-ui.com/spec"


class Level(StrEnum):
    """How strongly the specification asks."""

    MUST = "MUST"
    SHOULD = "SHOULD"


class By(StrEnum):
    """Who owes it."""

    PRODUCER = "producer"
    SERVER = "server"
    CONSUMER = "consumer"


class See(StrEnum):
    """The smallest thing that shows a breach."""

    EVENT = "event"
    STREAM = "stream"
    EXCHANGE = "exchange"
    RUNS = "runs"
    MODEL = "model"
    NONE = "none"


class Fact(Enum):
    """What must be known besides the events for a rule to be judged."""

    RUN_INPUT = "the run input"
    RESPONSE = "the response's status and headers"
    BYTES = "the bytes of the response"
    ENDING = "how the response body ended"
    ACCEPT = "the request's Accept header"
    SSE = "the bytes of a response over SSE"
    PROTOBUF = "the bytes of a response over protobuf"
    REFERENCE = "the same run as a current peer got it"
    OLDER_PEER = "a run input without protocolVersion"
    CURRENT_PEER = "a peer that is not from before 1.0"
    MALFORMED_INPUT = "a malformed run input"
    UNKNOWN_INPUT = "a run input with unrecognised material"
    STOPPED = "a run that was stopped before it completed"
    CAPABILITIES = "the declared capabilities"


@dataclass(frozen=True, slots=True)
class Fault:
    """One breach: what the rule asks here, and what came."""

    expected: str
    found: str


@dataclass(frozen=True, slots=True)
class Unjudged:
    """Why a rule could not be judged on this stream after all."""

    why: str


Notes: TypeAlias = "Iterable[Fault | Unjudged]"
"""What a rule noticed; falsy, where that is nothing and a sequence."""


@dataclass(slots=True)
class Case:
    """What a rule may look at besides the event: the exchange, and the order that the stream has kept so far."""

    exchange: Exchange
    """As far as it is known; how it ended is known at the end."""
    run_input: dict[str, Any]
    """The well-formed part of the run input; empty where none is known."""
    machine: Machine
    facts: frozenset[Fact]


Watch: TypeAlias = Generator[Notes, Event | None, None]
"""Sent each event after the order was checked, and None at the end of the stream; yields what it noticed."""


class Stage(Enum):
    """A stage of the judgement that names rules by itself."""

    READING = auto()
    ORDER = auto()


@dataclass(frozen=True, slots=True)
class Shaped:
    """Deviations from the schema: where, of which kinds."""

    where: str
    """A pattern over the event's type and the deviation's JSON Pointer, as `RUN_FINISHED/outcome/type`."""
    kinds: Sequence[Kind] = (Kind.MALFORMED, Kind.UNKNOWN_VALUE)
    found: str = ".*"
    """A pattern over what was found there."""

    def names(self, place: str, deviation: Deviation) -> bool:
        """Say whether this is the rule that a deviation at `place` breaks."""
        return (
            deviation.kind in self.kinds
            and re.fullmatch(self.where, place, re.DOTALL) is not None
            and re.fullmatch(self.found, deviation.found, re.DOTALL) is not None
        )


@dataclass(frozen=True, slots=True)
class OnEvent:
    """Look at each event of some types."""

    types: Sequence[str]
    find: Callable[[Event], Notes]


@dataclass(frozen=True, slots=True)
class Along:
    """Follow the events of some types through the stream."""

    types: Sequence[str]
    watch: Callable[[Case], Watch]


@dataclass(frozen=True, slots=True)
class AtEnd:
    """Look at the whole exchange."""

    find: Callable[[Case], Notes]


Held: TypeAlias = Stage | Shaped | OnEvent | Along | AtEnd | None

BY_READING, BY_ORDER = Stage.READING, Stage.ORDER


@dataclass(frozen=True, slots=True)
class Rule:
    """One requirement."""

    id: str
    """Its stable name."""
    see: See
    sentence: str
    """What is asked, in our words."""
    mend: str = ""
    """What to change where it is broken."""
    held: Held = None
    needs: Sequence[Fact] = ()
    """Without these it is not judged."""
    by: By = By.PRODUCER
    level: Level = Level.MUST
    since: str = "1.0"
    """The version of the protocol that brought it."""
    why: str = ""
    """Why nothing can hold it from outside, for `See.NONE`."""
    page: str = ""
    """The page of the specification, below its version; set by the table that holds the rule."""

    @property
    def link(self) -> str:
        """Where the specification says so."""
        return f"{SITE}/{self.since}/{self.page}"


def on_page(page: str, *rules: Rule) -> tuple[Rule, ...]:
    """Put rules on a page of the specification, named below its version as in `events/lifecycle`."""
    return tuple(replace(rule, page=page) for rule in rules)
