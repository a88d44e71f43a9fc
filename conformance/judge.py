"""The judge: holds one exchange to the catalogue of rules.

`judge` takes a whole exchange, `Judge` one as it arrives. The line from bytes to findings:

    framing ─ shape ─ expansion of chunks ─ order ─ the rules that look at events ─ the rules that look at the end

What one stage finds wrong does not stop the next: each takes what is left in the way that causes the fewest further
findings, so that one mistake is one finding.

Source: the pages that the rules name
"""

from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any

from conformance.events import Event
from conformance.exchange import Ending, Exchange
from conformance.expand import Expander
from conformance.facts import case_of
from conformance.order import ITEMS, KEYS, Breach, Phase
from conformance.reading import Batch, Misframed, batches
from conformance.rules import CATALOGUE, Fact, Level, Rule
from conformance.rules.refusals import REFUSED
from conformance.rules.rule import Along, AtEnd, Fault, Notes, OnEvent, Shaped, Watch
from conformance.rules.versioning import version
from conformance.schema import EVENTS, NEWEST
from conformance.shapes import DROP, Deviation, Kind, Report, describe, pointer


@dataclass(frozen=True, slots=True)
class Finding:
    """One breach of one rule, and where."""

    rule: Rule
    expected: str
    found: str
    index: int | None = None
    """Which event of the stream, from 0; None where no event is at fault."""
    event: Any = None
    line: int | None = None
    """On which line of the recording the event begins, where it has lines."""

    @property
    def level(self) -> Level:
        """How strongly the specification asks."""
        return self.rule.level

    def __str__(self) -> str:
        place = "" if self.index is None else f" at event {self.index}"
        return f"{self.rule.id}{place}: expected {self.expected}, found {self.found}"


def judge(exchange: Exchange, rules: Iterable[Rule] = CATALOGUE.values(), protocol: str | None = None) -> list[Finding]:
    """Hold a whole exchange to the rules: its body, or its events where it has none.

    Raises:
        Unreadable: The body cannot be read.
    """
    one = Judge(exchange, rules, protocol=protocol)
    findings = [finding for batch in batches(exchange) for finding in one.take(batch)]
    return findings + one.close()


