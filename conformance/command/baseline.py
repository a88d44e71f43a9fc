"""A baseline: the findings that are known, so that only what is new counts.

Identifiers, texts and the number of events differ from run to run. A baseline therefore holds how many findings of
each rule there were per type of event, and nothing else; what goes beyond that number is new.
"""

import json
from collections.abc import Mapping
from typing import Any, TypeAlias

from conformance.events import EVENT_TYPES

FORMAT = 1

NO_EVENT, OTHER_TYPE = "stream", "other"
"""What stands for the type where a finding has no event, and where the event has none of the protocol's types."""

Counts: TypeAlias = Mapping[tuple[str, str], int]
"""How many findings there are, by rule and type of event."""


class NoBaseline(Exception):  # noqa: N818 - a sentence about the text
    """A text is no baseline. The message says why, and what to do."""


def type_of(event: Any) -> str:
    """Under which type the findings at an event are counted."""
    if event is None:
        return NO_EVENT
    named = event.get("type") if isinstance(event, dict) else None
    return named if isinstance(named, str) and named in EVENT_TYPES else OTHER_TYPE


def written(counts: Counts) -> str:
    """Write a baseline, in an order of its own so that two of them compare well."""
    findings: dict[str, dict[str, int]] = {}
    for (rule, kind), number in sorted(counts.items()):
        findings.setdefault(rule, {})[kind] = number
    return json.dumps({"baseline": FORMAT, "findings": findings}, indent=2) + "\n"


def read(text: str) -> Counts:
    """Read a baseline.

    Raises:
        NoBaseline: It is none.
    """
    try:
        document = json.loads(text)
    except ValueError as error:
        raise NoBaseline(f"it is no JSON ({error}); write one with --write-baseline") from None
    match document:
        case {"baseline": format_, "findings": dict(findings)} if format_ == FORMAT:
            return {
                (rule, kind): number
                for rule, kinds in findings.items()
                for kind, number in _numbers(rule, kinds).items()
            }
    raise NoBaseline(f"it is no baseline of format {FORMAT}; write one with --write-baseline")


def _numbers(rule: str, kinds: Any) -> dict[str, int]:
    if isinstance(kinds, dict) and all(type(number) is int for number in kinds.values()):
        return kinds
    raise NoBaseline(f"findings of {rule!r} have to be numbers by type of event; write it with --write-baseline")
