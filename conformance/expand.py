"""From chunks to whole items: each `*_CHUNK` becomes the start, content and end events that it stands for.

A lane is one owner's: the parent agent's, or one subagent's. A lane assembles at most one item from chunks, because a
chunk says only "the same as before". Events that are no chunks pass, after the ends that their arrival implies.

Source: basic/patterns/streaming#the-chunked-form
"""

from dataclasses import dataclass
from typing import Any

from conformance.events import CHUNK_TRIADS, TRIADS, Event, Triad
from conformance.order import Breach

RUN_LEVEL = frozenset({"RUN_STARTED", "RUN_FINISHED", "RUN_ERROR", "MESSAGES_SNAPSHOT"})
"""They speak of the whole run: every lane's item ends."""

ASIDE = frozenset(
    {"RAW", "ACTIVITY_SNAPSHOT", "ACTIVITY_DELTA", "REASONING_ENCRYPTED_VALUE", "SUBAGENT_STARTED"},
)
"""They stand aside from assembly and end nothing."""

ITEM_EVENTS = {kind: triad for triad in TRIADS.values() for kind in (triad.start, triad.content, triad.end)}


@dataclass(slots=True)
class Assembly:
    """The item that one lane assembles from chunks."""

    triad: Triad
    key: str
    owner: str | None
    fields: dict[str, Any]

    def end(self) -> Event:
        """The end event that the chunked form leaves out."""
        event = {"type": self.triad.end, self.triad.key: self.key}
        return event if self.owner is None else {**event, "subagentRunId": self.owner}


