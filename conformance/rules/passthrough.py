"""The rules of the page on raw and custom events.

Source: events/passthrough
"""

from collections.abc import Iterator

from conformance.events import Event
from conformance.rules.metadata import has_prefix
from conformance.rules.rule import By, Fault, Level, OnEvent, Rule, See, on_page


def _prefixed(event: Event) -> Iterator[Fault]:
    if "name" in event and not has_prefix(event["name"]):  # a malformed one was left out, and is another rule's
        yield Fault("a name with a vendor's or application's prefix", repr(event["name"]))


RULES = on_page(
    "events/passthrough",
    Rule(
        "custom-prefixed",
        See.EVENT,
        "CUSTOM names carry a vendor or application prefix.",
        "Name the event after your product, as com.example.cart-updated.",
        OnEvent(("CUSTOM",), _prefixed),
        level=Level.SHOULD,
    ),
    Rule(
        "custom-not-standard",
        See.NONE,
        "CUSTOM carries nothing that a standard event has a place for.",
        why="needs the meaning of an application's event",
    ),
    Rule(
        "raw-alongside",
        See.NONE,
        "RAW accompanies standard events and never replaces them.",
        why="needs the provider's own stream",
        level=Level.SHOULD,
    ),
    Rule(
        "read-custom-ignored",
        See.STREAM,
        "An unknown CUSTOM name is ignored without a warning.",
        by=By.CONSUMER,
    ),
)
