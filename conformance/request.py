"""The sending side of the protocol: from the run input that an application wants to send to the one that goes out.

What only a consumer can hold to is held to here, before anything is sent: every interrupt of the run being continued
is answered or abandoned, every unanswered frontend call is answered.

Source: basic/run-input, basic/patterns/interrupt-resume#resuming, events/tool-calls#frontend-tools
"""

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from conformance.compatibility import THE_FIRST, for_peer, modernised, pinned_version
from conformance.enforce import Enforcement, Malformed
from conformance.order import Breach
from conformance.schema import NEWEST

Json = Mapping[str, Any]


class RequestRejected(Exception):  # noqa: N818 - a sentence about the request
    """A run input that must not be sent. Each breach has the id of a requirement, what it asks, and what is there."""

    def __init__(self, breaches: Sequence[Breach]) -> None:
        super().__init__("; ".join(map(str, breaches)))
        self.breaches = tuple(breaches)


def request(
    run_input: Json,
    *,
    peer: str | None = None,
    protocol: str = NEWEST,
    interrupts: Sequence[Json] = (),
    now: datetime | None = None,
) -> tuple[dict[str, Any], list[str]]:
    """Make a run input as it is sent.

    It declares `protocol`, leaves out activity messages and unknown material, and spells retired content parts in
    today's shapes. For a peer that is pinned to an older version it leaves out or flattens what that cannot read.

    Args:
        run_input: The run input as a JSON object; it is left as it is.
        peer: The version that the producer is pinned to, like `0.0.39`, where it is known to be older.
        protocol: The version that the consumer speaks.
        interrupts: What the run being continued ended with (`Consumer.interrupts`).
        now: The time, with its zone, by which their `expiresAt` is judged; without it, none has expired.

    Returns:
        The document, and a warning for all that it lost.

    Raises:
        RequestRejected: A known field is malformed, an interrupt has no entry or no more than an expired one, or a
            frontend call has no answer.
        ValueError: `peer` or `protocol` is no version.
    """
    warnings: list[str] = []
    pinned = THE_FIRST if peer is None else pinned_version(peer)
    run_input = modernised({**run_input})
    if run_input.get("state", run_input) is None:
        warnings.append("the state is null, which a run input cannot say; it is left out, and the run starts from {}")
        run_input = {name: value for name, value in run_input.items() if name != "state"}
    try:
        document = Enforcement(protocol, _gathering(warnings)).run_input(run_input)
    except Malformed as error:
        raise RequestRejected(error.breaches) from None
    breaches = check_resume(interrupts, document.get("resume", ()), now) + check_calls(document, interrupts)
    if breaches:
        raise RequestRejected(breaches)
    messages = [message for message in document["messages"] if message["role"] != "activity"]  # read-activity-not-sent
    document = {**document, "protocolVersion": protocol, "messages": messages}
    return for_peer(document, pinned, warnings.append), warnings


def check_resume(open_interrupts: Iterable[Json], resume: Iterable[Json], now: datetime | None = None) -> list[Breach]:
    """Hold resume entries to the open interrupts: each is answered or abandoned, by one entry. (read-resume-covers)

    An interrupt whose `expiresAt` is an ISO 8601 time at or before `now` can only be abandoned; a time without zone
    is UTC's, and one that cannot be read never comes.
    """
    expected = {interrupt["id"]: interrupt for interrupt in open_interrupts}
    breaches: list[Breach] = []
    seen: set[str] = set()
    for entry in resume:
        key, status = entry["interruptId"], entry["status"]
        if key not in expected:
            _breach(breaches, "entries for interrupts of the run being continued", f"one for {key!r}, unknown to it")
        elif key in seen:
            _breach(breaches, f"one entry for interrupt {key!r}", "another one")
        elif status == "resolved" and _has_expired(expected[key], now):
            when = expected[key]["expiresAt"]
            _breach(breaches, f"interrupt {key!r} abandoned, as it expired at {when}", "an answer to it")
        seen.add(key)
    for key in expected:
        if key not in seen:
            _breach(breaches, f"an entry that answers or abandons interrupt {key!r}", "none")
    return breaches


def check_calls(run_input: Json, open_interrupts: Iterable[Json] = ()) -> list[Breach]:
    """Hold the messages of a run input to its frontend tools: each of their calls is answered. (read-calls-answered)

    A call that an open interrupt is about is answered by its resume entry.
    """
    messages = run_input["messages"]
    frontend = {tool["name"] for tool in run_input.get("tools", ())}
    answered = {message["toolCallId"] for message in messages if message["role"] == "tool"}
    answered |= {interrupt.get("toolCallId") for interrupt in open_interrupts}
    return [
        Breach("read-calls-answered", f"a tool message for call {call['id']!r} of frontend tool {name!r}", "none")
        for message in messages
        for call in message.get("toolCalls", ())
        if (name := call["function"]["name"]) in frontend and call["id"] not in answered
    ]


def _has_expired(interrupt: Json, now: datetime | None) -> bool:
    if now is None or "expiresAt" not in interrupt:
        return False
    try:
        when = datetime.fromisoformat(interrupt["expiresAt"])
    except ValueError:
        return False
    return (when if when.tzinfo is not None else when.replace(tzinfo=UTC)) <= now


def _breach(breaches: list[Breach], expected: str, found: str) -> None:
    breaches.append(Breach("read-resume-covers", expected, found))


def _gathering(warnings: list[str]) -> Callable[[str, Hashable], None]:
    return lambda sentence, _: warnings.append(sentence)