class Judge:
    """Holds one exchange to the rules while it arrives. It keeps nothing of the events but what rules need."""

    def __init__(
        self,
        exchange: Exchange | None = None,
        rules: Iterable[Rule] = CATALOGUE.values(),
        *,
        protocol: str | None = None,
    ) -> None:
        """Start before the first event.

        Args:
            exchange: What is known besides the stream.
            rules: The rules to hold it to.
            protocol: The version to judge by; where None, the one that the stream declares.
        """
        self.count = 0
        """How many events came."""
        self.not_judged: dict[str, str] = {}
        """The rules that could not be judged, by id, and why. Complete after `close`."""
        self._exchange = exchange or Exchange()
        self._rules = {rule.id: rule for rule in rules}
        self._protocol = protocol
        self._framing: set[Fact] = set()
        self._broken: set[str] = set()
        self._begin()

    def _begin(self) -> None:
        self._case = case_of(self._exchange)
        self._machine = self._case.machine
        self._expander = Expander()
        self._shape = EVENTS[self._protocol or min(EVENTS)]
        self._beyond: str | None = None
        """The version that the stream speaks, where it is a later one than this suite knows."""
        self._on_event: dict[str, list[tuple[Rule, OnEvent]]] = {}
        self._along: dict[str, list[tuple[Rule, Watch]]] = {}
        self._watches: list[tuple[Rule, Watch]] = []
        for rule in self._rules.values():
            if isinstance(rule.held, OnEvent):
                for kind in rule.held.types:
                    self._on_event.setdefault(kind, []).append((rule, rule.held))
            elif isinstance(rule.held, Along) and self._case.facts | _LATE >= set(rule.needs):
                watch = rule.held.watch(self._case)
                next(watch)
                self._watches.append((rule, watch))
                for kind in rule.held.types:
                    self._along.setdefault(kind, []).append((rule, watch))

    def learn(self, **known: Any) -> None:
        """Add fields of `Exchange` to what is known. The run input counts only before the first event."""
        self._exchange = replace(self._exchange, **known)
        if self.count == 0:
            self._begin()

    def take(self, batch: Batch) -> list[Finding]:
        """Take what a reader made of the next bytes."""
        if batch.framing is not None:
            self._framing.add(batch.framing)
        if batch.known:
            self.learn(**batch.known)
        findings: list[Finding] = []
        misframed = deque(batch.breaches)
        for index, document in enumerate(batch.documents):
            while misframed and misframed[0].index <= index:
                findings += self._misframed(misframed.popleft())
            found = self.feed(document)
            if found:
                findings += [replace(one, line=batch.line_of(index)) for one in found]
        return findings + [finding for one in misframed for finding in self._misframed(one)]

    def _misframed(self, one: Misframed) -> list[Finding]:
        if one.breach.rule in _CUT_OFF and self._exchange.ending is Ending.BROKEN:
            return []  # the connection did it
        return [replace(finding, index=None, line=one.line) for finding in self._noted([one.breach])]

    def feed(self, event: Any) -> list[Finding]:
        """Take the next event, as the JSON value that travelled."""
        self.count += 1
        if type(event) is dict and self._just_continues(event):
            return self._watched(event, event)
        findings: list[Finding] = []
        known, whole = self._described(event, findings)
        if known is None:
            return findings
        expanded, breaches = self._expander.feed(known)
        findings += self._noted(breaches if whole else (), event)
        told: set[str] = set()  # what a chunk stands for breaks a rule once
        for one in expanded:
            breaches = [breach for breach in self._machine.feed(one) if breach.rule not in told]
            told |= {breach.rule for breach in breaches}
            findings += self._noted(breaches, event)
            if one["type"] == "RUN_STARTED":
                self._machine.know(self._case.run_input.get("messages", ()))
            if whole:
                findings += self._watched(one, event)
            else:
                self._lose(one["type"])
        for rule, held in self._on_event.get(known["type"], ()) if whole else ():
            findings += self._named(rule, held.find(known), event)
        return findings

    def _watched(self, one: Event, event: Event) -> list[Finding]:
        """Give a whole event, which `event` on the wire stands for, to the rules that follow its type."""
        findings: list[Finding] = []
        for rule, watch in self._along.get(one["type"], ()):
            notes = watch.send(one)
            if notes:
                findings += self._named(rule, notes, event)
        return findings

    def _lose(self, kind: str) -> None:
        """Stop the rules that follow events of a type: one is malformed, and they would blame others for it."""
        lost = [rule.id for rule, _ in self._along.get(kind, ())]
        if lost:
            self.not_judged |= dict.fromkeys(lost, f"a {kind} that it follows is malformed")
            self._watches = [(rule, watch) for rule, watch in self._watches if rule.id not in lost]
            self._along = {
                kind: [(rule, watch) for rule, watch in watches if rule.id not in lost]
                for kind, watches in self._along.items()
            }

    def _just_continues(self, event: Event) -> bool:
        """Say whether an event only adds to an open item, in the words of the schema: nearly all do, and break nothing."""
        plain = len(("type", "messageId", "delta"))
        if "timestamp" in event:
            plain += type(event["timestamp"]) is int and abs(event["timestamp"]) < 2**53
        if "subagentRunId" in event:
            plain += type(event["subagentRunId"]) is str
        if len(event) != plain or self._expander.assembling:
            return False
        try:
            return type(event["delta"]) is str and self._machine.continues(event)
        except (KeyError, TypeError):
            return False

    # ---- shape ----------------------------------------------------------------------------------

    def _described(self, event: Any, findings: list[Finding]) -> tuple[Event | None, bool]:
        """Hold an event to the schema; give what can be judged further, and whether that is all that rules look at."""
        if type(event) is not dict:
            breach = Breach("event-described", "an event object", describe(event))
            findings += self._noted([breach], event)
            return None, False
        if event.get("type") == "RUN_STARTED":
            self._speak(event.get("protocolVersion"))
        report = Report(salvage=True)
        held = self._shape.hold(event, (), report)
        if not report.deviations:
            return event, True
        findings += self._noted(self._deviations(event, report), event)
        if held is not DROP:
            return held, all(one.kind in _CLEAR or one.path[:1] in _ASIDE for one in report.deviations)
        kind = event.get("type")
        if not isinstance(kind, str) or kind not in self._shape.options:
            return None, False
        left = self._shape.options[kind].remains(event)
        if all(name in left for name in _NEEDED.get(kind, ())):
            return left, False
        self._machine.miss(kind)
        self._lose(kind)
        return None, False

    def _speak(self, declared: Any) -> None:
        spoken, newest = version(declared), version(NEWEST)
        if self._protocol is None and spoken is not None and newest is not None:
            self._shape = EVENTS.get(declared, EVENTS[NEWEST] if spoken > newest else self._shape)
            self._beyond = declared if spoken > newest else None

    def _deviations(self, event: Event, report: Report) -> Iterator[Breach]:
        for one in report.deviations:
            rule = next(rule for rule in _SHAPED if _names(rule, event, one))
            if self._beyond is not None and one.kind in (Kind.UNKNOWN_FIELD, Kind.UNKNOWN_VALUE):
                self.not_judged[rule.id] = f"the stream speaks {self._beyond}, and this suite knows {NEWEST}"
            else:
                where = pointer(one.path)
                yield Breach(rule.id, f"{one.expected} at {where}" if where else one.expected, one.found)

    # ---- the end --------------------------------------------------------------------------------

    def close(self, ending: Ending | None = None) -> list[Finding]:
        """Take the end of the stream."""
        if ending is not None:
            self.learn(ending=ending)
        case = self._case
        case.exchange = self._exchange
        case.facts = case_of(self._exchange).facts | self._framing
        if self._framing:
            case.facts |= {Fact.BYTES}
        findings = self._noted(self._unfinished())
        for rule, watch in self._watches:
            if case.facts >= set(rule.needs):
                findings += self._named(rule, watch.send(None))
        for rule in self._rules.values():
            if isinstance(rule.held, AtEnd) and case.facts >= set(rule.needs):
                findings += self._named(rule, rule.held.find(case))
            missing = [fact.value for fact in rule.needs if fact not in case.facts]
            if rule.held is not None and missing:
                self.not_judged[rule.id] = f"it takes {' and '.join(missing)}"
        for broken in self._broken:
            self.not_judged.pop(broken, None)
        return [replace(finding, index=None) for finding in findings]

    def _unfinished(self) -> Iterable[Breach]:
        """What the end of the stream breaks: nothing where there was none, and not twice where it was cut off."""
        refused = self._exchange.status is not None and self._exchange.status >= REFUSED
        broke_off = self._exchange.ending is Ending.BROKEN and "sse-fails-inside" in self._rules
        broke_off |= not self._broken.isdisjoint(_CUT_OFF)
        if broke_off or (refused and self._machine.phase is Phase.NEW):
            return ()
        return self._machine.close()

    # ---- findings -------------------------------------------------------------------------------

    def _noted(self, breaches: Iterable[Breach], event: Any = None) -> list[Finding]:
        return [
            self._finding(self._rules[one.rule], one.expected, one.found, event)
            for one in breaches
            if one.rule in self._rules
        ]

    def _named(self, rule: Rule, notes: Notes, event: Any = None) -> list[Finding]:
        findings = []
        for note in notes:
            if isinstance(note, Fault):
                findings.append(self._finding(rule, note.expected, note.found, event))
            else:
                self.not_judged.setdefault(rule.id, note.why)
        return findings

    def _finding(self, rule: Rule, expected: str, found: str, event: Any) -> Finding:
        self._broken.add(rule.id)
        return Finding(rule, expected, found, self.count - 1, event)


