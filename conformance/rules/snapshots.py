"""The rules of the page on snapshots and deltas.

Source: basic/patterns/snapshots
"""

from copy import deepcopy
from typing import Any

from conformance.events import Event
from conformance.patch import PatchDoesNotApply, apply
from conformance.rules.rule import (
    Along,
    By,
    Case,
    Fault,
    Level,
    Rule,
    See,
    Shaped,
    Unjudged,
    Watch,
    on_page,
)

UNKNOWN: Any = object()
"""A value whose baseline was not seen, or that a patch did not fit: nothing is said of it before its next snapshot."""

_STATE = "the state"
_NO_BASELINE = Unjudged("a STATE_DELTA came before any STATE_SNAPSHOT, and no run input says what it changes")


def baseline(value: Any) -> Any:
    """Copy a value, to patch the copy; one that nests too deep for that is unknown."""
    try:
        return deepcopy(value)
    except RecursionError:
        return UNKNOWN


def _patch_applies(case: Case) -> Watch:
    known = case.exchange.run_input is not None
    state = case.run_input.get("state")
    values: dict[str, Any] = {_STATE: baseline({} if state is None else state) if known else UNKNOWN}
    notes: list[Fault | Unjudged] = []
    while True:
        event = yield notes
        notes = []
        if event is None:
            continue
        place = f"activity {event['messageId']!r}" if "messageId" in event else _STATE
        if "SNAPSHOT" in event["type"]:
            if place not in values or event.get("replace") is not False:
                values[place] = baseline(event["snapshot"] if place == _STATE else event["content"])
        elif values.get(place, UNKNOWN) is UNKNOWN:
            notes = [_NO_BASELINE] if place == _STATE and not known else []
        else:
            values[place], notes = _patched(values[place], event, place)


def _patched(value: Any, event: Event, place: str) -> tuple[Any, list[Fault | Unjudged]]:
    try:
        return apply(value, event["delta"] if place == _STATE else event["patch"], in_place=True), []
    except PatchDoesNotApply as error:
        return UNKNOWN, [Fault(f"a patch that applies to {place} as the consumer has it", str(error))]
    except RecursionError:
        return UNKNOWN, [Unjudged(f"{place} nests too deep")]


RULES = on_page(
    "basic/patterns/snapshots",
    Rule(
        "patch-well-formed",
        See.EVENT,
        "A delta is an array of well-formed RFC 6902 operations.",
        "Make patches with a library; a path is a JSON Pointer that starts with a slash.",
        Shaped(r"(STATE_DELTA/delta|ACTIVITY_DELTA/patch)(/.*)?"),
    ),
    Rule(
        "patch-applies",
        See.EXCHANGE,
        "Every delta applies to the consumer's value: the input's state ({} when absent) as changed by the events since.",
        "Compute each delta against what the consumer holds: the input's state at first, then what was sent.",
        Along(("STATE_SNAPSHOT", "STATE_DELTA", "ACTIVITY_SNAPSHOT", "ACTIVITY_DELTA"), _patch_applies),
    ),
    Rule(
        "snapshot-resyncs",
        See.RUNS,
        "A snapshot is sent whenever the consumer's baseline is not certain, for one after a failed run on the thread.",
        "Start a run on a thread of uncertain state with STATE_SNAPSHOT.",
        level=Level.SHOULD,
    ),
    Rule(
        "read-patch-atomic",
        See.STREAM,
        "A patch applies as a whole or not at all; one that does not apply is warned about and the prior value stays.",
        by=By.CONSUMER,
    ),
    Rule(
        "read-unknown-op",
        See.STREAM,
        "A patch operation of unknown op is dropped with a warning; a malformed one is fatal.",
        by=By.CONSUMER,
    ),
)
