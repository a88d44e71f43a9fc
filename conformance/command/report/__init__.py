"""What a check came to, and its reports: one module per format, each from a verdict to text.

pretty   for people, finding by finding as they come
json     for programs
junit    for CI servers that read JUnit
sarif    for code scanning (SARIF 2.1.0)
github   for the log of a GitHub workflow, as annotations
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any

from conformance.rules import Level, Rule

NAME = "agui-conformance"
HOME = "https://docs.ag-ui.com/spec"


class State(StrEnum):
    """Where a rule stands after a check."""

    KEPT = "kept"
    BROKEN = "broken"
    NOT_JUDGED = "not judged"


@dataclass(frozen=True, slots=True)
class Source:
    """What was checked."""

    name: str
    """As its user calls it."""
    uri: str | None = None
    """Where it is, for tools; None for a stream without an address."""
    path: str | None = None
    """Its file, where it is one."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One finding of a report."""

    rule: Rule
    expected: str
    found: str
    kind: str
    """The type of its event, as a baseline counts it."""
    nth: int
    """Which one of its rule and type it is, from 1."""
    index: int | None = None
    line: int | None = None
    event: Any = None
    """The event, abridged."""
    probe: str | None = None
    """Which probe showed it; None for the run itself."""
    known: bool = False
    """The baseline has it."""

    @property
    def level(self) -> Level:
        """How strongly the specification asks."""
        return self.rule.level

    @property
    def place(self) -> str:
        """Where it is, in words; empty where it is the whole stream."""
        parts = (
            "" if self.index is None else f"event {self.index}",
            "" if self.line is None else f"line {self.line}",
            "" if self.probe is None else f"probe {self.probe}",
        )
        return ", ".join(part for part in parts if part)


@dataclass(frozen=True, slots=True)
class Standing:
    """Where one rule stands."""

    rule: Rule
    state: State
    reason: str = ""
    """Why it was not judged."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a check came to."""

    source: Source
    suite: str
    """The version of this suite."""
    events: int
    entries: Sequence[Entry]
    standings: Sequence[Standing]
    """Of every rule that something holds and that was asked for, in the order of the catalogue."""
    new: Mapping[Level, int]
    """How many findings are not in the baseline, by level, those that are not shown included."""
    known: int = 0
    """How many findings the baseline has."""
    omitted: Mapping[str, int] | None = None
    """How many more findings of a rule there were than are shown, by its id."""
    strict: bool = False
    """A SHOULD counts as much as a MUST."""

    def fails(self, level: Level) -> bool:
        """Say whether a new finding of this level makes the check fail."""
        return self.strict or level is Level.MUST

    @property
    def passed(self) -> bool:
        """Whether nothing new makes the check fail."""
        return not any(number and self.fails(level) for level, number in self.new.items())

    def of(self, state: State) -> list[Standing]:
        """The rules in one state."""
        return [one for one in self.standings if one.state is state]

    def more(self, rule: Rule) -> int:
        """How many findings of a rule are not shown."""
        return (self.omitted or {}).get(rule.id, 0)

    def accepted(self) -> "Verdict":
        """Take all that was found as known."""
        entries = tuple(replace(one, known=True) for one in self.entries)
        return replace(self, entries=entries, new={}, known=self.known + sum(self.new.values()))
