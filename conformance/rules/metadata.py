"""The rules of the page on metadata.

Source: basic/metadata
"""

from collections.abc import Iterator

from conformance.events import EVENT_TYPES, Event
from conformance.rules.rule import By, Fault, Level, OnEvent, Rule, See, Shaped, on_page
from conformance.shapes import Kind

PREFIXED = frozenset(".:/-@")
"""What marks a name as one with a prefix: `com.example.cart`, `acme:cart`, `acme/cart`, `acme-cart`, `@acme`."""


def has_prefix(name: str) -> bool:
    """Say whether a name has a vendor's or application's prefix, in whatever way it is written."""
    return not PREFIXED.isdisjoint(name)


def _prefixed(event: Event) -> Iterator[Fault]:
    for key in event.get("metadata", ()):
        if key == "ag-ui":
            yield Fault("a key of the application's own", "'ag-ui', which the protocol keeps for itself")
        elif not has_prefix(key):
            yield Fault("a key with a vendor's or application's prefix", repr(key))


RULES = on_page(
    "basic/metadata",
    Rule(
        "metadata-is-object",
        See.EVENT,
        "metadata is an object or absent.",
        "Leave metadata out where there is none.",
        Shaped(r".*/metadata", (Kind.MALFORMED, Kind.NULL)),
    ),
    Rule(
        "metadata-prefixed",
        See.EVENT,
        "Invented metadata keys carry a vendor or application prefix; ag-ui is reserved.",
        "Name the key after your product, as acme.traceId.",
        OnEvent(tuple(sorted(EVENT_TYPES)), _prefixed),
        level=Level.SHOULD,
    ),
    Rule(
        "read-metadata-merges",
        See.STREAM,
        "An item's metadata merges key by key, last write wins, without recursion; a call's lands on the call.",
        by=By.CONSUMER,
    ),
)
