"""Enforcement: unknown material is removed and named, a malformed known value is fatal.

It sees what compatibility translation and middleware left, and what it lets through is all that later stages see.

Source: basic/processing
"""

from collections.abc import Callable, Hashable
from typing import Any, TypeAlias

from conformance.events import Event
from conformance.order import Breach
from conformance.schema import EVENTS
from conformance.shapes import DROP, Kind, Object, Report, Union_, pointer

Tell: TypeAlias = Callable[[str, Hashable], None]
"""Told a warning in one sentence; one with a key that is not None is worth saying once."""


class Malformed(Exception):  # noqa: N818 - a word of the specification
    """A described field holds a value that the schema rejects, or is missing. (read-malformed-fatal)"""

    def __init__(self, breaches: list[Breach]) -> None:
        super().__init__("; ".join(map(str, breaches)))
        self.breaches = breaches


class Enforcement:
    """Holds what is read or sent to one version of the protocol."""

    def __init__(self, protocol: str, tell: Tell) -> None:
        """`protocol` is a version that `conformance.schema` knows.

        Raises:
            ValueError: It is none.
        """
        if protocol not in EVENTS:
            raise ValueError(f"the version of the protocol is one of {', '.join(EVENTS)}, not {protocol!r}")
        self.protocol = protocol
        self._event = EVENTS[protocol]
        self._tell = tell

    def event(self, event: Any) -> Event | None:
        """Return an event without unknown material; None for one that is unknown as a whole.

        Raises:
            Malformed: It is no event, or one with a malformed field.
        """
        known, report = _held(event, self._event, "event-described")
        if known is DROP:  # read-unknown-event
            unknown = report.deviations[0]
            what = "" if unknown.path == ("type",) else f" for its {pointer(unknown.path)}, {unknown.found},"
            sentence = f"{event['type']} was dropped{what} as unknown to AG-UI {self.protocol}"
            self._tell(sentence, sentence)
            return None
        for path in report.stripped:  # read-unknown-member, read-unknown-op
            sentence = f"{pointer(path)} of {event['type']} was removed as unknown to AG-UI {self.protocol}"
            self._tell(sentence, sentence if len(path) == 1 else None)  # the event's own may come with every token
        clean: Event = known
        return clean

    def run_input(self, run_input: Any) -> dict[str, Any]:
        """Return a run input without unknown material.

        Raises:
            Malformed: It is no run input, or one with a malformed field.
        """
        known, report = _held(run_input, run_input_shape(self.protocol), "read-malformed-fatal")
        for path in report.stripped:
            self._tell(f"{pointer(path)} of the run input was removed as unknown to AG-UI {self.protocol}", None)
        clean: dict[str, Any] = known
        return clean


def run_input_shape(protocol: str) -> Object:
    """The shape of a run input as of a version of the protocol: that of its echo."""
    shape = EVENTS[protocol].options["RUN_STARTED"].members["input"].shape
    assert isinstance(shape, Object)  # noqa: S101 - so says the schema
    return shape


def _held(value: Any, shape: Object | Union_, rule: str) -> tuple[Any, Report]:
    report = Report()
    known = shape.hold(value, (), report)
    if not report.deviations:
        return known, report
    malformed = report.malformed
    if malformed:
        raise Malformed(
            [
                Breach(
                    "absent-not-null" if one.kind is Kind.NULL else rule,
                    f"{one.expected} at {pointer(one.path) or 'the root'}",
                    one.found,
                )
                for one in malformed
            ]
        )
    return known, report
