"""The agent's state as the consumer holds it, and the smallest event that brings the consumer up to date.

Source: events/state, basic/patterns/snapshots
"""

from collections.abc import Callable
from typing import Any

import orjson

from conformance.events import Event
from conformance.json_values import json_value
from conformance.patch import PatchDoesNotApply, apply, diff
from sidecar.runs.values import StepRefused


class SharedState:
    """The consumer's copy: what the run input carried, as changed by the events since. (patch-applies)"""

    def __init__(self, given: Any, warn: Callable[[str], None]) -> None:
        self._warn = warn
        self._given = given
        self._held: Any = None
        self._is_read = False

    def replace(self, event: Event) -> list[Event]:
        """Bring the consumer to the state of a STATE_SNAPSHOT: by nothing, a delta or a snapshot, what is smallest."""
        old, new = self._value(), event["snapshot"]
        operations = diff(old, new)
        if not operations:
            return []
        self._held = new
        if len(_written(operations)) < len(_written(new)):
            rest = {name: value for name, value in event.items() if name not in ("type", "snapshot")}
            return [{"type": "STATE_DELTA", "delta": operations, **rest}]
        return [event]

    def change(self, event: Event) -> list[Event]:
        """Take a STATE_DELTA that the adapter made itself.

        Raises:
            StepRefused: It does not apply to what the consumer holds.
        """
        try:
            self._held = apply(self._value(), event["delta"])
        except PatchDoesNotApply as error:
            raise StepRefused(f"STATE_DELTA: the patch does not apply to the consumer's state: {error}") from error
        return [event]

    def _value(self) -> Any:
        if not self._is_read:
            self._is_read = True
            self._held = {} if self._given is None else json_value(self._given, self._warn, "the run input's state")
        return self._held


def _written(value: Any) -> bytes:
    try:
        return orjson.dumps(value)
    except TypeError:  # an integer of more than 64 bits
        return repr(value).encode()
