"""Probes: run inputs that show what a server must refuse, and what it must tolerate.

Each deviates from an ordinary run input in one thing. Whether the answer is a good one is the rules' business.

Source: basic/run-input, basic/processing, basic/versioning, basic/transports/http-protobuf
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from conformance.events import PROTOCOL_VERSION, Event
from conformance.expand import Expander
from conformance.rules.http_sse import PROTOBUF_TYPE, SSE_TYPE
from conformance.rules.versioning import OUTLINE, PROBE, differences
from conformance.schema import EVENTS, NEWEST
from conformance.shapes import DROP, Report

Ids = Callable[[], str]
Document = dict[str, Any]

_NOTHING: Mapping[str, Any] = {}

UNHEARD_OF = "conformance-probe"
"""A name that no version of the protocol describes."""

ACCEPT = {"sse": SSE_TYPE, "protobuf": f"{PROTOBUF_TYPE}, {SSE_TYPE};q=0.5"}
"""The Accept header that asks for each transport. Who asks for protobuf has to take SSE from who lacks it."""

OLDER_PEER = "older-peer"


def minimal_input(ids: Ids) -> Document:
    """The least that a current client sends: one message of its user."""
    return {
        "threadId": ids(),
        "runId": ids(),
        "protocolVersion": PROTOCOL_VERSION,
        "messages": [_says(ids, "Hello")],
        "tools": [],
        "context": [],
        "state": {},
        "forwardedProps": {},
    }


def again(run_input: Document, ids: Ids) -> Document:
    """The same run input for another run."""
    return {**run_input, "runId": ids()}


def _says(ids: Ids, content: Any, role: str = "user") -> Document:
    return {"id": ids(), "role": role, "content": content}


@dataclass(frozen=True, slots=True)
class Probe:
    """One deviation from an ordinary run input."""

    name: str
    asks: str
    """What it shows, as the end of: does the server ..."""
    alter: Callable[[Document, Ids], Document] = lambda sent, _: sent
    body: bytes | None = None
    """What is sent, where it is not the altered run input as JSON."""
    accept: str = ACCEPT["sse"]


def _without(*names: str) -> Callable[[Document, Ids], Document]:
    return lambda sent, _: {name: value for name, value in sent.items() if name not in names}


def _with_message(
    content: Any, role: str = "user", extra: Mapping[str, Any] = _NOTHING
) -> Callable[[Document, Ids], Document]:
    return lambda sent, ids: {**sent, "messages": [*sent["messages"], {**_says(ids, content, role), **extra}]}


PROBES: tuple[Probe, ...] = (
    Probe("malformed-json", "refuse a body that is no JSON", body=b'{"threadId": "t1", "messages": ['),
    Probe("malformed-field", "refuse a known field with a value of another type", _with_message(7)),
    Probe(
        "unknown-member",
        "leave out a member that the protocol does not describe",
        lambda sent, ids: _with_message("Hello", extra={UNHEARD_OF: 1})({**sent, UNHEARD_OF: True}, ids),
    ),
    Probe(
        "unknown-part",
        "leave out a content part of an unknown type",
        _with_message([{"type": "text", "text": "Hello"}, {"type": UNHEARD_OF, "value": 1}]),
    ),
    Probe("unknown-role", "leave out a message of an unknown role", _with_message("Hello", UNHEARD_OF)),
    Probe(
        "absent-lists",
        "take absent tools, context and state as empty ones",
        _without("tools", "context", "state"),
    ),
    Probe(
        "newer-minor",
        "serve a peer of a newer minor version",
        lambda sent, _: {**sent, "protocolVersion": f"{PROTOCOL_VERSION.partition('.')[0]}.{PROBE}"},
    ),
    Probe("protobuf", "negotiate the transport", accept=ACCEPT["protobuf"]),
    Probe(OLDER_PEER, "serve a peer from before 1.0", _without("protocolVersion")),
)


def can_deviate(run_input: Any) -> bool:
    """Say whether probes can be made of a run input."""
    return isinstance(run_input, dict) and isinstance(run_input.get("messages"), list)


# ---- the same run, twice ------------------------------------------------------------------------


class Outline:
    """What a downgrade must leave alone of a stream: which items there are, their order, and how it ends."""

    def __init__(self) -> None:
        self.events: list[Event] = []
        self._expander = Expander()

    def take(self, documents: Iterable[Any]) -> None:
        """Take the next events; what is malformed is not for the outline to judge."""
        for document in documents:
            held = EVENTS[NEWEST].hold(document, (), Report(salvage=True))
            if held is not DROP:
                self.events += [event for event in self._expander.feed(held)[0] if event["type"] in OUTLINE]


def suspicious(current: Sequence[Event], older: Sequence[Event]) -> bool:
    """Say whether two outlines differ in what a downgrade must not change."""
    return any(differences(current, older))


def reference(current: Sequence[Event], control: Sequence[Event], older: Sequence[Event]) -> Sequence[Event] | None:
    """Find what to compare the run of an older peer with, given two runs of current peers; None where nothing is fit.

    A server that gives both current peers the same identifiers owes them to the older one. Where identifiers are made
    anew for every run, the current run is told in the older one's. Where the two current runs differ in more than
    identifiers, the agent does something else each time, and no two of its runs can be compared.
    """
    if list(map(_identified, current)) == list(map(_identified, control)):
        return current
    if list(map(_anonymous, current)) != list(map(_anonymous, control)):
        return None
    names: dict[str, str] = {}
    rest = iter(current)
    for event in older:
        same = next((one for one in rest if _anonymous(one) == _anonymous(event)), {})
        names |= {value: event[name] for name, value in same.items() if name in _IDENTIFIERS and name in event}
    return [
        {name: names.get(value, value) if name in _IDENTIFIERS else value for name, value in event.items()}
        for event in current
    ]


_IDENTIFIERS = ("messageId", "toolCallId", "parentMessageId")


def _identified(event: Event) -> tuple[Any, ...]:
    return (*_anonymous(event), *(event.get(name) for name in _IDENTIFIERS))


def _anonymous(event: Event) -> tuple[Any, ...]:
    outcome = event.get("outcome") or {"type": "success"}
    return (event["type"], event.get("role"), event.get("toolCallName"), event.get("stepName"), outcome["type"])