class Expander:
    """Expands one stream, event by event."""

    def __init__(self) -> None:
        self._lanes: dict[str | None, Assembly] = {}
        self._explicit: dict[tuple[str, str], bool] = {}
        """Items that a start event opened and no end event closed yet; whether all their events were explicit."""

    @property
    def assembling(self) -> bool:
        """Some lane assembles an item from chunks."""
        return bool(self._lanes)

    def feed(self, event: Event) -> tuple[list[Event], list[Breach]]:
        """Take the next event.

        Returns:
            The events that it stands for, and what it broke. A broken chunk is expanded as far as it can be.
        """
        kind = event["type"]
        triad = CHUNK_TRIADS.get(kind)
        if triad is not None:
            return self._chunk(event, triad)
        if kind in ASIDE:
            return [event], []
        if kind in RUN_LEVEL:
            ends = [assembly.end() for assembly in self._lanes.values()]
            self._lanes.clear()
            if kind != "MESSAGES_SNAPSHOT":
                self._explicit.clear()
            return [*ends, event], []
        return self._whole(event, kind)

    def _whole(self, event: Event, kind: str) -> tuple[list[Event], list[Breach]]:
        owner = event.get("subagentRunId")
        triad = ITEM_EVENTS.get(kind)
        if triad is None:
            return [*self._end_lane(owner), event], []
        key = event[triad.key]
        mixed = self._holder(triad, key)
        breaches = []
        if mixed is not None:
            expected = f"{triad.chunk} for {triad.family} {key!r}, as it began"
            breaches.append(Breach("chunk-not-mixed", expected, kind))
        if kind == triad.start:
            self._explicit[triad.family, key] = True
        elif kind == triad.end:
            self._explicit.pop((triad.family, key), None)
        if mixed is not None and kind != triad.start:
            # The item goes on in the other spelling: no end, so that one mistake is one finding.
            del self._lanes[mixed.owner]
            if kind == triad.content:
                self._explicit[triad.family, key] = True
            return [event], breaches
        return [*self._end_lane(owner), event], breaches

    def _chunk(self, event: Event, triad: Triad) -> tuple[list[Event], list[Breach]]:
        key, tag = event.get(triad.key), event.get("subagentRunId")
        if key is not None and (triad.family, key) in self._explicit:
            return self._content(event, triad, key, tag), self._mixed(triad, key)
        lane, breaches = self._lane(event, triad)
        assembly = self._lanes.get(lane)
        if assembly is not None and assembly.triad is triad and key in (None, assembly.key):
            breaches += self._agree(event, assembly)
            return self._content(event, triad, assembly.key, assembly.owner), breaches
        ends = self._end_lane(lane)
        required = (triad.key, "toolCallName") if triad.chunk == "TOOL_CALL_CHUNK" else (triad.key,)
        missing = [name for name in required if name not in event]
        if missing:
            expected = f"{' and '.join(required)} on the first {triad.chunk}"
            return ends, breaches or [Breach("chunk-first-complete", expected, f"no {' and no '.join(missing)}")]
        return [*ends, *self._begin(event, triad)], breaches

    def _mixed(self, triad: Triad, key: str) -> list[Breach]:
        """Report a chunk of an item that a start event opened, at its first chunk."""
        if not self._explicit[triad.family, key]:
            return []
        self._explicit[triad.family, key] = False
        expected = f"{triad.content} for {triad.family} {key!r}, as it began"
        return [Breach("chunk-not-mixed", expected, triad.chunk)]

    def _begin(self, event: Event, triad: Triad) -> list[Event]:
        key, owner = event[triad.key], event.get("subagentRunId")
        fields = {name: event[name] for name in triad.opener_fields if name in event}
        if triad.chunk == "TEXT_MESSAGE_CHUNK":
            fields.setdefault("role", "assistant")
        self._lanes[owner] = Assembly(triad, key, owner, fields)
        start: Event = {"type": triad.start, triad.key: key, **fields}
        if triad.chunk == "REASONING_MESSAGE_CHUNK":
            start["role"] = "reasoning"
        for name in ("subagentRunId", "metadata"):
            if name in event:
                start[name] = event[name]
        content = self._content(event, triad, key, owner) if "delta" in event or "rawEvent" in event else []
        return [start, *content]

    def _content(self, event: Event, triad: Triad, key: str, owner: str | None) -> list[Event]:
        """The content event of a chunk: none for one that adds nothing to what is open."""
        carried = {name: value for name, value in event.items() if name in ("rawEvent", "metadata")}
        if "delta" not in event and not carried:
            return []
        content: Event = {"type": triad.content, triad.key: key, "delta": event.get("delta", ""), **carried}
        if owner is not None:
            content["subagentRunId"] = owner
        return [content]

    def _lane(self, event: Event, triad: Triad) -> tuple[str | None, list[Breach]]:
        """Find the lane that a chunk belongs to: by its identifier, its tag, or as the only one of its kind."""
        key, tag = event.get(triad.key), event.get("subagentRunId")
        if key is not None:
            held = self._holder(triad, key)
            if held is None:
                return tag, []
            if tag is not None and tag != held.owner:
                expected = f"the owner of {triad.family} {key!r}, or no subagentRunId"
                return held.owner, [Breach("owner-agrees", expected, f"{tag!r} on {triad.chunk}")]
            return held.owner, []
        if tag is not None:
            return tag, []
        lanes = [owner for owner, assembly in self._lanes.items() if assembly.triad is triad]
        if None in lanes or not lanes:
            return None, []
        if len(lanes) > 1:
            expected = f"{triad.key} or subagentRunId, as {len(lanes)} subagents each have an open {triad.family}"
            return lanes[0], [Breach("chunk-unambiguous", expected, f"{triad.chunk} with neither")]
        return lanes[0], []

    def _agree(self, event: Event, assembly: Assembly) -> list[Breach]:
        return [
            Breach(
                "chunk-repeat-agrees",
                f"{name} {assembly.fields.get(name)!r}, as the first chunk of {assembly.key!r} established",
                repr(event[name]),
            )
            for name in assembly.triad.opener_fields
            if name in event and event[name] != assembly.fields.get(name)
        ]

    def _holder(self, triad: Triad, key: str) -> Assembly | None:
        return next((item for item in self._lanes.values() if item.triad is triad and item.key == key), None)

    def _end_lane(self, owner: str | None) -> list[Event]:
        assembly = self._lanes.pop(owner, None)
        return [] if assembly is None else [assembly.end()]
