"""From the SDK's event models to events as they travel: nulls, unknown fields and values without JSON are gone.

Source: basic/processing, basic/versioning
"""

from collections.abc import Callable, Iterator
from typing import Any

from ag_ui.core import BaseEvent, Interrupt

from conformance.events import Event
from conformance.json_values import json_value
from conformance.schema import EVENT, shape_of
from conformance.shapes import DROP, Report, Shape, pointer

INTERRUPT = shape_of(Interrupt)


class StepRefused(Exception):  # noqa: N818 - a sentence about the step
    """An adapter yielded what cannot be sent: a fault of the adapter, not of its agent."""


def wire_event(event: BaseEvent, warn: Callable[[str], None]) -> Event:
    """Write an event model as the object that travels.

    Raises:
        StepRefused: A field holds what the schema rejects. (event-described)
    """
    kind = str(getattr(event.type, "value", event.type))
    written = {name: json_value(value, warn, f"{kind}/{name}") for name, value in _fields(event)}
    held = _hold(EVENT, written, kind, warn)
    if held is DROP:
        raise StepRefused(f"{kind} is no event of the protocol, or holds what makes it none")
    known: Event = held
    return known


def wire_interrupt(interrupt: object, warn: Callable[[str], None]) -> dict[str, Any]:
    """Write an interrupt as the object that travels.

    Raises:
        StepRefused: It is none, or a field holds what the schema rejects. (outcome-described)
    """
    held: dict[str, Any] = _hold(INTERRUPT, json_value(interrupt, warn, "interrupt"), "an interrupt", warn)
    return held


def _hold(shape: Shape, written: Any, name: str, warn: Callable[[str], None]) -> Any:
    report = Report()
    held = shape.hold(written, (), report)
    if report.malformed:
        raise StepRefused(f"{name}{report.malformed[0]}")
    for path in report.stripped:  # no-unknown-fields
        warn(f"{name}{pointer(path)} is not part of the protocol and was left out")
    return held


def _fields(event: BaseEvent) -> Iterator[tuple[str, Any]]:
    """The fields that have a value, by their names on the wire; then what the protocol does not know. (absent-not-null)"""
    for name, info in type(event).model_fields.items():
        value = getattr(event, name, None)
        if value is not None or info.is_required():
            yield info.alias or name, value
    yield from (event.model_extra or {}).items()
