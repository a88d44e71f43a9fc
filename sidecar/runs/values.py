"""From the SDK's event models to events as they travel: nulls, unknown fields and values without JSON are gone.

Source: basic/processing, basic/versioning
"""

from collections.abc import Callable
from typing import Any

from ag_ui.core import BaseEvent

from conformance.events import Event
from conformance.json_values import json_value
from conformance.schema import EVENT
from conformance.shapes import Report, pointer


class StepRefused(Exception):  # noqa: N818 - a sentence about the step
    """An adapter yielded what cannot be sent: a fault of the adapter, not of its agent."""


def wire_event(event: BaseEvent, warn: Callable[[str], None]) -> Event:
    """Write an event model as the object that travels.

    Raises:
        StepRefused: A field holds what the schema rejects. (event-described)
    """
    written: Any = json_value(event, warn, str(getattr(event.type, "value", event.type)))
    report = Report()
    held = EVENT.hold(written, (), report)
    if report.malformed:
        raise StepRefused(f"{written['type']}{report.malformed[0]}")
    for path in report.stripped:  # no-unknown-fields
        warn(f"{written['type']}{pointer(path)} is not part of the protocol and was left out")
    known: Event = held
    return known
