"""The rules of the page on reasoning.

Source: events/reasoning
"""

from collections.abc import Iterable, Iterator
from typing import Any

from conformance.events import CALL, REASONING, TEXT, Event
from conformance.rules.rule import (
    BY_ORDER,
    Along,
    By,
    Case,
    Fault,
    Level,
    OnEvent,
    Rule,
    See,
    Shaped,
    Unjudged,
    Watch,
    on_page,
)


class _Held:
    """The messages and calls that a consumer holds; activity messages keep no artefact."""

    def __init__(self) -> None:
        self.ids: dict[str, set[str]] = {"message": set(), "tool-call": set()}

    def add(self, messages: Iterable[dict[str, Any]]) -> None:
        for message in messages:
            if message["role"] != "activity":
                self.ids["message"].add(message["id"])
            self.ids["tool-call"].update(call["id"] for call in message.get("toolCalls", ()))

    def grow(self, event: Event) -> None:
        if event["type"] == "TOOL_CALL_START":
            self.ids["tool-call"].add(event["toolCallId"])
        else:
            self.ids["message"].add(event["messageId"])


def _artefact_has_target(case: Case) -> Watch:
    held = _Held()
    held.add(case.run_input.get("messages", ()))
    complete = case.exchange.run_input is not None
    notes: list[Fault | Unjudged] = []
    while True:
        event = yield notes
        notes = []
        if event is None:
            continue
        if event["type"] == "MESSAGES_SNAPSHOT":
            held.add(event["messages"])
            complete = True
        elif event["type"] != "REASONING_ENCRYPTED_VALUE":
            held.grow(event)
        elif event["entityId"] not in held.ids[event["subtype"]] and not _is_known(event, case):
            what = f"{event['subtype']} {event['entityId']!r}"
            fault = Fault("a message or call that the consumer holds", f"{what}, of which nothing came")
            notes = [fault if complete else Unjudged(f"no run input says whether the history has {what}")]


def _is_known(event: Event, case: Case) -> bool:
    """Say whether the order knows it, if only because it took a message for open that nobody opened."""
    families = (CALL,) if event["subtype"] == "tool-call" else (TEXT, REASONING)
    return any(event["entityId"] in case.machine.items[family] for family in families)


_GROWS = ("TEXT_MESSAGE_START", "REASONING_MESSAGE_START", "TOOL_CALL_START", "TOOL_CALL_RESULT")


def _type_with_value(event: Event) -> Iterator[Fault]:
    messages = event.get("messages", ()) if event["type"] == "MESSAGES_SNAPSHOT" else _echoed(event)
    for message in messages:
        for carrier in (message, *message.get("toolCalls", ())):
            if "encryptedValueType" in carrier and "encryptedValue" not in carrier:
                yield Fault("encryptedValue beside encryptedValueType", f"none on {carrier['id']!r}")


def _echoed(event: Event) -> Iterable[dict[str, Any]]:
    messages: Iterable[dict[str, Any]] = event.get("input", {}).get("messages", ())
    return messages


RULES = on_page(
    "events/reasoning",
    Rule(
        "reasoning-span-pairs",
        See.STREAM,
        "REASONING_START and REASONING_END pair by messageId: never opened twice, never closed unopened.",
        "Open a span once and close it once, with one id.",
        BY_ORDER,
    ),
    Rule(
        "reasoning-message-pairs",
        See.STREAM,
        "Reasoning messages open, continue and close by their own messageId; a span's id opens no message.",
        "Send REASONING_MESSAGE_START inside the span, and end the message before the span.",
        BY_ORDER,
    ),
    Rule(
        "reasoning-role",
        See.EVENT,
        "REASONING_MESSAGE_START.role is reasoning.",
        "Send role reasoning; it is fixed.",
        Shaped(r"REASONING_MESSAGE_START/role"),
    ),
    Rule(
        "artefact-has-target",
        See.STREAM,
        "REASONING_ENCRYPTED_VALUE names a message or call that the consumer holds.",
        "Open the reasoning message first, even an empty one, and name it.",
        Along((*_GROWS, "MESSAGES_SNAPSHOT", "REASONING_ENCRYPTED_VALUE"), _artefact_has_target),
        level=Level.SHOULD,
    ),
    Rule(
        "artefact-type-with-value",
        See.EVENT,
        "encryptedValueType is never sent without encryptedValue.",
        "Drop the type together with the value.",
        OnEvent(("MESSAGES_SNAPSHOT", "RUN_STARTED"), _type_with_value),
        since="1.1",
    ),
    Rule(
        "artefact-returned",
        See.MODEL,
        "An artefact that comes back in the input is given to the provider unchanged, with or without its type.",
        "Put encryptedValue back where the provider wants it, byte for byte.",
    ),
    Rule(
        "snapshot-keeps-artefacts",
        See.RUNS,
        "A MESSAGES_SNAPSHOT restates encryptedValue on messages whose artefact is still needed.",
        "Write snapshots from the same store as the artefacts.",
    ),
    Rule(
        "read-artefact-stored",
        See.STREAM,
        "encryptedValue is stored with its message or call, returned unmodified, never parsed; an unknown entity is "
        "warned about.",
        by=By.CONSUMER,
    ),
)