def _names(rule: Rule, event: Event, deviation: Deviation) -> bool:
    return isinstance(rule.held, Shaped) and rule.held.names(f"{event.get('type')}{pointer(deviation.path)}", deviation)


_SHAPED = sorted(
    (rule for rule in CATALOGUE.values() if isinstance(rule.held, Shaped)),
    key=lambda rule: isinstance(rule.held, Shaped) and (rule.held.found == ".*", rule.held.where == ".*"),
)
"""The rules of shape: those that say what they find before the others, and those that name a place before those of any."""

_CUT_OFF = frozenset({"transport-ordered", "proto-framing"})
"""The rules that a stream breaks which ends within an event."""

_LATE = frozenset({Fact.STOPPED, Fact.ENDING, Fact.RESPONSE, Fact.REFERENCE})
"""Facts that may become known after the stream began."""

_CLEAR = (Kind.NULL, Kind.UNKNOWN_FIELD)
"""Deviations that leave no doubt of what an event says: a null is no value, and an unknown field is not read."""

_ASIDE = {(name,) for name in ("input", "metadata", "name", "rawEvent", "role", "timestamp", "usage")}
"""Where else a deviation leaves none to the rules that follow the stream."""

_NEEDED: dict[str, tuple[str, ...]] = {
    **{kind: (KEYS[family],) for kind, (_, family) in ITEMS.items()},
    "TOOL_CALL_RESULT": ("toolCallId", "messageId"),
    "ACTIVITY_SNAPSHOT": ("messageId",),
    "ACTIVITY_DELTA": ("messageId",),
    "MESSAGES_SNAPSHOT": ("messages",),
    "REASONING_ENCRYPTED_VALUE": ("subtype", "entityId"),
}
"""What the order cannot be judged without, of events that are malformed elsewhere."""
