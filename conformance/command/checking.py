"""One check: the exchanges that belong to it, judged one after the other, and what they come to together.

The first exchange is the run itself; the others are probes. A probe's findings are those that the run did not show
already, and a rule is judged where any of the exchanges could show a breach of it.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

from conformance.command import baseline
from conformance.command.report import Entry, Source, Standing, State, Verdict
from conformance.command.report.text import WHOLE, abridged, cut
from conformance.exchange import Exchange
from conformance.judge import Finding, Judge
from conformance.reading import Batch
from conformance.rules import Level, Rule

_NOTHING_KNOWN: baseline.Counts = {}


class Checking:
    """Holds exchanges to the rules, counts what is found, and keeps a limited number of it."""

    def __init__(
        self,
        rules: Mapping[str, Rule],
        *,
        protocol: str | None = None,
        known: baseline.Counts = _NOTHING_KNOWN,
        limit: int = 100,
    ) -> None:
        """Start before the first exchange.

        Args:
            rules: The rules to hold exchanges to.
            protocol: The version to judge by; where None, the one that a stream declares.
            known: The findings that are known.
            limit: How many findings of one rule are kept.
        """
        self.seen: Counter[tuple[str, str]] = Counter()
        """The findings so far, as a baseline counts them."""
        self.events = 0
        """How many events came so far in the exchanges that have ended."""
        self._rules = {rule.id: rule for rule in rules.values() if rule.held is not None}
        self._protocol = protocol
        self._known = known
        self._limit = limit
        self._probe: str | None = None
        self._new: Counter[Level] = Counter()
        self._broken: set[str] = set()
        self._numbers: Counter[tuple[str, bool]] = Counter()
        """How many findings of a rule there are, known ones and others."""
        self._by_run: frozenset[str] = frozenset()
        self._entries: list[Entry] = []
        self._reasons: dict[str, str] = {}
        self._judged: set[str] = set()

    def begin(self, exchange: Exchange, probe: str | None = None) -> None:
        """Start an exchange of which this is known."""
        if self._probe is None:
            self._by_run = frozenset(self._broken)
        self._probe = probe
        self.judge = Judge(exchange, self._rules.values(), protocol=self._protocol)

    def take(self, batch: Batch) -> list[Entry]:
        """Take what came next of the exchange; give what is to be shown of it."""
        findings = self.judge.take(batch)
        return self._noted(findings) if findings else []

    def learn(self, **known: Any) -> None:
        """Add fields of `Exchange` to what is known of the exchange."""
        self.judge.learn(**known)

    def end(self, unjudged: Mapping[str, str] | None = None) -> list[Entry]:
        """Take the end of the exchange. `unjudged` says why some rules could not be judged on it."""
        entries = self._noted(self.judge.close())
        self.events += self.judge.count
        reasons = {**self.judge.not_judged, **(unjudged or {})}
        self._judged |= self._rules.keys() - reasons.keys()
        self._reasons = {**reasons, **self._reasons, **(unjudged or {})}
        return entries

    def verdict(self, source: Source, suite: str, *, strict: bool = False) -> Verdict:
        """Say what it came to, once the last exchange has ended."""
        return Verdict(
            source,
            suite,
            self.events,
            tuple(self._entries),
            tuple(map(self._standing, self._rules.values())),
            dict(self._new),
            known=self.seen.total() - self._new.total(),
            omitted={
                rule: number - self._limit
                for (rule, known), number in self._numbers.items()
                if number > self._limit and not known
            },
            strict=strict,
        )

    def _standing(self, rule: Rule) -> Standing:
        if rule.id in self._broken:
            return Standing(rule, State.BROKEN)
        if rule.id in self._judged:
            return Standing(rule, State.KEPT)
        return Standing(rule, State.NOT_JUDGED, self._reasons[rule.id])

    def _noted(self, findings: Iterable[Finding]) -> list[Entry]:
        entries = []
        for one in findings:
            if self._probe is not None and one.rule.id in self._by_run:
                continue
            key = (one.rule.id, baseline.type_of(one.event))
            self.seen[key] += 1
            known = self.seen[key] <= self._known.get(key, 0)
            self._new[one.level] += not known
            self._broken.add(one.rule.id)
            self._numbers[one.rule.id, known] += 1
            if self._numbers[one.rule.id, known] <= self._limit:
                entries.append(self._entry(one, key, known=known))
        self._entries += entries
        return entries

    def _entry(self, one: Finding, key: tuple[str, str], *, known: bool) -> Entry:
        return Entry(
            one.rule,
            cut(one.expected, WHOLE),
            cut(one.found, WHOLE),
            kind=key[1],
            nth=self.seen[key],
            index=one.index,
            line=one.line,
            event=abridged(one.event),
            probe=self._probe,
            known=known,
        )
