"""The rules of the page on versions and older peers.

Source: basic/versioning
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from conformance.events import Event
from conformance.expand import Expander
from conformance.rules.lifecycle import outcome_type
from conformance.rules.refusals import refused_for
from conformance.rules.rule import Along, AtEnd, By, Case, Fact, Fault, Rule, See, Shaped, Unjudged, Watch, on_page
from conformance.schema import EVENTS, NEWEST
from conformance.shapes import DROP, Kind, Report

PROBE = 1000
"""A minor version that nobody will publish: who declares it merely echoes the input."""

OUTLINE = ("TEXT_MESSAGE_START", "TOOL_CALL_START", "TOOL_CALL_RESULT", "STEP_STARTED", "RUN_FINISHED", "RUN_ERROR")
"""The events by which a run as an older peer got it is compared with the same run as a current peer got it."""


def version(text: Any) -> tuple[int, int] | None:
    """Read MAJOR.MINOR; None for what is no such text."""
    found = re.fullmatch(r"(\d{1,9})\.(\d{1,9})", text) if isinstance(text, str) else None
    return None if found is None else (int(found[1]), int(found[2]))


def _version_declared(case: Case) -> Watch:  # noqa: ARG001 - the stream alone shows it
    """An earlier run of the stream may be a replayed one from before versions: only the last has to declare."""
    last: list[Fault] = []
    notes: list[Fault] = []
    while True:
        event = yield notes
        notes = []
        if event is None:
            notes = last
            continue
        last, declared = [], event.get("protocolVersion")
        read = version(declared)
        if declared is None:
            last = [Fault("protocolVersion on RUN_STARTED", "none")]
        elif read is None:
            notes = [Fault("protocolVersion as MAJOR.MINOR", repr(declared))]
        elif read[1] >= PROBE:
            notes = [Fault("the version that the stream speaks", f"{declared!r}, an echo of the input's")]


def _version_stable(case: Case) -> Watch:  # noqa: ARG001
    """A replay is of older runs first, so that versions may rise in it; that one falls is no replay."""
    spoken: tuple[int, int] | None = None
    notes: list[Fault] = []
    while True:
        event = yield notes
        notes = []
        declared = None if event is None else version(event.get("protocolVersion"))
        if declared is not None:
            if spoken is not None and declared < spoken:
                notes = [Fault(f"version {spoken[0]}.{spoken[1]} to the end", f"{declared[0]}.{declared[1]}")]
            spoken = declared


def _newer_minor_served(case: Case) -> Iterator[Fault | Unjudged]:
    declared = case.run_input.get("protocolVersion")
    asked, newest = version(declared), version(NEWEST)
    if asked is not None and newest is not None and asked[0] == newest[0] and asked > newest:
        names = ("protocolVersion", "protocol version", str(declared))
        yield from refused_for(case, names, "the run served in the server's own version", f"version {declared}")


def _downgrade_pure(case: Case) -> Watch:
    notes: list[Fault] = []
    got: list[Event] = []
    while True:
        event = yield notes
        if event is None:
            break
        got.append(event)
    yield list(differences(_whole(case.exchange.reference or ()), got))


def _whole(events: Iterable[Any]) -> list[Event]:
    """The well-formed events, with whole items in the place of chunks, as the events of the stream itself come."""
    expander = Expander()
    held = (EVENTS[NEWEST].hold(event, (), Report(salvage=True)) for event in events)
    return [one for event in held if event is not DROP for one in expander.feed(event)[0]]


def differences(reference: Sequence[Event], got: Sequence[Event]) -> Iterator[Fault]:
    """Compare a run as an older peer got it with the same run as a current peer got it."""
    sent, came = _identities(reference), _identities(got)
    invented = [one for one in came if one not in set(sent)]
    for kind, key in invented:
        yield Fault("identifiers as a current peer gets them", f"{kind} {key!r}")
    if not invented and came != [one for one in sent if one in set(came)]:
        yield Fault("events in the order in which a current peer gets them", "another order")
    ends = [
        event["type"] if event["type"] == "RUN_ERROR" else outcome_type(event) for event in (*reference[-1:], *got[-1:])
    ]
    if ends in (["cancelled", "success"], ["interrupt", "success"], ["RUN_ERROR", "success"], ["success", "RUN_ERROR"]):
        yield Fault(f"a run that ends as {ends[0]}", ends[1])


def _identities(events: Sequence[Event]) -> list[tuple[str, str]]:
    keys = (("message", "messageId"), ("call", "toolCallId"), ("step", "stepName"))
    return [(event["type"], event[key]) for event in events for _, key in keys if key in event]


RULES = on_page(
    "basic/versioning",
    Rule(
        "version-declared",
        See.STREAM,
        "RUN_STARTED.protocolVersion names the version that the stream speaks, MAJOR.MINOR, its own and never an echo.",
        "Send the version that your code was written for, as 1.0.",
        Along(("RUN_STARTED",), _version_declared),
    ),
    Rule(
        "version-newer-minor-served",
        See.EXCHANGE,
        "A newer minor of the same major is served; only an unknown major may be refused, before RUN_STARTED.",
        "Compare majors only, and answer with your own version.",
        AtEnd(_newer_minor_served),
        needs=(Fact.RUN_INPUT, Fact.RESPONSE),
        by=By.SERVER,
    ),
    Rule(
        "version-stable",
        See.STREAM,
        "A live producer does not change its version within a stream.",
        "Fix the version for the whole response.",
        Along(("RUN_STARTED",), _version_stable),
    ),
    Rule(
        "downgrade-pure",
        See.EXCHANGE,
        "A downgrade for an older peer changes no outcome, identifier or order, repairs no malformed value and invents "
        "nothing.",
        "Leave out or flatten what the peer cannot read, and touch nothing else.",
        Along(OUTLINE, _downgrade_pure),
        needs=(Fact.OLDER_PEER, Fact.REFERENCE),
        by=By.SERVER,
    ),
    Rule(
        "downgrade-warns",
        See.NONE,
        "A downgrade that loses content warns, naming what was lost and why.",
        why="the warning goes to the server's log",
        by=By.SERVER,
    ),
    Rule(
        "no-unknown-fields",
        See.EVENT,
        "Only fields of the protocol are sent; private data travels in metadata, CUSTOM or RAW.",
        "Move the field into metadata under a key with your prefix.",
        Shaped(r".*", (Kind.UNKNOWN_FIELD,)),
    ),
    Rule(
        "absent-not-null",
        See.EVENT,
        "An optional field without a value is left out, never null.",
        "Serialise without None (pydantic: exclude_none=True), leaving nulls inside opaque values alone.",
        Shaped(r".*", (Kind.NULL,)),
    ),
)
